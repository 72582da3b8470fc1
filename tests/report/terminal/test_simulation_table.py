"""A simulation as text."""

from __future__ import annotations

from dataclasses import replace
from xml.etree import ElementTree

from approvals import Approve

from planner.report.terminal.simulation_table import resource_text, timeline_svg, waits_text
from planner.simulation.result import Simulation
from planner.simulation.timeline import Span, Timeline


def test_waiting_names_what_counts_most_first_and_leaves_out_little() -> None:
    assert (
        waits_text({"driver": 0.12, "local_disks": 0.85, "network": 0.03}) == "local disks 85%, handing out tasks 12%"
    )


def test_what_is_no_resource_has_words_of_its_own(approve: Approve) -> None:
    assert resource_text("others") == "slower nodes"
    approve(resource_text("one task"))


SVG = "{http://www.w3.org/2000/svg}"
TIMELINE = Timeline(
    waits={"network": 0.75, "others": 0.25},
    groups=(
        (1, (Span(start_s=0.0, end_s=100.0, waits_for="network"),)),
        (
            1234,
            (Span(start_s=0.0, end_s=50.0, waits_for="network"), Span(start_s=50.0, end_s=100.0, waits_for="others")),
        ),
    ),
)
RUN = Simulation(
    cluster="1235 x <type>",
    nodes=1235,
    draws=3,
    seed=0,
    p50_s=100.0,
    p95_s=110.0,
    planned_p50_s=90.0,
    planned_p95_s=120.0,
    phases=(),
    breaks_first="network",
    timelines={"map and shuffle": TIMELINE},
)


def test_it_has_a_bar_for_each_span_as_long_as_it_lasts() -> None:
    picture = ElementTree.fromstring(timeline_svg(RUN))
    bars = {bar.findtext(f"{SVG}title"): float(bar.get("width", "0")) for bar in picture.iter(f"{SVG}rect") if len(bar)}
    whole, half = bars["network, 1 min 40 s"], bars["slower nodes, 50 s"]
    assert len(bars) == 3
    assert abs(whole - 2 * half) < 0.2


def test_it_says_whose_rows_they_are_and_what_colours_mean(approve: Approve) -> None:
    texts = [text.text for text in ElementTree.fromstring(timeline_svg(RUN)).iter(f"{SVG}text")]
    approve(texts)
    assert {"1 node", "1,234 nodes", "network", "slower nodes", "map and shuffle, 1 min 40 s"} <= set(texts)


def test_a_phase_that_takes_no_time_has_no_bars_to_divide_by() -> None:
    empty = replace(RUN, timelines={"sample": Timeline(waits={}, groups=((4, ()),))})
    assert "4 nodes" in timeline_svg(empty)
