"""Charts of what was measured: runs, nodes, networks, and logged Spark applications."""

from __future__ import annotations

from typing import Any

import pandas as pd

from planner.report.plots.theme import BLUE, GREY, VERMILLION, altair, colour, dressed, in_time_units, log_scale, tips

_KEPT, _DROPPED = "kept", "dropped"


def _bars(
    frame: pd.DataFrame, x: dict[str, str], y: str, color: Any, over: list[Any], *, thick: int = 12, **more: Any
) -> Any:
    """Return horizontal bars: `x` is a field with its title, `y` the field that names a row."""
    alt, rows = altair(), more.pop("rows", None)
    ((field, title),) = x.items()
    along = alt.X(f"{field}:Q", title=title)
    named = alt.Y(f"{y}:N", title=rows, sort=None)
    return alt.Chart(frame).mark_bar(height=thick).encode(along, named, color=color, tooltip=over, **more)


def _in_order(field: str, frame: pd.DataFrame, title: str | None = None) -> Any:
    """Return colours of a field's words in the order of the frame."""
    return altair().Color(f"{field}:N", title=title, sort=[*dict.fromkeys(frame[field])])


def predicted_and_measured(frame: pd.DataFrame, *, label: str = "phase") -> Any:
    """Chart predicted and measured seconds of each row side by side; `label` is the column that names a row.

    `frame` has `predicted_s` and `measured_s`, a `run_phases_frame` for one.
    """
    colours = {"predicted": BLUE, "measured": VERMILLION}
    shown, unit = in_time_units(frame, "measured_s", "predicted_s")
    long = shown.rename(columns={f"{name}_s": name for name in colours}).melt(
        id_vars=[label], value_vars=list(colours), var_name="which", value_name="time"
    )
    time, side = {"time": f"time ({unit})"}, altair().YOffset("which:N", sort=list(colours))
    over = tips(label, "which", form=".4~f", **time)
    chart = _bars(long, time, label, colour("which", colours), over, yOffset=side)
    return dressed(chart, title="Predicted and measured", height=34 * max(len(frame), 1))


def agreement(frame: pd.DataFrame, *, label: str, group: str) -> Any:
    """Chart measured against predicted seconds of many runs on logarithmic axes; both agree on the grey line.

    `frame` has `predicted_s`, `measured_s`, a column `label` that names a run and a column `group` that colours it.
    """
    alt = altair()
    shown, unit = in_time_units(frame, "measured_s", "predicted_s")
    times = shown[["predicted_s", "measured_s"]]
    ends = [float(times.min().min()) * 0.9, float(times.max().max()) * 1.1]
    log = log_scale(domain=ends)
    x = alt.X("predicted_s:Q", title=f"predicted ({unit})", scale=log)
    y = alt.Y("measured_s:Q", title=f"measured ({unit})", scale=log)
    line = alt.Chart(pd.DataFrame({"predicted_s": ends, "measured_s": ends})).mark_line(color=GREY).encode(x, y)
    over = tips(label, form=".4~f", predicted_s="", measured_s="")
    marks = {"color": alt.Color(f"{group}:N", title=None), "shape": alt.Shape(f"{group}:N", title=None)}
    dots = alt.Chart(shown).mark_point(filled=True, size=70, opacity=0.85).encode(x, y, **marks, tooltip=over)
    return dressed(alt.layer(line, dots), title="Measured against predicted", height=380)


def timeline(frame: pd.DataFrame) -> Any:
    """Chart the steps of each node over time: a `timeline_frame`, one row per node."""
    chart = _spans(frame, "run", "node", "step", _in_order("step", frame))
    return dressed(chart, title="Who did what when", height=34 * max(len(set(frame.node)), 1))


def stage_timeline(frame: pd.DataFrame) -> Any:
    """Chart each stage over time, coloured by its bound; `frame` has `stage`, `bound`, `start_s` and `end_s`."""
    color = altair().Color("bound:N", title="bound by", sort=None)
    chart = _spans(frame, "application", "stage", "bound", color, thick=12, rows="stage")
    return dressed(chart, title="Stages over time", height=18 * max(len(frame), 2))


def _spans(frame: pd.DataFrame, of: str, row: str, kind: str, color: Any, *, thick: int = 20, **more: Any) -> Any:
    shown = frame.assign(length=frame.end_s - frame.start_s)
    shown, unit = in_time_units(shown, "end_s", "start_s", "length")
    over = tips(row, kind, form=".3~f", length=f"length ({unit})")
    x = {"start_s": f"time since the {of} began ({unit})"}
    return _bars(shown, x, row, color, over, thick=thick, x2="end_s:Q", **more)


def task_time(frame: pd.DataFrame) -> Any:
    """Chart the tasks' time of each stage by resource; `frame` has `stage`, `resource` and `task_time_s`."""
    shown, unit = in_time_units(frame, "task_time_s")
    over = tips("stage", "resource", form=".3~f", task_time_s=f"time ({unit})")
    x, order = {"task_time_s": f"time of all tasks ({unit})"}, altair().Order("place:Q")
    chart = _bars(shown, x, "stage", _in_order("resource", frame), over, rows="stage", order=order)
    return dressed(chart, title="Where the tasks' time went", height=18 * max(frame.stage.nunique(), 2))


def core_hours(frame: pd.DataFrame) -> Any:
    """Chart the core hours of applications by use; `frame` has `application`, `part` and `core_h`."""
    hours = {"core_h": "core hours"}
    over = tips("application", "part", form=".3~f", **hours)
    chart = _bars(frame, hours, "application", _in_order("part", frame), over)
    return dressed(chart, title="Core hours by application", height=18 * max(frame.application.nunique(), 2))


def clusters(frame: pd.DataFrame) -> Any:
    """Chart time, with its 90% range, and cost of clusters; `frame` has `cluster`, `which` (`as it was`, `recommended`,
    `other`), `time_s`, `low_s`, `high_s` and `cost_usd`.
    """
    alt = altair()
    shown, unit = in_time_units(frame, "high_s", "time_s", "low_s")
    color = colour("which", {"as it was": BLUE, "recommended": VERMILLION, "other": GREY})
    x = alt.X("time_s:Q", title=f"time ({unit})", scale=alt.Scale(zero=False))
    y = alt.Y("cost_usd:Q", title="cost (US dollars)", scale=alt.Scale(zero=False))
    ranges = alt.Chart(shown).mark_rule(color=GREY, opacity=0.5).encode(alt.X("low_s:Q"), y, x2="high_s:Q")
    over = tips("cluster", form=".4~g", time_s="", cost_usd="")
    dots = alt.Chart(shown).mark_point(filled=True, size=80, opacity=0.9).encode(x, y, color=color, tooltip=over)
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
    shown = frame.assign(verdict=[_DROPPED if dropped else _KEPT for dropped in frame.dropped])
    y = alt.Y("value:Q", title=metric, scale=log_scale(padding=8))
    color = colour("verdict", {_KEPT: BLUE, _DROPPED: VERMILLION})
    over = ["node:N", "run:O", alt.Tooltip("value:Q", format=".4~g"), "verdict:N"]
    return alt.Chart(shown).encode(x, y, color=color, tooltip=over, **more)


def scaling(curve: pd.DataFrame, points: pd.DataFrame, *, title: str) -> Any:
    """Chart a node's bandwidth against the cluster's size, with its band and the measured points.

    `curve` has `nodes`, `bytes_per_s`, `low_bytes_per_s`, `high_bytes_per_s`, `extrapolated`; `points` has `nodes`,
    `bytes_per_s`. Beyond the points the band is dashed: an extrapolation.
    """
    alt, within, beyond = altair(), "within what was measured", "extrapolated"
    curve = curve.assign(basis=[beyond if extrapolated else within for extrapolated in curve.extrapolated])
    x, y = alt.X("nodes:Q", title="nodes", scale=log_scale()), alt.Y("bytes_per_s:Q")
    axis, least = alt.Axis(format="~s"), "low_bytes_per_s:Q"
    low = alt.Y(least, title="bandwidth per node (bytes/s)", scale=alt.Scale(zero=True), axis=axis)
    band = alt.Chart(curve).mark_area(color=BLUE, opacity=0.2).encode(x, low, y2="high_bytes_per_s:Q")
    dash = alt.StrokeDash("basis:N", title=None, scale=alt.Scale(domain=[within, beyond], range=[[1, 0], [5, 4]]))
    over = ["nodes:Q", *tips(form=".4s", low_bytes_per_s="", bytes_per_s="", high_bytes_per_s="")]
    line = alt.Chart(curve).mark_line(color=BLUE, strokeWidth=2.5).encode(x, y, strokeDash=dash, tooltip=over)
    dots = alt.Chart(points).mark_point(filled=True, color=VERMILLION, size=60, opacity=1)
    measured = dots.encode(x, y, tooltip=["nodes:Q", *tips(form=".4s", bytes_per_s="")])
    return dressed(alt.layer(band, line, measured), title=title, height=280)


def distributions(frame: pd.DataFrame) -> Any:
    """Chart bandwidths as boxes: percentiles 1, 25, 50, 75 and 99 of each distribution, in bytes/s.

    `frame` has `distribution`, `p01_bytes_per_s`, `p25_...`, `p50_...`, `p75_...`, `p99_bytes_per_s`.
    """
    alt, base = altair(), altair().Chart(frame)
    low, below, middle, above, high = (f"p{percent:02}_bytes_per_s" for percent in (1, 25, 50, 75, 99))
    x = alt.X("distribution:N", title="cloud", axis=alt.Axis(labelAngle=0))
    y = alt.Y(f"{low}:Q", title="bandwidth between two nodes (bytes/s)", axis=alt.Axis(format="~s"))
    over = tips("distribution", form=".3s", **dict.fromkeys((low, below, middle, above, high), ""))
    rule = base.mark_rule(color=GREY, strokeWidth=2).encode(x, y, y2=f"{high}:Q")
    box = base.mark_bar(color=BLUE, width=26).encode(x, alt.Y(f"{below}:Q"), y2=f"{above}:Q", tooltip=over)
    median = base.mark_tick(color="white", width=26, thickness=2).encode(x, alt.Y(f"{middle}:Q"))
    title = "Bandwidth of eight clouds: percentiles 1, 25, 50, 75, 99"
    return dressed(alt.layer(rule, box, median), title=title, height=260)
