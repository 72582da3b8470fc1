"""The registry of emulated clusters: one small file each, written before the first namespace is made.

The file names what may exist and which process owns it, so the next caller can remove what a killed process left.
"""

from __future__ import annotations

import json
import os
import secrets
from collections.abc import Iterator
from dataclasses import asdict, dataclass, replace
from pathlib import Path

from planner.config.atomic_file import replace_file
from planner.config.paths import state_directory
from planner.errors import IoFailureError


@dataclass(frozen=True, kw_only=True)
class Entry:
    """One cluster: its owner (process id and start tick), its number of nodes, and the folder of their files."""

    cluster_id: str
    owner_pid: int
    owner_start_ticks: int
    nodes: int
    directory: str
    shaped: bool

    @property
    def is_owned(self) -> bool:
        """True while the process that made the cluster runs."""
        return start_ticks(self.owner_pid) == self.owner_start_ticks

    @property
    def mark(self) -> str:
        """The mark on its namespaces, which identifies them without the file."""
        return json.dumps([self.owner_pid, self.owner_start_ticks, self.nodes, self.directory])

    @classmethod
    def of_mark(cls, cluster_id: str, mark: str) -> Entry:
        """Return the entry that a mark encodes. Raises ValueError for any other text."""
        owner_pid, owner_start_ticks, nodes, directory = json.loads(mark)
        return cls(
            cluster_id=cluster_id,
            owner_pid=int(owner_pid),
            owner_start_ticks=int(owner_start_ticks),
            nodes=int(nodes),
            directory=str(directory),
            shaped=True,
        )


def registry_directory() -> Path:
    """Return the folder of the entries: $PLANNER_STATE, else planner in $XDG_STATE_HOME or ~/.local/state."""
    if chosen := os.environ.get("PLANNER_STATE"):
        return Path(chosen) / "emulated"
    return state_directory("emulated")


def register(*, nodes: int, directory: Path, shaped: bool) -> Entry:
    """Write the entry of a new cluster, owned by this process, and return it."""
    entry = Entry(
        cluster_id=secrets.token_hex(3),
        owner_pid=os.getpid(),
        owner_start_ticks=start_ticks(os.getpid()) or 0,
        nodes=nodes,
        directory="",
        shaped=shaped,
    )
    entry = replace(entry, directory=str(directory / f"planner-emu-{entry.cluster_id}"))
    save(entry)
    return entry


def save(entry: Entry) -> None:
    """Write an entry atomically; it is on the disk when this returns."""
    path = _path(entry)
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        replace_file(path, json.dumps(asdict(entry)))
    except OSError as error:
        raise IoFailureError(
            f"{path}: {error.strerror}; set PLANNER_STATE to a directory to write in", code="io"
        ) from error


def forget(entry: Entry) -> None:
    """Remove the entry of a cluster of which nothing is left."""
    _path(entry).unlink(missing_ok=True)


def entries() -> Iterator[Entry]:
    """Yield all entries. Raises IoFailureError naming one that cannot be read."""
    for path in sorted(registry_directory().glob("*.json")):
        try:
            yield Entry(**json.loads(path.read_text(encoding="utf-8")))
        except FileNotFoundError:  # its cluster has just ended
            continue
        except (OSError, ValueError, TypeError) as error:
            raise IoFailureError(
                f"{path} is damaged ({error}); delete it when its cluster is gone", code="damaged-file"
            ) from error


def start_ticks(pid: int) -> int | None:
    """Return a process's start in clock ticks since the machine's boot; None if there is no such process."""
    try:
        text = Path(f"/proc/{pid}/stat").read_text(encoding="utf-8", errors="replace")
    except OSError:
        return None
    return int(text.rpartition(")")[2].split()[19])


def _path(entry: Entry) -> Path:
    return registry_directory() / f"{entry.cluster_id}.json"
