"""The files of a source: itself, all in a directory, or all objects below a prefix."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path
from typing import Final

from planner.config.user_files import HIDDEN, files_below, require_no_table_log
from planner.distributed_sort.dataset import object_store
from planner.distributed_sort.dataset.dataset import Copy, FileVersion, Layout, Partition
from planner.distributed_sort.dataset.object_store import is_object
from planner.distributed_sort.dataset.partition_reader import read_records
from planner.distributed_sort.node_files.run_files import file_errors
from planner.errors import BadInputError, PlannerError

MANIFEST_NAME: Final = "manifest.json"
_PIECE_BYTES: Final = 1 << 16
_BYTES: Final = Layout(record_size=1)


def files_of(source: str) -> dict[str, int]:
    """Return the size of every file by its path or URI, ordered by name; of several files, only the non-empty ones.

    Raises BadInputError where there is none, and for a table with a log; IoFailureError where a file cannot be reached.
    """
    if is_object(source):
        if not (below := object_store.list_files(source)):
            if (size := object_store.size_if_there(source)) is None:
                raise BadInputError(f"{source}: there is no such object, and none below it", code="no-such-object")
            return {source: size}
        _require_no_object(source)
        for uri in below:
            require_no_table_log(uri)
        files = {uri: size for uri, size in below.items() if size and _is_data(uri[len(source) :])}
    elif not Path(source).exists():
        raise BadInputError(f"{source}: there is no such file or directory", code="no-such-file")
    else:
        with file_errors("read", source):
            if not Path(source).is_dir():
                return {str(Path(source).resolve()): Path(source).stat().st_size}
            paths = files_below(Path(source).resolve())
            files = {str(path): path.stat().st_size for path in paths if path.name != MANIFEST_NAME}
    if not files:
        raise BadInputError(f"{source}: there are no files in it, or only empty ones", code="no-files")
    return files


def _require_no_object(prefix: str) -> None:
    """Raise BadInputError where a non-empty object has the name of a prefix, as it would be left out."""
    size = None
    with suppress(PlannerError):  # users who may read objects below it need not have access to it
        size = object_store.size_if_there(prefix)
    if size:
        raise BadInputError(
            f"{prefix} is an object, and others are below it: it is not clear what is meant",
            [f"move the object, or name those below it one by one: {prefix}/..."],
            code="ambiguous-place",
        )


def size_of(name: str) -> int:
    """Return the size of a file in bytes. Raises IoFailureError."""
    with file_errors("read", name):
        return object_store.size_of(name) if is_object(name) else Path(name).stat().st_size


def beginning_of(
    name: str, size: int, *, piece_bytes: int = _PIECE_BYTES, version: FileVersion | None = None
) -> Iterator[bytes]:
    """Yield a file from its beginning, a piece at a time. Raises IoFailureError, InputChangedError."""
    partition = Partition(records=size, copies=(Copy(uri=name, version=version),))
    for first in range(0, size, piece_bytes):
        count = min(piece_bytes, size - first)
        yield read_records(partition, _BYTES, first=first, records=count).tobytes()


def is_manifest(source: str) -> bool:
    """Return whether a source is a manifest of partitions. Raises OSError."""
    if is_object(source) or not Path(source).is_file():
        return False
    with Path(source).open("rb") as file:
        return b'"planner-manifest-' in file.read(200)


def _is_data(name: str) -> bool:
    parts = name.strip("/").split("/")
    return not any(part.startswith(HIDDEN) for part in parts) and parts[-1] != MANIFEST_NAME
