"""Two plans side by side: what was asked differently, and what that changes."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import fields
from typing import Any

from rich.console import Group, RenderableType
from rich.table import Table

from planner.schemas.plan import Candidate, Plan, Request
from planner.units import format_duration, format_usd


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
    return {
        name: (_figure(first.best, name), _figure(second.best, name))
        for name in ("time_s.expected", "time_s.p95", "cost_usd.expected", "cost_usd.total", "cost_usd.total_p95")
    }


def render_comparison(first: Plan, second: Plan) -> RenderableType:
    """Return both as tables."""
    return Group(
        _two_columns(
            "Asked", [(name, _cell_text(a), _cell_text(b)) for name, (a, b) in differences(first, second).items()]
        ),
        _two_columns("Answer", [("cluster", _cluster(first.best), _cluster(second.best)), *_figures(first, second)]),
    )


def _cell_text(value: Any) -> str:
    """Return a field of a request as an option would say it."""
    if isinstance(value, dict):
        return ", ".join(f"{name}={amount:g}" for name, amount in value.items()) or "-"
    if isinstance(value, tuple):
        return ", ".join(map(str, value)) or "-"
    return "-" if value is None else str(value)


def _figures(first: Plan, second: Plan) -> Iterator[tuple[str, str, str]]:
    for name, (a, b) in changes(first, second).items():
        show = format_duration if name.startswith("time") else format_usd
        change = f" ({b / a - 1:+.1%})" if a and b is not None else ""
        yield name, "-" if a is None else show(a), ("-" if b is None else show(b)) + change
    yield "waits for", _bottlenecks(first.best), _bottlenecks(second.best)


def _figure(best: Candidate | None, name: str) -> float | None:
    if best is None:
        return None
    group, _, field = name.partition(".")
    return float(getattr(getattr(best, group), field))


def _cluster(best: Candidate | None) -> str:
    return "nothing feasible" if best is None else f"{best.nodes} x {best.instance_type} ({best.cloud}, {best.model})"


def _bottlenecks(best: Candidate | None) -> str:
    return "-" if best is None else ", ".join(phase.bottleneck.replace("_", " ") for phase in best.phases)


def _two_columns(title: str, rows: list[tuple[str, str, str]]) -> Table:
    table = Table(title=title, title_justify="left", title_style="bold", box=None, pad_edge=False)
    for name in ("", "first", "second"):
        table.add_column(name, overflow="fold")
    for row in rows or [("nothing differs", "", "")]:
        table.add_row(*row)
    return table
