"""A cluster in reports: its usual name, and its figures as texts, the same in every table."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from typing import Any, Final

from planner.report.section import Section
from planner.report.words import bottleneck_word, phase_word, region_text, region_word
from planner.schemas.plan import Candidate, FrontierPoint, Plan
from planner.units import format_duration, format_usd

Column = Callable[[Candidate], str]


def cluster_name(of: Candidate | FrontierPoint, *, several_models: bool = False, several_pricings: bool = False) -> str:
    """Return a cluster's usual name: `79 x i8g.8xlarge`, with its bandwidth weighting if it is not the default, and
    with the model, or a note that its nodes are spot ones, where several models or ways to pay are compared.
    """
    weighting = f" ({of.bandwidth_weighting})" if of.bandwidth_weighting else ""
    spot = ", spot" if several_pricings and of.pricing == "spot" else ""
    name = f"{of.nodes} x {of.instance_type}{weighting}{spot}"
    return f"{name}, {of.model}" if several_models else name


def place_suffix(plan: Plan, point: FrontierPoint) -> str:
    """Return the region of a cluster of the frontier, to follow its name, if the frontier has several of a cloud."""
    regions = {other.region for other in plan.frontier if other.cloud == point.cloud}
    return f", {region_word(point.region)}" if len(regions) > 1 else ""


def total_text(best: Candidate) -> str:
    """Return the whole bill in words: a lower bound if part of it is unknown."""
    return f"{'at least ' if best.cost_usd.at_least else ''}{format_usd(best.cost_usd.total)}"


def _split(of: Candidate) -> str:
    split = of.disk_split
    return "shared" if of.shared else f"{split.data}:{split.intermediate}" if split else "-"


FIGURES: Final[dict[str, Column]] = {
    "cluster": cluster_name,
    "model": lambda of: of.model,
    "where": region_text,
    "instance type": lambda of: cluster_name(of).partition(" x ")[2],
    "nodes": lambda of: f"{of.nodes}",
    "$/h each": lambda of: f"{of.price_usd_per_hour:.4g}",
    "a node-hour": lambda of: format_usd(of.price_usd_per_hour),
    "storage": lambda of: of.storage,
    "disks data:interm.": _split,
    "equation": lambda of: format_duration(of.time_s.equation),
    "expected": lambda of: format_duration(of.time_s.expected),
    "95 of 100": lambda of: format_duration(of.time_s.p95),
    "whole run": lambda of: format_duration(of.whole_run_s),
    "sort $": lambda of: format_usd(of.cost_usd.expected),
    "total $": lambda of: format_usd(of.cost_usd.total),
    "total, 95 of 100": lambda of: format_usd(of.cost_usd.total_p95),
    "the bill": total_text,
    "bottleneck": bottleneck_word,
    "bottlenecks": lambda of: ", ".join(dict.fromkeys(phase_word(phase.bottleneck) for phase in of.phases)),
    "place": lambda of: f"{region_word(of.region)}, {of.pricing}",
    "evidence": lambda of: of.evidence,
    "durability": lambda of: of.durability,
}
"""The figures of a cluster by their usual headings."""

_WORDS: Final = {"", "cluster", "model", "where", "instance type", "storage", "disks data:interm.", "evidence",
                 "durability", "bottleneck", "bottlenecks"}  # fmt: skip


def cluster_table(
    columns: Mapping[str, str | Column], clusters: Iterable[Candidate], *, chosen: Candidate | None = None, **more: Any
) -> Section:
    """Return a row for each cluster. The columns are headings, each with the name of a figure or a function."""
    rows = list(clusters)
    shown = [FIGURES[column] if isinstance(column, str) else column for column in columns.values()]
    return Section(
        columns=list(columns),
        rows=[[column(of) for column in shown] for of in rows],
        numbers=[place for place, name in enumerate(columns) if columns[name] not in _WORDS and name not in _WORDS],
        chosen=[place for place, of in enumerate(rows) if of == chosen],
        **more,
    )


def side_by_side(figures: Mapping[str, str | Column], clusters: Mapping[str, Candidate | None]) -> Section:
    """Return a column for each cluster and a row for each figure; 'none' and empty cells where there is no cluster."""
    rows = []
    for name, figure in figures.items():
        show = FIGURES[figure] if isinstance(figure, str) else figure
        nothing = "none" if figure == "cluster" else ""
        rows.append([name, *(nothing if of is None else show(of) for of in clusters.values())])
    return Section(columns=["", *clusters], rows=rows)
