"""The page of a fleet of logged Spark applications: by waste, by saving, and trends of jobs."""

from __future__ import annotations

from datetime import date
from typing import Final

from planner.report import plots
from planner.report.fleet_answer import (
    Table,
    by_waste,
    failure_table,
    headline,
    notes,
    saving_table,
    trend_table,
    waste_table,
)
from planner.report.page.rendering import Figure, render
from planner.report.section import Section
from planner.spark.fleet.reading import Fleet
from planner.units import count_text

_DRAWN: Final = 20
_MOST_ROWS: Final = 500
"""Most rows: a page with thousands no longer opens on a phone; CSV and JSON have all."""
_WASTE: Final = "Applications, those that wasted most core hours first; a star marks an incomplete log"
_SAVING: Final = "Applications that another cluster would do for less"
_TREND: Final = "Jobs with three runs or more over a week or more, the fastest growing first"


def fleet_page(fleet: Fleet, *, made_on: date | None = None) -> str:
    """Return the page as HTML. Raises PlannerError without the extra `plots`."""
    return render(
        "fleet.html",
        figures=[_waste_figure(fleet)] if any(row.core_s for row in fleet.applications) else [],
        title="Spark applications",
        made_on=made_on,
        asked=f"Event logs of {fleet.place}",
        headline=headline(fleet),
        waste=_section(_WASTE, waste_table(fleet, most=_MOST_ROWS), 3, 4, 5, 6, 9),
        saving=_section(_SAVING, saving_table(fleet, most=_MOST_ROWS), 3, 5, 6),
        trend=_section(_TREND, trend_table(fleet, most=_MOST_ROWS), 1, 2, 3, 4, 5, 7),
        failures=_section("Logs that could not be read", failure_table(fleet, most=_MOST_ROWS)),
        left_out=max(len(fleet.applications) - _MOST_ROWS, 0),
        notes=list(notes(fleet)),
    )


def _section(title: str, table: Table, *numbers: int) -> Section:
    return Section(title=title, columns=table[0], rows=table[1], numbers=numbers)


def _waste_figure(fleet: Fleet) -> Figure:
    import pandas as pd

    drawn = [row for row in by_waste(fleet) if row.core_s and row.waste_core_s is not None][:_DRAWN]
    rows = [
        {"application": row.app_id, "part": part, "core_h": core_s / 3600}
        for row in drawn
        for part, core_s in (
            ("ran no task", row.idle_core_s or 0.0),
            ("collected garbage or failed", (row.waste_core_s or 0.0) - (row.idle_core_s or 0.0)),
            ("ran tasks", (row.core_s or 0.0) - (row.waste_core_s or 0.0)),
        )
    ]
    return Figure(
        name="waste",
        title="Core hours by application",
        text=f"The {count_text(len(drawn), 'application')} that wasted most. The table has the same in figures.",
        chart=plots.core_hours(pd.DataFrame(rows, columns=["application", "part", "core_h"])),
    )
