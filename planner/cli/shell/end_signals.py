"""Signals to end do what Ctrl-C does, so that nothing half done stays behind."""

from __future__ import annotations

import signal
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from types import FrameType

_ENDS = (signal.SIGTERM, signal.SIGHUP)


@contextmanager
def end_as_ctrl_c() -> Iterator[None]:
    """Turn SIGTERM and SIGHUP into a KeyboardInterrupt, unless somebody handles or ignores them, as nohup does."""
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
