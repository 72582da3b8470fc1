"""Charts of networks: how a node's share falls with the cluster's size, and how it differs between nodes."""

from __future__ import annotations

from typing import Any

import pandas as pd

from planner.report.plots.theme import BLUE, GREEN, GREY, VERMILLION, altair, dressed
from planner.report.terminal.what_if_tables import HEADINGS


def scaling(curve: pd.DataFrame, points: pd.DataFrame, *, title: str) -> Any:
    """Chart a node's bandwidth against the cluster's size, with its band and the measured points.

    `curve` has `nodes`, `bytes_per_s`, `low_bytes_per_s`, `high_bytes_per_s`, `extrapolated`; `points` has `nodes`,
    `bytes_per_s`. Beyond the points the band is dashed: an extrapolation.
    """
    alt = altair()
    curve = curve.assign(
        basis=["extrapolated" if beyond else "within what was measured" for beyond in curve.extrapolated]
    )
    x = alt.X("nodes:Q", title="nodes", scale=alt.Scale(type="log", nice=False))
    scale = alt.Scale(zero=True)
    y = alt.Y("low_bytes_per_s:Q", title="bandwidth per node (bytes/s)", scale=scale, axis=alt.Axis(format="~s"))
    band = alt.Chart(curve).mark_area(color=BLUE, opacity=0.2).encode(x, y, y2="high_bytes_per_s:Q")
    dash = alt.Scale(domain=["within what was measured", "extrapolated"], range=[[1, 0], [5, 4]])
    tips = ["nodes:Q", *(alt.Tooltip(f"{name}bytes_per_s:Q", format=".4s") for name in ("low_", "", "high_"))]
    line = (
        alt.Chart(curve)
        .mark_line(color=BLUE, strokeWidth=2.5)
        .encode(x, alt.Y("bytes_per_s:Q"), strokeDash=alt.StrokeDash("basis:N", title=None, scale=dash), tooltip=tips)
    )
    dots = (
        alt.Chart(points)
        .mark_point(filled=True, color=VERMILLION, size=60, opacity=1)
        .encode(x, alt.Y("bytes_per_s:Q"), tooltip=["nodes:Q", alt.Tooltip("bytes_per_s:Q", format=".4s")])
    )
    return dressed(alt.layer(band, line, dots), title=title, height=280)


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
    order = list(HEADINGS.values())
    cost = alt.X("cost_usd_total:Q", title="total cost (US dollars)")
    place = (alt.Y("choice:N", title=None, sort=None), alt.YOffset("network:N", sort=order))
    colour = alt.Color("network:N", title=None, scale=alt.Scale(domain=order, range=[GREEN, BLUE, VERMILLION]))
    tips = ["choice:N", "network:N", "nodes:Q", alt.Tooltip("cost_usd_total:Q", format=",.2f"), "mark:N"]
    base = alt.Chart(shown)
    bars = base.mark_bar(height=9).encode(cost, *place, color=colour, tooltip=tips)
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
    x = alt.X("count:Q", title="volumes on a node", scale=alt.Scale(type="log", base=2, nice=False))
    y = alt.Y("read_bytes_per_s:Q", title="rate together (bytes/s)", axis=alt.Axis(format="~s"))
    tips = ["volumes:N", "count:Q", alt.Tooltip("read_bytes_per_s:Q", format=".4s"), "usd_per_hour:Q", "evidence:N"]
    base = alt.Chart(shown)
    lines = base.mark_line(point=True).encode(x, y, color=alt.Color("volumes:N", title=None), tooltip=tips)
    link = base.mark_rule(color=GREY, strokeDash=[5, 4], strokeWidth=2).encode(alt.Y("max(link):Q"))
    return dressed(alt.layer(lines, link), title=f"Volumes on {name} (dashed: its link)", height=260)


def distributions(frame: pd.DataFrame) -> Any:
    """Chart bandwidths as boxes: percentiles 1, 25, 50, 75 and 99 of each distribution, in bytes/s.

    `frame` has `distribution`, `p01_bytes_per_s`, `p25_...`, `p50_...`, `p75_...`, `p99_bytes_per_s`.
    """
    alt = altair()
    x = alt.X("distribution:N", title="cloud", axis=alt.Axis(labelAngle=0))
    axis = alt.Axis(format="~s")
    tips = ["distribution:N", *(alt.Tooltip(f"p{p:02}_bytes_per_s:Q", format=".3s") for p in (1, 25, 50, 75, 99))]
    base = alt.Chart(frame)
    rule = base.mark_rule(color=GREY, strokeWidth=2).encode(
        x, alt.Y("p01_bytes_per_s:Q", title="bandwidth between two nodes (bytes/s)", axis=axis), y2="p99_bytes_per_s:Q"
    )
    box = base.mark_bar(color=BLUE, width=26).encode(
        x, alt.Y("p25_bytes_per_s:Q"), y2="p75_bytes_per_s:Q", tooltip=tips
    )
    middle = base.mark_tick(color="white", width=26, thickness=2).encode(x, alt.Y("p50_bytes_per_s:Q"))
    return dressed(
        alt.layer(rule, box, middle), title="Bandwidth of eight clouds: percentiles 1, 25, 50, 75, 99", height=260
    )
