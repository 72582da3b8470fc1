"""Errors of a run's prediction: for each phase the resource that explains its error, from samples on the nodes.

A phase lasts its resource's busy seconds over the share of time in which it is busy. So an error is more or less work
than planned, or a resource that waited more or less than planned; the larger of the two factors is named.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Final

from planner.report.words import phase_word
from planner.schemas.plan import PhaseEstimate
from planner.schemas.run_report import PhaseComparison, RunReport
from planner.units import format_duration, format_rate

_WORTH_NAMING: Final = 0.1
"""Least error worth naming, as a share of the phase's time, and of half the whole sort's."""
_DISKS: Final = ("_disks", "volumes")
_NOUNS: Final = {"cpu": "processors", "network": "links", "disks": "disks"}
_CAUSES: Final = {
    ("cpu", True): "; compression, memory touched for the first time or slower processors do that",
    ("disks", False): "; the page cache keeps files from disks",
}
"""Causes by resource, and by whether it worked more than planned."""


@dataclass(frozen=True, kw_only=True)
class ResourceTime:
    """One resource in one phase: its planned and measured busy time, of the phase's seconds, and its mean bytes/s over
    the phase. None is unsampled, or a resource that moves no bytes.
    """

    phase: str
    resource: str
    planned_s: float
    measured_s: float | None
    planned_bytes_per_s: float | None
    measured_bytes_per_s: float | None


def resource_times(report: RunReport) -> Iterator[ResourceTime]:
    """Yield each planned resource of each phase, predicted and measured separately."""
    estimates = _estimates(report)
    for phase in report.phases:
        if phase.name in estimates and phase.predicted_s > 0:
            yield from _times(phase, estimates[phase.name])


def run_misses(report: RunReport) -> Iterator[str]:
    """Yield a sentence for each phase whose prediction was off."""
    estimates = _estimates(report)
    whole_s = sum(phase.measured_s for phase in report.phases)
    for number, phase in enumerate(report.phases):
        missed_s = abs(phase.measured_s - phase.predicted_s)
        least_s = _WORTH_NAMING * max(phase.measured_s, whole_s / 2)
        if phase.name in estimates and phase.predicted_s > 0 and missed_s > least_s:
            more = "longer" if phase.measured_s > phase.predicted_s else "less"
            times = f"{phase.measured_s / phase.predicted_s:.2f} times as long as predicted"
            reason = _reason(phase, estimates[phase.name], step=_busiest_step(report, number))
            yield f"{phase.name.capitalize()} took {format_duration(missed_s)} {more}, {times}: {reason}."


def _estimates(report: RunReport) -> dict[str, PhaseEstimate]:
    return {phase.name: phase for phase in (report.plan.best.phases if report.plan.best else ())}


def _reason(phase: PhaseComparison, estimate: PhaseEstimate, *, step: str) -> str:
    times = {time.resource: time for time in _times(phase, estimate)}
    known = {name: t for name, t in times.items() if t.measured_s and t.planned_s > 0}
    if not known:
        return f"{_unsampled(phase, estimate)}{step}"
    name = _explaining(phase, known)
    time = known[name]
    measured_s = time.measured_s or 0.0
    share, planned_share = measured_s / phase.measured_s, time.planned_s / phase.predicted_s
    work, waiting = measured_s / time.planned_s, planned_share / share
    if abs(math.log(work)) < abs(math.log(waiting)):
        busy = f"busy {share:.0%} of the time, not {planned_share:.0%}"
        if time.measured_bytes_per_s is None or time.planned_bytes_per_s is None:
            return f"{_NOUNS[name]} were {busy}"
        gave, planned = format_rate(time.measured_bytes_per_s), format_rate(time.planned_bytes_per_s)
        return f"{_NOUNS[name]} gave {gave}, {planned} were planned ({busy})"
    seconds = f"{format_duration(measured_s)}, not {format_duration(time.planned_s)}"
    return f"{_NOUNS[name]} worked {seconds}{_CAUSES.get((name, work > 1), '')}"


def _explaining(phase: PhaseComparison, known: Mapping[str, ResourceTime]) -> str:
    """Return the resource that delayed a slow phase, or that a fast one was planned to wait for."""
    planned = "disks" if phase.bottleneck.endswith(_DISKS) else phase.bottleneck
    is_slow = phase.measured_s > phase.predicted_s
    return planned if planned in known and not is_slow else max(known, key=lambda name: known[name].measured_s or 0.0)


def _times(phase: PhaseComparison, estimate: PhaseEstimate) -> Iterator[ResourceTime]:
    """Yield the sampled resources in the plan's terms: all disks together as one."""
    disks = [use for name, use in estimate.resources.items() if name.endswith(_DISKS)]
    rates = {name: use.bytes_per_s for name, use in estimate.resources.items() if name == "network"}
    planned_s = {name: use.equation_s for name, use in estimate.resources.items() if name in _NOUNS}
    if rate := sum(use.bytes_per_s for use in disks):
        rates["disks"], planned_s["disks"] = rate, sum(use.bytes_per_node for use in disks) / rate
    for name, seconds in planned_s.items():
        share = phase.utilisation.get(name) or None
        yield ResourceTime(
            phase=phase.name,
            resource=name,
            planned_s=seconds,
            measured_s=None if share is None else share * phase.measured_s,
            planned_bytes_per_s=rates[name] * seconds / phase.predicted_s if name in rates else None,
            measured_bytes_per_s=rates[name] * share if name in rates and share is not None else None,
        )


def _unsampled(phase: PhaseComparison, estimate: PhaseEstimate) -> str:
    """Return the rate that the planned bottleneck would have reached, had it been the bottleneck."""
    use = estimate.resources.get(phase.bottleneck)
    if use is None or not use.bytes_per_node:
        return "what was busy is not known"
    reached, planned = (format_rate(use.bytes_per_node / s) for s in (phase.measured_s, phase.predicted_s))
    return f"if it waited for its {phase_word(phase.bottleneck)}, as planned, they moved {reached}, not {planned}"


def _busiest_step(report: RunReport, number: int) -> str:
    """Return the sort core's record of a phase on one machine: the step that waited least. Its phases have their own
    names, in the plan's order.
    """
    phases = report.sort.get("phases", [])
    if len(phases) != len(report.phases) or not phases[number].get("bottleneck"):
        return ""
    step = next(stage for stage in phases[number]["stages"] if stage["name"] == phases[number]["bottleneck"])
    share = step["working_s"] / step["threads"] / phases[number]["seconds"]
    return f"; of its steps '{step['name']}' was the busiest, {share:.0%} of the time"
