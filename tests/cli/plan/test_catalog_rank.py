"""Output of `planner catalog rank`."""

from __future__ import annotations

from planner.cli.plan.catalog_rank import first_shown
from planner.planning.catalog_questions.price_performance import Worth


def worth(name: str, operation: str, value: float) -> Worth:
    return Worth(
        catalog="aws", instance_type=name, storage="local", price_usd_per_hour=1.0, rate=1.0, value=value,
        evidence="measured", operation=operation,
    )  # fmt: skip


def test_the_first_types_are_shown_with_all_their_operations() -> None:
    """Of two types with two operations each, the first has both, though the second's better one ranks between them."""
    rows = [worth("a", "read4K", 1), worth("b", "read4K", 2), worth("a", "write4K", 3), worth("b", "write4K", 4)]
    assert first_shown(rows, top=1) == [rows[0], rows[2]]
    assert first_shown(rows, top=2) == rows
