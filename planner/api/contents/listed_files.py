"""Files of an input: a file, all in a directory, or all that match a pattern; and the columns from their folders."""

from __future__ import annotations

import glob
import stat
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Final

from planner.api.files import mode_of
from planner.config.user_files import files_below
from planner.errors import BadInputError
from planner.sorting.tables.folder_columns import Folders, folder_values

_PATTERN: Final = frozenset("*?[")


def listed_files(sources: Sequence[Path]) -> dict[Path, Folders]:
    """Return the files, each with the columns that its folders add below a directory or a pattern.

    Raises BadInputError if there are no files.
    """
    found: dict[Path, Folders] = {}
    for source in sources:
        listed = dict(_listed(source))
        if not listed:
            raise BadInputError(
                f"{source}: there are no files in it, or only empty ones; name another"
                if mode_of(source)
                else f"{source}: no file fits this pattern; name another",
                code="no-files",
            )
        found |= listed
    if len({tuple(folders) for folders in found.values()}) > 1:
        few = min(found, key=lambda path: len(found[path]))
        raise BadInputError(
            f"{few}: its folders do not say the same columns as those of other files; name files alike",
            code="partition-mismatch",
        )
    return found


def all_files(sources: Sequence[Path]) -> list[Path]:
    """Return the files of all sources in turn; one that is named twice comes twice. Raises BadInputError."""
    return [path for source in sources for path in listed_files([source])]


def is_pattern(source: Path) -> bool:
    """Return whether a name is no file's but a pattern of names."""
    return bool(_PATTERN & set(str(source))) and not mode_of(source)


def _listed(source: Path) -> Iterator[tuple[Path, Folders]]:
    if stat.S_ISDIR(mode_of(source)):
        for path in files_below(source):
            yield path, folder_values(path.relative_to(source).parts[:-1])
    elif not is_pattern(source):
        yield source, {}
    else:
        for path in map(Path, sorted(glob.glob(str(source), recursive=True))):  # noqa: PTH207  # ** anywhere
            if path.is_file():
                yield path, folder_values(path.parts[:-1])
