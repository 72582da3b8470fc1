"""The page of a screening: the nodes to drop, how nodes differ and change, and whether bad ones stay bad."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from datetime import date

import pandas as pd

from planner.report.page.rendering import Figure, render
from planner.report.plots.measured_charts import across_nodes, over_time
from planner.report.section import Section
from planner.statistics.slow_node_screening import Screening
from planner.units import count_text


def screen_page(
    runs: Mapping[str, Mapping[str, Sequence[float]]],
    verdict: Screening,
    *,
    lines: Mapping[str, Sequence[str]],
    made_on: date | None = None,
) -> str:
    """Return the page as HTML; `lines` are sentences on each metric. Raises PlannerError without the extra `plots`."""
    figures = {metric: _figures(number, metric, runs[metric], verdict) for number, metric in enumerate(runs)}
    total = len(verdict.kept) + len(verdict.dropped)
    return render(
        "screen.html",
        figures=[figure for of_metric in figures.values() for figure in of_metric],
        title="Screening of nodes",
        made_on=made_on,
        asked=f"{count_text(total, 'node')}, {count_text(len(runs), 'metric')}",
        headline=f"Keep {len(verdict.kept)} of {count_text(total, 'node')}",
        dropped=_dropped(verdict),
        limits=[limit.text for limit in verdict.limits],
        metrics=[
            {"name": metric, "lines": list(lines.get(metric, ())), "figures": [figure.name for figure in of_metric]}
            for metric, of_metric in figures.items()
        ],
    )


def _figures(number: int, metric: str, runs: Mapping[str, Sequence[float]], verdict: Screening) -> list[Figure]:
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


def _dropped(verdict: Screening) -> Section:
    rows = [
        [drop.node, drop.metric, f"{drop.rate_per_s:.4g}", f"{drop.limit_per_s:.4g}", drop.reason]
        for drop in verdict.dropped
    ]
    columns = ("drop", "metric", "figure", "limit", "why")
    return Section(title="Nodes to drop", columns=columns, rows=rows, numbers=(2, 3))
