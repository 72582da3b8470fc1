"""Progress of measurements that take a time known beforehand: time measured and left, on stderr and on a terminal."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING

from planner.cli.shell.progress import EVERY_S, bar, displayed

if TYPE_CHECKING:
    from planner.native import Progress


@contextmanager
def timed(preparing: str, measuring: str, *, total_s: float) -> Iterator[Progress]:
    """Yield a Progress and show it while the body runs; its phase 0 prepares, its phase 1 counts milliseconds.

    Several measurements may follow each other: `total_s` is the seconds of all of them.
    """
    from planner.native import Progress

    progress = Progress()
    with displayed(lambda over: _display(progress, (preparing, measuring), total_s, over)):
        yield progress


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
    with bar("TaskProgressColumn") as display:
        task = display.add_task(words[0], total=total_s)
        while not over.wait(EVERY_S):
            phase = min(progress.phase, 1)
            display.update(
                task, description=words[phase], completed=measured.seconds(phase=phase, count=progress.bytes_done)
            )
