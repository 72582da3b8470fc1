"""Signals to end: they act like Ctrl-C, so that nothing unfinished stays behind; while something is rented, the program
cleans up once, and later signals do not hurry it.
"""

from __future__ import annotations

import signal
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from types import FrameType

from planner.cli.shell.console import talk

_ENDS = (signal.SIGTERM, signal.SIGHUP)


@contextmanager
def end_as_ctrl_c() -> Iterator[None]:
    """Turn SIGTERM and SIGHUP into a KeyboardInterrupt, unless they are handled or ignored, as by nohup."""
    if threading.current_thread() is not threading.main_thread():
        yield
        return
    unhandled = [number for number in _ENDS if signal.getsignal(number) is signal.SIG_DFL]
    for number in unhandled:
        signal.signal(number, _interrupt)
    try:
        yield
    finally:
        for number in unhandled:
            signal.signal(number, signal.SIG_DFL)


def _interrupt(number: int, frame: FrameType | None) -> None:
    del number, frame
    raise KeyboardInterrupt


@contextmanager
def orderly_end() -> Iterator[None]:
    """Turn the first signal to end into a KeyboardInterrupt, and later ones into a message to wait."""
    asked = False

    def ask(number: int, frame: FrameType | None) -> None:
        del frame
        nonlocal asked
        if asked:
            talk("still taking down what was created; kill -9 leaves the rest to `planner cluster down`")
            return
        asked = True
        talk(f"{signal.Signals(number).name}: taking down what was created")
        raise KeyboardInterrupt

    before = {number: signal.signal(number, ask) for number in (signal.SIGINT, *_ENDS)}
    try:
        yield
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)
