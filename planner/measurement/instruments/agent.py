"""An agent: runs on each node of a cluster and does its part of NetBench when a caller with the token asks."""

from __future__ import annotations

import contextlib
import select
import socket
import threading
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass, field
from typing import Any, Final

from planner.errors import IoFailureError, PlannerError
from planner.measurement.instruments.net_wire import answer, call, check_token, receive_message, send_message
from planner.native import Progress, core, core_errors

MEETING_S: Final = 30.0
"""Seconds that an agent waits for its peers' connections."""
_POLL_S: Final = 0.2
_ENDING_S: Final = 5.0  # the previous run may still be cleaning up


@dataclass
class _Meeting:
    """The connections that peers made to this agent for one run."""

    run: str = ""
    arrived: list[tuple[int, socket.socket]] = field(default_factory=list)
    changed: threading.Condition = field(default_factory=threading.Condition)

    def begin(self, run: str) -> None:
        with self.changed:
            self.run = run

    def arrive(self, run: str, peer: int, connection: socket.socket) -> None:
        with self.changed:
            self.arrived.append((peer, connection)) if run == self.run else connection.close()
            self.changed.notify_all()

    def wait_for(self, count: int) -> list[tuple[int, socket.socket]]:
        with self.changed:
            if not self.changed.wait_for(lambda: len(self.arrived) >= count, timeout=MEETING_S):
                raise IoFailureError(
                    f"only {len(self.arrived)} of {count} connections of peers arrived", code="peers-missing"
                )
            return list(self.arrived)

    def end(self) -> None:
        with self.changed:
            for _, connection in self.arrived:
                connection.close()
            self.run, self.arrived = "", []


class Agent:
    """Listens on `host:port` (port 0 takes a free one) and serves one run at a time until closed.

    Raises IoFailureError when the address cannot be used, BadInputError for a token that is too short.
    """

    def __init__(self, *, host: str, port: int, token: str) -> None:
        self._token = check_token(token)
        try:
            family = socket.AF_INET6 if ":" in host else socket.AF_INET
            self._listener = socket.create_server((host, port), family=family, backlog=4096)
        except OSError as error:
            raise IoFailureError(
                f"cannot listen on {host}:{port}: {error.strerror or error}", code="cannot-listen"
            ) from error
        self._busy = threading.Lock()
        self._meeting = _Meeting()

    @property
    def port(self) -> int:
        """The port it listens on."""
        return int(self._listener.getsockname()[1])

    def serve(self) -> None:
        """Answer calls, each in its own thread, until `close`."""
        while True:
            try:
                connection, _ = self._listener.accept()
            except OSError:
                return
            threading.Thread(target=self._answer, args=(connection,), daemon=True).start()

    def close(self) -> None:
        """Stop listening; `serve` returns."""
        with contextlib.suppress(OSError):
            self._listener.shutdown(socket.SHUT_RDWR)
        self._listener.close()

    def _answer(self, connection: socket.socket) -> None:
        try:
            greeting = answer(connection, token=self._token)
        except (OSError, PlannerError, ValueError):
            connection.close()
            return
        if greeting.get("role") == "traffic":
            self._meeting.arrive(str(greeting.get("run")), int(greeting.get("peer", -1)), connection)
            return
        with connection, contextlib.suppress(OSError):
            self._take_orders(connection)

    def _take_orders(self, control: socket.socket) -> None:
        if not self._busy.acquire(timeout=_ENDING_S):
            send_message(control, {"error": "busy with another run"})
            return
        try:
            _Part(control, token=self._token, meeting=self._meeting).play()
        except (PlannerError, KeyError, TypeError, ValueError) as error:
            send_message(control, {"error": str(error)})
        finally:
            self._meeting.end()
            self._busy.release()


class _Part:
    """One agent's part in one run, as ordered over `control`."""

    def __init__(self, control: socket.socket, *, token: str, meeting: _Meeting) -> None:
        self._control, self._token, self._meeting = control, token, meeting

    def play(self) -> None:
        send_message(self._control, {"ready": True})
        order = receive_message(self._control)
        self._meeting.begin(order["run"])
        send_message(self._control, {"listening": True})
        receive_message(self._control)
        with self._connect_peers(order) as outgoing:
            incoming = self._meeting.wait_for((len(order["peers"]) - 1) * order["connections"])
            send_message(self._control, {"connected": True})
            receive_message(self._control)
            report = self._exchange(order, [c.fileno() for _, c in outgoing], [c.fileno() for _, c in incoming])
            send_message(self._control, _result(report, [i for i, _ in outgoing], [i for i, _ in incoming]))

    @contextlib.contextmanager
    def _connect_peers(self, order: dict[str, Any]) -> Iterator[list[tuple[int, socket.socket]]]:
        """Yield connections to every peer; all are closed at the end."""
        greeting = {"role": "traffic", "run": order["run"], "peer": order["self"]}
        peers = [i for i in range(len(order["peers"])) if i != order["self"]] * order["connections"]
        with contextlib.ExitStack() as stack:
            outgoing = []
            for peer in peers:
                connection = stack.enter_context(call(order["peers"][peer], token=self._token, greeting=greeting))
                outgoing.append((peer, connection))
            yield outgoing

    def _exchange(self, order: dict[str, Any], outgoing: Sequence[int], incoming: Sequence[int]) -> dict[str, Any]:
        """Return the core's report; ends early when the connection of the order's sender is lost."""
        progress = Progress()
        times = {key: float(order[key]) for key in ("seconds", "warm_up_s", "interval_s", "stall_s")}
        with ThreadPoolExecutor(max_workers=1) as pool, core_errors():
            running: Future[dict[str, Any]] = pool.submit(
                core.exchange_traffic, list(outgoing), list(incoming), progress=progress, **times
            )
            while not running.done():
                if self._is_abandoned():
                    progress.cancel()
                with contextlib.suppress(TimeoutError):
                    running.exception(timeout=_POLL_S)
            return running.result()

    def _is_abandoned(self) -> bool:
        readable, _, _ = select.select([self._control], [], [], 0)
        return bool(readable) and not self._control.recv(1, socket.MSG_PEEK)


def _result(report: dict[str, Any], sent_to: Sequence[int], received_from: Sequence[int]) -> dict[str, Any]:
    """Return the core's report with peers in place of sockets."""
    broken = report["broken"]
    if broken:
        peers = sent_to if broken["was_sending"] else received_from
        return {"broken": {**broken, "peer": peers[broken["index"]]}}
    return {
        "sent": _by_peer(sent_to, report["sent_bytes"]),
        "received": _by_peer(received_from, report["received_bytes"]),
        "sent_by_interval": report["sent_by_interval"],
        "received_by_interval": report["received_by_interval"],
    }


def _by_peer(peers: Sequence[int], sizes: Sequence[int]) -> dict[str, int]:
    total: dict[str, int] = {}
    for peer, size in zip(peers, sizes, strict=True):
        total[str(peer)] = total.get(str(peer), 0) + size
    return total


def serve_until_interrupted(agent: Agent, *, on_message: Callable[[str], None]) -> None:
    """Report the address and serve until Ctrl-C."""
    on_message(f"listening on port {agent.port}; end with Ctrl-C")
    try:
        agent.serve()
    finally:
        agent.close()
