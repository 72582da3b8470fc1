"""A simulation as a table in the terminal (each phase next to its equation, and its waits) and as a picture."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from html import escape
from typing import Any, Final

from planner.report.words import phase_word
from planner.simulation.result import Simulation
from planner.simulation.timeline import ONE_TASK, OTHERS, Span, Timeline
from planner.units import format_duration

_WORDS: Final = {ONE_TASK: "a task's own threads", OTHERS: "slower nodes"}
_LEAST_SHARE = 0.05
"""Least share of waiting that is named."""


def render_simulation(simulation: Simulation) -> Iterator[Any]:
    """Yield a table of the phases, and the whole sort below it."""
    from rich.table import Table
    from rich.text import Text

    is_range = simulation.draws > 1  # a single run has no range
    often = f"{simulation.draws} times" if is_range else "once"
    title = f"\n{simulation.cluster}, simulated {often} (seed {simulation.seed})"
    table = Table(title=title, title_justify="left", title_style="bold", box=None, pad_edge=False)
    for heading in (
        "phase",
        "equation",
        *(("half of the runs", "95 of 100") if is_range else ("simulated",)),
        "waits for",
    ):
        table.add_column(heading, justify="left" if heading in ("phase", "waits for") else "right", overflow="fold")
    for phase in simulation.phases:
        seconds = (phase.equation_s, phase.p50_s, *((phase.p95_s,) if is_range else ()))
        table.add_row(phase.name, *map(format_duration, seconds), waits_text(phase.waits))
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
    yield Text(f"Bottleneck: {resource_text(simulation.breaks_first)}.")


def _range(p50_s: float, *, p95_s: float | None) -> str:
    return (
        format_duration(p50_s)
        if p95_s is None
        else f"{format_duration(p50_s)} (95 of 100 runs: {format_duration(p95_s)})"
    )


def waits_text(waits: Mapping[str, float]) -> str:
    """Return what tasks wait for, largest first: `network 94%, slower nodes 6%`."""
    ordered = sorted(waits.items(), key=lambda wait: -wait[1])
    return ", ".join(f"{resource_text(name)} {share:.0%}" for name, share in ordered if share >= _LEAST_SHARE)


def resource_text(name: str) -> str:
    """Return the usual name of a resource, or of another reason to wait."""
    return _WORDS.get(name) or phase_word(name)


_COLOURS: Final = {
    "network": "#0072B2",
    "cpu": "#D55E00",
    "driver": "#CC79A7",
    "object_requests": "#56B4E9",
    ONE_TASK: "#F0E442",
    OTHERS: "#DDDDDD",
}
"""Colours by resource, from Okabe and Ito's palette for colour-blind readers; any other is a device."""
_DEVICE: Final = "#009E73"
_WIDTH, _LEFT, _TOP, _ROW, _BAR = 960, 110, 66, 26, 20
_LEAST_TEXT_PX: Final = 60
"""Least width of a span with its name in it; a narrower one shows its name on hover and in the key."""


def timeline_svg(simulation: Simulation) -> str:
    """Return the picture of the median run: a row for each group of nodes, slowest first."""
    timelines = simulation.timelines
    rows = max(len(timeline.groups) for timeline in timelines.values())
    height = _TOP + rows * _ROW + 50
    lengths_s = {name: _end_s(timeline) for name, timeline in timelines.items()}
    scale = (_WIDTH - _LEFT - 20) / (sum(lengths_s.values()) or 1.0)
    title = f"{simulation.cluster}: what nodes wait for, in the run in the middle of {simulation.draws}"
    head = (
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {_WIDTH} {height}" font-family="sans-serif" '
        f'font-size="12"><rect width="100%" height="100%" fill="white"/><text x="10" y="20" font-size="14">'
        f"{escape(title)}</text>"
    )
    parts = [*_panels(timelines, lengths_s, scale), *_labels(timelines), *_key(timelines, height)]
    return "\n".join([head, *parts, "</svg>"])


def _end_s(timeline: Timeline) -> float:
    return max((span.end_s for _, spans in timeline.groups for span in spans), default=0.0)


def _panels(timelines: Mapping[str, Timeline], lengths_s: Mapping[str, float], scale: float) -> Iterator[str]:
    """Yield each phase's name and time above its spans, the phases from left to right."""
    left = float(_LEFT)
    for name, timeline in timelines.items():
        width = lengths_s[name] * scale
        words = f"{name}, {format_duration(lengths_s[name])}"
        if width >= _LEAST_TEXT_PX:
            yield f'<text x="{left:.1f}" y="{_TOP - 10}">{escape(words)}</text>'
        for row, (_, spans) in enumerate(timeline.groups):
            for span in spans:
                yield _bar(span, left=left, top=_TOP + row * _ROW, scale=scale)
        left += width


def _bar(span: Span, *, left: float, top: float, scale: float) -> str:
    """Return a span as a bar, with its name in it if there is room."""
    start, width = left + span.start_s * scale, (span.end_s - span.start_s) * scale
    name = escape(resource_text(span.waits_for))
    bar = (
        f'<rect x="{start:.1f}" y="{top}" width="{max(width, 0.5):.1f}" height="{_BAR}" '
        f'fill="{_colour(span.waits_for)}">'
        f"<title>{name}, {format_duration(span.end_s - span.start_s)}</title></rect>"
    )
    fits = width >= _LEAST_TEXT_PX + 4 * len(name)
    ink = "black" if span.waits_for in (ONE_TASK, OTHERS) else "white"
    text = f'<text x="{start + 4:.1f}" y="{top + 14}" fill="{ink}">{name}</text>' if fits else ""
    return bar + text


def _labels(timelines: Mapping[str, Timeline]) -> Iterator[str]:
    """Yield the number of nodes in each row."""
    for row, (nodes, _) in enumerate(next(iter(timelines.values())).groups):
        words = "1 node" if nodes == 1 else f"{nodes:,} nodes"
        yield f'<text x="{_LEFT - 8}" y="{_TOP + row * _ROW + 14}" text-anchor="end">{words}</text>'


def _key(timelines: Mapping[str, Timeline], height: int) -> Iterator[str]:
    """Yield the colour of each resource that is waited for."""
    names = dict.fromkeys(
        span.waits_for for timeline in timelines.values() for _, spans in timeline.groups for span in spans
    )
    left = float(_LEFT)
    for name in names:
        yield f'<rect x="{left:.1f}" y="{height - 30}" width="12" height="12" fill="{_colour(name)}"/>'
        yield f'<text x="{left + 16:.1f}" y="{height - 19}">{escape(resource_text(name))}</text>'
        left += 40 + 7 * len(resource_text(name))


def _colour(name: str) -> str:
    return _COLOURS.get(name, _DEVICE)
