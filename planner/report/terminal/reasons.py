"""Reasons for a cluster, in sentences: what it waits for, the gain from relieving that, the runner-up, and why the
obvious choice lost.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from planner.planning.ranking.refusal import refusal_of
from planner.planning.what_if.what_if import Contrast
from planner.report.clusters import cluster_name
from planner.report.terminal.decision import DECIDING, break_even_text
from planner.report.words import RESOURCE_WORDS, phase_word
from planner.schemas.plan import Candidate, Plan
from planner.units import count_text, format_duration, format_usd

_NOTHING = 0.005
"""Changes below half a percent are called none."""


def reasons(plan: Plan, contrast: Contrast) -> list[str]:
    """Return the reasons for the best candidate, one sentence or two each."""
    best = plan.best
    if best is None:
        return []
    return [
        *_objective(plan),
        *_bottlenecks(best),
        *_staging(best),
        *_reliefs(best, contrast),
        *_effects_of_doubling(best, contrast.doubled),
        *_others(plan, best),
        *_storage_alone(best, contrast.storage_alone),
        *_evidence(best),
        *(f"{note[0].upper()}{note[1:]}." for note in plan.warnings if note.startswith("your own measurements")),
    ]


def refusal(plan: Plan) -> list[str]:
    """Return why nothing is feasible, in lines: first what clashes, then the nearest types."""
    return str(refusal_of(plan)).splitlines()


def _objective(plan: Plan) -> Iterator[str]:
    request = plan.request
    limits = [f"ends within {format_duration(request.deadline_s)}"] if request.deadline_s else []
    limits += [f"sorts within {format_duration(request.sort_deadline_s)}"] if request.sort_deadline_s else []
    limits += [f"stays below {format_usd(request.budget_usd)}"] if request.budget_usd else []
    if limits and request.confidence:
        limits.append(f"does so with probability {request.confidence:g}")
    aim = {
        "balanced": "It is the fastest cluster, to a minute or 1%, within 5% of the least total cost, or for less than "
        "$0.25 more for each hour that it saves",
        "cost": "It has the least total cost",
        "time": "It costs least of those within 1% of the fastest",
        "energy": "Its job takes the least energy",
    }[request.objective]
    yield aim + (f" that {' and '.join(limits)}." if limits else ".")


def _bottlenecks(best: Candidate) -> Iterator[str]:
    whole = sum(phase.time_s for phase in best.phases)
    for phase in best.phases:
        share = f"{phase.time_s / whole:.0%} of the sort" if whole else ""
        others = sorted((use.time_s, name) for name, use in phase.resources.items() if name != phase.bottleneck)
        then = f"; {phase_word(others[-1][1])} would take {format_duration(others[-1][0])}" if others else ""
        waits = f"waits {format_duration(phase.time_s)} for {phase_word(phase.bottleneck)}"
        yield f"Phase “{phase.name}” ({share}) {waits}{then}."


def _staging(best: Candidate) -> Iterator[str]:
    for line in best.bill:
        if line.name in ("stage in", "stage out") and line.note:
            yield f"{line.name.capitalize()} takes {format_duration(line.time_s or 0.0)} at {line.note}."


def _reliefs(best: Candidate, contrast: Contrast) -> Iterator[str]:
    gains = {name: _change(made, best)[0] for name, made in contrast.reliefs.items()}
    useless = [RESOURCE_WORDS[name] for name, change in gains.items() if abs(change) < _NOTHING]
    for name, change in sorted(gains.items(), key=lambda item: item[1]):
        slower = f"; half as fast: {_changes(contrast.burdens[name], best)}" if name in contrast.burdens else ""
        if abs(change) >= _NOTHING:
            yield f"With the {RESOURCE_WORDS[name]} twice as fast: {_changes(contrast.reliefs[name], best)}{slower}."
    if useless:
        yield f"Twice as fast, {' or '.join(useless)} would change nothing."


def _effects_of_doubling(best: Candidate, doubled: Mapping[str, Candidate | None]) -> Iterator[str]:
    says = {"data": "Twice the data", "price": "Prices twice as high"}
    for name, made in doubled.items():
        effect = f": {_changes(made, best)}." if made else f" is too much for {count_text(best.nodes, 'node')}."
        yield f"{says[name]}{effect}"


def _storage_alone(best: Candidate, other: Plan | None) -> Iterator[str]:
    """Yield why the obvious choice lost: the one in SoCC 2015, section 4.2, made without regard to the network."""
    if other is None:
        return
    judged = f"By storage alone, as if no network were too slow, {other.request.instances[0]} would look best"
    if other.best is None:
        why = other.rejected[0].reason if other.rejected else "nothing feasible"
        yield f"{judged}; with the network it has: {why}."
        return
    slow = max(other.best.phases, key=lambda phase: phase.time_s)
    waits = f"and waits longest for {phase_word(slow.bottleneck)}, in “{slow.name}”"
    there = f"with the network it has it takes {_changes(other.best, best)} on {count_text(other.best.nodes, 'node')}"
    yield f"{judged}; {there}, {waits}."


def _others(plan: Plan, best: Candidate) -> Iterator[str]:
    others = [candidate for candidate in plan.candidates if candidate != best]
    if others:
        yield f"Next best: {_comparison(others[0], best)}."
        cheapest = min(others, key=lambda candidate: candidate.price_usd_per_hour)
        if cheapest != others[0] and cheapest.price_usd_per_hour < best.price_usd_per_hour:
            yield f"Cheapest by the hour of those shown: {_comparison(cheapest, best)}."


def _evidence(best: Candidate) -> Iterator[str]:
    yield f"The weakest of the rates that it waits for is {DECIDING.get(best.evidence, best.evidence)}."
    if overturn := break_even_text(best):
        yield f"{overturn}."


def _comparison(candidate: Candidate, best: Candidate) -> str:
    slow = max(candidate.phases, key=lambda phase: phase.time_s)
    waits = f"waits longest for {phase_word(slow.bottleneck)}, in “{slow.name}”"
    return f"{cluster_name(candidate)} ({candidate.model}), {_changes(candidate, best)}; {waits}"


def _change(candidate: Candidate, best: Candidate) -> tuple[float, float]:
    """Return the changes of time and bill of the whole run, as fractions of the best's."""
    bill = candidate.cost_usd.total / best.cost_usd.total - 1 if best.cost_usd.total else 0.0
    return candidate.whole_run_s / best.whole_run_s - 1, bill


def _changes(candidate: Candidate, best: Candidate) -> str:
    time, bill = _change(candidate, best)
    return f"time {time:+.0%}, bill {bill:+.0%}"
