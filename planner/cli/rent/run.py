"""`planner run`: plan, provision, sort, validate and tear down; without a cloud, everything on this machine."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from planner.api.files import require_directories, require_new
from planner.api.rental_options import RentalOptions
from planner.api.run import (
    EMULATED,
    Work,
    effort_of,
    rehearsed_order,
    run_emulated,
    run_here,
    run_on_machines,
    run_rented,
)
from planner.cli.plan.shown_report import show_report
from planner.cli.rent import emulation, renting
from planner.cli.rent.run_options import RunOptions
from planner.cli.shell.console import talk, words_given
from planner.cli.shell.files import write_atomically
from planner.cli.sort.key_options import InputFormatOptions
from planner.errors import BadInputError, ValidationFailedError
from planner.schemas.arguments import request_fields
from planner.schemas.request_forms import names
from planner.sorting.sort_job import InputFormat
from planner.units import count_text

if TYPE_CHECKING:
    from planner.schemas.run_report import RunReport


def run(*, options: RunOptions, form: InputFormatOptions) -> None:
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
    _require_data(options, form)
    if options.dry_run and options.cloud not in (None, EMULATED):
        _dry_run(options, form)
        return
    report = _run(options, form)
    if report is None:
        return
    _show(report, options)
    _require_valid(report)
    if options.profile:
        _feed(options.profile, report)


def _run(options: RunOptions, form: InputFormat) -> RunReport | None:
    if options.on is not None:
        return _run_on_existing(options.on, options, form)
    work, listeners = _work(options, form), renting.listeners()
    if options.cloud is None:
        return run_here(work, listeners=listeners)
    if options.cloud == EMULATED:
        return run_emulated(work, shaping=emulation.shaping_of(vars(options)), listeners=listeners)
    effort = effort_of(options.screen_seconds, options.screen_size)
    confirm = renting.asking(yes=options.yes)
    return run_rented(work, _rental_options(options), effort=effort, confirm=confirm, listeners=listeners)


def _require_data(options: RunOptions, form: InputFormat) -> None:
    """Raise BadInputError where the amount to sort is missing, or options are given that do not apply."""
    options.require_its_place()
    form.require(input=options.input)
    if options.data is None and options.input is None:
        raise BadInputError("say how much to sort: --data 1GB, or what: --input s3://bucket/path")
    require_directories("--dir", [options.directory])
    require_directories("--wheelhouse", [options.wheelhouse] if options.wheelhouse else [])
    request_fields({"data": options.data or "1B", "nodes": options.nodes})  # refuses what `plan` refuses
    require_new([options.out], force=options.force)


def _run_on_existing(run: str, options: RunOptions, form: InputFormat) -> RunReport | None:
    from planner.clusters.provisioning.run_directory import RunDirectory

    effort = effort_of(options.screen_seconds, options.screen_size)
    work = replace(_work(options, form), keep=True)
    confirm = renting.asking_of_text(yes=options.yes)
    return run_on_machines(RunDirectory.open(run), work, effort, confirm=confirm, listeners=renting.listeners())


def _dry_run(options: RunOptions, form: InputFormat) -> None:
    """Print what would be rented, and with `verbose` every request of launching and taking down."""
    rental = _rental_options(options)
    order, session, delivery = rehearsed_order(_work(options, form), rental, say=talk)
    renting.show_dry_run(order, rental, session.provider, delivery=delivery, verbose=options.verbose, json=options.json)


def _work(options: RunOptions, form: InputFormat) -> Work:
    return Work(
        data=options.data,
        model=options.model,
        instance=names(options.instance) or None,
        nodes=options.nodes,
        arch=options.arch,
        memory_bytes=options.memory_bytes,
        skew=options.skew,
        keep=options.keep,
        wheelhouse=options.wheelhouse,
        input=options.input,
        output=options.output,
        lend_credentials=options.lend_credentials,
        detach=options.detach,
        form=form,
        directory=options.directory,
        threads=options.threads,
        asked=words_given(),
    )


def _rental_options(options: RunOptions) -> RentalOptions:
    return renting.rental_of(vars(options) | {"staging": bool(options.input or options.output)})


def _show(report: RunReport, options: RunOptions) -> None:
    if options.out:
        write_atomically(options.out, report.to_json() + "\n", option="--out")
    show_report(report, json=options.json)


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
        raise ValidationFailedError(f"{bad}: not sorted, or not the data that went in; see the report")
