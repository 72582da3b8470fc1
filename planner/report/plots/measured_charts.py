"""Charts of what was measured: runs, nodes, and logged Spark applications."""

from __future__ import annotations

from typing import Any

import pandas as pd

from planner.report.plots.theme import BLUE, GREY, VERMILLION, altair, dressed, in_time_units

_KEPT, _DROPPED = "kept", "dropped"


def _tips(titles: dict[str, str], *, form: str) -> list[Any]:
    return [altair().Tooltip(f"{name}:Q", title=title, format=form) for name, title in titles.items()]


def _bars(
    frame: pd.DataFrame, x: dict[str, str], y: str, color: Any, tips: list[Any], *, thick: int = 12, **more: Any
) -> Any:
    """Return horizontal bars: `x` is a field with its title, `y` the field that names a row."""
    alt = altair()
    (field, title), *_ = x.items()
    rows = more.pop("rows", None)
    bars = alt.Chart(frame).mark_bar(height=thick)
    along = alt.X(f"{field}:Q", title=title)
    return bars.encode(along, alt.Y(f"{y}:N", title=rows, sort=None), color=color, tooltip=tips, **more)


def predicted_and_measured(frame: pd.DataFrame, *, label: str = "phase") -> Any:
    """Chart predicted and measured seconds of each row side by side; `label` is the column that names a row.

    `frame` has `predicted_s` and `measured_s`, a `run_phases_frame` for one.
    """
    alt, which = altair(), ["predicted", "measured"]
    shown, unit = in_time_units(frame, "measured_s", "predicted_s")
    long = shown.rename(columns={f"{name}_s": name for name in which}).melt(
        id_vars=[label], value_vars=which, var_name="which", value_name="time"
    )
    color = alt.Color("which:N", title=None, scale=alt.Scale(domain=which, range=[BLUE, VERMILLION]))
    time = {"time": f"time ({unit})"}
    tips = [f"{label}:N", "which:N", *_tips(time, form=".4~f")]
    chart = _bars(long, time, label, color, tips, yOffset=alt.YOffset("which:N", sort=which))
    return dressed(chart, title="Predicted and measured", height=34 * max(len(frame), 1))


def agreement(frame: pd.DataFrame, *, label: str, group: str) -> Any:
    """Chart measured against predicted seconds of many runs on logarithmic axes; both agree on the grey line.

    `frame` has `predicted_s`, `measured_s`, a column `label` that names a run and a column `group` that colours it.
    """
    alt = altair()
    shown, unit = in_time_units(frame, "measured_s", "predicted_s")
    times = shown[["predicted_s", "measured_s"]]
    ends = [float(times.min().min()) * 0.9, float(times.max().max()) * 1.1]
    log = alt.Scale(type="log", domain=ends, nice=False)
    x = alt.X("predicted_s:Q", title=f"predicted ({unit})", scale=log)
    y = alt.Y("measured_s:Q", title=f"measured ({unit})", scale=log)
    line = alt.Chart(pd.DataFrame({"predicted_s": ends, "measured_s": ends})).mark_line(color=GREY).encode(x, y)
    tips = [f"{label}:N", *(alt.Tooltip(f"{name}:Q", format=".4~f") for name in times)]
    marks = {"color": alt.Color(f"{group}:N", title=None), "shape": alt.Shape(f"{group}:N", title=None)}
    dots = alt.Chart(shown).mark_point(filled=True, size=70, opacity=0.85).encode(x, y, **marks, tooltip=tips)
    return dressed(alt.layer(line, dots), title="Measured against predicted", height=380)


def timeline(frame: pd.DataFrame) -> Any:
    """Chart the steps of each node over time: a `timeline_frame`, one row per node."""
    chart = _spans(
        frame, "run", "node", "step", altair().Color("step:N", title=None, sort=[*dict.fromkeys(frame.step)])
    )
    return dressed(chart, title="Who did what when", height=34 * max(len(set(frame.node)), 1))


def stage_timeline(frame: pd.DataFrame) -> Any:
    """Chart each stage over time, coloured by its bound; `frame` has `stage`, `bound`, `start_s` and `end_s`."""
    color = altair().Color("bound:N", title="bound by", sort=None)
    chart = _spans(frame, "application", "stage", "bound", color, thick=12, rows="stage")
    return dressed(chart, title="Stages over time", height=18 * max(len(frame), 2))


def _spans(frame: pd.DataFrame, of: str, row: str, kind: str, color: Any, *, thick: int = 20, **more: Any) -> Any:
    shown = frame.assign(length=frame.end_s - frame.start_s)
    shown, unit = in_time_units(shown, "end_s", "start_s", "length")
    tips = [f"{row}:N", f"{kind}:N", *_tips({"length": f"length ({unit})"}, form=".3~f")]
    x = {"start_s": f"time since the {of} began ({unit})"}
    return _bars(shown, x, row, color, tips, thick=thick, x2="end_s:Q", **more)


def task_time(frame: pd.DataFrame) -> Any:
    """Chart the tasks' time of each stage by resource; `frame` has `stage`, `resource` and `task_time_s`."""
    alt = altair()
    shown, unit = in_time_units(frame, "task_time_s")
    color = alt.Color("resource:N", title=None, sort=list(dict.fromkeys(frame.resource)))
    tips = ["stage:N", "resource:N", *_tips({"task_time_s": f"time ({unit})"}, form=".3~f")]
    x, order = {"task_time_s": f"time of all tasks ({unit})"}, alt.Order("place:Q")
    chart = _bars(shown, x, "stage", color, tips, rows="stage", order=order)
    return dressed(chart, title="Where the tasks' time went", height=18 * max(frame.stage.nunique(), 2))


def core_hours(frame: pd.DataFrame) -> Any:
    """Chart the core hours of applications by use; `frame` has `application`, `part` and `core_h`."""
    color = altair().Color("part:N", title=None, sort=list(dict.fromkeys(frame.part)))
    hours = {"core_h": "core hours"}
    chart = _bars(frame, hours, "application", color, ["application:N", "part:N", *_tips(hours, form=".3~f")])
    return dressed(chart, title="Core hours by application", height=18 * max(frame.application.nunique(), 2))


def clusters(frame: pd.DataFrame) -> Any:
    """Chart time, with its 90% range, and cost of clusters; `frame` has `cluster`, `which` (`as it was`, `recommended`,
    `other`), `time_s`, `low_s`, `high_s` and `cost_usd`.
    """
    alt = altair()
    shown, unit = in_time_units(frame, "high_s", "time_s", "low_s")
    scale = alt.Scale(domain=["as it was", "recommended", "other"], range=[BLUE, VERMILLION, GREY])
    x = alt.X("time_s:Q", title=f"time ({unit})", scale=alt.Scale(zero=False))
    y = alt.Y("cost_usd:Q", title="cost (US dollars)", scale=alt.Scale(zero=False))
    ranges = alt.Chart(shown).mark_rule(color=GREY, opacity=0.5).encode(alt.X("low_s:Q"), y, x2="high_s:Q")
    tips = ["cluster:N", *(alt.Tooltip(f"{name}:Q", format=".4~g") for name in ("time_s", "cost_usd"))]
    color = alt.Color("which:N", scale=scale, title=None)
    dots = alt.Chart(shown).mark_point(filled=True, size=80, opacity=0.9).encode(x, y, color=color, tooltip=tips)
    return dressed(alt.layer(ranges, dots), title="Time and cost of other clusters", height=340)


def across_nodes(frame: pd.DataFrame, *, metric: str, limit: float) -> Any:
    """Chart every run of every node for one metric, the nodes ordered by their median; the line is the limit.

    `frame` has the columns `node`, `run`, `value` and `dropped`.
    """
    alt = altair()
    order = frame.groupby("node").value.median().sort_values().index.tolist()
    shapes = alt.Scale(domain=[_KEPT, _DROPPED], range=["circle", "cross"])
    x = alt.X("node:N", title="node, by its median", sort=order, axis=alt.Axis(labelOverlap=True))
    dots = _runs(frame, metric, x, shape=alt.Shape("verdict:N", title=None, scale=shapes))
    dots = dots.mark_point(filled=True, size=45, opacity=0.8)
    line = alt.Chart(pd.DataFrame({"value": [limit]})).mark_rule(color=VERMILLION, strokeDash=[4, 3])
    chart = alt.layer(dots, line.encode(y="value:Q")) if limit > 0 else dots
    return dressed(chart, title=f"{metric}: across instances", height=280)


def over_time(frame: pd.DataFrame, *, metric: str) -> Any:
    """Chart every node's runs in order, a line for each node; the columns are those of `across_nodes`."""
    runs = _runs(frame, metric, altair().X("run:O", title="run"), detail="node:N")
    return dressed(runs.mark_line(point=True, opacity=0.7), title=f"{metric}: over time", height=280)


def _runs(frame: pd.DataFrame, metric: str, x: Any, **more: Any) -> Any:
    alt = altair()
    verdict = [_DROPPED if dropped else _KEPT for dropped in frame.dropped]
    y = alt.Y("value:Q", title=metric, scale=alt.Scale(type="log", nice=False, padding=8))
    colours = alt.Scale(domain=[_KEPT, _DROPPED], range=[BLUE, VERMILLION])
    color = alt.Color("verdict:N", title=None, scale=colours)
    tips = ["node:N", "run:O", alt.Tooltip("value:Q", format=".4~g"), "verdict:N"]
    return alt.Chart(frame.assign(verdict=verdict)).encode(x, y, color=color, tooltip=tips, **more)
