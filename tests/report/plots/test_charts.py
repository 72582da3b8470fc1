"""Every chart compiles to Vega without a warning, shows its units, and draws as many marks as its frame has rows."""

from __future__ import annotations

import re
from dataclasses import replace
from typing import Any

import numpy as np
import pandas as pd
import pytest
import vl_convert

import planner
from planner.api.recommend import Recommendation
from planner.catalog import load_catalog
from planner.cost_model.volumes.volume_counts import volume_counts
from planner.report import frames, plots
from planner.report.plots import theme
from planner.schemas.run_report import RunReport
from planner.statistics.scaling_curve import ScalingCurve
from planner.units import format_duration


def drawn(chart: Any) -> str:
    """Return the chart as SVG, drawn by Vega."""
    picture: str = vl_convert.vegalite_to_svg(chart.to_json())
    return picture


def network_frames() -> tuple[pd.DataFrame, pd.DataFrame]:
    points = pd.DataFrame({"nodes": [2, 20, 100], "bytes_per_s": [1.1e9, 1e9, 9e8]})
    curve = ScalingCurve.through(points.nodes, points.bytes_per_s)
    sizes = np.array([2.0, 10.0, 50.0, 200.0, 500.0])
    band = curve.band(sizes)
    frame = pd.DataFrame(
        {
            "nodes": sizes,
            "bytes_per_s": curve.at(sizes),
            "low_bytes_per_s": band.low_bytes_per_s,
            "high_bytes_per_s": band.high_bytes_per_s,
            "extrapolated": band.extrapolated,
        }
    )
    return frame, points


@pytest.fixture(scope="module")
def charts(answer: Recommendation) -> dict[str, Any]:
    boxes = pd.DataFrame([{"distribution": "A", **{f"p{p:02}_bytes_per_s": p * 1e6 for p in (1, 25, 50, 75, 99)}}])
    runs = pd.DataFrame(
        {"run": ["a", "b"], "kind": ["x", "y"], "predicted_s": [10.0, 20.0], "measured_s": [11.0, 18.0]}
    )
    return {
        "frontier": answer.plot_frontier(),
        "ranges": answer.plot_ranges(),
        "phases": answer.plot_phases(),
        "sensitivities": answer.plot_sensitivities(),
        "by_nodes": answer.plot_by_nodes(points=4),
        "scaling": plots.scaling(*network_frames(), title="network of x"),
        "distributions": plots.distributions(boxes),
        "volumes": plots.volumes(frames.volumes_frame(volume_counts(load_catalog("aws-2014"), "i2.4xlarge"))),
        "networks": answer.plot_networks(),
        "agreement": plots.agreement(runs, label="run", group="kind"),
        "predicted": plots.predicted_and_measured(runs, label="run"),
    }


NAMES = {
    "frontier": ["expected time of the sort (min)", "total cost (US dollars)"],
    "ranges": ["time of the sort (min)"],
    "phases": ["time since the sort began (min)", "bottleneck"],
    "sensitivities": ["change of the recommended cluster", "0.5 times as fast"],
    "by_nodes": ["nodes", "time of the sort (min)"],
    "scaling": ["bandwidth per node (bytes/s)", "extrapolated"],
    "distributions": ["bandwidth between two nodes (bytes/s)"],
    "volumes": ["volumes on a node", "rate together (bytes/s)", "gp2, at its most"],
    "networks": ["total cost (US dollars)", "expected at scale", "winner"],
    "agreement": ["predicted (s)", "measured (s)"],
    "predicted": ["time (s)", "measured"],
}


@pytest.mark.parametrize("name", NAMES)
def test_chart_is_drawn_with_units_on_its_axes(charts: dict[str, Any], name: str) -> None:
    picture = drawn(charts[name])
    for words in NAMES[name]:
        assert words in picture
    assert "NaN" not in picture and "undefined" not in picture


def test_networks_tell_a_type_of_two_models_apart() -> None:
    row = {"instance_type": "i4i.large", "region": "us-east-1", "network": "ideal", "nodes": 2, "winner": False}
    frame = pd.DataFrame([row | {"model": name, "cost_usd_total": 5.0} for name in ("indy", "daytona")])
    picture = drawn(plots.networks(frame))
    assert "i4i.large, indy" in picture and "i4i.large, daytona" in picture
    assert "i4i.large" in drawn(plots.networks(frame[:1])) and ", indy" not in drawn(plots.networks(frame[:1]))


def test_timeline_has_a_bar_for_each_step(run_report: RunReport) -> None:
    frame = frames.timeline_frame(run_report)
    picture = drawn(plots.timeline(frame))
    assert len(re.findall(r'aria-roledescription="bar"', picture)) == len(frame)


def test_ranges_have_a_bar_for_each_candidate(answer: Recommendation, charts: dict[str, Any]) -> None:
    assert len(re.findall(r'aria-roledescription="bar"', drawn(charts["ranges"]))) == len(answer.candidates)


@pytest.mark.parametrize(
    ("seconds", "unit", "value"), [(100, "s", 100), (600, "min", 10), (7200 * 5, "hours", 10), (86400 * 4, "days", 4)]
)
def test_time_is_shown_in_the_unit_that_suits_it(seconds: float, unit: str, value: float) -> None:
    shown, name = theme.in_time_units(pd.DataFrame({"time_s": [seconds, 1]}), "time_s")
    assert (name, shown.time_s[0]) == (unit, value)


def luminance(colour: str) -> float:
    channels = [int(colour[i : i + 2], 16) / 255 for i in (1, 3, 5)]
    linear = [c / 12.92 if c <= 0.04045 else ((c + 0.055) / 1.055) ** 2.4 for c in channels]
    return 0.2126 * linear[0] + 0.7152 * linear[1] + 0.0722 * linear[2]


def contrast(colour: str, background: str) -> float:
    """Return the contrast ratio of WCAG 2.1, from 1 to 21."""
    light, dark = sorted((luminance(colour), luminance(background)), reverse=True)
    return (light + 0.05) / (dark + 0.05)


@pytest.mark.parametrize("ground", ["#FFFFFF", "#14171c"])
def test_colours_that_carry_meaning_stand_out_from_both_grounds(ground: str) -> None:
    assert all(contrast(colour, ground) >= 3 for colour in (theme.BLUE, theme.VERMILLION, theme.GREEN, theme.GREY))
    ink = theme.config(dark=ground != "#FFFFFF")["axis"]["labelColor"]
    assert contrast(ink, ground) >= 7


def test_nodes_are_drawn_run_by_run_and_the_limit_is_a_line() -> None:
    rows = [{"node": f"n{n}", "run": run, "value": 1.0 + n, "dropped": n == 0} for n in range(4) for run in (1, 2, 3)]
    frame = pd.DataFrame(rows)
    across = drawn(plots.across_nodes(frame, metric="read_ms", limit=2.0))
    assert across.count("symbol") and "read_ms" in across and len(re.findall(r'aria-label="node, by', across)) >= 12
    assert "run" in drawn(plots.over_time(frame, metric="read_ms"))


@pytest.mark.parametrize("dark", [False, True])
def test_a_slide_states_its_finding_units_machine_and_bottleneck(answer: Recommendation, *, dark: bool) -> None:
    best = answer.best
    assert best is not None and best.machine is not None
    picture = plots.picture(answer.chart(dark=dark), suffix=".svg")
    assert isinstance(picture, str)
    text = " ".join(re.findall(r">([^<]+)<", picture))
    assert f"{best.nodes} x {best.instance_type} sorts 100 TB in {format_duration(best.time_s.expected)}" in text
    for part in (f"{best.machine.vcpus:g} vCPUs", "Bottleneck: ", "(US dollars", "(min", "bottleneck"):
        assert part in text
    assert ("#14171C" in picture) == dark
    pixels = plots.picture(answer.chart(dark=dark), suffix=".png")
    assert isinstance(pixels, bytes) and pixels.startswith(b"\x89PNG")


def test_a_slide_of_several_sizes_of_data_says_how_the_bill_grows(answer: Recommendation) -> None:
    best = answer.best
    assert best is not None
    dearer = replace(best, nodes=2 * best.nodes, cost_usd=replace(best.cost_usd, total=3 * best.cost_usd.total))
    picture = plots.picture(plots.over_data([(1e12, best), (2e12, dearer)]), suffix=".svg")
    assert "2 times the data costs 3 times as much" in picture
    assert f"{dearer.nodes} x {dearer.instance_type}" in picture and "data (TB)" in picture


def test_a_chart_of_nothing_feasible_says_why() -> None:
    nothing = planner.recommend("1TB", catalog="aws-2014", deadline="1s", top=1)
    assert "Nothing to draw" in plots.picture(nothing.chart(), suffix=".svg")
