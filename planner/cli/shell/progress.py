"""Progress of long work: the part done and the time left, on stderr and only on a terminal."""

from __future__ import annotations

import sys
import threading
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from planner.api.progress import OnProgress, OnTime, Step, TimedStep
    from planner.native import Progress

EVERY_S = 0.2


@contextmanager
def watched(phases: Sequence[str]) -> Iterator[Progress]:
    """Yield a Progress for a native call and show it while the body runs; `phases` names its phases by index."""
    from planner.native import Progress

    progress = Progress()
    with displayed(lambda over: _display(progress, phases, over)):
        yield progress


@contextmanager
def shown_progress() -> Iterator[OnProgress | None]:
    """Yield a callback that shows the progress of a library function; None where stderr is not a terminal."""
    if not sys.stderr.isatty():
        yield None
        return
    with bar("DownloadColumn", "TransferSpeedColumn") as display:
        task, phase = display.add_task("", total=None), ""

        def show(step: Step) -> None:
            nonlocal phase
            if step.phase != phase:
                phase = step.phase
                display.reset(task, description=phase)
            display.update(task, completed=step.bytes_done, total=step.bytes_total)

        yield show


@contextmanager
def shown_time() -> Iterator[OnTime | None]:
    """Yield a callback that shows the time measured and left; None where stderr is not a terminal."""
    if not sys.stderr.isatty():
        yield None
        return
    with bar("TaskProgressColumn") as display:
        task = display.add_task("", total=None)

        def show(step: TimedStep) -> None:
            display.update(task, description=step.phase, completed=step.done_s, total=step.total_s)

        yield show


@contextmanager
def displayed(display: Callable[[threading.Event], None]) -> Iterator[None]:
    """Run `display` alongside the body where stderr is a terminal; it returns when its event is set."""
    if not sys.stderr.isatty():
        yield
        return
    over = threading.Event()
    thread = threading.Thread(target=display, args=(over,), daemon=True)
    thread.start()
    try:
        yield
    finally:
        over.set()
        thread.join()


@contextmanager
def stepped(steps: int) -> Iterator[Callable[[str], None]]:
    """Yield a callback for the start of each step; it shows the step and the time left.

    The time left is known from the second step on.
    """
    if not sys.stderr.isatty():
        yield lambda step: None
        return
    with bar() as display:
        task = display.add_task("", total=steps, completed=-1)
        yield lambda step: display.update(task, description=step, advance=1)


def _display(progress: Progress, phases: Sequence[str], over: threading.Event) -> None:
    with bar("DownloadColumn", "TransferSpeedColumn") as display:
        task = display.add_task(phases[0], total=None)
        phase = 0
        while not over.wait(EVERY_S):
            if progress.phase != phase:
                phase = progress.phase
                display.reset(task, description=phases[min(phase, len(phases) - 1)])
            display.update(task, completed=progress.bytes_done, total=progress.bytes_total or None)


def bar(*columns: str) -> Any:
    """Return a bar with these columns of rich and the time left, on stderr, that vanishes at the end."""
    from rich import progress
    from rich.console import Console

    shown = (getattr(progress, name)() for name in ("BarColumn", *columns, "TimeRemainingColumn"))
    description = progress.TextColumn("{task.description}")
    return progress.Progress(description, *shown, console=Console(stderr=True), transient=True)
