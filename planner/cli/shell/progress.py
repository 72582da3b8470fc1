"""Progress of long work: the part done and the time left, on stderr and only on a terminal; and events of a sort that
another process drives.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager
from typing import TYPE_CHECKING, Any, Final

from planner.api.progress import reported
from planner.cli.shell.console import talk
from planner.units import count_text, format_bytes, format_rate

if TYPE_CHECKING:
    from planner.api.progress import OnProgress, OnTime, Step
    from planner.native import Progress

OnEvent = Callable[[dict[str, Any]], None]
_BYTES: Final = ("DownloadColumn", "TransferSpeedColumn")


@contextmanager
def watched(phases: Sequence[str]) -> Iterator[Progress]:
    """Yield a Progress for a native call and show it while the body runs; `phases` names its phases by index."""
    with shown_progress() as on_progress, reported(phases, on_progress) as progress:
        yield progress


def shown_progress() -> AbstractContextManager[OnProgress | None]:
    """Yield a callback that shows the progress of a library function; None where stderr is not a terminal."""

    def show(display: Any, task: Any, step: Step) -> None:
        if step.phase != display.tasks[task].description:
            display.reset(task, description=step.phase)
        display.update(task, completed=step.bytes_done, total=step.bytes_total)

    return _shown(show, *_BYTES)


def shown_time() -> AbstractContextManager[OnTime | None]:
    """Yield a callback that shows the time measured and left; None where stderr is not a terminal."""
    return _shown(
        lambda display, task, step: display.update(
            task, description=step.phase, completed=step.done_s, total=step.total_s
        ),
        "TaskProgressColumn",
    )


@contextmanager
def _shown(show: Callable[[Any, Any, Any], None], *columns: str) -> Iterator[Any]:
    """Yield a callback that shows a step in a bar with these columns."""
    if not sys.stderr.isatty():
        yield None
        return
    with bar(*columns) as display:
        task = display.add_task("", total=None)
        yield lambda step: show(display, task, step)


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


def bar(*columns: str) -> Any:
    """Return a bar with these columns of rich and the time left, on stderr, that vanishes at the end."""
    from rich import progress
    from rich.console import Console

    shown = (getattr(progress, name)() for name in ("BarColumn", *columns, "TimeRemainingColumn"))
    description = progress.TextColumn("{task.description}")
    return progress.Progress(description, *shown, console=Console(stderr=True), transient=True)


@contextmanager
def shown_events() -> Iterator[OnEvent]:
    """Yield a display of events: losses, slow nodes and steps as lines, progress as a bar on a terminal."""
    if not sys.stderr.isatty():
        yield _say
        return
    with bar(*_BYTES) as display:
        task = display.add_task("starting", total=None)

        def show(event: dict[str, Any]) -> None:
            if event["event"] == "progress":
                name = f"{event['phase']} on {count_text(event['nodes'], 'node')}"
                display.update(task, description=name, completed=event["bytes_done"], total=event["bytes_total"])
            elif event["event"] == "step":
                display.reset(task, description=event["name"])
            else:
                _say(event)

        yield show


def _prediction_text(event: dict[str, Any]) -> str:
    from planner.cost_model.model_reader import load_engine

    job = {name: value for name, value in event.items() if name != "event"}
    first, second = (f"{seconds:.0f} s ({what})" for seconds, what in load_engine("ray").least_phases_s(**job))
    rate = format_rate(event["link_bytes_per_s"])
    return f"a node's link carries {rate}: the phases take {first} and {second} or more, as far as disks keep up"


_SAID: Final[dict[str, Callable[[dict[str, Any]], str]]] = {
    "lost": lambda of: f"lost {', '.join(of['nodes'])}; {len(of['left'])} nodes go on",
    "probed": lambda of: (
        f"{count_text(of['nodes'], 'node')} with {of['cpus']:g} free CPUs, and "
        f"{format_bytes(of['free_bytes'])} free on their disks"
    ),
    "shipped": lambda of: f"nodes lack {', '.join(of['packages'])}, which are sent to them for this sort",
    "planned": _prediction_text,
    "again": lambda of: f"lost {', '.join(of['lost'])}, so this is done again: {of['reason']}",
    "anew": lambda of: f"what an earlier call did does not count: {of['reason']}",
    "waiting": lambda of: (
        f"waiting for {', '.join(of['nodes'])} ({of['since_s']} s): {of['reason'] or 'no task ended'}"
    ),
    "slow": lambda of: f"{of['node']} is slow: {of['reason']}",
    "full": lambda of: f"{of['node']} is left out, because its disk is full: {of['reason']}",
    "damaged": lambda of: f"intermediate files of {of['node']} are made again: {of['reason']}",
    "unreadable": lambda of: f"input that {of['node']} cannot read is had otherwise: {of['reason']}",
    "step": lambda of: str(of["name"]),
}
"""What is said of an event, by its name; others are not for people."""


def _say(event: dict[str, Any]) -> None:
    if said := _SAID.get(event["event"]):
        talk(said(event))
