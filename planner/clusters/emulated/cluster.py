"""An emulated cluster: nodes that run commands, and links that can be capped and cut. It ends with its context."""

from __future__ import annotations

import shutil
import threading
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Final

from planner.clusters.emulated import namespaces, registry
from planner.clusters.emulated.namespaces import Namespaces
from planner.clusters.emulated.registry import Entry
from planner.clusters.emulated.shaping import Cap, Shaping
from planner.errors import BadInputError, IoFailureError, LeftBehindError
from planner.extras import optional

psutil = optional("psutil", extra="ray", purpose="an emulated cluster")

HEAD: Final = 0
_MEMORY: Final = Path("/dev/shm")
MOST_NODES: Final = 200
_BIND: Final = 'mount --bind "$0" /tmp/ray && exec "$@"'
"""`ip netns exec` gives each command its own mount namespace, so only that command sees this mount."""


class EmulatedCluster:
    """A head (number 0, uncapped, no data) and `workers` nodes (1, 2, ...) on this machine.

    Shaped nodes are network namespaces; otherwise nodes are plain processes on the loopback address. `caps` has the
    current cap of each worker's link.
    """

    def __init__(self, entry: Entry) -> None:
        self.entry = entry
        self.workers = entry.nodes
        self.caps: list[Cap | None] = [None] * entry.nodes
        self.namespaces = Namespaces(entry.cluster_id, entry.nodes + 1) if entry.shaped else None

    @property
    def is_shaped(self) -> bool:
        """True if nodes are namespaces with their own links."""
        return self.namespaces is not None

    def name(self, node: int) -> str:
        """Return a node's name in reports: `head`, `node-1`, ..."""
        return "head" if node == HEAD else f"node-{node}"

    def address(self, node: int) -> str:
        """Return the address at which other nodes reach a node."""
        return self.namespaces.address(node) if self.namespaces else "127.0.0.1"

    def directory(self, node: int) -> Path:
        """Return the folder used as a node's disks."""
        return Path(self.entry.directory) / self.name(node)

    def ray_directory(self, node: int) -> Path:
        """Return the folder that a node sees as /tmp/ray; without namespaces, the folder of all nodes' Ray files.

        The path is short because it holds sockets.
        """
        name = self.name(node) if self.is_shaped else "all"
        return Path("/tmp") / f"planner-ray-{self.entry.cluster_id}" / name

    def memory(self, node: int) -> Path:
        """Return the folder used as a node's memory file system."""
        return _MEMORY / f"planner-emu-{self.entry.cluster_id}" / self.name(node)

    def volume(self, node: int) -> Path:
        """Return the folder used as a node's block volume."""
        return self.directory(node) / "volume"

    def command(self, node: int, *words: str) -> list[str]:
        """Return `words` as a command to run on a node."""
        if self.namespaces is None:
            return list(words)
        within = ["ip", "netns", "exec", self.namespaces.name(node), "sh", "-c", _BIND]
        return [*within, str(self.ray_directory(node)), *words]

    def cap(self, caps: Sequence[Cap | None]) -> None:
        """Cap the workers' links, one cap each. Raises BadInputError where links cannot be capped."""
        if self.namespaces is None:
            if any(cap is not None for cap in caps):
                raise BadInputError(
                    "caps need network namespaces: run as root, with ip and tc installed", code="needs-root"
                )
            return
        for node, cap in enumerate(caps, start=1):
            self.namespaces.cap(node, cap)
        self.caps = list(caps)

    def cut(self, node: int) -> None:
        """Take a node's link down without notifying any process."""
        if self.namespaces is None:
            raise BadInputError("a link can be cut only between network namespaces: run as root", code="needs-root")
        self.namespaces.cut(node)

    def restore_link(self, node: int) -> None:
        """Bring a cut link up again."""
        if self.namespaces is not None:
            self.namespaces.restore_link(node)

    def pids(self, node: int) -> list[int]:
        """Return a node's process ids; none for plain nodes, whose processes cannot be told apart."""
        return self.namespaces.pids(node) if self.namespaces else []

    def end(self, node: int) -> None:
        """End every process of a node and bring its link up; plain nodes have no processes of their own."""
        if self.namespaces is not None:
            self.namespaces.restore_link(node)
            self.namespaces.end(node)

    def _end_plain(self) -> None:
        """End the processes whose command line names this cluster's folder of Ray files; no others name it."""
        mark = self.ray_directory(HEAD).parent.name
        for process in psutil.process_iter(["cmdline"]):
            if any(mark in word for word in process.info["cmdline"] or ()):
                with suppress(psutil.Error):  # ended already, or another user's
                    process.kill()

    def create(self) -> None:
        """Make the folders and the namespaces."""
        if self.namespaces is not None:
            Path("/tmp/ray").mkdir(exist_ok=True)  # each node mounts its own over it
            self.namespaces.create(mark=self.entry.mark)
        for node in range(self.workers + 1):
            self.directory(node).mkdir(parents=True)
            self.volume(node).mkdir()
            self.memory(node).mkdir(parents=True)
            self.ray_directory(node).mkdir(parents=True, exist_ok=True)

    def remove(self) -> None:
        """End all processes, delete namespaces and folders, and forget the cluster; may be called again."""
        self._end_plain()  # some may not have entered their namespace yet
        if self.namespaces is not None:
            self.namespaces.remove()
            self._end_plain()  # those started in the meantime
        for folder in (Path(self.entry.directory), self.ray_directory(HEAD).parent, self.memory(HEAD).parent):
            _remove_folder(folder)
        registry.forget(self.entry)


@contextmanager
def emulated_cluster(
    *, workers: int, shaping: Shaping, directory: Path, say: Callable[[str], None] = lambda _: None
) -> Iterator[EmulatedCluster]:
    """Yield a cluster whose nodes' files lie below `directory`; everything is removed afterwards, whatever happens.

    First removes what killed processes left behind. Without root, nodes are plain processes and links are not capped,
    which is reported to `say`. Raises BadInputError for an impossible number of nodes, and IoFailureError when the
    system refuses.
    """
    if not 1 <= workers <= MOST_NODES:
        raise BadInputError(f"--nodes {workers}: an emulated cluster has 1 to {MOST_NODES}", code="out-of-range")
    for swept in sweep():
        say(f"removed what was left of emulated cluster {swept}")
    draws = shaping.draws(workers)
    shaped = namespaces.are_usable()
    if not shaped and shaping.shapes:
        say("no root, ip or tc: nodes are plain processes, and their links are NOT capped")
    cluster = EmulatedCluster(registry.register(nodes=workers, directory=directory.resolve(), shaped=shaped))
    try:
        cluster.create()
        cluster.cap(draws.draw() if shaped else [None] * workers)
        with _redraw_caps(cluster, draws.draw, every_s=shaping.redraw_s if shaped else None):
            yield cluster
    finally:
        cluster.remove()


def sweep(*, by_name: bool = False) -> list[str]:
    """Remove every emulated cluster whose owner has ended and return their ids.

    Covers the clusters of this state directory; with `by_name`, also those known only by their namespaces, whichever
    state directory recorded them. Raises LeftBehindError naming those that could not be removed, after removing all
    others.
    """
    recorded = list(registry.entries())
    removed: list[str] = []
    left: list[str] = []
    for entry in [*recorded, *(_find_unrecorded(recorded, left) if by_name else ())]:
        if entry.is_owned:
            continue
        try:
            EmulatedCluster(entry).remove()
            removed.append(entry.cluster_id)
        except (IoFailureError, OSError) as error:
            left.append(f"{entry.cluster_id} in {entry.directory}: {error}")
    if left:
        raise LeftBehindError("emulated clusters remain; run `planner emulate sweep` as the user who made them", left)
    return removed


def _find_unrecorded(recorded: Sequence[Entry], left: list[str]) -> list[Entry]:
    """Return the clusters known only by their namespaces; those whose owner is unknown are added to `left`."""
    entries = []
    marks = namespaces.marks() if namespaces.are_usable() else {}
    for cluster_id in marks.keys() - {entry.cluster_id for entry in recorded}:
        try:
            entries.append(Entry.of_mark(cluster_id, marks[cluster_id]))
        except ValueError:
            left.append(f"{cluster_id}: its namespaces do not say who made them; delete them with `ip netns delete`")
    return entries


@contextmanager
def _redraw_caps(
    cluster: EmulatedCluster, draw: Callable[[], list[Cap | None]], *, every_s: float | None
) -> Iterator[None]:
    """Draw new caps for all links every `every_s` seconds while the body runs."""
    if every_s is None:
        yield
        return
    over = threading.Event()

    def redraw() -> None:
        while not over.wait(every_s):
            cluster.cap(draw())

    thread = threading.Thread(target=redraw, name="redraw", daemon=True)
    thread.start()
    try:
        yield
    finally:
        over.set()
        thread.join()


def _remove_folder(folder: Path) -> None:
    shutil.rmtree(folder, ignore_errors=True)
    if folder.exists():
        raise IoFailureError(f"{folder} could not be removed", code="not-removed")
