"""A receipt in a terminal and as a page: the sums of a month, its rows, and what was wrong."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from datetime import date
from pathlib import Path
from typing import TYPE_CHECKING, Any

from planner.report.section import Section
from planner.report.terminal.spark_answer import clock
from planner.schemas.receipt import ReceiptMonth, ReceiptRow
from planner.units import count_text, format_duration, format_usd

if TYPE_CHECKING:
    from planner.report.page.rendering import KeyFigure


def month_sentences(month: ReceiptMonth) -> Iterator[str]:
    """Yield the sums of a month in sentences."""
    when = f"In {month.month}" if month.month else "In all"
    if not (month.advised or month.runs):
        yield f"{when}: no advice and no run."
        return
    advised = f"{count_text(month.advised, 'piece')} of advice, of which {month.taken} taken"
    yield f"{when}: {advised}; {count_text(month.runs, 'run')}, of which {month.checked} can be checked."
    if month.inside_share is not None:
        expected = f"{month.expected_share:.0%} are expected"
        yield f"Within the range: {month.inside} of {month.checked} ({month.inside_share:.0%}; {expected})."
    moves = f" over {count_text(month.moves, 'run')} after an advised move, measured against measured"
    yield f"Saved: {_usd(month.saved_usd)}{moves if month.moves else ': no advised move has both costs'}."
    times = f", {month.regret:.2f} times the cheapest known runs" if month.regret else ": nothing to compare with"
    yield f"Regret of the advice taken: {_usd(month.regret_usd)}{times}."
    if month.unused:
        yield f"Not used: {count_text(month.unused, 'file')}; the last table has the reasons."
    for row in month.wrong:
        yield (
            f"Wrong: {row.job} on {row.ran_on}, {row.day}: measured {_time(row.measured_s)}, predicted"
            f" {_time(row.predicted_s)} ({_range(row)})."
        )


def receipt_sections(rows: Sequence[ReceiptRow]) -> Iterator[Section]:
    """Yield the table of predictions and runs, that of costs, and that of the reasons."""
    used = [row for row in rows if row.kind != "unused"]
    times = [
        (row.day, row.job, row.ran_on or "-", _time(row.predicted_s), _range(row), _time(row.measured_s), _inside(row))
        for row in used
    ]
    columns: tuple[str, ...] = ("day", "job", "ran on", "predicted", "range", "measured", "inside")
    yield Section(title="Times", columns=columns, rows=times, numbers=(3, 4, 5))
    costs = [(row.day, row.advised or "-", row.ran_on or "-", *map(_usd, _costs(row))) for row in used]
    columns = ("day", "advised", "ran on", "predicted", "measured", "before", "saved", "regret")
    yield Section(
        title="Costs, measured except those called predicted", columns=columns, rows=costs, numbers=range(3, 8)
    )
    reasons = [(row.day or "not used", Path(row.file).name, Path(row.advice).name, row.reason) for row in rows]
    yield Section(title="Which belongs to which", columns=("day", "file", "advice", "why"), rows=reasons)


def _costs(row: ReceiptRow) -> tuple[float | None, ...]:
    return row.predicted_usd, row.measured_usd, row.before_usd, row.saved_usd, row.regret_usd


def _inside(row: ReceiptRow) -> str:
    return {True: "yes", False: "NO", None: "-"}[row.inside]


def _range(row: ReceiptRow) -> str:
    if row.high_s is None:
        return "unknown"
    return f"up to {_time(row.high_s)}" if row.low_s is None else f"{_time(row.low_s)} - {_time(row.high_s)}"


def _time(seconds: float | None) -> str:
    return _or_unknown(seconds, lambda s: clock(s) if s >= 60 else format_duration(s))


def _usd(amount: float | None) -> str:
    return _or_unknown(amount, lambda usd: f"{'-' if usd < 0 else ''}{format_usd(abs(usd))}")


def _or_unknown(value: Any, text: Callable[[Any], str]) -> str:
    return "unknown" if value is None else text(value)


def receipt_page(month: ReceiptMonth, rows: Sequence[ReceiptRow], *, made_on: date | None = None) -> str:
    """Return the page as HTML."""
    from planner.report.page.rendering import render

    first, *further = month_sentences(month)
    return render(
        "receipt.html",
        figures=[],
        title="Receipt",
        made_on=made_on,
        asked="What advice and predictions were worth",
        headline=first,
        key_figures=list(_key_figures(month)),
        sentences=further,
        sections=list(receipt_sections(rows)),
    )


def _key_figures(month: ReceiptMonth) -> Iterator[KeyFigure]:
    yield "Advised", str(month.advised), f"{month.taken} taken"
    expected = f"{month.expected_share:.0%} expected" if month.expected_share is not None else "no run to check"
    yield "Within the range", _or_unknown(month.inside_share, "{:.0%}".format), expected
    yield "Saved", _usd(month.saved_usd), "measured against measured"
    yield "Regret", _usd(month.regret_usd), "above the cheapest known runs"
