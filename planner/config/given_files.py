"""What users name as files: texts, all of a regular file, so much of a pipe as a file may hold, nothing of a device;
and the files in a folder.
"""

from __future__ import annotations

import codecs
import os
import stat
from collections.abc import Iterator
from pathlib import Path
from typing import Final

from planner.errors import BadInputError

PIPE_BYTES: Final = 1 << 28
"""Plans, logs and tables have a few megabytes; what never ends would fill the memory."""


def read_given(path: Path) -> str:
    """Return a file's text, without the mark that some programs put before UTF-8; UTF-16, as PowerShell redirects
    it, needs that mark. Raises BadInputError for a file that cannot be read, is no text, or has no end.
    """
    try:
        content = _content(path)
    except OSError as error:
        raise BadInputError(f"{path} cannot be read: {error.strerror}; name another file") from error
    try:
        wide = content.startswith((codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE))
        return content.decode("utf-16" if wide else "utf-8-sig").replace("\r\n", "\n")
    except UnicodeDecodeError as error:
        raise BadInputError(f"{path} cannot be read: it is not text in UTF-8; name another file") from error


def _content(path: Path) -> bytes:
    mode = os.stat(path).st_mode  # noqa: PTH116  # to open some devices does something
    if stat.S_ISCHR(mode) or stat.S_ISBLK(mode):
        raise BadInputError(f"{path} is a device, which may have no end; name a file")
    with path.open("rb") as file:
        content = file.read() if stat.S_ISREG(mode) else file.read(PIPE_BYTES + 1)
    if not stat.S_ISREG(mode) and len(content) > PIPE_BYTES:
        raise BadInputError(f"{path}: a pipe with more than {PIPE_BYTES >> 20} MiB; write it to a file, and name that")
    return content


HIDDEN: Final = ("_", ".")
"""What names begin with that other programs leave beside data: `_SUCCESS`, `.part-0.crc`."""


def files_below(folder: Path) -> list[Path]:
    """Return the files below a folder that are not empty, ordered by name, without hidden ones. Links are followed, and
    what several names lead to is returned once, by the name without links if there is one.

    Raises BadInputError for a link that leads nowhere, and a folder that cannot be listed: rows would be missing.
    """
    found: dict[str, Path] = {}
    real = os.path.realpath(folder)
    try:
        named = sorted(_named(folder, real, above=(real,)))
    except OSError as error:
        raise BadInputError(
            f"{error.filename}: {error.strerror}", ["what is there would be missing: remove it, or make it readable"]
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
            if entry.name.startswith(HIDDEN):
                continue
            path, is_link = folder / entry.name, is_linked or entry.is_symlink()
            place = os.path.realpath(path) if entry.is_symlink() else os.path.join(real, entry.name)  # noqa: PTH118
            if entry.is_dir():
                if place not in above:
                    yield from _named(path, place, above=(*above, place), is_linked=is_link)
            elif stat.S_ISREG((status := entry.stat()).st_mode) and status.st_size:
                yield is_link, path, place
