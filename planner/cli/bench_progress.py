"""Progress of measurements that take a time known beforehand: time measured and left, on stderr and on a terminal."""

from __future__ import annotations

import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from planner.native import Progress

_EVERY_S = 0.2


@contextmanager
def timed(preparing: str, measuring: str, *, total_s: float) -> Iterator[Progress]:
    """Yield a Progress and show it while the body runs; its phase 0 prepares, its phase 1 counts milliseconds.

    Several measurements may follow each other: `total_s` is the seconds of all of them.
    """
    from planner.native import Progress

    progress = Progress()
    if not sys.stderr.isatty():
        yield progress
        return
    over = threading.Event()
    words = (preparing, measuring)
    display = threading.Thread(target=_display, args=(progress, words, total_s, over), daemon=True)
    display.start()
    try:
        yield progress
    finally:
        over.set()
        display.join()


class MeasuredTime:
    """Adds up the milliseconds of measurements that each begin at 0 again."""

    def __init__(self) -> None:
        self._before_ms = 0
        self._current_ms = 0

    def seconds(self, *, phase: int, count: int) -> float:
        """Return the seconds measured so far, given what a Progress shows now."""
        current_ms = count if phase == 1 else 0
        if current_ms < self._current_ms:
            self._before_ms += self._current_ms
        self._current_ms = current_ms
        return (self._before_ms + current_ms) / 1000


def _display(progress: Progress, words: tuple[str, str], total_s: float, over: threading.Event) -> None:
    measured = MeasuredTime()
    with _bar() as bar:
        task = bar.add_task(words[0], total=total_s)
        while not over.wait(_EVERY_S):
            phase = min(progress.phase, 1)
            bar.update(
                task, description=words[phase], completed=measured.seconds(phase=phase, count=progress.bytes_done)
            )


def _bar() -> Any:
    from rich.console import Console
    from rich.progress import BarColumn, Progress, TaskProgressColumn, TextColumn, TimeRemainingColumn

    columns = (TextColumn("{task.description}"), BarColumn(), TaskProgressColumn(), TimeRemainingColumn())
    return Progress(*columns, console=Console(stderr=True), transient=True)
