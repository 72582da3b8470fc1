"""Dropped nodes: the papers' bad apples, thin tails, and the rule by hand."""

from __future__ import annotations

import math
from dataclasses import replace
from math import comb

import numpy as np
import pytest
from approvals import Approve
from hypothesis import given
from hypothesis import strategies as st

from planner.errors import BadInputError
from planner.statistics.slow_node_screening import FALSE_ALARMS, limit_of, persistence, screen

RATES = st.lists(st.floats(1e-3, 1e12), min_size=1, max_size=40)


def named(rates: list[float]) -> dict[str, float]:
    return {f"node-{number}": rate for number, rate in enumerate(rates)}


def dropped(rates: list[float]) -> set[str]:
    return {drop.node for drop in screen({"write_bytes_per_s": named(rates)}).dropped}


def test_scalyrs_bulk_writes_lose_their_five_bad_apples() -> None:
    """Forty instances around 7 writes/s (6 to 10), five at a ninth of that (Scalyr, "Bad Apples")."""
    good = np.geomspace(6, 10, 40).tolist()
    assert dropped([*good, *[7 / 9] * 5]) == {f"node-{n}" for n in range(40, 45)}


def test_scalyrs_small_reads_lose_nobody() -> None:
    """All 45 do 200 to 300 operations a second."""
    assert dropped(np.linspace(200, 300, 45).tolist()) == set()


def test_the_rule_by_hand() -> None:
    """Median 100; |ln(rate/100)| of 90, 95, 100, 105, 110 has median 0.0513 (of 95), so spread 0.0760."""
    limit = limit_of("rate", [90.0, 95.0, 100.0, 105.0, 110.0])
    assert limit.spread == pytest.approx(1.4826 * -math.log(0.95))
    assert limit.z == pytest.approx(2.3263 * 2.2, rel=1e-4)  # the 99% point of the normal distribution, for five nodes
    assert limit.limit_per_s == pytest.approx(100 * math.exp(-limit.z * limit.spread))
    assert "median 100" in limit.text and "5 nodes" in limit.text


def test_the_rule_is_shown_with_its_numbers() -> None:
    """z = 2.3263 x (1 + 6/5) = 5.118, spread = 1.4826 x 0.05129 = 0.07605, e^(-5.118 x 0.07605) = 0.6776."""
    limit = limit_of("rate", [90.0, 95.0, 100.0, 105.0, 110.0])
    assert limit.text == (
        "rate: limit 67.76 = median 100 x 0.678 (exp(-5.12 x 0.076)), but between 0.5 and 0.9 of it; 5 nodes"
    )


def test_more_nodes_ask_for_a_rarer_accident_and_need_less_stretching() -> None:
    """Ten nodes: the 99.5% point, 2.5758, times 1 + 6/10; three: the 98.33% point, 2.1280, times 1 + 6/3."""
    assert limit_of("rate", [100.0] * 10).z == pytest.approx(2.5758 * 1.6, rel=1e-4)
    assert limit_of("rate", [100.0] * 3).z == pytest.approx(2.1280 * 3, rel=1e-4)


def test_three_nodes_are_enough_to_say() -> None:
    limit = limit_of("rate", [100.0, 97.0, 100 / 0.97])
    assert limit.limit_per_s == pytest.approx(100 * math.exp(-2.1280 * 3 * 1.4826 * -math.log(0.97)), rel=1e-4)
    assert "cannot say" not in limit.text


def test_a_node_at_the_limit_stays() -> None:
    """Nine equal nodes put the limit at nine tenths of their rate."""
    assert limit_of("rate", [100.0] * 9 + [90.0]).limit_per_s == 90
    assert dropped([100.0] * 9 + [90.0]) == set()


def test_what_is_kept_goes_by_its_worst_metric() -> None:
    """b is at 95% in one metric, a at 97% at worst; c is the fastest in one and at 91% in the other."""
    disk = {"a": 97.0, "b": 110.0, "c": 150.0, "d": 100.0, "e": 100.0}
    net = {"a": 100.0, "b": 95.0, "c": 91.0, "d": 100.0, "e": 100.0}
    screening = screen({"disk": disk, "net": net})
    assert screening.kept == ("d", "e", "a", "b", "c")


def test_the_reason_says_how_slow() -> None:
    (drop,) = screen({"disk": named([40.0, 100.0, 100.0, 100.0])}).dropped
    assert (drop.reason, drop.rate_per_s, drop.limit_per_s) == ("at 40% of the median", 40, 90)


def test_half_the_median_is_too_slow_however_the_others_spread() -> None:
    assert dropped([60.0, 75.0, 100.0, 130.0, 160.0, 49.0 * 87.5 / 100]) == {"node-5"}
    assert dropped([60.0, 75.0, 100.0, 130.0, 160.0, 51.0]) == set()


def test_less_than_a_tenth_is_never_worth_a_replacement() -> None:
    assert dropped([100.0] * 9 + [91.0]) == set()
    assert dropped([100.0] * 9 + [89.0]) == {"node-9"}


def test_two_nodes_cannot_say_which_is_slow() -> None:
    assert dropped([100.0, 1.0]) == set()
    assert "rate: 2 nodes cannot say" in limit_of("rate", [100.0, 1.0]).text
    assert "rate: 1 node cannot say" in limit_of("rate", [100.0]).text
    assert dropped([100.0, 99.0, 1.0]) == {"node-2"}


def test_dead_and_silent_nodes_go_and_say_why() -> None:
    screening = screen({"read": {"a": 5.0, "b": 5.0, "c": 0.0, "d": math.nan}, "net": {"a": 1.0, "b": 1.0, "c": 1.0}})
    assert {drop.node: drop.reason for drop in screening.dropped} == {"c": "does nothing", "d": "gave no figure"}
    assert set(screening.kept) == {"a", "b"}


def test_a_node_must_pass_every_metric_and_the_best_come_first() -> None:
    disk = {"a": 100.0, "b": 99.0, "c": 101.0, "d": 100.0}
    net = {"a": 10.0, "b": 10.1, "c": 9.9, "d": 4.0}
    screening = screen({"disk": disk, "net": net})
    assert [(drop.node, drop.metric) for drop in screening.dropped] == [("d", "net")]
    assert screening.kept[0] == "a"


def test_of_several_reasons_the_worst_is_given() -> None:
    """A disk at 80% must not hide a link at 10%: this share decides which of the bad nodes fill up a crew."""
    disk, network = named([80.0, 100.0, 100.0]), named([10.0, 100.0, 100.0])
    (drop,) = screen({"disk": disk, "network": network}).dropped
    assert (drop.metric, drop.share) == ("network", pytest.approx(10 / 90))
    assert [worst.share for worst in screen({"disk": {"a": math.nan, "b": 0.0, "c": 1.0, "d": 1.0}}).dropped] == [0, 0]


@given(RATES)
def test_every_node_is_kept_or_dropped_and_never_the_better_half(rates: list[float]) -> None:
    screening = screen({"rate": named(rates)})
    gone = {drop.node for drop in screening.dropped}
    assert gone | set(screening.kept) == named(rates).keys() and not gone & set(screening.kept)
    assert all(named(rates)[node] < np.median(rates) for node in gone)


@given(RATES, st.integers(-20, 20))
def test_the_unit_does_not_matter(rates: list[float], power: int) -> None:
    assert dropped(rates) == dropped([rate * 2.0**power for rate in rates])


@given(RATES, st.data())
def test_a_slower_node_is_not_kept_where_a_faster_one_goes(rates: list[float], data: st.DataObject) -> None:
    gone = dropped(rates)
    slower, faster = (data.draw(st.integers(0, len(rates) - 1)) for _ in range(2))
    if rates[slower] <= rates[faster] and f"node-{faster}" in gone:
        assert f"node-{slower}" in gone


@pytest.mark.parametrize("nodes", [8, 45, 178])
def test_healthy_clusters_rarely_lose_a_node(nodes: int) -> None:
    """About the promised share of 500 lognormal clusters raises a false alarm."""
    rng = np.random.default_rng(11)
    clusters = rng.lognormal(0, 0.15, (500, nodes))
    alarms = np.mean([(row < limit_of("rate", row.tolist()).limit_per_s).any() for row in clusters])
    assert alarms <= FALSE_ALARMS + 4 * np.sqrt(FALSE_ALARMS / 500)


@pytest.mark.parametrize("rates", [[], [-1.0, 2.0, 3.0], [math.inf, 1.0], [0.0, 0.0, 1.0], [math.nan]])
def test_impossible_rates_are_refused(rates: list[float]) -> None:
    with pytest.raises(BadInputError):
        screen({"rate": named(rates)})


@given(st.lists(st.floats(1e-3, 1e6), min_size=3, max_size=30))
def test_times_are_judged_as_the_rates_they_are_of(rates: list[float]) -> None:
    """A node that takes 1/r is dropped if one that does r is; the count is odd, so that the median is one of them."""
    rates = rates if len(rates) % 2 else rates[:-1]
    times = {node: 1 / rate for node, rate in named(rates).items()}
    by_time = screen({"latency_s": times}, lower_is_better=["latency_s"])
    by_rate = screen({"latency_s": named(rates)})
    assert {drop.node for drop in by_time.dropped} == {drop.node for drop in by_rate.dropped}


def test_the_slow_node_of_a_column_of_latencies_is_dropped_not_the_fast_one() -> None:
    """Median 2 ms; the spread is small, so the limit is 2 / 0.9 = 2.22 ms."""
    times = {"a": 2.0, "b": 2.0, "c": 2.02, "d": 1.98, "slow": 9.0, "fast": 0.5}
    verdict = screen({"p99_ms": times}, lower_is_better=["p99_ms"])
    assert [(drop.node, drop.reason) for drop in verdict.dropped] == [("slow", "at 450% of the median")]
    assert verdict.kept[0] == "fast" and verdict.limits[0].limit_per_s == pytest.approx(2 / 0.9)
    assert "less is better" in verdict.limits[0].text


def test_the_worst_of_rates_and_times_is_the_reason() -> None:
    rates = {f"n{n}": 100.0 for n in range(5)} | {"bad": 50.0}
    times = {f"n{n}": 1.0 for n in range(5)} | {"bad": 10.0}
    (drop,) = screen({"rate": rates, "time_s": times}, lower_is_better=["time_s"]).dropped
    assert (drop.node, drop.metric) == ("bad", "time_s")


def test_no_errors_are_good_and_many_are_not() -> None:
    errors = {f"n{n}": 0.0 for n in range(11)}
    assert not screen({"errors": errors | {"one": 1.0}}, lower_is_better=["errors"]).dropped
    verdict = screen({"errors": errors | {"bad": 40.0}}, lower_is_better=["errors"])
    assert [drop.node for drop in verdict.dropped] == ["bad"] and len(verdict.kept) == 11
    assert "half of 12 nodes have 0" in verdict.limits[0].text


def test_a_node_without_errors_is_kept_where_most_have_some() -> None:
    errors = {f"n{n}": 10.0 for n in range(8)} | {"none": 0.0}
    assert "none" in screen({"errors": errors}, lower_is_better=["errors"]).kept


def test_a_metric_of_few_nodes_drops_no_other() -> None:
    """One of four nodes has a figure of another instrument; figures that three of four nodes have count as before."""
    network = {"a": 100.0, "b": 101.0, "c": 99.0}
    verdict = screen({"network": network, "other": {"d": 5.0}})
    assert [drop.node for drop in verdict.dropped] == ["d"] and set(verdict.kept) == set("abc")
    every = screen({"network": {**network, "d": 100.0}, "other": {"d": 5.0}})
    assert every.dropped == () and set(every.kept) == set("abcd")


def test_the_rule_of_times_is_shown_with_its_numbers() -> None:
    """As for rates (z x spread = 5.118 x 0.07605 = 0.3892), but e^0.3892 = 1.476 times as long: 1 / 0.9 to 1 / 0.5."""
    limit = limit_of("time", [90.0, 95.0, 100.0, 105.0, 110.0], lower_is_better=True)
    assert limit.text == (
        "time (less is better): limit 147.6 = median 100 x 1.48 (exp(5.12 x 0.076)), but between 1.11 and 2 of it; "
        "5 nodes"
    )


def test_a_time_at_the_limit_stays_and_a_longer_one_has_the_limit_over_it_for_its_share() -> None:
    """Nine times of 100 put the limit at 100 / 0.9; 200 s are 1.8 times that."""
    assert not screen({"time": named([100.0] * 9 + [100 / 0.9])}, lower_is_better=["time"]).dropped
    (drop,) = screen({"time": named([100.0] * 9 + [200.0])}, lower_is_better=["time"]).dropped
    assert (drop.node, drop.share) == ("node-9", pytest.approx(1 / 1.8))


def test_of_two_nodes_one_that_does_nothing_goes() -> None:
    (drop,) = screen({"rate": {"a": 0.0, "b": 1.0}}).dropped
    assert (drop.node, drop.reason, drop.share) == ("a", "does nothing", 0)


@pytest.mark.parametrize(("nodes", "go"), [(4, 2), (5, 0), (6, 0)])
def test_a_figure_that_half_of_all_have_is_asked_of_each(nodes: int, go: int) -> None:
    """Two nodes have the second figure: half of four, but less than half of five."""
    first = named([100.0] * nodes)
    second = dict.fromkeys(list(first)[:2], 100.0)
    assert len(screen({"first": first, "second": second}).dropped) == go


def runs(*, bad_in: dict[str, set[int]], nodes: int = 12, rounds: int = 3) -> dict[str, list[float]]:
    """Return rates of nodes that fall to a tenth in some of their runs."""
    return {
        f"n{n}": [10.0 if number in bad_in.get(f"n{n}", ()) else 100.0 + n for number in range(rounds)]
        for n in range(nodes)
    }


def test_nodes_that_are_always_bad_stay_bad(approve: Approve) -> None:
    answer = persistence("write", runs(bad_in={"n1": {0, 1, 2}, "n5": {0, 1, 2}}))
    assert answer is not None and answer.is_persistent
    # Two pairs of runs of each of 12 nodes: 4 pairs start with a bad run and end with one; 4 of 24 end so.
    assert (answer.bad, answer.bad_again, answer.good, answer.turned_bad) == (4, 4, 20, 0)
    assert answer.chance == pytest.approx(1 / comb(24, 4))
    approve(answer.text)
    approve(replace(answer, good=0).text)


def test_nodes_that_are_bad_in_turn_do_not() -> None:
    answer = persistence("write", runs(bad_in={"n1": {0}, "n5": {1}, "n7": {2}}))
    assert answer is not None and not answer.is_persistent
    assert (answer.bad, answer.bad_again, answer.turned_bad, answer.chance) == (2, 0, 2, 1.0)
    assert "no sign" in answer.text


def test_of_latencies_the_slow_nodes_are_the_high_ones() -> None:
    times = {node: [1 / rate for rate in rates] for node, rates in runs(bad_in={"n1": {0, 1, 2}}).items()}
    of_times = persistence("latency", times, lower_is_better=True)
    of_rates = persistence("latency", runs(bad_in={"n1": {0, 1, 2}}))
    assert of_times == of_rates and of_times is not None and of_times.bad == 2


def test_without_a_second_run_there_is_no_answer(approve: Approve) -> None:
    assert persistence("write", runs(bad_in={}, rounds=1)) is None
    assert persistence("write", runs(bad_in={}, nodes=2)) is None
    healthy = persistence("write", runs(bad_in={}))
    assert healthy is not None
    approve(healthy.text)
    assert not healthy.is_persistent


def test_chance_alone_is_seldom_called_staying() -> None:
    """Bad runs at random: fewer than one in ten of 200 studies find a pattern (one in twenty is promised)."""
    random = np.random.default_rng(1)
    verdicts = []
    for _ in range(200):
        bad = random.random((20, 3)) < 0.15
        rates = {f"n{n}": np.where(bad[n], 10.0, 100.0).tolist() for n in range(20)}
        answer = persistence("write", rates)
        verdicts.append(answer is not None and answer.is_persistent)
    assert sum(verdicts) < 20
