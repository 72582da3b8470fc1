"""Two plans side by side: the differences in the requests, and their effects."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import fields
from functools import reduce
from typing import Any, Final

from rich.console import Group, RenderableType
from rich.table import Table

from planner.report.words import phase_word
from planner.schemas.plan import Candidate, Plan, Request
from planner.units import format_duration, format_usd

FIGURES: Final = {
    "whole_run_s": "whole run",
    "time_s.expected": "job",
    "time_s.p95": "job in 95 of 100 runs",
    "cost_usd.expected": "cost of the job",
    "cost_usd.total": "cost",
    "cost_usd.total_p95": "cost in 95 of 100 runs",
}
"""The compared figures of a cluster, and their names for people."""


def differences(first: Plan, second: Plan) -> dict[str, tuple[Any, Any]]:
    """Return the fields of the requests, and the catalogs, that differ, each with both values."""
    asked = {f.name: (getattr(first.request, f.name), getattr(second.request, f.name)) for f in fields(Request)}
    asked |= {
        "catalog": (first.catalog.name, second.catalog.name),
        "prices_as_of": (first.catalog.prices_as_of, second.catalog.prices_as_of),
    }
    return {name: pair for name, pair in asked.items() if pair[0] != pair[1]}


def changes(first: Plan, second: Plan) -> dict[str, tuple[float | None, float | None]]:
    """Return times in seconds and costs in US dollars of the two best clusters; None where a plan has none."""
    return {name: (_figure(first.best, name), _figure(second.best, name)) for name in FIGURES}


def shown_figure(name: str, figure: float) -> str:
    """Return one of `FIGURES` for people."""
    return format_usd(figure) if name.startswith("cost") else format_duration(figure)


def render_comparison(first: Plan, second: Plan) -> RenderableType:
    """Return both as tables."""
    return Group(
        _two_columns(
            "Asked", [(name, _cell_text(a), _cell_text(b)) for name, (a, b) in differences(first, second).items()]
        ),
        _two_columns("Answer", [("cluster", _cluster(first.best), _cluster(second.best)), *_figures(first, second)]),
    )


def _cell_text(value: Any) -> str:
    """Return a field of a request in the form of its option."""
    if isinstance(value, dict):
        return ", ".join(f"{name}={amount:g}" for name, amount in value.items()) or "-"
    if isinstance(value, tuple):
        return ", ".join(map(str, value)) or "-"
    return "-" if value is None else str(value)


def _figures(first: Plan, second: Plan) -> Iterator[tuple[str, str, str]]:
    for name, (a, b) in changes(first, second).items():
        change = f" ({b / a - 1:+.1%})" if a and b is not None else ""
        before, after = ("-" if figure is None else shown_figure(name, figure) for figure in (a, b))
        yield FIGURES[name], before, after + change
    yield "waits for", _bottlenecks(first.best), _bottlenecks(second.best)


def _figure(best: Candidate | None, name: str) -> float | None:
    return None if best is None else float(reduce(getattr, name.split("."), best))  # type: ignore[arg-type]


def _cluster(best: Candidate | None) -> str:
    return "nothing feasible" if best is None else f"{best.nodes} x {best.instance_type} ({best.cloud}, {best.model})"


def _bottlenecks(best: Candidate | None) -> str:
    return "-" if best is None else ", ".join(phase_word(phase.bottleneck) for phase in best.phases)


def _two_columns(title: str, rows: list[tuple[str, str, str]]) -> Table:
    table = Table(title=title, title_justify="left", title_style="bold", box=None, pad_edge=False)
    for name in ("", "first", "second"):
        table.add_column(name, overflow="fold")
    for row in rows or [("nothing differs", "", "")]:
        table.add_row(*row)
    return table
