"""What a task knows of the node it runs on: its name, its disks, its versions; and the files of a job on it."""

from __future__ import annotations

import os
import platform
import shutil
import socket
import time
from dataclasses import asdict, dataclass
from importlib.metadata import version
from pathlib import Path
from typing import Any

from planner.cluster.ray_nodes import NODE_DIRECTORY, NODE_MEMORY, NODE_NAME, NODE_VOLUME
from planner.errors import IoFailureError


@dataclass(frozen=True, kw_only=True)
class NodeFacts:
    """A node as it describes itself."""

    name: str
    directory: str
    free_bytes: int
    memory_bytes: int
    versions: dict[str, str]

    def to_dict(self) -> dict[str, Any]:
        """Return the fields as JSON-able values."""
        return asdict(self)


@dataclass(frozen=True, kw_only=True)
class JobFiles:
    """Where a job keeps its files on every node, below the node's directory.

    `output` names the folder of the output, or a prefix in an object store; `on_volume` puts a folder on the node's
    volume instead of its disks. `in_memory` keeps intermediate files in memory, as Minutesort does.
    """

    job: str
    output: str
    directory: str = ""
    on_volume: bool = False
    in_memory: bool = False

    def runs(self) -> Path:
        """Return the folder of intermediate files on this node."""
        return (node_memory() if self.in_memory else node_directory(self.directory)) / f".planner-sort-{self.job}"

    @property
    def in_store(self) -> bool:
        """Whether the output goes to an object store."""
        return "://" in self.output

    def output_uri(self, number: int) -> str:
        """Return where this node writes an output partition."""
        name = f"part-{number:06d}"
        return f"{self.output.rstrip('/')}/{name}" if self.in_store else str(self.outputs() / name)

    def outputs(self) -> Path:
        """Return the folder of output partitions on this node."""
        return (node_volume() if self.on_volume else node_directory(self.directory)) / self.output


def node_name() -> str:
    """Return what this node is called."""
    return os.environ.get(NODE_NAME) or socket.gethostname()


def node_directory(fallback: str = "") -> Path:
    """Return where this node's disks are mounted. Raises IoFailureError when nobody has said."""
    directory = os.environ.get(NODE_DIRECTORY) or fallback
    if not directory:
        raise IoFailureError(f"node {node_name()} does not know its disks: set {NODE_DIRECTORY} or pass --dir")
    return Path(directory)


def node_volume() -> Path:
    """Return where this node's block volume is mounted. Raises IoFailureError when it has none."""
    if not (volume := os.environ.get(NODE_VOLUME)):
        raise IoFailureError(f"node {node_name()} has no volume: set {NODE_VOLUME} where it is mounted")
    return Path(volume)


def node_memory() -> Path:
    """Return where a file system in this node's memory is mounted."""
    return Path(os.environ.get(NODE_MEMORY) or "/dev/shm")


def facts(directory: str = "") -> NodeFacts:
    """Describe this node. Raises IoFailureError when its directory cannot be used."""
    where = node_directory(directory)
    try:
        free_bytes = shutil.disk_usage(where).free
    except OSError as error:
        raise IoFailureError(f"{node_name()}: {where}: {error.strerror}") from error
    return NodeFacts(
        name=node_name(),
        directory=str(where),
        free_bytes=free_bytes,
        memory_bytes=os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES"),
        versions=versions(),
    )


def versions() -> dict[str, str]:
    """Return what must be equal on all nodes for tasks and their results to mean the same."""
    python = ".".join(platform.python_version_tuple()[:2])
    return {"planner": version("sortplanner"), "ray": version("ray"), "python": python}


def free_space(folder: Path) -> None:
    """Delete a folder and all in it; it is well if there is none."""
    for _ in range(3):  # a task that was given up may still be writing
        shutil.rmtree(folder, ignore_errors=True)
        if not folder.exists():
            return
        time.sleep(0.1)
