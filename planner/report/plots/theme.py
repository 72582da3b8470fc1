"""Look of every chart: one palette, one font size, units on the axes.

Colours are Okabe and Ito's (2008), which colour-blind readers can distinguish; position, shape or text repeat what a
colour means. Charts have their own white background, so they are readable in a dark notebook too; a page that follows
the reader's setting passes `config(dark=True)` instead.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Final

import pandas as pd

from planner.extras import optional

BLUE: Final = "#0072B2"
VERMILLION: Final = "#D55E00"
GREEN: Final = "#009E73"
SKY: Final = "#56B4E9"
ORANGE: Final = "#E69F00"
PURPLE: Final = "#CC79A7"
GREY: Final = "#8C8C8C"
SERIES: Final = (BLUE, ORANGE, GREEN, PURPLE, SKY, VERMILLION, GREY)

WIDTH: Final = 620
"""Pixels of a chart's plotting area in a notebook; a page stretches it to the available width."""

_TIME_UNITS: Final = ((3 * 86400, 86400, "days"), (3 * 3600, 3600, "hours"), (180, 60, "min"), (0, 1, "s"))


def altair() -> Any:
    """Import the plotting library. Raises PlannerError with installation advice if it is missing."""
    return optional("altair", extra="plots", purpose="plotting")


def config(*, dark: bool = False) -> dict[str, Any]:
    """Return Vega-Lite's configuration for a white background, or for a dark page."""
    ink, faint, ground = ("#E6E6E6", "#3A3F47", "transparent") if dark else ("#1F2328", "#E3E6EA", "white")
    words = {
        "labelColor": ink,
        "titleColor": ink,
        "labelFontSize": 12,
        "titleFontSize": 12,
        "titleFontWeight": "normal",
    }
    return {
        "background": ground,
        "font": "system-ui, sans-serif",
        "view": {"stroke": None},
        "axis": {**words, "gridColor": faint, "domainColor": GREY, "tickColor": GREY, "labelLimit": 220},
        "legend": {
            **words,
            "orient": "bottom",
            "columns": 4,
            "symbolStrokeWidth": 2,
            "symbolBaseFillColor": ink,
            "symbolBaseStrokeColor": ink,
        },
        "header": words,
        "title": {"color": ink, "subtitleColor": ink, "anchor": "start", "fontSize": 14, "fontWeight": "bold"},
        "text": {"color": ink, "fontSize": 12},
        "range": {"category": list(SERIES)},
    }


def dressed(chart: Any, *, title: str, height: int | None = None) -> Any:
    """Return the chart with the common look, a title, and optionally a height in pixels."""
    size = {"width": WIDTH} | ({} if height is None else {"height": height})
    return chart.properties(title=title, **size).configure(**config())


def in_time_units(frame: pd.DataFrame, *columns: str) -> tuple[pd.DataFrame, str]:
    """Return the frame with columns of seconds converted to the unit that suits the longest, and the unit's name."""
    longest = float(frame[list(columns)].max().max()) if len(frame) else 0.0
    _, seconds, unit = next(row for row in _TIME_UNITS if longest >= row[0])
    return frame.assign(**{name: frame[name] / seconds for name in columns}), unit


def log_scale(**more: Any) -> Any:
    """Return a logarithmic scale that ends where the data does."""
    return altair().Scale(type="log", nice=False, **more)


def colour(field: str, colours: Mapping[str, str], **more: Any) -> Any:
    """Return the colours of a field's words, with a key without a title."""
    scale = altair().Scale(domain=list(colours), range=list(colours.values()))
    return altair().Color(f"{field}:N", title=None, scale=scale, **more)


def tips(*words: str, form: str, **numbers: str) -> list[Any]:
    """Return what is shown over a mark: words, then numbers with their titles ('' for that of the column)."""
    titled = ((f"{name}:Q", {"title": title} if title else {}) for name, title in numbers.items())
    return [*(f"{word}:N" for word in words), *(altair().Tooltip(name, format=form, **more) for name, more in titled)]


def reason_chart(lines: Sequence[str]) -> Any:
    """Return a chart with the reason why there is nothing to draw."""
    alt = altair()
    frame = pd.DataFrame({"line": list(range(len(lines))), "text": list(lines)})
    words = alt.Chart(frame).mark_text(align="left", fontSize=12, limit=WIDTH)
    placed = words.encode(alt.Y("line:O", axis=None), x=alt.value(0), text="text:N", tooltip="text:N")
    return dressed(placed, title="Nothing to draw", height=22 * max(len(lines), 1))
