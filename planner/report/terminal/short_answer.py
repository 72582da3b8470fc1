"""A plan on one screen: what to rent, the bill, its neighbours, the bottleneck, its confidence, and the next command.

At most 24 lines of 80 columns, as plain text, so that it looks the same in a terminal, a pipe and a log.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import Final

from planner.planning.ranking.capacity import AT_HAND, MACHINES_AT_HAND
from planner.planning.ranking.one_machine import SMALL_DATA
from planner.report.clusters import advice, bill_of, cluster_name, place_suffix, ratios, total_text
from planner.report.section import GAP, LINES, Lines, with_notes, without_lightest
from planner.report.terminal.decision import (
    assumed_text,
    bottleneck_text,
    confidence_text,
    deadline_text,
    doubt_text,
    durability_text,
    energy_text,
    machine_text,
    old_price_text,
    order_text,
    place_text,
    plain_warning,
    price_origin,
    profile_text,
    range_text,
    unmeasured_text,
)
from planner.report.words import region_word, wrapped
from planner.schemas.plan import ASSUMED_OF_ALL, Candidate, FrontierPoint, Plan
from planner.units import count_text, format_duration, format_usd

WORTH_IT: Final = 1.05
"""Least speed-up for which a costlier cluster is shown as a choice."""
_SAVED_WIDTH: Final = 18
_NAME_WIDTH: Final = 12
_CLUSTER_WIDTH: Final = 24


def short_answer(
    plan: Plan, *, width: int, before: Candidate | None = None, stored: Candidate | None = None
) -> list[str]:
    """Return the answer in lines of at most `width` columns; the plan must have a best candidate. It starts with the
    effect of a what-if, if the best cluster was another one `before`. `stored` is the best cluster with its data in an
    object store, if the request does not give the data's place.
    """
    best = plan.best
    if best is None:
        return ["nothing feasible"]
    warnings = [f"types and prices of {', '.join(of)} as you refreshed them"] if (of := plan.catalog.refreshed) else []
    warnings += map(plain_warning, (*plan.warnings, *best.warnings))
    first = [f"{text[0].upper()}{text[1:]}." for text in warnings if text.startswith((SMALL_DATA, AT_HAND))]
    old = [text for text in warnings if old_price_text(best, text)]
    warnings = [text for text in warnings if not text.startswith((SMALL_DATA, AT_HAND)) and text not in old]
    notes = [*filter(None, [unmeasured_text(plan)]), *(f"Note: {text}" for text in warnings)]
    parts = [
        _sentences("change", [difference(before, best)] if before else [], width),
        _sentences("decision", _decision(plan, best, stored), width),
        GAP,
        Lines("bill", [*_bill(best, min(width, 64))]),
        *_choices(plan, best, width),
        GAP,
        _sentences("reasons", [*first, *_reasons(plan, best)], width),
        replace(_sentences("old prices", [old_price_text(best, text) for text in old], width), weight=3),
    ]
    over = sum(len(part.lines) for part in parts) + len(_next(plan, width, len(notes))) - LINES
    with_note = over + len(wrapped(notes[0], width)) if notes else over
    if over < with_note < parts.count(GAP):  # a note is worth more than all empty lines but the first
        over = with_note
    kept = without_lightest(parts, over=over)
    if sum(part.kind == "choice" for part in kept) == 1:  # a single choice is not a choice
        kept = [part for part in kept if part.kind not in ("choice", "choices")]
    if all(part.kind != "old prices" for part in kept):
        notes += [f"Note: {text}" for text in old]
    lines = [line for part in kept for line in part.lines]
    return with_notes(lines, notes, width=width, ending=lambda left: _next(plan, width, left))


def _sentences(kind: str, texts: Sequence[str], width: int) -> Lines:
    return Lines(kind, [line for text in texts if text for line in wrapped(text, width)])


def _decision(plan: Plan, best: Candidate, stored: Candidate | None) -> list[str]:
    limit = f" (deadline: {format_duration(plan.request.deadline_s)})" if plan.request.deadline_s else ""
    unpriced = f" and {', '.join(best.cost_usd.unknown)}, of unknown price" if best.cost_usd.unknown else " in all"
    costs = "without rent" if best.is_free else f"{total_text(best)}{unpriced}{price_origin(best)}"
    return [
        f"{advice(best)} ({place_text(best)})",
        f"for {format_duration(best.whole_run_s)}{limit}, {costs}.",
        f"Each: {machine_text(best)}.",
        deadline_text(plan),
        order_text(best),
        *(text for text in plan.warnings if text.startswith(ASSUMED_OF_ALL)),
        assumed_text(plan, stored),
        range_text(plan, best),
        durability_text(best),
        *(f"{text}; --rejected says more." for text in plan.left_out),
    ]


def _bill(best: Candidate, width: int) -> Iterator[str]:
    """Yield the groups of the bill, in cents that add up to the total."""
    bill = bill_of(best)
    rows = [
        (item.name, item.time_s, bill.shown(item.usd))
        for item in bill
        if item.usd is None or item.time_s or float(bill.shown(item.usd).replace(",", ""))  # else a rounding remainder
    ]
    names = max(width - 28, *(len(name) for name, *_ in rows))
    for name, time_s, cost in (*rows, (bill.total_name, bill.time_s, f"${bill.shown(bill.total_usd)}")):
        time = format_duration(time_s or 0.0) if time_s or name == bill.total_name else ""
        yield f"  {name:<{names}}{time:>14} {cost:>11}"


def _choices(plan: Plan, best: Candidate, width: int) -> Iterator[Lines]:
    """Yield the cheapest cluster, the recommended one and its neighbours on the frontier, with the price of each minute
    saved against the one above.
    """
    named = _named_points(plan, best)
    if len(named) < 2:
        return
    yield GAP
    yield Lines(
        "choices", _choice("choice", "cluster", ("the sort", "the bill", "price of speed"), width)[:1], weight=2
    )
    before = None
    for name, point in named.items():
        cluster = cluster_name(point, several_pricings=len(plan.request.pricings) > 1) + place_suffix(plan, point)
        saved = "" if before is None else _per_minute(before, point)
        figures = format_duration(point.time_s), format_usd(point.cost_usd_total), saved
        weight = 1 if name.startswith("next") else None
        yield Lines("choice", _choice(name, cluster, figures, width), weight=weight)
        before = point


def _choice(name: str, cluster: str, figures: tuple[str, str, str], width: int) -> list[str]:
    time, cost, saved = figures
    size = min(_CLUSTER_WIDTH, max(11, width - _NAME_WIDTH - 26))
    first, costs = f"  {name:<{_NAME_WIDTH}} {cluster:<{size}}", f" {time:>12} {cost:>9}"
    own = []
    if len(first + costs) > width:  # a long name gets its own line
        own, first, costs = [f"  {name} {cluster.rstrip()}"[:width]], "", f"{costs:>{width}}"
    whole = f"{first}{costs}{saved:>{_SAVED_WIDTH}}"
    return [*own, whole.rstrip() if len(whole) <= width else first + costs]


def _named_points(plan: Plan, best: Candidate) -> dict[str, FrontierPoint]:
    """Return the points of the frontier to choose from, slowest first, four at most. Faster points are left out if they
    are hardly faster.
    """
    points = sorted(plan.frontier, key=lambda point: -point.time_s)
    if not points:
        return {}
    cheapest = min(points, key=lambda point: point.cost_usd_total)
    recommended = next((point for point in points if is_point_of(point, best)), best.point)
    slower = [point for point in points if point.time_s > recommended.time_s * WORTH_IT]
    faster = [point for point in points if point.time_s * WORTH_IT <= recommended.time_s]
    named = {} if cheapest is recommended else {"cheapest": cheapest}
    if slower and slower[-1].time_s * WORTH_IT <= cheapest.time_s:
        named["next cheaper"] = slower[-1]
    named["recommended"] = recommended
    if faster:
        named["next faster"] = faster[0]
    return named


def is_point_of(point: FrontierPoint, best: Candidate) -> bool:
    """Return whether a point of the frontier is that cluster."""
    chosen = best.point
    named = {name: getattr(point, name) or getattr(chosen, name) for name in ("pricing", "region")}  # '' in old plans
    return replace(point, time_s=chosen.time_s, cost_usd_total=chosen.cost_usd_total, **named) == chosen


def _per_minute(slower: FrontierPoint, faster: FrontierPoint) -> str:
    minutes = (slower.time_s - faster.time_s) / 60
    dearer = faster.cost_usd_total - slower.cost_usd_total
    return f"{format_usd(dearer / minutes)} a minute" if minutes > 0 and dearer > 0 else ""


def _reasons(plan: Plan, best: Candidate) -> list[str]:
    return [
        energy_text(best) if plan.request.objective == "energy" else "",
        bottleneck_text(best),
        _capacity(plan, best),
        f"{confidence_text(best)} {doubt_text(best)}",
        f"Most data: {plan.beyond}." if plan.beyond else "",
        profile_text(best),
    ]


def _capacity(plan: Plan, best: Candidate) -> str:
    asked = plan.capacity
    if asked is None:
        return ""
    where = "in one placement group" if best.placement_group else f"in {region_word(best.region)}"
    text = f"Capacity: ask for {asked.machines} machines {where} ({asked.vcpus:,.0f} vCPUs of quota) weeks before."
    if plan.request.nodes is not None and asked.smaller is None:  # as many as asked for
        return text
    most = "none does the job within what is asked"
    if smaller := asked.smaller:
        figures = f"{format_duration(smaller.time_s)}, {format_usd(smaller.cost_usd_total)}"
        most = f"{smaller.nodes} x {smaller.instance_type}, {figures}"
    return f"{text} Best of at most {MACHINES_AT_HAND}: {most}."


def _next(plan: Plan, width: int, notes: int) -> list[str]:
    """Return what to ask next, after which so many notes are left out."""
    request, several = plan.request, f" and {count_text(notes, 'more note')}" if notes else ""
    if request.output and not request.has_several_models and request.model != "object-store":
        return wrapped(f"Next: --model all, as a store keeps copies itself; --explain; --show wide{several}.", width)
    clusters = f"{len(plan.candidates)} of {plan.feasible}" if plan.not_shown else "all"
    return wrapped(f"Next: --explain says why; --show wide has {clusters} candidates{several}.", width)


def difference(before: Candidate, after: Candidate) -> str:
    """Return the effect of a what-if in a sentence: the cluster before it, and the changes in bill and time of the
    whole run.
    """
    was = f"{before.nodes} x {before.instance_type} for {format_duration(before.whole_run_s)}"
    time, cost = ratios(after, before)
    now = f"now cost {cost - 1:+.0%}, time {time - 1:+.0%}"
    return f"What if: before, {was}, {format_usd(before.cost_usd.total)} in all; {now}."
