"""The what-ifs of a plan's page: plans made in advance, as texts to choose from."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, Final

from planner.planning.what_if.what_if import Contrast
from planner.report.clusters import cluster_name
from planner.report.section import Section
from planner.report.terminal.bill_items import bill_of
from planner.report.words import phase_word
from planner.schemas.plan import Candidate, FrontierPoint, Plan
from planner.units import format_bytes, format_duration, format_usd

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
        "document": {"planned": answers[0], "answers": answers, "rows": list(_ROWS.items())},
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
