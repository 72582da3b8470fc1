"""The shipped catalogs as arrays in the user's cache directory: made from their text once, then read without parsing.

A file has the checksum of its content, the length of its head, the head as JSON, and the columns' bytes; texts take the
fewest bytes for a letter that their column allows. The head states the files that the arrays were made from. A file of
others or a damaged one is made again, and a directory that cannot be read or written only costs time.
"""

from __future__ import annotations

import json
import os
from collections.abc import Iterator, Mapping
from contextlib import suppress
from datetime import date
from functools import cache
from pathlib import Path
from typing import Any, Final
from zlib import crc32

import numpy as np

from planner.arrays import Array, Bytes, raw_bytes
from planner.catalog import schema
from planner.catalog.catalog import Catalog
from planner.catalog.manifest import Manifest
from planner.catalog.tables import Table
from planner.config.atomic_file import replace_file
from planner.config.paths import cache_directory, catalogs_directory
from planner.errors import PlannerError
from planner.schemas.json_values import Reader, to_jsonable

Stamp = tuple[tuple[str, int, int], ...]
"""Path, time of the last change in nanoseconds, and size in bytes of each file that a catalog is read from."""

_SETTLED_NS: Final = 2_000_000_000
"""How much younger than the files that it was made from a file of arrays must be: their next change then has another
time than the last.
"""
_ALIGNED: Final = 8
_LINES: Final = ""
"""The name of a table's line numbers among its columns."""


def stamp_of(*places: Path) -> Stamp:
    """Return the stamp of files, and of the files in directories, in order; what does not exist has none."""
    return tuple(sorted(stamp for place in places for stamp in _stamps(place)))


def read_kept(directory: Path, stamp: Stamp) -> Catalog | None:
    """Return the catalog that was kept with this stamp for a directory, None without one."""
    newest_ns = max(changed_ns for _, changed_ns, _ in stamp)
    try:
        with _place(directory).open("rb") as file:
            if os.fstat(file.fileno()).st_ctime_ns < newest_ns + _SETTLED_NS:
                return None
            content = np.fromfile(file, dtype=np.uint8)
        checksum, length = content[:_ALIGNED].view("<u4").tolist()
        head = json.loads(content[_ALIGNED:][:length].tobytes())
    except (OSError, ValueError, PlannerError):
        return None
    if checksum != crc32(raw_bytes(content[4:])) or head["stamp"] != _text_of(stamp):
        return None
    day = date.fromisoformat(head["prices_as_of"])
    return Catalog(
        name=directory.name,
        path=directory,
        manifest=Reader().read(Manifest, head["manifest"] | {"prices_as_of": day}),
        tables=_unpack(head["tables"], content[_ALIGNED + length :]),
        refreshed_on=day if head["is_refreshed"] else None,
    )


def keep(catalog: Catalog, stamp: Stamp) -> None:
    """Keep a catalog for other processes if it is a shipped one."""
    if catalog.path.parent != catalogs_directory():
        return
    tables, columns = _pack(catalog.tables)
    head = {
        "stamp": _text_of(stamp),
        "manifest": to_jsonable(catalog.manifest),
        "prices_as_of": catalog.prices_as_of,
        "is_refreshed": catalog.refreshed_on is not None,
        "tables": tables,
    }
    text = json.dumps(head, default=str).encode()
    text += b" " * (-len(text) % _ALIGNED)
    content = b"".join((len(text).to_bytes(4, "little"), text, columns))
    with suppress(OSError, PlannerError):
        place = _place(catalog.path)
        place.parent.mkdir(parents=True, exist_ok=True)
        replace_file(place, crc32(content).to_bytes(4, "little") + content)


def _stamps(place: Path) -> Iterator[tuple[str, int, int]]:
    for entry in os.scandir(place) if place.is_dir() else (place,):
        if entry.is_file():
            status = entry.stat()
            yield os.fspath(entry), status.st_ctime_ns, status.st_size


def _place(directory: Path) -> Path:
    return cache_directory() / f"{directory.name}-{crc32(os.fsencode(directory)):08x}.arrays"


def _text_of(stamp: Stamp) -> str:
    return f"{stamp} {_code()}"


@cache
def _code() -> Stamp:
    """Return the stamp of the code that turns text into arrays."""
    here = Path(__file__).parent
    return stamp_of(here, here / "tables")


def _pack(tables: Mapping[str, Table]) -> tuple[dict[str, Any], bytes]:
    """Return each table's path and columns (name, type, type as stored, bytes), and the bytes of all columns."""
    heads, parts = {}, []
    for name, table in tables.items():
        columns = []
        for column, values in {**table.columns, _LINES: np.array(table.lines, dtype=np.int64)}.items():
            stored = _narrow(values) if values.dtype.kind == "U" else values
            columns.append((column, values.dtype.str, stored.dtype.str, stored.nbytes))
            parts += [stored.tobytes(), bytes(-stored.nbytes % _ALIGNED)]
        heads[name] = (str(table.path), columns)
    return heads, b"".join(parts)


def _narrow(texts: Array) -> Array:
    """Return the letters of texts as numbers of the fewest bytes that hold all of them."""
    letters = np.ascontiguousarray(texts).view(np.uint32)
    return letters.astype(np.min_scalar_type(letters.max(initial=0)))


def _unpack(heads: Mapping[str, Any], content: Bytes) -> dict[str, Table]:
    tables, start = {}, 0
    for declared in schema.ALL:
        path, declared_columns = heads[declared.name]
        columns: dict[str, Array] = {}
        for name, kind, stored_kind, size in declared_columns:
            stored = content[start : start + size].view(stored_kind)
            columns[name] = stored if kind == stored_kind else stored.astype(np.uint32).view(kind)
            start += size + -size % _ALIGNED
        lines = columns.pop(_LINES).tolist()
        tables[declared.name] = Table(schema=declared, path=Path(path), columns=columns, lines=lines)
    return tables
