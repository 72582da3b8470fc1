"""Equal shares of the test records for the nodes, and for the disks of a node."""

from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from planner.distributed_sort.content.content import content_of
from planner.distributed_sort.dataset import copies
from planner.distributed_sort.dataset.dataset import Recipe
from planner.distributed_sort.node_tasks import node_tasks
from planner.distributed_sort.staging import generate, shares
from planner.errors import IoFailureError
from tests.distributed_sort.inline_nodes import InlineNodes


def test_shares_are_consecutive() -> None:
    assert shares(12, {"a": 2, "b": 1}) == [("a", 0, 3), ("a", 3, 6), ("b", 6, 12)]


@given(st.integers(0, 10**6), st.lists(st.integers(1, 5), min_size=1, max_size=6))
def test_every_record_is_in_one_share_and_nodes_get_equal_ones(records: int, disks: list[int]) -> None:
    cut = shares(records, {f"n{number}": count for number, count in enumerate(disks)})
    assert [start for _, start, _ in cut] == [0, *(end for _, _, end in cut[:-1])]
    assert cut[-1][2] == records
    held = [sum(end - start for name, start, end in cut if name == f"n{number}") for number in range(len(disks))]
    assert max(held) - min(held) <= 1


def test_a_partition_that_could_not_be_written_is_written_elsewhere(
    this_node: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    nodes, write, vain = InlineNodes(["a", "b"], monkeypatch), node_tasks.generate, [1, 1]

    def written(recipe: Recipe, *arguments: object) -> object:
        if recipe.start and vain:
            raise IoFailureError(f"a bad sector, {vain.pop()}")
        return write(recipe, *arguments)  # type: ignore[arg-type]

    del this_node
    monkeypatch.setattr(copies, "PAUSES_S", (0.0,) * 4)
    monkeypatch.setattr(node_tasks, "generate", written)
    made = generate(nodes, records=1001)  # type: ignore[arg-type]
    assert (nodes.begun, vain) == (["a", "b", "a", "b"], []), "its own node is asked first, and again"
    summary = content_of(made.layout).empty_summary()
    for partition in made.partitions:
        monkeypatch.setenv("PLANNER_NODE_NAME", partition.copies[0].node)
        summary.append(content_of(made.layout).validate(partition, 1)[0])
    assert summary.records == made.records == 1001
