"""A session with a separate process that drives cluster sorts: it sends orders and receives events."""

from __future__ import annotations

import contextlib
import itertools
import json
import os
import queue
import signal
import subprocess
import sys
import tempfile
import threading
from collections.abc import Callable, Iterator, Mapping
from typing import IO, Any, Final

from planner import errors
from planner.distributed_sort.job.waiting import waiting
from planner.errors import InterruptedRunError, IoFailureError, PlannerError

_DRIVER: Final = "planner.distributed_sort.driver"
_LONGEST_END_S: Final = 10.0
_SILENT_S: Final = 9.0
"""Longer than a live driver takes until its next event."""

Command = Callable[..., list[str]]
"""Turns words into a command that runs on the driver's host."""
OnEvent = Callable[[dict[str, Any]], None]
"""Receives each event of an order, a JSON object."""


class Session:
    """A driver process, connected to a Ray cluster."""

    def __init__(self, driver: subprocess.Popen[bytes], events: IO[str], output: IO[bytes]) -> None:
        self._driver = driver
        self._output = output
        self._lines: queue.SimpleQueue[str | None] = queue.SimpleQueue()
        """The driver's lines; None after the last one."""
        threading.Thread(target=self._take_lines, args=(events,), name="events", daemon=True).start()

    def _take_lines(self, events: IO[str]) -> None:
        for line in events:
            self._lines.put(line)
        self._lines.put(None)

    @property
    def pid(self) -> int:
        """The driver's process id."""
        return self._driver.pid

    @property
    def exit_code(self) -> int | None:
        """The driver's exit code; None while it runs."""
        return self._driver.poll()

    def do(self, order: Mapping[str, Any], on_event: OnEvent) -> dict[str, Any]:
        """Have the driver carry out an order and return its result; `on_event` receives every event before.

        Raises the PlannerError that the driver reports, and IoFailureError when the driver ends without a result, for
        example because the head is lost.
        """
        assert self._driver.stdin is not None
        with contextlib.suppress(BrokenPipeError):
            self._driver.stdin.write(json.dumps(order).encode() + b"\n")
            self._driver.stdin.flush()
        while (line := self._next_line(on_event)) is not None:
            if (result := result_in(line, on_event)) is not None:
                return result
        self._lines.put(None)  # a second order must find the end, too
        raise IoFailureError(
            "the cluster's head, or the process that drives the sort, is lost",
            ["what is done stays on the nodes: run the same command again to go on", *_tail(self._output)],
            code="head-lost",
        )

    def _next_line(self, on_event: OnEvent) -> str | None:
        """Return the driver's next line. While there is none, an event reports it: the driver may wait for Ray's head
        in calls without a deadline.
        """
        for times in itertools.count(1):
            with contextlib.suppress(queue.Empty):
                return self._lines.get(timeout=_SILENT_S)
            on_event(waiting(["the cluster's head"], since_s=times * _SILENT_S, reason="nothing was heard of the sort"))
        return None


def result_in(line: str, on_event: OnEvent) -> dict[str, Any] | None:
    """Return the result that a line of a driver's events holds; any other event goes to `on_event`.

    Raises the PlannerError that the driver reports.
    """
    event = json.loads(line)
    if event["event"] == "result":
        return {key: value for key, value in event.items() if key != "event"}
    if event["event"] == "error":
        error: type[PlannerError] = getattr(errors, event["kind"], IoFailureError)
        raise error(event["message"], event["details"], field=event.get("field", ""), code=event.get("code", ""))
    on_event(event)
    return None


@contextlib.contextmanager
def ray_session(*, address: str, command: Command, environment: Mapping[str, str]) -> Iterator[Session]:
    """Yield a session with the cluster whose head has this address; the driver's process ends with the context.

    Raises InterruptedRunError on Ctrl-C.
    """
    reading, writing = os.pipe()
    with os.fdopen(reading, encoding="utf-8") as events, tempfile.TemporaryFile() as output:
        words = command(sys.executable, "-P", "-m", _DRIVER, str(writing), address)
        try:
            driver = subprocess.Popen(
                words, env=dict(environment), stdin=subprocess.PIPE, stdout=output, stderr=output, pass_fds=(writing,)
            )
        finally:
            os.close(writing)
        with _end_process(driver):
            yield Session(driver, events, output)


@contextlib.contextmanager
def _end_process(driver: subprocess.Popen[bytes]) -> Iterator[None]:
    """End the process when the body ends."""
    try:
        yield
    except KeyboardInterrupt:
        driver.send_signal(signal.SIGINT)
        raise InterruptedRunError("interrupted; what is done stays on the nodes for a second call") from None
    finally:
        assert driver.stdin is not None
        with contextlib.suppress(BrokenPipeError):
            driver.stdin.close()
        try:
            driver.wait(_LONGEST_END_S)
        except subprocess.TimeoutExpired:
            driver.kill()
            driver.wait()


def _tail(output: IO[bytes]) -> list[str]:
    output.seek(0)
    return output.read().decode(errors="replace").splitlines()[-6:]
