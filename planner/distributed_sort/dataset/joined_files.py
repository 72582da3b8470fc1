"""Many small files as few partitions: a task for each file takes longer than its content is worth.

One node reads the files of a partition and writes them to its disk as one, as with compressed text.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from typing import Any, Final

import numpy as np

from planner.arrays import Bytes
from planner.compression.text_codecs import decompress_text
from planner.distributed_sort.content.table_file import conform, open_copy, require_schema
from planner.distributed_sort.dataset.dataset import Copy, Layout, Part, Partition, TextFormat
from planner.distributed_sort.dataset.input_files import beginning_of, size_of
from planner.distributed_sort.node_files.node_environment import node_name
from planner.errors import BadInputError, IoFailureError
from planner.native import core, core_errors
from planner.sorting.tables.arrow_library import arrow
from planner.units import count_text

JOINED: Final = "joined"
"""`compression` of a partition's copy that joins files."""
_SMALL_BYTES: Final = 1 << 20
_JOINED_BYTES: Final = 8 << 20
_MOST_FILES: Final = 256
"""Most files in a partition: each is a request, some of which are under way at a time."""
_LEAST_FILES: Final = 64
"""Fewest small files that are joined; fewer are read as they are."""
_FILES_AT_ONCE: Final = 16


def join_small(partitions: Sequence[Partition], *, record_bytes: int = 1) -> list[Partition]:
    """Return partitions with many small files joined into few, with the same content in the same order.

    Only files that every node reaches are joined. The size of joined text is estimated until it is joined, since a last
    line without an end gets one.
    """
    small = [_is_small(partition, record_bytes) for partition in partitions]
    if sum(small) < _LEAST_FILES:
        return list(partitions)
    joined, open_group = list[Partition](), list[Partition]()
    for partition, is_small in zip(partitions, small, strict=True):
        size = sum(part.records for part in open_group) * record_bytes
        if open_group and (not is_small or len(open_group) == _MOST_FILES or size >= _JOINED_BYTES):
            joined.append(_join(open_group))
            open_group = []
        if is_small:
            open_group.append(partition)
        else:
            joined.append(partition)
    return [*joined, *([_join(open_group)] if open_group else [])]


def _is_small(partition: Partition, record_bytes: int) -> bool:
    is_one_file = partition.recipe is None and len(partition.copies) == 1 and not partition.copies[0].node
    return is_one_file and partition.records * record_bytes < _SMALL_BYTES


def _join(partitions: Sequence[Partition]) -> Partition:
    if len(partitions) == 1:
        return partitions[0]
    copies = [partition.copies[0] for partition in partitions]
    parts = tuple(
        Part(uri=copy.uri, records=partition.records, offset=copy.offset, compression=copy.compression)
        for partition, copy in zip(partitions, copies, strict=True)
    )
    rows = sum(partition.records for partition in partitions)
    is_table = any(partition.groups for partition in partitions)
    name = f"{copies[0].uri} to {copies[-1].uri.rpartition('/')[2]}"
    return Partition(
        records=rows,
        copies=(Copy(uri=name, compression=JOINED, parts=parts),),
        groups=(rows,) if is_table else (),
        is_estimated=not is_table,
    )


def read_joined(copy: Copy, layout: Layout) -> Iterator[Bytes]:
    """Yield a file with the content of a copy's parts: their lines, or one row group of their rows.

    Raises BadInputError naming a damaged part, and IoFailureError naming a changed one.
    """
    text = layout.text
    if text is None:
        assert layout.table is not None, "records are not joined"
        schema = layout.table.arrow_schema()
        tables = list(_read_each(copy.parts, lambda part: _rows(part, schema)))
        yield _one_group(arrow().concat_tables(tables))
    else:
        yield from _read_each(copy.parts, lambda part: _lines(part, text))


def _read_each(parts: Sequence[Part], read: Callable[[Part], Any]) -> Iterator[Any]:
    """Yield the content of parts in order: requests to a store take tens of milliseconds, so several are under way."""

    def named(part: Part) -> Any:
        with _naming(part):
            return read(part)

    with ThreadPoolExecutor(_FILES_AT_ONCE) as pool:
        yield from pool.map(named, parts)


@contextmanager
def _naming(part: Part) -> Iterator[None]:
    try:
        yield
    except BadInputError as error:
        raise error.reworded(f"{part.uri}: {error.message}") from error


def _lines(part: Part, text: TextFormat) -> Bytes:
    """Return the lines of a part, the last with an end. Every row of CSV is checked here, as the file is known for an
    error message.
    """
    size = size_of(part.uri)
    if not part.compression and size != part.offset + part.records:
        raise _changed(part, f"{size} bytes instead of {part.offset + part.records}")
    pieces = beginning_of(part.uri, size, piece_bytes=max(1, size), version=part.version)
    whole = b"".join(decompress_text(pieces, part.compression) if part.compression else pieces)
    content = whole[part.offset :]
    end = text.line_end.encode()
    if content and not content.endswith(end):
        needs_return = text.longest_end_bytes == 2 and not content.endswith(b"\r")
        content += b"\r" * needs_return + end
    if text.csv is not None:
        with core_errors():
            core.summarize_text(content, text.order().for_core())
    return np.frombuffer(content, np.uint8)


def _rows(part: Part, schema: Any) -> Any:
    """Return the rows of a part with the columns that its folders add."""
    copy = Copy(uri=part.uri, version=part.version)
    with open_copy(copy) as (file, footer):
        if footer.metadata.num_rows != part.records:
            raise _changed(part, f"{count_text(footer.metadata.num_rows, 'row')} instead of {part.records}")
        require_schema(part.uri, footer, schema)
        return conform(file.read(use_threads=False), schema, Partition(records=part.records, copies=(copy,)))


def _one_group(rows: Any) -> Bytes:
    sink = arrow().BufferOutputStream()
    parquet = arrow("pyarrow.parquet")
    parquet.write_table(rows, sink, row_group_size=max(1, rows.num_rows), compression="none", use_dictionary=False)
    return np.frombuffer(sink.getvalue(), np.uint8)


def joined_bytes(copy: Copy) -> int:
    """Return the stored size of the files that a copy joins."""
    return sum(size_of(part.uri) for part in copy.parts)


def _changed(part: Part, how: str) -> IoFailureError:
    return IoFailureError(
        f"{node_name()}: {part.uri} was changed after it was listed", [how, "sort again"], code="input-changed"
    )
