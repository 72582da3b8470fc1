"""Selection among the user's measurements of disks and volumes, which may be of many kinds.

A sort moves large blocks: of the settings measured with such blocks (block size, depth, threads) the fastest counts,
since a sort chooses its own. Random operations of 4 KiB are a second figure of the same disks. All other measurements
(blocks between, mixes that read more than they write) are kept, but not used in plans.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from typing import Any, Final

import numpy as np

from planner.catalog.columns import MODES, SMALL_IO

LEAST_TRANSFER_BYTES: Final = 64 * 1024
"""Smaller blocks measure operations, not the rate of large transfers."""

SETTING: Final = (
    "volume_type", "volumes", "layout", "job", "side", "pattern", "block_bytes", "threads", "depth", "flush_every",
    "read_share", "buffered",
)  # fmt: skip
"""Columns that distinguish measurements of the same disks."""

_OPERATION_BYTES: Final = 4096
_EVEN: Final = (0.4, 0.6)
"""Shares of reading in a mix that represents a sort, which writes as much as it reads."""

_FREE: Final = tuple(name for name in SETTING if name not in ("job", "side"))

Row = dict[str, Any]
Mean = Callable[[list[Row]], Row]


def disk_rows(rows: Iterable[Row], mean: Mean) -> list[Row]:
    """Return the rates and operations of local disks, one per row; the other columns are NaN."""
    local = [row for row in rows if row["quantity"] in MODES and not row["volume_type"]]
    return [*_transfers(local, mean), *_operations(local, mean)]


def volume_rows(rows: Iterable[Row], mean: Mean) -> list[Row]:
    """Return the same for block volumes; a rate holds from the measured number of volumes on."""
    volumes = [row for row in rows if row["quantity"] in MODES and row["volume_type"]]
    chosen = [*_transfers(volumes, mean), *_operations(volumes, mean)]
    return [{**row, "volumes_least": row["volumes"]} for row in chosen]


def small_io_rows(rows: Iterable[Row], mean: Mean) -> list[Row]:
    """Return the rates of small operations, on local disks and on each number of volumes."""
    small = [row for row in rows if row["quantity"] in SMALL_IO]
    groups = _group_rows(small, ("instance_type", "quantity", "volume_type", "volumes"))
    return [mean(group) for group in groups]


def _transfers(rows: list[Row], mean: Mean) -> list[Row]:
    large = [row for row in rows if not row["block_bytes"] < LEAST_TRANSFER_BYTES and _is_even(row)]
    best = _best_settings(large, mean, by="bytes_per_s")
    return [{**row, "operations_per_s": np.nan} for row in best]


def _operations(rows: list[Row], mean: Mean) -> list[Row]:
    small = [row for row in rows if row["block_bytes"] == _OPERATION_BYTES and _is_plain(row)]
    best = _best_settings(small, mean, by="operations_per_s")
    return [{**row, "bytes_per_s": np.nan} for row in best]


def _is_even(row: Mapping[str, Any]) -> bool:
    return bool(np.isnan(row["read_share"]) or _EVEN[0] <= row["read_share"] <= _EVEN[1])


def _is_plain(row: Mapping[str, Any]) -> bool:
    """Return whether a row is of random operations, only reading or only writing, without a flush."""
    alone = row["quantity"] != "simultaneous" and row["pattern"] == "random"
    return bool(alone and np.isnan(row["flush_every"]) and row["operations_per_s"] > 0)


def _best_settings(rows: list[Row], mean: Mean, *, by: str) -> list[Row]:
    """Return the preferred setting for every type, mode and kind of storage: past the page cache before through it,
    single disks before an array, then the fastest.
    """
    best = []
    for group in _group_rows(rows, ("instance_type", "quantity", "volume_type")):
        settings = [_lesser_side(setting, mean, by=by) for setting in _group_rows(group, _FREE)]
        best.append(max(settings, key=lambda row: (row["buffered"] != "yes", row["layout"] != "raid0", row[by])))
    return best


def _lesser_side(rows: list[Row], mean: Mean, *, by: str) -> Row:
    """Return the mean of one setting; for simultaneous reading and writing that of the slower direction."""
    return min((mean(side) for side in _group_rows(rows, ("side",))), key=lambda row: float(row[by]))


def _group_rows(rows: Iterable[Row], names: tuple[str, ...]) -> list[list[Row]]:
    groups: dict[tuple[Any, ...], list[Row]] = {}
    for row in rows:
        groups.setdefault(tuple(_same(row[name]) for name in names), []).append(row)
    return list(groups.values())


def _same(value: Any) -> Any:
    """Return a value that equals itself: unknown numbers are equal."""
    return None if isinstance(value, float) and np.isnan(value) else value
