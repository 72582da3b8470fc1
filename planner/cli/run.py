"""`planner run`: plan, provision, sort, validate and tear down; without a cloud, all of it on this machine."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

from typer import Option

from planner.cli import emulation, renting
from planner.cli.console import show, show_text, talk
from planner.cli.files import write_whole
from planner.cli.progress import watched
from planner.cli.run_rented import Job, dataset_to_sort, run_rented, show_rented_dry_run
from planner.errors import BadInputError, ValidationFailedError
from planner.units import parse_size

if TYPE_CHECKING:
    from planner.emulation.run import EmulatedRun
    from planner.runs.node_benchmarks import Effort
    from planner.schemas.run_report import RunReport


EMULATED = "emulated"
EMULATED_NODES = 4


def run(
    *,
    data: Annotated[str | None, Option(help="How much to sort: 1GB; what --input holds otherwise.")] = None,
    model: Annotated[str, Option(help="Cost model: a name that `planner models` lists, or a TOML file.")],
    directory: Annotated[
        Path, Option("--dir", help="The disk to work on; everything written there is removed.")
    ] = Path(),
    memory: Annotated[
        str | None, Option(help="Memory for the sort: 2GB. Four fifths of what is free otherwise.")
    ] = None,
    threads: Annotated[int | None, Option(help="Threads; all cores otherwise.")] = None,
    cloud: Annotated[
        str | None, Option(help="Where: `aws` rents machines, `emulated` nodes; this machine as it is otherwise.")
    ] = None,
    nodes: Annotated[int | None, Option(help="Nodes; as planned, or 4 emulated ones.", min=1)] = None,
    rate: emulation.Rate = None,
    distribution: emulation.Distribution = None,
    rate_factor: emulation.RateFactor = 1.0,
    bucket: emulation.BucketSize = None,
    burst_rate: emulation.BurstRate = None,
    redraw: emulation.Redraw = None,
    seed: emulation.Seed = None,
    input: Annotated[
        str | None, Option(help="Where the data is: s3://bucket/path.", show_default="generated on the nodes")
    ] = None,
    output: Annotated[
        str | None,
        Option(help="Where the result goes: s3://bucket/path.", show_default="nowhere: it ends with the nodes"),
    ] = None,
    node_identity: renting.NodeIdentity = None,
    lend_credentials: Annotated[
        bool,
        Option("--lend-credentials", help="Hand the machines this environment's keys to the object store, by SSH."),
    ] = False,
    skew: Annotated[bool, Option("--skew", help="Generate skewed keys; on a cluster.")] = False,
    region: renting.Regions = None,
    instance: renting.Instances = None,
    pricing: renting.Pricing = "on-demand",
    max_cost: renting.MaxCost = None,
    max_hours: renting.MaxHours = None,
    ssh_from: renting.SshFrom = None,
    image: renting.Image = None,
    wheelhouse: Annotated[
        Path | None, Option(help="Wheels for rented machines, made by `planner cluster wheelhouse`.")
    ] = None,
    screen_seconds: Annotated[float, Option(help="Length of each measurement of rented machines.", min=0.1)] = 5.0,
    screen_size: Annotated[str | None, Option(help="File on each disk for it; as DiskBench chooses otherwise.")] = None,
    keep: Annotated[bool, Option("--keep", help="Leave the rented machines there in the end.")] = False,
    dry_run: renting.DryRun = False,
    yes: renting.Yes = False,
    profile: Annotated[str | None, Option(help="Calibrated profile to learn from this run; begun if new.")] = None,
    json: Annotated[bool, Option("--json", help="Print the report as one JSON object.")] = False,
    out: Annotated[
        Path | None, Option(help="Also write the report as JSON to this file; `planner report` reads it.")
    ] = None,
) -> None:
    """Measure this machine's disk, plan for it, generate data, sort, validate, and set the plan beside what happened.

    Ends with exit code 5 when the sorted data is not the data that went in.

    Example: planner run --data 1GB --model daytona

    Example: planner run --cloud emulated --nodes 4 --rate 400Mbit --data 2GB --model daytona

    Example: planner run --cloud aws --data 1TB --model indy --instance i4i.4xlarge --max-cost 50

    Example: planner run --cloud aws --input s3://b/in --output s3://b/out --model indy --node-identity sorter
    """
    memory_bytes = None if memory is None else parse_size(memory)
    _require_data(data, input=input, output=output, is_local=cloud is None)
    if cloud is None:
        report = _locally(
            data_bytes=parse_size(data or ""),
            model=model,
            directory=directory,
            memory_bytes=memory_bytes,
            threads=threads,
        )
    elif cloud != EMULATED:
        job = Job(
            data=data,
            model=model,
            instances=tuple(instance or ()),
            nodes=nodes,
            memory_bytes=memory_bytes,
            skew=skew,
            keep=keep,
            wheelhouse=wheelhouse,
            input=input,
            output=output,
            is_lent=lend_credentials,
        )
        rental = renting.rental_options(locals(), staging=bool(input or output))
        if dry_run:
            show_rented_dry_run(job, rental, json=json)
            return
        report = run_rented(job, rental, effort=_effort(screen_seconds, screen_size), yes=yes)
    else:
        from planner.emulation.run import EmulatedRun

        source = dataset_to_sort(data, input=input, output=output)
        report = _emulated(
            EmulatedRun(
                data_bytes=source.bytes if source else parse_size(data or ""),
                model=model,
                nodes=EMULATED_NODES if nodes is None else nodes,
                shaping=emulation.shaping_of(locals()),
                directory=directory,
                memory_bytes=memory_bytes,
                skew=skew,
                input=input,
                output=output,
                source=source,
            ),
        )
    if out:
        write_whole(out, report.to_json() + "\n", option="--out")
    if json:
        show_text(report.to_json())
    else:
        from planner.report.run_table import render_run

        show(render_run(report))
    _require_valid(report)
    if profile:
        _feed(profile, report)


def _require_data(data: str | None, *, input: str | None, output: str | None, is_local: bool) -> None:
    """Raise BadInputError when nobody says how much to sort, or data is to be moved without a cluster."""
    if (input or output) and is_local:
        raise BadInputError(
            "--input and --output are brought and taken by the nodes of a cluster: --cloud aws, gcp, azure or emulated"
        )
    if data is None and input is None:
        raise BadInputError("say how much to sort: --data 1GB, or what: --input s3://bucket/path")


def _locally(
    *, data_bytes: int, model: str, directory: Path, memory_bytes: int | None, threads: int | None
) -> RunReport:
    from planner.runs.local import LocalRun, run_local

    wanted = LocalRun(
        data_bytes=data_bytes, model=model, directory=directory, memory_bytes=memory_bytes, threads=threads
    )
    return run_local(wanted, say=talk, watch=_watch)


def _emulated(run: EmulatedRun) -> RunReport:
    from planner.cli.cluster_progress import shown_events
    from planner.emulation.run import run_emulated

    with shown_events() as on_event:
        return run_emulated(run, say=talk, on_event=on_event)


def _effort(seconds: float, size: str | None) -> Effort:
    from planner.runs.node_benchmarks import Effort

    return Effort(seconds=seconds, file_bytes=None if size is None else parse_size(size))


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
