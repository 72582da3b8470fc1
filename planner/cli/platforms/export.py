"""`planner export`: a plan as another platform's file."""

from __future__ import annotations

from dataclasses import asdict
from pathlib import Path
from shlex import quote
from typing import TYPE_CHECKING, Annotated

from typer import Argument, Option

from planner.api.files import require_new
from planner.cli.plan.request_options import RequestOptions
from planner.cli.shell.console import show_json, show_text, talk
from planner.cli.shell.files import Force, read_plan, write_atomically
from planner.errors import BadInputError

if TYPE_CHECKING:
    from planner.exports.platform import Export


def platform_names() -> list[str]:
    """Return the allowed values of `--to`."""
    from planner.exports.platform import PLATFORMS

    return list(PLATFORMS)


To = Annotated[
    str,
    Option(
        "--to",
        help="emr, emr-serverless, dataproc, dataproc-serverless, databricks, spark-operator, karpenter, kuberay,"
        " skypilot, parallelcluster, slurm, cluster-toolkit or terraform.",
        autocompletion=platform_names,
    ),
]


def export(
    plan: Annotated[
        Path | None,
        Argument(help="A plan that `plan --out` wrote, or a run's report with one; otherwise it is planned here."),
    ] = None,
    *,
    to: To,
    request_options: RequestOptions,
    json: Annotated[bool, Option("--json", help="Print as JSON: the text, what is lost, what to fill in.")] = False,
    out: Annotated[Path | None, Option(dir_okay=False, help="Write the file here instead of printing it.")] = None,
    force: Force = False,
) -> None:
    """Write the recommended cluster as a platform's file, and list what the platform cannot express.

    Example: planner export small.json --to emr

    Example: planner export --to terraform --data 1TB
    """
    require_new([out], force=force)
    from planner.exports.platform import export_plan, platform_of
    from planner.planning.recommendation import require_best

    if plan is not None and (given := request_options.given):
        raise BadInputError(f"{given[0]}: {plan} has its request already; leave out one of both", code="contradiction")
    if plan is None:
        platform_of(to)
        answered = request_options.answer()
        require_best(answered.plan)
        show_export(answered.export(to), as_json=json, out=out)
    else:
        show_export(export_plan(read_plan(plan), to), as_json=json, out=out)


def show_export(exported: Export, *, as_json: bool = False, out: Path | None = None) -> None:
    """Print a platform's file, or write it to `out`; print on stderr what is lost and what to fill in."""
    if out is not None:
        write_atomically(out, exported.text, option="--out")
    elif not as_json:
        show_text(exported.text.rstrip("\n"))
    if as_json:
        show_json(asdict(exported))
        return
    for lost in exported.lost:
        talk(f"not expressed: {lost}")
    if exported.placeholders:
        talk(f"fill in {len(exported.placeholders)}: {', '.join(exported.placeholders)}")
    if out is not None and exported.file_name not in exported.apply and out.name != exported.file_name:
        talk(f"name it {exported.file_name}: {exported.platform} finds it by its name")
    apply = exported.apply if out is None else exported.apply.replace(exported.file_name, quote(str(out)))
    talk(f"then: {apply}")
