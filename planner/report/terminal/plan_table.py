"""A Plan in the terminal: the answer, the candidates, the phases of the chosen cluster and the frontier around it."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from typing import Final

from rich.console import Group, RenderableType
from rich.markup import escape
from rich.table import Table
from rich.text import Text

from planner.report.cluster_names import cluster_name, place_suffix
from planner.report.terminal.decision import break_even_text, durability_text, machine_text, place_text, plain_warning
from planner.report.words import phase_word, region_text, region_word
from planner.schemas.plan import Candidate, FrontierPoint, Plan, Quoted, Rejection, Request
from planner.schemas.rejections import EXAMPLES, LeftOut, by_reason
from planner.units import format_bytes, format_duration, format_rate, format_usd

_FRONTIER_ROWS = 7
_P95: Final = "95 of 100"
"""Heading of the time that 95 of 100 runs stay within."""


def render_plan(plan: Plan) -> RenderableType:
    """Return the whole answer; the plan must have a best candidate."""
    best = plan.best
    if best is None:
        return Text("nothing feasible")
    return Group(
        answer(plan, best),
        candidates_table(plan),
        *models_tables(plan),
        phases_table(best),
        *capacity_lines(best),
        frontier_table(plan, best),
        *notes(plan, best),
    )


def answer(plan: Plan, best: Candidate) -> Text:
    """Return in two sentences what to rent, its time and its cost."""
    cluster = cluster_name(best)
    whole = best.time_s.expected + sum(best.overheads_s.values())
    text = Text()
    text.append(f"Rent {cluster}", style="bold green")
    most = ", the most within what is asked," if plan.beyond else ""
    size = format_bytes(plan.request.bytes_to_sort)
    text.append(f" ({place_text(best)}) to sort {size}{most} under the {best.model} model.\n")
    request = plan.request
    limit = f"; its deadline: {format_duration(request.sort_deadline_s)}" if request.sort_deadline_s else ""
    within = f" (deadline: {format_duration(request.deadline_s)})" if request.deadline_s else ""
    time = f"{format_duration(best.time_s.expected)} (95 of 100 runs: {format_duration(best.time_s.p95)}{limit})"
    text.append(f"The sort takes {time}")
    text.append(f" and costs {format_usd(best.cost_usd.expected)}; with everything around it the cluster is up for ")
    text.append(f"{format_duration(whole)}{within} and costs {format_usd(best.cost_usd.total)}.")
    return text


def brief_candidates_table(plan: Plan, *, evidence: bool = True) -> Table:
    """Return the main figures of each type's best size in 80 columns, the chosen row marked; 60 without `evidence`."""
    table = Table(box=None, pad_edge=False)
    for name in ("", "cluster", "expected", _P95, "total $", *(["evidence"] if evidence else [])):
        table.add_column(name, justify="right" if name in ("expected", _P95, "total $") else "left")
    several = len({candidate.model for candidate in plan.candidates}) > 1
    places = _has_several_places(plan)
    for candidate in plan.candidates:
        chosen, times = candidate == plan.best, (candidate.time_s.expected, candidate.time_s.p95)
        name = cluster_name(candidate, several_models=several, several_pricings=len(plan.request.pricings) > 1)
        name += f", {region_word(candidate.region)}" if places else ""
        grade = [candidate.evidence] if evidence else []
        cells = (*map(format_duration, times), format_usd(candidate.cost_usd.total), *grade)
        table.add_row("*" if chosen else "", name, *cells, style="bold" if chosen else "")
    return table


def candidates_table(plan: Plan) -> Table:
    """Return the best size of each type, the chosen row marked."""
    table = Table(title="Candidates", title_justify="left", title_style="bold", box=None, pad_edge=False)
    several = len({candidate.model for candidate in plan.candidates}) > 1
    places = _has_several_places(plan)
    for name in (
        "",
        *(["model"] if several else []),
        *(["where"] if places else []),
        "instance type",
        "nodes",
        "$/h each",
        "storage",
        "disks data:interm.",
    ):
        table.add_column(name, justify="right" if name in ("nodes", "$/h each") else "left")
    for name in ("equation", "expected", _P95, "sort $", "total $"):
        table.add_column(name, justify="right")
    table.add_column("evidence")
    for candidate in plan.candidates:
        chosen = candidate == plan.best
        model = [candidate.model] if several else []
        model += [region_text(candidate)] if places else []
        table.add_row("*" if chosen else "", *model, *_cells(candidate, plan.request), style="bold" if chosen else "")
    return table


def _has_several_places(plan: Plan) -> bool:
    """Return whether clusters differ in place; if not, the answer names the place."""
    return len({(candidate.cloud, candidate.region) for candidate in plan.candidates}) > 1


def models_tables(plan: Plan) -> Iterator[Table]:
    """Yield, for several models, a table of the cost of each one's best cluster and the durability it buys."""
    firsts: dict[str, Candidate] = {}
    for candidate in plan.candidates:
        firsts.setdefault(candidate.model, candidate)
    if len(firsts) < 2:
        return
    table = Table(title="What each model buys", title_justify="left", title_style="bold", box=None, pad_edge=False)
    for name in ("model", "cluster", "expected", "total $", "durability"):
        table.add_column(name, justify="right" if name in ("expected", "total $") else "left", overflow="fold")
    for name, best in firsts.items():
        time, total = format_duration(best.time_s.expected), format_usd(best.cost_usd.total)
        table.add_row(name, f"{best.nodes} x {best.instance_type}", time, total, best.durability)
    yield table


def phases_table(best: Candidate) -> Table:
    """Return the work of each resource in each phase, the bottleneck marked."""
    table = Table(title="Phases (equation)", title_justify="left", title_style="bold", box=None, pad_edge=False)
    for name in ("phase", "resource", "bytes per node", "rate", "time", ""):
        table.add_column(name, justify="right" if name in ("bytes per node", "rate", "time") else "left")
    before = ""
    for phase, *cells, mark in phase_cells(best):
        table.add_row("" if phase == before else phase, *cells, mark, style="bold" if mark else "")
        before = phase
    return table


def phase_cells(best: Candidate) -> Iterator[tuple[str, ...]]:
    """Yield the phase, resource, bytes per node, rate, time and role of each resource, the slowest of a phase first."""
    for phase in best.phases:
        for name, use in sorted(phase.resources.items(), key=lambda item: -item[1].time_s):
            moved = (format_bytes(use.bytes_per_node), format_rate(use.bytes_per_s)) if use.bytes_per_s else ("-", "-")
            mark = "bottleneck" if name == phase.bottleneck else ""
            yield phase.name, phase_word(name), *moved, format_duration(use.time_s), mark


def capacity_lines(best: Candidate) -> Iterator[Text]:
    """Yield how full each disk group of a node gets."""
    if best.shared:
        needed, capacity = sum(best.needed_bytes.values()), _size_text(best, "data")
        yield Text(f"Capacity per node: shared disks {format_bytes(needed)} of {capacity}", style="dim")
        return
    parts = (f"{group} {format_bytes(need)} of {_size_text(best, group)}" for group, need in best.needed_bytes.items())
    yield Text(f"Capacity per node: {', '.join(parts)} (fewest nodes: {best.nodes_min})", style="dim")


def _size_text(best: Candidate, group: str) -> str:
    capacity = best.capacity_bytes[group]
    return "any amount" if capacity is None else format_bytes(capacity)


def frontier_table(plan: Plan, best: Candidate) -> Table:
    """Return the clusters around the chosen one that nothing beats in both time and total cost."""
    table = Table(
        title="Frontier of time and total cost", title_justify="left", title_style="bold", box=None, pad_edge=False
    )
    for name in ("instance type", "nodes", "expected", "total $"):
        table.add_column(name, justify="left" if name == "instance type" else "right")
    for point in _points_around(plan.frontier, best.time_s.expected):
        table.add_row(
            point.instance_type + place_suffix(plan, point),
            str(point.nodes),
            format_duration(point.time_s),
            format_usd(point.cost_usd_total),
        )
    return table


def notes(plan: Plan, best: Candidate) -> Iterator[Text]:
    """Yield the sources of the numbers and the doubts about them."""
    yours = f"; types and prices of {', '.join(plan.catalog.refreshed)} as you refreshed them" * bool(
        plan.catalog.refreshed
    )
    yield Text(f"Catalog {plan.catalog.name}, prices as of {plan.catalog.prices_as_of}{yours}.", style="dim")
    yield Text(f"Each node: {machine_text(best)}.", style="dim")
    yield Text(durability_text(best), style="dim")
    if plan.not_shown:
        yield Text(f"{plan.not_shown} more types do what is asked; --top {plan.feasible} shows them.", style="dim")
    if best.cloud_type != best.instance_type:
        yield Text(f"Order {best.cloud_type}, and the local disks with it.", style="dim")
    if best.energy_j is not None:
        yield Text(f"Energy of the sort: {best.energy_j / 3.6e6:.4g} kWh.", style="dim")
    if best.quoted is not None:
        yield Text(f"That is {quoted_text(best.quoted)}.", style="dim")
    if plan.beyond:
        yield Text(f"Most data: {plan.beyond}.", style="dim")
    for warning in (*plan.warnings, *best.warnings, *filter(None, [break_even_text(best)])):
        yield Text(f"Note: {plain_warning(warning)}", style="yellow")
    for unmeasured in plan.unmeasured:
        text = f"{unmeasured.types} types of {unmeasured.cloud} are left out, as their disks' rates are unknown"
        yield Text(f"Note: {text}; to measure one: {unmeasured.measure}", style="yellow")
    if plan.rejected:
        yield Text(f"{len(plan.rejected)} types left out; --rejected lists why.", style="dim")


def quoted_text(quoted: Quoted) -> str:
    """Return a sort in the field's usual units."""
    energy = "" if quoted.records_per_j is None else f", {_figures(quoted.records_per_j)} records/J"
    dollars = f"${_figures(quoted.usd_per_tb, 3)}/TB for the sort, ${_figures(quoted.usd_per_tb_total, 3)}/TB in all"
    return (
        f"{_figures(quoted.tb_per_min)} TB/min, {_figures(quoted.mb_per_s_per_node)} MB/s per node, {dollars}{energy}"
    )


def _figures(amount: float, count: int = 4) -> str:
    """Return an amount to `count` figures, never with an exponent: 1.079e-05 -> '0.00001079'."""
    if not math.isfinite(amount) or amount == 0:
        return f"{amount:g}"
    decimals = count - 1 - math.floor(math.log10(abs(amount)))
    text = f"{round(amount, decimals):,.{max(decimals, 0)}f}"
    return text.rstrip("0").rstrip(".") if "." in text else text


def render_rejected(rejected: Sequence[Rejection], *, everything: bool = False) -> RenderableType:
    """Return the types left out by reason: how many, their common detail, and the nearest or `everything`."""
    table = Table(title="Left out", title_justify="left", title_style="bold", box=None, pad_edge=False)
    table.add_column("reason")
    table.add_column("types", justify="right")
    table.add_column("which, nearest first" if everything else "for example, nearest first")
    groups = by_reason(rejected)
    for group in groups:
        table.add_row(escape(group.reason), f"{group.types:,}", escape(_which(group, everything=everything)))
    if everything or all(group.types <= EXAMPLES for group in groups):
        return table
    return Group(table, Text("With --show wide or --json: every type.", style="dim"))


def _which(group: LeftOut, *, everything: bool) -> str:
    """Return the types of a group: a detail without a distance is advice for all that share it, and comes first."""
    parts, room = [], group.types if everything else EXAMPLES
    for alike in group.which:
        names = alike.instance_types[:room]
        room -= len(names)
        if not names:
            break
        shared = "" if alike.nearness is not None else f"{alike.detail}: " if alike.detail else ""
        own = f" ({alike.detail})" if alike.nearness is not None and alike.detail else ""
        parts.append(shared + ", ".join(f"{name}{own}" for name in names))
    return "; ".join(parts)


def _cells(candidate: Candidate, request: Request) -> Iterator[str]:
    yield cluster_name(candidate, several_pricings=len(request.pricings) > 1).partition(" x ")[2]
    yield str(candidate.nodes)
    yield f"{candidate.price_usd_per_hour:.4g}"
    yield candidate.storage
    split = candidate.disk_split
    yield "shared" if candidate.shared else f"{split.data}:{split.intermediate}" if split else "-"
    yield format_duration(candidate.time_s.equation)
    yield format_duration(candidate.time_s.expected)
    yield format_duration(candidate.time_s.p95)
    yield format_usd(candidate.cost_usd.expected)
    yield format_usd(candidate.cost_usd.total)
    yield candidate.evidence


def _points_around(points: Sequence[FrontierPoint], time_s: float) -> Sequence[FrontierPoint]:
    nearest = min(range(len(points)), key=lambda i: abs(points[i].time_s - time_s), default=0)
    start = max(0, min(nearest - _FRONTIER_ROWS // 2, len(points) - _FRONTIER_ROWS))
    return points[start : start + _FRONTIER_ROWS]
