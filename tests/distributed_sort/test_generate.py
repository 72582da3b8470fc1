"""Nodes get equal shares of the test records, and so do a node's disks."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from planner.distributed_sort.generate import shares


def test_shares_are_consecutive() -> None:
    assert shares(12, {"a": 2, "b": 1}) == [("a", 0, 3), ("a", 3, 6), ("b", 6, 12)]


@given(st.integers(0, 10**6), st.lists(st.integers(1, 5), min_size=1, max_size=6))
def test_every_record_is_in_one_share_and_nodes_get_equal_ones(records: int, disks: list[int]) -> None:
    cut = shares(records, {f"n{number}": count for number, count in enumerate(disks)})
    assert [start for _, start, _ in cut] == [0, *(end for _, _, end in cut[:-1])]
    assert cut[-1][2] == records
    held = [sum(end - start for name, start, end in cut if name == f"n{number}") for number in range(len(disks))]
    assert max(held) - min(held) <= 1
