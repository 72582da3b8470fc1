"""How `plan` shows its answer: on one screen, as a table, in full, or for other programs."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING, Any, Final

from planner.cli.console import columns, show, show_text
from planner.errors import BadInputError, nearest
from planner.schemas.asked_prices import names

if TYPE_CHECKING:
    from planner.api import Recommendation

FORMS: Final = ("answer", "table", "wide", "json", "csv", "markdown")
"""Ways to show the whole answer, of which one counts; the views beside it are `VIEWS`."""

VIEWS: Final = ("network", "volumes")

WIDE_COLUMNS: Final = 120
"""A terminal at least so wide has the table of candidates below the answer."""


def forms_and_views(words: list[str] | None) -> tuple[str, list[str]]:
    """Return the form and the views that `--show` names. Raises BadInputError for what there is not."""
    wanted = names(words)
    for word in wanted:
        if word not in (*FORMS, *VIEWS):
            offered = (*FORMS, *VIEWS)
            raise BadInputError(f"--show {word}: use one of {', '.join(offered)}.{nearest(word, offered)}")
    forms = [word for word in wanted if word in FORMS]
    if len(forms) > 1:
        raise BadInputError(f"--show {','.join(forms)}: these are whole answers, so give one of them")
    return (forms[0] if forms else "answer"), [word for word in wanted if word in VIEWS]


def show_answer(
    answered: Recommendation, form: str, *, order: str | None = None, only: list[str] | None = None
) -> None:
    """Show an answer that has a best cluster in one of the forms; `order` and `only` are of the columns of tables for
    other programs.
    """
    plan = answered.plan
    if form in ("csv", "markdown"):
        _show_frame(answered, form, order=order, only=only)
    elif order or only:
        raise BadInputError("--sort and --columns are for --show csv and --show markdown: give one of these, too")
    elif form == "wide":
        from planner.report.plan_table import render_plan

        show(render_plan(plan), width=max(columns(), 160))
    elif form == "table":
        _show_candidates(answered)
    else:
        _show_short(answered)
        if sys.stdout.isatty() and columns() >= WIDE_COLUMNS:
            show_text("")
            _show_candidates(answered)


def _show_candidates(answered: Recommendation) -> None:
    from planner.report.plan_table import brief_candidates_table, candidates_table

    table = candidates_table if columns() >= WIDE_COLUMNS else brief_candidates_table
    show(table(answered.plan), width=columns())


def _show_short(answered: Recommendation) -> None:
    from planner.report.short_answer import short_answer

    plan = answered.plan
    before = answered.without_what_ifs().best if plan.request.scale else None
    show_text("\n".join(short_answer(plan, width=min(columns(), 100), before=before)))
    if len({candidate.model for candidate in plan.candidates}) > 1:
        from planner.report.plan_table import models_tables

        show(*models_tables(plan), width=columns())


def _show_frame(answered: Recommendation, form: str, *, order: str | None, only: list[str] | None) -> None:
    frame = answered.to_frame(wide=True)
    for name in [*names(only), *([order] if order else [])]:
        if name not in frame.columns:
            raise BadInputError(f"column {name}: there are {', '.join(frame.columns)}.{nearest(name, list(frame))}")
    frame = frame.sort_values(order, kind="stable") if order else frame
    frame = frame[names(only)] if only else frame
    show_text(frame.to_csv(index=False, float_format="%.7g").rstrip("\n") if form == "csv" else _markdown(frame))


def _markdown(frame: Any) -> str:
    rows = [list(frame.columns), ["---"] * len(frame.columns), *frame.astype(str).to_numpy().tolist()]
    return "\n".join(f"| {' | '.join(str(cell).replace('|', '/') for cell in row)} |" for row in rows)
