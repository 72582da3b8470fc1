"""`planner cluster attach|open|fetch|wait|logs`: access to a run that continues on its own."""

from __future__ import annotations

import os
from collections.abc import Callable
from contextlib import ExitStack
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

from typer import Argument, Option

from planner.api.run import machines_architecture, remember_run
from planner.api.software import wheels
from planner.cli.plan.shown_report import show_checked_report
from planner.cli.rent import renting
from planner.cli.shell.completion import runs
from planner.cli.shell.console import show_text, talk
from planner.cli.shell.progress import shown_events

if TYPE_CHECKING:
    from planner.clusters.provisioning.run_directory import RunDirectory
    from planner.clusters.runs.cloud_task import CloudRun

_Run = Annotated[str, Argument(help="The run; `planner cluster status` lists them.", autocompletion=runs)]


def cluster_attach(
    run: _Run,
    *,
    wheelhouse: Annotated[
        Path | None, Option(help="Wheels for the machines, if the run has not come as far as its sort.")
    ] = None,
    json: Annotated[bool, Option("--json", help="Print the report as one JSON object.")] = False,
) -> None:
    """Follow a run to its end, print its report and take its machines down, as the command that began it would have.

    Ctrl-C leaves it. Where the head does not answer, it is opened to this machine's address of now.
    Ends with exit code 5 when the sorted data is not the data that went in.

    Example: planner cluster attach r20261121-1430-x7k2mq
    """
    from planner.clusters.provisioning.run_directory import RunDirectory
    from planner.clusters.runs.cloud import attach

    directory = RunDirectory.open(run)
    session = renting.session_on(directory.order().cloud)
    with ExitStack() as stack:
        stack.enter_context(directory.lock())
        report = attach(directory, session, task=_preparation(directory, wheelhouse, stack), listening=shown_events)
    remember_run(directory, say=talk)
    show_checked_report(report, run=run, json=json)


def cluster_open(run: _Run, *, access: renting.Access) -> None:
    """Open a run's head to this machine's address, or another network, and close it to the one before.

    Example: planner cluster open r20261121-1430-x7k2mq
    """
    from planner.clusters.provisioning.run_directory import RunDirectory
    from planner.clusters.runs.cloud import open_access, reopen_run

    directory = RunDirectory.open(run)
    open_access(reopen_run(directory, renting.session_on(directory.order().cloud)), ssh_from=access.get("ssh_from"))


def cluster_fetch(
    run: _Run, to: Annotated[str, Argument(help="A folder here, or s3://bucket/path, to which the machines send it.")]
) -> None:
    """Save a run's sorted output, which lies on its machines' disks, before these are taken down.

    A fetch that broke off goes on when it is repeated. The machines stay.

    Example: planner cluster fetch r20261121-1430-x7k2mq sorted
    """
    from planner.clusters.provisioning.run_directory import RunDirectory
    from planner.clusters.runs.output import fetch_output, send_output

    directory = RunDirectory.open(run)
    session = renting.session_on(directory.order().cloud)
    with directory.lock():
        if "://" in to:
            manifest = send_output(directory, session, to=to, listening=shown_events)
        else:
            manifest = str(fetch_output(directory, session, folder=Path(to)))
    show_text(f"run {run}: its output is saved, and {manifest} lists it; planner cluster down {run} ends the machines")


def cluster_wait(run: _Run) -> None:
    """Return when a run's sort is done, and do nothing else: its machines stay.

    Example: planner cluster wait r20261121-1430-x7k2mq
    """
    from planner.clusters.provisioning.run_directory import RunDirectory
    from planner.clusters.runs.cloud import job_of

    directory = RunDirectory.open(run)
    with job_of(directory, renting.session_on(directory.order().cloud)) as job:
        job.result(lambda _: None)
    show_text(f"run {run}: done; planner cluster attach {run} has the report and takes the machines down")


def cluster_logs(run: _Run) -> None:
    """Print what a run's sort has reported so far, one JSON object a line, and what its driver said besides.

    Example: planner cluster logs r20261121-1430-x7k2mq
    """
    from planner.clusters.provisioning.run_directory import RunDirectory
    from planner.clusters.runs.cloud import job_of
    from planner.clusters.runs.rented_run import LOG

    directory = RunDirectory.open(run)
    stored = directory.path / LOG
    if stored.exists():
        show_text(stored.read_text(encoding="utf-8").rstrip())
        return
    with job_of(directory, renting.session_on(directory.order().cloud)) as job:
        show_text(job.log().rstrip())


def _preparation(directory: RunDirectory, wheelhouse: Path | None, stack: ExitStack) -> Callable[[], CloudRun]:
    """Return a function that prepares a run whose sort has not begun; its software exists until the stack ends."""

    def made() -> CloudRun:
        from planner.clusters.runs.cloud_task import CloudRun, load_task
        from planner.clusters.runs.store_credentials import access_to

        order, task = directory.order(), load_task(directory)
        uris = [uri for uri in (task.plan.request.input, task.plan.request.output) if uri]
        access = access_to(
            uris, cloud=order.cloud, identity=order.node_identity, is_lent=task.is_lent, environ=os.environ
        )
        is_table = task.source is not None and "table" in task.source["layout"]
        software = wheels(wheelhouse, architecture=machines_architecture(directory), is_table=is_table, say=talk)
        packed = stack.enter_context(software)
        return CloudRun(task=task, wheelhouse=packed, store=access.environment)

    return made
