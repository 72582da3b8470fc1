"""`planner receipt`: what advice and predictions were worth, beside the runs that followed."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

from typer import Argument, Option

from planner.api.files import require_new
from planner.cli.shell.console import of_texts, show, show_json, show_sentences
from planner.cli.shell.files import Force, write_atomically
from planner.errors import BadInputError


def receipt(
    places: Annotated[
        list[Path],
        Argument(
            help="Files, or folders of them: what `plan-log --out`, `plan --out` and `run --out` wrote, event logs of"
            " Spark, journals of rented runs."
        ),
    ],
    *,
    month: Annotated[str | None, Option(help="Only this month, such as 2026-11.")] = None,
    ran_on: Annotated[
        list[str] | None,
        Option(help="What logged runs ran on, such as 'm5.4xlarge x 4'; 'APP=m5.4xlarge x 4' for one of several."),
    ] = None,
    json: Annotated[bool, Option("--json", help="Print as one JSON object.")] = False,
    html: Annotated[Path | None, Option(dir_okay=False, help="Write a page; it opens without a network.")] = None,
    force: Force = False,
) -> None:
    """Show what advice was worth: each prediction beside the run that followed; for a month savings, regret, errors.

    Example: planner receipt advice.json logs --month 2026-11
    """
    from planner.api.receipts.receipt import receipt as read_receipt
    from planner.report.receipt import month_sentences, receipt_sections

    require_new([html], force=force)
    found = read_receipt(places, ran_on=ran_on or ())
    of_month = found.month(month)
    rows = found.rows_of(of_month)
    if html:
        from planner.cli.shell.pages import written

        write_atomically(html, written(lambda today: found.to_html(month, made_on=today)), option="--html")
    if json:
        show_json(found.to_dict(of_month))
    else:
        for sentence in month_sentences(of_month):
            show_sentences(sentence)
        show(
            *(of_texts(section) for section in receipt_sections(rows) if section.rows), drop_first=("before", "ran on")
        )
    if all(row.kind == "unused" for row in found.rows):
        raise BadInputError(f"no file can be used; {found.rows[0].file}: {found.rows[0].reason}", code="no-application")
