"""`planner doctor`: what this machine has, what is missing, and the remedies."""

from __future__ import annotations

from datetime import date
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

from typer import Option

from planner.cli.shell.console import show, show_json, show_sentences
from planner.errors import BadInputError, PlannerError
from planner.report.section import Section

if TYPE_CHECKING:
    from planner.doctor import Finding

_STYLES = {"ok": "green", "old": "yellow", "optional": "", "missing": "bold red"}


def doctor(
    *,
    directory: Annotated[Path, Option("--dir", help="The disk to look at.")] = Path(),
    json: Annotated[bool, Option("--json", help="Print as JSON.")] = False,
) -> None:
    """Check what the planner can use: list what is missing, its purpose, and how to get it.

    Credentials are found by where they lie; they are neither read nor printed. Ends with 1 when something is missing
    that everyone needs.

    Example: planner doctor
    """
    from dataclasses import asdict

    from planner.doctor import examine

    if not directory.is_dir():
        raise BadInputError(
            f"--dir {directory}: no such directory; name one on the disk to look at", code="no-such-folder"
        )
    findings = examine(directory, today=date.today())
    missing = [finding for finding in findings if finding.state == "missing"]
    if json:
        show_json({"ready": not missing, "findings": [asdict(finding) for finding in findings]})
    else:
        show(_table(findings))
        if not missing:
            show_sentences(_ready(findings))
    if missing:
        names = ", ".join(finding.name for finding in missing)
        raise PlannerError(
            f"missing: {names}", [f"{one.name}: {one.found}; {one.advice}" for one in missing], code="missing-software"
        )


def _ready(findings: list[Finding]) -> str:
    core_is_here = any(finding.name == "sort core" and finding.state == "ok" for finding in findings)
    ready_for = "Ready" if core_is_here else "Ready to plan; sorting here needs the sort core"
    return f"{ready_for}. What is optional and absent stops nothing else."


def _table(findings: list[Finding]) -> Section:
    from rich.markup import escape

    columns = ("what", "state", "found", "needed for", "to get it")
    rows = [[*map(escape, (of.name, of.state, of.found, of.needed_for, of.advice))] for of in findings]
    return Section(columns=columns, rows=rows, styles=[_STYLES[of.state] for of in findings])
