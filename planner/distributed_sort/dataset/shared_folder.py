"""Output in a folder that all nodes reach by its path: emulated nodes, those of the machine that they share."""

from __future__ import annotations

import errno
import os
from pathlib import Path
from typing import Any, Final
from uuid import uuid4

import numpy as np
from numpy.typing import NDArray

from planner.distributed_sort.dataset.object_store import is_partition_name
from planner.distributed_sort.node_files.run_files import file_errors, write_whole

_STEP_BYTES: Final = 16_000_000


def list_files(folder: str) -> dict[str, int]:
    """Return the bytes of every file directly in a folder by its path; none where there is no folder. Raises
    IoFailureError.
    """
    with file_errors("list", folder):
        if not Path(folder).exists():
            return {}
        return {str(path): path.stat().st_size for path in sorted(Path(folder).iterdir())}


def require_writable(folder: str) -> None:
    """Write and delete an empty file, and make the folder before. Raises IoFailureError when either is refused."""
    path = Path(folder) / f".planner-writable-{uuid4().hex[:8]}"
    write_whole(path, (), durable=False)
    with file_errors("delete", path):
        path.unlink()


def write_object(uri: str, content: NDArray[Any]) -> int:
    """Write a file and return its bytes; it appears whole or not at all. Raises IoFailureError."""
    return write_whole(Path(uri), (content,), durable=True)


def write_file(uri: str, path: Path) -> int:
    """Put a file that was synced into the folder, and return the requests that it took, which are none. On the same
    file system it gets a second name, elsewhere it is copied. Raises IoFailureError.
    """
    target = Path(uri)
    with file_errors("write", target):
        target.unlink(missing_ok=True)  # of an attempt that was given up
        try:
            os.link(path, target)
        except OSError as error:
            if error.errno not in (errno.EXDEV, errno.EPERM, errno.EOPNOTSUPP, errno.EMLINK):
                raise
        else:
            return 0
    _copy(path, target)
    return 0


def delete_partitions(folder: str) -> None:
    """Delete the output partitions directly in a folder, and nothing else there. Raises IoFailureError."""
    for name in list_files(folder):
        if is_partition_name(Path(name).name):
            with file_errors("delete", name):
                Path(name).unlink(missing_ok=True)


def _copy(path: Path, target: Path) -> None:
    with file_errors("read", path), path.open("rb") as file:
        steps = (np.frombuffer(step, np.uint8) for step in iter(lambda: file.read(_STEP_BYTES), b""))
        write_whole(target, steps, durable=True)
