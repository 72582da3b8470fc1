"""Common handling of all signals to end: the program cleans up once, and later signals do not hurry it."""

from __future__ import annotations

import signal
from collections.abc import Iterator
from contextlib import contextmanager
from types import FrameType

from planner.cli.shell.console import talk

_ENDS = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)


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

    before = {number: signal.signal(number, ask) for number in _ENDS}
    try:
        yield
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)
