"""The page of a plan: the answer and reasons first, what-ifs to choose from, then alternatives, phases and evidence."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from datetime import date
from typing import Any, Final

from planner.planning.recommendation import require_best
from planner.planning.what_if.network_views import verdict
from planner.planning.what_if.what_if import Contrast
from planner.report import frames, plots
from planner.report.clusters import advice, bill_of, bill_section, cluster_name, cluster_table
from planner.report.page.rendering import Figure, KeyFigure, inline, render, script_json
from planner.report.section import Section
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
from planner.report.terminal.evidence import evidence_section
from planner.report.terminal.plan_table import phases_section
from planner.report.terminal.reasons import reasons
from planner.report.words import phase_word, region_text
from planner.schemas.plan import Candidate, FrontierPoint, Plan
from planner.schemas.rejections import by_reason
from planner.units import format_bytes, format_duration, format_rate, format_usd

PAGE_STEPS: Final = 2
_CANDIDATE: Final = {
    "cluster": "cluster", "model": "model", "where": "where", "$/h each": "$/h each", "storage": "storage",
    "time": "expected", "time, 95 of 100": "95 of 100", "total": "total $", "total, 95 of 100": "total, 95 of 100",
    "evidence": "evidence",
}  # fmt: skip

_LEVERS: Final = {
    "data": "Data",
    "limits": "Deadline and budget",
    "price": "Price of the nodes",
    "network": "Network",
    "nodes": "Nodes",
    "local": "Local disks, same cluster",
    "volumes": "Volumes, same cluster",
    "objects": "Object store, same cluster",
    "cpu": "Processors, same cluster",
    "driver": "Driver, same cluster",
    "requests": "Requests to the object store, same cluster",
    "startup": "Boot, start-up and teardown, same cluster",
    "barriers": "Waiting for the slowest node, same cluster",
}
"""Quantities a reader can change, in the order of the menu."""

_ROWS: Final = {
    "cluster": "cluster",
    "time": "sort",
    "time_p95": "sort, 95 of 100",
    "whole": "whole run",
    "total": "bill",
    "total_p95": "bill, 95 of 100",
    "waits": "waits for",
}


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
    best, size = require_best(plan), format_bytes(plan.request.bytes_to_sort)
    told("drawing charts")
    figures = [*_figures(plan, best), *(_contrasts(best, contrast) if contrast else ())]
    told("writing the page")
    what_if = what_if_part(plan, best, contrast) if contrast and contrast.variants else None
    group = ", one placement group" if best.placement_group else ""
    return render(
        "plan.html",
        figures=figures,
        title=f"{cluster_name(best)} for {size}",
        made_on=made_on,
        asked=f"Which cluster to rent to sort {size} under the {best.model} model?",
        headline=f"{advice(best)} ({region_text(best)}, {best.pricing}{group})",
        key_figures=list(_key_figures(best)),
        facts=list(_facts(plan, best, stored)),
        bill=bill_section(best),
        reasons=reasons(plan, contrast or Contrast()),
        warnings=[*filter(None, [unmeasured_text(plan)]), *map(plain_warning, (*plan.warnings, *best.warnings))],
        command=plan_command(plan.request),
        rent=rent_commands(plan),
        plan=_details(plan, best, figures),
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
        rejected=_rejected(plan, "By reason"),
        left_out=len(plan.rejected),
    )


def _figures(plan: Plan, best: Candidate) -> Iterator[Figure]:
    candidates, points = frames.candidates_frame(plan), frames.frontier_frame(plan)
    waits = "; ".join(f"{p.name} waits for {phase_word(p.bottleneck)}" for p in best.phases)
    yield Figure(
        name="frontier",
        title="Time and total cost",
        text=f"Total cost against expected time. The line joins {len(points)} clusters that nothing beats in both; "
        "the marks are the candidates listed below, the diamond is the one recommended, a cross that of the what-if.",
        chart=plots.frontier(points, candidates),
    )
    yield Figure(
        name="phases",
        title="Phases",
        text=f"What each resource of {candidates.cluster.iloc[0]} does in each phase: {waits}. The menu shows another "
        "candidate.",
        chart=plots.phases(frames.phases_frame(plan.candidates)),
    )
    yield Figure(
        name="ranges",
        title="Ranges",
        text="Bars reach from the median to the 95th percentile of the time; the dot is the mean, the tick the "
        f"equation without variation. Recommended: {format_duration(best.time_s.p50)} to "
        f"{format_duration(best.time_s.p95)}.",
        chart=plots.ranges(candidates),
    )


def _contrasts(best: Candidate, contrast: Contrast) -> Iterator[Figure]:
    """Yield the charts of what would change the answer."""
    frame = frames.sensitivities_frame(best, {0.5: contrast.burdens, 2.0: contrast.reliefs})
    yield Figure(
        name="sensitivities",
        title="Sensitivities",
        text="How time and total cost move when one resource is half or twice as fast and the rest stays as it is.",
        chart=plots.sensitivities(frame),
    )
    if contrast.networks:
        yield Figure(
            name="networks",
            title="Cost under three networks",
            text="The leading types with a network that is never the bottleneck, with one as fast as stated or "
            f"measured between the fewest nodes, and with what is expected at scale. {verdict(contrast.networks)}",
            chart=plots.networks(frames.networks_frame(contrast.networks)),
        )
    if contrast.volumes:
        name, link = contrast.volumes[0].instance_type, format_rate(contrast.volumes[0].link_bytes_per_s)
        yield Figure(
            name="volumes",
            title="Rate against number of volumes",
            text=f"What block volumes of each type read together on {name}. The dashed line is its link to them, "
            f"{link}: where a curve meets it, more volumes only cost.",
            chart=plots.volumes(frames.volumes_frame(contrast.volumes)),
        )


def _details(plan: Plan, best: Candidate, figures: list[Figure]) -> dict[str, Any]:
    """Return the contents of a plan's details: tables, the charts by name, and the sum to redo by hand."""
    from planner.cost_model.model_reader import load_model
    from planner.report.terminal.reasons import explain

    model = best.model if plan.request.has_several_models else plan.request.model
    title = "Candidates: the best size of each type"
    return {
        "figures": {figure.name: figure for figure in figures},
        "catalog": plan.catalog.name,
        "prices_as_of": plan.catalog.prices_as_of,
        "candidates": cluster_table(_CANDIDATE, plan.candidates, chosen=plan.best, title=title),
        "phases": phases_section(best),
        "evidence": evidence_section(plan, best),
        "rejected": _rejected(plan, "Types left out, nearest first"),
        "left_out": len(plan.rejected),
        "sum": explain(plan, load_model(model)),
    }


def _key_figures(best: Candidate) -> Iterator[KeyFigure]:
    time, cost, most = best.time_s, best.cost_usd, "95 of 100 runs:"
    alone = f"by the equation alone {format_duration(time.equation)}"
    yield "The sort takes", format_duration(time.expected), f"{most} {format_duration(time.p95)}; {alone}"
    whole = f"all nodes for {format_duration(best.whole_run_s)}, and spares"
    yield "The whole bill", format_usd(cost.total), f"{most} at most {format_usd(cost.total_p95)}; {whole}"


def _facts(plan: Plan, best: Candidate, stored: Candidate | None) -> Iterator[tuple[str, str]]:
    """Yield further facts about the cluster, each with its heading."""
    yield "Each node", f"{machine_text(best)}."
    yield "If something is lost", durability_text(best)
    for name, text in (("Deadline", deadline_text(plan, alone=True)), ("Data", assumed_text(plan, stored))):
        if text:
            yield name, text[0].upper() + text[1:]
    for sentence in (bottleneck_text(best), confidence_text(best)):
        name, _, text = sentence.partition(": ")
        yield name, text[0].upper() + text[1:]


def _rejected(plan: Plan, title: str) -> Section:
    """Return the types left out, by reason, the nearest first."""
    rows = []
    for group in by_reason(plan.rejected):
        types = (name + (f" ({of.detail})" if of.detail else "") for of in group.which for name in of.instance_types)
        rows.append((group.reason, str(group.types), ", ".join(types)))
    return Section(title=title, columns=("reason", "types", "which"), rows=rows, numbers=(1,))


def what_if_part(plan: Plan, best: Candidate, contrast: Contrast) -> dict[str, Any]:
    """Return the menu, the table of all answers, and the document of the page's script; answer 0 is the plan."""
    several = plan.request.has_several_models
    answers = [_answer_of(plan, several=several)]
    menu: dict[str, list[tuple[int, str]]] = {}
    rows = [_table_row("as planned", answers[0])]
    for lever, label, answer in sorted(_answers(plan, best, contrast), key=lambda made: list(_LEVERS).index(made[0])):
        menu.setdefault(_LEVERS[lever], []).append((len(answers), label))
        rows.append(_table_row(f"{_LEVERS[lever]}: {label}", answer))
        answers.append(answer)
    columns = ("change", "cluster", "sort", "bill", "waits for")
    title = "Plans with one change each"
    return {
        "menu": menu,
        "table": Section(title=title, columns=columns, rows=rows, numbers=(2, 3), chosen=(0,)),
        "document": {"answers": answers, "rows": list(_ROWS.items())},
    }


def _table_row(change: str, answer: dict[str, Any] | None) -> list[str]:
    texts = {"cluster": "none", "time": "-", "total": "-", "waits": "-"} if answer is None else answer
    return [change, *(texts[key] for key in ("cluster", "time", "total", "waits"))]


def _answers(plan: Plan, best: Candidate, contrast: Contrast) -> Iterator[tuple[str, str, dict[str, Any] | None]]:
    """Yield lever, label and answer of each variant, then of each faster or slower resource of the same cluster."""
    several = plan.request.has_several_models
    for variant in contrast.variants:
        request = variant.plan.request
        labels = {"data": format_bytes(request.bytes_to_sort), "nodes": f"{request.nodes}", "limits": "none"}
        times = f"{variant.factor:g} times{' as fast' if variant.lever == 'network' else ''}"
        yield variant.lever, labels.get(variant.lever, times), _answer_of(variant.plan, several=several)
    for label, clusters in (("half as fast", contrast.burdens), ("twice as fast", contrast.reliefs)):
        for lever, cluster in clusters.items():
            if lever != "network":
                yield lever, label, _answer(cluster, several=several)


def _answer_of(plan: Plan, *, several: bool) -> dict[str, Any] | None:
    """Return the displayed parts of a plan; None if nothing is feasible."""
    if plan.best is None:
        return None
    frontier = [_shown(point, point.time_s, point.cost_usd_total, several=several) for point in plan.frontier]
    return _answer(plan.best, several=several) | {"frontier": frontier}


def _answer(best: Candidate, *, several: bool) -> dict[str, Any]:
    bill = bill_of(best)
    return {
        **_shown(best, best.time_s.expected, best.cost_usd.total, several=several),
        "time_p95": format_duration(best.time_s.p95),
        "whole": format_duration(bill.time_s),
        "total_p95": format_usd(best.cost_usd.total_p95),
        "waits": ", ".join(f"{phase.name}: {phase_word(phase.bottleneck)}" for phase in best.phases),
        "bill": bill.rows,
        "frontier": [],
    }


def _shown(of: Candidate | FrontierPoint, time_s: float, usd: float, *, several: bool) -> dict[str, Any]:
    return {
        "cluster": cluster_name(of, several_models=several),
        "time_s": time_s,
        "time": format_duration(time_s),
        "total_usd": usd,
        "total": format_usd(usd),
    }
