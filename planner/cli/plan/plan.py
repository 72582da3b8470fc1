"""`plan`: the cluster to rent, for how long, at what cost, and why."""

from __future__ import annotations

from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

from typer import Option

from planner.api.files import require_new
from planner.cli.plan.further_questions import FurtherQuestions, answers_json, show_answers
from planner.cli.plan.plan_output import forms_and_views, out_text, require_chart, require_form, show_answer
from planner.cli.plan.plan_questions import completed
from planner.cli.plan.plan_sizes import plan_sizes, sizes_of
from planner.cli.plan.request_options import RequestOptions
from planner.cli.plan.simulation import SimulationOptions, plan_json, show_simulation
from planner.cli.platforms.export import platform_names, show_export
from planner.cli.shell.console import columns as width_of_screen
from planner.cli.shell.console import show as show_rich
from planner.cli.shell.console import show_sentences, show_text
from planner.cli.shell.files import Force, write_atomically
from planner.errors import BadInputError

if TYPE_CHECKING:
    from planner.api.recommend import Recommendation
    from planner.api.recommend_each import DataSizes


def plan(
    *,
    request_options: RequestOptions,
    further: FurtherQuestions,
    simulated: SimulationOptions,
    from_log: Annotated[
        Path | None, Option(help="Instead of --data: plan the Spark application of this event log.")
    ] = None,
    ran_on: Annotated[
        list[str] | None,
        Option(
            help="What the log's application ran on: 'm5.4xlarge x 4', or a FILE as of --own; of several runs,"
            " 'APP=m5.4xlarge x 4'."
        ),
    ] = None,
    app: Annotated[str | None, Option(help="Of several applications, this id, or the runs of this name.")] = None,
    explain: Annotated[bool, Option("--explain", help="Print the reasons, and the sum with its numbers.")] = False,
    rejected: Annotated[
        bool, Option("--rejected", help="Print why types are left out, how many and which; --wide: all.")
    ] = False,
    show: Annotated[
        list[str] | None,
        Option(
            help="answer, table, wide, json, csv or markdown; also network (cost under three networks) or volumes"
            " (rate against their number)."
        ),
    ] = None,
    wide: Annotated[bool, Option("--wide", help="Show all: candidates, phases, frontier, notes.")] = False,
    sort: Annotated[str | None, Option(help="Column that orders --show csv and markdown.")] = None,
    columns: Annotated[list[str] | None, Option(help="Columns of --show csv and markdown: names, or all.")] = None,
    json: Annotated[bool, Option("--json", help="Print the plan as one JSON object.")] = False,
    out: Annotated[
        Path | None,
        Option(dir_okay=False, help="Also write the plan as JSON to this file; FILE.csv has what --show csv shows."),
    ] = None,
    html: Annotated[
        Path | None, Option(dir_okay=False, help="Also write a page to this file; it opens without a network.")
    ] = None,
    chart: Annotated[
        Path | None, Option(dir_okay=False, help="Also draw the answer to this file for a slide: FILE.png or FILE.svg.")
    ] = None,
    dark: Annotated[bool, Option("--dark", help="Draw --chart on a dark ground.")] = False,
    export: Annotated[
        str | None,
        Option(
            help="Print the cluster as a platform's file in place of the answer; `planner export --help` names them.",
            autocompletion=platform_names,
        ),
    ] = None,
    refresh: Annotated[
        bool, Option("--refresh", help="Read the public prices first of a --region that has none here: aws, azure.")
    ] = False,
    force: Force = False,
) -> None:
    """Recommend the cluster to rent: which machine, how many, how long, how much, and why.

    Example: plan --data 100TB --model daytona
    """
    from planner.planning.recommendation import require_best

    require_new([out, html, chart, simulated.timeline], force=force)
    require_chart(chart, dark=dark)
    simulated.check(of_log=from_log is not None)
    if from_log is not None:
        from planner.cli.plan.plan_from_log import plan_from_log, refuse_forms

        given = {"--show": show, "--wide": wide, "--explain": explain, "--sort": sort, "--columns": columns}
        refuse_forms({**given, "--chart": chart})
        refuse_forms(further.given)
        plan_from_log(
            from_log,
            request_options=request_options,
            ran_on=ran_on,
            app=app,
            as_json=json,
            rejected=rejected,
            out=out,
            html=html,
            export=export,
        )
        return
    if export is not None and (json or show or wide or explain or rejected or further):
        raise BadInputError("--export prints a file and nothing else: leave out --json, --show and further questions")
    form, views = forms_and_views([*(show or []), *(["wide"] if wide else []), *(["json"] if json else [])])
    require_form(out, form, html=html, of_tables=(sort, columns))
    sizes = sizes_of(request_options["data"])
    if len(sizes) > 1:
        of_one_size = {
            "--explain": explain, "--rejected": rejected, "--html": html, "--simulate": simulated.simulate,
            "--sort": sort, "--columns": columns, "--most-data": request_options["most_data"], "--export": export,
            **further.given, **{f"--show {view}": True for view in views},
        }  # fmt: skip
        answer_to = partial(_recommendation, refresh=refresh)
        draw = partial(_write_chart, chart=chart, dark=dark)
        plan_sizes(sizes, request_options, answer=answer_to, form=form, out=out, chart=draw, of_one_size=of_one_size)
        return
    answered = _recommendation(completed(request_options), refresh=refresh)
    if out:
        write_atomically(out, out_text(answered, out, form, order=sort, only=columns) + "\n", option="--out")
    if html:
        _write_page(answered, html)
    if answered.best:
        _write_chart(answered, chart, dark=dark)
    if export is not None:
        require_best(answered.plan)
        show_export(answered.export(export))
        return
    if form == "json":
        show_text(plan_json(answered, simulated, extra=answers_json(answered, further)))
    elif further:
        show_answers(answered, further)
    require_best(answered.plan)
    if form != "json" and not (further and form == "answer"):
        show_answer(answered, form, order=sort, only=columns)
    if form != "json":
        _show_more(answered, form, views, explained=explain, rejected=rejected, simulated=simulated)


def _write_page(answered: Recommendation, html: Path) -> None:
    from planner.cli.shell.pages import plan_html

    write_atomically(html, plan_html(answered), option="--html")


def _write_chart(answered: Recommendation | DataSizes, chart: Path | None, *, dark: bool) -> None:
    if chart is None:
        return
    from planner.report.plots import picture

    write_atomically(chart, picture(answered.chart(dark=dark), suffix=chart.suffix), option="--chart")


def _recommendation(request_options: RequestOptions, *, refresh: bool) -> Recommendation:
    from datetime import date

    from planner.api.recommend import answer, answer_with_profile
    from planner.cli.plan.missing_prices import read_missing_prices
    from planner.schemas.arguments import columns, require_no_columns

    request = request_options.request()
    read_missing_prices(request, agreed=refresh)
    if request_options["profile"]:
        return answer_with_profile(request, request_options["profile"], columns(request_options["option"]))
    require_no_columns(request_options["option"])
    return answer(request, today=date.today())


def _show_more(
    answered: Recommendation,
    form: str,
    views: list[str],
    *,
    explained: bool,
    rejected: bool,
    simulated: SimulationOptions,
) -> None:
    """Show the requested views after the answer."""
    if explained:
        _explain(answered)
    if "network" in views:
        from planner.report.terminal.what_if_tables import render_networks

        show_rich(*render_networks(answered.network_rows()))
    if "volumes" in views:
        from planner.report.terminal.what_if_tables import render_volumes

        show_rich(*render_volumes(answered.volume_counts()))
    if rejected:
        from planner.report.terminal.plan_table import render_rejected

        show_rich(render_rejected(answered.plan.rejected, everything=form == "wide"))
    show_simulation(answered, simulated)


def _explain(answered: Recommendation) -> None:
    from planner.cost_model.model_reader import load_model
    from planner.planning.recommendation import require_best
    from planner.report.terminal.explain import explain
    from planner.report.terminal.reasons import reasons
    from planner.report.words import wrapped

    plan = answered.plan
    name = require_best(plan).model if plan.request.has_several_models else plan.request.model
    show_text("\nWhy this cluster")
    for reason in reasons(plan, answered.contrast()):
        show_text("\n".join(wrapped(f"* {reason}", min(width_of_screen(), 100))))
    show_sentences("\nThe sum\n" + explain(plan, load_model(name)))
