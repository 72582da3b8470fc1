"""The files that an input names: itself, all in a directory, or all that a pattern fits; and what their folders say."""

from __future__ import annotations

import glob
import stat
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Final
from urllib.parse import unquote

from planner.api.files import mode_of
from planner.errors import BadInputError

_HIDDEN: Final = ("_", ".")
"""What names begin with that other programs leave beside data: `_SUCCESS`, `.part-0.crc`."""
_PATTERN: Final = frozenset("*?[")
_NULL: Final = "__HIVE_DEFAULT_PARTITION__"
Folders = Mapping[str, str | None]
"""Columns and their values, as folders like `year=2026` say them."""


def listed_files(sources: Sequence[Path]) -> dict[Path, Folders]:
    """Return the files, each with the columns that its folders add below a directory or a pattern.

    Raises BadInputError where there are none.
    """
    found: dict[Path, Folders] = {}
    for source in sources:
        listed = dict(_listed(source))
        if not listed:
            raise BadInputError(f"{source}: there are no files in it, or only empty ones; name another")
        found |= listed
    if len({tuple(folders) for folders in found.values()}) > 1:
        few = min(found, key=lambda path: len(found[path]))
        raise BadInputError(f"{few}: its folders do not say the same columns as those of other files; name files alike")
    return found


def _listed(source: Path) -> Iterator[tuple[Path, Folders]]:
    if stat.S_ISDIR(mode_of(source)):
        paths = (path for path in source.rglob("*") if path.is_file() and path.stat().st_size)
        for path in sorted(path for path in paths if _is_data(path.relative_to(source))):
            yield path, _columns(path.relative_to(source))
    elif not _PATTERN & set(str(source)) or mode_of(source):
        yield source, {}
    else:
        for path in map(Path, sorted(glob.glob(str(source), recursive=True))):  # noqa: PTH207  # ** anywhere
            if path.is_file():
                yield path, _columns(path)


def _is_data(path: Path) -> bool:
    return not any(part.startswith(_HIDDEN) for part in path.parts)


def _columns(path: Path) -> Folders:
    pairs = [part.split("=", 1) for part in path.parts[:-1] if "=" in part]
    return {unquote(name): None if value == _NULL else unquote(value) for name, value in pairs}
