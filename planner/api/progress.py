"""Progress of native work as calls of a function: what is done, and of how much."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from planner.native import Progress

EVERY_S = 0.2


@dataclass(frozen=True, kw_only=True)
class Step:
    """How far a phase of the work is; `bytes_total` is None while nobody knows it."""

    phase: str
    bytes_done: int
    bytes_total: int | None


OnProgress = Callable[[Step], None]


@contextmanager
def reported(phases: Sequence[str], on_progress: OnProgress | None) -> Iterator[Progress]:
    """Yield a Progress for a native call; meanwhile a thread calls `on_progress`, if given, five times a second."""
    from planner.native import Progress

    progress = Progress()
    if on_progress is None:
        yield progress
        return
    over = threading.Event()
    thread = threading.Thread(target=_report, args=(progress, phases, on_progress, over), daemon=True)
    thread.start()
    try:
        yield progress
    finally:
        over.set()
        thread.join()


def _report(progress: Progress, phases: Sequence[str], on_progress: OnProgress, over: threading.Event) -> None:
    while not over.wait(EVERY_S):
        phase = phases[min(progress.phase, len(phases) - 1)]
        on_progress(Step(phase=phase, bytes_done=progress.bytes_done, bytes_total=progress.bytes_total or None))
