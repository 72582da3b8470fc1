"""Parquet files as a dataset: each is a partition, whose footer lists its row groups."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import asdict, dataclass, field, replace
from pathlib import Path
from typing import Any, Final

from planner.distributed_sort.content.table_content import transfer_schema
from planner.distributed_sort.content.table_file import Footer, folders_of, open_copy
from planner.distributed_sort.dataset.dataset import (
    Copy,
    Dataset,
    Layout,
    Partition,
    TableFormat,
    read_manifest,
    serialize_schema,
)
from planner.distributed_sort.dataset.input_files import files_of, is_manifest
from planner.distributed_sort.dataset.joined_files import join_small
from planner.distributed_sort.dataset.object_store import is_object
from planner.errors import BadInputError
from planner.sorting.tables.arrow_library import arrow
from planner.sorting.tables.folder_columns import columns_twice, folder_types, twice_said
from planner.sorting.tables.parquet_output import MOST_GROUP_ROWS, ParquetStyle, style_of
from planner.sorting.tables.parquet_schemas import int96_leaves, interval_leaves, require_no_interval, united_schema
from planner.sorting.tables.table_keys import has_categories, parse_table_keys

_FOOTERS_AT_ONCE: Final = 32
_MOST_DECODED: Final = 8
"""Most files with a few decoded rows, as footers do not give the size of rows in memory."""
_DECODED_ROWS: Final = 1 << 14
_FOLDER_BYTES: Final = 8
"""Bytes in memory for a folder's value in a row: an integer, or a short text."""
_LEAST_GROUP_ROWS: Final = 1 << 17
"""Fewest rows of the output's row groups: the groups of small files would make it large and slow to read."""


@dataclass(frozen=True, kw_only=True)
class _Source:
    """Partitions with one schema, the style of their files, the bytes of a row in memory if examined, and the columns
    that the names of folders below it add to those of the files.
    """

    name: str
    partitions: tuple[Partition, ...]
    schema: Any
    style: dict[str, Any]
    row_bytes: float | None
    folders: dict[str, str | None] = field(default_factory=dict)
    twice: Collection[str] = ()
    """Columns that both the file and its folders have."""
    has_int96: bool = False
    intervals: tuple[str, ...] = ()


def tables_of(
    sources: Sequence[str],
    keys: Sequence[str],
    *,
    unique: bool = False,
    fills: bool = False,
    columns: Collection[str] = (),
    say: Callable[[str], None] | None = None,
) -> Dataset:
    """Return the rows of Parquet files, of all files in directories and below prefixes of object stores, and of
    manifests written by sorts of Parquet. All nodes must reach the files by these names. Folders called `NAME=VALUE`
    give the rows below them a column, as `folder_types` says, and `say` gets those that files have, too. With
    `columns`, only these columns are added, from all folders in a file's path.

    Columns go by their names; columns missing from some files are refused, unless it `fills` them with nulls. Raises
    BadInputError for columns of another type, for keys that are no columns or have no order, and for files that are not
    Parquet.
    """
    manifests = [name for name in sources if is_manifest(name)]
    files = [name for name in sources if name not in manifests]
    read = _with_folders([*map(_of_manifest, manifests), *_of_files(files, columns)])
    if say and (twice := {name for source in read for name in source.twice}):
        say(twice_said(twice))
    first = read[0]
    schema = united_schema([source.schema for source in read], [source.name for source in read], fills=fills)
    intervals = [leaf for source in read for leaf in source.intervals]
    for key in parse_table_keys(keys, schema):
        require_no_interval(schema.names[key.column], intervals)
        key_type = schema.field(key.column).type
        if has_categories(key_type) or arrow("pyarrow.types").is_struct(key_type):
            raise BadInputError(
                f"key {schema.names[key.column]}: a cluster does not sort by {key_type}",
                ["sort on one machine, or by another column"],
                code="unsupported-key",
            )
    table = TableFormat(schema=serialize_schema(schema), keys=tuple(keys), unique=unique, **first.style)
    partitions = tuple(partition for source in read for partition in source.partitions)
    sizes = [source.row_bytes for source in read if source.row_bytes is not None]
    row_bytes = round(sum(sizes) / len(sizes)) if sizes else 1
    longest = max((max(partition.groups, default=0) for partition in partitions), default=0)
    table = replace(table, group_rows=min(max(longest, _LEAST_GROUP_ROWS), MOST_GROUP_ROWS))
    if not any(source.has_int96 for source in read):  # a joined file would lack them
        partitions = tuple(join_small(partitions, record_bytes=row_bytes))
    return Dataset(partitions=partitions, layout=Layout.of_table(table, row_bytes=row_bytes))


def _of_files(sources: Sequence[str], columns: Collection[str]) -> Iterator[_Source]:
    found = [(name, source) for source in sources for name in files_of(source)]
    looked_into = {number * len(found) // _MOST_DECODED for number in range(_MOST_DECODED)}

    def read(number: int) -> _Source:
        return _of_file(*found[number], columns, is_decoded=number in looked_into)

    with ThreadPoolExecutor(_FOOTERS_AT_ONCE) as pool:
        yield from pool.map(read, range(len(found)))


def _with_folders(read: Sequence[_Source]) -> list[_Source]:
    """Return sources whose schemas include the columns that folders add."""
    types = folder_types([source.folders for source in read])

    def extended(source: _Source) -> _Source:
        schema = source.schema
        for name in source.folders:
            schema = schema.append(arrow().field(name, types[name]))
        row_bytes = source.row_bytes and source.row_bytes + _FOLDER_BYTES * len(source.folders)
        return replace(source, schema=schema, row_bytes=row_bytes)

    return [extended(source) for source in read]


def _fields_of(style: ParquetStyle) -> dict[str, Any]:
    """Return the fields of a style in a manifest."""
    return {name: value for name, value in asdict(style).items() if name != "details"}


def _of_file(name: str, below: str, columns: Collection[str], *, is_decoded: bool) -> _Source:
    below = "" if columns else below if is_object(below) else str(Path(below).resolve())
    given = {key: value for key, value in folders_of(name, below).items() if not columns or key in columns}
    with _opened(name) as (file, footer):
        row_bytes = _decoded_row_bytes(file) if is_decoded else None
        twice = columns_twice(file, given, path=name)
    partition = Partition(records=footer.metadata.num_rows, copies=(Copy(uri=name),), groups=footer.group_rows)
    style = _fields_of(style_of(footer.metadata))
    return _Source(
        name=name,
        partitions=(partition,),
        schema=footer.schema,
        style=style,
        row_bytes=row_bytes,
        folders={key: value for key, value in given.items() if key not in twice},
        twice=twice,
        has_int96=bool(int96_leaves(footer.metadata)),
        intervals=tuple(interval_leaves(footer.metadata)),
    )


@contextmanager
def _opened(name: str) -> Iterator[tuple[Any, Footer]]:
    """Open a file as `open_copy` does; content errors name the file."""
    try:
        with open_copy(Copy(uri=name)) as opened:
            yield opened
    except BadInputError as error:
        raise error.reworded(f"{name}: {error.message}") from error


def decoded_bytes_of(name: str) -> tuple[float, str]:
    """Return the size of a Parquet file's rows while they are sorted, from its first ones, and the compression of its
    columns, by pyarrow's name. Raises BadInputError, IoFailureError.
    """
    with _opened(name) as (file, footer):
        metadata, row_bytes = footer.metadata, _decoded_row_bytes(file)
        has_columns = metadata.num_row_groups and metadata.num_columns
        codec = metadata.row_group(0).column(0).compression if has_columns else "UNCOMPRESSED"
    return (row_bytes or 0.0) * metadata.num_rows, codec


def _decoded_row_bytes(file: Any) -> float | None:
    """Return the mean size of a row while it is sorted, from the first rows of a file; None for a file without rows."""
    for batch in file.iter_batches(_DECODED_ROWS, use_threads=False):
        if batch.num_rows:
            return float(batch.cast(transfer_schema(batch.schema)).nbytes / batch.num_rows)
    return None


def _of_manifest(name: str) -> _Source:
    dataset = read_manifest(Path(name))
    if (table := dataset.layout.table) is None:
        raise BadInputError(f"{name}: this manifest is not of Parquet; name the files", code="not-parquet")
    style = _fields_of(table.style())
    return _Source(
        name=name,
        partitions=dataset.partitions,
        schema=table.arrow_schema(),
        style=style,
        row_bytes=float(dataset.layout.record_size),
    )
