"""`plan`: which cluster to rent, how long, how much, and why."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

from typer import Option

from planner.cli.console import show, show_text
from planner.cli.files import write_whole
from planner.cli.price_options import names
from planner.cli.request_options import RequestOptions, column_values
from planner.errors import BadInputError, nearest

if TYPE_CHECKING:
    from planner.api import Recommendation

VIEWS = ("network", "volumes")
"""What `--show` takes."""


def plan(
    *,
    asked: RequestOptions,
    explain: Annotated[bool, Option("--explain", help="Say why, and print the sum with its numbers.")] = False,
    rejected: Annotated[bool, Option("--rejected", help="List every type left out, and why.")] = False,
    show_also: Annotated[
        list[str] | None,
        Option("--show", help="Also: network (cost under three networks), volumes (rate against their number)."),
    ] = None,
    json: Annotated[bool, Option("--json", help="Print the plan as one JSON object.")] = False,
    out: Annotated[Path | None, Option(help="Also write the plan as JSON to this file.")] = None,
    html: Annotated[
        Path | None, Option(help="Also write a page for people to this file; it opens without a network.")
    ] = None,
) -> None:
    """Recommend the cluster to rent: which machine, how many, how long, how much, and why.

    Example: plan --data 100TB --model daytona
    """
    from datetime import date

    from planner.api import answer, answer_with_profile

    wanted = _views(show_also)
    request = asked.request()
    if asked.profile:
        answered = answer_with_profile(request, asked.profile, column_values(asked.option))
    else:
        answered = answer(request, today=date.today())
    if out:
        write_whole(out, answered.plan.to_json() + "\n", option="--out")
    if html and answered.best:
        from planner.cli.pages import plan_html

        write_whole(html, plan_html(answered), option="--html")
    _show(answered, explained=explain, rejected=rejected, json=json)
    if not json:
        _show_views(answered, wanted)


def _show_views(answered: Recommendation, wanted: list[str]) -> None:
    if "network" in wanted:
        from planner.report.network_table import render_networks

        show(*render_networks(answered.network_rows()))
    if "volumes" in wanted:
        from planner.report.volume_table import render_volumes

        show(*render_volumes(answered.volume_counts()))


def _views(words: list[str] | None) -> list[str]:
    """Return what to show beside the answer. Raises BadInputError for what there is not."""
    wanted = names(words)
    for word in wanted:
        if word not in VIEWS:
            raise BadInputError(f"--show {word}: use one of {', '.join(VIEWS)}.{nearest(word, VIEWS)}")
    return wanted


def _show(answered: Recommendation, *, explained: bool, rejected: bool, json: bool) -> None:
    from planner.planning.recommendation import require_best

    plan = answered.plan
    if json:
        show_text(plan.to_json())
    best = require_best(plan)
    if json:
        return
    from planner.report.plan_table import render_plan, render_rejected

    show(render_plan(plan))
    if explained:
        from planner.cost_model.model_reader import load_model
        from planner.report.explain import explain
        from planner.report.reasons import reasons
        from planner.schemas.plan import ALL_MODELS

        name = best.model if plan.request.model == ALL_MODELS else plan.request.model
        show_text("\n".join(["\nWhy this cluster", *(f"* {why}" for why in reasons(plan, answered.contrast()))]))
        show_text("\nThe sum\n" + explain(plan, load_model(name)))
    if rejected:
        show(render_rejected(plan.rejected))
