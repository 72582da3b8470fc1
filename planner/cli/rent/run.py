"""`planner run`: plan, provision, sort, validate and tear down; without a cloud, everything on this machine."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

from typer import Option

from planner.api.files import require_directories, require_new
from planner.api.run import EMULATED, effort_of, rehearsed_order, run_emulated, run_here, run_on_machines, run_rented
from planner.api.run_job import Work
from planner.cli.plan.shown_report import show_report
from planner.cli.rent import renting
from planner.cli.rent.emulation import Links
from planner.cli.rent.run_options import EffortOptions, Job, require_its_place
from planner.cli.shell.commands import words_given
from planner.cli.shell.completion import profiles, rented_clouds
from planner.cli.shell.console import talk
from planner.cli.shell.files import Force, write_atomically
from planner.cli.sort.key_options import InputFormatOptions
from planner.errors import BadInputError, ValidationFailedError
from planner.schemas.arguments import request_fields
from planner.schemas.request_forms import names
from planner.units import count_text

if TYPE_CHECKING:
    from planner.schemas.run_report import RunReport


def run(
    *,
    job: Job,
    form: InputFormatOptions,
    rental: renting.JobRental,
    links: Links,
    effort: EffortOptions,
    cloud: Annotated[
        str | None,
        Option(
            help="Where: `aws` rents machines, `emulated` nodes; this machine as it is otherwise.",
            autocompletion=rented_clouds,
        ),
    ] = None,
    on: Annotated[
        str | None, Option(help="Run whose machines are there and stay: sort on them, as `planner cluster run` does.")
    ] = None,
    dry_run: renting.DryRun = False,
    verbose: renting.Verbose = False,
    yes: renting.Yes = False,
    profile: Annotated[
        str | None, Option(help="Calibrated profile to learn from this run; begun if new.", autocompletion=profiles)
    ] = None,
    json: Annotated[bool, Option("--json", help="Print the report as one JSON object.")] = False,
    out: Annotated[
        Path | None,
        Option(dir_okay=False, help="Also write the report as JSON to this file; `planner report` reads it."),
    ] = None,
    force: Force = False,
) -> None:
    """Measure this machine's disk, plan for it, generate data, sort, validate, and compare the plan with the run.

    Ends with exit code 5 when the sorted data is not the data that went in.

    Example: planner run --data 1GB --model daytona

    Example: planner run --cloud emulated --nodes 4 --rate 400Mbit --data 2GB --model daytona

    Example: planner run --cloud emulated --input sales/ --output sorted/ --format csv --key time:desc --model indy

    Example: planner run --cloud aws --data 1TB --model indy --instance i4i.4xlarge --max-cost 50

    Example: planner run --on r20261121-1430-x7k2mq --data 1TB --model indy

    Example: planner run --cloud aws --input s3://b/in --output s3://b/out --model indy --node-identity sorter

    Example: planner run --cloud aws --input s3://b/in --format csv --key time:desc --model indy --node-identity sorter
    """
    from planner.clusters.emulated.shaping import parse_shaping
    from planner.clusters.provisioning.run_directory import RunDirectory

    given = [*job.given, *rental.given, *links.given, *effort.given, *(["cloud"] if cloud else [])]
    require_its_place([*given, *(["dry_run"] if dry_run else [])], cloud=cloud, on=on)
    work = _work(job, form)
    require_new([out], force=force)
    listeners, measured = renting.listeners(), effort_of(**effort)
    if on is not None:
        there, agreed = RunDirectory.open(on), renting.asking_of_text(yes=yes)
        report = run_on_machines(there, replace(work, keep=True), measured, confirm=agreed, listeners=listeners)
    elif cloud is None:
        report = run_here(work, listeners=listeners)
    elif cloud == EMULATED:
        report = run_emulated(work, shaping=parse_shaping(**links), listeners=listeners)
    else:
        rented = renting.rental_of(rental | job | {"cloud": cloud, "staging": bool(work.input or work.output)})
        if dry_run:
            order, session, delivery = rehearsed_order(work, rented, say=talk)
            renting.show_dry_run(order, rented, session.provider, delivery=delivery, verbose=verbose, json=json)
            return
        report = run_rented(work, rented, effort=measured, confirm=renting.asking(yes=yes), listeners=listeners)
    if report is None:
        return
    if out:
        write_atomically(out, report.to_json() + "\n", option="--out")
    show_report(report, json=json)
    _require_valid(report)
    if profile:
        _feed(profile, report)


def _work(job: Job, form: InputFormatOptions) -> Work:
    """Return the job. Raises BadInputError where the amount to sort is missing, and for what `plan` refuses."""
    given = job | {"data": job.get("data"), "instance": names(job.get("instance")) or None}
    work = Work(**given, form=form, asked=words_given())
    work.form.require(input=work.input)
    if work.data is None and work.input is None:
        raise BadInputError(
            "say how much to sort: --data 1GB, or what: --input s3://bucket/path", code="missing-argument"
        )
    require_directories("--dir", [work.directory])
    require_directories("--wheelhouse", [work.wheelhouse] if work.wheelhouse else [])
    request_fields({"data": work.data or "1B", "nodes": work.nodes})
    return work


def _feed(profile: str, report: RunReport) -> None:
    """Add the run, which has passed, to a profile. Its own measurements describe its machine."""
    from planner.api.past_runs import report_row, report_spec
    from planner.stores.profiles import add_run

    row = report_row(report)
    learned = add_run(profile, row, instances={row["instance_type"]: report_spec(report)}, model="own")
    talk(f"profile {profile} now knows {count_text(len(learned.runs), 'run')}")


def _require_valid(report: RunReport) -> None:
    if not report.passed:
        bad = ", ".join(check.path for check in report.checks if not check.passed)
        raise ValidationFailedError(
            f"{bad}: not sorted, or not the data that went in; see the report", code="wrong-output"
        )
