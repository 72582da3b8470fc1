"""Charts of runs: predicted and measured figures, and each node's activity over time."""

from __future__ import annotations

from typing import Any

import pandas as pd

from planner.report.plots.theme import BLUE, GREY, VERMILLION, altair, dressed, in_time_units


def predicted_and_measured(frame: pd.DataFrame, *, label: str = "phase") -> Any:
    """Chart predicted and measured seconds of each row side by side; `label` is the column that names a row.

    `frame` has `predicted_s` and `measured_s`, a `run_phases_frame` for one.
    """
    alt = altair()
    shown, unit = in_time_units(frame, "measured_s", "predicted_s")
    long = shown.rename(columns={"predicted_s": "predicted", "measured_s": "measured"}).melt(
        id_vars=[label], value_vars=["predicted", "measured"], var_name="which", value_name="time"
    )
    scale = alt.Scale(domain=["predicted", "measured"], range=[BLUE, VERMILLION])
    chart = (
        alt.Chart(long)
        .mark_bar(height=12)
        .encode(
            alt.X("time:Q", title=f"time ({unit})"),
            alt.Y(f"{label}:N", title=None, sort=None),
            alt.YOffset("which:N", sort=["predicted", "measured"]),
            color=alt.Color("which:N", title=None, scale=scale),
            tooltip=[f"{label}:N", "which:N", alt.Tooltip("time:Q", title=f"time ({unit})", format=".4~f")],
        )
    )
    return dressed(chart, title="Predicted and measured", height=34 * max(len(frame), 1))


def agreement(frame: pd.DataFrame, *, label: str, group: str) -> Any:
    """Chart measured against predicted seconds of many runs on logarithmic axes; both agree on the grey line.

    `frame` has `predicted_s`, `measured_s`, a column `label` that names a run and a column `group` that colours it.
    """
    alt = altair()
    shown, unit = in_time_units(frame, "measured_s", "predicted_s")
    least = float(shown[["predicted_s", "measured_s"]].min().min()) * 0.9
    most = float(shown[["predicted_s", "measured_s"]].max().max()) * 1.1
    log = alt.Scale(type="log", domain=[least, most], nice=False)
    x = alt.X("predicted_s:Q", title=f"predicted ({unit})", scale=log)
    y = alt.Y("measured_s:Q", title=f"measured ({unit})", scale=log)
    ends = pd.DataFrame({"predicted_s": [least, most], "measured_s": [least, most]})
    line = alt.Chart(ends).mark_line(color=GREY).encode(x, y)
    tips = [f"{label}:N", *(alt.Tooltip(f"{name}:Q", format=".4~f") for name in ("predicted_s", "measured_s"))]
    dots = (
        alt.Chart(shown)
        .mark_point(filled=True, size=70, opacity=0.85)
        .encode(
            x, y, color=alt.Color(f"{group}:N", title=None), shape=alt.Shape(f"{group}:N", title=None), tooltip=tips
        )
    )
    return dressed(alt.layer(line, dots), title="Measured against predicted", height=380)


def timeline(frame: pd.DataFrame) -> Any:
    """Chart the steps of each node over time: a `timeline_frame`, one row per node."""
    alt = altair()
    shown, unit = in_time_units(frame, "end_s", "start_s")
    steps = list(dict.fromkeys(shown.step))
    shown = shown.assign(length=shown.end_s - shown.start_s)
    chart = (
        alt.Chart(shown)
        .mark_bar(height=20)
        .encode(
            alt.X("start_s:Q", title=f"time since the run began ({unit})"),
            alt.Y("node:N", title=None, sort=None),
            x2="end_s:Q",
            color=alt.Color("step:N", title=None, sort=steps),
            tooltip=["node:N", "step:N", alt.Tooltip("length:Q", title=f"length ({unit})", format=".3~f")],
        )
    )
    return dressed(chart, title="Who did what when", height=34 * max(len(set(frame.node)), 1))
