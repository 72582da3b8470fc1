"""Ranges of nodes, and their change over time, in the terminal: a line for each node, a line for each run."""

from __future__ import annotations

import math
import statistics
from collections.abc import Mapping, Sequence
from typing import Final

from rich.console import Group, RenderableType
from rich.table import Table
from rich.text import Text

from planner.statistics.slow_node_screening import Screening

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
    least, most = _ends([rate for rates in figures.values() for rate in rates])
    table = _empty_table(metric, "node")
    dropped = {drop.node for drop in verdict.dropped}
    for node in _worst_and_best(order):
        rates = figures.get(node, [])
        style = "red" if node in dropped else ""
        table.add_row(Text(node, style=style), _bar(rates, least=least, most=most), *_numbers(rates))
    rounds = _rounds(runs)
    return Group(table, *([_over_time(metric, rounds, least=least, most=most)] if len(rounds) > 1 else []))


def _rounds(runs: Mapping[str, Sequence[float]]) -> list[list[float]]:
    longest = max(map(len, runs.values()))
    rounds = [
        sorted(r[number] for r in runs.values() if len(r) > number and r[number] > 0) for number in range(longest)
    ]
    return [rates for rates in rounds if rates]


def _over_time(metric: str, rounds: Sequence[list[float]], *, least: float, most: float) -> Table:
    table = _empty_table(f"{metric} over time, all nodes", "run")
    for number, rates in enumerate(rounds, 1):
        table.add_row(str(number), _bar(rates, least=least, most=most), *_numbers(rates))
    return table


def _empty_table(title: str, first: str) -> Table:
    table = Table(title=title, title_justify="left", title_style="bold", box=None, pad_edge=False)
    for name in (first, "least to most, logarithmic", "least", "median", "most"):
        table.add_column(name, justify="left" if name in (first, "least to most, logarithmic") else "right")
    return table


def _ends(rates: Sequence[float]) -> tuple[float, float]:
    above = [rate for rate in rates if rate > 0]
    return min(above), max(above)


def _worst_and_best(order: Sequence[str]) -> list[str]:
    if len(order) <= _MOST_LINES:
        return list(order)
    half = _MOST_LINES // 2
    return [*order[:half], f"({len(order) - 2 * half} more)", *order[-half:]]


def _bar(rates: Sequence[float], *, least: float, most: float) -> str:
    """Return a line from the least to the most of the rates, on the scale of all; `o` marks the median."""
    if not rates:
        return ""
    low, middle, high = (_column_of(r, least=least, most=most) for r in (rates[0], statistics.median(rates), rates[-1]))
    cells = ["-" if low <= cell <= high else " " for cell in range(_WIDTH)]
    cells[middle] = "o"
    return "".join(cells)


def _column_of(rate: float, *, least: float, most: float) -> int:
    span = math.log(most / least)
    return round(math.log(max(rate, least) / least) / span * (_WIDTH - 1)) if span > 0 else _WIDTH // 2


def _numbers(rates: Sequence[float]) -> tuple[str, ...]:
    return tuple(f"{rate:.4g}" for rate in (rates[0], statistics.median(rates), rates[-1])) if rates else ("", "", "")
