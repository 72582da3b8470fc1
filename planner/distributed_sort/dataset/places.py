"""Places for output that outlives the nodes: an object store, or a folder that all nodes reach."""

from __future__ import annotations

from pathlib import Path
from typing import Any, Protocol

from numpy.typing import NDArray

from planner.distributed_sort.dataset import object_store, shared_folder


class Place(Protocol):
    """What is done in both; each call raises IoFailureError."""

    def list_files(self, prefix: str, /) -> dict[str, int]: ...
    def require_writable(self, prefix: str, /) -> None: ...
    def write_object(self, uri: str, content: NDArray[Any], /) -> int: ...
    def write_file(self, uri: str, path: Path, /) -> int: ...
    def delete_partitions(self, prefix: str, /) -> None: ...


def place_of(uri: str) -> Place:
    """Return the place that a URI, or a path, is in."""
    return object_store if object_store.is_object(uri) else shared_folder
