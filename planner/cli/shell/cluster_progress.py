"""Progress of a sort that another process drives, from its events: bytes, rate per node, time left."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

from planner.cli.shell.console import talk
from planner.cli.shell.progress import bar
from planner.units import count_text, format_bytes, format_rate

OnEvent = Callable[[dict[str, Any]], None]


@contextmanager
def shown_events() -> Iterator[OnEvent]:
    """Yield a display of events: losses, slow nodes and steps as lines, progress as a bar on a terminal."""
    if not sys.stderr.isatty():
        yield _say
        return
    with bar("DownloadColumn", "TransferSpeedColumn") as display:
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


def _say(event: dict[str, Any]) -> None:
    if event["event"] == "lost":
        talk(f"lost {', '.join(event['nodes'])}; {len(event['left'])} nodes go on")
    elif event["event"] == "probed":
        free = format_bytes(event["free_bytes"])
        talk(f"{count_text(event['nodes'], 'node')} with {event['cpus']:g} free CPUs, and {free} free on their disks")
    elif event["event"] == "shipped":
        talk(f"nodes lack {', '.join(event['packages'])}, which are sent to them for this sort")
    elif event["event"] == "planned":
        talk(_prediction_text(event))
    elif event["event"] == "again":
        talk(f"lost {', '.join(event['lost'])}, so this is done again: {event['reason']}")
    elif event["event"] == "anew":
        talk(f"what an earlier call did does not count: {event['reason']}")
    elif event["event"] == "waiting":
        reason = event["reason"] or "no task ended"
        talk(f"waiting for {', '.join(event['nodes'])} ({event['since_s']} s): {reason}")
    elif event["event"] == "slow":
        talk(f"{event['node']} is slow: {event['reason']}")
    elif event["event"] == "full":
        talk(f"{event['node']} is left out, because its disk is full: {event['reason']}")
    elif event["event"] == "damaged":
        talk(f"intermediate files of {event['node']} are made again: {event['reason']}")
    elif event["event"] == "unreadable":
        talk(f"input that {event['node']} cannot read is had otherwise: {event['reason']}")
    elif event["event"] == "step":
        talk(event["name"])
