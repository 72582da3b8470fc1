"""A screening of nodes in a terminal and as a page: ranges, change over time, and the nodes to drop."""

from __future__ import annotations

import math
import statistics
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace
from datetime import date
from typing import TYPE_CHECKING, Final

from rich.markup import escape

from planner.report.section import Section
from planner.statistics.slow_node_screening import Screening
from planner.units import count_text

if TYPE_CHECKING:
    from planner.report.page.rendering import Figure

_Bar = Callable[[Sequence[float]], str]
_WIDTH: Final = 40
_MOST_LINES: Final = 24
"""Most nodes shown as lines; of more, only the worst and the best are shown."""


def render_ranges(metric: str, runs: Mapping[str, Sequence[float]], verdict: Screening) -> Iterator[Section]:
    """Yield a metric's nodes, the worst first, each from its least to its largest run with the median marked; and
    below them its runs in order, if there are several.
    """
    figures = {node: sorted(rate for rate in rates if not math.isnan(rate)) for node, rates in runs.items()}
    figures = {node: rates for node, rates in figures.items() if rates and rates[-1] > 0}
    limit = next(limit for limit in verdict.limits if limit.metric == metric)
    order = sorted(figures, key=lambda node: statistics.median(figures[node]), reverse=limit.lower_is_better)
    if len(order) > _MOST_LINES:
        half = _MOST_LINES // 2
        order = [*order[:half], f"({len(order) - 2 * half} more)", *order[-half:]]
    rounds = [
        sorted(r[number] for r in runs.values() if len(r) > number and r[number] > 0)
        for number in range(max(map(len, runs.values())))
    ]
    rounds = [rates for rates in rounds if rates]
    bar = _bars([rate for rates in figures.values() for rate in rates if rate > 0])
    dropped = {drop.node for drop in verdict.dropped}
    nodes = {escape(node): figures.get(node, []) for node in order}
    chosen = [place for place, node in enumerate(order) if node in dropped]
    yield replace(_table(metric, "node", nodes, bar), chosen=chosen)
    if len(rounds) > 1:
        by_number = {str(number): rates for number, rates in enumerate(rounds, 1)}
        yield _table(f"{metric} over time, all nodes", "run", by_number, bar)


def _table(title: str, first: str, figures: Mapping[str, list[float]], bar: _Bar) -> Section:
    rows = [
        (name, bar(rates), *(f"{rate:.4g}" for rate in _three(rates))) if rates else (name, "", "", "", "")
        for name, rates in figures.items()
    ]
    columns = (first, "least to most, logarithmic", "least", "median", "most")
    return Section(title=title, columns=columns, rows=rows, numbers=(2, 3, 4))


def _three(rates: Sequence[float]) -> tuple[float, float, float]:
    return rates[0], statistics.median(rates), rates[-1]


def _bars(rates: Sequence[float]) -> _Bar:
    """Return what draws some rates as a line on the scale of all: from the least to the most, `o` at the median."""
    least, span = min(rates), math.log(max(rates) / min(rates))

    def column_of(rate: float) -> int:
        return round(math.log(max(rate, least) / least) / span * (_WIDTH - 1)) if span > 0 else _WIDTH // 2

    def bar(of: Sequence[float]) -> str:
        low, middle, high = map(column_of, _three(of))
        return "".join("o" if at == middle else "-" if low <= at <= high else " " for at in range(_WIDTH))

    return bar


def screen_page(
    runs: Mapping[str, Mapping[str, Sequence[float]]],
    verdict: Screening,
    *,
    lines: Mapping[str, Sequence[str]],
    made_on: date | None = None,
) -> str:
    """Return the page as HTML; `lines` are sentences on each metric. Raises PlannerError without the extra `plots`."""
    from planner.report.page.rendering import render

    figures = {metric: _figures(number, metric, runs[metric], verdict) for number, metric in enumerate(runs)}
    total = len(verdict.kept) + len(verdict.dropped)
    return render(
        "screen.html",
        figures=[figure for of_metric in figures.values() for figure in of_metric],
        title="Screening of nodes",
        made_on=made_on,
        asked=f"{count_text(total, 'node')}, {count_text(len(runs), 'metric')}",
        headline=f"Keep {len(verdict.kept)} of {count_text(total, 'node')}",
        dropped=Section(
            title="Nodes to drop",
            columns=("drop", "metric", "figure", "limit", "why"),
            rows=[
                (of.node, of.metric, f"{of.rate_per_s:.4g}", f"{of.limit_per_s:.4g}", of.reason)
                for of in verdict.dropped
            ],
            numbers=(2, 3),
        ),
        limits=[limit.text for limit in verdict.limits],
        metrics=[
            {"name": metric, "lines": list(lines.get(metric, ())), "figures": [figure.name for figure in of_metric]}
            for metric, of_metric in figures.items()
        ],
    )


def _figures(number: int, metric: str, runs: Mapping[str, Sequence[float]], verdict: Screening) -> list[Figure]:
    import pandas as pd

    from planner.report.page.rendering import Figure
    from planner.report.plots import across_nodes, over_time

    dropped = {drop.node for drop in verdict.dropped}
    rows = [
        {"node": node, "run": run, "value": rate, "dropped": node in dropped}
        for node, rates in runs.items()
        for run, rate in enumerate(rates, 1)
        if rate > 0
    ]
    if not rows:
        return []
    limit = next(limit.limit_per_s for limit in verdict.limits if limit.metric == metric)
    frame = pd.DataFrame(rows)
    figures = [
        Figure(
            name=f"nodes-{number}",
            title=f"{metric}: across instances",
            text="Every run of every node, on a logarithmic scale; the line is the limit for a node's median.",
            chart=across_nodes(frame, metric=metric, limit=limit if math.isfinite(limit) else 0.0),
        )
    ]
    if frame.run.max() > 1:
        words = "The runs of every node in their order; a node that stays low is worth sending away."
        chart = over_time(frame, metric=metric)
        figures.append(Figure(name=f"time-{number}", title=f"{metric}: over time", text=words, chart=chart))
    return figures
