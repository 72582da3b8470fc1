"""The node that a task runs on: its name, its disks, its versions, the files of a job on it, and notes of its processes
about what they do: tasks that run, and open requests to other services, as reasons of a wait.
"""

from __future__ import annotations

import os
import platform
import re
import shutil
import socket
import subprocess
import threading
import time
from collections import Counter
from collections.abc import Callable, Collection, Iterable, Iterator
from contextlib import AbstractContextManager, contextmanager, suppress
from dataclasses import dataclass
from functools import wraps
from importlib.metadata import version
from pathlib import Path
from typing import Any, Final

from planner.errors import IoFailureError

END_UNIT: Final = "planner-end.service"
"""The systemd unit that ends a rented machine, from its cloud-init document."""
NODE_NAME: Final = "PLANNER_NODE_NAME"
NODE_DIRECTORY: Final = "PLANNER_NODE_DIRECTORY"
NODE_SCRATCH: Final = "PLANNER_NODE_SCRATCH"
NODE_VOLUME: Final = "PLANNER_NODE_VOLUME"
NODE_MEMORY: Final = "PLANNER_NODE_MEMORY"
_PART: Final = re.compile(r"\.?part-\d{6,}-([\w-]+)(\.\w+)*")
_MEMORY: Final = Path("/proc/meminfo")
_BOOT: Final = Path("/proc/sys/kernel/random/boot_id")
"""Environment of every process on a node: the node's name, and the mount points of its disks, of the disks for
intermediate files alone, of its volume, and of a file system in its memory. Several disks are separated as in PATH.
"""


@dataclass(frozen=True, kw_only=True)
class NodeFacts:
    """A node's description of itself: `free_bytes` on all of its disks, `available_bytes` of its `memory_bytes`. Nodes
    on the same `machine` share these.
    """

    name: str
    data_disks: int
    free_bytes: int
    memory_bytes: int
    available_bytes: int
    machine: str
    versions: dict[str, str]


@dataclass(frozen=True, kw_only=True)
class JobFiles:
    """Places of a job's files on every node: on each of its disks, below the disk's directory, with output by turns.

    The id `job` is a part of every name, and files without it are never deleted. `output` names the folder of the
    output, or a prefix in an object store; `on_volume` puts a folder on the node's volume instead of its disks.
    `in_memory` keeps intermediate files in memory, as Minutesort does; those that are `cached` pass through the page
    cache, which has room for them.
    """

    job: str
    output: str
    directory: str = ""
    on_volume: bool = False
    in_memory: bool = False
    cached: bool = False

    def run_folders(self) -> list[Path]:
        """Return the folders of intermediate files on this node, one on each disk that takes them."""
        disks = [node_memory()] if self.in_memory else scratch_directories(self.directory)
        return [disk / f".planner-sort-{self.job}" for disk in disks]

    def segment_folders(self) -> tuple[Path, Path]:
        """Return the places where blocks wait on this node until others fetch them: in memory, and on a disk if that is
        full.
        """
        name = f".planner-sort-{self.job}-blocks"
        return node_memory() / name, scratch_directories(self.directory)[0] / name

    def decompressed_folders(self) -> list[Path]:
        """Return the folders of decompressed input on this node, one on each disk that takes intermediate files."""
        return [disk / f".planner-sort-{self.job}-plain" for disk in scratch_directories(self.directory)]

    @property
    def in_store(self) -> bool:
        """True if the output goes to an object store."""
        return "://" in self.output

    def output_uri(self, number: int) -> str:
        """Return the URI to which this node writes an output partition."""
        name = part_name(number, self.job)
        if self.in_store:
            return f"{self.output.rstrip('/')}/{name}"
        folders = self.output_folders()
        return str(folders[number % len(folders)] / name)

    def output_folders(self) -> list[Path]:
        """Return the folders of output partitions on this node, one on each disk that takes them."""
        disks = [node_volume()] if self.on_volume else data_directories(self.directory)
        return [disk / self.output for disk in disks]


def part_name(number: int, job: str) -> str:
    """Return the name of a job's output partition, without its suffix."""
    return f"part-{number:06d}-{job}"


def job_of_part(name: str) -> str:
    """Return the job of an output partition, or of one being written, by its name; '' for any other file."""
    match = _PART.fullmatch(name)
    return match[1] if match else ""


def node_name() -> str:
    """Return this node's name."""
    return os.environ.get(NODE_NAME) or socket.gethostname()


def data_directories(fallback: str = "") -> list[Path]:
    """Return the mount points of this node's disks for input and output. Raises IoFailureError when they are not
    set.
    """
    directories = os.environ.get(NODE_DIRECTORY) or fallback
    if not directories:
        raise IoFailureError(
            f"{node_name()} does not know its disks: pass --dir, or set {NODE_DIRECTORY} before Ray starts there",
            code="no-disk",
        )
    return _folders(directories)


def scratch_directories(fallback: str = "") -> list[Path]:
    """Return the mount points of this node's disks for intermediate files: the same ones, unless they are separate."""
    apart = os.environ.get(NODE_SCRATCH)
    return _folders(apart) if apart else data_directories(fallback)


def _folders(directories: str) -> list[Path]:
    return [Path(directory) for directory in directories.split(os.pathsep) if directory]  # '' would be Ray's directory


def node_volume() -> Path:
    """Return the mount point of this node's block volume. Raises IoFailureError when it has none."""
    if not (volume := os.environ.get(NODE_VOLUME)):
        raise IoFailureError(
            f"node {node_name()} has no volume: set {NODE_VOLUME} where it is mounted", code="no-volume"
        )
    return Path(volume)


def node_memory() -> Path:
    """Return the mount point of a file system in this node's memory."""
    return Path(os.environ.get(NODE_MEMORY) or "/dev/shm")


def facts(directory: str = "") -> NodeFacts:
    """Describe this node. Raises IoFailureError when a disk of it cannot be used."""
    data, scratch = data_directories(directory), scratch_directories(directory)
    return NodeFacts(
        name=node_name(),
        data_disks=len(data),
        free_bytes=sum({_device(disk): _free_bytes(disk) for disk in [*data, *scratch]}.values()),
        memory_bytes=os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES"),
        available_bytes=_available_bytes(),
        machine=_BOOT.read_text(encoding="ascii").strip(),
        versions=versions(),
    )


def available_bytes(nodes: Collection[NodeFacts]) -> float:
    """Return the available memory of each node: the least of all; those on one machine share it."""
    on_machine = Counter(node.machine for node in nodes)
    return min(node.available_bytes / on_machine[node.machine] for node in nodes)


def versions() -> dict[str, str]:
    """Return the versions that must be equal on all nodes for tasks and their results to mean the same."""
    python = ".".join(platform.python_version_tuple()[:2])
    return {"planner": version("sortplanner"), "ray": version("ray"), "python": python}


def require_same_versions(nodes: Iterable[NodeFacts]) -> None:
    """Raise IoFailureError naming the nodes whose versions differ from this process's."""
    differing = [
        f"{node.name} has {name} {node.versions.get(name)}, the driver {version}"
        for node in nodes
        for name, version in versions().items()
        if node.versions.get(name) != version
    ]
    if differing:
        raise IoFailureError(
            "the nodes do not run the same versions; install the driver's on each", differing, code="other-versions"
        )


def require_own_names(nodes: Iterable[NodeFacts]) -> None:
    """Raise IoFailureError when several nodes have one name."""
    counts = Counter(node.name for node in nodes)
    if twice := sorted(name for name, count in counts.items() if count > 1):
        raise IoFailureError(
            f"several nodes are called {', '.join(twice)}; set {NODE_NAME} on each", code="same-node-name"
        )


def free_space(folders: Iterable[Path]) -> None:
    """Delete folders with their content; missing ones are no error."""
    for folder in folders:
        for _ in range(3):  # an abandoned task may still be writing
            shutil.rmtree(folder, ignore_errors=True)
            if not folder.exists():
                break
            time.sleep(0.1)


def _available_bytes() -> int:
    lines = _MEMORY.read_text(encoding="ascii").splitlines()
    return next(int(line.split()[1]) * 1024 for line in lines if line.startswith("MemAvailable:"))


def _device(disk: Path) -> int | Path:
    return disk.stat().st_dev if disk.exists() else disk


def _free_bytes(disk: Path) -> int:
    try:
        return shutil.disk_usage(disk).free
    except OSError as error:
        raise IoFailureError(
            f"{node_name()}: cannot use the disk {disk}: {error.strerror}",
            ["make the folder there, or name another"],
            code="io",
        ) from error


def end_machine() -> None:
    """End this machine by the unit that its cloud-init document set up for the expiry of its run."""
    subprocess.run(["sudo", "-n", "systemctl", "start", "--no-block", END_UNIT], check=True)


_WORTH_SAYING_S: Final = 10.0
_TRIES: Final = 3


def announced(task: Callable[..., Any], *, job: str) -> Callable[..., Any]:
    """Return a task that notes, while it runs, that one of a Ray job runs on this node."""

    @wraps(task)
    def run(*arguments: Any) -> Any:
        with _noted(_folder(f"tasks-{job}"), ""):
            return task(*arguments)

    return run


def running_tasks(job: str) -> int:
    """Return the number of announced tasks of a Ray job that run on this node."""
    return sum(1 for _ in _notes(_folder(f"tasks-{job}")))


def track_request(doing: str) -> AbstractContextManager[None]:
    """Note the request of this thread during the body, if this node has room for a note."""
    return _noted(_folder("requests"), doing)


@contextmanager
def _noted(folder: Path, text: str) -> Iterator[None]:
    note = folder / f"{os.getpid()}-{threading.get_ident()}"
    with suppress(OSError):
        _write(note, text)
    try:
        yield
    finally:
        with suppress(OSError):  # other requests have notes there
            note.unlink()
            note.parent.rmdir()


def longest_request() -> tuple[str, float]:
    """Return the request that a process of this node has waited for longest, and its seconds; '' if none takes long."""
    found = [(0.0, "")]
    for note in _notes(_folder("requests")):
        with suppress(FileNotFoundError):  # it has just been answered
            found.append((time.time() - note.stat().st_mtime, note.read_text()))
    seconds, doing = max(found)
    return (doing, seconds) if seconds >= _WORTH_SAYING_S else ("", 0.0)


def forget_ended() -> None:
    """Remove the notes of processes that are gone, whatever their job, and folders without notes."""
    for folder in node_memory().glob(f".planner-*-{node_name()}"):
        for _ in _notes(folder):
            pass
        with suppress(OSError):  # live processes have notes there
            folder.rmdir()


def _write(note: Path, text: str) -> None:
    for _ in range(_TRIES):
        note.parent.mkdir(mode=0o700, exist_ok=True)
        with suppress(FileNotFoundError):  # the end of another note has removed the folder meanwhile
            note.write_text(text)
            return


def _notes(folder: Path) -> Iterator[Path]:
    """Yield the notes of live processes, and remove the others."""
    for note in folder.glob("*-*"):
        if Path("/proc", note.name.partition("-")[0]).exists():
            yield note
        else:
            note.unlink(missing_ok=True)


def _folder(kind: str) -> Path:
    return node_memory() / f".planner-{kind}-{node_name()}"
