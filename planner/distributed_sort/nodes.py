"""The nodes of a Ray cluster by name: who is there, who has gone, and running a task on one of them."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Sequence
from functools import cache
from typing import Any, Final

from planner.distributed_sort import node_tasks
from planner.distributed_sort.concurrency import Concurrency
from planner.distributed_sort.node_environment import NodeFacts, versions
from planner.distributed_sort.resource_sampler import Sampler
from planner.distributed_sort.send_queue import Block
from planner.errors import IoFailureError, PlannerError

WORKER_RETRIES: Final = 5
"""How often Ray runs a task again whose process has died."""
LOST: Final = object()
"""Stands for the outcome of a task that was lost."""
_EVERY_S: Final = 0.5


def import_ray() -> Any:
    """Return Ray. Raises PlannerError, saying how to install it, when it is missing."""
    try:
        import ray
    except ImportError as missing:
        raise PlannerError("the cluster sort needs Ray: pip install 'sortplanner[ray]'", [str(missing)]) from missing
    return ray


class Crew:
    """The nodes that offer CPUs when the job begins; `lost` are those that have gone since, and those that are left out
    because they are slow, which `avoided` names.
    """

    def __init__(self, ray: Any, *, directory: str = "") -> None:
        self._ray = ray
        self._directory = directory
        self._remotes: dict[Callable[..., Any], Any] = {}
        self._placed: dict[tuple[Callable[..., Any], str, int, bool], Any] = {}
        self._looked_at = time.monotonic()
        self.lost: frozenset[str] = frozenset()
        self.avoided: frozenset[str] = frozenset()
        self._ids: dict[str, str] = {}
        self.facts: dict[str, NodeFacts] = {}
        self.cpus: dict[str, float] = {}
        self.concurrency = Concurrency.of(())
        self.store_bytes: dict[str, int] = {}
        self._meet()

    @property
    def names(self) -> list[str]:
        """Return the nodes that are there, in a fixed order."""
        return sorted(self._ids.keys() - self.lost)

    def threads(self, node: str) -> int:
        """Return the threads of a task on a node."""
        return self.concurrency.threads(self.cpus[node])

    def run(self, node: str, task: Callable[..., Any], *arguments: Any, returns: int = 1, firmly: bool = True) -> Any:
        """Begin a task on a node, taking its share of the node's CPUs, and return its reference or references.

        Where not `firmly`, Ray may run it elsewhere when that node has gone.
        """
        kind = (task, self._ids[node], returns, firmly)
        if kind not in self._placed:  # making it anew takes a sixth of the driver's time for a task
            self._placed[kind] = self._place(task, node, returns=returns, firmly=firmly)
        return self._placed[kind].remote(*arguments)

    def _place(self, task: Callable[..., Any], node: str, *, returns: int, firmly: bool) -> Any:
        from ray.util.scheduling_strategies import NodeAffinitySchedulingStrategy

        remote = self._remotes.setdefault(task, self._ray.remote(task))
        return remote.options(
            num_cpus=self.concurrency.cpus(self.cpus[node]),
            num_returns=returns,
            max_retries=WORKER_RETRIES,
            scheduling_strategy=NodeAffinitySchedulingStrategy(self._ids[node], soft=not firmly),
        )

    def avoid(self, node: str) -> None:
        """Take a node for lost, though it answers."""
        self.avoided |= {node}
        self.lost |= {node}

    def on_all(self, task: Callable[..., Any], *arguments: Any) -> dict[str, Any]:
        """Run a task on every node and return what each returns; nodes that go meanwhile are left out."""
        return self._on(self.names, task, *arguments)

    def on_avoided(self, task: Callable[..., Any], *arguments: Any) -> dict[str, Any]:
        """Run a task on the nodes that are left out for being slow."""
        return self._on(sorted(self.avoided), task, *arguments)

    def _on(self, names: Sequence[str], task: Callable[..., Any], *arguments: Any) -> dict[str, Any]:
        began = {name: self.run(name, task, *arguments) for name in names}
        outcomes = {name: self.awaited(reference, nodes=(name,)) for name, reference in began.items()}
        return {name: value for name, value in outcomes.items() if value is not LOST}

    def watch(self) -> dict[str, Any]:
        """Return a sampler of its use on every node, an actor that goes on until the driver ends."""
        job = self._ray.get_runtime_context().get_job_id()
        return {name: _sampler(job, self._ids[name]) for name in self.names}

    def awaited(self, reference: Any, *, nodes: Sequence[str]) -> Any:
        """Wait for a task and return its outcome; LOST as soon as one of `nodes` has gone: after a link was cut, Ray
        says so of a node long before it does of the tasks there. Raises what `outcome` raises.
        """
        while not self._ray.wait([reference], timeout=_EVERY_S, fetch_local=False)[0]:
            if not self._alive().issuperset(self._ids[name] for name in nodes):
                return LOST
        return self.outcome(reference)

    def have_come(self, blocks: Sequence[Block]) -> list[bool]:
        """Return of each block whether its owner's store has it, or need not: what is small is sent with the task that
        takes it.
        """
        found = self._ray.experimental.get_local_object_locations([block.records for block in blocks]) if blocks else {}
        places = [found.get(block.records, {}).get("node_ids", []) for block in blocks]
        return [not ids or self._ids[block.owner] in ids for block, ids in zip(blocks, places, strict=True)]

    def outcome(self, reference: Any) -> Any:
        """Return what a task returned, or LOST when it went with a process or a node.

        Raises the PlannerError that the task raised; anything else that it raised becomes an IoFailureError.
        """
        exceptions = self._ray.exceptions
        try:
            return self._ray.get(reference)
        except exceptions.RayError as error:
            cause: BaseException = error
            while isinstance(cause, exceptions.RayTaskError):  # of this task, or of one that it waited for
                cause = cause.cause
            if isinstance(cause, PlannerError):
                raise cause from None
            if isinstance(cause, exceptions.RayError):
                return LOST
            raise IoFailureError("a task failed in a way that nobody foresaw", str(error).splitlines()[-6:]) from error

    def outcomes(self, began: Sequence[Any], *, doing: str) -> list[Any]:
        """Return what several tasks returned. Raises what `outcome` raises, and IoFailureError when one was lost."""
        found = [self.awaited(reference, nodes=self.names) for reference in began]
        if any(each is LOST for each in found):
            self.newly_lost(at_once=True)
            raise IoFailureError(
                f"a node was lost while {doing}", [", ".join(sorted(self.lost)) or "its name is unknown"]
            )
        return found

    def newly_lost(self, *, at_once: bool = False) -> frozenset[str]:
        """Return the nodes that have gone since the last call. Raises IoFailureError when none is left.

        Ray is asked twice a second at most, unless `at_once`.
        """
        if not at_once and time.monotonic() - self._looked_at < _EVERY_S:
            return frozenset()
        self._looked_at = time.monotonic()
        alive = self._alive()
        gone = frozenset(name for name, node in self._ids.items() if node not in alive) - self.lost
        self.lost |= gone
        if not self.names:
            raise IoFailureError("no node is left", [f"lost: {', '.join(sorted(self.lost))}"])
        return gone

    def _alive(self) -> set[str]:
        return {node["NodeID"] for node in self._ray.nodes() if node["Alive"]}

    def _meet(self) -> None:
        """Ask every node that offers CPUs who it is. Raises IoFailureError for nodes that differ in version or share a
        name.
        """
        offering = [node for node in self._ray.nodes() if node["Alive"] and node["Resources"].get("CPU")]
        if not offering:
            raise IoFailureError("the Ray cluster has no node that offers CPUs; start a worker first")
        for node in offering:
            self._ids[node["NodeID"]] = node["NodeID"]
            self.cpus[node["NodeID"]] = node["Resources"]["CPU"]
        self.concurrency = Concurrency.of(self.cpus.values())
        # A process takes a second to start: as many as will be needed are started before anything waits for them.
        for _ in range(self.concurrency.tasks - 1):
            for name in self._ids:
                self.run(name, node_tasks.describe, self._directory)
        greetings = self.on_all(node_tasks.describe, self._directory)
        _check_versions(greetings.values())
        _check_names([found.name for found in greetings.values()])
        resources = {node["NodeID"]: node["Resources"] for node in offering}
        self.facts = {found.name: found for found in greetings.values()}
        self._ids = {found.name: node for node, found in greetings.items()}
        self.cpus = {name: resources[node]["CPU"] for name, node in self._ids.items()}
        self.store_bytes = {
            name: int(resources[node].get("object_store_memory", 0)) for name, node in self._ids.items()
        }


@cache
def _sampler(job: str, node_id: str) -> Any:
    """Start a sampler on a node, one for all sorts of a Ray job: its process takes a second of a processor to start."""
    from ray.util.scheduling_strategies import NodeAffinitySchedulingStrategy

    where = NodeAffinitySchedulingStrategy(node_id, soft=False)
    return import_ray().remote(Sampler).options(num_cpus=0, max_restarts=-1, scheduling_strategy=where).remote()


def _check_versions(found: Iterable[NodeFacts]) -> None:
    here = versions()
    differing = [
        f"{node.name} has {name} {node.versions.get(name)}, the driver {wanted}"
        for node in found
        for name, wanted in here.items()
        if node.versions.get(name) != wanted
    ]
    if differing:
        raise IoFailureError("the nodes do not run the same versions; install the driver's on each", differing)


def _check_names(names: Sequence[str]) -> None:
    if twice := sorted({name for name in names if names.count(name) > 1}):
        raise IoFailureError(f"several nodes are called {', '.join(twice)}; set PLANNER_NODE_NAME on each")
