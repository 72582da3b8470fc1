"""What a run's prediction missed: of each phase the resource that explains it, from what was sampled on the nodes.

A phase lasts its resource's busy seconds over the share of time in which it is busy. So a miss is work that was not as
planned, or a resource that waited more or less than planned; the larger of the two factors is named.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from typing import Final

from planner.report.words import words
from planner.schemas.plan import PhaseEstimate
from planner.schemas.run_report import PhaseComparison, RunReport
from planner.units import format_duration, format_rate

_WORTH_NAMING: Final = 0.1
"""Of the phase's time; and half of it of the whole sort's."""
_DISKS: Final = ("_disks", "volumes")
_NOUNS: Final = {"cpu": "processors", "network": "links", "disks": "disks"}
_CAUSES: Final = {
    ("cpu", True): "; compression, memory touched for the first time or slower processors do that",
    ("disks", False): "; the page cache keeps files from disks",
}
"""By resource, and whether it worked more than planned."""


def run_misses(report: RunReport) -> Iterator[str]:
    """Yield a sentence for each phase whose prediction missed."""
    estimates = {phase.name: phase for phase in (report.plan.best.phases if report.plan.best else ())}
    whole_s = sum(phase.measured_s for phase in report.phases)
    for phase in report.phases:
        missed_s = abs(phase.measured_s - phase.predicted_s)
        least_s = _WORTH_NAMING * max(phase.measured_s, whole_s / 2)
        if phase.name in estimates and phase.predicted_s > 0 and missed_s > least_s:
            times = f"{phase.measured_s / phase.predicted_s:.2f} times as long as predicted"
            yield f"{phase.name.capitalize()} took {times}: {_reason(phase, estimates[phase.name])}."


def _reason(phase: PhaseComparison, estimate: PhaseEstimate) -> str:
    planned_s = _planned_busy_s(estimate)
    known = {name: share for name, share in phase.utilisation.items() if share > 0 and planned_s.get(name, 0.0) > 0}
    if not known:
        return _unsampled(phase, estimate)
    name = _explaining(phase, known)
    share = known[name]
    planned_share, busy_s = planned_s[name] / phase.predicted_s, share * phase.measured_s
    work, waiting = busy_s / planned_s[name], planned_share / share
    if abs(math.log(work)) < abs(math.log(waiting)):
        return f"{_NOUNS[name]} were busy {share:.0%} of the time, not {planned_share:.0%}"
    seconds = f"{format_duration(busy_s)}, not {format_duration(planned_s[name])}"
    return f"{_NOUNS[name]} worked {seconds}{_CAUSES.get((name, work > 1), '')}"


def _explaining(phase: PhaseComparison, known: Mapping[str, float]) -> str:
    """Return the resource that held up a slow phase, or that a quick one was planned to wait for."""
    planned = "disks" if phase.bottleneck.endswith(_DISKS) else phase.bottleneck
    is_slow = phase.measured_s > phase.predicted_s
    return planned if planned in known and not is_slow else max(known, key=lambda name: known[name])


def _planned_busy_s(estimate: PhaseEstimate) -> dict[str, float]:
    """Return the seconds that each sampled resource needs by the plan: all disks together as one."""
    disks = [use for name, use in estimate.resources.items() if name.endswith(_DISKS)]
    rate = sum(use.bytes_per_s for use in disks)
    planned_s = {name: use.equation_s for name, use in estimate.resources.items() if name in _NOUNS}
    return planned_s | ({"disks": sum(use.bytes_per_node for use in disks) / rate} if rate else {})


def _unsampled(phase: PhaseComparison, estimate: PhaseEstimate) -> str:
    """Return what the planned bottleneck would have reached, had it been the one."""
    use = estimate.resources.get(phase.bottleneck)
    if use is None or not use.bytes_per_node:
        return "what was busy is not known"
    reached, planned = (format_rate(use.bytes_per_node / s) for s in (phase.measured_s, phase.predicted_s))
    return f"if it waited for its {words(phase.bottleneck)}, as planned, they moved {reached}, not {planned}"
