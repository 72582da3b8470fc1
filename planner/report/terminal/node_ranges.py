"""Ranges of nodes, and their change over time, in the terminal: a line for each node, a line for each run."""

from __future__ import annotations

import math
import statistics
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from typing import Final

from rich.console import Group, RenderableType
from rich.markup import escape

from planner.report.section import Section, rich_table
from planner.statistics.slow_node_screening import Screening

_Bar = Callable[[Sequence[float]], str]
_WIDTH: Final = 40
_MOST_LINES: Final = 24
"""Most nodes shown as lines; of more, only the worst and the best are shown."""


def render_ranges(metric: str, runs: Mapping[str, Sequence[float]], verdict: Screening) -> RenderableType:
    """Return a metric's nodes, the worst first, each from its least to its largest run with the median marked; and
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
    tables = [replace(_table(metric, "node", nodes, bar), chosen=chosen)]
    if len(rounds) > 1:
        by_number = {str(number): rates for number, rates in enumerate(rounds, 1)}
        tables.append(_table(f"{metric} over time, all nodes", "run", by_number, bar))
    return Group(*map(rich_table, tables))


def _table(
    title: str, first: str, figures: Mapping[str, list[float]], bar: Callable[[Sequence[float]], str]
) -> Section:
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
