"""Machines that nobody has to ask for come before slightly cheaper ones that must be asked for."""

from __future__ import annotations

from typing import Any

import pytest

from planner import recommend

MANY: dict[str, Any] = {
    "model": "object-store", "cloud": "aws", "input": "s3://a/b", "output": "s3://a/c", "prefixes": 1,
}  # fmt: skip


def test_few_large_machines_come_before_many_that_cost_five_percent_less_at_most() -> None:
    answer = recommend("1PB", **MANY)
    best, free = answer.best, recommend("1PB", capacity="*=1000", **MANY).best
    assert best is not None and free is not None
    assert best.nodes + best.spares <= 100 < free.nodes + free.spares
    assert best.cost_usd.total <= 1.05 * free.cost_usd.total
    note = answer.plan.warnings[0]
    assert note.startswith(f"capacity: {free.nodes + free.spares} x {free.instance_type}")
    assert f"--set capacity='*={free.nodes + free.spares}'" in note
    assert answer.plan.request.max_nodes == 1000


@pytest.mark.parametrize("asked", [{"objective": "cost"}, {"objective": "time"}, {"nodes": 150}])
def test_who_asks_for_the_least_or_for_many_gets_it(asked: dict[str, Any]) -> None:
    assert not any(text.startswith("capacity: ") for text in recommend("1PB", **(MANY | asked)).plan.warnings)
