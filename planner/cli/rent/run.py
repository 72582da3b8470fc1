"""`planner run`: plan, provision, sort, validate and tear down; without a cloud, all of it on this machine."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from planner.api.files import require_directories, require_new
from planner.api.input_format import InputFormat
from planner.api.rental_options import RentalOptions, rental_options
from planner.cli.plan.shown_report import show_report
from planner.cli.rent import emulation
from planner.cli.rent.run_options import EMULATED, RunOptions
from planner.cli.rent.run_rented import Job, dataset_to_sort, effort_of, run_rented, show_rented_dry_run
from planner.cli.shell.console import talk
from planner.cli.shell.files import write_whole
from planner.cli.shell.progress import watched
from planner.cli.sort.key_options import InputFormatOptions
from planner.errors import BadInputError, ValidationFailedError
from planner.schemas.arguments import request_fields
from planner.schemas.request_forms import names
from planner.units import parse_size

if TYPE_CHECKING:
    from planner.schemas.run_report import RunReport


EMULATED_NODES = 4


def run(*, options: RunOptions, form: InputFormatOptions) -> None:
    """Measure this machine's disk, plan for it, generate data, sort, validate, and set the plan beside what happened.

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
    if options.on is not None:
        again = _run_again(options.on, options, form)
        if again is None:
            return
        report = again
    elif options.cloud is None:
        report = _run_here(options)
    elif options.cloud == EMULATED:
        report = _run_emulated(options, form)
    elif options.dry_run:
        show_rented_dry_run(_job(options, form), _rental_options(options), verbose=options.verbose, json=options.json)
        return
    else:
        effort = effort_of(options.screen_seconds, options.screen_size)
        rented = run_rented(_job(options, form), _rental_options(options), effort=effort, yes=options.yes)
        if rented is None:
            return
        report = rented
    _show(report, options)
    _require_valid(report)
    if options.profile:
        _feed(options.profile, report)


def _require_data(options: RunOptions, form: InputFormat) -> None:
    """Raise BadInputError when nobody says how much to sort, or something is said that is not to be."""
    options.require_its_place()
    form.require(input=options.input)
    if options.data is None and options.input is None:
        raise BadInputError("say how much to sort: --data 1GB, or what: --input s3://bucket/path")
    require_directories("--dir", [options.directory])
    require_directories("--wheelhouse", [options.wheelhouse] if options.wheelhouse else [])
    request_fields({"data": options.data or "1B", "nodes": options.nodes})  # what `plan` refuses is refused
    require_new([options.out], force=options.force)


def _run_again(run: str, options: RunOptions, form: InputFormat) -> RunReport | None:
    from planner.cli.rent.cluster_run import run_on_machines
    from planner.clusters.provisioning.run_directory import RunDirectory

    effort, job = effort_of(options.screen_seconds, options.screen_size), replace(_job(options, form), keep=True)
    return run_on_machines(RunDirectory.open(run), job, effort, yes=options.yes)


def _run_here(options: RunOptions) -> RunReport:
    from planner.clusters.runs.local import LocalRun, run_local

    local_run = LocalRun(
        data_bytes=parse_size(options.data or ""),
        model=options.model,
        directory=options.directory,
        memory_bytes=options.memory_bytes,
        threads=options.threads,
    )
    return run_local(local_run, say=talk, watch=_watch)


def _run_emulated(options: RunOptions, form: InputFormat) -> RunReport:
    from planner.cli.shell.cluster_progress import shown_events
    from planner.clusters.emulated.run import EmulatedRun, run_emulated

    output = _absolute(options.output)
    source = dataset_to_sort(options.data, input=options.input, output=output, form=form)
    emulated_run = EmulatedRun(
        data_bytes=source.bytes if source else parse_size(options.data or ""),
        model=options.model,
        nodes=EMULATED_NODES if options.nodes is None else options.nodes,
        shaping=emulation.shaping_of(vars(options)),
        directory=options.directory,
        memory_bytes=options.memory_bytes,
        skew=options.skew,
        input=options.input,
        output=output,
        source=source,
    )
    with shown_events() as on_event:
        return run_emulated(emulated_run, say=talk, on_event=on_event)


def _absolute(output: str | None) -> str | None:
    """Return a path as nodes can use it, whatever directory they work in; the URI of an object store as it is."""
    return output if not output or "://" in output else str(Path(output).resolve())


def _job(options: RunOptions, form: InputFormat) -> Job:
    return Job(
        data=options.data,
        model=options.model,
        instances=tuple(names(options.instance)),
        nodes=options.nodes,
        memory_bytes=options.memory_bytes,
        skew=options.skew,
        keep=options.keep,
        wheelhouse=options.wheelhouse,
        input=options.input,
        output=options.output,
        is_lent=options.lend_credentials,
        is_detached=options.detach,
        form=form,
    )


def _rental_options(options: RunOptions) -> RentalOptions:
    return rental_options(vars(options), staging=bool(options.input or options.output))


def _show(report: RunReport, options: RunOptions) -> None:
    if options.out:
        write_whole(options.out, report.to_json() + "\n", option="--out")
    show_report(report, json=options.json)


def _watch(name: str) -> Any:
    return watched([name, f"{name}, second phase"])


def _feed(profile: str, report: RunReport) -> None:
    """Add the run, which has passed, to a profile. Its machine is described by what was measured of it."""
    from planner.stores.profiles import add_run

    best, seen = report.plan.best, report.machine
    if best is None:
        return
    run = {
        "instance_type": best.instance_type,
        "nodes": best.nodes,
        "data_gb": report.plan.request.data_bytes / 1e9,
        "runtime_s": sum(phase.measured_s for phase in report.phases),
    }
    machine = {
        "vcpu": seen["vcpu"],
        "mem_gib": seen["memory_bytes"] / 2**30,
        "nvme_r_MBps": seen["read_bytes_per_s"] / 1e6,
        "nvme_w_MBps": seen["write_bytes_per_s"] / 1e6,
    }
    learned = add_run(profile, run, instances={best.instance_type: machine}, model="native")
    talk(f"profile {profile} now knows {len(learned.runs)} runs")


def _require_valid(report: RunReport) -> None:
    if not report.passed:
        bad = ", ".join(check.path for check in report.checks if not check.passed)
        raise ValidationFailedError(f"{bad}: not sorted, or not the data that went in; see the report")
