"""`plan --from-log`: the cheapest cluster for a logged Spark application."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from planner.cli.plan.request_options import RequestOptions
from planner.cli.platforms.export import show_export
from planner.cli.shell.console import columns, show_json, show_text, talk
from planner.cli.shell.files import write_atomically
from planner.errors import BadInputError, InfeasibleError, some_of
from planner.schemas.arguments import option_of

if TYPE_CHECKING:
    from planner.schemas.request import Request
    from planner.spark.application.application import Application
    from planner.spark.model.choices import SparkPlan

_COUNTING: Final = {
    "cloud", "catalog", "region", "instance", "exclude", "arch", "previous_generations", "max_vcpus", "nodes",
    "max_nodes", "deadline", "sort_deadline", "confidence", "pricing", "discount", "own_price",
}  # fmt: skip
"""Options of `plan` that also apply to a logged application."""


def plan_from_log(
    path: Path,
    *,
    request_options: RequestOptions,
    ran_on: list[str] | None,
    app: str | None,
    as_json: bool,
    rejected: bool,
    out: Path | None,
    html: Path | None = None,
    export: str | None = None,
) -> None:
    """Show the plan for the application of an event log. Raises InfeasibleError when no cluster ends in time."""
    from planner.report.terminal.spark_answer import answer_json, answer_lines, rejected_lines
    from planner.spark import log as spark_log
    from planner.spark.model.bounds import explain
    from planner.spark.model.from_log import plan_application
    from planner.spark.model.several_logs import latest_first
    from planner.spark.task_trace.reading import looks_like_trace

    if looks_like_trace(path):
        raise BadInputError(
            f"{path} has times of tasks, and no bytes, processors or memory to plan from",
            ["`planner explain-log` shows its tasks; `plan --from-log` needs a Spark event log"],
        )
    _refuse_others(request_options)
    ran_on = [_in_words(given) for given in ran_on or ()]
    request = RequestOptions(request_options, data="1B").request()
    if len(request.pricings) > 1:
        raise BadInputError(f"--pricing {request.pricing}: --from-log plans for one way to pay; give one of them")
    application, *earlier = latest_first(spark_log.read(path).runs(app))
    if not ran_on and not (request_options["cloud"] or request_options["catalog"]) and application.cluster.cloud:
        request = replace(request, catalogs=(application.cluster.cloud,))
    plan = plan_application(application, request, ran_on=ran_on, earlier=earlier)
    explained = explain(application)
    document: dict[str, Any] = answer_json(application, plan, explained)
    if out:
        write_atomically(out, json.dumps(document, indent=2, allow_nan=False) + "\n", option="--out")
    if html:
        from planner.cli.shell.pages import spark_html

        write_atomically(html, spark_html(application, explained, plan), option="--html")
    if export is not None:
        _export(plan, export, request, application)
    elif as_json:
        show_json(document)
    else:
        show_text("\n".join(answer_lines(application, plan, explained, width=min(columns(), 100))))
        if rejected:
            show_text("\n" + "\n".join(rejected_lines(plan)))
    if plan.best is None:
        raise InfeasibleError(f"no cluster is expected to end within {plan.deadline_s:.0f} s; the fastest is shown")


def _in_words(given: str) -> str:
    """Return the machines of `--ran-on`, with those from a file in words; the file read is reported."""
    from planner.config.user_machines import listed_machines

    app, equals, machines = given.rpartition("=")
    listed = listed_machines(machines, option="--ran-on")
    if listed is None:
        return given
    unused = f"; not counted: {some_of(listed.unused)}" if listed.unused else ""
    talk(f"{machines}: {listed.nodes} x {listed.instance_type}, read as the output of `{listed.source}`{unused}")
    return f"{app}{equals}{listed.instance_type} x {listed.nodes}"


def _export(plan: SparkPlan, to: str, request: Request, application: Application) -> None:
    from planner.catalog.loading import load_catalog
    from planner.exports.registry import export_application

    cloud = (plan.best or plan.fastest).nodes.machine.cloud
    region = next(iter(request.regions), "") or application.cluster.region or load_catalog(cloud).default_region
    name = application.name or application.app_id
    show_export(export_application(plan, to, name=name, region=region, pricing=request.pricing))


def refuse_forms(given: Mapping[str, object]) -> None:
    """Raise BadInputError for forms of an answer, by their options, that a logged application's plan does not have."""
    if named := [option for option, value in given.items() if value]:
        raise BadInputError(
            f"{', '.join(named)}: not with --from-log, whose answer is text, --json or --html; leave it out"
        )


def _refuse_others(request_options: RequestOptions) -> None:
    others = [
        option_of(name)
        for name, option in RequestOptions.__signature__.parameters.items()
        if name not in _COUNTING and request_options[name] != option.default
    ]
    if others:
        raise BadInputError(f"{', '.join(others)}: of a sort; --from-log plans a Spark application, give one of both")
