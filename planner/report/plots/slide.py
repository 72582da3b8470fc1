"""A plan as one picture for a slide: its result, cost against time, and the phases; on a light or dark background."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Final

import pandas as pd

from planner.extras import optional
from planner.report import frames
from planner.report.clusters import cluster_name, total_text
from planner.report.plots.plan_charts import ROLES
from planner.report.plots.theme import BLUE, GREY, VERMILLION, altair, colour, config, in_time_units, log_scale
from planner.report.terminal.decision import bottleneck_text, machine_text
from planner.schemas.plan import Candidate, Plan
from planner.units import format_bytes, format_duration

_PANEL: Final = (520, 380)
"""Pixels of one panel's plotting area; two and their axes fill a slide of 1280 x 720."""
_DARK: Final = "#14171C"
_SCALE: Final = 2.0
"""Pixels of the picture per pixel of a slide."""


def slide(plan: Plan, best: Candidate, *, dark: bool = False) -> Any:
    """Chart the plan's result: cost against time of the clusters to choose from, and the best one's phases."""
    alt = altair()
    size = format_bytes(plan.request.bytes_to_sort)
    finding = f"{cluster_name(best)} sorts {size} in {format_duration(best.time_s.expected)} for {total_text(best)}"
    below = [
        f"The whole run, which this pays for, takes {format_duration(best.whole_run_s)}.",
        f"Each node: {machine_text(best)}.",
        bottleneck_text(best),
    ]
    panels = alt.hconcat(cost_against_time(plan, best, dark=dark), phases(best), spacing=50)
    return _dressed(panels, title=finding, below=below, dark=dark)


def cost_against_time(plan: Plan, best: Candidate, *, dark: bool) -> Any:
    """Chart the clusters that nothing beats in both, with names at the ends of the line and the best."""
    alt = altair()
    points = frames.frontier_frame(plan)[["cluster", "time_s", "cost_usd_total"]]
    mine = {"cluster": cluster_name(best), "time_s": best.time_s.expected, "cost_usd_total": best.cost_usd.total}
    shown, unit = in_time_units(pd.concat([points, pd.DataFrame([mine])], ignore_index=True), "time_s")
    scale, usd = log_scale(padding=40), alt.Axis(format="$~g")
    x = alt.X("time_s:Q", title=f"time of the sort ({unit}, logarithmic)", scale=scale, axis=alt.Axis(format="~g"))
    y = alt.Y("cost_usd_total:Q", title="whole bill (US dollars, logarithmic)", scale=scale, axis=usd)
    line = alt.Chart(shown.iloc[:-1]).mark_line(color=GREY, point={"color": GREY, "size": 30}).encode(x, y)
    chosen = shown.iloc[[-1]]
    mark = alt.Chart(chosen).mark_point(filled=True, color=VERMILLION, size=320, shape="diamond", opacity=1)
    name = alt.Chart(chosen).mark_text(dy=-22, fontWeight="bold", fontSize=16, color=VERMILLION)
    named = alt.Chart(_fastest(points, shown, best)).mark_text(
        align="left", dx=12, dy=-6, fontSize=14, color=_ink(dark=dark)
    )
    layers = alt.layer(line, mark.encode(x, y), name.encode(x, y, text="cluster:N"), named.encode(x, y, text="text:N"))
    return _panel(layers, title="Faster costs more: what nothing beats in both")


def _fastest(points: pd.DataFrame, shown: pd.DataFrame, best: Candidate) -> pd.DataFrame:
    """Return the fastest cluster of the line, with its name, unless it hardly differs from the best one."""
    first = shown.iloc[:1] if len(points) and points.time_s.iloc[0] < best.time_s.expected * 0.95 else shown.iloc[:0]
    return first.assign(text=[f"fastest: {name}" for name in first.cluster])


def phases(best: Candidate) -> Any:
    """Chart the busy time of each resource of a node in each phase; each bottleneck is in another colour."""
    alt = altair()
    frame = frames.phases_frame([best])
    shown, unit = in_time_units(frame, "start_s", "end_s")
    shown = shown.assign(role=["bottleneck" if slow else "waits for it" for slow in shown.bottleneck])
    x = alt.X("start_s:Q", title=f"time since the sort began ({unit})")
    y = alt.Y("resource:N", title=None, sort=None, axis=alt.Axis(grid=False))
    bars = alt.Chart(shown).mark_bar(height=22).encode(x, y, x2="end_s:Q", color=colour("role", ROLES))
    return _panel(bars, title=f"Where the time goes: {', then '.join(phase.name for phase in best.phases)}")


def over_data(sizes: Sequence[tuple[float, Candidate]], *, dark: bool = False) -> Any:
    """Chart the best cluster's time and bill against the sorted size, from pairs of bytes and cluster."""
    in_tb = [(size / 1e12, best) for size, best in sizes]
    return _over(in_tb, "data (TB)", "{more} times the data costs {dearer} times as much", dark=dark)


def over_nodes(numbers: Sequence[tuple[float, Candidate]], *, dark: bool = False) -> Any:
    """Chart the best cluster's time and bill against its nodes, from pairs of their number and cluster."""
    return _over(numbers, "nodes", "{more} times the nodes cost {dearer} times as much", dark=dark)


def _over(points: Sequence[tuple[float, Candidate]], axis: str, finding: str, *, dark: bool) -> Any:
    alt = altair()
    rows = [(at, best.time_s.expected, best.cost_usd.total, cluster_name(best)) for at, best in points]
    frame = pd.DataFrame(rows, columns=["at", "time_s", "usd", "cluster"])
    shown, unit = in_time_units(frame, "time_s")
    base = alt.Chart(shown)
    x = alt.X("at:Q", title=axis, scale=alt.Scale(zero=True))
    names = {"align": "right", "dx": -12, "dy": -6, "fontSize": 13, "color": _ink(dark=dark)}
    panels = []
    titles = ("time_s", f"time of the sort ({unit})", BLUE), ("usd", "bill (US dollars)", VERMILLION)
    for column, title, color in titles:
        y = alt.Y(f"{column}:Q", title=title, scale=alt.Scale(zero=True))
        line = base.mark_line(color=color, point={"color": color, "size": 90}).encode(x, y)
        panels.append(_panel(alt.layer(line, base.mark_text(**names).encode(x, y, text="cluster:N")), title=title))
    (least, cheapest), (most, dearest) = points[0], points[-1]
    dearer = dearest.cost_usd.total / cheapest.cost_usd.total
    title = finding.format(more=f"{most / least:.3g}", dearer=f"{dearer:.3g}")
    return _dressed(alt.hconcat(*panels, spacing=50), title=title, below=[], dark=dark)


def picture(chart: Any, *, suffix: str) -> str | bytes:
    """Return a chart as the text of an SVG or the bytes of a PNG. Raises PlannerError without the extra `plots`."""
    converter = optional("vl_convert", extra="plots", purpose="--chart")
    specification = chart.to_json()
    if suffix == ".svg":
        drawn: str = converter.vegalite_to_svg(specification)
        return drawn
    pixels: bytes = converter.vegalite_to_png(specification, scale=_SCALE)
    return pixels


def _ink(*, dark: bool) -> str:
    return "#E6E6E6" if dark else "#1F2328"


def _panel(chart: Any, *, title: str) -> Any:
    width, height = _PANEL
    return chart.properties(width=width, height=height, title=altair().TitleParams(title, fontSize=17, offset=12))


def _dressed(chart: Any, *, title: str, below: list[str], dark: bool) -> Any:
    """Return the panels below the plan's result, on their own background, in sizes that a room can read."""
    look = config(dark=dark)
    ground = _DARK if dark else "white"
    for part in ("axis", "legend"):
        look[part] = look[part] | {"labelFontSize": 15, "titleFontSize": 15}
    look["axis"] |= {"titlePadding": 24, "labelOverlap": "greedy", "labelSeparation": 8}  # browsers' fonts are wider
    look["legend"] |= {"columnPadding": 24}
    heading = altair().TitleParams(
        title, subtitle=below, fontSize=30, subtitleFontSize=17, subtitlePadding=10, offset=28, anchor="start"
    )
    return chart.properties(title=heading, padding=32).configure(**look | {"background": ground})
