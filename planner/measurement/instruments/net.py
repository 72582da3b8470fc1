"""NetBench: records made in memory, dealt all-to-all over TCP, thrown away on arrival (SoCC 2015, section 4.3.1).

Every node sends to every other as fast as the network takes it, over one or more connections a pair. A node's rate is
the lower of what it sent and what it received; a cluster's is its slowest node's, since a shuffle ends with it.
"""

from __future__ import annotations

import contextlib
import secrets
import socket
import statistics
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor, as_completed, wait
from dataclasses import asdict, dataclass
from typing import Any, Final, TypeVar

from planner.errors import BadInputError, IoFailureError
from planner.measurement.instruments.agent import MEETING_S
from planner.measurement.instruments.instrument import Origin, series_per_s
from planner.measurement.instruments.net_wire import call, check_token, receive_message, send_message, split_address

ANSWER_TIMEOUT_S: Final = 15.0
"""An agent counts as lost when its answer is this much later than due."""
STALL_S: Final = 5.0
"""A connection without any traffic for this long ends the exchange."""
GRACE_S: Final = 3.0
"""Time for the other agents to report once one has failed."""
Answer = TypeVar("Answer")


@dataclass(frozen=True, kw_only=True)
class NodeTraffic:
    """Rates of one node's sent and received payload, in bytes/s, in total and over time; `received_from` by address."""

    address: str
    sent_bytes_per_s: float
    received_bytes_per_s: float
    received_from_bytes_per_s: dict[str, float]
    series_sent_bytes_per_s: tuple[float, ...]
    series_received_bytes_per_s: tuple[float, ...]

    @property
    def bytes_per_s(self) -> float:
        """The lower of the two rates: the node's rate in a shuffle."""
        return min(self.sent_bytes_per_s, self.received_bytes_per_s)


@dataclass(frozen=True, kw_only=True)
class NetRun:
    """One all-to-all exchange."""

    seconds: float
    connections: int
    nodes: tuple[NodeTraffic, ...]

    @property
    def slowest(self) -> NodeTraffic:
        """The slowest node, for which the others would wait."""
        return min(self.nodes, key=lambda node: node.bytes_per_s)

    def to_dict(self) -> dict[str, Any]:
        """Return the run as JSON-able values."""
        rates = [node.bytes_per_s for node in self.nodes]
        return {
            "nodes": len(self.nodes),
            "slowest_bytes_per_s": min(rates),
            "median_bytes_per_s": statistics.median(rates),
            "slowest_node": self.slowest.address,
            "seconds": self.seconds,
            "connections": self.connections,
            "per_node": [{**asdict(node), "bytes_per_s": node.bytes_per_s} for node in self.nodes],
        }


@dataclass(frozen=True, kw_only=True)
class NetBench:
    """Result of NetBench: one run, or one for each doubling of the node count."""

    origin: Origin
    runs: tuple[NetRun, ...]

    def to_dict(self) -> dict[str, Any]:
        """Return the result as JSON-able values; `curve` holds (nodes, slowest node's bytes/s)."""
        runs = [run.to_dict() for run in self.runs]
        curve = [{"nodes": run["nodes"], "slowest_bytes_per_s": run["slowest_bytes_per_s"]} for run in runs]
        return {**asdict(self.origin), "curve": curve, "runs": runs}


def doublings(nodes: int) -> list[int]:
    """Return 2, 4, 8, ... up to `nodes`, and `nodes` itself last."""
    counts = [2**power for power in range(1, nodes.bit_length()) if 2**power < nodes]
    return [*counts, nodes]


def bench_net(
    agents: Sequence[str],
    *,
    token: str,
    seconds: float = 10,
    warm_up_s: float = 2,
    connections: int = 2,
    repeats: int = 1,
    doubling: bool = False,
    machine_type: str | None = None,
    on_run: Callable[[int], None] = lambda nodes: None,
) -> NetBench:
    """Measure between the agents at `host:port`; with `doubling` first between 2 of them, then 4, and so on.

    `on_run(nodes)` is called before each run. Raises BadInputError for impossible arguments, IoFailureError naming the
    agent that cannot be reached, has another token, or is lost in the middle of a run.
    """
    if len(set(agents)) != len(agents) or len(agents) < 2:
        raise BadInputError("name at least two agents, each once: --node host:port --node host:port", code="too-few")
    if connections < 1 or repeats < 1 or not seconds > 0 or not warm_up_s >= 0:
        raise BadInputError("at least one connection and one repeat, for more than 0 seconds", code="out-of-range")
    check_token(token)
    for agent in agents:
        split_address(agent)
    counts = doublings(len(agents)) if doubling else [len(agents)]
    runs = []
    for count in (count for count in counts for _ in range(repeats)):
        on_run(count)
        runs.append(run_net(agents[:count], token=token, seconds=seconds, warm_up_s=warm_up_s, connections=connections))
    origin = Origin(
        instrument="netbench",
        method=f"all-to-all over TCP, {connections} connections a pair and direction, payload bytes",
        machine_type=machine_type,
        nodes=len(agents),
        repeats=repeats,
    )
    return NetBench(origin=origin, runs=tuple(runs))


def run_net(agents: Sequence[str], *, token: str, seconds: float, warm_up_s: float, connections: int) -> NetRun:
    """Make one exchange between all `agents`. Raises as `bench_net` does."""
    interval_s = min(1.0, seconds / 5)
    order = {
        "run": secrets.token_hex(8),
        "peers": list(agents),
        "connections": connections,
        "seconds": seconds,
        "warm_up_s": warm_up_s,
        "interval_s": interval_s,
        "stall_s": max(STALL_S, warm_up_s),
    }
    with _Cluster(agents, token=token) as cluster:
        cluster.each(lambda i, control: send_message(control, {**order, "self": i}), within_s=ANSWER_TIMEOUT_S)
        cluster.each(lambda i, control: _expect(control, "listening"), within_s=ANSWER_TIMEOUT_S)
        cluster.tell({"connect": True})
        cluster.each(lambda i, control: _expect(control, "connected"), within_s=MEETING_S + ANSWER_TIMEOUT_S)
        cluster.tell({"start": True})
        results = cluster.results(within_s=warm_up_s + seconds + ANSWER_TIMEOUT_S)
    _raise_if_broken(agents, results)
    _raise_if_silent(agents, results)
    nodes = tuple(_node(agents, i, result, seconds, interval_s) for i, result in enumerate(results))
    return NetRun(seconds=seconds, connections=connections, nodes=nodes)


class _Cluster:
    """The control connections to all agents of a run."""

    def __init__(self, agents: Sequence[str], *, token: str) -> None:
        self._agents, self._token = agents, token
        self._stack = contextlib.ExitStack()
        self._controls: list[socket.socket] = []

    def __enter__(self) -> _Cluster:
        with contextlib.ExitStack() as stack:
            for agent in self._agents:
                self._controls.append(stack.enter_context(call(agent, token=self._token, greeting={"role": "control"})))
            self.each(lambda i, control: _expect(control, "ready"), within_s=ANSWER_TIMEOUT_S)
            self._stack = stack.pop_all()
        return self

    def __exit__(self, *_: object) -> None:
        self._stack.close()

    def tell(self, message: dict[str, Any]) -> None:
        self.each(lambda i, control: send_message(control, message), within_s=ANSWER_TIMEOUT_S)

    def each(self, work: Callable[[int, socket.socket], Answer], *, within_s: float) -> list[Answer]:
        """Do `work` with every agent at once. Raises IoFailureError with a line for every agent that failed."""
        for control in self._controls:
            control.settimeout(within_s)
        failures: dict[int, str] = {}
        answers = []
        with self._pool() as pool:
            futures = [pool.submit(work, i, control) for i, control in enumerate(self._controls)]
            for i, future in enumerate(futures):
                try:
                    answers.append(future.result())
                except (OSError, IoFailureError) as error:
                    failures[i] = str(error) or type(error).__name__
        if failures:
            lost = [f"agent {self._agents[i]}: {reason}" for i, reason in failures.items()]
            raise IoFailureError(
                f"{len(lost)} of {len(self._agents)} agents lost; restart or leave them out", lost, code="agents-lost"
            )
        return answers

    def results(self, *, within_s: float) -> list[dict[str, Any]]:
        """Return each agent's result, with `error` for a lost one; after a failure the others have only GRACE_S."""
        for control in self._controls:
            control.settimeout(within_s)
        with self._pool() as pool:
            futures = [pool.submit(_result_or_error, control) for control in self._controls]
            for done in as_completed(futures):
                if done.result().keys() & {"error", "broken"}:
                    break
            _, silent = wait(futures, timeout=GRACE_S)
            for future, control in zip(futures, self._controls, strict=True):
                if future in silent:
                    _hang_up(control)
            return [future.result() for future in futures]

    @contextlib.contextmanager
    def _pool(self) -> Iterator[ThreadPoolExecutor]:
        """Yield a pool with a thread for every agent; an interrupt closes all connections, so that no thread is waited
        for.
        """
        with ThreadPoolExecutor(max_workers=len(self._controls)) as pool:
            try:
                yield pool
            except BaseException:
                for control in self._controls:
                    _hang_up(control)
                raise


def _hang_up(control: socket.socket) -> None:
    """End a connection; a thread that waits for it wakes up, and the agent ends its part."""
    with contextlib.suppress(OSError):
        control.shutdown(socket.SHUT_RDWR)


def _result_or_error(control: socket.socket) -> dict[str, Any]:
    try:
        return receive_message(control)
    except (OSError, IoFailureError) as error:
        return {"error": str(error) or type(error).__name__}


def _expect(control: socket.socket, word: str) -> None:
    message = receive_message(control)
    if word not in message:
        raise IoFailureError(
            str(message.get("error", f"an answer that was not expected: {message}")), code="agent-error"
        )


def _raise_if_broken(agents: Sequence[str], results: Sequence[dict[str, Any]]) -> None:
    """Raise IoFailureError when connections broke, naming first the node that most others report."""
    errors = [f"agent {agents[i]}: {result['error']}" for i, result in enumerate(results) if "error" in result]
    broken = {i: result["broken"] for i, result in enumerate(results) if "broken" in result}
    if not errors and not broken:
        return
    complaints = [
        f"agent {agents[i]}: {'to' if how['was_sending'] else 'from'} {agents[how['peer']]}: {how['reason']} "
        f"after {how['after_s']:.1f} s"
        for i, how in broken.items()
    ]
    suspects = Counter(agents[how["peer"]] for how in broken.values()).most_common(1)
    suspect = f"; look at {suspects[0][0]} first" if suspects else ""
    raise IoFailureError(f"the exchange broke off{suspect}", [*errors, *complaints], code="exchange-broken")


def _raise_if_silent(agents: Sequence[str], results: Sequence[dict[str, Any]]) -> None:
    silent = [
        f"agent {agents[i]}: nothing arrived from {agents[int(peer)]}"
        for i, result in enumerate(results)
        for peer, size in result["received"].items()
        if size == 0
    ]
    if silent:
        raise IoFailureError(
            "some nodes do not reach each other; measure for longer, or look at these links",
            silent,
            code="nothing-moved",
        )


def _node(agents: Sequence[str], index: int, result: dict[str, Any], seconds: float, interval_s: float) -> NodeTraffic:
    received = {agents[int(peer)]: size / seconds for peer, size in result["received"].items()}
    return NodeTraffic(
        address=agents[index],
        sent_bytes_per_s=sum(result["sent"].values()) / seconds,
        received_bytes_per_s=sum(received.values()),
        received_from_bytes_per_s=received,
        series_sent_bytes_per_s=series_per_s(result["sent_by_interval"], interval_s=interval_s),
        series_received_bytes_per_s=series_per_s(result["received_by_interval"], interval_s=interval_s),
    )
