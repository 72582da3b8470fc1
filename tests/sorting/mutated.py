"""Mutated files, each sorted, checked and validated in a child process, where an abort of a library shows."""

from __future__ import annotations

import bz2
import lzma
import os
import random
import signal
import zlib
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import cramjam
import pyarrow as pa
import pyarrow.parquet as pq
import zstandard

import planner
from planner.errors import PlannerError
from planner.sorting.tables.parquet_parts import Field, List, read_footer_struct, struct_bytes

FORMS: dict[str, dict[str, Any]] = {
    "snappy": {},
    "gzip": {"compression": "gzip", "data_page_version": "2.0", "write_page_index": True},
    "zstd": {"compression": "zstd", "use_dictionary": False, "write_page_checksum": True},
    "lz4": {"compression": "lz4", "data_page_size": 100, "write_statistics": False},
    "none": {"compression": "none", "use_dictionary": False, "column_encoding": {"k": "DELTA_BINARY_PACKED"}},
    "brotli": {"compression": "brotli", "row_group_size": 20, "store_schema": False},
}


def tables() -> Iterator[tuple[str, bytes]]:
    """Yield the names and contents of Parquet files of many forms."""
    rows = 60
    table = pa.table({
        "k": [i * 7919 % rows for i in range(rows)], "s": [None if i % 7 == 0 else f"{i % 5}" for i in range(rows)],
        "l": [[i] * (i % 3) for i in range(rows)], "n": [{"x": i, "y": [str(i)]} for i in range(rows)],
    })  # fmt: skip
    for name, how in FORMS.items():
        file = pa.BufferOutputStream()
        pq.write_table(table, file, **how)
        yield f"{name}.parquet", file.getvalue().to_pybytes()


def texts() -> Iterator[tuple[str, bytes]]:
    """Yield the names and contents of compressed texts."""
    text = b"".join(b"%d,%d\n" % (i * 7919 % 1000, i) for i in range(1000))
    yield "gz", zlib.compress(text, 6, 31) * 2
    yield "bz2", bz2.compress(text)
    yield "xz", lzma.compress(text, preset=0) * 2
    yield "zst", zstandard.compress(text) * 2
    yield "lz4", pa.compress(text, codec="lz4", asbytes=True)
    yield "sz", bytes(cramjam.snappy.compress(text))


def mutated(content: bytes, chance: random.Random) -> bytes:
    """Return the content with a few bytes changed, cut out or repeated; in Parquet also a field of the footer."""
    if content.startswith(b"PAR1") and chance.random() < 0.5:
        return _footer_changed(content, chance)
    data = bytearray(content)
    for _ in range(chance.choice((1, 1, 1, 2, 8))):
        place = chance.randrange(len(data))
        kind = chance.random()
        if kind < 0.8:
            data[place] = chance.choice((data[place] ^ 1 << chance.randrange(8), 0, 255, chance.randrange(256)))
        elif kind < 0.9:
            del data[place : place + chance.choice((1, 4, 100))]
        else:
            data[place:place] = data[place : place + 8]
    return bytes(data)


def _footer_changed(content: bytes, chance: random.Random) -> bytes:
    footer = read_footer_struct(content)
    struct, number = chance.choice(list(_fields(footer)))
    struct[number] = _other(struct[number], chance)
    if chance.random() < 0.1:
        del struct[number]
    if chance.random() < 0.1:
        struct[chance.randrange(1, 20)] = Field(5, chance.randrange(-3, 40))
    size = int.from_bytes(content[-8:-4], "little")
    new = struct_bytes(dict(sorted(footer.items())))
    return content[: -8 - size] + new + len(new).to_bytes(4, "little") + b"PAR1"


def _fields(struct: Any) -> Iterator[tuple[Any, int]]:
    for number, (_, value) in struct.items():
        yield struct, number
        for below in value.values if isinstance(value, List) else [value]:
            if isinstance(below, dict):
                yield from _fields(below)


def _other(field: Field, chance: random.Random) -> Field:
    value = field.value
    if isinstance(value, bool):
        return field._replace(value=not value)
    if isinstance(value, int):
        return field._replace(value=chance.choice((-1, 0, 3, 16, value + 1, value - 1, value * 2, 2**31 - 1, 2**62)))
    if isinstance(value, bytes):
        return field._replace(value=chance.choice((b"", value * 2, bytes(chance.randrange(256) for _ in value))))
    if isinstance(value, List) and value.values:
        kept = chance.choice((value.values[:-1], value.values * 2, []))
        return field._replace(value=value._replace(values=kept))
    return Field(5, chance.randrange(-1, 50))


def ending(path: Path, folder: Path, chance: random.Random) -> str:
    """Use a file in each way, in a child process; return '' if all is right, else the signal or the foreign error."""
    way = chance.randrange(5)
    readable, writable = os.pipe()
    if (child := os.fork()) == 0:
        os.dup2(os.open(os.devnull, os.O_WRONLY), 2)
        signal.alarm(60)
        try:
            _use(path, folder, way)
        except (PlannerError, OSError):
            pass
        except BaseException as error:
            os.write(writable, f"{way}: {error!r}"[:500].encode())
        os._exit(0)
    os.close(writable)
    with os.fdopen(readable, "rb") as said:
        foreign = said.read().decode()
    status = os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])
    return foreign or (f"{way}: signal {-status}" if status else "")


def _use(path: Path, folder: Path, way: int) -> None:
    is_table = path.suffix == ".parquet"
    how: dict[str, Any] = {"format": "parquet", "key": "k"} if is_table else {"format": "lines"}
    output = folder / f"out{path.suffix}"
    if way == 0:
        planner.sort(path, output, force=True, **how)
    elif way == 1 and is_table:
        planner.sort([path, path], output, merge=True, force=True, **how)
    elif way == 1:
        planner.sort(path, output, force=True, format="csv", no_header=True, key="2")
    elif way == 2 and is_table:
        _read_for_a_cluster(path)
    elif way == 3:
        planner.find_disorder(path, **how)
    else:
        planner.validate(path, lines=not is_table)


def _read_for_a_cluster(path: Path) -> None:
    from planner.distributed_sort.content.table_file import open_copy
    from planner.distributed_sort.dataset.dataset import Copy

    with open_copy(Copy(uri=str(path))) as (file, footer):
        for group in range(len(footer.group_rows)):
            file.read_row_group(group, use_threads=False)
