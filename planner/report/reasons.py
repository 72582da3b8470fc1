"""Why this cluster, in sentences: what it waits for, what relieving that would buy, and who came next."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from planner.plan import Candidate, Plan
from planner.report.frames import cluster_name, words
from planner.units import format_duration, format_usd

_NOTHING = 0.005
"""A change below half a percent is called none."""


def reasons(plan: Plan, *, reliefs: Mapping[str, Candidate]) -> list[str]:
    """Return the reasons for the best candidate; `reliefs` is the same cluster with each resource twice as fast."""
    best = plan.best
    if best is None:
        return []
    return [*_objective(plan), *_bottlenecks(best), *_reliefs(best, reliefs), *_others(plan, best), *_evidence(best)]


def _objective(plan: Plan) -> Iterator[str]:
    request = plan.request
    limits = [f"ends within {format_duration(request.deadline_s)}"] if request.deadline_s else []
    limits += [f"stays below {format_usd(request.budget_usd)}"] if request.budget_usd else []
    if limits and request.confidence:
        limits.append(f"does so with probability {request.confidence:g}")
    aim = {
        "balanced": "It is the fastest cluster within 5% of the least total cost",
        "cost": "It has the least total cost",
        "time": "It is the fastest",
    }[request.objective]
    yield aim + (f" that {' and '.join(limits)}." if limits else ".")


def _bottlenecks(best: Candidate) -> Iterator[str]:
    whole = best.time_s.equation
    for phase in best.phases:
        share = f"{phase.time_s / whole:.0%} of the time" if whole else ""
        yield f"Phase “{phase.name}” ({share}) waits for {words(phase.bottleneck)}."


def _reliefs(best: Candidate, reliefs: Mapping[str, Candidate]) -> Iterator[str]:
    gains = {name: made.time_s.expected / best.time_s.expected - 1 for name, made in reliefs.items()}
    useless = [_resource(name) for name, change in gains.items() if abs(change) < _NOTHING]
    for name, change in sorted(gains.items(), key=lambda item: item[1]):
        if abs(change) >= _NOTHING:
            bill = reliefs[name].cost_usd.total / best.cost_usd.total - 1 if best.cost_usd.total else 0.0
            yield f"With the {_resource(name)} twice as fast: time {change:+.0%}, bill {bill:+.0%}."
    if useless:
        yield f"A faster {' or '.join(useless)} would change nothing."


def _others(plan: Plan, best: Candidate) -> Iterator[str]:
    others = [one for one in plan.candidates if one != best]
    if others:
        yield f"Next best: {_beside(others[0], best)}."
        cheapest = min(others, key=lambda one: one.price_usd_per_hour)
        if cheapest != others[0] and cheapest.price_usd_per_hour < best.price_usd_per_hour:
            yield f"Cheapest by the hour of those shown: {_beside(cheapest, best)}."


def _evidence(best: Candidate) -> Iterator[str]:
    meaning = {
        "measured": "measured",
        "spec": "at best stated by the cloud, not measured",
        "extrapolated": "extrapolated beyond what was measured",
        "recalled": "recalled from memory, without a source at hand",
        "assumed": "assumed",
    }
    yield f"The weakest of the rates behind it is {meaning.get(best.evidence, best.evidence)}."


def _beside(one: Candidate, best: Candidate) -> str:
    time = one.time_s.expected / best.time_s.expected - 1
    bill = f", bill {one.cost_usd.total / best.cost_usd.total - 1:+.0%}" if best.cost_usd.total else ""
    return f"{cluster_name(one)} ({one.model}), time {time:+.0%}{bill}"


def _resource(name: str) -> str:
    return {"local": "local disks", "objects": "object store", "cpu": "processor"}.get(name, name)
