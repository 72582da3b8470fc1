"""Every layout of a node's data: shared disks, splits, other media."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from planner.cost_model.disk_layout import LOCAL, MEMORY, OBJECTS, VOLUMES, Layouts
from planner.cost_model.workload import JobContext

Make = Callable[..., JobContext]
TYPES = {
    "one": {"local_disks": 1, "read": 4e9, "write": 2e9, "both": 1e9},
    "two": {"local_disks": 2, "read": 4e9, "write": 2e9, "both": None},
    "four": {"local_disks": 4, "read": 4e9, "write": 2e9, "both": 1e9},
}


def rows(layouts: Layouts) -> list[tuple[int, float, float, int]]:
    """Return type, data disks, intermediate disks and the medium of intermediate data of each layout."""
    columns = (layouts.type_row, layouts.data_disks, layouts.intermediate_disks, layouts.intermediate_on)
    return list(zip(*(column.tolist() for column in columns), strict=True))


def test_disks_divide_where_half_of_them_were_measured_and_memory_is_always_tried(make_context: Make) -> None:
    layouts = make_context(TYPES).layouts
    assert rows(layouts) == [
        (0, 1, 1, LOCAL), (0, 1, 0, MEMORY),
        (1, 2, 2, LOCAL), (1, 2, 0, MEMORY),
        (2, 1, 3, LOCAL), (2, 2, 2, LOCAL), (2, 3, 1, LOCAL), (2, 4, 0, MEMORY),
    ]  # fmt: skip
    assert layouts.shared.tolist() == [True, False, True, False, False, False, False, False]
    assert layouts.first_of_types().tolist() == [0, 2, 4]
    assert layouts.uses(MEMORY).tolist() == [False, True, False, True, False, False, False, True]
    assert layouts.uses(LOCAL).all()


def test_the_papers_divide_all_disks_and_keep_nothing_in_memory(make_context: Make) -> None:
    layouts = make_context(TYPES, paper=True).layouts
    assert rows(layouts) == [(0, 1, 1, LOCAL), (1, 1, 1, LOCAL), *((2, k, 4 - k, LOCAL) for k in (1, 2, 3))]


def test_without_disks_intermediate_data_follows_to_the_volumes(make_context: Make) -> None:
    types = {"bare": {"local_disks": 0, "local_disk_bytes": ""}, "disks": {"read": 4e9, "write": 2e9}}
    layouts = make_context(types, model="cloudsort").layouts
    assert layouts.data_on.tolist() == [VOLUMES] * 4
    assert rows(layouts) == [(0, 0, 0, VOLUMES), (0, 0, 0, MEMORY), (1, 0, 4, LOCAL), (1, 0, 0, MEMORY)]
    assert not layouts.shared.any()


@pytest.mark.parametrize(("model", "data_on"), [("object-store", OBJECTS), ("minutesort", LOCAL)])
def test_data_is_where_the_model_keeps_it(make_context: Make, model: str, data_on: int) -> None:
    layouts = make_context({"disks": {"read": 4e9, "write": 2e9}}, model=model).layouts
    assert set(layouts.data_on.tolist()) == {data_on}
    assert set(layouts.data_disks.tolist()) == {4.0 if data_on == LOCAL else 0.0}
