"""Progress of native work as function calls: the amount done, and the total."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from planner.native import Progress

EVERY_S = 0.2


@dataclass(frozen=True, kw_only=True)
class Step:
    """Progress of a phase; `bytes_total` is None while unknown."""

    phase: str
    bytes_done: int
    bytes_total: int | None


@dataclass(frozen=True, kw_only=True)
class TimedStep:
    """Progress of measurements whose duration is known in advance."""

    phase: str
    done_s: float
    total_s: float


OnProgress = Callable[[Step], None]
OnTime = Callable[[TimedStep], None]


class MeasuredTime:
    """Sum of the milliseconds of measurements that each start at 0."""

    def __init__(self) -> None:
        self._before_ms = 0
        self._current_ms = 0

    def seconds(self, *, phase: int, count: int) -> float:
        """Return the seconds measured so far, from the current values of a Progress."""
        current_ms = count if phase == 1 else 0
        if current_ms < self._current_ms:
            self._before_ms += self._current_ms
        self._current_ms = current_ms
        return (self._before_ms + current_ms) / 1000


@contextmanager
def reported(phases: Sequence[str], on_progress: OnProgress | None) -> Iterator[Progress]:
    """Yield a Progress for a native call; meanwhile a thread calls `on_progress`, if given, five times a second, and
    once at the end.
    """

    def step(progress: Progress) -> Step:
        phase = phases[min(progress.phase, len(phases) - 1)]
        return Step(phase=phase, bytes_done=progress.bytes_done, bytes_total=progress.bytes_total or None)

    with _repeated(on_progress, step) as progress:
        yield progress


@contextmanager
def reported_time(phases: tuple[str, str], on_progress: OnTime | None, *, total_s: float) -> Iterator[Progress]:
    """Yield a Progress for consecutive measurements: its phase 0 prepares, its phase 1 counts milliseconds.

    `total_s` is the seconds of all measurements.
    """
    measured = MeasuredTime()

    def step(progress: Progress) -> TimedStep:
        phase = min(progress.phase, 1)
        done_s = measured.seconds(phase=phase, count=progress.bytes_done)
        return TimedStep(phase=phases[phase], done_s=done_s, total_s=total_s)

    with _repeated(on_progress, step) as progress:
        yield progress


@contextmanager
def _repeated(on_step: Callable[[Any], None] | None, step: Callable[[Progress], Any]) -> Iterator[Progress]:
    """Yield a Progress; meanwhile a thread calls `on_step`, if given, with the result of `step` on it. Work that ended
    well is reported once more, however short it was.
    """
    from planner.native import Progress

    progress = Progress()
    if on_step is None:
        yield progress
        return
    over = threading.Event()

    def report() -> None:
        while not over.wait(EVERY_S):
            on_step(step(progress))

    thread = threading.Thread(target=report, daemon=True)
    thread.start()
    try:
        yield progress
    finally:
        over.set()
        thread.join()
    on_step(step(progress))
