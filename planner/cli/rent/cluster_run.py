"""`planner cluster run`: another job on machines already rented."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

from typer import Argument, Option

from planner.api.run import Work, effort_of, run_on_machines
from planner.cli.plan.shown_report import show_checked_report
from planner.cli.rent import renting
from planner.cli.shell.completion import runs
from planner.cli.shell.console import talk, words_given
from planner.cli.shell.option_values import amount
from planner.cli.sort.key_options import InputFormatOptions
from planner.errors import BadInputError
from planner.units import parse_size


def cluster_run(
    run: Annotated[
        str,
        Argument(help="The run whose machines are there; `planner cluster status` lists them.", autocompletion=runs),
    ],
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
    work = Work(
        data=data,
        model=model,
        memory_bytes=amount("--memory", parse_size, memory) if memory else None,
        keep=not take_down,
        wheelhouse=wheelhouse,
        input=input,
        output=output,
        lend_credentials=lend_credentials,
        detach=detach,
        form=form,
        asked=words_given(),
    )
    report = run_on_machines(
        directory,
        work,
        effort_of(screen_seconds, screen_size),
        confirm=renting.asking_of_text(yes=yes),
        listeners=renting.listeners(),
    )
    if report is None:
        return
    show_checked_report(report, run=run, json=json)
    talk(f"run {run} is over" if take_down else f"run {run} stays: planner cluster down {run}")
