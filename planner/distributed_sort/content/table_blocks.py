"""Rows of tables as bytes for transfer: Arrow IPC streams one after another, each with its length and its rows.

Dictionaries are left out, because each stream would carry a whole one, and so is the schema's metadata. The output gets
both again from the dataset's schema.
"""

from __future__ import annotations

import struct
from collections.abc import Iterator, Sequence
from itertools import pairwise
from typing import Any, Final

import numpy as np

from planner.arrays import Bytes, Ints
from planner.sorting.tables.arrow_library import arrow
from planner.sorting.tables.table_keys import ColumnKey
from planner.sorting.tables.table_rows import TableRows

_HEAD: Final = struct.Struct("<QQ")
"""Length of the following stream in bytes, and its rows: 16 bytes, so that the stream's buffers stay aligned."""


def transfer_schema(schema: Any) -> Any:
    """Return a schema without dictionaries and metadata."""
    library, types = arrow(), arrow("pyarrow.types")
    fields = (
        library.field(field.name, field.type.value_type if types.is_dictionary(field.type) else field.type)
        for field in schema
    )
    return library.schema(list(fields))


def pack_rows(table: Any) -> bytes:
    """Return rows as bytes."""
    sink = arrow().BufferOutputStream()
    _write(table, sink)
    return bytes(sink.getvalue())


def pack_groups(table: Any, order: Any, edges: Ints) -> tuple[Bytes, Ints]:
    """Return rows in an order as bytes, with one stream for the rows between two edges and no bytes for no rows, and
    the beginnings of the streams.
    """
    rows = TableRows(table.to_batches(), table.schema)
    sink = arrow().BufferOutputStream()
    offsets = [0]
    for begin, end in pairwise(edges.tolist()):
        if begin < end:
            _write(rows.at(order[begin:end]), sink)
        offsets.append(sink.tell())
    return np.frombuffer(sink.getvalue(), np.uint8), np.array(offsets, np.int64)


def unpack_rows(streams: Any) -> Iterator[Any]:
    """Yield the tables in some bytes, which share their memory."""
    library, buffer, at = arrow(), arrow().py_buffer(streams), 0
    while at < buffer.size:
        size, _ = _HEAD.unpack(buffer[at : at + _HEAD.size])
        at += _HEAD.size
        yield arrow("pyarrow.ipc").open_stream(library.BufferReader(buffer.slice(at, size))).read_all()
        at += size


def count_rows(streams: Any) -> int:
    """Return the number of rows."""
    buffer, at, rows = arrow().py_buffer(streams), 0, 0
    while at < buffer.size:
        size, of_stream = _HEAD.unpack(buffer[at : at + _HEAD.size])
        at, rows = at + _HEAD.size + size, rows + of_stream
    return rows


def key_table(table: Any, keys: Sequence[ColumnKey]) -> tuple[Any, list[ColumnKey]]:
    """Return the key columns, one for each key, and the keys by their places among these columns."""
    columns = [table.column(key.column) for key in keys]
    names = [str(place) for place in range(len(keys))]
    return arrow().table(columns, names=names), [key._replace(column=place) for place, key in enumerate(keys)]


def _write(table: Any, sink: Any) -> None:
    stream = arrow().BufferOutputStream()
    with arrow("pyarrow.ipc").new_stream(stream, table.schema) as writer:
        writer.write_table(table)
    content = stream.getvalue()
    sink.write(_HEAD.pack(content.size, table.num_rows))
    sink.write(content)
