"""Texts in files that users name: all of a regular file, so much of a pipe as a file may hold, nothing of a device."""

from __future__ import annotations

import codecs
import os
import stat
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
