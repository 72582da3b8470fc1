"""The nodes of a Ray cluster by name: live and lost ones, and running a task on one of them."""

from __future__ import annotations

import secrets
import time
from collections.abc import Callable, Collection, Iterable, Sequence
from functools import cache
from typing import Any, Final

from planner.distributed_sort.exchange.block_fetch import OPEN_PORTS, Address
from planner.distributed_sort.exchange.parcels import Block
from planner.distributed_sort.job.waiting import (
    LEAST_PATIENCE_S,
    REPORT_EVERY_S,
    WAIT_S,
    CpuQueue,
    Emit,
    KilledForMemoryError,
    Pulses,
    Silence,
    await_nodes,
    ignore,
    wait_for_cpus,
    waiting,
)
from planner.distributed_sort.node_files.node_environment import (
    NodeFacts,
    announced,
    facts,
    require_own_names,
    require_same_versions,
)
from planner.distributed_sort.node_tasks.node_service import MOST_STORING, PULSE, STORING, NodeService
from planner.errors import IoFailureError, PlannerError, UnfinishedError, some_of
from planner.extras import optional
from planner.sort_policy.concurrency import Concurrency
from planner.sort_policy.health_checks import noticed_after_s

_TRY_S: Final = 2.0
_LONGEST_TRY_S: Final = 60.0
"""A task where a service does not begin is long enough to be killed as that was, and is waited for so long."""
WORKER_RETRIES: Final = 5
"""Times that Ray runs a task again whose process has died."""
LOST: Final = object()
"""The outcome of a task that was lost."""
NOWHERE: Final = "", 0
"""The address of a node whose service does not answer."""
_CHECK_EVERY_S: Final = 0.5
_LONGEST_ANSWER_S: Final = 0.5
"""The driver's longest wait for the answer of a service."""


def import_ray() -> Any:
    """Return Ray. Raises PlannerError with install instructions when it is missing."""
    return optional("ray", extra="ray", purpose="the cluster sort")


class Nodes:
    """The nodes that offered CPUs when the job began, or within `wait_s` where other jobs used all.

    `lost` names those that have gone since, and those left out for being slow; `avoided` names only the latter.
    """

    def __init__(self, ray: Any, *, directory: str = "", emit: Emit = ignore, wait_s: float = WAIT_S) -> None:
        self._ray = ray
        self.emit = emit
        self.stuck: frozenset[str] = frozenset()
        """Nodes that are there, but do nothing."""
        self._pulses: Pulses | None = Pulses(ray)
        self._queue = CpuQueue(ray, wait_s=wait_s)
        self._hosts: dict[str, str] = {}
        self._directory = directory
        self._remotes: dict[Callable[..., Any], Any] = {}
        self._placed: dict[tuple[Callable[..., Any], str, bool], Any] = {}
        self._checked_at_s = time.monotonic()
        self.lost: frozenset[str] = frozenset()
        self.excluded: frozenset[str] = frozenset()
        self._ids: dict[str, str] = {}
        self.facts: dict[str, NodeFacts] = {}
        self.cpus: dict[str, float] = {}
        self.concurrency = Concurrency.of(())
        self.store_bytes: dict[str, int] = {}
        self.services: dict[str, Any] = {}
        """By node: its `NodeService`, once started."""
        self._addresses: dict[str, Address] = {}
        self.tasks = 0
        """Tasks begun so far, including calls of services: Ray keeps account of each in the driver."""
        self._discover(wait_s)

    @property
    def ray(self) -> Any:
        """The connection to Ray."""
        return self._ray

    def __getstate__(self) -> dict[str, Any]:
        """Return the state for a coordinator, which knows the nodes as the driver does, counts its own tasks, and only
        reports stuck nodes.
        """
        own: dict[str, Any] = {"_ray": None, "_remotes": {}, "_placed": {}, "tasks": 0, "emit": ignore, "_pulses": None}
        return vars(self) | own | {"_queue": None}

    def __setstate__(self, state: dict[str, Any]) -> None:
        vars(self).update(state, _ray=import_ray())

    @property
    def names(self) -> list[str]:
        """The nodes that are alive and not left out, sorted."""
        return sorted(self._ids.keys() - self.lost)

    def threads(self, node: str) -> int:
        """Return the number of threads of a task on a node."""
        return self.concurrency.threads(self.cpus[node])

    def run(self, node: str, task: Callable[..., Any], *arguments: Any, firmly: bool = True) -> Any:
        """Begin a task on a node, with its share of the node's CPUs, and return its reference.

        Unless `firmly`, Ray may run the task elsewhere when that node is lost.
        """
        placement = (task, self._ids[node], firmly)
        if placement not in self._placed:  # making a new one takes a sixth of the driver's time for a task
            self._placed[placement] = self._place(task, node, firmly=firmly)
        self.tasks += 1
        return self._placed[placement].remote(*arguments)

    def _place(self, task: Callable[..., Any], node: str, *, firmly: bool) -> Any:
        from ray.util.scheduling_strategies import NodeAffinitySchedulingStrategy

        job = self._ray.get_runtime_context().get_job_id()
        remote = self._remotes.setdefault(task, self._ray.remote(announced(task, job=job)))
        return remote.options(
            num_cpus=self.concurrency.cpus(self.cpus[node]),
            max_retries=WORKER_RETRIES,
            scheduling_strategy=NodeAffinitySchedulingStrategy(self._ids[node], soft=not firmly),
        )

    def begin_actor(self, node: str, actor: type, *arguments: Any) -> Any:
        """Begin an actor on a node, without taking any of its CPUs; one method may be called while another runs."""
        from ray.util.scheduling_strategies import NodeAffinitySchedulingStrategy

        affinity = NodeAffinitySchedulingStrategy(self._ids[node], soft=False)
        placed = self._ray.remote(actor).options(num_cpus=0, max_concurrency=2, scheduling_strategy=affinity)
        return placed.remote(*arguments)

    def begin_services(self) -> None:
        """Begin the service of every node, unless that was done before, and ask for its address. It runs until the
        driver ends. Nodes lost meanwhile have none.
        """
        job = self._ray.get_runtime_context().get_job_id()
        hosts = {node["NodeID"]: node["NodeManagerAddress"] for node in self._ray.nodes()}
        self.services = {name: _service(job, self._ids[name], hosts[self._ids[name]]) for name in self.names}
        asked = {name: service.address.remote() for name, service in self.services.items()}
        addresses = {name: self._address_of(name, reference) for name, reference in asked.items()}
        self._addresses = {name: address for name, address in addresses.items() if address is not LOST}
        self._require_addresses()
        self._require_ports()

    def _require_addresses(self) -> None:
        """Raise IoFailureError where the service of a live node has not begun, KilledForMemoryError where Ray's memory
        monitor kills what begins there: a service that it kills only looks as if it restarted.
        """
        alive = self._alive()
        if silent := [name for name in self.names if name not in self._addresses and self._ids[name] in alive]:
            self._try_out(silent)
            raise IoFailureError(
                f"the service of {some_of(silent)} did not begin",
                [OPEN_PORTS, "see Ray's logs there"],
                code="service-silent",
            )

    def _try_out(self, silent: Collection[str]) -> None:
        """Run a task on silent nodes. Raises KilledForMemoryError where Ray's memory monitor kills it."""
        tries = [self.run(name, _last, _TRY_S) for name in silent]
        ended, _ = self._ray.wait(tries, num_returns=len(tries), timeout=_LONGEST_TRY_S) if tries else ([], [])
        for each in ended:
            self.outcome(each)

    def _require_ports(self) -> None:
        """Have each node connect to the service of the next. Raises IoFailureError where that is blocked."""
        names = [name for name in self.names if name in self._addresses]
        pairs = list(zip(names, [*names[1:], *names[:1]], strict=True)) if len(names) > 1 else []
        addresses = list(self._addresses.values())
        begun = [self.call(name, "meet", addresses, self._addresses[other]) for name, other in pairs]
        answers = [self.wait_for(reference, nodes=pair) for pair, reference in zip(pairs, begun, strict=True)]
        if all(why is LOST or not why for why in answers):
            return
        time.sleep(noticed_after_s(len(names)))  # a lost node is not a firewall
        alive = self._alive()
        blocked = [
            f"{name} does not reach {other} at {':'.join(map(str, self._addresses[other]))}: {why}"
            for (name, other), why in zip(pairs, answers, strict=True)
            if why and why is not LOST and alive.issuperset((self._ids[name], self._ids[other]))
        ]
        if blocked:
            raise IoFailureError(blocked[0], [*blocked[1:], OPEN_PORTS], code="port-blocked")

    def _address_of(self, name: str, asked: Any) -> Any:
        """Return a service's answer, or LOST. A service whose process died restarts and is asked again."""
        for _ in range(WORKER_RETRIES):
            if (address := self.wait_for(asked, nodes=(name,))) is not LOST or self._ids[name] not in self._alive():
                return address
            asked = self.services[name].address.remote()
        return LOST

    def address(self, node: str) -> Address:
        """Return the address from which to fetch a node's blocks."""
        return self._addresses.get(node, NOWHERE)

    def ask_address(self, node: str) -> None:
        """Ask a node for its address again: its service may have restarted."""
        address = self.answer(self.services[node].address.remote())
        if address is not None:
            self._addresses[node] = address

    def call(self, node: str, method: str, *arguments: Any) -> Any:
        """Begin a method of a node's service and return its reference."""
        self.tasks += 1
        return getattr(self.services[node], method).remote(*arguments)

    def answer(self, reference: Any) -> Any:
        """Return a service's answer; None if it takes too long."""
        exceptions = self._ray.exceptions
        try:
            return self._ray.get(reference, timeout=_LONGEST_ANSWER_S)
        except (exceptions.RayError, exceptions.GetTimeoutError):
            return None

    def give_up(self, lost_nodes: Iterable[str] | None = None) -> None:
        """Have all services abandon their fetches from lost nodes; all fetches, where None."""
        addresses = (
            None if lost_nodes is None else [self._addresses[name] for name in lost_nodes if name in self._addresses]
        )
        if addresses == []:
            return
        for name in self.names:
            if name in self.services:
                self.services[name].give_up.remote(addresses)

    def exclude_node(self, node: str) -> None:
        """Treat a node as lost although it answers."""
        self.excluded |= {node}
        self.lost |= {node}
        self.give_up([node])

    def note_stuck(self, node: str) -> None:
        """Count a node as lost that is there, but does nothing, unless its tasks wait for another service."""
        if not (self._pulses and (self._pulses.of(node).awaits or self._find_queued([node]))):
            self.stuck |= {node}

    def report_silent_nodes(self, silence: Silence, busy: Collection[str], *, ordered: Collection[str] = ()) -> None:
        """Report silent nodes with tasks or calls, except those with a known and reported reason, and count one as lost
        that is silent for long. Of the nodes with `ordered` tasks, those wait that lack CPUs for them.
        """
        if (pulses := self._pulses) is not None:
            for node in busy:
                if pulses.is_late(node) or pulses.of(node).awaits:
                    silence.hear(node)
            for node in self._find_queued(ordered):
                silence.queue(node)
        if stuck := silence.check(busy, self.emit):
            self.note_stuck(stuck)

    def _find_queued(self, nodes: Collection[str]) -> Collection[str]:
        """Return the nodes on which no task of the sort runs because other jobs use their CPUs."""
        if (pulses := self._pulses) is None:
            return ()
        idle = {name: (self._ids[name], self.concurrency.cpus(self.cpus[name]))
                for name in nodes if pulses.of(name).running == 0}  # fmt: skip
        return self._queue.find(idle, {self._ids[name]: cpus for name, cpus in self.cpus.items()}, self.emit)

    def run_on_all(self, task: Callable[..., Any], *arguments: Any) -> dict[str, Any]:
        """Run a task on every node and return the results by node, without those of nodes lost meanwhile."""
        return self._run_on(self.names, task, *arguments)

    def run_on_excluded(self, task: Callable[..., Any], *arguments: Any) -> dict[str, Any]:
        """Run a task on the nodes that were left out because they are slow or full."""
        return self._run_on(sorted(self.excluded), task, *arguments)

    def _run_on(self, names: Sequence[str], task: Callable[..., Any], *arguments: Any) -> dict[str, Any]:
        began = {name: self.run(name, task, *arguments) for name in names}
        outcomes = {name: self.wait_for(reference, nodes=(name,)) for name, reference in began.items()}
        return {name: value for name, value in outcomes.items() if value is not LOST}

    def wait_for(self, reference: Any, *, nodes: Sequence[str]) -> Any:
        """Wait for a task and return its outcome; return LOST as soon as one of `nodes` is gone, or does nothing for
        long. An event names them every ten seconds.

        After a link was cut, Ray reports the node as gone long before its tasks. Raises the errors of `outcome`.
        """
        began, said = time.monotonic(), 1
        while not self._ray.wait([reference], timeout=_CHECK_EVERY_S, fetch_local=False)[0]:
            if (since_s := time.monotonic() - began) >= said * REPORT_EVERY_S:
                if not self._find_queued(nodes):
                    self.emit(waiting([self._hosts.get(name, name) for name in nodes], since_s=since_s))
                said += 1
                if since_s > LEAST_PATIENCE_S:
                    self._note_idle(nodes)
            if not self._alive().issuperset(self._ids[name] for name in nodes):
                return LOST
        return self.outcome(reference)

    def _note_idle(self, nodes: Sequence[str]) -> None:
        for name in nodes:
            if self._pulses is not None and self._pulses.of(name).idle_s > LEAST_PATIENCE_S:
                self.note_stuck(name)

    def have_arrived(self, blocks: Sequence[Block]) -> list[bool]:
        """Return for each block whether its owner has it, as far as owners answer."""
        asked = {owner: self.services[owner].arrived_blocks.remote() for owner in {block.owner for block in blocks}}
        come = {owner: self.answer(reference) or set() for owner, reference in asked.items()}
        return [block.key in come[block.owner] for block in blocks]

    def outcome(self, reference: Any) -> Any:
        """Return the result of a task, or LOST when its process or node was lost.

        Raises the task's PlannerError; any other error becomes an IoFailureError.
        """
        exceptions = self._ray.exceptions
        try:
            return self._ray.get(reference)
        except exceptions.RayError as error:
            cause: BaseException = error
            while isinstance(cause, exceptions.RayTaskError):  # of this task, or of a task it waited for
                cause = cause.cause
            if isinstance(cause, PlannerError):
                raise cause from None
            if isinstance(cause, exceptions.OutOfMemoryError):
                raise KilledForMemoryError.of(str(cause)) from error
            if isinstance(cause, exceptions.RayError):
                return LOST
            raise IoFailureError(
                "a task failed unexpectedly", str(error).splitlines()[-6:], code="task-failed"
            ) from error

    def outcomes(self, began: Sequence[Any], *, doing: str) -> list[Any]:
        """Return the results of several tasks. Raises the errors of `outcome`, and IoFailureError when one was lost."""
        results = [self.wait_for(reference, nodes=self.names) for reference in began]
        if any(result is LOST for result in results):
            self.detect_losses(at_once=True)
            raise IoFailureError(
                f"a node was lost while {doing}",
                [", ".join(sorted(self.lost)) or "its name is unknown"],
                code="node-lost",
            )
        return results

    def detect_losses(self, *, at_once: bool = False) -> frozenset[str]:
        """Return the nodes lost since the last call. Raises IoFailureError when no node is left, KilledForMemoryError
        where that is because Ray's memory monitor kills whatever begins there.

        Unless `at_once`, Ray is asked at most twice a second.
        """
        if not at_once and time.monotonic() - self._checked_at_s < _CHECK_EVERY_S:
            return frozenset()
        self._checked_at_s = time.monotonic()
        alive = self._alive()
        lost_nodes = frozenset(name for name, node in self._ids.items() if node not in alive) - self.lost
        self.lost |= lost_nodes
        if not self.names:
            self._try_out(self.stuck)
            raise UnfinishedError("no node is left", [f"lost: {', '.join(sorted(self.lost))}"], code="no-node")
        self.give_up(lost_nodes)
        return lost_nodes

    def _alive(self) -> set[str]:
        """Return the ids of Ray's nodes, without those that do nothing."""
        if self._pulses:
            services = {name: service for name, service in self.services.items() if name in self.names}
            for name in self._pulses.check(services, self.emit):
                self.note_stuck(name)
        stuck = {self._ids[name] for name in self.stuck} if self._pulses else set()
        return {node["NodeID"] for node in self._ray.nodes() if node["Alive"]} - stuck

    def _discover(self, wait_s: float) -> None:
        """Ask every node that has free CPUs for its facts.

        Raises IoFailureError where there is no such node after `wait_s`, or when nodes differ in version or share a
        name.
        """
        offering = await_nodes(self._ray, wait_s=wait_s, emit=self.emit)
        offered = {node["NodeID"]: node["Resources"]["CPU"] for node in offering}
        self._hosts = {node["NodeID"]: node["NodeManagerAddress"] for node in offering}
        self.cpus = wait_for_cpus(self._ray, offered, hosts=self._hosts, wait_s=wait_s, emit=self.emit)
        self._ids = {node: node for node in self.cpus}
        self.concurrency = Concurrency.of(self.cpus.values())
        # A process takes a second to start, so all are started before anything waits for them.
        for _ in range(self.concurrency.tasks - 1):
            for name in self._ids:
                self.run(name, facts, self._directory)
        facts_by_id: dict[str, NodeFacts] = self.run_on_all(facts, self._directory)
        require_same_versions(facts_by_id.values())
        require_own_names(facts_by_id.values())
        resources = {node["NodeID"]: node["Resources"] for node in offering}
        self.facts = {own.name: own for own in facts_by_id.values()}
        self._ids = {own.name: node for node, own in facts_by_id.items()}
        self.cpus = {name: self.cpus[node] for name, node in self._ids.items()}
        self.store_bytes = {
            name: int(resources[node].get("object_store_memory", 0)) for name, node in self._ids.items()
        }


def _last(seconds: float) -> None:
    """Do nothing for so long: a task of Ray's needs a signature, which `time.sleep` lacks."""
    time.sleep(seconds)


@cache
def _service(job: str, node_id: str, host: str) -> Any:
    """Start the service of a node, one for all sorts of a Ray job, since starting a process takes a second of CPU."""
    from ray.util.scheduling_strategies import NodeAffinitySchedulingStrategy

    ray = import_ray()
    for method in (NodeService.store, NodeService.copy):
        ray.method(concurrency_group=STORING)(method)
    affinity = NodeAffinitySchedulingStrategy(node_id, soft=False)
    ray.method(concurrency_group=PULSE)(NodeService.pulse)
    actor = ray.remote(concurrency_groups={STORING: MOST_STORING, PULSE: 1})(NodeService)
    placed = actor.options(num_cpus=0, max_restarts=-1, scheduling_strategy=affinity)
    return placed.remote(host, token=_token(job), seed=secrets.randbits(32), job=job)


@cache
def _token(_job: str) -> bytes:
    return secrets.token_bytes(32)
