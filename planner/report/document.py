"""An answer outside a terminal: in Markdown, ready for a document, in five lines, and as a card for notebooks. A card
has no script, and uses the notebook's colours, so it is readable on a light and on a dark background.
"""

from __future__ import annotations

import math
import textwrap
from collections.abc import Iterator
from html import escape
from typing import Final

from planner.cost_model.caveats import SPARED
from planner.planning.recommendation import require_best
from planner.report.clusters import advice, bill_of, bill_section, cluster_name, cluster_table, total_text
from planner.report.section import Section, markdown
from planner.report.terminal.command import plan_command
from planner.report.terminal.decision import (
    assumed_text,
    bottleneck_text,
    break_even_text,
    confidence_text,
    deadline_text,
    durability_text,
    machine_text,
    place_text,
    plain_warning,
    price_origin,
    range_text,
    unmeasured_text,
)
from planner.report.terminal.reasons import refusal
from planner.report.terminal.short_answer import is_point_of
from planner.report.words import region_text
from planner.schemas.arguments import as_arguments
from planner.schemas.plan import Candidate, FrontierPoint, Plan
from planner.units import format_bytes, format_duration, format_usd

LINES: Final = 5
WIDTH: Final = 79
MARK: Final = "#D55E00"
"""Okabe and Ito's vermillion, which stands out on white and on black."""

_NEXT: Final = "More: .bill, .why, .to_frame(), .compare(other), .what_if(network=2)"
_RIGHT: Final = "text-align:right;padding-left:1.2em"
_SVG_WIDTH, _SVG_HEIGHT, _MARGIN = 260, 130, 14
ALTERNATIVES: Final = 3
"""Most other types shown."""


def why(plan: Plan) -> list[str]:
    """Return sentences on the bottleneck, the evidence for the rates and what would overturn the choice; or why nothing
    is feasible, as Python spells arguments.
    """
    if plan.best is None:
        return [as_arguments(line) for line in refusal(plan)]
    overturn = break_even_text(plan.best)
    return [bottleneck_text(plan.best), confidence_text(plan.best), *([f"{overturn}."] if overturn else [])]


def card_text(plan: Plan) -> str:
    """Return at most `LINES` lines of at most `WIDTH` columns."""
    best = plan.best
    if best is None:
        lines = [part for line in why(plan) for part in textwrap.wrap(line, WIDTH)]
    else:
        rates = confidence_text(best)
        lines = [
            textwrap.shorten(line, WIDTH) for line in (*_headline(plan, best), bottleneck_text(best), rates, _NEXT)
        ]
    return "\n".join(lines[:LINES])


def _headline(plan: Plan, best: Candidate) -> Iterator[str]:
    size = format_bytes(plan.request.bytes_to_sort)
    yield f"{best.nodes} x {best.instance_type} ({region_text(best)}) for {size}, model {best.model}"
    time_s, cost = best.time_s, best.cost_usd
    time = f"sort {format_duration(time_s.expected)}; {format_usd(cost.total)} in all"
    yield f"{time}; 95 of 100 runs: {format_duration(time_s.p95)}, {format_usd(cost.total_p95)}"


def card_html(plan: Plan) -> str:
    """Return the card: cluster, time, bill and frontier, or the reason if nothing is feasible."""
    style = "border:1px solid currentColor;border-radius:8px;padding:0.6em 0.9em;max-width:50em;overflow-x:auto"
    if plan.best is None:
        lines = "<br>".join(escape(line) for line in why(plan))
        return f'<div style="{style}">{lines}</div>'
    title, figures = _headline(plan, plan.best)
    head = f"<div><strong>{escape(title)}</strong><br>{escape(figures)}</div>"
    row = f'<div style="display:flex;flex-wrap:wrap;gap:1.5em">{_bill(plan.best)}{_frontier(plan, plan.best)}</div>'
    sentences = (f"Each: {machine_text(plan.best)}.", durability_text(plan.best), *why(plan))
    return f'<div style="{style}">{head}{row}{"".join(f"<div>{escape(text)}</div>" for text in sentences)}</div>'


def _bill(best: Candidate) -> str:
    *items, total = bill_of(best).rows
    styled = [*((item, "") for item in items), (total, "font-weight:bold")]
    rows = "".join(
        f'<tr style="{style}"><td style="text-align:left">{escape(name)}</td>'
        f'<td style="{_RIGHT}">{time}</td><td style="{_RIGHT}">{cost}</td></tr>'
        for (name, time, cost), style in styled
    )
    return f'<table style="align-self:flex-start;font:inherit"><tbody>{rows}</tbody></table>'


def _frontier(plan: Plan, best: Candidate) -> str:
    """Draw the clusters that nothing beats as SVG, both axes logarithmic; '' for a single one."""
    points = sorted(plan.frontier, key=lambda point: point.time_s)
    if len(points) < 2 or min(min(p.time_s, p.cost_usd_total) for p in points) <= 0:
        return ""
    xs = [_MARGIN + share * (_SVG_WIDTH - 2 * _MARGIN) for share in _shares([p.time_s for p in points])]
    ys = [_MARGIN + (1 - up) * (_SVG_HEIGHT - 2 * _MARGIN) for up in _shares([p.cost_usd_total for p in points])]
    line = " ".join(f"{x:.1f},{y:.1f}" for x, y in zip(xs, ys, strict=True))
    marks = "".join(_mark(p, x, y, chosen=is_point_of(p, best)) for p, x, y in zip(points, xs, ys, strict=True))
    ends = f"{format_duration(points[0].time_s)} to {format_duration(points[-1].time_s)}"
    label = f"total cost against time of {len(points)} clusters that nothing beats in both: {ends}"
    return (
        f'<figure style="margin:0;max-width:{_SVG_WIDTH}px"><svg role="img" aria-label="{escape(label)}" '
        f'width="{_SVG_WIDTH}" height="{_SVG_HEIGHT}" viewBox="0 0 {_SVG_WIDTH} {_SVG_HEIGHT}" style="max-width:100%">'
        f'<polyline points="{line}" fill="none" stroke="currentColor" stroke-opacity="0.5"/>{marks}</svg>'
        f"<figcaption>cost (up) against time, {escape(ends)}; diamond: this cluster</figcaption></figure>"
    )


def _shares(amounts: list[float]) -> list[float]:
    """Return the place of each amount between the least and the most, on a logarithmic scale."""
    low, high = math.log(min(amounts)), math.log(max(amounts))
    return [(math.log(amount) - low) / (high - low) if high > low else 0.5 for amount in amounts]


def _mark(point: FrontierPoint, x: float, y: float, *, chosen: bool) -> str:
    tip = f"{point.nodes} x {point.instance_type}: {format_duration(point.time_s)}, {format_usd(point.cost_usd_total)}"
    title = f"<title>{escape(tip)}</title>"
    if chosen:
        return f'<path d="M{x:.1f} {y - 8:.1f}l8 8l-8 8l-8-8z" fill="{MARK}">{title}</path>'
    return f'<circle cx="{x:.1f}" cy="{y:.1f}" r="3.5" fill="currentColor">{title}</circle>'


def plan_document(plan: Plan, *, stored: Candidate | None = None) -> str:
    """Return the plan as Markdown; `stored` is its best cluster with the data in an object store, if the request does
    not give the data's place. Raises InfeasibleError if there is nothing to recommend.
    """
    best, bill = require_best(plan), bill_section(require_best(plan))
    total, time, usd = bill.rows[-1]
    bill = Section(columns=bill.columns, rows=[*bill.rows[:-1], (f"**{total}**", time, f"**{usd}**")], numbers=(1, 2))
    shown = plan.candidates[: ALTERNATIVES + 1]
    others = cluster_table(
        {
            "cluster": lambda of: f"**{cluster_name(of)}**" if of == best else cluster_name(of),
            "where": "where",
            "$ an hour each": "a node-hour",
            "sort": "expected",
            "bill": "total $",
            "bottlenecks": "bottlenecks",
        },
        shown,
    )
    most = (
        f"The {len(shown)} best of {plan.feasible} types that do what is asked" if plan.feasible else "The best types"
    )
    head = [f"## {cluster_name(best)} to sort {format_bytes(plan.request.data_bytes)}", "", _decision(plan, best), ""]
    head += ["**The bill**", "", *markdown(bill), "", f"**{most}**", "", *markdown(others), ""]
    sentences = [f"* {_escaped(sentence)}" for sentence in _assumptions(plan, best, stored) if sentence]
    made = f"Made by `{plan_command(plan.request)}`, with prices of {plan.catalog.prices_as_of}."
    return "\n".join([*head, "**Assumptions and confidence**", "", *sentences, "", made])


def _decision(plan: Plan, best: Candidate) -> str:
    limit = plan.request.deadline_s
    within = f", within the deadline of {format_duration(limit)}," if limit else ""
    takes = f"the whole run takes {format_duration(best.whole_run_s)}{within} and costs"
    sentences = (
        f"{advice(best)} ({place_text(best)}): {takes} {total_text(best)}{price_origin(best)}.",
        range_text(plan, best),
        deadline_text(plan, alone=True),
        f"Each node has {machine_text(best)}.",
        bottleneck_text(best),
        durability_text(best),
    )
    return " ".join(_escaped(sentence) for sentence in sentences if sentence)


def _assumptions(plan: Plan, best: Candidate, stored: Candidate | None) -> Iterator[str]:
    overturn = break_even_text(best)
    yield from (assumed_text(plan, stored), confidence_text(best), overturn and f"{overturn}.", unmeasured_text(plan))
    for warning in (*plan.left_out, *plan.warnings, *(w for w in best.warnings if not w.endswith(SPARED))):
        text = plain_warning(warning)
        yield f"{text[0].upper()}{text[1:]}."


def _escaped(text: str) -> str:
    """Return a sentence with Markdown's special characters escaped."""
    return "".join(f"\\{character}" if character in "*_<`" else character for character in text)
