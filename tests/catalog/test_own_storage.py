"""Storage measurements that a plan uses, chosen from many."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from planner.catalog.own_storage import SETTING, Row, disk_rows, small_io_rows, volume_rows

TEXTS = ("volume_type", "layout", "job", "side", "pattern", "buffered")


def row(**cells: Any) -> Row:
    unknown = {name: "" if name in TEXTS else np.nan for name in SETTING}
    usual = {"instance_type": "large", "quantity": "read_only", "bytes_per_s": 1e9, "operations_per_s": np.nan}
    return {**unknown, **usual, **cells}


def mean(rows: list[Row]) -> Row:
    return {**rows[0], "bytes_per_s": float(np.mean([r["bytes_per_s"] for r in rows]))}


def test_a_rate_and_operations_are_two_rows() -> None:
    small = {"block_bytes": 4096.0, "pattern": "random", "operations_per_s": 5e4, "bytes_per_s": 2e8}
    rates, operations = disk_rows([row(), row(**small)], mean)
    assert rates["bytes_per_s"] == 1e9 and np.isnan(rates["operations_per_s"])
    assert operations["operations_per_s"] == 5e4 and np.isnan(operations["bytes_per_s"])


@pytest.mark.parametrize(
    "cells", [{"flush_every": 1.0}, {"pattern": "sequential"}, {"quantity": "simultaneous"}, {"block_bytes": 8192.0}]
)
def test_other_small_operations_are_not_planned_with(cells: dict[str, Any]) -> None:
    assert (
        disk_rows([row(**{"block_bytes": 4096.0, "pattern": "random", "operations_per_s": 5e4, **cells})], mean) == []
    )


def test_single_disks_count_before_an_array_that_is_faster() -> None:
    (chosen,) = disk_rows([row(layout="raid0", bytes_per_s=3e9), row(layout="jbod", bytes_per_s=2e9)], mean)
    assert chosen["bytes_per_s"] == 2e9


def test_repeats_of_one_setting_are_averaged_before_the_fastest_is_taken() -> None:
    lucky = [row(job=name, depth=1.0, bytes_per_s=rate) for name, rate in (("a", 1e9), ("b", 4e9))]
    (chosen,) = disk_rows([*lucky, row(depth=8.0, bytes_per_s=3e9)], mean)
    assert chosen["bytes_per_s"] == 3e9


def test_volumes_are_by_type_and_hold_from_their_number_on() -> None:
    rows = [row(volume_type="gp3", volumes=n, bytes_per_s=n * 1e8) for n in (1.0, 4.0)] + [row()]
    assert [(r["bytes_per_s"], r["volumes_least"]) for r in volume_rows(rows, mean)] == [(4e8, 4.0)]
    assert [r["bytes_per_s"] for r in disk_rows(rows, mean)] == [1e9]


def test_small_operations_are_kept_for_every_number_of_volumes() -> None:
    rows = [row(quantity="read4K", volume_type="gp3", volumes=n) for n in (1.0, 4.0)] + [row(quantity="read4K")] * 2
    assert len(small_io_rows(rows, mean)) == 3
