"""Points of a grid, and whether they lie within quotes."""

from __future__ import annotations

import pytest

from planner.distributed_sort.dataset.dataset import grid_of, step_bytes_of


def test_an_odd_number_of_quotes_changes_sides() -> None:
    grid = grid_of([b"\0\1", b"\0\1\1"], 10)  # quotes in the second, the fourth and the fifth step
    assert [grid.point_before(byte) for byte in (0, 9, 10, 19, 20, 35, 40, 49, 50)] == [
        (0, False), (0, False), (10, False), (10, False), (20, True), (30, True), (40, False), (40, False), (50, True),
    ]  # fmt: skip


def test_a_part_of_the_grid_tells_the_same() -> None:
    grid = grid_of([b"\1" * 50], 10)
    part = grid.for_slice(200, 45)
    assert len(part.within) == 6  # points 190 to 240
    assert all(part.point_before(byte) == grid.point_before(byte) for byte in range(199, 246))


@pytest.mark.parametrize(("data", "step"), [(1_000, 64_000), (20_000_000_000, 200_000), (10**15, 4_000_000)])
def test_the_points_are_neither_many_nor_far_apart(data: int, step: int) -> None:
    assert step_bytes_of(data) == step
