"""Charts of a plan: the alternatives, the ranges of the times, and the deciding resources."""

from __future__ import annotations

from typing import Any

import pandas as pd

from planner.report.plots.theme import BLUE, GREEN, GREY, ORANGE, VERMILLION, altair, dressed, in_time_units
from planner.report.words import RESOURCE_WORDS

PICKED = "picked"
"""Parameter that holds the cluster clicked in `frontier`."""
CLUSTER = "cluster"
"""Parameter that selects the cluster of `phases`."""

_WHAT = ("recommended", "other candidates")
_TIMES = {"time_s_equation": "equation", "time_s_p50": "median", "time_s": "mean", "time_s_p95": "95 of 100 runs"}


def frontier(points: pd.DataFrame, candidates: pd.DataFrame) -> Any:
    """Chart total cost against expected time: the frontier as a line, the candidates as marks to hover over or click.

    `points` is a `frontier_frame`, `candidates` a `candidates_frame`.
    """
    alt = altair()
    both = pd.concat([points[["time_s"]], candidates[["time_s"]]])
    _, unit = in_time_units(both, "time_s")
    points, candidates = (_in_unit(frame, both, "time_s") for frame in (points, candidates))
    scale = alt.Scale(type="log", nice=False, padding=24)
    x = alt.X("time_s:Q", title=f"expected time of the sort ({unit})", scale=scale)
    y = alt.Y("cost_usd_total:Q", title="total cost (US dollars)", scale=scale)
    line = alt.Chart(points).mark_line(color=GREY, point={"color": GREY, "size": 22}).encode(x, y, tooltip=_where(unit))
    picked = alt.selection_point(name=PICKED, fields=["cluster"], on="click", clear="dblclick")
    marks = (
        alt.Chart(candidates.assign(what=[_WHAT[not chosen] for chosen in candidates.chosen]))
        .mark_point(filled=True, opacity=0.9)
        .encode(
            x,
            y,
            color=alt.Color("what:N", title=None, scale=alt.Scale(domain=list(_WHAT), range=[VERMILLION, BLUE])),
            shape=alt.Shape("what:N", title=None, scale=alt.Scale(domain=list(_WHAT), range=["diamond", "circle"])),
            size=alt.condition("datum.chosen", alt.value(220), alt.value(80)),
            stroke=alt.condition(picked, alt.value(ORANGE), alt.value("transparent"), empty=False),
            strokeWidth=alt.value(4),
            tooltip=_where(unit, "bottlenecks", "evidence"),
        )
        .add_params(picked)
    )
    name = (
        alt.Chart(candidates[candidates.chosen])
        .mark_text(align="right", dx=-12, dy=10, fontWeight="bold")
        .encode(x, y, text="cluster:N")
    )
    zoom = alt.selection_interval(name="zoom", bind="scales")
    return dressed(
        alt.layer(line.add_params(zoom), marks, name),
        title="Time and total cost (line: nothing beats it in both)",
        height=320,
    )


def ranges(candidates: pd.DataFrame) -> Any:
    """Chart the time of each row of a `candidates_frame`: median, mean, and the limit that 95 of 100 runs keep."""
    alt = altair()
    shown, unit = in_time_units(candidates, "time_s_p95", "time_s_p50", "time_s", "time_s_equation")
    y = alt.Y("cluster:N", title=None, sort=None)
    base = alt.Chart(shown)
    x = alt.X("time_s_p50:Q", title=f"time of the sort ({unit})", scale=alt.Scale(zero=False, padding=12))
    color = alt.condition("datum.chosen", alt.value(VERMILLION), alt.value(BLUE))
    tips = [_time(name, title, unit) for name, title in _TIMES.items()]
    bar = base.mark_bar(height=8, opacity=0.6).encode(
        x, y, x2="time_s_p95:Q", color=color, tooltip=["cluster:N", *tips]
    )
    mean = base.mark_point(filled=True, size=60, opacity=1).encode(alt.X("time_s:Q"), y, color=color, tooltip=tips)
    rule = base.mark_tick(color=GREY, thickness=2, size=14).encode(alt.X("time_s_equation:Q"), y)
    title = "Range: median to 95 of 100 runs; dot: mean; tick: the equation"
    return dressed(alt.layer(bar, mean, rule), title=title, height=26 * max(len(shown), 2))


def phases(frame: pd.DataFrame, *, first: str | None = None) -> Any:
    """Chart the phases of one cluster at a time: each resource's busy time, the bottleneck of each phase in colour.

    `frame` is a `phases_frame`; a menu selects one of several clusters, starting with `first` (or the frame's first).
    """
    alt = altair()
    shown, unit = in_time_units(frame, "phase_end_s", "start_s", "end_s", "time_s")
    clusters = list(dict.fromkeys(shown.cluster))
    menu = alt.binding_select(options=clusters, name="cluster: ") if len(clusters) > 1 else None
    chosen = alt.param(
        name=CLUSTER, value=first or (clusters[0] if clusters else ""), **({"bind": menu} if menu else {})
    )
    base = alt.Chart(shown).transform_filter(f"datum.cluster === {CLUSTER}")
    x = alt.X("start_s:Q", title=f"time since the sort began ({unit})")
    y = alt.Y("resource:N", title=None, sort=None, axis=alt.Axis(grid=False))
    role = alt.Scale(domain=["bottleneck", "waits for it"], range=[VERMILLION, BLUE])
    base = base.transform_calculate(role="datum.bottleneck ? 'bottleneck' : 'waits for it'")
    tips = [
        alt.Tooltip("phase:N"),
        alt.Tooltip("resource:N"),
        alt.Tooltip("role:N"),
        _time("time_s", "busy", unit),
        alt.Tooltip("bytes_per_node:Q", title="bytes per node", format=".4s"),
        alt.Tooltip("bytes_per_s:Q", title="bytes/s per node", format=".4s"),
    ]
    bars = base.mark_bar(height=16).encode(
        x, y, x2="end_s:Q", color=alt.Color("role:N", title=None, scale=role), tooltip=tips
    )
    ends = base.mark_rule(strokeDash=[4, 3], color=GREY).encode(alt.X("phase_end_s:Q"))
    label = base.transform_filter("datum.bottleneck").mark_text(align="left", dx=4, color="white", fontWeight="bold")
    named = label.encode(x, y, text=alt.value("bottleneck"))
    heads = base.transform_filter("datum.bottleneck").mark_text(align="left", dx=3, baseline="top", dy=2)
    titled = heads.encode(x, y=alt.value(0), text="phase:N")
    chart = alt.layer(ends, bars, named, titled).add_params(chosen)
    return dressed(chart, title="Phases: what each resource does, and what each phase waits for", height=170)


def sensitivities(frame: pd.DataFrame) -> Any:
    """Chart a `sensitivities_frame`: the change of time and total cost when a resource is slower or faster."""
    alt = altair()
    long = frame.rename(columns={"time_change": "time", "cost_change": "total cost"}).melt(
        id_vars=["resource", "factor"], value_vars=["time", "total cost"], var_name="quantity", value_name="change"
    )
    resources = [RESOURCE_WORDS.get(name, name) for name in long.resource]
    long = long.assign(resource=resources, speed=[f"{factor:g} times as fast" for factor in long.factor])
    domain = [f"{factor:g} times as fast" for factor in sorted(set(long.factor))]
    chart = (
        alt.Chart(long)
        .mark_bar(height=10)
        .encode(
            alt.X("change:Q", title="change of the recommended cluster", axis=alt.Axis(format="+.0%")),
            alt.Y("resource:N", title=None, sort=None),
            alt.YOffset("quantity:N", sort=["time", "total cost"]),
            color=alt.Color("speed:N", title=None, scale=alt.Scale(domain=domain, range=[VERMILLION, GREEN, BLUE])),
            opacity=alt.Opacity(
                "quantity:O", title=None, scale=alt.Scale(domain=["time", "total cost"], range=[1.0, 0.5])
            ),
            tooltip=["resource:N", "speed:N", "quantity:N", alt.Tooltip("change:Q", format="+.1%")],
        )
    )
    height = 30 * max(len(set(long.resource)), 1)
    return dressed(chart, title="Sensitivities: one resource slower or faster", height=height)


def by_nodes(frame: pd.DataFrame) -> Any:
    """Chart time against node count: mean, a band from the median to the 95% quantile, and the equation without
    variation.

    `frame` is a `sizes_frame`.
    """
    alt = altair()
    shown, unit = in_time_units(frame, "time_s_p95", "time_s_p50", "time_s", "time_s_equation")
    x = alt.X("nodes:Q", title="nodes", scale=alt.Scale(type="log", nice=False))
    scale = alt.Scale(type="log", nice=False, padding=8)
    tips = ["nodes:Q", *(_time(name, title, unit) for name, title in _TIMES.items())]
    y = alt.Y("time_s_p50:Q", title=f"time of the sort ({unit})", scale=scale)
    band = alt.Chart(shown).mark_area(color=BLUE, opacity=0.25).encode(x, y, y2="time_s_p95:Q")
    lines = shown.rename(columns={"time_s": "mean", "time_s_equation": "equation", "time_s_p95": "95 of 100"}).melt(
        id_vars=["nodes"], value_vars=["95 of 100", "mean", "equation"], var_name="line", value_name="time"
    )
    domain = alt.Scale(domain=["95 of 100", "mean", "equation"], range=[BLUE, VERMILLION, GREY])
    dash = alt.Scale(domain=["95 of 100", "mean", "equation"], range=[[2, 2], [1, 0], [6, 3]])
    drawn = (
        alt.Chart(lines)
        .mark_line()
        .encode(
            x,
            alt.Y("time:Q", scale=scale),
            color=alt.Color("line:N", title=None, scale=domain),
            strokeDash=alt.StrokeDash("line:N", title=None, scale=dash),
        )
    )
    dots = (
        alt.Chart(shown)
        .mark_point(filled=True, color=VERMILLION)
        .encode(x, alt.Y("time_s:Q", scale=scale), tooltip=tips)
    )
    return dressed(
        alt.layer(band, drawn, dots), title="Time against cluster size (band: median to 95 of 100 runs)", height=300
    )


def _in_unit(frame: pd.DataFrame, of: pd.DataFrame, column: str) -> pd.DataFrame:
    """Return the frame's seconds in the unit that suits the longest of another frame."""
    scaled, _ = in_time_units(of, column)
    ratio = scaled[column].max() / of[column].max() if len(of) else 1.0
    return frame.assign(**{column: frame[column] * ratio})


def _where(unit: str, *more: str) -> list[Any]:
    usd = altair().Tooltip("cost_usd_total:Q", title="total cost ($)", format=",.2f")
    return ["cluster:N", "cloud:N", _time("time_s", "expected time", unit), usd, *(f"{name}:N" for name in more)]


def _time(column: str, title: str, unit: str) -> Any:
    return altair().Tooltip(f"{column}:Q", title=f"{title} ({unit})", format=".3~f")
