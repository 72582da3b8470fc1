"""`planner cluster run`: another job on rented machines that are there."""

from __future__ import annotations

import os
from json import loads
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

from typer import Argument, Option

from planner.api.rental_options import RentalOptions
from planner.cli.plan.shown_report import show_checked_report
from planner.cli.rent import renting
from planner.cli.rent.run_rented import Job, dataset_to_sort, effort_of, remember_run, wheels
from planner.cli.shell.cluster_progress import shown_events
from planner.cli.shell.console import talk
from planner.cli.shell.interrupts import orderly_end
from planner.cli.sort.key_options import InputFormatOptions
from planner.errors import BadInputError
from planner.units import parse_size

if TYPE_CHECKING:
    from planner.clouds.order import ClusterOffer
    from planner.clusters.provisioning.run_directory import RunDirectory
    from planner.clusters.runs.cloud_task import CloudTask
    from planner.clusters.runs.node_benchmarks import Effort
    from planner.distributed_sort.dataset.dataset import Dataset
    from planner.schemas.run_report import RunReport


def cluster_run(
    run: Annotated[str, Argument(help="The run whose machines are there; `planner cluster status` lists them.")],
    *,
    data: Annotated[str | None, Option(help="How much to sort: 1TB; what --input holds otherwise.")] = None,
    model: Annotated[str, Option(help="Cost model: a name that `planner models` lists, or a TOML file.")],
    memory: Annotated[str | None, Option(help="Memory for the sort on each machine: 2GB.")] = None,
    input: Annotated[str | None, Option(help="Where the data is.", show_default="generated on the nodes")] = None,
    output: Annotated[str | None, Option(help="Where the result goes.", show_default="it stays on the nodes")] = None,
    lend_credentials: Annotated[
        bool,
        Option("--lend-credentials", help="Hand the machines this environment's keys to the object store, by SSH."),
    ] = False,
    wheelhouse: Annotated[Path | None, Option(help="Wheels for the machines.")] = None,
    screen_seconds: Annotated[str, Option(help="Length of each measurement of the machines.")] = "5s",
    screen_size: Annotated[str | None, Option(help="File on each disk for it.")] = None,
    take_down: Annotated[bool, Option("--take-down", help="Take the machines down in the end.")] = False,
    detach: Annotated[bool, Option("--detach", help="Return as soon as the sort has begun.")] = False,
    yes: renting.Yes = False,
    json: Annotated[bool, Option("--json", help="Print the report as one JSON object.")] = False,
    form: InputFormatOptions,
) -> None:
    """Measure a cluster that `up`, or `run --keep`, left there, and sort on it.

    What an earlier job left on its disks is deleted. The machines stay until they expire, unless --take-down is given.

    Example: planner cluster run r20261121-1430-x7k2mq --data 1TB --model indy
    """
    from planner.clusters.provisioning.run_directory import RunDirectory

    if data is None and input is None:
        raise BadInputError("say how much to sort: --data 1TB, or what: --input s3://bucket/path")
    form.require(input=input)
    directory = RunDirectory.open(run)
    job = Job(
        data=data,
        model=model,
        memory_bytes=parse_size(memory) if memory else None,
        keep=not take_down,
        wheelhouse=wheelhouse,
        input=input,
        output=output,
        is_lent=lend_credentials,
        is_detached=detach,
        form=form,
    )
    report = run_on_machines(directory, job, effort_of(screen_seconds, screen_size), yes=yes)
    if report is None:
        return
    show_checked_report(report, run=run, json=json)
    talk(f"run {run} is over" if take_down else f"run {run} stays: planner cluster down {run}")


def run_on_machines(directory: RunDirectory, job: Job, effort: Effort, *, yes: bool) -> RunReport | None:
    """Plan a job for the machines of a run, ask, do it, and remember what was measured. A detached job has no report
    yet.
    """
    from planner.clusters.runs.cloud import check_runnable
    from planner.clusters.runs.cloud_task import CloudRun
    from planner.clusters.runs.reuse import run_again
    from planner.clusters.runs.store_credentials import access_to

    order = directory.order()
    uris = [uri for uri in (job.input, job.output) if uri]
    identity = order.node_identity if uris else None
    access = access_to(uris, cloud=order.cloud, identity=identity, is_lent=job.is_lent, environ=os.environ)
    data_bytes = None if job.data is None else parse_size(job.data)
    check_runnable(job.model, data_bytes=data_bytes, input=job.input, output=job.output)
    source = dataset_to_sort(job.data, input=job.input, output=job.output, form=job.form)
    with wheels(job.wheelhouse, is_table=job.form.is_table) as wheelhouse, directory.held():

        def made(choice: ClusterOffer, region: str) -> CloudRun:
            task = _task(job, choice, source, cloud=order.cloud, region=region, effort=effort)
            return CloudRun(task=task, wheelhouse=wheelhouse, store=access.environment)

        name, session = directory.path.name, renting.session_on(order.cloud)
        renting.confirm(f"run {name}: what an earlier job left on its machines' disks is deleted", yes=yes)
        with orderly_end():
            report = run_again(directory, session, made=made, listening=shown_events, is_detached=job.is_detached)
    if report is not None:
        remember_run(directory)
    return report


def _task(
    job: Job, choice: ClusterOffer, source: Dataset | None, *, cloud: str, region: str, effort: Effort
) -> CloudTask:
    """Return the job, planned for just the machines of a cluster."""
    from planner.clusters.runs.cloud_task import CloudTask
    from planner.clusters.runs.reuse import catalog_type

    plan = renting.plan_of(
        None,
        RentalOptions(cloud=cloud, regions=(region,), pricing=choice.pricing),
        data=job.data if source is None else f"{source.bytes}B",
        model=job.model,
        instances=(catalog_type(cloud, choice),),
        nodes=choice.nodes,
        input=job.input,
        output=job.output,
    )
    return CloudTask(
        plan=plan,
        effort=effort,
        memory_bytes=job.memory_bytes,
        skew=job.skew,
        keep=job.keep,
        source=None if source is None else loads(source.to_json()),
        is_lent=job.is_lent,
    )
