"""The answers to --why-not and --own as text: within the width, with figures that match their values."""

from __future__ import annotations

import pytest
from approvals import Approve

import planner
from planner.report.terminal.further_answers import own_text, why_not_text
from planner.units import format_duration, format_usd


@pytest.fixture(scope="module")
def answer() -> planner.Recommendation:
    return planner.recommend("3TB", deadline="1h")


@pytest.mark.parametrize("width", [60, 80, 100])
@pytest.mark.parametrize("name", ["c6id.32xlarge", "d3en.12xlarge", "m5.24xlarge", "i8g.8xlarge"])
def test_a_why_not_fits_its_screen(answer: planner.Recommendation, name: str, width: int) -> None:
    lines = why_not_text(answer.why_not(name), width=width).splitlines()
    assert len(lines) <= 24 and all(len(line) <= width for line in lines)


def test_a_why_not_shows_both_clusters_and_what_would_change_it(answer: planner.Recommendation) -> None:
    asked = answer.why_not("c6id.32xlarge")
    text = why_not_text(asked)
    assert asked.cluster is not None and answer.best is not None
    for cluster in (answer.best, asked.cluster):
        assert format_usd(cluster.cost_usd.total) in text and format_duration(cluster.whole_run_s) in text
    assert asked.needed.price_usd_per_hour is not None
    assert f"--own-price c6id.32xlarge={asked.needed.price_usd_per_hour:g}" in " ".join(text.split())


def test_a_why_not_says_that_faster_disks_or_links_would_not_do(
    answer: planner.Recommendation, approve: Approve
) -> None:
    text = " ".join(why_not_text(answer.why_not("c6id.32xlarge")).split())
    approve(text)


def test_the_recommended_type_needs_one_line(answer: planner.Recommendation, approve: Approve) -> None:
    approve(why_not_text(answer.why_not("i8g.8xlarge")))


@pytest.mark.parametrize("machines", ["20 x m5d.12xlarge", "2 x m5d.12xlarge", "20 x m5.24xlarge"])
def test_an_own_cluster_fits_its_screen(answer: planner.Recommendation, machines: str) -> None:
    lines = own_text(answer.own(machines), answer.plan).splitlines()
    assert len(lines) <= 24 and all(len(line) <= 80 for line in lines)


def test_an_own_cluster_has_time_bill_bottleneck_and_the_recommended_beside_it(answer: planner.Recommendation) -> None:
    own = answer.own("20 x m5d.12xlarge")
    assert own.cluster is not None and answer.best is not None
    text = " ".join(own_text(own, answer.plan).split())
    for part in (
        format_duration(own.cluster.whole_run_s),
        format_usd(own.cluster.cost_usd.total),
        "Bottleneck: local disks",
        "They keep the deadline of 1 h",
        f"The plan would rent {answer.best.nodes} x {answer.best.instance_type}",
        "7 min 11 s faster" if own.cluster.whole_run_s < answer.best.whole_run_s else "slower",
    ):
        assert part in text


def test_machines_that_run_already_need_no_boot_and_their_price_says_whose_it_is(approve: Approve) -> None:
    answer = planner.recommend("3TB", discount=["20%"])
    own = answer.own("20 x m5d.12xlarge")
    assert own.cluster is not None
    text = " ".join(own_text(own, answer.plan).split())
    without_boot_s = own.cluster.whole_run_s - own.cluster.overheads_s["boot"]
    assert f", {format_duration(without_boot_s)} if they run already," in text
    approve(text)
