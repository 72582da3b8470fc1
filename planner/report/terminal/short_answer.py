"""A plan on one screen: what to rent, the bill, its neighbours, what binds, how sure it is, what to type next.

At most 24 lines of 80 columns, as plain text, so that it reads alike in a terminal, a pipe and a log.
"""

from __future__ import annotations

import re
import textwrap
from collections.abc import Iterator
from typing import Final

from planner.cost_model.caveats import COMPUTED_DISKS
from planner.planning.ranking.capacity import MACHINES_AT_HAND
from planner.planning.request.stored_data import size_text
from planner.report.cluster_names import cluster_name
from planner.report.terminal.bill_items import bill_of
from planner.report.words import RESOURCE_WORDS, words
from planner.schemas.plan import Candidate, FrontierPoint, Plan
from planner.units import format_duration, format_usd

LINES: Final = 24
WORTH_IT: Final = 1.05
"""A cluster that costs more for speed is a choice from so many times the speed on."""
_CHOICE: Final = "  choice"
_SAVED: Final = "$/min saved"
_SAVED_WIDTH: Final = 13
_EVIDENCE: Final = {
    "measured": "measured",
    "derived": "computed from measured or stated ones",
    "spec": "stated by the cloud, not measured",
    "extrapolated": "extrapolated beyond what was measured",
    "recalled": "recalled, without a source at hand",
    "assumed": "assumed",
}

_BOUND_BY: Final = {"driver": "handing out tasks"}
"""Resources under names that a first reader knows."""


def short_answer(plan: Plan, *, width: int, before: Candidate | None = None) -> list[str]:
    """Return the answer in lines of at most `width` columns; the plan must have a best candidate. What a what-if
    changes, if the best cluster was another one `before`, comes first.
    """
    best = plan.best
    if best is None:
        return ["nothing feasible"]
    changes = [] if before is None else _wrap(difference(before, best), width)
    lines = [*changes, *_headline(plan, best, width), "", *_bill(best, width), *_choices(plan, best, width), ""]
    reasons = [binds(best), *_capacity(plan, best), _evidence_and_break_even(best)]
    reasons += [f"Most data: {plan.beyond}."] if plan.beyond else []
    lines += [line for reason in reasons for line in _wrap(reason, width)]
    notes = [*filter(None, [unmeasured_text(plan)])]
    notes += [f"Note: {in_words(warning)}" for warning in (*_refreshed_note(plan), *plan.warnings, *best.warnings)]
    ending = _next(plan, width, notes=len(notes))
    over = len(lines) + len(ending) - LINES
    with_notes = over + sum(len(_wrap(note, width)) for note in notes[:2])
    lines = _drop_least(lines, over=1 if with_notes == 1 else over)  # an empty line is worth less than a note
    for number, note in enumerate(notes):
        wrapped = _wrap(note, width)
        if len(lines) + len(wrapped) + len(ending) > LINES:
            return [*lines, *_next(plan, width, notes=len(notes) - number)]
        lines += wrapped
    return [*lines, *_next(plan, width, notes=0)]


def _drop_least(lines: list[str], *, over: int) -> list[str]:
    """Return the lines without so many that carry least: the last empty one, the choices' heading, the neighbours of
    the recommended cluster, the other empty ones.
    """
    heading = [number for number, line in enumerate(lines) if line.startswith(_CHOICE)]
    empty = [number for number, line in enumerate(lines) if line == ""]
    neighbours = [number for number, line in enumerate(lines) if line.startswith("  next ")]
    dropped = [*empty[-1:], *heading, *reversed(neighbours), *reversed(empty[:-1])][: max(over, 0)]
    return [line for number, line in enumerate(lines) if number not in dropped]


def in_words(warning: str) -> str:
    """Return a warning without the words of the field that a first reader cannot know: 'driver', 'cloud truth'."""
    warning = re.sub(r"^cloud truth (\d of \d):", r"\1 demands on a measurement are met:", warning)
    return re.sub(r"^driver:", f"{_BOUND_BY['driver']}:", warning)


def _wrap(text: str, width: int) -> list[str]:
    return textwrap.wrap(text, width, subsequent_indent="  ", break_on_hyphens=False)


def _headline(plan: Plan, best: Candidate, width: int) -> Iterator[str]:
    whole = format_duration(best.time_s.expected + sum(best.overheads_s.values()))
    place = f"{best.cloud} {best.region}" + (", one placement group" if best.placement_group else "")
    place += f", {best.pricing}" if best.pricing != "on-demand" or len(plan.request.pricings) > 1 else ""
    yield from _wrap(f"Rent {cluster_name(best)} ({place})", width)
    whole += _limit(plan.request.deadline_s)
    beside = f" and {', '.join(best.cost_usd.unknown)}, of unknown price" if best.cost_usd.unknown else " in all"
    yield from _wrap(f"for {whole}, {total_text(best)}{beside}.", width)
    yield from _wrap(deadline_text(plan), width)
    for text in plan.left_out:
        yield from _wrap(f"{text}; --rejected says more.", width)
    most = ", the most within what is asked," if plan.beyond else ""
    time = f"{format_duration(best.time_s.expected)} (95%: {format_duration(best.time_s.p95)})"
    time += _limit(plan.request.sort_deadline_s)
    durability = f": {best.durability}" if best.durability else ""
    yield from _wrap(f"The sort of {size_text(plan.request)}{most} takes {time}. {best.model}{durability}.", width)
    if best.cloud_type != best.instance_type:
        yield from _wrap(f"Order {best.cloud_type}, and the local disks with it.", width)


def deadline_text(plan: Plan) -> str:
    """Say how likely the deadline, named before, is kept, and what keeps it more surely; '' without a deadline."""
    likely, surer = plan.best.deadline_kept if plan.best else None, plan.surer
    if likely is None or plan.request.paper:
        return ""
    cluster = f"{surer.nodes} x {surer.instance_type}, {format_usd(surer.cost_usd_total)}" if surer else ""
    more = f"; in 95%: {cluster} (--confidence 95%)" if cluster else ""
    subject = "Kept" if plan.request.deadline_s else "Deadline kept"
    return f"{subject} in about {min(likely, 0.99):.0%} of runs{more}."


def total_text(best: Candidate) -> str:
    """Return the whole bill in words: a lower bound where part of it is unknown."""
    return f"{'at least ' if best.cost_usd.at_least else ''}{format_usd(best.cost_usd.total)}"


def _limit(deadline_s: float | None) -> str:
    return f" (deadline: {format_duration(deadline_s)})" if deadline_s else ""


def _bill(best: Candidate, width: int) -> Iterator[str]:
    """Yield the groups of the bill, in cents that add up to the total."""
    bill, table = bill_of(best), min(width, 64)
    for item in bill.items:
        if not (item.usd is None or item.time_s or float(bill.shown(item.usd).replace(",", ""))):
            continue  # what is left of rounding, and is nothing
        time = format_duration(item.time_s) if item.time_s else ""
        yield _row(item.name, time, bill.shown(item.usd), width=table)
    in_all = "all that is known" if best.cost_usd.unknown else "in all"
    in_all += f" (95%: {format_usd(best.cost_usd.total_p95)})"
    yield _row(in_all, format_duration(bill.time_s), f"${bill.shown(bill.total_usd)}", width=table)


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
        cluster = cluster_name(point, several_pricings=len(plan.request.pricings) > 1)
        cluster = f"{cluster:<{min(25, max(11, width - 42))}}"
        costs = f"{format_duration(point.time_s):>12} {format_usd(point.cost_usd_total):>9}"
        line = f"  {name:<16} {cluster} {costs}"
        if len(line) > width:  # a long name stands on a line of its own
            yield f"  {name} {cluster.rstrip()}"[:width]
            line = f"{costs:>{width}}"
        yield f"{line}{saved}".rstrip() if len(line) + len(saved) <= width else line
        before = point


def _named_points(plan: Plan, best: Candidate) -> dict[str, FrontierPoint]:
    """Return the points of the frontier to choose from, slowest first, four at most. Of faster ones nothing is said
    where they hardly are faster.
    """
    points = sorted(plan.frontier, key=lambda point: -point.time_s)
    if not points:
        return {}
    cheapest = min(points, key=lambda point: point.cost_usd_total)
    recommended = next((point for point in points if is_point_of(point, best)), cheapest)
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
    line = f"{_CHOICE:<18} {'cluster':<{min(25, max(11, width - 42))}} {'the sort':>12} {'the bill':>9}"
    saved = f"{_SAVED:>{_SAVED_WIDTH}}"
    yield line + saved if len(line) + len(saved) <= width else line


def is_point_of(point: FrontierPoint, best: Candidate) -> bool:
    """Whether a point of the frontier is that cluster."""
    place = (point.model, point.cloud, point.instance_type, point.bandwidth_weighting, point.nodes)
    alike = place == (best.model, best.cloud, best.instance_type, best.bandwidth_weighting, best.nodes)
    return alike and point.pricing in ("", best.pricing)


def _per_minute(slower: FrontierPoint, faster: FrontierPoint) -> str:
    minutes = (slower.time_s - faster.time_s) / 60
    dearer = faster.cost_usd_total - slower.cost_usd_total
    return format_usd(dearer / minutes) if minutes > 0 and dearer > 0 else ""


def binds(best: Candidate) -> str:
    """Return the resource whose doubling shortens the whole run most, and what each phase waits for."""
    waits = dict.fromkeys(_BOUND_BY.get(p.bottleneck, words(p.bottleneck)) for p in best.phases if p.resources)
    by_phase = [
        f"{_BOUND_BY.get(phase.bottleneck, words(phase.bottleneck))} ({phase.name})"
        for phase in best.phases
        if phase.resources
    ]
    phases = ", then ".join(by_phase if len(waits) > 1 else waits)
    whole_s = best.time_s.expected + sum(best.overheads_s.values())
    if not best.bottleneck or not whole_s:  # as in plans of earlier versions
        return f"What binds: {phases}."
    limit, saved_s = RESOURCE_WORDS[best.bottleneck], best.reliefs_s[best.bottleneck]
    more = "" if phases == limit else f" Phases wait for {phases}."
    return f"What binds: {limit} (twice as fast: {format_duration(saved_s)} less, {saved_s / whole_s:.0%}).{more}"


def _capacity(plan: Plan, best: Candidate) -> Iterator[str]:
    asked = plan.capacity
    if asked is None:
        return
    where = "in one placement group" if best.placement_group else f"in {best.region}"
    text = f"Capacity: ask for {asked.machines} machines {where} ({asked.vcpus:,.0f} vCPUs of quota) weeks before."
    yield f"{text} Best of at most {MACHINES_AT_HAND}: {_of_at_most(asked.smaller)}."


def _of_at_most(smaller: FrontierPoint | None) -> str:
    if smaller is None:
        return "none does the job within what is asked"
    figures = f"{format_duration(smaller.time_s)}, {format_usd(smaller.cost_usd_total)}"
    return f"{smaller.nodes} x {smaller.instance_type}, {figures}"


def evidence_text(best: Candidate) -> str:
    """Say what the figures that decide, rates as well as prices and shapes, rest on."""
    at_worst = "" if best.evidence == "measured" else "at worst "
    text = f"Sureness: the figures that decide are {at_worst}{_EVIDENCE.get(best.evidence, best.evidence)}."
    computed = any(warning.startswith(COMPUTED_DISKS) for warning in best.warnings)
    return f"{text} Nobody measured its disks: their rates are computed." if computed else text


def unmeasured_text(plan: Plan) -> str:
    """Say how many types are left out for want of a disk rate, and what measures one; '' where there are none."""
    if not plan.unmeasured:
        return ""
    count = sum(of_cloud.types for of_cloud in plan.unmeasured)
    subject = "1 type" if count == 1 else f"{count:,} types"
    rented = any("bench fleet" in of_cloud.measure for of_cloud in plan.unmeasured)
    return f"Left out: {subject} of unknown disk rate; planner bench {'fleet' if rented else 'disk'} measures it."


def _evidence_and_break_even(best: Candidate) -> str:
    overturn = break_even_text(best)
    return f"{evidence_text(best)} {overturn}." if overturn else evidence_text(best)


def _refreshed_note(plan: Plan) -> Iterator[str]:
    if plan.catalog.refreshed:
        yield f"types and prices of {', '.join(plan.catalog.refreshed)} as you refreshed them"


def _next(plan: Plan, width: int, *, notes: int) -> list[str]:
    several = f" and {notes} more note{'s' * (notes > 1)}" if notes else ""
    stored = plan.request.output and not plan.request.has_several_models and plan.request.model != "object-store"
    if stored:
        return _wrap(f"Next: --model all, as a store keeps copies itself; --explain; --wide{several}.", width)
    return _wrap(f"Next: --explain says why; --wide shows all candidates{several}.", width)


def difference(before: Candidate, after: Candidate) -> str:
    """Return what a what-if changes, in a sentence: the cluster, its cost and the time of the sort."""
    was, becomes = (
        f"{of.nodes} x {of.instance_type}, {format_usd(of.cost_usd.total)}, {format_duration(of.time_s.expected)}"
        for of in (before, after)
    )
    cost = after.cost_usd.total / before.cost_usd.total - 1
    time = after.time_s.expected / before.time_s.expected - 1
    return f"What if: was {was} -> {becomes} (cost {cost:+.0%}, time {time:+.0%})"


_ALL: Final = 0.995
"""A share that is told as 100%."""


def break_even_text(best: Candidate) -> str:
    """Return how far a doubtful rate may fall before another type is the better choice, and what measuring it costs;
    '' where nothing is known to overturn the recommendation.
    """
    turn = best.overturned_by
    if turn is None:
        return ""
    nodes = f"{best.nodes} node{'s' * (best.nodes > 1)}"
    many = turn.rate in ("local", "volumes")
    holds = f"{best.instance_type} stays the best choice while its {RESOURCE_WORDS[turn.rate]} at {nodes}"
    keeps = f"keep{'s' * (not many)} {turn.at_fraction:.0%} of what is planned; below it {turn.winner} is"
    if turn.at_fraction >= _ALL:
        keeps = f"{'are' if many else 'is'} as fast as planned; any slower, and {turn.winner} is"
    measuring = f"Measuring costs about {format_usd(turn.measure_usd)}: {turn.command}"
    return f"{holds} {keeps}. {measuring}"
