"""`planner explain-log` of many logs: a folder, a prefix of an object store or a history server."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Final, Literal

from planner.cli.shell.console import of_texts, show_json, show_sentences, show_text, table
from planner.cli.shell.console import show as show_rich
from planner.cli.shell.files import write_atomically
from planner.cli.shell.progress import bar
from planner.errors import BadInputError

if TYPE_CHECKING:
    from planner.report.fleet import Table
    from planner.spark.fleet.reading import OnLog

Shown = Literal["answer", "stages", "executors", "csv"]
_SHOWN: Final = 10


def explain_fleet(
    place: str,
    *,
    show: Shown,
    json: bool,
    html: Path | None,
    show_names: bool,
    ran_on: list[str] | None,
    processes: int | None,
) -> None:
    """Show the applications of all logs at a place. Raises BadInputError where none could be read."""
    from planner.report import fleet as fleet_answer
    from planner.schemas.plan import Request
    from planner.spark.fleet.reading import read_fleet

    if show in ("stages", "executors"):
        raise BadInputError(
            f"--show {show} is of one application: add --app ID, or give its log", code="missing-companion"
        )
    with _shown() as on_log:
        fleet = read_fleet(
            place, request=Request(data_bytes=1), ran_on=ran_on or (), processes=processes, on_log=on_log
        )
    shown = fleet if show_names else fleet_answer.without_names(fleet)
    if html:
        from planner.cli.shell.pages import fleet_html

        write_atomically(html, fleet_html(shown), option="--html")
    if json:
        show_json(fleet_answer.fleet_json(shown))
    elif show == "csv":
        import pandas as pd

        rows = pd.DataFrame([fleet_answer.row_json(row) for row in shown.rows])
        show_text(rows.to_csv(index=False).rstrip("\n"))
    else:
        show_sentences(fleet_answer.headline(shown))
        _show_tables(
            {
                "By waste": fleet_answer.waste_table(shown, most=_SHOWN),
                "By saving": fleet_answer.saving_table(shown, most=_SHOWN),
                "Over weeks": fleet_answer.trend_table(shown, most=_SHOWN),
                "Not read": fleet_answer.failure_table(shown, most=_SHOWN),
            }
        )
        for note in fleet_answer.notes(shown):
            show_sentences(note)
    if not fleet.applications:
        first = shown.failures[0] if shown.failures else None
        raise BadInputError(
            f"no application could be read there; {first.log}: {first.failure}" if first else "no log",
            code="no-application",
        )


def _show_tables(tables: dict[str, Table]) -> None:
    for title, (columns, rows) in tables.items():
        if rows:
            show_text(f"\n{title}")
            show_rich(of_texts(table(columns, rows)))


@contextmanager
def _shown() -> Iterator[OnLog | None]:
    """Yield a display of how many logs have been read; None where stderr is not a terminal."""
    if not sys.stderr.isatty():
        yield None
        return
    with bar("MofNCompleteColumn") as display:
        task = display.add_task("reading logs", total=None)
        yield lambda done, of: display.update(task, completed=done, total=of)
