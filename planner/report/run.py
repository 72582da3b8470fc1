"""A run, predicted against measured, in a terminal and as a page; and the slowdowns of `planner emulate study`.

An error of the prediction is explained by one resource of its phase, from samples on the nodes. A phase lasts its
resource's busy seconds over the share of time in which it is busy. So an error is more or less work than planned, or a
resource that waited more or less than planned; the larger of the two factors is named.
"""

from __future__ import annotations

import math
import shlex
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, replace
from datetime import date
from typing import TYPE_CHECKING, Any, Final

from planner.report.clusters import bill_of_lines, items_text
from planner.report.section import Said, Section
from planner.report.words import phase_word, words
from planner.schemas.plan import PhaseEstimate
from planner.schemas.run_report import Check, PhaseComparison, RunReport
from planner.units import count_of, count_text, format_bytes, format_duration, format_rate, format_usd

if TYPE_CHECKING:
    from planner.clusters.emulated.study import Measured
    from planner.report.page.rendering import KeyFigure

_WORTH_NAMING: Final = 0.1
"""Least error worth naming, as a share of the phase's time, and of half the whole sort's."""
_VALIDATED: Final = "Validated"
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


def render_run(report: RunReport) -> Iterator[Said | Section]:
    """Yield the whole report."""
    yield _verdict(report)
    yield _phases(report, total=True)
    yield from _filled(_resources(report))
    yield from map(Said, run_misses(report))
    yield from _filled(_staging(report))
    if report.manifest:
        yield Said(f"The output's partitions are listed in {report.manifest}")
    yield Said(_rented(report) if report.first_plan else _machine(report.machine), style="dim")
    yield from _events(report.sort)
    steps = ", ".join(f"{name} {format_duration(s)}" for name, s in report.steps_s.items())
    yield Said(f"Steps: {steps}", style="dim")
    for check in report.checks:
        text = f"{check.path}: {', '.join(_found(check))}, {count_text(check.duplicates, 'duplicate key')}"
        yield Said(f"{text}, checksum {check.checksum}", style="" if check.passed else "bold red")
    if report.asked:
        yield Said(f"To do this run again: {_command(report)}", style="dim")


def _filled(section: Section) -> list[Section]:
    return [section] if section.rows else []


def _found(check: Check) -> tuple[str, str, str]:
    """Return whether a file is as it should be, what it holds, and its order."""
    order = "sorted" if check.sorted else "not sorted"
    return "ok" if check.passed else "WRONG", count_of(check.records, check.unit), order


def _sums_s(report: RunReport) -> tuple[float, float]:
    """Return the seconds of all phases, predicted and measured."""
    return sum(phase.predicted_s for phase in report.phases), sum(phase.measured_s for phase in report.phases)


def _verdict(report: RunReport) -> Said:
    request = report.plan.request
    size, (_, sort_s) = format_bytes(request.data_bytes), _sums_s(report)
    if not report.passed:
        return Said(f"FAILED: the output of the {size} sort is not what it should be.", style="bold red")
    copies = f"{len(report.checks)} copies" if len(report.checks) > 1 else "output"
    rate = format_rate(request.data_bytes / sort_s) if sort_s else "-"
    text = f"Sorted and validated {size} under the {request.model} model in {format_duration(sort_s)} ({rate}); "
    return Said(f"{text}{copies} in order, checksum {report.checks[0].checksum}.", style="bold green")


def _phases(report: RunReport, *, total: bool) -> Section:
    """Return a row for each phase, predicted and measured; and with `total` one for all, if there are several."""
    columns = ("phase", "predicted", "measured", "error", "waits for", "was busy")
    rows = [
        (
            phase.name,
            format_duration(phase.predicted_s),
            format_duration(phase.measured_s),
            f"{phase.error:+.0%}",
            phase_word(phase.bottleneck),
            ", ".join(f"{n} {100 * share:.0f}%" for n, share in sorted(phase.utilisation.items(), key=lambda i: -i[1]))
            or "-",
        )
        for phase in report.phases
    ]
    if total and len(rows) > 1:
        predicted_s, measured_s = _sums_s(report)
        error = f"{100 * (predicted_s / measured_s - 1):+.0f}%"
        rows.append(("all", format_duration(predicted_s), format_duration(measured_s), error, "", ""))
    return Section(title="Predicted by the equations, and measured", columns=columns, rows=rows, numbers=(1, 2, 3))


def _resources(report: RunReport) -> Section:
    """Return a row for each sampled resource of each phase, predicted and measured in separate columns."""
    rows = [
        (
            time.phase,
            time.resource,
            format_duration(time.planned_s),
            format_duration(time.measured_s),
            *(_or(r, "-", format_rate) for r in (time.planned_bytes_per_s, time.measured_bytes_per_s)),
        )
        for time in resource_times(report)
        if time.measured_s is not None
    ]
    columns = ("phase", "resource", "works, predicted", "measured", "moves, predicted", "measured")
    return Section(columns=columns, rows=rows, numbers=(2, 3, 4, 5))


def _staging(report: RunReport) -> Section:
    """Return the transfers from and to an object store, or to a folder, and the output's place."""
    rows = [
        (
            of.name,
            _or(of.predicted_s, "unknown", format_duration),
            format_duration(of.measured_s),
            *(_or(usd, "unknown", format_usd) for usd in (of.predicted_usd, of.measured_usd)),
            f"{format_bytes(of.bytes)}{f' by {of.requests} requests' if of.requests else ''}, {of.place}",
        )
        for of in report.staging
    ]
    columns = ("step", "predicted", "measured", "cost predicted", "cost measured", "moved")
    return Section(columns=columns, rows=rows, numbers=(1, 2, 3, 4))


def _or(value: float | None, unknown: str, show: Callable[[float], str]) -> str:
    return unknown if value is None else show(value)


def _events(sort: dict[str, Any]) -> Iterator[Said]:
    told = ", ".join(f"{of['phase']} {of['start_s']:.1f}-{of['end_s']:.1f} s" for of in sort.get("timeline", []))
    if told:
        yield Said(f"Timeline: {told}", style="dim")
    for node in sort.get("lost_nodes", []):
        yield Said(f"Lost meanwhile: {node}", style="bold")
    for node, reason in sort.get("slow_nodes", {}).items():
        yield Said(f"Slow: {node}, {reason}", style="bold")


def _machine(observed: dict[str, Any]) -> str:
    """Return the measurements on the machine itself."""
    link = observed.get("network_bytes_per_s")
    links = "" if link is None else f"; each link carries {format_rate(link)} of payload"
    rates = observed.get("cpu_bytes_per_s_per_vcpu", {})
    told = ", ".join(f"{format_rate(rate)} to {work}" for work, rate in rates.items())
    return (
        f"Measured beforehand: reads {format_rate(observed['read_bytes_per_s'])}, writes "
        f"{format_rate(observed['write_bytes_per_s'])} (the sort's own path, median of {observed['repeats']} trials of "
        f"{format_bytes(observed['sample_bytes'])}){links}"
        + (f"; a processor's rate for each node: {told}" if told else "")
    )


def _rented(report: RunReport) -> str:
    """Return the measurements on rented machines, their effect on the plan, and the machines' cost."""
    observed, planned, first = report.machine, report.plan.best, report.first_plan and report.first_plan.best
    rates = {"reads": "read_bytes_per_s", "writes": "write_bytes_per_s", "network": "network_bytes_per_s"}
    stated = ", ".join(f"{name} {format_rate(observed[key])}" for name, key in rates.items() if observed.get(key))
    lines = [f"The slowest of {observed['nodes']} x {observed['instance_type']} in {observed['place']}: {stated}"]
    lines += [f"Sent away: {node}, {why}" for node, why in observed["dropped"].items()]
    if planned and first:
        before_s, after_s = first.time_s.expected, planned.time_s.expected
        lines.append(f"Expected before measuring {format_duration(before_s)}, after it {format_duration(after_s)}")
    if cost := report.cost:
        lines.append(
            f"Cost so far {format_usd(cost.usd)} for {cost.node_hours:.2f} node-hours at the price of the launch; "
            f"planned {format_usd(cost.predicted_usd)}"
        )
        lines += [f"Of it: {items_text(bill_of_lines(cost.bill))}"] if cost.bill else []
    return "\n".join(lines)


def _command(report: RunReport) -> str:
    """Return the command that repeats the run, quoted for a shell; '' if the report lacks it."""
    return shlex.join(["planner", *report.asked]) if report.asked else ""


def run_page(report: RunReport, *, made_on: date | None = None) -> str:
    """Return the page as HTML. Raises PlannerError without the extra `plots`."""
    from planner.report import frames, plots
    from planner.report.page.rendering import Figure, render

    size = format_bytes(report.plan.request.data_bytes)
    verdict = f"Sorted and validated {size}" if report.passed else f"FAILED: the output of the {size} sort is not right"
    errors = ", ".join(f"{phase.name} {phase.error:+.0%}" for phase in report.phases)
    figures = [
        Figure(
            name="predicted",
            title="Predicted and measured",
            text=f"Seconds of each phase as planned and as measured. Error of the prediction: {errors}.",
            chart=plots.predicted_and_measured(frames.run_phases_frame(report)),
        ),
        Figure(
            name="timeline",
            title="Timeline",
            text="When each step began and ended on each node; the table has the same in figures.",
            chart=plots.timeline(frames.timeline_frame(report)),
        ),
    ]
    steps = [(name, format_duration(seconds)) for name, seconds in report.steps_s.items()]
    facts = [(words(n), f"{v:.6g}" if isinstance(v, float) else str(v)) for n, v in report.machine.items()]
    return render(
        "run.html",
        figures=figures,
        title=verdict,
        made_on=made_on,
        asked=f"A run under the {report.plan.request.model} model",
        headline=verdict,
        key_figures=list(_key_figures(report)),
        failed="" if report.passed else _VALIDATED,
        compared=replace(_phases(report, total=False), title="Phases, predicted and measured"),
        resources=replace(_resources(report), title="Resources, predicted and measured"),
        misses=list(run_misses(report)),
        steps=Section(title="Steps of the run", columns=("step", "time"), rows=steps, numbers=(1,)),
        checks=Section(
            title="Files checked",
            columns=("file", "verdict", "holds", "order", "duplicate keys", "checksum"),
            rows=[(of.path, *_found(of), str(of.duplicates), of.checksum) for of in report.checks],
            numbers=(2, 4),
        ),
        command=_command(report),
        machine=Section(title="Machine", columns=("what", "value"), rows=facts),
    )


def _key_figures(report: RunReport) -> Iterator[KeyFigure]:
    predicted, measured = _sums_s(report)
    rate = f"{format_rate(report.plan.request.data_bytes / measured)}" if measured else "-"
    error = f"{predicted / measured - 1:+.0%} off" if measured else ""
    good, files = sum(check.passed for check in report.checks), count_text(len(report.checks), "file")
    note = "in order, with the checksum of the input" if report.passed else "see the table of files"
    yield "The sort took", format_duration(measured), rate
    yield "Predicted", format_duration(predicted), error
    yield _VALIDATED, f"{good} of {files}", note


def render_study(measured: list[Measured]) -> Iterator[Said | Section]:
    """Yield the table, and the study's Table 2 below it."""
    from planner.clusters.emulated.study import TABLE_2, slowdowns

    names = ("measured", "least", "most", "predicted", "study")
    rows = [
        (row.network, *(_or(getattr(row, name), "-", "{:.2f}".format) for name in names)) for row in slowdowns(measured)
    ]
    columns = ("network", *names[:-1], "study (Terasort)")
    yield Section(title="Times the homogeneous network", columns=columns, rows=rows, numbers=(1, 2, 3, 4, 5))
    applications = ", ".join(f"{name} {factor:.2f} ({cloud})" for name, (factor, cloud) in TABLE_2.items())
    source = f"Greatest slowdowns in Uta and Obaseki, ICPE 2018, Table 2, of Spark on 16 nodes: {applications}"
    yield Said(source, style="dim")
