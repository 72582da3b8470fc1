"""Sorting of Arrow tables in memory, and code shared with the sort of Parquet files."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np

from planner.errors import BadInputError
from planner.native import core_errors
from planner.schemas.door import checked, shown
from planner.sorting.tables.arrow_library import arrow, arrow_errors
from planner.sorting.tables.packed_rows import PackedBatch, PackedTable, Packing
from planner.sorting.tables.parquet_schemas import without_row_numbers
from planner.sorting.tables.table_keys import ColumnKey, key_columns, parse_table_keys, with_categories, with_one_order
from planner.sorting.tables.table_order import row_order
from planner.sorting.tables.table_rows import MOST_ROWS, TableRows


@checked
def sort_table(table: Any, *, keys: Sequence[str] | str) -> Any:
    """Return the rows of `table` in order, as a `pyarrow.Table` with the same schema and metadata. Only a RangeIndex of
    pandas is numbered again, as with `ignore_index=True`, because no column holds it.

    `table` is anything that exports an Arrow stream (`__arrow_c_stream__`): tables of pyarrow, Polars, DuckDB and
    pandas among others, mostly without a copy. A key is `COLUMN[:asc|desc][:first|last]`. Equal rows keep their order.

    >>> sort_table({"a": [2, None, 1]}, keys="a:desc").column("a").to_pylist()
    [2, 1, None]

    Raises BadInputError for a key that is not a column or has no order, and for types whose rows pyarrow cannot take.
    """
    try:
        whole = table if isinstance(table, arrow().Table) else arrow().table(table)
    except (TypeError, ValueError) as error:  # pyarrow's own are both
        text = f"expected a table that exports an Arrow stream, or a dict of columns, not {shown(table)}"
        raise BadInputError(text, [str(error)], field="table", code="wrong-type") from error
    whole = with_one_order(whole)
    parsed = with_categories(parse_table_keys([keys] if isinstance(keys, str) else keys, whole.schema), whole)
    with core_errors(), arrow_errors("cannot sort the table: pyarrow says"):
        rows = sorted_table(whole, parsed)
    return rows.replace_schema_metadata(without_row_numbers(rows.schema).metadata)


def sorted_table(table: Any, keys: Sequence[ColumnKey]) -> Any:
    """Return a sorted table. Columns are copied one at a time: little is held twice if the caller drops the table."""
    schema, order = table.schema, _order(table, keys)
    batches = table.to_batches()
    del table
    rows = TableRows(batches, schema)
    batches.clear()
    return rows.take_all(order)


def sorted_pieces(tables: list[Any], keys: Sequence[ColumnKey], *, piece_bytes: int) -> Iterator[Any]:
    """Yield the rows of all tables in order, in tables of about `piece_bytes`; the list is emptied."""
    whole = arrow().concat_tables(tables)
    tables.clear()
    rows, order = TableRows(whole.to_batches(), whole.schema), _order(whole, keys)
    sizes = whole.num_rows, whole.nbytes
    del whole
    return (rows.at(part) for part in _cut(order, *sizes, piece_bytes))


def sorted_batches(batches: list[PackedBatch], packing: Packing, *, piece_bytes: int) -> Iterator[Any]:
    """Yield the rows of packed batches in order, in tables of about `piece_bytes`; the list is emptied."""
    count, size = sum(batch.num_rows for batch in batches), sum(batch.nbytes for batch in batches)
    if not count:
        return
    rows, order = PackedTable(batches, packing), _order(_keys_of(batches), packing.keys)
    for part in _cut(order, count, size, piece_bytes):
        yield rows.at(part)


def _cut(order: Any, count: int, size: int, piece_bytes: int) -> Iterator[Any]:
    step = max(count * piece_bytes // max(size, 1), 1)
    return (order[first : first + step] for first in range(0, count, step))


def _keys_of(batches: list[PackedBatch]) -> Any:
    """Return the unpacked columns; the list is emptied."""
    whole = arrow().Table.from_batches([batch.unpacked for batch in batches])
    batches.clear()
    return whole


def rows_at(table: Any, rows: Any) -> Any:
    """Return a table of the rows at these places."""
    return TableRows(table.to_batches(), table.schema).at(rows.to_numpy().astype(np.uint32))


def _order(table: Any, keys: Sequence[ColumnKey]) -> Any:
    if table.num_rows > MOST_ROWS:
        raise BadInputError(
            f"a table of {table.num_rows:,} rows is too long to sort in memory: at most {MOST_ROWS:,}", code="too-long"
        )
    return row_order(key_columns(table, keys), table.num_rows)
