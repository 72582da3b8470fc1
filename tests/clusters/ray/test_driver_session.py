"""Orders to a driver's process, its events, its errors, and its end."""

from __future__ import annotations

import os
import signal
import socket
import sys
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

import psutil
import pytest
from approvals import Approve
from refusals import refused, require

from planner.clusters.ray import driver_session
from planner.clusters.ray.driver_session import Session, ray_session
from planner.errors import BadInputError, InterruptedRunError, IoFailureError, PlannerError

DRIVER = """
import json, os, sys
descriptor = int(sys.argv[1])
for line in sys.stdin:
    order = json.loads(line)
    if order["do"] == "die":
        print("last words", file=sys.stderr)
        sys.exit(1)
    os.write(descriptor, (json.dumps({"event": "progress", "address": sys.argv[2]}) + "\\n").encode())
    os.write(descriptor, (json.dumps(order["answer"]) + "\\n").encode())
"""
"""Stands in for the real driver, whose full runs are in tests/distributed_sort."""


@contextmanager
def session(tmp_path: Path) -> Iterator[Session]:
    script = tmp_path / "driver.py"
    script.write_text(DRIVER)
    with ray_session(
        address="10.0.0.1:1", command=lambda *words: [words[0], str(script), *words[-2:]], environment={}
    ) as made:
        yield made


def do(made: Session, event: dict[str, Any]) -> tuple[dict[str, Any], list[dict[str, Any]]]:
    events: list[dict[str, Any]] = []
    return made.do({"do": "x", "answer": event}, events.append), events


def test_an_order_has_events_and_a_result_and_then_comes_the_next(tmp_path: Path) -> None:
    with session(tmp_path) as made:
        for number in (1, 2):
            result, events = do(made, {"event": "result", "number": number})
            assert result == {"number": number}
            assert events == [{"event": "progress", "address": "10.0.0.1:1"}]
    assert not psutil.pid_exists(made.pid)


def test_errors_are_those_of_the_driver(tmp_path: Path) -> None:
    with session(tmp_path) as made:
        with pytest.raises(BadInputError, match="no good") as caught:
            do(made, {"event": "error", "kind": "BadInputError", "message": "no good", "details": ["why"]})
        assert caught.value.details == ("why",)
        with pytest.raises(IoFailureError, match="odd"):
            do(made, {"event": "error", "kind": "NoSuchError", "message": "odd", "details": []})


def test_a_driver_that_ends_without_a_result_is_told_with_its_last_words(tmp_path: Path) -> None:
    with session(tmp_path) as made, refused("head-lost", kind=IoFailureError) as caught:
        made.do({"do": "die"}, lambda _: None)
    assert caught.value.details[-1] == "last words"


def test_an_interrupt_ends_the_driver(tmp_path: Path) -> None:
    with pytest.raises(InterruptedRunError), session(tmp_path) as made:
        raise KeyboardInterrupt
    assert not psutil.pid_exists(made.pid)


def test_the_driver_ignores_the_directory_that_it_runs_in(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A decoy of the package and one of a standard module are in the directory; both would raise."""
    (tmp_path / "planner").mkdir()
    for decoy in (tmp_path / "planner" / "__init__.py", tmp_path / "json.py"):
        decoy.write_text("raise ImportError('decoy')")
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(driver_session, "_LONGEST_END_S", 120.0)  # it is to end by itself, however slow its imports are
    commands: list[tuple[str, ...]] = []

    def command(*words: str) -> list[str]:
        commands.append(words)
        return list(words)

    with ray_session(address="none", command=command, environment={}) as made:
        assert made.pid
    (words,) = commands
    assert words[:4] == (sys.executable, "-P", "-m", driver_session._DRIVER)
    assert made.exit_code == 0, "it imported all it needs, and ended with its orders"


def test_an_address_where_nothing_listens_is_named_at_once() -> None:
    with socket.socket() as silent:
        silent.bind(("127.0.0.1", 0))
        address = f"127.0.0.1:{silent.getsockname()[1]}"
        with (
            ray_session(address=address, command=lambda *words: list(words), environment=os.environ) as session,
            pytest.raises(IoFailureError, match=f"--ray {address}: nothing listens there") as caught,
        ):
            session.do({"do": "sort"}, lambda _: None)
    assert "ray start --head" in caught.value.details[0]


def refusal(address: str) -> PlannerError:
    with (
        ray_session(address=address, command=lambda *words: list(words), environment=os.environ) as session,
        pytest.raises(PlannerError) as caught,
    ):
        session.do({"do": "sort"}, lambda _: None)
    return caught.value


@pytest.mark.parametrize("greeting", [b"", b"SSH-2.0-OpenSSH_9.2\r\n", b"HTTP/1.1 505 Version\r\n\r\n"])
def test_what_listens_and_is_not_ray_is_told_after_one_call(greeting: bytes) -> None:
    """Ray's own library kept trying for over a minute, and Ray's client for 37 s. The driver's start does not count."""
    with socket.create_server(("127.0.0.1", 0)) as other:
        taken: list[socket.socket] = []
        began: list[float] = []

        def serve() -> None:
            with suppress(OSError):
                while True:
                    taken.append(other.accept()[0])
                    began.append(time.monotonic())
                    taken[-1].sendall(greeting)

        threading.Thread(target=serve, daemon=True).start()
        port = other.getsockname()[1]
        require(refusal(f"127.0.0.1:{port}"), "not-ray", str(port), field="--ray")
        assert len(began) == 1 and time.monotonic() - began[0] < 37


@pytest.mark.parametrize("address", ["10.0.0.1", "http://10.0.0.1:8265"])
def test_what_is_no_address_of_a_head_is_refused(address: str) -> None:
    require(refusal(address), "malformed", address, "10.0.0.1:6379", field="--ray")


def test_a_driver_that_says_nothing_is_told_of(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, approve: Approve
) -> None:
    """Ray's calls that ask the head for its nodes have no deadline."""
    monkeypatch.setattr(driver_session, "_SILENT_S", 0.2)
    events: list[dict[str, Any]] = []

    def wake(event: dict[str, Any]) -> None:
        events.append(event)
        if event["event"] == "waiting":
            os.kill(made.pid, signal.SIGCONT)

    with session(tmp_path) as made:
        answer = {"event": "result", "number": 1}
        made.do({"do": "answer", "answer": answer}, events.append)
        os.kill(made.pid, signal.SIGSTOP)
        assert made.do({"do": "answer", "answer": answer}, wake) == {"number": 1}
    approve([event.get("reason") for event in events])
