"""`planner plan-log`: the cheapest cluster for a logged Spark application."""

from __future__ import annotations

import json as json_module
from dataclasses import replace
from inspect import Signature
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, ClassVar, Final

from typer import Argument, Option

from planner.api.files import require_new
from planner.cli.plan.request_options import RequestOptions
from planner.cli.platforms.export import platform_names, show_export
from planner.cli.shell.console import columns, show_json, show_text, talk
from planner.cli.shell.files import Force, write_atomically
from planner.errors import BadInputError, InfeasibleError, some_of
from planner.extras import optional

if TYPE_CHECKING:
    from planner.schemas.request import Request
    from planner.spark.application.application import Application
    from planner.spark.model.choices import SparkPlan

_COUNTING: Final = (
    "cloud", "catalog", "region", "instance", "exclude", "arch", "previous_generations", "max_vcpus", "nodes",
    "max_nodes", "deadline", "confidence", "pricing", "discount", "own_price",
)  # fmt: skip


class LogOptions(RequestOptions):
    """Options of a request that also apply to a logged application, which has its own data and engine."""

    __signature__: ClassVar = Signature(
        [option for name, option in RequestOptions.__signature__.parameters.items() if name in _COUNTING]
    )


def plan_log(
    log: Annotated[Path, Argument(help="An event log of Spark, a folder of it, or an application's rolled logs.")],
    *,
    request_options: LogOptions,
    ran_on: Annotated[
        list[str] | None,
        Option(
            help="What the application ran on: 'm5.4xlarge x 4', or a FILE as for `planner own`; of several runs,"
            " 'APP=m5.4xlarge x 4'."
        ),
    ] = None,
    app: Annotated[str | None, Option(help="Of several applications, this id, or the runs of this name.")] = None,
    to: Annotated[
        str | None,
        Option(
            "--to",
            help="Print the cluster as this platform's file in place of the answer; `planner export --help` has them.",
            autocompletion=platform_names,
        ),
    ] = None,
    rejected: Annotated[bool, Option("--rejected", help="Print why types are left out.")] = False,
    json: Annotated[bool, Option("--json", help="Print the answer as one JSON object.")] = False,
    out: Annotated[Path | None, Option(dir_okay=False, help="Also write the answer as JSON to this file.")] = None,
    html: Annotated[Path | None, Option(dir_okay=False, help="Also write a page; it opens without a network.")] = None,
    force: Force = False,
) -> None:
    """Plan the cheapest cluster for the Spark application of an event log, beside what it ran on.

    Example: planner plan-log app-20261101-0001.zstd --ran-on 'm5.4xlarge x 4'
    """
    from planner.report.terminal.spark_answer import answer_json, answer_lines, rejected_lines
    from planner.spark import log as spark_log
    from planner.spark.model.bounds import explain
    from planner.spark.model.from_log import catalogs_of, plan_application
    from planner.spark.model.several_logs import latest_first
    from planner.spark.task_trace.reading import looks_like_trace

    require_new([out, html], force=force)
    if html:
        optional("altair", extra="plots", purpose="--html")
    if to is not None and (json or rejected):
        raise BadInputError(
            "--to prints a file and nothing else: leave out --json and --rejected", code="contradiction"
        )
    if looks_like_trace(log):
        raise BadInputError(
            f"{log} has times of tasks, and no bytes, processors or memory to plan from",
            ["`planner explain-log` shows its tasks; `planner plan-log` needs a Spark event log"],
            code="log-too-little",
        )
    ran_on = [_in_words(given) for given in ran_on or ()]
    request = RequestOptions(request_options, data="1B").request()
    if len(request.pricings) > 1:
        raise BadInputError(
            f"--pricing {request.pricing}: a log is planned for one way to pay; give one of them", code="one-pricing"
        )
    application, *earlier = latest_first(spark_log.read(log).runs(app))
    application = _on_platform(application, to)
    if not (request_options["cloud"] or request_options["catalog"]):
        request = replace(request, catalogs=catalogs_of(application, request.catalogs, ran_on=ran_on))
    plan = plan_application(application, request, ran_on=ran_on, earlier=earlier)
    explained = explain(application)
    document: dict[str, Any] = answer_json(application, plan, explained)
    if out:
        write_atomically(out, json_module.dumps(document, indent=2, allow_nan=False) + "\n", option="--out")
    if html:
        from planner.cli.shell.pages import spark_html

        write_atomically(html, spark_html(application, explained, plan), option="--html")
    if to is not None:
        _export(plan, to, request, application)
    elif json:
        show_json(document)
    else:
        show_text("\n".join(answer_lines(application, plan, explained, width=min(columns(), 100))))
        if rejected:
            show_text("\n" + "\n".join(rejected_lines(plan)))
    if plan.best is None:
        is_fast = plan.fastest.prediction.duration_s <= plan.within_s
        ends = "ends as surely as asked" if is_fast else "is expected to end"
        text = f"no cluster {ends} within {plan.within_s:.0f} s; the fastest is shown"
        raise InfeasibleError(text, code="deadline")


def _in_words(given: str) -> str:
    """Return the machines of `--ran-on`, with those from a file in words; the file read is reported."""
    from planner.config.user_machines import listed_machines

    app, equals, machines = given.rpartition("=")
    listed = listed_machines(machines, option="--ran-on")
    if listed is None:
        return given
    unused = f"; not counted: {some_of(listed.unused)}" if listed.unused else ""
    talk(f"{machines}: {listed.nodes} x {listed.instance_type}, read as {listed.origin}{unused}")
    return f"{app}{equals}{listed.instance_type} x {listed.nodes}"


def _on_platform(application: Application, to: str | None) -> Application:
    """Return an application whose log names no platform as one of the platform that takes its file, if that has machine
    types: its cluster is planned with the platform's types and fee.
    """
    if to is None or application.cluster.platform:
        return application
    from planner.exports.platform import platform_of

    record = platform_of(to).spark
    return replace(application, cluster=replace(application.cluster, platform=record.platform if record.on_top else ""))


def _export(plan: SparkPlan, to: str, request: Request, application: Application) -> None:
    from planner.exports.platform import export_application

    region = (plan.best or plan.fastest).nodes.machine.region
    name = application.name or application.app_id
    show_export(export_application(plan, to, name=name, region=region, pricing=request.pricing))
