"""Errors of the compiled core become the planner's, and an interrupt reaches a running call."""

from __future__ import annotations

import signal
import subprocess
import sys
import threading
import time
from pathlib import Path

import pytest
from refusals import refused

from planner.errors import BadInputError, InterruptedRunError, IoFailureError
from planner.native import Progress, core, core_errors, run_interruptible


@pytest.mark.parametrize(
    ("raised", "expected", "message"),
    [
        (OSError(28, "No space left", "/out"), IoFailureError, "/out: No space left"),
        (OSError(28, "cannot write /out: full"), IoFailureError, "cannot write /out: full"),
        (ValueError("half a record"), BadInputError, "half a record"),
        (MemoryError("too little"), BadInputError, "too little"),
        (core.CancelledError(), InterruptedRunError, "nothing half written"),
    ],
)
def test_what_the_core_raises_becomes_an_error_of_the_planner(
    raised: Exception, expected: type[Exception], message: str
) -> None:
    with pytest.raises(expected, match=message), core_errors():
        raise raised


def test_work_gets_the_progress_and_its_result_is_returned() -> None:
    progress = Progress()
    assert run_interruptible(lambda watched: watched is progress, progress)
    with pytest.raises(BadInputError, match="bad"):
        run_interruptible(lambda _: (_ for _ in ()).throw(ValueError("bad")))


def test_an_interrupt_cancels_the_work_and_waits_for_its_end() -> None:
    ended = threading.Event()

    def work(progress: Progress) -> None:
        signal.pthread_kill(threading.main_thread().ident or 0, signal.SIGINT)
        while not progress.is_cancelled:
            time.sleep(0.001)
        ended.set()

    with pytest.raises(InterruptedRunError, match="interrupted"):
        run_interruptible(work)
    assert ended.is_set()


def test_an_interrupt_behind_the_end_does_not_say_that_nothing_was_written() -> None:
    def work(progress: Progress) -> None:
        signal.pthread_kill(threading.main_thread().ident or 0, signal.SIGINT)
        while not progress.is_cancelled:
            time.sleep(0.001)

    with refused("interrupted", kind=InterruptedRunError):
        run_interruptible(work)


def test_an_interrupt_while_the_core_is_loaded_is_no_missing_core() -> None:
    script = """if True:
        import builtins
        load = builtins.__import__
        def interrupted(name, *arguments, **options):
            if name == "planner._sortcore":
                raise ImportError("initialization failed") from KeyboardInterrupt()
            return load(name, *arguments, **options)
        builtins.__import__ = interrupted
        import planner.native
    """
    ended = subprocess.run([sys.executable, "-c", script], check=False, capture_output=True, text=True)
    assert ended.stderr.splitlines()[-1] == "KeyboardInterrupt"


SERVES_TO_THE_END = """
import socket, sys, threading, time
from pathlib import Path
from planner.native import core

folder = Path(sys.argv[1])
(folder / "part").write_bytes(bytes(4096))


def serve(server):
    while True:
        core.send_parts(server.fileno(), [str(folder)], [("part", 0, 4096)], silent_s=1.0)


for _ in range(4):
    server, client = socket.socketpair()
    threading.Thread(target=serve, args=(server,), daemon=True).start()
    threading.Thread(target=lambda client=client: all(iter(lambda: client.recv(65536), b"")), daemon=True).start()
time.sleep(0.3)
"""


def test_a_process_that_ends_while_a_thread_is_in_the_core_does_not_abort(tmp_path: Path) -> None:
    """Python up to 3.13 ends a daemon thread that comes back from the core then by unwinding its stack."""
    ended = subprocess.run(
        [sys.executable, "-c", SERVES_TO_THE_END, tmp_path], check=False, capture_output=True, text=True
    )
    assert (ended.returncode, ended.stderr) == (0, "")
