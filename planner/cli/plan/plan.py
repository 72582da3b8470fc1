"""`plan`: the cluster to rent, for how long, at what cost, and why."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

from typer import Argument, Context, Option

from planner.api.files import require_new
from planner.cli.plan.chart import Chart, Dark, require_chart, write_chart
from planner.cli.plan.plan_output import forms_and_views, out_text, require_form, show_answer
from planner.cli.plan.plan_questions import completed
from planner.cli.plan.request_options import RequestOptions
from planner.cli.plan.type_questions import plan_json
from planner.cli.shell.console import columns as width_of_screen
from planner.cli.shell.console import show as show_rich
from planner.cli.shell.console import show_sentences, show_text
from planner.cli.shell.files import Force, write_atomically

if TYPE_CHECKING:
    from planner.api.recommend import Recommendation
    from planner.schemas.plan import Plan


def plan(
    ctx: Context,
    request: Annotated[
        Path | None,
        Argument(
            metavar="FILE",
            help="FILE.toml, a request that --save wrote, or FILE.json, a plan to make again; options change it.",
        ),
    ] = None,
    *,
    request_options: RequestOptions,
    explain: Annotated[bool, Option("--explain", help="Print the reasons, and the sum with its numbers.")] = False,
    rejected: Annotated[
        bool, Option("--rejected", help="Print why types are left out, how many and which; --show wide: all.")
    ] = False,
    show: Annotated[
        list[str] | None,
        Option(
            help="answer, table, wide (all), json, csv or markdown; also network (three networks) or volumes (their"
            " number)."
        ),
    ] = None,
    sort: Annotated[str | None, Option(help="Column that orders --show csv and markdown.")] = None,
    columns: Annotated[list[str] | None, Option(help="Columns of --show csv and markdown: names, or all.")] = None,
    json: Annotated[bool, Option("--json", help="Print the plan as one JSON object.")] = False,
    out: Annotated[
        Path | None, Option(dir_okay=False, help="Also write the plan as JSON; to FILE.csv what --show csv shows.")
    ] = None,
    html: Annotated[Path | None, Option(dir_okay=False, help="Also write a page; it opens without a network.")] = None,
    save: Annotated[
        Path | None, Option(dir_okay=False, help="Also write the request to this TOML file, for `plan FILE`.")
    ] = None,
    chart: Chart = None,
    dark: Dark = False,
    force: Force = False,
) -> None:
    """Recommend the cluster to rent: which machine, how many, how long, how much, and why.

    Example: plan --data 100TB --model daytona

    Example: plan --data 3TB --deadline 2h --save nightly.toml
    """
    from planner.planning.recommendation import require_best

    require_new([out, html, save, chart], force=force)
    require_chart(chart, dark=dark)
    form, views = forms_and_views([*(show or []), *(["json"] if json else [])])
    require_form(out, form, html=html, of_tables=(sort, columns))
    if request:
        sources = {name: ctx.get_parameter_source(name) for name in request_options}
        given = [name for name, source in sources.items() if source and source.name == "COMMANDLINE"]
        request_options = request_options.on_top_of(request, given)
    answered = completed(request_options).answer()
    if save:
        write_atomically(save, request_options.toml_of(answered.plan.request), option="--save")
    if out:
        write_atomically(out, out_text(answered, out, form, order=sort, only=columns) + "\n", option="--out")
    if html:
        from planner.cli.shell.pages import plan_html

        write_atomically(html, plan_html(answered), option="--html")
    if chart and answered.best:
        write_chart(answered, chart, dark=dark)
    before = request_options.based_on
    if form == "json":
        show_text(plan_json(answered.plan, **_changes(before, answered.plan)))
    require_best(answered.plan)
    if form == "json":
        return
    show_answer(answered, form, order=sort, only=columns)
    if before and form in ("answer", "table", "wide"):
        from planner.report.terminal.plan_comparison import changed_text

        show_sentences(f"\n{changed_text(before, answered.plan)}")
    if explain:
        _explain(answered)
    _show_views(answered, views)
    if rejected:
        from planner.report.terminal.plan_table import render_rejected

        show_rich(render_rejected(answered.plan.rejected, everything=form == "wide"))


def _changes(before: Plan | None, plan: Plan) -> dict[str, Any]:
    """Return the field of a plan's JSON on what it changes in the plan that it was made from; none without that."""
    from planner.report.terminal.plan_comparison import changes

    return {"changes": changes(before, plan)} if before else {}


def _show_views(answered: Recommendation, views: list[str]) -> None:
    if not views:
        return
    from planner.report.terminal.what_if_tables import render_networks, render_volumes

    if "network" in views:
        show_rich(*render_networks(answered.network_rows()))
    if "volumes" in views:
        show_rich(*render_volumes(answered.volume_counts()))


def _explain(answered: Recommendation) -> None:
    from planner.cost_model.model_reader import load_model
    from planner.planning.recommendation import require_best
    from planner.report.terminal.reasons import explain, reasons
    from planner.report.words import wrapped

    plan = answered.plan
    name = require_best(plan).model if plan.request.has_several_models else plan.request.model
    show_text("\nWhy this cluster")
    for reason in reasons(plan, answered.contrast()):
        show_text("\n".join(wrapped(f"* {reason}", min(width_of_screen(), 100))))
    show_sentences("\nThe sum\n" + explain(plan, load_model(name)))
