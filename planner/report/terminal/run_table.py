"""A RunReport in the terminal, predicted against measured; and the slowdowns of `planner emulate study`."""

from __future__ import annotations

import shlex
from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING, Any

from rich.console import Group, RenderableType
from rich.text import Text

from planner.report.run_misses import resource_times, run_misses
from planner.report.section import Section, rich_table
from planner.report.words import phase_word
from planner.schemas.run_report import RunReport
from planner.units import count_of, count_text, format_bytes, format_duration, format_rate, format_usd

if TYPE_CHECKING:
    from planner.clusters.emulated.study import Measured


def render_run(report: RunReport) -> RenderableType:
    """Return the whole report."""
    resources, staging = resources_section(report), _staging(report)
    steps = ", ".join(f"{name} {format_duration(s)}" for name, s in report.steps_s.items())
    return Group(
        _verdict(report),
        rich_table(phases_section(report)),
        *([rich_table(resources)] if resources.rows else []),
        *map(Text, run_misses(report)),
        *([rich_table(staging)] if staging.rows else []),
        *([Text(f"The output's partitions are listed in {report.manifest}")] if report.manifest else []),
        Text(_rented(report) if report.first_plan else _machine(report.machine), style="dim"),
        *_events(report.sort),
        Text(f"Steps: {steps}", style="dim"),
        *_checks(report),
        *([Text(f"To do this run again: {command_text(report)}", style="dim")] if report.asked else []),
    )


def _verdict(report: RunReport) -> Text:
    request = report.plan.request
    size, sort_s = format_bytes(request.data_bytes), sum(phase.measured_s for phase in report.phases)
    if not report.passed:
        return Text(f"FAILED: the output of the {size} sort is not what it should be.", style="bold red")
    copies = f"{len(report.checks)} copies" if len(report.checks) > 1 else "output"
    rate = format_rate(request.data_bytes / sort_s) if sort_s else "-"
    text = f"Sorted and validated {size} under the {request.model} model in {format_duration(sort_s)} ({rate}); "
    return Text(f"{text}{copies} in order, checksum {report.checks[0].checksum}.", style="bold green")


def phases_section(report: RunReport, *, total: bool = True) -> Section:
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
        predicted_s, measured_s = (
            sum(getattr(p, name) for p in report.phases) for name in ("predicted_s", "measured_s")
        )
        error = f"{100 * (predicted_s / measured_s - 1):+.0f}%"
        rows.append(("all", format_duration(predicted_s), format_duration(measured_s), error, "", ""))
    return Section(title="Predicted by the equations, and measured", columns=columns, rows=rows, numbers=(1, 2, 3))


def resources_section(report: RunReport) -> Section:
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


def _events(sort: dict[str, Any]) -> Iterator[Text]:
    told = ", ".join(f"{of['phase']} {of['start_s']:.1f}-{of['end_s']:.1f} s" for of in sort.get("timeline", []))
    if told:
        yield Text(f"Timeline: {told}", style="dim")
    for node in sort.get("lost_nodes", []):
        yield Text(f"Lost meanwhile: {node}", style="bold")
    for node, reason in sort.get("slow_nodes", {}).items():
        yield Text(f"Slow: {node}, {reason}", style="bold")


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
    return "\n".join(lines)


def _checks(report: RunReport) -> Iterator[Text]:
    for check in report.checks:
        state, order = "ok" if check.passed else "WRONG", "sorted" if check.sorted else "not sorted"
        held = f"{count_of(check.records, check.unit)}, {order}, {count_text(check.duplicates, 'duplicate key')}"
        text = f"{check.path}: {state}, {held}, checksum {check.checksum}"
        yield Text(text, style="" if check.passed else "bold red")


def command_text(report: RunReport) -> str:
    """Return the command that repeats the run, quoted for a shell; '' if the report lacks it."""
    return shlex.join(["planner", *report.asked]) if report.asked else ""


def render_study(measured: list[Measured]) -> RenderableType:
    """Return the table, and the study's Table 2 below it."""
    from planner.clusters.emulated.study import TABLE_2, slowdowns

    names = ("measured", "least", "most", "predicted", "study")
    rows = [
        (row.network, *(_or(getattr(row, name), "-", "{:.2f}".format) for name in names)) for row in slowdowns(measured)
    ]
    columns = ("network", *names[:-1], "study (Terasort)")
    table = Section(title="Times the homogeneous network", columns=columns, rows=rows, numbers=(1, 2, 3, 4, 5))
    applications = ", ".join(f"{name} {factor:.2f} ({cloud})" for name, (factor, cloud) in TABLE_2.items())
    source = f"Greatest slowdowns in Uta and Obaseki, ICPE 2018, Table 2, of Spark on 16 nodes: {applications}"
    return Group(rich_table(table), Text(source, style="dim"))
