"""A RunReport in the terminal, predicted against measured; and the slowdowns of `planner emulate study`."""

from __future__ import annotations

import shlex
from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING, Any, Final

from rich.console import Group, RenderableType
from rich.table import Table
from rich.text import Text

from planner.report.run_misses import resource_times, run_misses
from planner.report.words import phase_word
from planner.schemas.run_report import PhaseComparison, RunReport
from planner.units import count_of, count_text, format_bytes, format_duration, format_rate, format_usd

if TYPE_CHECKING:
    from planner.clusters.emulated.study import Measured


def render_run(report: RunReport) -> RenderableType:
    """Return the whole report."""
    sections = (
        *_resources(report),
        *(Text(miss) for miss in run_misses(report)),
        *_staging(report),
        _machine(report),
        *_events(report),
        *_steps(report),
        *_checks(report),
        *([Text(f"To do this run again: {command_text(report)}", style="dim")] if report.asked else []),
    )
    return Group(_verdict(report), _phases(report), *sections)


def _verdict(report: RunReport) -> Text:
    size = format_bytes(report.plan.request.data_bytes)
    sort_s = sum(phase.measured_s for phase in report.phases)
    if not report.passed:
        return Text(f"FAILED: the output of the {size} sort is not what it should be.", style="bold red")
    copies = f"{len(report.checks)} copies" if len(report.checks) > 1 else "output"
    rate = format_rate(report.plan.request.data_bytes / sort_s) if sort_s else "-"
    model = report.plan.request.model
    text = f"Sorted and validated {size} under the {model} model in {format_duration(sort_s)} ({rate}); "
    return Text(f"{text}{copies} in order, checksum {report.checks[0].checksum}.", style="bold green")


def _phases(report: RunReport) -> Table:
    table = Table(
        title="Predicted by the equations, and measured",
        title_justify="left",
        title_style="bold",
        box=None,
        pad_edge=False,
    )
    for place, name in enumerate(PHASE_COLUMNS):
        table.add_column(name, justify="right" if place in PHASE_NUMBERS else "left")
    for row in phase_cells(report):
        table.add_row(*row)
    if len(report.phases) > 1:
        predicted_s = sum(phase.predicted_s for phase in report.phases)
        measured_s = sum(phase.measured_s for phase in report.phases)
        error = f"{100 * (predicted_s / measured_s - 1):+.0f}%"
        table.add_row("all", format_duration(predicted_s), format_duration(measured_s), error, "", "")
    return table


PHASE_COLUMNS: Final = ("phase", "predicted", "measured", "error", "waits for", "was busy")
PHASE_NUMBERS: Final = (1, 2, 3)


def phase_cells(report: RunReport) -> list[tuple[str, ...]]:
    """Return a row for each phase, predicted and measured."""
    return [
        (
            phase.name,
            format_duration(phase.predicted_s),
            format_duration(phase.measured_s),
            f"{phase.error:+.0%}",
            phase_word(phase.bottleneck),
            _busy_text(phase) or "-",
        )
        for phase in report.phases
    ]


RESOURCE_COLUMNS: Final = ("phase", "resource", "works, predicted", "measured", "moves, predicted", "measured")


def resource_cells(report: RunReport) -> list[list[str]]:
    """Return a row for each sampled resource of each phase, predicted and measured in separate columns."""
    rows = []
    for time in resource_times(report):
        if time.measured_s is not None:
            seconds = (format_duration(s) for s in (time.planned_s, time.measured_s))
            rates = (time.planned_bytes_per_s, time.measured_bytes_per_s)
            moved = ("-" if rate is None else format_rate(rate) for rate in rates)
            rows.append([time.phase, time.resource, *seconds, *moved])
    return rows


def _resources(report: RunReport) -> Iterator[Table]:
    if rows := resource_cells(report):
        table = Table(box=None, pad_edge=False)
        for place, name in enumerate(RESOURCE_COLUMNS):
            table.add_column(name, justify="left" if place < 2 else "right")
        for row in rows:
            table.add_row(*row)
        yield table


def _staging(report: RunReport) -> Iterator[Table | Text]:
    """Yield the transfers from and to an object store, or to a folder, and the output's place."""
    if report.staging:
        table = Table(box=None, pad_edge=False)
        for name in ("step", "predicted", "measured", "cost predicted", "cost measured", "moved"):
            table.add_column(name, justify="left" if name in ("step", "moved") else "right")
        for transfer in report.staging:
            seconds = _or_unknown(transfer.predicted_s, format_duration), format_duration(transfer.measured_s)
            dollars = _or_unknown(transfer.predicted_usd, format_usd), _or_unknown(transfer.measured_usd, format_usd)
            requests = f" by {transfer.requests} requests" if transfer.requests else ""
            moved = f"{format_bytes(transfer.bytes)}{requests}, {transfer.place}"
            table.add_row(transfer.name, *seconds, *dollars, moved)
        yield table
    if report.manifest:
        yield Text(f"The output's partitions are listed in {report.manifest}")


def _or_unknown(value: float | None, show: Callable[[float], str]) -> str:
    return "unknown" if value is None else show(value)


def _busy_text(phase: PhaseComparison) -> str:
    """Return the resources sampled during a phase, the busiest first; '' if there are none."""
    shares = sorted(phase.utilisation.items(), key=lambda item: -item[1])
    return ", ".join(f"{name} {100 * share:.0f}%" for name, share in shares)


def _events(report: RunReport) -> Iterator[Text]:
    stretches = report.sort.get("timeline", [])
    if stretches:
        told = [f"{stretch['phase']} {stretch['start_s']:.1f}-{stretch['end_s']:.1f} s" for stretch in stretches]
        yield Text(f"Timeline: {', '.join(told)}", style="dim")
    for node in report.sort.get("lost_nodes", []):
        yield Text(f"Lost meanwhile: {node}", style="bold")
    for node, reason in report.sort.get("slow_nodes", {}).items():
        yield Text(f"Slow: {node}, {reason}", style="bold")


def _machine(report: RunReport) -> Text:
    observed = report.machine
    if report.first_plan is not None:
        return Text(_rented_text(report), style="dim")
    return Text(
        f"Measured beforehand: reads {format_rate(observed['read_bytes_per_s'])}, writes "
        f"{format_rate(observed['write_bytes_per_s'])} (the sort's own path, median of {observed['repeats']} trials of "
        f"{format_bytes(observed['sample_bytes'])}){_links(observed)}{_processors(observed)}",
        style="dim",
    )


def _links(observed: dict[str, Any]) -> str:
    rate = observed.get("network_bytes_per_s")
    return "" if rate is None else f"; each link carries {format_rate(rate)} of payload"


def _processors(observed: dict[str, Any]) -> str:
    rates = observed.get("cpu_bytes_per_s_per_vcpu", {})
    told = [f"{format_rate(rate)} to {work}" for work, rate in rates.items()]
    return f"; a processor's rate for each node: {', '.join(told)}" if told else ""


def _rented_text(report: RunReport) -> str:
    """Return the measurements on rented machines, their effect on the plan, and the machines' cost."""
    observed, planned, first = report.machine, report.plan.best, report.first_plan and report.first_plan.best
    rates = {"reads": "read_bytes_per_s", "writes": "write_bytes_per_s", "network": "network_bytes_per_s"}
    stated = ", ".join(f"{name} {format_rate(observed[key])}" for name, key in rates.items() if observed.get(key))
    lines = [f"The slowest of {observed['nodes']} x {observed['instance_type']} in {observed['place']}: {stated}"]
    lines += [f"Sent away: {node}, {why}" for node, why in observed["dropped"].items()]
    if planned and first:
        expected = format_duration(first.time_s.expected), format_duration(planned.time_s.expected)
        lines.append(f"Expected before measuring {expected[0]}, after it {expected[1]}")
    if report.cost:
        cost = report.cost
        lines.append(
            f"Cost so far {format_usd(cost.usd)} for {cost.node_hours:.2f} node-hours at the price of the launch; "
            f"planned {format_usd(cost.predicted_usd)}"
        )
    return "\n".join(lines)


def _steps(report: RunReport) -> Iterator[Text]:
    yield Text("Steps: " + ", ".join(f"{name} {format_duration(s)}" for name, s in report.steps_s.items()), style="dim")


def _checks(report: RunReport) -> Iterator[Text]:
    for check in report.checks:
        state = "ok" if check.passed else "WRONG"
        order = "sorted" if check.sorted else "not sorted"
        held = f"{count_of(check.records, check.unit)}, {order}, {count_text(check.duplicates, 'duplicate key')}"
        yield Text(
            f"{check.path}: {state}, {held}, checksum {check.checksum}", style="" if check.passed else "bold red"
        )


def command_text(report: RunReport) -> str:
    """Return the command that repeats the run, quoted for a shell; '' if the report lacks it."""
    return shlex.join(["planner", *report.asked]) if report.asked else ""


def render_study(measured: list[Measured]) -> RenderableType:
    """Return the table, and the study's Table 2 below it."""
    from planner.clusters.emulated.study import TABLE_2, slowdowns

    table = Table(
        title="Times the homogeneous network", title_justify="left", title_style="bold", box=None, pad_edge=False
    )
    for name in ("network", "measured", "least", "most", "predicted", "study (Terasort)"):
        table.add_column(name, justify="left" if name == "network" else "right")
    for row in slowdowns(measured):
        figures = (row.measured, row.least, row.most, row.predicted)
        study = "-" if row.study is None else f"{row.study:.2f}"
        table.add_row(row.network, *(f"{figure:.2f}" for figure in figures), study)
    applications = ", ".join(f"{name} {factor:.2f} ({cloud})" for name, (factor, cloud) in TABLE_2.items())
    source = f"Greatest slowdowns in Uta and Obaseki, ICPE 2018, Table 2, of Spark on 16 nodes: {applications}"
    return Group(table, Text(source, style="dim"))
