"""The page of a run: whether it was correct, its time, and the accuracy of the prediction."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import date
from typing import Any

from planner.report import frames, plots
from planner.report.page.rendering import Figure, render
from planner.report.run_misses import run_misses
from planner.report.terminal.run_table import (
    PHASE_COLUMNS,
    PHASE_NUMBERS,
    RESOURCE_COLUMNS,
    command_text,
    phase_cells,
    resource_cells,
)
from planner.report.words import words
from planner.schemas.run_report import RunReport
from planner.units import count_of, count_text, format_bytes, format_duration, format_rate


def run_page(report: RunReport, *, made_on: date | None = None) -> str:
    """Return the page as HTML. Raises PlannerError without the extra `plots`."""
    size = format_bytes(report.plan.request.data_bytes)
    verdict = f"Sorted and validated {size}" if report.passed else f"FAILED: the output of the {size} sort is not right"
    return render(
        "run.html",
        figures=_figures(report),
        title=verdict,
        made_on=made_on,
        asked=f"A run under the {report.plan.request.model} model",
        headline=verdict,
        key_figures=list(_key_figures(report)),
        compared={"columns": PHASE_COLUMNS, "rows": phase_cells(report), "numbers": PHASE_NUMBERS},
        resources={"columns": RESOURCE_COLUMNS, "rows": resource_cells(report), "numbers": (2, 3, 4, 5)},
        misses=list(run_misses(report)),
        steps=_steps(report),
        checks=_checks(report),
        command=command_text(report),
        machine=_machine(report),
    )


def _figures(report: RunReport) -> list[Figure]:
    errors = ", ".join(f"{phase.name} {phase.error:+.0%}" for phase in report.phases)
    return [
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


def _key_figures(report: RunReport) -> Iterator[dict[str, Any]]:
    measured, predicted = (sum(getattr(p, name) for p in report.phases) for name in ("measured_s", "predicted_s"))
    rate = f"{format_rate(report.plan.request.data_bytes / measured)}" if measured else "-"
    error = f"{predicted / measured - 1:+.0%} off" if measured else ""
    yield {"name": "The sort took", "value": format_duration(measured), "note": rate, "failed": False}
    yield {"name": "Predicted", "value": format_duration(predicted), "note": error, "failed": False}
    good = sum(check.passed for check in report.checks)
    note = "in order, with the checksum of the input" if report.passed else "see the table of files"
    yield {
        "name": "Validated",
        "value": f"{good} of {count_text(len(report.checks), 'file')}",
        "note": note,
        "failed": not report.passed,
    }


def _steps(report: RunReport) -> dict[str, Any]:
    rows = [[name, format_duration(seconds)] for name, seconds in report.steps_s.items()]
    return {"columns": ["step", "time"], "rows": rows, "numbers": (1,)}


def _checks(report: RunReport) -> dict[str, Any]:
    rows = [
        [
            check.path,
            "ok" if check.passed else "WRONG",
            count_of(check.records, check.unit),
            "sorted" if check.sorted else "not sorted",
            str(check.duplicates),
            check.checksum,
        ]
        for check in report.checks
    ]
    return {
        "columns": ["file", "verdict", "holds", "order", "duplicate keys", "checksum"],
        "rows": rows,
        "numbers": (2, 4),
    }


def _machine(report: RunReport) -> dict[str, Any]:
    rows = [
        [words(name), f"{value:.6g}" if isinstance(value, float) else str(value)]
        for name, value in report.machine.items()
    ]
    return {"columns": ["what", "value"], "rows": rows}
