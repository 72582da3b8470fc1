"""Writing sorted rows as Parquet: with the schema, metadata, compression and row groups that the inputs have."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any, Final

from planner.sorting.table_keys import ColumnKey, arrow

MOST_GROUP_ROWS: Final = 1 << 20


@dataclass(frozen=True, kw_only=True)
class ParquetStyle:
    """How a file is written, whatever its schema: compression in pyarrow's words, the leaves that have dictionaries
    (None: all may), the rows of a row group, and whether every column is one leaf.
    """

    compression: str
    dictionaries: tuple[str, ...] | None
    group_rows: int
    is_flat: bool


def style_of(metadata: Any, schema: Any) -> ParquetStyle:
    """Return how a file was written, from its footer."""
    groups = metadata.num_row_groups
    rows = max((metadata.row_group(i).num_rows for i in range(groups)), default=0)
    return ParquetStyle(
        compression=_compression(metadata),
        dictionaries=_dictionaries(metadata),
        group_rows=min(rows, MOST_GROUP_ROWS) if rows else MOST_GROUP_ROWS,
        is_flat=len(schema.names) == metadata.num_columns,
    )


def parquet_writer(file: Any, schema: Any, style: ParquetStyle, keys: Sequence[ColumnKey]) -> Any:
    """Return pyarrow's writer of a file that is sorted by keys, which its footer says if all columns are leaves."""
    parquet = arrow("pyarrow.parquet")
    order = [parquet.SortingColumn(key.column, key.descending, key.nulls_first) for key in keys]
    return parquet.ParquetWriter(
        file,
        schema,
        compression=style.compression,
        use_dictionary=True if style.dictionaries is None else list(style.dictionaries),
        sorting_columns=order if style.is_flat else None,
        store_schema=True,
    )


def row_groups(tables: Iterator[Any], *, rows: int, size_bytes: int) -> Iterator[Any]:
    """Yield tables of so many rows, or bytes if those come first, of smaller and larger ones."""
    waiting: list[Any] = []
    have = size = 0
    for table in tables:
        begin = 0
        while begin < table.num_rows:
            part = table.slice(begin, rows - have)
            begin += part.num_rows
            have += part.num_rows
            size += part.nbytes
            waiting.append(part)
            if have == rows or size >= size_bytes:
                yield arrow().concat_tables(waiting)
                waiting, have, size = [], 0, 0
    if waiting:
        yield arrow().concat_tables(waiting)


def _compression(metadata: Any) -> str:
    if not (metadata.num_row_groups and metadata.num_columns):
        return "snappy"
    name: str = metadata.row_group(0).column(0).compression
    return "none" if name == "UNCOMPRESSED" else name.lower()


def _dictionaries(metadata: Any) -> tuple[str, ...] | None:
    """Return the leaves that had dictionaries, which are not worth a try elsewhere."""
    if not metadata.num_row_groups:
        return None
    columns = [metadata.row_group(0).column(i) for i in range(metadata.num_columns)]
    return tuple(column.path_in_schema for column in columns if column.has_dictionary_page)
