"""A simulation as a table in the terminal (each phase next to its equation, and its waits) and as a picture."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from html import escape
from typing import Any, Final

from planner.report.section import Said, Section
from planner.report.words import phase_word
from planner.simulation.result import Simulation
from planner.simulation.timeline import ONE_TASK, OTHERS, Span, Timeline
from planner.units import count_text, format_duration, format_link

_WORDS: Final = {ONE_TASK: "a task's own threads", OTHERS: "slower nodes"}
_LEAST_SHARE = 0.05
"""Least share of waiting that is named."""
_LEAST_DIFFERENCE: Final = 0.1
"""Share by which a simulated sort differs from the planned one where the reason is named."""


def render_simulation(simulation: Simulation) -> Iterator[Said | Section]:
    """Yield a table of the phases, and the whole sort below it."""
    is_range = simulation.draws > 1  # a single run has no range

    def range_of(times: Any) -> str:
        return _range(times.p50_s, times.p95_s if is_range else None)

    rows = [
        (
            phase.name,
            *map(format_duration, (phase.equation_s, phase.p50_s, *((phase.p95_s,) if is_range else ()))),
            waits_text(phase.waits),
        )
        for phase in simulation.phases
    ]
    times = ("half of the runs", "95 of 100") if is_range else ("simulated",)
    often = f"{simulation.draws} times" if is_range else "once"
    yield Section(
        title=f"\n{simulation.cluster}, simulated {often} (seed {simulation.seed})",
        columns=("phase", "equation", *times, "waits for"),
        rows=rows,
        numbers=range(1, 2 + len(times)),
    )
    planned = _range(simulation.planned_p50_s, simulation.planned_p95_s)
    yield Said(f"The whole sort takes {range_of(simulation)}; the equations say {planned}.")
    differs = abs(simulation.p50_s - simulation.planned_p50_s) > _LEAST_DIFFERENCE * simulation.planned_p50_s
    if differs and (burst := simulation.burst_bytes_per_s):
        yield Said(f"Its links begin at their burst of {format_link(burst)}; the equations count their baseline alone.")
    if loss := simulation.loss:
        nodes = "a node" if loss.nodes == 1 else f"{loss.nodes} nodes"
        after = f"{nodes} lost after {loss.share:.0%} of it"
        yield Said(f"With {after} it takes {range_of(loss)}, {loss.times:.2f} times as long.")
    if slow := simulation.slow:
        nodes = "a node takes" if slow.nodes == 1 else f"{slow.nodes} nodes take"
        what = f" for {resource_text(slow.resource)}" if slow.resource else ""
        slower = f"Where {nodes} {slow.factor:g} times as long{what}"
        yield Said(f"{slower}, it takes {range_of(slow)}, {slow.times:.2f} times as long.")
    if spot := simulation.spot:
        taken = f"{spot.taken_back:.2g} of the spot machines are taken back in a run"
        yield Said(f"{taken}: with that it takes {range_of(spot)}, on average {spot.times:.3f} times as long.")
    yield Said(f"Bottleneck: {resource_text(simulation.breaks_first)}.")


def _range(p50_s: float, p95_s: float | None) -> str:
    most = "" if p95_s is None else f" (95 of 100 runs: {format_duration(p95_s)})"
    return f"{format_duration(p50_s)}{most}"


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
    title = f"{simulation.cluster}: what nodes wait for, in the run in the middle of {simulation.draws}"
    head = (
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {_WIDTH} {height}" font-family="sans-serif" '
        f'font-size="12"><rect width="100%" height="100%" fill="white"/><text x="10" y="20" font-size="14">'
        f"{escape(title)}</text>"
    )
    return "\n".join([head, *_panels(timelines), *_labels(timelines), *_key(timelines, height), "</svg>"])


def _panels(timelines: Mapping[str, Timeline]) -> Iterator[str]:
    """Yield each phase's name and time above its spans, the phases from left to right."""
    lengths_s = [
        max((span.end_s for _, spans in of.groups for span in spans), default=0.0) for of in timelines.values()
    ]
    left, scale = float(_LEFT), (_WIDTH - _LEFT - 20) / (sum(lengths_s) or 1.0)
    for (name, timeline), length_s in zip(timelines.items(), lengths_s, strict=True):
        if length_s * scale >= _LEAST_TEXT_PX:
            yield f'<text x="{left:.1f}" y="{_TOP - 10}">{escape(f"{name}, {format_duration(length_s)}")}</text>'
        for row, (_, spans) in enumerate(timeline.groups):
            yield from (_bar(span, left=left, top=_TOP + row * _ROW, scale=scale) for span in spans)
        left += length_s * scale


def _bar(span: Span, *, left: float, top: float, scale: float) -> str:
    """Return a span as a bar, with its name in it if there is room."""
    start, width = left + span.start_s * scale, (span.end_s - span.start_s) * scale
    name, colour = escape(resource_text(span.waits_for)), _COLOURS.get(span.waits_for, _DEVICE)
    bar = (
        f'<rect x="{start:.1f}" y="{top}" width="{max(width, 0.5):.1f}" height="{_BAR}" fill="{colour}">'
        f"<title>{name}, {format_duration(span.end_s - span.start_s)}</title></rect>"
    )
    ink = "black" if span.waits_for in (ONE_TASK, OTHERS) else "white"
    fits = width >= _LEAST_TEXT_PX + 4 * len(name)
    return bar + (f'<text x="{start + 4:.1f}" y="{top + 14}" fill="{ink}">{name}</text>' if fits else "")


def _labels(timelines: Mapping[str, Timeline]) -> Iterator[str]:
    """Yield the number of nodes in each row."""
    for row, (nodes, _) in enumerate(next(iter(timelines.values())).groups):
        words = count_text(nodes, "node", grouped=True)
        yield f'<text x="{_LEFT - 8}" y="{_TOP + row * _ROW + 14}" text-anchor="end">{words}</text>'


def _key(timelines: Mapping[str, Timeline], height: int) -> Iterator[str]:
    """Yield the colour of each resource that is waited for."""
    spans = (span for timeline in timelines.values() for _, spans in timeline.groups for span in spans)
    left = float(_LEFT)
    for name in dict.fromkeys(span.waits_for for span in spans):
        colour, words = _COLOURS.get(name, _DEVICE), resource_text(name)
        yield f'<rect x="{left:.1f}" y="{height - 30}" width="12" height="12" fill="{colour}"/>'
        yield f'<text x="{left + 16:.1f}" y="{height - 19}">{escape(words)}</text>'
        left += 40 + 7 * len(words)
