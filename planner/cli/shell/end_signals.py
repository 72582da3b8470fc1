"""Handling of signals to end like Ctrl-C, so that nothing unfinished stays behind."""

from __future__ import annotations

import signal
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from types import FrameType

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
