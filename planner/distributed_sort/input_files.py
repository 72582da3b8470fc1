"""The files that a source of a dataset names: itself, all in a directory, or all objects below a prefix."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Final

from planner.distributed_sort import object_store
from planner.distributed_sort.object_store import is_object
from planner.errors import BadInputError

MANIFEST_NAME: Final = "manifest.json"
_HIDDEN: Final = ("_", ".")
"""What names begin with that other programs leave beside data: `_SUCCESS`, `.part-0.crc`."""


def files_of(source: str) -> dict[str, int]:
    """Return the bytes of every file that is not empty by its path or URI, ordered by name. Raises BadInputError where
    there is none.
    """
    if is_object(source):
        files = {uri: size for uri, size in object_store.listed(source).items() if _is_data(uri[len(source) :])}
    else:
        files = {str(path.resolve()): path.stat().st_size for path in _paths(Path(source))}
    if not files:
        raise BadInputError(f"{source}: there are no files in it")
    return {name: size for name, size in files.items() if size}


def _paths(source: Path) -> Iterator[Path]:
    if not source.is_dir():
        yield source
        return
    yield from sorted(path for path in source.rglob("*") if path.is_file() and _is_data(str(path.relative_to(source))))


def _is_data(name: str) -> bool:
    parts = name.strip("/").split("/")
    return not any(part.startswith(_HIDDEN) for part in parts) and parts[-1] != MANIFEST_NAME


def is_manifest(source: str) -> bool:
    """Whether a source is a manifest of partitions. Raises OSError."""
    if is_object(source) or Path(source).is_dir():
        return False
    with Path(source).open("rb") as file:
        return b'"planner-manifest-' in file.read(200)
