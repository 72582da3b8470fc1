"""`planner doctor`: what this machine, or an account of a cloud, has and lacks, and the remedies."""

from __future__ import annotations

from datetime import date
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

from typer import Option

from planner.api.rental_options import RentedCloud
from planner.cli.shell.completion import rented_clouds
from planner.cli.shell.console import show, show_json, show_sentences
from planner.cli.shell.files import read_plan
from planner.errors import BadInputError, PlannerError, ProviderRefusedError
from planner.report.section import Section

if TYPE_CHECKING:
    from planner.doctor import Finding

_STYLES = {"ok": "green", "old": "yellow", "optional": "", "missing": "bold red"}


def doctor(
    *,
    directory: Annotated[Path, Option("--dir", help="The disk to look at.")] = Path(),
    cloud: Annotated[
        RentedCloud | None,
        Option(help="Instead ask this cloud, read only, for all that renting needs.", autocompletion=rented_clouds),
    ] = None,
    region: Annotated[
        str | None, Option(help="In which region.", show_default="the plan's, or your default; with --cloud")
    ] = None,
    plan: Annotated[
        Path | None, Option(help="For this plan's cluster.", show_default="two small machines; with --cloud")
    ] = None,
    json: Annotated[bool, Option("--json", help="Print as JSON.")] = False,
) -> None:
    """Check what the planner can use: list what is missing, its purpose, and how to get it.

    Credentials are found by where they lie; they are neither read nor printed. Ends with 1 when something is missing
    that everyone needs, with 4 when --cloud finds what forbids to rent.

    Example: planner doctor

    Example: planner doctor --cloud aws --plan plan.json
    """
    if cloud:
        _examine_account(cloud, region, plan, json=json)
        return
    for option, given in (("--region", region), ("--plan", plan)):
        if given:
            raise BadInputError(f"{option}: is of an account; add --cloud, or leave it out", code="missing-companion")
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


def _examine_account(cloud: RentedCloud, region: str | None, plan: Path | None, *, json: bool) -> None:
    """Print a cloud's findings. Raises ProviderRefusedError naming those that forbid to rent."""
    from dataclasses import asdict

    from planner.api.clusters import examine_account

    findings = examine_account(cloud, read_plan(plan) if plan else None, region=region)
    against = [f"{finding.subject}: {finding.text}" for finding in findings if finding.ok is False]
    if json:
        show_json({"ready": not against, "account": [asdict(finding) for finding in findings]})
    else:
        from rich.markup import escape

        states = {True: ("ok", "green"), None: ("not known", "yellow"), False: ("finding", "bold red")}
        rows = [[escape(of.subject), states[of.ok][0], escape(of.text)] for of in findings]
        styles = [states[of.ok][1] for of in findings]
        show(Section(columns=("what", "state", "found"), rows=rows, styles=styles))
    if against:
        raise ProviderRefusedError(f"{cloud}: what would forbid to rent", against, code="nothing-to-launch")


def _ready(findings: list[Finding]) -> str:
    core_is_here = any(finding.name == "sort core" and finding.state == "ok" for finding in findings)
    ready_for = "Ready" if core_is_here else "Ready to plan; sorting here needs the sort core"
    return f"{ready_for}. What is optional and absent stops nothing else."


def _table(findings: list[Finding]) -> Section:
    from rich.markup import escape

    columns = ("what", "state", "found", "needed for", "to get it")
    rows = [[*map(escape, (of.name, of.state, of.found, of.needed_for, of.advice))] for of in findings]
    return Section(columns=columns, rows=rows, styles=[_STYLES[of.state] for of in findings])
