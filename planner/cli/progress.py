"""Progress of what takes long: what is done and the time left, on stderr and only on a terminal."""

from __future__ import annotations

import sys
import threading
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from planner.native import Progress

_EVERY_S = 0.2


@contextmanager
def watched(phases: Sequence[str]) -> Iterator[Progress]:
    """Yield a Progress to hand to a native call and show it while the body runs; `phases` names its phases by index."""
    from planner.native import Progress

    progress = Progress()
    if not sys.stderr.isatty():
        yield progress
        return
    over = threading.Event()
    display = threading.Thread(target=_display, args=(progress, phases, over), daemon=True)
    display.start()
    try:
        yield progress
    finally:
        over.set()
        display.join()


@contextmanager
def stepped(steps: int) -> Iterator[Callable[[str], None]]:
    """Yield what is to be told of each of so many steps as it begins; shown are the step and the time left.

    The time left is known from the second step on.
    """
    if not sys.stderr.isatty():
        yield lambda step: None
        return
    from rich.console import Console
    from rich.progress import BarColumn, Progress, TextColumn, TimeRemainingColumn

    columns = (TextColumn("{task.description}"), BarColumn(), TimeRemainingColumn())
    with Progress(*columns, console=Console(stderr=True), transient=True) as bar:
        task = bar.add_task("", total=steps, completed=-1)
        yield lambda step: bar.update(task, description=step, advance=1)


def _display(progress: Progress, phases: Sequence[str], over: threading.Event) -> None:
    with bar() as display:
        task = display.add_task(phases[0], total=None)
        phase = 0
        while not over.wait(_EVERY_S):
            if progress.phase != phase:
                phase = progress.phase
                display.reset(task, description=phases[min(phase, len(phases) - 1)])
            display.update(task, completed=progress.bytes_done, total=progress.bytes_total or None)


def bar() -> Any:
    """Return a bar that shows bytes, their rate and the time left, on stderr, and vanishes at the end."""
    from rich.console import Console
    from rich.progress import BarColumn, DownloadColumn, Progress, TextColumn, TimeRemainingColumn, TransferSpeedColumn

    columns = (TextColumn("{task.description}"), BarColumn(), DownloadColumn(), TransferSpeedColumn())
    return Progress(*columns, TimeRemainingColumn(), console=Console(stderr=True), transient=True)
