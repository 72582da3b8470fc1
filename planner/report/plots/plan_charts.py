"""Charts of a plan: the alternatives, the ranges of the times, the deciding resources, other networks and volumes."""

from __future__ import annotations

from typing import Any

import pandas as pd

from planner.report.plots.theme import (
    BLUE,
    GREEN,
    GREY,
    ORANGE,
    VERMILLION,
    altair,
    colour,
    dressed,
    in_time_units,
    log_scale,
    tips,
)
from planner.report.terminal.what_if_tables import HEADINGS
from planner.report.words import RESOURCE_WORDS

PICKED = "picked"
"""Parameter that holds the cluster clicked in `frontier`."""
CLUSTER = "cluster"
"""Parameter that selects the cluster of `phases`."""
ROLES = {"bottleneck": VERMILLION, "waits for it": BLUE}
"""Colours of resources in a phase."""

_WHAT = {"recommended": VERMILLION, "other candidates": BLUE}
_TIMES = {"time_s_equation": "equation", "time_s_p50": "median", "time_s": "mean", "time_s_p95": "95 of 100 runs"}


def frontier(points: pd.DataFrame, candidates: pd.DataFrame) -> Any:
    """Chart total cost against expected time: the frontier as a line, the candidates as marks to hover over or click.

    `points` is a `frontier_frame`, `candidates` a `candidates_frame`.
    """
    alt = altair()
    both = pd.concat([points[["time_s"]], candidates[["time_s"]]])
    scaled, unit = in_time_units(both, "time_s")
    ratio = scaled.time_s.max() / both.time_s.max() if len(both) else 1.0
    points, candidates = (frame.assign(time_s=frame.time_s * ratio) for frame in (points, candidates))
    scale = log_scale(padding=24)
    x = alt.X("time_s:Q", title=f"expected time of the sort ({unit})", scale=scale)
    y = alt.Y("cost_usd_total:Q", title="total cost (US dollars)", scale=scale)
    over = tips("cluster", "cloud", form=".3~f", time_s=f"expected time ({unit})")
    over += tips(form=",.2f", cost_usd_total="total cost ($)")
    line = alt.Chart(points).mark_line(color=GREY, point={"color": GREY, "size": 22}).encode(x, y, tooltip=over)
    picked = alt.selection_point(name=PICKED, fields=["cluster"], on="click", clear="dblclick")
    shapes = alt.Scale(domain=list(_WHAT), range=["diamond", "circle"])
    what = ["recommended" if chosen else "other candidates" for chosen in candidates.chosen]
    marks = alt.Chart(candidates.assign(what=what)).mark_point(filled=True, opacity=0.9)
    marks = marks.encode(
        x,
        y,
        color=colour("what", _WHAT),
        shape=alt.Shape("what:N", title=None, scale=shapes),
        size=alt.condition("datum.chosen", alt.value(220), alt.value(80)),
        stroke=alt.condition(picked, alt.value(ORANGE), alt.value("transparent"), empty=False),
        strokeWidth=alt.value(4),
        tooltip=[*over, "bottlenecks:N", "evidence:N"],
    ).add_params(picked)
    name = alt.Chart(candidates[candidates.chosen]).mark_text(align="right", dx=-12, dy=10, fontWeight="bold")
    zoom = alt.selection_interval(name="zoom", bind="scales")
    layers = alt.layer(line.add_params(zoom), marks, name.encode(x, y, text="cluster:N"))
    return dressed(layers, title="Time and total cost (line: nothing beats it in both)", height=320)


def ranges(candidates: pd.DataFrame) -> Any:
    """Chart the time of each row of a `candidates_frame`: median, mean, and the limit that 95 of 100 runs keep."""
    alt = altair()
    shown, unit, over = _in_time_units(candidates)
    y = alt.Y("cluster:N", title=None, sort=None)
    base = alt.Chart(shown)
    x = alt.X("time_s_p50:Q", title=f"time of the sort ({unit})", scale=alt.Scale(zero=False, padding=12))
    color = alt.condition("datum.chosen", alt.value(VERMILLION), alt.value(BLUE))
    bar = base.mark_bar(height=8, opacity=0.6)
    bar = bar.encode(x, y, x2="time_s_p95:Q", color=color, tooltip=["cluster:N", *over])
    mean = base.mark_point(filled=True, size=60, opacity=1).encode(alt.X("time_s:Q"), y, color=color, tooltip=over)
    rule = base.mark_tick(color=GREY, thickness=2, size=14).encode(alt.X("time_s_equation:Q"), y)
    title = "Range: median to 95 of 100 runs; dot: mean; tick: the equation"
    return dressed(alt.layer(bar, mean, rule), title=title, height=26 * max(len(shown), 2))


def _in_time_units(frame: pd.DataFrame) -> tuple[pd.DataFrame, str, list[Any]]:
    """Return a frame's times in the unit that suits them, the unit, and the times as shown over a mark."""
    shown, unit = in_time_units(frame, "time_s_p95", "time_s_p50", "time_s", "time_s_equation")
    return shown, unit, tips(form=".3~f", **{name: f"{title} ({unit})" for name, title in _TIMES.items()})


def phases(frame: pd.DataFrame, *, first: str | None = None) -> Any:
    """Chart the phases of one cluster at a time: each resource's busy time, the bottleneck of each phase in colour.

    `frame` is a `phases_frame`; a menu selects one of several clusters, starting with `first` (or the frame's first).
    """
    alt = altair()
    shown, unit = in_time_units(frame, "phase_end_s", "start_s", "end_s", "time_s")
    clusters = list(dict.fromkeys(shown.cluster))
    menu = {"bind": alt.binding_select(options=clusters, name="cluster: ")} if len(clusters) > 1 else {}
    chosen = alt.param(name=CLUSTER, value=first or (clusters[0] if clusters else ""), **menu)
    base = alt.Chart(shown).transform_filter(f"datum.cluster === {CLUSTER}")
    x = alt.X("start_s:Q", title=f"time since the sort began ({unit})")
    y = alt.Y("resource:N", title=None, sort=None, axis=alt.Axis(grid=False))
    base = base.transform_calculate(role="datum.bottleneck ? 'bottleneck' : 'waits for it'")
    over = [alt.Tooltip(f"{name}:N") for name in ("phase", "resource", "role")]
    over += tips(form=".3~f", time_s=f"busy ({unit})")
    over += tips(form=".4s", bytes_per_node="bytes per node", bytes_per_s="bytes/s per node")
    bars = base.mark_bar(height=16).encode(x, y, x2="end_s:Q", color=colour("role", ROLES), tooltip=over)
    ends = base.mark_rule(strokeDash=[4, 3], color=GREY).encode(alt.X("phase_end_s:Q"))
    label = base.transform_filter("datum.bottleneck").mark_text(align="left", dx=4, color="white", fontWeight="bold")
    named = label.encode(x, y, text=alt.value("bottleneck"))
    heads = base.transform_filter("datum.bottleneck").mark_text(align="left", dx=3, baseline="top", dy=2)
    titled = heads.encode(x, y=alt.value(0), text="phase:N")
    chart = alt.layer(ends, bars, named, titled).add_params(chosen)
    return dressed(chart, title="Phases: what each resource does, and what each phase waits for", height=170)


def sensitivities(frame: pd.DataFrame) -> Any:
    """Chart a `sensitivities_frame`: the change of time and total cost when a resource is slower or faster."""
    alt, quantities = altair(), ["time", "total cost"]
    long = frame.rename(columns={"time_change": "time", "cost_change": "total cost"}).melt(
        id_vars=["resource", "factor"], value_vars=quantities, var_name="quantity", value_name="change"
    )
    resources = [RESOURCE_WORDS.get(name, name) for name in long.resource]
    long = long.assign(resource=resources, speed=[f"{factor:g} times as fast" for factor in long.factor])
    speeds = alt.Scale(
        domain=[f"{factor:g} times as fast" for factor in sorted(set(long.factor))], range=[VERMILLION, GREEN, BLUE]
    )
    bars = alt.Chart(long).mark_bar(height=10)
    chart = bars.encode(
        alt.X("change:Q", title="change of the recommended cluster", axis=alt.Axis(format="+.0%")),
        alt.Y("resource:N", title=None, sort=None),
        alt.YOffset("quantity:N", sort=quantities),
        color=alt.Color("speed:N", title=None, scale=speeds),
        opacity=alt.Opacity("quantity:O", title=None, scale=alt.Scale(domain=quantities, range=[1.0, 0.5])),
        tooltip=tips("resource", "speed", "quantity", form="+.1%", change=""),
    )
    height = 30 * max(len(set(long.resource)), 1)
    return dressed(chart, title="Sensitivities: one resource slower or faster", height=height)


def by_nodes(frame: pd.DataFrame) -> Any:
    """Chart time against node count: mean, a band from the median to the 95% quantile, and the equation without
    variation.

    `frame` is a `sizes_frame`.
    """
    alt = altair()
    shown, unit, over = _in_time_units(frame)
    x = alt.X("nodes:Q", title="nodes", scale=log_scale())
    scale, lines = log_scale(padding=8), {"95 of 100": BLUE, "mean": VERMILLION, "equation": GREY}
    y = alt.Y("time_s_p50:Q", title=f"time of the sort ({unit})", scale=scale)
    band = alt.Chart(shown).mark_area(color=BLUE, opacity=0.25).encode(x, y, y2="time_s_p95:Q")
    long = shown.rename(columns={"time_s": "mean", "time_s_equation": "equation", "time_s_p95": "95 of 100"}).melt(
        id_vars=["nodes"], value_vars=list(lines), var_name="line", value_name="time"
    )
    dashes = alt.Scale(domain=list(lines), range=[[2, 2], [1, 0], [6, 3]])
    dash = alt.StrokeDash("line:N", title=None, scale=dashes)
    drawn = alt.Chart(long).mark_line()
    drawn = drawn.encode(x, alt.Y("time:Q", scale=scale), color=colour("line", lines), strokeDash=dash)
    dots = alt.Chart(shown).mark_point(filled=True, color=VERMILLION)
    dots = dots.encode(x, alt.Y("time_s:Q", scale=scale), tooltip=["nodes:Q", *over])
    title = "Time against cluster size (band: median to 95 of 100 runs)"
    return dressed(alt.layer(band, drawn, dots), title=title, height=300)


def networks(frame: pd.DataFrame) -> Any:
    """Chart the cost of types under three networks as bars side by side, the winner of each network marked.

    `frame` is a `networks_frame`. If a type occurs for several models or regions, its bars are labelled by them.
    """
    alt = altair()
    several = [name for name in ("model", "region") if frame.groupby("instance_type")[name].nunique().max() > 1]
    shown = frame.assign(
        network=frame.network.map(HEADINGS),
        mark=["winner" if won else "" for won in frame.winner],
        choice=frame[["instance_type", *several]].agg(", ".join, axis=1),
    )
    colours = dict(zip(HEADINGS.values(), (GREEN, BLUE, VERMILLION), strict=True))
    cost = alt.X("cost_usd_total:Q", title="total cost (US dollars)")
    place = (alt.Y("choice:N", title=None, sort=None), alt.YOffset("network:N", sort=list(colours)))
    over = ["choice:N", "network:N", "nodes:Q", *tips(form=",.2f", cost_usd_total=""), "mark:N"]
    base = alt.Chart(shown)
    bars = base.mark_bar(height=9).encode(cost, *place, color=colour("network", colours), tooltip=over)
    marks = base.mark_text(align="left", dx=4).encode(cost, *place, text="mark:N")
    height = 42 * max(1, shown.choice.nunique())
    return dressed(alt.layer(bars, marks), title="Cost under three networks", height=height)


def volumes(frame: pd.DataFrame) -> Any:
    """Chart the joint read rate of growing numbers of block volumes on the first instance type of a `volumes_frame`,
    with the link that limits them (dashed).
    """
    alt = altair()
    name = frame.instance_type.iloc[0]
    shown = frame[frame.instance_type == name]
    shown = shown.assign(volumes=shown.volume_type + ", " + shown.rated, link=shown.link_bytes_per_s)
    x = alt.X("count:Q", title="volumes on a node", scale=log_scale(base=2))
    y = alt.Y("read_bytes_per_s:Q", title="rate together (bytes/s)", axis=alt.Axis(format="~s"))
    over = ["volumes:N", "count:Q", *tips(form=".4s", read_bytes_per_s=""), "usd_per_hour:Q", "evidence:N"]
    base = alt.Chart(shown)
    lines = base.mark_line(point=True).encode(x, y, color=alt.Color("volumes:N", title=None), tooltip=over)
    link = base.mark_rule(color=GREY, strokeDash=[5, 4], strokeWidth=2).encode(alt.Y("max(link):Q"))
    return dressed(alt.layer(lines, link), title=f"Volumes on {name} (dashed: its link)", height=260)
