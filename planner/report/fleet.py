"""A fleet of logged Spark applications: tables by waste, by saving and of trends, for screen, page and programs.

Names of applications and logs show who runs what where, so they are left out unless asked for. A job is then named by
the order in which jobs first ran, an application by its id, a log by its place in the list.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import asdict, replace
from datetime import UTC, date, datetime
from typing import TYPE_CHECKING, Any, Final

from planner.report.section import Section
from planner.spark.fleet.reading import Fleet
from planner.spark.fleet.rows import FleetRow
from planner.spark.fleet.trends import Trend, at_twice_the_data, job_name, trends
from planner.units import count_text, format_bytes, format_duration, format_usd

if TYPE_CHECKING:
    from planner.report.page.rendering import Figure

Table = tuple[tuple[str, ...], list[tuple[str, ...]]]

_UNKNOWN: Final = "unknown"
_DRAWN: Final = 20
_MOST_ROWS: Final = 500
"""Most rows: a page with thousands no longer opens on a phone; CSV and JSON have all."""
_WASTE: Final = "Applications, those that wasted most core hours first; a star marks an incomplete log"
_SAVING: Final = "Applications that another cluster would do for less"
_TREND: Final = "Jobs with three runs or more over a week or more, the fastest growing first"


def without_names(fleet: Fleet) -> Fleet:
    """Return the fleet with jobs and logs by number in place of their names, and without the place."""
    jobs: dict[str, str] = {}
    for row in sorted(fleet.applications, key=lambda row: row.started_at_s or 0.0):
        jobs.setdefault(job_name(row.name), f"job-{len(jobs) + 1}")
    logs = {log: f"log {number}" for number, log in enumerate(dict.fromkeys(row.log for row in fleet.rows), 1)}
    rows = (replace(row, name="" if row.failure else jobs[job_name(row.name)], log=logs[row.log]) for row in fleet.rows)
    return replace(fleet, place="the given place", rows=tuple(rows))


def by_waste(fleet: Fleet) -> list[FleetRow]:
    """Return the applications, most waste first, unknown waste last."""
    return sorted(fleet.applications, key=lambda row: -_first(row.waste_core_s))


def _first(amount: float | None) -> float:
    return -1.0 if amount is None else amount


def headline(fleet: Fleet) -> str:
    """Return the size of the fleet and what it held and wasted, in a sentence or two."""
    rows = fleet.applications
    held, wasted = (sum(getattr(row, name) or 0.0 for row in rows) for name in ("core_s", "waste_core_s"))
    share = f" ({wasted / held:.0%})" if held else ""
    saving = sum(row.saving_usd or 0.0 for row in rows)
    saved = f" Other clusters would save {format_usd(saving)}." if saving else ""
    return (
        f"{_count(len(rows), 'application')} in {_count(fleet.logs, 'log')}: executors held {_hours(held)} core hours,"
        f" of which {_hours(wasted)}{share} ran no task, collected garbage or failed.{saved}"
    )


def notes(fleet: Fleet) -> Iterator[str]:
    """Yield notes on what the tables leave out."""
    if fleet.kept:
        yield f"{_count(fleet.kept, 'log')} had been read before, unchanged since."
    if fleet.running:
        yield f"{_count(fleet.running, 'application')} that still run were not read."
    unheld = sum(row.core_s is None for row in fleet.applications)
    if unheld:
        yield f"{_count(unheld, 'application')}: unknown waste, since the log lacks cores or times of executors."
    unsaved = [row for row in fleet.applications if row.saving_usd is None]
    reasons = dict.fromkeys(row.saving_unknown for row in unsaved)
    for reason in list(reasons)[:3]:
        count = sum(row.saving_unknown == reason for row in unsaved)
        yield f"{_count(count, 'application')}: unknown saving: {reason}."
    gaps = sum(bool(row.gaps) for row in fleet.applications)
    if gaps:
        yield f"{_count(gaps, 'application')} with an incomplete log: figures are of what it holds."
    if fleet.failures:
        yield f"{_count(len(fleet.failures), 'log')} could not be read."


def _count(count: int, what: str) -> str:
    noun, _, rest = what.partition(" ")
    return count_text(count, noun, grouped=True) + (f" {rest}" if rest else "")


def _hours(core_s: float | None) -> str:
    return _UNKNOWN if core_s is None else f"{core_s / 3600:,.1f}"


def _or_unknown(value: Any, text: Callable[[Any], str]) -> str:
    return _UNKNOWN if value is None else text(value)


def _common(row: FleetRow) -> tuple[str, ...]:
    attempt = f" ({row.attempt})" if row.attempt else ""
    day = _or_unknown(row.started_at_s, lambda at_s: f"{datetime.fromtimestamp(at_s, UTC):%Y-%m-%d}")
    return f"{row.app_id or _UNKNOWN}{attempt}", row.name, day, _or_unknown(row.duration_s, format_duration)


def waste_table(fleet: Fleet, *, most: int | None = None) -> Table:
    """Return the columns and cells by waste, at most `most` rows."""
    columns = ("application", "job", "day", "time", "core hours", "wasted", "share", "bound by", "twice the data")
    return (*columns, "log seen"), [
        (
            *_common(row),
            _hours(row.core_s),
            _hours(row.waste_core_s),
            _or_unknown(row.waste_share, "{:.0%}".format),
            row.bound,
            at_twice_the_data(row.data_headroom),
            _or_unknown(row.complete_share, f"{{:.0%}}{'*' * bool(row.gaps)}".format),
        )
        for row in by_waste(fleet)[:most]
    ]


def saving_table(fleet: Fleet, *, most: int | None = None) -> Table:
    """Return the applications that another cluster would run for less, the largest saving first."""
    saving = sorted((r for r in fleet.applications if (r.saving_usd or 0.0) > 0), key=lambda r: -_first(r.saving_usd))
    return ("application", "job", "day", "time", "on", "cost", "saving", "move to"), [
        (*_common(r), r.machines, *(_or_unknown(usd, format_usd) for usd in (r.cost_usd, r.saving_usd)), r.move_to)
        for r in saving[:most]
    ]


def failure_table(fleet: Fleet, *, most: int | None = None) -> Table:
    """Return the logs that could not be read, with the reasons."""
    return ("log", "why it was not read"), [(row.log, row.failure) for row in fleet.failures[:most]]


def trend_table(fleet: Fleet, *, most: int | None = None) -> Table:
    """Return the trends of jobs over weeks."""
    columns = ("job", "runs", "weeks", "time a week", "data a week", "last data", "twice the data", "spills in")
    return columns, [_trend_row(trend) for trend in trends(fleet.applications)[:most]]


def _trend_row(trend: Trend) -> tuple[str, ...]:
    weeks, last = trend.weeks_until_spill, trend.runs[-1].data_bytes
    return (
        trend.job,
        str(len(trend.runs)),
        f"{trend.weeks:.1f}",
        _or_unknown(trend.time_growth, lambda growth: f"{growth - 1:+.1%}"),
        _or_unknown(trend.data_growth, lambda growth: f"{growth - 1:+.1%}"),
        _or_unknown(last, format_bytes),
        trend.twice,
        "" if weeks is None else "now" if not weeks else f"{weeks:,.0f} weeks",
    )


def row_json(row: FleetRow) -> dict[str, Any]:
    """Return a row for programs and CSV."""
    return {**asdict(row), "waste_share": row.waste_share, "at_twice_the_data": at_twice_the_data(row.data_headroom)}


def fleet_json(fleet: Fleet) -> dict[str, Any]:
    """Return the fleet for programs: all rows in the order of their logs."""
    return {
        "place": fleet.place,
        "logs": fleet.logs,
        "kept": fleet.kept,
        "running": fleet.running,
        "applications": [row_json(row) for row in fleet.applications],
        "failures": [{"log": row.log, "reason": row.failure} for row in fleet.failures],
        "trends": [
            {
                "job": trend.job,
                "runs": len(trend.runs),
                "weeks": trend.weeks,
                "time_growth_per_week": trend.time_growth,
                "data_growth_per_week": trend.data_growth,
                "data_headroom": trend.data_headroom,
                "weeks_until_spill": trend.weeks_until_spill,
                "at_twice_the_data": trend.twice,
            }
            for trend in trends(fleet.applications)
        ],
        "notes": list(notes(fleet)),
    }


def fleet_page(fleet: Fleet, *, made_on: date | None = None) -> str:
    """Return the page as HTML. Raises PlannerError without the extra `plots`."""
    from planner.report.page.rendering import render

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

    from planner.report import plots
    from planner.report.page.rendering import Figure

    drawn = [row for row in by_waste(fleet) if row.core_s and row.waste_core_s is not None][:_DRAWN]
    rows = [
        (row.app_id, part, core_s / 3600)
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
