"""One machine: it is not screened, and this machine does small data by itself."""

from __future__ import annotations

import pytest

from planner import recommend


@pytest.mark.parametrize("nodes", [1, 2])
def test_a_single_node_is_not_screened_as_there_is_nothing_to_compare_it_with(nodes: int) -> None:
    best = recommend("10GB", model="indy", cloud="aws", instance="i4i.xlarge", nodes=nodes).best
    assert best is not None
    assert best.overheads_s.get("screen", 0.0) == (0.0 if nodes == 1 else 120.0)


@pytest.mark.parametrize(
    ("data", "model", "told"),
    [("10GB", "daytona", True), ("10GB", "indy", True), ("10TB", "daytona", False), ("10GB", "framework", False)],
)
def test_small_data_needs_no_rented_machine(data: str, model: str, told: bool) -> None:
    notes = [text for text in recommend(data, model=model, cloud="aws").plan.warnings if text.startswith("small data")]
    where = "small data: this machine does it with `planner sort`, in about 1 min 20 s where 20 GB are free on an SSD"
    assert notes == [where] * told


def test_data_in_a_store_is_not_on_this_machine() -> None:
    assert "small data" not in " ".join(recommend("10GB", input="s3://bucket/in").plan.warnings)
