"""Charts of a logged Spark application: its stages over time, its tasks' time, and other clusters."""

from __future__ import annotations

from typing import Any

import pandas as pd

from planner.report.plots.theme import GREY, VERMILLION, altair, dressed, in_time_units


def stage_timeline(frame: pd.DataFrame) -> Any:
    """Chart each stage over time, coloured by its bound; `frame` has `stage`, `bound`, `start_s` and `end_s`."""
    alt = altair()
    shown, unit = in_time_units(frame.assign(length=frame.end_s - frame.start_s), "end_s", "start_s", "length")
    chart = (
        alt.Chart(shown)
        .mark_bar(height=12)
        .encode(
            alt.X("start_s:Q", title=f"time since the application began ({unit})"),
            alt.Y("stage:N", title="stage", sort=None),
            x2="end_s:Q",
            color=alt.Color("bound:N", title="bound by", sort=None),
            tooltip=["stage:N", "bound:N", alt.Tooltip("length:Q", title=f"length ({unit})", format=".3~f")],
        )
    )
    return dressed(chart, title="Stages over time", height=18 * max(len(frame), 2))


def task_time(frame: pd.DataFrame) -> Any:
    """Chart the tasks' time of each stage by resource; `frame` has `stage`, `resource` and `task_time_s`."""
    alt = altair()
    shown, unit = in_time_units(frame, "task_time_s")
    resources = list(dict.fromkeys(frame.resource))
    chart = (
        alt.Chart(shown)
        .mark_bar(height=12)
        .encode(
            alt.X("task_time_s:Q", title=f"time of all tasks ({unit})"),
            alt.Y("stage:N", title="stage", sort=None),
            color=alt.Color("resource:N", title=None, sort=resources),
            order=alt.Order("place:Q"),
            tooltip=["stage:N", "resource:N", alt.Tooltip("task_time_s:Q", title=f"time ({unit})", format=".3~f")],
        )
    )
    return dressed(chart, title="Where the tasks' time went", height=18 * max(frame.stage.nunique(), 2))


def clusters(frame: pd.DataFrame) -> Any:
    """Chart time, with its 90% range, and cost of clusters; `frame` has `cluster`, `which` (`as it was`, `recommended`,
    `other`), `time_s`, `low_s`, `high_s` and `cost_usd`.
    """
    alt = altair()
    shown, unit = in_time_units(frame, "high_s", "time_s", "low_s")
    scale = alt.Scale(domain=["as it was", "recommended", "other"], range=["#0072B2", VERMILLION, GREY])
    x = alt.X("time_s:Q", title=f"time ({unit})", scale=alt.Scale(zero=False))
    y = alt.Y("cost_usd:Q", title="cost (US dollars)", scale=alt.Scale(zero=False))
    ranges = alt.Chart(shown).mark_rule(color=GREY, opacity=0.5).encode(alt.X("low_s:Q"), y, x2="high_s:Q")
    tips = ["cluster:N", *(alt.Tooltip(f"{name}:Q", format=".4~g") for name in ("time_s", "cost_usd"))]
    dots = (
        alt.Chart(shown)
        .mark_point(filled=True, size=80, opacity=0.9)
        .encode(x, y, color=alt.Color("which:N", scale=scale, title=None), tooltip=tips)
    )
    return dressed(alt.layer(ranges, dots), title="Time and cost of other clusters", height=340)


def core_hours(frame: pd.DataFrame) -> Any:
    """Chart the core hours of applications by use; `frame` has `application`, `part` and `core_h`."""
    alt = altair()
    parts = list(dict.fromkeys(frame.part))
    chart = (
        alt.Chart(frame)
        .mark_bar(height=12)
        .encode(
            alt.X("core_h:Q", title="core hours"),
            alt.Y("application:N", title=None, sort=None),
            color=alt.Color("part:N", title=None, sort=parts),
            tooltip=["application:N", "part:N", alt.Tooltip("core_h:Q", title="core hours", format=".3~f")],
        )
    )
    return dressed(chart, title="Core hours by application", height=18 * max(frame.application.nunique(), 2))
