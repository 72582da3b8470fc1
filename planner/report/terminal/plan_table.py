"""A Plan in the terminal: the answer, the candidates, the phases of the chosen cluster and the frontier around it."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import Final

from rich.markup import escape

from planner.report.clusters import Column, advice, cluster_name, cluster_table, place_suffix
from planner.report.section import Said, Section, unrepeated
from planner.report.terminal.decision import (
    break_even_text,
    durability_text,
    energy_text,
    machine_text,
    order_text,
    place_text,
    plain_warning,
)
from planner.report.words import phase_word, region_word
from planner.schemas.plan import Candidate, Plan, Quoted, Rejection
from planner.schemas.rejections import EXAMPLES, LeftOut, by_reason
from planner.units import format_bytes, format_duration, format_rate, format_usd

_FRONTIER_ROWS = 7
_CANDIDATE: Final = ("instance type", "nodes", "$/h each", "storage", "disks data:interm.", "equation", "expected",
                     "95 of 100", "sort $", "total $", "evidence")  # fmt: skip


def render_plan(plan: Plan) -> Iterator[Said | Section]:
    """Yield the whole answer; the plan must have a best candidate."""
    best = plan.best
    if best is None:
        yield Said("nothing feasible")
        return
    yield _answer(plan, best)
    yield candidates_table(plan)
    yield from models_tables(plan)
    phases = phases_section(best)
    columns = (*phases.columns[:-1], "")
    yield replace(phases, title="Phases (equation)", columns=columns, rows=unrepeated(phases.rows))
    yield Said(_capacity(best), style="dim")
    yield _frontier(plan, best)
    yield from _notes(plan, best)


def _answer(plan: Plan, best: Candidate) -> Said:
    """Return in two sentences what to rent, its time and its cost."""
    request, most = plan.request, ", the most within what is asked," if plan.beyond else ""
    limit = f"; its deadline: {format_duration(request.sort_deadline_s)}" if request.sort_deadline_s else ""
    within = f" (deadline: {format_duration(request.deadline_s)})" if request.deadline_s else ""
    sort = f"{format_duration(best.time_s.expected)} (95 of 100 runs: {format_duration(best.time_s.p95)}{limit})"
    return Said(
        advice(best),
        style="bold green",
        rest=f" ({place_text(best)}) to sort {format_bytes(request.bytes_to_sort)}{most} under the {best.model} "
        f"model.\nThe sort takes {sort} and costs {format_usd(best.cost_usd.expected)}; with everything around it the "
        f"cluster is up for {format_duration(best.whole_run_s)}{within} and costs {format_usd(best.cost_usd.total)}.",
    )


def brief_candidates_table(plan: Plan, *, evidence: bool = True) -> Section:
    """Return the main figures of each type's best size in 80 columns, the chosen row marked; 60 without `evidence`."""
    several, pricings = len({candidate.model for candidate in plan.candidates}) > 1, len(plan.request.pricings) > 1

    def name(of: Candidate) -> str:
        place = f", {region_word(of.region)}" if _has_several_places(plan) else ""
        return cluster_name(of, several_models=several, several_pricings=pricings) + place

    names = ("expected", "95 of 100", "total $", *(["evidence"] if evidence else []))
    columns: dict[str, str | Column] = {"": _mark(plan), "cluster": name, **{name: name for name in names}}
    return cluster_table(columns, plan.candidates, chosen=plan.best)


def candidates_table(plan: Plan) -> Section:
    """Return the best size of each type, the chosen row marked."""
    columns: dict[str, str | Column] = {"": _mark(plan)}
    columns |= {"model": "model"} if len({candidate.model for candidate in plan.candidates}) > 1 else {}
    columns |= {"where": "where"} if _has_several_places(plan) else {}
    columns |= {name: name for name in _CANDIDATE}
    pricings = len(plan.request.pricings) > 1
    columns["instance type"] = lambda of: cluster_name(of, several_pricings=pricings).partition(" x ")[2]
    return cluster_table(columns, plan.candidates, chosen=plan.best, title="Candidates")


def _mark(plan: Plan) -> Column:
    return lambda of: "*" if of == plan.best else ""


def _has_several_places(plan: Plan) -> bool:
    """Return whether clusters differ in place; if not, the answer names the place."""
    return len({(candidate.cloud, candidate.region) for candidate in plan.candidates}) > 1


def models_tables(plan: Plan) -> Iterator[Section]:
    """Yield, for several models, a table of the cost of each one's best cluster and the durability it buys."""
    firsts = {candidate.model: candidate for candidate in reversed(plan.candidates)}
    if len(firsts) > 1:
        columns = {name: name for name in ("model", "cluster", "expected", "total $", "durability")}
        clusters = sorted(firsts.values(), key=plan.candidates.index)
        yield cluster_table(columns, clusters, title="What each model buys")


def phases_section(best: Candidate) -> Section:
    """Return a row for each resource of each phase, the slowest of a phase first, the bottlenecks chosen."""
    uses = [
        (phase, name, use)
        for phase in best.phases
        for name, use in sorted(phase.resources.items(), key=lambda item: -item[1].time_s)
    ]
    rows = [
        (
            phase.name,
            phase_word(name),
            *((format_bytes(use.bytes_per_node), format_rate(use.bytes_per_s)) if use.bytes_per_s else ("-", "-")),
            format_duration(use.time_s),
            "bottleneck" if name == phase.bottleneck else "",
        )
        for phase, name, use in uses
    ]
    return Section(
        title="Phases of the recommended cluster",
        columns=("phase", "resource", "bytes per node", "rate", "time", "role"),
        rows=rows,
        numbers=(2, 3, 4),
        chosen=[place for place, row in enumerate(rows) if row[-1]],
    )


def _capacity(best: Candidate) -> str:
    """Return how full each disk group of a node gets."""

    def of(needed: float, group: str) -> str:
        capacity = best.capacity_bytes[group]
        return f"{format_bytes(needed)} of {'any amount' if capacity is None else format_bytes(capacity)}"

    if best.shared:
        return f"Capacity per node: shared disks {of(sum(best.needed_bytes.values()), 'data')}"
    parts = ", ".join(f"{group} {of(needed, group)}" for group, needed in best.needed_bytes.items())
    return f"Capacity per node: {parts} (fewest nodes: {best.nodes_min})"


def _frontier(plan: Plan, best: Candidate) -> Section:
    """Return the clusters around the chosen one that nothing beats in both time and total cost."""
    points, time_s = plan.frontier, best.time_s.expected
    nearest = min(range(len(points)), key=lambda i: abs(points[i].time_s - time_s), default=0)
    start = max(0, min(nearest - _FRONTIER_ROWS // 2, len(points) - _FRONTIER_ROWS))
    rows = [
        (
            point.instance_type + place_suffix(plan, point),
            str(point.nodes),
            format_duration(point.time_s),
            format_usd(point.cost_usd_total),
        )
        for point in points[start : start + _FRONTIER_ROWS]
    ]
    columns = ("instance type", "nodes", "expected", "total $")
    return Section(title="Frontier of time and total cost", columns=columns, rows=rows, numbers=(1, 2, 3))


def _notes(plan: Plan, best: Candidate) -> Iterator[Said]:
    """Yield the sources of the numbers and the doubts about them."""
    catalog = plan.catalog
    yours = f"; types and prices of {', '.join(catalog.refreshed)} as you refreshed them" if catalog.refreshed else ""
    said = [
        f"Catalog {catalog.name}, prices as of {catalog.prices_as_of}{yours}.",
        f"Each node: {machine_text(best)}.",
        durability_text(best),
        f"{plan.not_shown} more types do what is asked; --top {plan.feasible} shows them." if plan.not_shown else "",
        order_text(best),
        energy_text(best),
        f"That is {quoted_text(best.quoted)}." if best.quoted else "",
        f"Most data: {plan.beyond}." if plan.beyond else "",
    ]
    doubts = [plain_warning(text) for text in (*plan.warnings, *best.warnings, break_even_text(best)) if text]
    doubts += [
        f"{of.types} types of {of.cloud} are left out, as their disks' rates are unknown; to measure one: {of.measure}"
        for of in plan.unmeasured
    ]
    yield from (Said(text, style="dim") for text in said if text)
    yield from (Said(f"Note: {text}", style="yellow") for text in doubts)
    if plan.rejected:
        yield Said(f"{len(plan.rejected)} types left out; --rejected lists why.", style="dim")


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


def render_rejected(rejected: Sequence[Rejection], *, everything: bool = False) -> Iterator[Said | Section]:
    """Yield the types left out by reason: how many, their common detail, and the nearest or `everything`."""
    groups = by_reason(rejected)
    which = "which, nearest first" if everything else "for example, nearest first"
    rows = [
        (escape(group.reason), f"{group.types:,}", escape(_which(group, everything=everything))) for group in groups
    ]
    yield Section(title="Left out", columns=("reason", "types", which), rows=rows, numbers=(1,))
    if not everything and any(group.types > EXAMPLES for group in groups):
        yield Said("With --show wide or --json: every type.", style="dim")


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
