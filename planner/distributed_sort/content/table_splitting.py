"""Partitions of tables of equal weight, chosen from a sample of their keys.

Boundaries are placed among rows by sorting both together, so that every order is the one used on a single machine.
"""

from __future__ import annotations

import base64
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from planner.arrays import Ints
from planner.distributed_sort.content.base import WHOLE, Splitting, divide
from planner.distributed_sort.content.table_blocks import pack_rows, unpack_rows
from planner.sorting.tables.arrow_library import arrow
from planner.sorting.tables.table_keys import ColumnKey, first_of_equals, key_columns
from planner.sorting.tables.table_order import row_order
from planner.sorting.tables.table_rows import TableRows


@dataclass(frozen=True, kw_only=True)
class TableSplitting(Splitting):
    """Boundaries between ranges of rows: a packed table of keys, b'' for none, and whether each range begins `behind`
    the rows that have the key.
    """

    boundaries: bytes
    behind: tuple[bool, ...]

    def document(self) -> dict[str, Any]:
        rows = base64.b64encode(self.boundaries).decode()
        return super().document() | {"tables": {"rows": rows, "behind": self.behind}}

    def order(self, rows: Any, keys: Sequence[ColumnKey]) -> tuple[Any, Ints]:
        """Return the order of rows, given as their key columns, and the beginnings of the partitions and the end of the
        last.

        The sort is stable: boundaries stand before all rows or behind them, and so before or behind equal ones.
        """
        bounds = next(unpack_rows(self.boundaries), None) if self.boundaries else None
        behind = np.array(self.behind, np.bool_)
        first, last = ([], []) if bounds is None else (_filter_rows(bounds, ~behind), _filter_rows(bounds, behind))
        before = first[0].num_rows if first else 0
        together = arrow().concat_tables([*first, rows, *last])
        order = row_order(key_columns(together, keys), together.num_rows)
        is_row = (order >= before) & (order < before + rows.num_rows)
        places = np.flatnonzero(~is_row) - np.arange(len(behind))
        return order[is_row] - np.uint32(before), self.edges([0, *places.tolist(), rows.num_rows])


def split_tables(
    sample: Sequence[bytes], keys: Sequence[ColumnKey], *, partitions: int, unique: bool
) -> TableSplitting:
    """Return about `partitions` partitions of equal weight from packed key columns; one if they have no rows."""
    tables = [table for stream in sample for table in unpack_rows(stream)]
    if not sum(table.num_rows for table in tables):
        return TableSplitting(boundaries=b"", behind=(), **WHOLE)
    whole = arrow().concat_tables(tables)
    rows = TableRows(whole.to_batches(), whole.schema)
    order = row_order(key_columns(whole, keys), whole.num_rows)
    ordered = rows.at(order)
    firsts = first_of_equals(key_columns(ordered, keys, all_parts=True), whole.num_rows)
    begins = np.flatnonzero(np.array(firsts.to_pylist(), np.bool_))
    places, behind = _boundaries(begins, whole.num_rows, partitions)
    shares = np.diff([0, *_cuts(begins, places, behind, whole.num_rows), whole.num_rows]) / whole.num_rows
    is_one_key = [not unique and _holds_one_key(places, behind, at) for at in range(len(shares))]
    return TableSplitting(
        boundaries=pack_rows(rows.at(order[places])) if places else b"",
        behind=tuple(behind),
        **divide(shares, is_one_key, partitions=partitions),
    )


def _boundaries(begins: Ints, rows: int, partitions: int) -> tuple[list[int], list[bool]]:
    """Return the places of boundaries in a sorted sample, whose equal keys begin at `begins`. A key that would fill a
    partition has a range of its own: it is chosen twice, or, with few partitions, once.
    """
    at = np.searchsorted(begins, np.arange(1, partitions) * rows // partitions, side="right") - 1
    wanted, times = np.unique(at, return_counts=True)
    is_divided = (times > 1) | (np.diff([*begins, rows])[wanted] * partitions >= rows)
    chosen = [
        (int(begins[key]), is_behind)
        for key, own in zip(wanted, is_divided, strict=True)
        for is_behind in (False, True)[: 1 + own]
    ]
    return [place for place, _ in chosen], [is_behind for _, is_behind in chosen]


def _cuts(begins: Ints, places: Sequence[int], behind: Sequence[bool], rows: int) -> list[int]:
    """Return the number of sampled rows before each boundary."""
    ends = np.append(begins[1:], rows)
    at = np.searchsorted(begins, places)
    return [int((ends if is_behind else begins)[place]) for place, is_behind in zip(at, behind, strict=True)]


def _holds_one_key(places: Sequence[int], behind: Sequence[bool], at: int) -> bool:
    """Return whether a range holds a single key: from the key to behind the same key."""
    return 0 < at < len(places) and places[at] == places[at - 1] and behind[at]


def _filter_rows(table: Any, wanted: Any) -> list[Any]:
    return [table.filter(arrow().array(wanted))] if len(wanted) else []
