"""A simulation in the terminal: the range of each phase beside its equation, and what its tasks wait for."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from planner.simulation.result import Simulation
from planner.simulation.timeline import ONE_TASK, OTHERS
from planner.units import format_duration

_WORDS = {ONE_TASK: "a task's own threads", OTHERS: "slower nodes", "driver": "handing out tasks"}
_LEAST_SHARE = 0.05
"""Waiting of a smaller share is not named."""


def render_simulation(simulation: Simulation) -> Iterator[Any]:
    """Yield a table of the phases, and the whole sort below it."""
    from rich.table import Table
    from rich.text import Text

    is_range = simulation.draws > 1  # one run has none
    often = f"{simulation.draws} times" if is_range else "once"
    title = f"\n{simulation.cluster}, simulated {often} (seed {simulation.seed})"
    table = Table(title=title, title_justify="left", title_style="bold", box=None, pad_edge=False)
    for heading in ("phase", "equation", *(("median", "95%") if is_range else ("simulated",)), "waits for"):
        table.add_column(heading, justify="left" if heading in ("phase", "waits for") else "right", overflow="fold")
    for phase in simulation.phases:
        seconds = (phase.equation_s, phase.p50_s, *((phase.p95_s,) if is_range else ()))
        table.add_row(phase.name, *map(format_duration, seconds), waiting(phase.waits))
    yield table
    simulated = _range(simulation.p50_s, p95_s=simulation.p95_s if is_range else None)
    planned = _range(simulation.planned_p50_s, p95_s=simulation.planned_p95_s)
    yield Text(f"The whole sort takes {simulated}; the equations say {planned}.")
    if (loss := simulation.loss) is not None:
        nodes = "a node" if loss.nodes == 1 else f"{loss.nodes} nodes"
        after = f"{nodes} lost after {loss.share:.0%} of it"
        longer = _range(loss.p50_s, p95_s=loss.p95_s if is_range else None)
        yield Text(f"With {after} it takes {longer}, {loss.times:.2f} times as long.")
    if (slow := simulation.slow) is not None:
        nodes = "a node takes" if slow.nodes == 1 else f"{slow.nodes} nodes take"
        what = f" for {resource_text(slow.resource)}" if slow.resource else ""
        longer = _range(slow.p50_s, p95_s=slow.p95_s if is_range else None)
        slower = f"Where {nodes} {slow.factor:g} times as long{what}"
        yield Text(f"{slower}, it takes {longer}, {slow.times:.2f} times as long.")
    if (spot := simulation.spot) is not None:
        longer = _range(spot.p50_s, p95_s=spot.p95_s if is_range else None)
        taken = f"{spot.taken_back:.2g} of the spot machines are taken back in a run"
        yield Text(f"{taken}: with that it takes {longer}, on average {spot.times:.3f} times as long.")
    yield Text(f"What breaks first: {resource_text(simulation.breaks_first)}.")


def _range(p50_s: float, *, p95_s: float | None) -> str:
    return format_duration(p50_s) if p95_s is None else f"{format_duration(p50_s)} (95%: {format_duration(p95_s)})"


def waiting(waits: Mapping[str, float]) -> str:
    """Return what tasks wait for, most first: `network 94%, slower nodes 6%`."""
    ordered = sorted(waits.items(), key=lambda wait: -wait[1])
    return ", ".join(f"{resource_text(name)} {share:.0%}" for name, share in ordered if share >= _LEAST_SHARE)


def resource_text(name: str) -> str:
    """Return what people call a resource, or what nodes wait for otherwise."""
    return _WORDS.get(name, name.replace("_", " "))
