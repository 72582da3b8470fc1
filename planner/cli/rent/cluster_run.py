"""`planner cluster run`: another job on machines already rented."""

from __future__ import annotations

from typing import Annotated

from typer import Argument, Option

from planner.api.run import effort_of, run_on_machines
from planner.api.run_job import Work
from planner.cli.plan.shown_report import show_checked_report
from planner.cli.rent import renting
from planner.cli.rent.run_options import EffortOptions
from planner.cli.shell.commands import words_given
from planner.cli.shell.completion import runs
from planner.cli.shell.console import talk
from planner.cli.shell.declared_options import DeclaredOptions
from planner.cli.sort.key_options import InputFormatOptions
from planner.errors import BadInputError

_TAKEN = ("data", "model", "memory_bytes", "input", "output", "lend_credentials", "wheelhouse", "detach")


class _Job(DeclaredOptions, of=[Work], only=_TAKEN, needs=["model"]):
    """What is sorted on machines that are there."""


def cluster_run(
    run: Annotated[
        str,
        Argument(help="The run whose machines are there; `planner cluster status` lists them.", autocompletion=runs),
    ],
    *,
    job: _Job,
    effort: EffortOptions,
    take_down: Annotated[bool, Option("--take-down", help="Take the machines down in the end.")] = False,
    yes: renting.Yes = False,
    json: Annotated[bool, Option("--json", help="Print the report as one JSON object.")] = False,
    form: InputFormatOptions,
) -> None:
    """Measure a cluster that `up`, or `run --keep`, left there, and sort on it.

    What an earlier job left on its disks is deleted. The machines stay until they expire, unless --take-down is given.

    Example: planner cluster run r20261121-1430-x7k2mq --data 1TB --model indy
    """
    from planner.clusters.provisioning.run_directory import RunDirectory

    work = Work(**job | {"data": job.get("data")}, keep=not take_down, form=form, asked=words_given())
    if work.data is None and work.input is None:
        raise BadInputError(
            "say how much to sort: --data 1TB, or what: --input s3://bucket/path", code="missing-argument"
        )
    form.require(input=work.input)
    there, agreed = RunDirectory.open(run), renting.asking_of_text(yes=yes)
    report = run_on_machines(there, work, effort_of(**effort), confirm=agreed, listeners=renting.listeners())
    if report is None:
        return
    show_checked_report(report, run=run, json=json)
    talk(f"run {run} is over" if take_down else f"run {run} stays: planner cluster down {run}")
