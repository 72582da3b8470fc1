"""The page of a run: whether it was correct, its time, and the accuracy of the prediction."""

from __future__ import annotations

from dataclasses import replace
from datetime import date
from typing import Any

from planner.report import frames, plots
from planner.report.page.rendering import Figure, render
from planner.report.run_misses import run_misses
from planner.report.section import Section
from planner.report.terminal.run_table import command_text, phases_section, resources_section
from planner.report.words import words
from planner.schemas.run_report import RunReport
from planner.units import count_of, count_text, format_bytes, format_duration, format_rate


def run_page(report: RunReport, *, made_on: date | None = None) -> str:
    """Return the page as HTML. Raises PlannerError without the extra `plots`."""
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
        key_figures=_key_figures(report),
        compared=replace(phases_section(report, total=False), title="Phases, predicted and measured"),
        resources=replace(resources_section(report), title="Resources, predicted and measured"),
        misses=list(run_misses(report)),
        steps=Section(title="Steps of the run", columns=("step", "time"), rows=steps, numbers=(1,)),
        checks=_checks(report),
        command=command_text(report),
        machine=Section(title="Machine", columns=("what", "value"), rows=facts),
    )


def _key_figures(report: RunReport) -> list[dict[str, Any]]:
    measured, predicted = (sum(getattr(p, name) for p in report.phases) for name in ("measured_s", "predicted_s"))
    rate = f"{format_rate(report.plan.request.data_bytes / measured)}" if measured else "-"
    error = f"{predicted / measured - 1:+.0%} off" if measured else ""
    good, files = sum(check.passed for check in report.checks), count_text(len(report.checks), "file")
    note = "in order, with the checksum of the input" if report.passed else "see the table of files"
    return [
        {"name": "The sort took", "value": format_duration(measured), "note": rate, "failed": False},
        {"name": "Predicted", "value": format_duration(predicted), "note": error, "failed": False},
        {"name": "Validated", "value": f"{good} of {files}", "note": note, "failed": not report.passed},
    ]


def _checks(report: RunReport) -> Section:
    rows = [
        (
            check.path,
            "ok" if check.passed else "WRONG",
            count_of(check.records, check.unit),
            "sorted" if check.sorted else "not sorted",
            str(check.duplicates),
            check.checksum,
        )
        for check in report.checks
    ]
    columns = ("file", "verdict", "holds", "order", "duplicate keys", "checksum")
    return Section(title="Files checked", columns=columns, rows=rows, numbers=(2, 4))
