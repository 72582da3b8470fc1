"""The page of a plan: the answer and reasons first, then alternatives, phases, ranges and evidence."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from datetime import date
from typing import Any, Final

from planner.planning.recommendation import require_best
from planner.planning.what_if.network_views import verdict
from planner.planning.what_if.what_if import Contrast
from planner.report import frames, plots
from planner.report.cluster_names import cluster_name
from planner.report.page.rendering import Figure, inline, render, script_json
from planner.report.page.what_if import what_if_part
from planner.report.terminal.bill_items import bill_of
from planner.report.terminal.command import plan_command, rent_commands
from planner.report.terminal.decision import (
    assumed_text,
    bottleneck_text,
    confidence_text,
    deadline_text,
    durability_text,
    machine_text,
    plain_warning,
    unmeasured_text,
)
from planner.report.terminal.evidence import bases
from planner.report.terminal.plan_table import phase_cells
from planner.report.terminal.reasons import reasons
from planner.report.words import phase_word, region_text
from planner.schemas.plan import Candidate, Plan
from planner.schemas.rejections import LeftOut, by_reason
from planner.units import format_bytes, format_duration, format_rate, format_usd

PAGE_STEPS: Final = 2


def plan_page(
    plan: Plan,
    contrast: Contrast | None,
    *,
    stored: Candidate | None = None,
    made_on: date | None = None,
    on_step: Callable[[str], None] | None = None,
) -> str:
    """Return the page as HTML; without a contrast it has no comparisons. `stored` is the best cluster with its data in
    an object store, if the request does not give the data's place. `on_step` is called as each step starts, PAGE_STEPS
    times.

    Raises InfeasibleError if there is nothing to recommend, PlannerError without the extra `plots`.
    """
    told = on_step or (lambda step: None)
    best = require_best(plan)
    told("drawing charts")
    figures = plan_figures(plan, contrast)
    told("writing the page")
    what_if = what_if_part(plan, best, contrast) if contrast and contrast.variants else None
    return render(
        "plan.html",
        figures=figures,
        title=f"{cluster_name(best)} for {format_bytes(plan.request.bytes_to_sort)}",
        made_on=made_on,
        asked=f"Which cluster to rent to sort {format_bytes(plan.request.bytes_to_sort)} under the {best.model} model?",
        headline=f"Rent {cluster_name(best)} ({_place(best)})",
        key_figures=list(_key_figures(best)),
        facts=list(_facts(plan, best, stored)),
        bill=_bill(best),
        reasons=reasons(plan, contrast or Contrast()),
        warnings=[*filter(None, [unmeasured_text(plan)]), *map(plain_warning, (*plan.warnings, *best.warnings))],
        command=plan_command(plan.request),
        rent=rent_commands(plan),
        plan=plan_parts(plan, figures=figures, total=_sum(plan, best)),
        what_if=what_if,
        embedded_what_if=script_json(what_if["document"]) if what_if else "",
        what_if_script=inline("what_if.js"),
    )


def refusal_page(plan: Plan, *, why: Sequence[str], made_on: date | None = None) -> str:
    """Return the page of a plan without a cluster: the reasons, and types left out. Raises PlannerError as above."""
    size = format_bytes(plan.request.bytes_to_sort)
    return render(
        "refusal.html",
        figures=[],
        title=f"No cluster for {size}",
        made_on=made_on,
        asked=f"Which cluster to rent to sort {size} under the {plan.request.model} model?",
        headline="Nothing does what is asked",
        reasons=why,
        command=plan_command(plan.request),
        rejected=_rejected(plan),
    )


def plan_figures(plan: Plan, contrast: Contrast | None) -> list[Figure]:
    """Return the charts of a plan, without the sensitivities if there is nothing to compare with."""
    candidates, points = frames.candidates_frame(plan), frames.frontier_frame(plan)
    best = require_best(plan)
    figures = [
        Figure(
            name="frontier",
            title="Time and total cost",
            text=f"Total cost against expected time. The line joins {len(points)} clusters that nothing beats in both; "
            "the marks are the candidates of the table below, the diamond is the one recommended, a cross that of the "
            "what-if above.",
            chart=plots.frontier(points, candidates),
        ),
        Figure(
            name="phases",
            title="Phases",
            text=f"What each resource of {candidates.cluster.iloc[0]} does in each phase: "
            + "; ".join(f"{p.name} waits for {phase_word(p.bottleneck)}" for p in best.phases)
            + ". The menu shows another candidate.",
            chart=plots.phases(frames.phases_frame(plan.candidates)),
        ),
        Figure(
            name="ranges",
            title="Ranges",
            text="Bars reach from the median to the 95th percentile of the time; the dot is the mean, the tick the "
            f"equation without variation. Recommended: {format_duration(best.time_s.p50)} to "
            f"{format_duration(best.time_s.p95)}.",
            chart=plots.ranges(candidates),
        ),
    ]
    return [*figures, *_sensitivities(best, contrast), *_networks(contrast), *_volumes(contrast)]


def plan_parts(plan: Plan, *, figures: list[Figure], total: str) -> dict[str, Any]:
    """Return the contents of a plan's details: tables, and the charts by name."""
    best = require_best(plan)
    evidence = [[b.what, b.value, b.evidence, b.source, b.as_of] for b in bases(plan)]
    return {
        "figures": {figure.name: figure for figure in figures},
        "catalog": plan.catalog.name,
        "prices_as_of": plan.catalog.prices_as_of,
        "candidates": _candidates(plan),
        "phases": _phases(best),
        "evidence": {"columns": ["number", "value", "evidence", "source", "as of"], "rows": evidence},
        "rejected": _rejected(plan),
        "sum": total,
    }


def _sensitivities(best: Candidate, contrast: Contrast | None) -> Iterator[Figure]:
    if contrast is None:
        return
    frame = frames.sensitivities_frame(best, {0.5: contrast.burdens, 2.0: contrast.reliefs})
    yield Figure(
        name="sensitivities",
        title="Sensitivities",
        text="How time and total cost move when one resource is half or twice as fast and the rest stays as it is.",
        chart=plots.sensitivities(frame),
    )


def _networks(contrast: Contrast | None) -> Iterator[Figure]:
    if contrast is None or not contrast.networks:
        return
    yield Figure(
        name="networks",
        title="Cost under three networks",
        text="The leading types with a network that is never the bottleneck, with one as fast as stated or measured "
        f"between the fewest nodes, and with what is expected at scale. {verdict(contrast.networks)}",
        chart=plots.networks(frames.networks_frame(contrast.networks)),
    )


def _volumes(contrast: Contrast | None) -> Iterator[Figure]:
    if contrast is None or not contrast.volumes:
        return
    name, link = contrast.volumes[0].instance_type, format_rate(contrast.volumes[0].link_bytes_per_s)
    yield Figure(
        name="volumes",
        title="Rate against number of volumes",
        text=f"What block volumes of each type read together on {name}. The dashed line is its link to them, {link}: "
        "where a curve meets it, more volumes only cost.",
        chart=plots.volumes(frames.volumes_frame(contrast.volumes)),
    )


def _sum(plan: Plan, best: Candidate) -> str:
    from planner.cost_model.model_reader import load_model
    from planner.report.terminal.explain import explain

    name = best.model if plan.request.has_several_models else plan.request.model
    return explain(plan, load_model(name))


def _key_figures(best: Candidate) -> Iterator[dict[str, Any]]:
    time, cost = best.time_s, best.cost_usd
    whole_s = time.expected + sum(best.overheads_s.values())
    yield {
        "name": "The sort takes",
        "value": format_duration(time.expected),
        "note": f"95 of 100 runs: {format_duration(time.p95)}; by the equation alone {format_duration(time.equation)}",
    }
    yield {
        "name": "and costs",
        "value": format_usd(cost.expected),
        "note": f"95 of 100 runs: at most {format_usd(cost.p95)}",
    }
    yield {
        "name": "The whole bill",
        "value": format_usd(cost.total),
        "note": f"95 of 100 runs: at most {format_usd(cost.total_p95)}; all nodes for {format_duration(whole_s)}, and "
        "spares",
    }


def _facts(plan: Plan, best: Candidate, stored: Candidate | None) -> Iterator[tuple[str, str]]:
    """Yield further facts about the cluster, each with its heading."""
    yield "Each node", f"{machine_text(best)}."
    yield "If something is lost", durability_text(best)
    if deadline := deadline_text(plan):
        yield "Deadline", deadline.replace(" keep it", " keep the deadline")
    if assumed := assumed_text(plan, stored):
        yield "Data", assumed[0].upper() + assumed[1:]
    for sentence in (bottleneck_text(best), confidence_text(best)):
        name, _, text = sentence.partition(": ")
        yield name, text[0].upper() + text[1:]


def _bill(best: Candidate) -> dict[str, Any]:
    rows = bill_of(best).rows
    return {"columns": ["item", "time", "cost"], "rows": rows, "numbers": (1, 2), "chosen": len(rows) - 1}


def _place(best: Candidate) -> str:
    group = ", one placement group" if best.placement_group else ""
    return f"{region_text(best)}, {best.pricing}{group}"


def _candidates(plan: Plan) -> dict[str, Any]:
    rows = [
        [
            cluster_name(candidate),
            candidate.model,
            region_text(candidate),
            f"{candidate.price_usd_per_hour:.4g}",
            candidate.storage,
            format_duration(candidate.time_s.expected),
            format_duration(candidate.time_s.p95),
            format_usd(candidate.cost_usd.total),
            format_usd(candidate.cost_usd.total_p95),
            candidate.evidence,
        ]
        for candidate in plan.candidates
    ]
    columns = [
        "cluster",
        "model",
        "where",
        "$/h each",
        "storage",
        "time",
        "time, 95 of 100",
        "total",
        "total, 95 of 100",
        "evidence",
    ]
    return {"columns": columns, "rows": rows, "numbers": (3, 5, 6, 7, 8), "chosen": 0}


def _phases(best: Candidate) -> dict[str, Any]:
    columns = ["phase", "resource", "bytes per node", "rate", "time", "role"]
    return {"columns": columns, "rows": list(phase_cells(best)), "numbers": (2, 3, 4)}


def _rejected(plan: Plan) -> dict[str, Any]:
    """Return the types left out, by reason, the nearest first."""
    rows = [[group.reason, str(group.types), ", ".join(_types(group))] for group in by_reason(plan.rejected)]
    return {"columns": ["reason", "types", "which"], "rows": rows, "numbers": (1,), "count": len(plan.rejected)}


def _types(group: LeftOut) -> Iterator[str]:
    for alike in group.which:
        detail = f" ({alike.detail})" if alike.detail else ""
        yield from (f"{name}{detail}" for name in alike.instance_types)
