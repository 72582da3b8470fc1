"""Sorting Arrow tables in memory, and what the sort of Parquet files shares with it."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any, Final

from planner.native import core_errors
from planner.sorting.table_keys import ColumnKey, arrow, key_columns, parse_table_keys
from planner.sorting.table_order import row_order

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
    indices = row_order(key_columns(table, keys), rows)
    columns = table.columns
    del table
    for number, field in enumerate(schema):
        columns[number] = _taken(_takeable(columns[number]), indices, field.type)
    return arrow().table(columns, schema=schema) if columns else arrow().table({}).slice(0, rows)


def sorted_pieces(tables: list[Any], keys: Sequence[ColumnKey], *, piece_bytes: int) -> Iterator[Any]:
    """Yield the rows of all tables in order, in tables of about so many bytes; the list is emptied."""
    whole = arrow().concat_tables(tables)
    tables.clear()
    schema, rows, size = whole.schema, whole.num_rows, whole.nbytes
    columns = whole.columns
    del whole
    for number, column in enumerate(columns):
        columns[number] = _takeable(column)
    indices = row_order(key_columns(arrow().table(columns, names=schema.names), keys), rows)
    step = max(rows * piece_bytes // max(size, 1), 1)
    for first in range(0, rows, step):
        part = indices.slice(first, step)
        taken = [_taken(column, part, field.type) for column, field in zip(columns, schema, strict=True)]
        yield arrow().table(taken, schema=schema)


def rows_at(table: Any, indices: Any) -> Any:
    """Return a table of the rows at these places."""
    columns = [_taken(_takeable(table.column(i)), indices, field.type) for i, field in enumerate(table.schema)]
    return arrow().table(columns, schema=table.schema)


def _takeable(column: Any) -> Any:
    """Return a column of which values can be taken: in one piece, if it is not too long for that."""
    library, types = arrow(), arrow("pyarrow.types")
    if types.is_dictionary(column.type):
        column = _unified(column)
    elif types.is_string_view(column.type) or types.is_binary_view(column.type):  # of which pyarrow takes none
        column = column.cast(library.large_string() if types.is_string_view(column.type) else library.large_binary())
    return column if column.nbytes > _MOST_BYTES_IN_ONE else _in_one(column)


def _in_one(column: Any) -> Any:
    if column.num_chunks == 1:
        return column
    return arrow().chunked_array([column.combine_chunks()], type=column.type)


def _unified(column: Any) -> Any:
    """Return a column whose chunks have one dictionary."""
    if any(chunk.dictionary.null_count for chunk in column.chunks):  # which pyarrow cannot unify
        return column.cast(column.type.value_type).dictionary_encode().cast(column.type)
    return column.unify_dictionaries()


def _taken(column: Any, indices: Any, column_type: Any) -> Any:
    """Return a takeable column's values at these places, as this type."""
    library = arrow()
    wide = {library.string(): library.large_string(), library.binary(): library.large_binary()}.get(column_type)
    if wide is None or column.nbytes <= _MOST_BYTES_IN_ONE:
        return library.chunked_array([column.combine_chunks().take(indices).cast(column_type)], type=column_type)
    whole = column.cast(wide).combine_chunks()
    rows = max(len(indices) * _MOST_BYTES_IN_ONE // (2 * column.nbytes), 1)
    pieces = (whole.take(indices.slice(first, rows)) for first in range(0, len(indices), rows))
    return library.chunked_array([piece.cast(column_type) for piece in pieces], type=column_type)
