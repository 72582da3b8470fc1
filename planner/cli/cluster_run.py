"""`planner cluster run`: another job on rented machines that are there."""

from __future__ import annotations

import os
from json import loads
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

from typer import Argument, Option

from planner.cli import renting
from planner.cli.cluster_progress import shown_events
from planner.cli.console import show, show_text, talk
from planner.cli.interrupts import orderly_end
from planner.cli.run_rented import dataset_to_sort, remember_run, wheels
from planner.errors import BadInputError, ValidationFailedError
from planner.units import parse_size

if TYPE_CHECKING:
    from planner.providers.order import Choice
    from planner.runs.cloud_task import CloudRun


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
    screen_seconds: Annotated[float, Option(help="Length of each measurement of the machines.", min=0.1)] = 5.0,
    screen_size: Annotated[str | None, Option(help="File on each disk for it.")] = None,
    take_down: Annotated[bool, Option("--take-down", help="Take the machines down in the end.")] = False,
    detach: Annotated[bool, Option("--detach", help="Return as soon as the sort has begun.")] = False,
    yes: renting.Yes = False,
    json: Annotated[bool, Option("--json", help="Print the report as one JSON object.")] = False,
) -> None:
    """Measure a cluster that `up`, or `run --keep`, left there, and sort on it.

    What an earlier job left on its disks is deleted. The machines stay until they expire, unless --take-down is given.

    Example: planner cluster run r20261121-1430-x7k2mq --data 1TB --model indy
    """
    from planner.provisioning.run_directory import RunDirectory
    from planner.report.run_table import render_run
    from planner.runs.cloud import check_runnable
    from planner.runs.cloud_task import CloudRun, CloudTask
    from planner.runs.node_benchmarks import Effort
    from planner.runs.reuse import catalog_type, run_again
    from planner.runs.store_credentials import access_to

    if data is None and input is None:
        raise BadInputError("say how much to sort: --data 1TB, or what: --input s3://bucket/path")
    directory = RunDirectory.open(run)
    order = directory.order()
    uris = [uri for uri in (input, output) if uri]
    identity = order.node_identity if uris else None
    access = access_to(uris, cloud=order.cloud, identity=identity, is_lent=lend_credentials, environ=os.environ)
    check_runnable(model, data_bytes=None if data is None else parse_size(data), input=input, output=output)
    source = dataset_to_sort(data, input=input, output=output)
    size = data if source is None else f"{source.bytes}B"

    with wheels(wheelhouse) as wheelhouse_made, directory.held():

        def made(choice: Choice, region: str) -> CloudRun:
            rental = renting.RentalOptions(cloud=order.cloud, regions=(region,), pricing=choice.pricing)
            names = (catalog_type(order.cloud, choice),)
            plan = renting.plan_of(
                None, rental, data=size, model=model, instances=names, nodes=choice.nodes, input=input, output=output
            )
            task = CloudTask(
                plan=plan,
                effort=Effort(seconds=screen_seconds, file_bytes=parse_size(screen_size) if screen_size else None),
                memory_bytes=parse_size(memory) if memory else None,
                keep=not take_down,
                source=None if source is None else loads(source.to_json()),
                is_lent=lend_credentials,
            )
            return CloudRun(task=task, wheelhouse=wheelhouse_made, store=access.environment)

        renting.confirm(f"run {run}: what an earlier job left on its machines' disks is deleted", yes=yes)
        with orderly_end():
            report = run_again(
                directory, renting.session_on(order.cloud), made=made, listening=shown_events, is_detached=detach
            )
    if report is None:
        return
    remember_run(directory)
    show_text(report.to_json()) if json else show(render_run(report))
    if not report.passed:
        raise ValidationFailedError(f"run {run}: not sorted, or not the data that went in; see the report")
    talk(f"run {run} is over" if take_down else f"run {run} stays: planner cluster down {run}")
