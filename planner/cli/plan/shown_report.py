"""Printed report of a run, and the error that ends a run whose output is not sorted."""

from __future__ import annotations

from typing import TYPE_CHECKING

from planner.cli.shell.console import show, show_text
from planner.errors import ValidationFailedError

if TYPE_CHECKING:
    from planner.schemas.run_report import RunReport


def show_report(report: RunReport, *, json: bool) -> None:
    """Print a report as a table, or as one JSON object."""
    if json:
        show_text(report.to_json())
    else:
        from planner.report.run import render_run

        show(render_run(report))


def show_checked_report(report: RunReport, *, run: str, json: bool) -> None:
    """Print the report of a rented run. Raises ValidationFailedError when the run does not pass."""
    show_report(report, json=json)
    if not report.passed:
        raise ValidationFailedError(
            f"run {run}: not sorted, or not the data that went in; see the report", code="wrong-output"
        )
