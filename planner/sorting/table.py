"""Sorting Arrow tables in memory, and what the sort of Parquet files shares with it."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Final

from planner.native import core_errors
from planner.sorting.table_keys import ColumnKey, arrow, key_columns, parse_table_keys, sort_indices

_MOST_BYTES_IN_ONE: Final = 1 << 30
"""Strings of one array have offsets of 32 bits."""


def sort_table(table: Any, *, keys: Sequence[str] | str) -> Any:
    """Return the rows of `table` in order, as a `pyarrow.Table` with the same schema and metadata.

    `table` is anything that exports an Arrow stream (`__arrow_c_stream__`): tables of pyarrow, Polars, DuckDB and
    pandas among others, mostly without a copy. A key is `COLUMN[:asc|desc][:first|last]`. Equal rows keep their order.

    >>> sort_table({"a": [2, None, 1]}, keys="a:desc").column("a").to_pylist()
    [2, 1, None]

    Raises BadInputError for a key that is no column or has no order.
    """
    whole = table if isinstance(table, arrow().Table) else arrow().table(table)
    parsed = parse_table_keys([keys] if isinstance(keys, str) else keys, whole.schema)
    with core_errors():
        return sorted_table(whole, parsed)


def sorted_table(table: Any, keys: Sequence[ColumnKey]) -> Any:
    """Return a sorted table. Each column is copied alone, so that little is held twice if the caller keeps no table."""
    schema, rows = table.schema, table.num_rows
    indices = sort_indices(key_columns(table, keys))
    columns = table.columns
    del table
    for number in range(len(columns)):
        columns[number] = taken(columns[number], indices)
    return arrow().table(columns, schema=schema) if columns else arrow().table({}).slice(0, rows)


def taken(column: Any, indices: Any) -> Any:
    """Return a chunked column's values at these places."""
    library, types = arrow(), arrow("pyarrow.types")
    column_type = column.type
    if types.is_dictionary(column_type):
        column = column.unify_dictionaries()
    if types.is_string_view(column_type) or types.is_binary_view(column_type):  # of which pyarrow takes none
        wide = library.large_string() if types.is_string_view(column_type) else library.large_binary()
        return taken(column.cast(wide), indices).cast(column_type)
    wide = {library.string(): library.large_string(), library.binary(): library.large_binary()}.get(column_type)
    if wide is None or column.nbytes <= _MOST_BYTES_IN_ONE:
        return library.chunked_array([column.combine_chunks().take(indices)], type=column_type)
    whole = column.cast(wide).combine_chunks()
    rows = max(len(indices) * _MOST_BYTES_IN_ONE // (2 * column.nbytes), 1)
    pieces = (whole.take(indices.slice(first, rows)) for first in range(0, len(indices), rows))
    return library.chunked_array([piece.cast(column_type) for piece in pieces], type=column_type)
