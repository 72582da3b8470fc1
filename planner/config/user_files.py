"""Content of user-named files and pipes up to a limit, nothing of a device; files in a folder."""

from __future__ import annotations

import codecs
import math
import os
import re
import stat
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path
from typing import Final

from planner.errors import BadInputError

MOST_BYTES: Final = 1 << 28
"""Limit for files: plans, logs and tables have a few megabytes; an endless pipe would fill the memory."""
MOST_VALUES: Final = 4_000_000
"""Limit for the values in a file: parsed, each takes up to 500 bytes, a hundred times its text."""


def read_user_file(path: Path, *, most_values: float = MOST_VALUES) -> str:
    """Return a file's text, without the byte order mark that some programs put before UTF-8; UTF-16, as PowerShell
    redirects it, needs that mark. Raises BadInputError for a file that cannot be read, is not text, or is too long;
    with unlimited values, a regular file is read whole.
    """
    try:
        content = _content(path, most_values)
    except OSError as error:
        raise BadInputError(f"{path} cannot be read: {error.strerror}; name another file", code="unreadable") from error
    try:
        wide = content.startswith((codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE))
        return content.decode("utf-16" if wide else "utf-8-sig").replace("\r\n", "\n")
    except UnicodeDecodeError as error:
        raise BadInputError(
            f"{path} cannot be read: it is not text in UTF-8; name another file", code="not-utf-8"
        ) from error


def _content(path: Path, most_values: float) -> bytes:
    mode = os.stat(path).st_mode  # noqa: PTH116  # opening some devices has effects
    if stat.S_ISCHR(mode) or stat.S_ISBLK(mode):
        raise BadInputError(f"{path} is a device, which may have no end; name a file", code="no-end")
    with path.open("rb") as file:
        is_whole = stat.S_ISREG(mode) and math.isinf(most_values)
        content = file.read() if is_whole else file.read(MOST_BYTES + 1)
    if not is_whole and len(content) > MOST_BYTES:
        raise BadInputError(f"{path}: more than {MOST_BYTES >> 20} MiB; name a shorter file", code="too-long")
    if len(content) > most_values and content.count(b",") + content.count(b"\n") > most_values:
        raise BadInputError(f"{path}: more than {most_values:,} values; name a shorter file", code="too-long")
    return content


HIDDEN: Final = ("_", ".")
"""Name prefixes of other programs' files next to data: `_SUCCESS`, `.part-0.crc`."""
_TABLE_LOGS: Final = {"_delta_log": "Delta", ".hoodie": "Hudi", "metadata": "Iceberg"}
_TABLE_LOG: Final = re.compile(r"/(_delta_log|\.hoodie|metadata(?=/[^/]*\.metadata\.json$))(?:/|$)")
"""Begins with its slash: Python then finds it in a quarter of the time that splitting the path takes."""


def require_no_table_log(path: str) -> None:
    """Raise BadInputError for a path in the log of a Delta, Hudi or Iceberg table: the files next to it also hold rows
    that were deleted or replaced, and only the log says which ones.
    """
    if log := _TABLE_LOG.search(rooted := f"/{path}"):
        raise BadInputError(
            f"{rooted[1 : log.start()] or '.'} is a table of {_TABLE_LOGS[log[1]]}, whose log says which rows count",
            ["its files also hold deleted and replaced rows: write the table as Parquet first"],
            code="is-table",
        )


def require_outside_tables(folder: Path) -> None:
    """Raise BadInputError for a folder within such a table, as one of its partitions is."""
    if log := table_log_above(folder):
        require_no_table_log(f"{log}/.metadata.json")


def require_no_table_at(path: Path) -> None:
    """Raise BadInputError for an output among the files of such a table: readers do not count it, and miss what it
    replaces.
    """
    if log := table_log_above(path.parent):
        table = log.parent
        sorts = "" if log.name == ".hoodie" else f", or sort the table itself: planner table sort {table}"
        raise BadInputError(
            f"{path} is among the files of a {_TABLE_LOGS[log.name]} table, whose log says which files count",
            [f"name a file outside of {table}{sorts}"],
            code="is-table",
        )


def table_log_above(folder: Path) -> Path | None:
    """Return the log of the Delta, Hudi or Iceberg table that a folder is, or is in."""
    for parent in (folder.resolve(), *folder.resolve().parents):
        with suppress(OSError):
            logs = [parent / name for name in _TABLE_LOGS if (parent / name).is_dir()]
            for log in (each for each in logs if each.name != "metadata" or any(each.glob("*.metadata.json"))):
                return log
    return None


def files_below(folder: Path) -> list[Path]:
    """Return the files below a folder that are not empty, ordered by name, without hidden ones. Links are followed, and
    a file with several names is returned once, by the name without links if there is one.

    Raises BadInputError for a broken link, and a folder that cannot be listed: rows would be missing; and for a table
    with a log.
    """
    require_outside_tables(folder)
    found: dict[str, Path] = {}
    real = os.path.realpath(folder)
    try:
        named = sorted(_named(folder, real, above=(real,)))
    except OSError as error:
        raise BadInputError(
            f"{error.filename}: {error.strerror}",
            ["what is there would be missing: remove it, or make it readable"],
            code="unreadable",
        ) from error
    for _, path, place in named:
        found.setdefault(place, path)
    return sorted(found.values())


def _named(
    folder: Path, real: str, *, above: tuple[str, ...], is_linked: bool = False
) -> Iterator[tuple[bool, Path, str]]:
    """Yield whether a link leads to a file, its path, and its path without links. Raises OSError."""
    with os.scandir(folder) as entries:
        for entry in entries:
            require_no_table_log(entry.path)
            if entry.name.startswith(HIDDEN):
                continue
            path, is_link = folder / entry.name, is_linked or entry.is_symlink()
            place = os.path.realpath(path) if entry.is_symlink() else os.path.join(real, entry.name)  # noqa: PTH118
            if entry.is_dir():
                if place not in above:
                    yield from _named(path, place, above=(*above, place), is_linked=is_link)
            elif stat.S_ISREG((status := entry.stat()).st_mode) and status.st_size:
                yield is_link, path, place
