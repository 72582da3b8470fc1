"""Output of `plan`: on one screen, as a table, in full, or for other programs."""

from __future__ import annotations

import json
import sys
from typing import TYPE_CHECKING, Any, Final

from planner.cli.shell.console import columns, fits, show, show_text, talk
from planner.errors import BadInputError, PlannerError, nearest
from planner.extras import optional
from planner.schemas.request_forms import names

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

    from planner.api.recommend import Recommendation
    from planner.schemas.plan import Candidate

FORMS: Final = ("answer", "table", "wide", "json", "csv", "markdown")
"""Ways to show the whole answer, only one at a time; additional views are in `VIEWS`."""

VIEWS: Final = ("network", "volumes")

_FORM_OF: Final = {".csv": "csv", ".md": "markdown"}
"""Forms of files, by the end of their names."""

WIDE_COLUMNS: Final = 120
"""Narrowest terminal that shows the table of candidates below the answer."""


def forms_and_views(words: list[str] | None) -> tuple[str, list[str]]:
    """Return the form and the views that `--show` names. Raises BadInputError for unknown ones."""
    wanted = names(words)
    for word in wanted:
        if word not in (*FORMS, *VIEWS):
            offered = (*FORMS, *VIEWS)
            raise BadInputError(
                f"--show {word}: use one of {', '.join(offered)}.{nearest(word, offered)}", code="unknown-word"
            )
    forms = [word for word in wanted if word in FORMS]
    if len(forms) > 1:
        raise BadInputError(
            f"--show {','.join(forms)}: these are whole answers, so give one of them", code="contradiction"
        )
    return (forms[0] if forms else "answer"), [word for word in wanted if word in VIEWS]


def require_form(out: Path | None, form: str, *, html: Path | None, of_tables: Sequence[object] = ()) -> None:
    """Raise BadInputError for a file whose name means another form than the one written, and for options `of_tables`
    where no table is shown; PlannerError for a page where charts are not installed.
    """
    if any(of_tables) and form not in ("csv", "markdown"):
        raise BadInputError(
            "--set sort and columns are for --show csv and --show markdown: give one of these, too",
            code="missing-companion",
        )
    if out and out.suffix in (".htm", ".html"):
        raise BadInputError(f"--out {out}: a plan is written as JSON; --html {out} writes a page", code="wrong-suffix")
    if html:
        optional("altair", extra="plots", purpose="--html")
    if out and out.suffix in _FORM_OF and form != _FORM_OF[out.suffix]:
        wanted = _FORM_OF[out.suffix]
        raise BadInputError(
            f"--out {out}: a plan is written as JSON; add --show {wanted}, or name a .json file", code="wrong-suffix"
        )


def out_text(answered: Recommendation, out: Path, form: str, *, order: str | None, only: list[str] | None) -> str:
    """Return the content of a file: the table shown if its name is that of a table, else the plan as JSON."""
    if out.suffix in _FORM_OF and answered.best:
        return _plain_text(answered, form, order=order, only=only)
    return answered.plan.to_json()


def show_answer(
    answered: Recommendation, form: str, *, order: str | None = None, only: list[str] | None = None
) -> None:
    """Show an answer that has a best cluster in one of the forms; `order` and `only` apply to the columns of tables for
    other programs.
    """
    plan = answered.plan
    if form in ("csv", "markdown"):
        show_text(_plain_text(answered, form, order=order, only=only))
        if plan.not_shown and (form == "csv" or order or only):  # the document states how many it shows
            talk(
                f"{len(plan.candidates)} of {plan.feasible} types are shown, best first; --top {plan.feasible} has all"
            )
    elif form == "wide":
        from planner.report.terminal.plan_table import render_plan

        show(render_plan(plan), drop_first=("disks data:interm.", "equation", "storage", "sort $"))
    elif form == "table":
        _show_candidates(answered)
    else:
        _show_short(answered)
        if sys.stdout.isatty() and columns() >= WIDE_COLUMNS:
            show_text("")
            _show_candidates(answered)


def _show_candidates(answered: Recommendation) -> None:
    """Show as many columns of the candidates as fit."""
    from planner.report.terminal.plan_table import brief_candidates_table, candidates_table

    plan = answered.plan
    tables = (candidates_table(plan), brief_candidates_table(plan), brief_candidates_table(plan, evidence=False))
    show(next((table for table in tables if fits(table, columns())), tables[-1]))


def _show_short(answered: Recommendation) -> None:
    from planner.report.terminal.short_answer import short_answer

    plan = answered.plan
    before = _before(answered) if plan.request.scale else None
    lines = short_answer(plan, width=min(columns(), 100), before=before, stored=_stored(answered))
    show_text("\n".join(lines))
    if len(plan.request.pricings) > 1:
        from planner.report.terminal.what_if_tables import pricing_table

        show_text("\n" + "\n".join(pricing_table(plan)))
    if len(plan.request.regions) > 1 and plan.best:
        from planner.report.terminal.what_if_tables import regions_table

        show_text("\n" + "\n".join(regions_table(answered.by_region())))
    if len({candidate.model for candidate in plan.candidates}) > 1:
        from planner.report.terminal.plan_table import models_tables

        show(*models_tables(plan))


def _before(answered: Recommendation) -> Candidate | None:
    """Return the best cluster without the what-ifs; None where a kept plan's catalog no longer exists."""
    try:
        return answered.without_what_ifs().best
    except PlannerError:
        return None


def _stored(answered: Recommendation) -> Candidate | None:
    """Return the best cluster with its data in an object store; None where unknown."""
    try:
        return answered.in_object_store()
    except PlannerError:
        return None


def _plain_text(answered: Recommendation, form: str, *, order: str | None, only: list[str] | None) -> str:
    """Return the answer as a Markdown document (a table if an order or columns are given), or as CSV."""
    if form == "markdown" and not (order or only):
        from planner.report.document import plan_document

        return plan_document(answered.plan, stored=_stored(answered))
    return frame_text(answered, form, order=order, only=only)


def frame_text(answered: Recommendation, form: str, *, order: str | None, only: list[str] | None) -> str:
    """Return the candidates as CSV or Markdown: in plain columns, in the requested ones, or in all.

    Raises BadInputError for unknown columns.
    """
    from planner.report.frames import MAIN_COLUMNS, answer_frame, main_columns

    frame = answer_frame(answered.plan, wide=True)
    wanted = names(only) or main_columns(frame)
    for name in [*wanted, *([order] if order else [])]:
        if name not in (*frame.columns, "all"):
            holding = [column for column in frame.columns if name in column][:3]
            near = f" Did you mean {' or '.join(holding)}?" if holding else nearest(name, list(frame))
            near = near or f" There are {', '.join(MAIN_COLUMNS)}, and more:"
            raise BadInputError(
                f"no column {name}.{near} --set columns=all shows all {len(frame.columns)}", code="unknown-column"
            )
    frame = frame.sort_values(order, kind="stable") if order else frame
    frame = (frame if "all" in wanted else frame[wanted]).map(_cell_value)
    return str(frame.to_csv(index=False, float_format="%.7g").rstrip("\n")) if form == "csv" else _markdown(frame)


def _cell_value(cell: Any) -> Any:
    """Return a cell for other programs, nested values as JSON."""
    return json.dumps(cell) if isinstance(cell, list | tuple | dict) else cell


def _markdown(frame: Any) -> str:
    rows = [list(frame.columns), ["---"] * len(frame.columns), *frame.astype(str).to_numpy().tolist()]
    return "\n".join(f"| {' | '.join(str(cell).replace('|', '/') for cell in row)} |" for row in rows)
