"""A plan on one screen: what to rent, the bill, its neighbours, the bottleneck, its confidence, and the next command.

At most 24 lines of 80 columns, as plain text, so that it looks the same in a terminal, a pipe and a log.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from typing import Final

from planner.planning.ranking.capacity import MACHINES_AT_HAND
from planner.planning.ranking.frontier import point_of
from planner.report.cluster_names import cluster_name, place_suffix
from planner.report.terminal.bill_items import bill_of
from planner.report.terminal.decision import (
    assumed_text,
    bottleneck_text,
    confidence_text,
    deadline_text,
    doubt_text,
    durability_text,
    machine_text,
    place_text,
    plain_warning,
    price_origin,
    profile_text,
    range_text,
    total_text,
    unmeasured_text,
)
from planner.report.words import region_word, wrapped
from planner.schemas.plan import ASSUMED_OF_ALL, Candidate, FrontierPoint, Plan
from planner.units import count_text, format_duration, format_usd

LINES: Final = 24
WORTH_IT: Final = 1.05
"""Least speed-up for which a costlier cluster is shown as a choice."""
_CHOICE: Final = "  choice"
_SAVED: Final = "price of speed"
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
    changes = [] if before is None else wrapped(difference(before, best), width)
    lines = [*changes, *_headline(plan, best, stored, width), "", *_bill(best, width), *_choices(plan, best, width), ""]
    reasons = [bottleneck_text(best), *_capacity(plan, best), f"{confidence_text(best)} {doubt_text(best)}"]
    reasons += [f"Most data: {plan.beyond}."] if plan.beyond else []
    reasons += filter(None, [profile_text(best)])
    lines += [line for reason in reasons for line in wrapped(reason, width)]
    notes = [*filter(None, [unmeasured_text(plan)])]
    notes += [f"Note: {plain_warning(warning)}" for warning in (*_refreshed_note(plan), *plan.warnings, *best.warnings)]
    ending = _next(plan, width, notes=len(notes))
    over = len(lines) + len(ending) - LINES
    with_note = over + len(wrapped(notes[0], width)) if notes else over
    if over < with_note < lines.count(""):  # a note is worth more than all empty lines but the first
        over = with_note
    lines = _drop_least(lines, over=over)
    for number, note in enumerate(notes):
        more = wrapped(note, width)
        if len(lines) + len(more) + len(ending) > LINES:
            return [*lines, *_next(plan, width, notes=len(notes) - number)]
        lines += more
    return [*lines, *_next(plan, width, notes=0)]


def _drop_least(lines: list[str], *, over: int) -> list[str]:
    """Return the lines without the `over` least important: empty ones, the last first, then the neighbours of the
    recommended cluster, then the choices' heading, as a single choice is not a choice.
    """
    heading = [number for number, line in enumerate(lines) if line.startswith(_CHOICE)]
    empty = [number for number, line in enumerate(lines) if line == ""]
    neighbours = [number for number, line in enumerate(lines) if line.startswith("  next ")]
    dropped = [*reversed(empty), *reversed(neighbours), *heading][: max(over, 0)]
    kept = [line for number, line in enumerate(lines) if number not in dropped]
    rows = [line for line in kept if _is_choice(line)]
    return [line for line in kept if line not in rows and not line.startswith(_CHOICE)] if len(rows) == 1 else kept


def _is_choice(line: str) -> bool:
    return line.startswith(("  cheapest ", "  next ", "  recommended "))


def _headline(plan: Plan, best: Candidate, stored: Candidate | None, width: int) -> Iterator[str]:
    whole = format_duration(best.whole_run_s) + _limit(plan.request.deadline_s)
    unpriced = f" and {', '.join(best.cost_usd.unknown)}, of unknown price" if best.cost_usd.unknown else " in all"
    order = f"Order {best.cloud_type}, and the local disks with it."
    for text in (
        f"Rent {cluster_name(best)} ({place_text(best)})",
        f"for {whole}, {total_text(best)}{unpriced}{price_origin(best)}.",
        f"Each: {machine_text(best)}.",
        deadline_text(plan),
        order if best.cloud_type != best.instance_type else "",
        *(text for text in plan.warnings if text.startswith(ASSUMED_OF_ALL)),
        assumed_text(plan, stored),
        range_text(plan, best),
        durability_text(best),
        *(f"{text}; --rejected says more." for text in plan.left_out),
    ):
        yield from wrapped(text, width)


def _limit(deadline_s: float | None) -> str:
    return f" (deadline: {format_duration(deadline_s)})" if deadline_s else ""


def _bill(best: Candidate, width: int) -> Iterator[str]:
    """Yield the groups of the bill, in cents that add up to the total."""
    bill, table = bill_of(best), min(width, 64)
    for item in bill.items:
        if not (item.usd is None or item.time_s or float(bill.shown(item.usd).replace(",", ""))):
            continue  # only a rounding remainder
        time = format_duration(item.time_s) if item.time_s else ""
        yield _row(item.name, time, bill.shown(item.usd), width=table)
    yield _row(bill.total_name, format_duration(bill.time_s), f"${bill.shown(bill.total_usd)}", width=table)


def _row(name: str, time: str, cost: str, *, width: int) -> str:
    return f"  {name:<{width - 28}}{time:>14} {cost:>11}"


def _choices(plan: Plan, best: Candidate, width: int) -> Iterator[str]:
    """Yield the cheapest cluster, the recommended one and its neighbours on the frontier, with the price of each minute
    saved against the one above.
    """
    named = _named_points(plan, best)
    if len(named) < 2:
        return
    yield ""
    yield from _choices_heading(width)
    before = None
    for name, point in named.items():
        saved = f"{'' if before is None else _per_minute(before, point):>{_SAVED_WIDTH}}"
        cluster = cluster_name(point, several_pricings=len(plan.request.pricings) > 1) + place_suffix(plan, point)
        cluster = f"{cluster:<{_cluster_width(width)}}"
        costs = f"{format_duration(point.time_s):>12} {format_usd(point.cost_usd_total):>9}"
        line = f"  {name:<{_NAME_WIDTH}} {cluster} {costs}"
        if len(line) > width:  # a long name gets its own line
            yield f"  {name} {cluster.rstrip()}"[:width]
            line = f"{costs:>{width}}"
        yield f"{line}{saved}".rstrip() if len(line) + len(saved) <= width else line
        before = point


def _named_points(plan: Plan, best: Candidate) -> dict[str, FrontierPoint]:
    """Return the points of the frontier to choose from, slowest first, four at most. Faster points are left out if they
    are hardly faster.
    """
    points = sorted(plan.frontier, key=lambda point: -point.time_s)
    if not points:
        return {}
    cheapest = min(points, key=lambda point: point.cost_usd_total)
    recommended = next((point for point in points if is_point_of(point, best)), point_of(best))
    slower = [point for point in points if point.time_s > recommended.time_s * WORTH_IT]
    faster = [point for point in points if point.time_s * WORTH_IT <= recommended.time_s]
    named = {} if cheapest is recommended else {"cheapest": cheapest}
    if slower and slower[-1].time_s * WORTH_IT <= cheapest.time_s:
        named["next cheaper"] = slower[-1]
    named["recommended"] = recommended
    if faster:
        named["next faster"] = faster[0]
    return named


def _choices_heading(width: int) -> Iterator[str]:
    name, cluster = f"{_CHOICE:<{_NAME_WIDTH + 2}}", f"{'cluster':<{_cluster_width(width)}}"
    line = f"{name} {cluster} {'the sort':>12} {'the bill':>9}"
    saved = f"{_SAVED:>{_SAVED_WIDTH}}"
    yield line + saved if len(line) + len(saved) <= width else line


def _cluster_width(width: int) -> int:
    return min(_CLUSTER_WIDTH, max(11, width - _NAME_WIDTH - 26))


def is_point_of(point: FrontierPoint, best: Candidate) -> bool:
    """Return whether a point of the frontier is that cluster."""
    chosen = point_of(best)
    named = {name: getattr(point, name) or getattr(chosen, name) for name in ("pricing", "region")}  # '' in old plans
    return replace(point, time_s=chosen.time_s, cost_usd_total=chosen.cost_usd_total, **named) == chosen


def _per_minute(slower: FrontierPoint, faster: FrontierPoint) -> str:
    minutes = (slower.time_s - faster.time_s) / 60
    dearer = faster.cost_usd_total - slower.cost_usd_total
    return f"{format_usd(dearer / minutes)} a minute" if minutes > 0 and dearer > 0 else ""


def _capacity(plan: Plan, best: Candidate) -> Iterator[str]:
    asked = plan.capacity
    if asked is None:
        return
    where = "in one placement group" if best.placement_group else f"in {region_word(best.region)}"
    text = f"Capacity: ask for {asked.machines} machines {where} ({asked.vcpus:,.0f} vCPUs of quota) weeks before."
    yield f"{text} Best of at most {MACHINES_AT_HAND}: {_of_at_most(asked.smaller)}."


def _of_at_most(smaller: FrontierPoint | None) -> str:
    if smaller is None:
        return "none does the job within what is asked"
    figures = f"{format_duration(smaller.time_s)}, {format_usd(smaller.cost_usd_total)}"
    return f"{smaller.nodes} x {smaller.instance_type}, {figures}"


def _refreshed_note(plan: Plan) -> Iterator[str]:
    if plan.catalog.refreshed:
        yield f"types and prices of {', '.join(plan.catalog.refreshed)} as you refreshed them"


def _next(plan: Plan, width: int, *, notes: int) -> list[str]:
    several = f" and {count_text(notes, 'more note')}" if notes else ""
    stored = plan.request.output and not plan.request.has_several_models and plan.request.model != "object-store"
    if stored:
        return wrapped(f"Next: --model all, as a store keeps copies itself; --explain; --show wide{several}.", width)
    clusters = f"{len(plan.candidates)} of {plan.feasible}" if plan.not_shown else "all"
    return wrapped(f"Next: --explain says why; --show wide has {clusters} candidates{several}.", width)


def difference(before: Candidate, after: Candidate) -> str:
    """Return the effect of a what-if in a sentence: the cluster before it, and the changes in bill and time of the
    whole run.
    """
    was = f"{before.nodes} x {before.instance_type} for {format_duration(before.whole_run_s)}"
    cost = after.cost_usd.total / before.cost_usd.total - 1
    time = after.whole_run_s / before.whole_run_s - 1
    return (
        f"What if: before, {was}, {format_usd(before.cost_usd.total)} in all; now cost {cost:+.0%}, time {time:+.0%}."
    )
