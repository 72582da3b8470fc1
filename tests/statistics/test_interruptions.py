"""Reclaimed spot nodes, compared with simulation and as plans show them."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from approvals import Approve
from hypothesis import given
from hypothesis import strategies as st

from planner import recommend as recommend_by
from planner.errors import BadInputError
from planner.schemas.plan import Candidate
from planner.statistics.interruptions import Risk
from planner.statistics.order_statistics import Durations, Loads, barriers, durations_of, lognormal, sums_s

recommend = partial(recommend_by, engine="ideal")
"""The sums here are those of the equations alone."""

Make = Callable[..., str]

DRAWS = 20_000


def job_of(seconds: float, *, nodes: int = 1, sigma: float = 0.0, shared_sigma: float = 0.0) -> Durations:
    """Return the time of a job of one phase, and of one cluster."""
    one = np.ones(1)
    spreads = [(lognormal(sigma), np.zeros(1, int))]
    load = Loads(median_s=seconds * one[None], spreads=spreads, count=nodes * one, spares=0 * one)
    return durations_of(sums_s([barriers([load])]), shared_sigma=shared_sigma)


def even_job(least_s: float, most_s: float) -> Durations:
    shares = np.linspace(0.0, 1.0, 501)[None]
    return Durations(times_s=least_s + shares * (most_s - least_s), cdf=shares)


def disturbed(of: Risk, job: Durations, *, nodes: int, load_s: float) -> Durations:
    return of.durations(job, nodes=np.array([float(nodes)]), load_s=np.array([float(load_s)]))


def risk(recovery: str, per_node_hour: float = 0.05) -> Risk:
    return Risk(per_node_s=per_node_hour / 3600, replacement_s=240, recovery=recovery, evidence="assumed")


def simulated(interruptions: Risk, *, job_s: float, load_s: float, nodes: int) -> np.ndarray:
    """Start again at each interruption until the work is done in one piece."""
    rng = np.random.default_rng(5)
    unit = job_s + (load_s if interruptions.recovery == "reload" else 0.0)
    total = np.full(DRAWS, float(job_s))
    left = np.arange(DRAWS)
    while len(left):
        fails = rng.exponential(1 / (nodes * interruptions.per_node_s), len(left))
        lost = fails < unit
        left = left[lost]
        total[left] += fails[lost] + interruptions.replacement_s
    return total


@pytest.mark.parametrize("recovery", ["reload", "restart"])
@pytest.mark.parametrize("nodes", [2, 20, 100])
def test_restarts_are_what_simulation_gives(recovery: str, nodes: int) -> None:
    interruptions = risk(recovery)
    draws = simulated(interruptions, job_s=1000, load_s=300, nodes=nodes)
    mean = interruptions.expected_s(np.array([1000.0]), nodes=np.array([float(nodes)]), load_s=300)
    assert mean == pytest.approx(draws.mean(), abs=4 * draws.std() / np.sqrt(DRAWS))
    certain = job_of(1000, nodes=nodes)
    whole = disturbed(interruptions, certain, nodes=nodes, load_s=300)
    assert whole.mean_s == pytest.approx(draws.mean(), rel=0.02)
    for probability in (0.5, 0.95):
        quantile_s = float(whole.quantile_s([probability])[0, 0])
        assert quantile_s == pytest.approx(np.quantile(draws, probability), rel=0.12)


def test_the_chance_of_no_interruption_by_hand() -> None:
    """A job of 1,000 to 3,000 s, uniformly distributed, at one interruption in 1,000 s: (e^-1 - e^-3) / 2 of the runs
    see none. An interrupted run waits for 10^6 s, so it is not over after 3,000 s.
    """
    job = even_job(1000.0, 3000.0)
    rare = Risk(per_node_s=1e-3, replacement_s=1e6, recovery="restart", evidence="assumed")
    spared = disturbed(rare, job, nodes=1, load_s=0).probability_by(np.array([3000.0]))
    assert spared == pytest.approx((np.exp(-1) - np.exp(-3)) / 2, rel=4e-4)


def test_tasks_done_again_by_hand() -> None:
    """Twenty nodes, each reclaimed once in 20 hours, for an hour: one is lost. Twenty nodes redo half an hour of its
    work, and it is missing for 240 s: 102 s.
    """
    taken = risk("redo").expected_s(np.array([3600.0]), nodes=np.array([20.0]), load_s=0)
    assert taken == pytest.approx(3600 + (1800 + 240) / 20)


def test_restarts_by_hand() -> None:
    """Twenty nodes at 0.05 an hour: one interruption an hour. An hour's work takes (1 + 240/3600) h x (e - 1). With
    half an hour of loading, which is redone too, it takes (1 + 240/3600) h x (e^1.5 - 1), less the first half an hour.
    """
    job, nodes = np.array([3600.0]), np.array([20.0])
    restart = risk("restart").expected_s(job, nodes=nodes, load_s=1800)
    assert restart == pytest.approx(3840 * (np.e - 1))
    assert risk("reload").expected_s(job, nodes=nodes, load_s=1800) == pytest.approx(3840 * (np.e**1.5 - 1) - 1800)


def test_what_is_interrupted_without_end_stays_finite() -> None:
    """50 expected interruptions give e^50; twice the work takes twice that, not e^100."""
    nodes = np.array([20.0])
    once, twice = (risk("restart").expected_s(np.array([hours * 3600.0]), nodes=nodes, load_s=0) for hours in (50, 100))
    assert once == pytest.approx(3840 * np.expm1(50))
    assert twice == pytest.approx(2 * once)


@pytest.mark.parametrize(("recovery", "spared"), [("restart", np.exp(-1)), ("reload", np.exp(-1.5)), ("redo", 0.0)])
def test_the_chance_of_no_interruption_is_exact(recovery: str, spared: float) -> None:
    """An hour, plus half an hour of loading if that is redone, at one interruption an hour: e^-1 and e^-1.5 end in
    time, and none of the others within 240 s more. Redone tasks stretch every run instead.
    """
    whole = disturbed(risk(recovery), job_of(3600), nodes=20, load_s=1800)
    for late_s in (1.0, 101.0) if recovery == "redo" else (1.0, 239.0):
        assert whole.probability_by(np.array([3600 + late_s])) == pytest.approx(spared, abs=2e-3)
    if recovery == "redo":
        assert whole.mean_s == pytest.approx(3600 + 0.05 * (1800 + 240))
    else:
        assert whole.cdf[0, -1] == 1
        mean = risk(recovery).expected_s(np.array([3600.0]), nodes=np.array([20.0]), load_s=1800)
        assert whole.mean_s == pytest.approx(float(mean[0]), rel=0.02)


def test_what_is_hardly_ever_interrupted_lasts_as_long_as_it_does() -> None:
    """Uniform from one to three hours: half of the runs take at most two, nine in ten 2.8."""
    whole = disturbed(risk("restart", per_node_hour=1e-7), even_job(3600.0, 10_800.0), nodes=2, load_s=0)
    assert whole.quantile_s([0.5, 0.9])[0] == pytest.approx([7200, 0.9 * 7200 + 3600], rel=0.02)


@given(st.floats(1, 1e5), st.integers(1, 1000), st.floats(1e-4, 1.0), st.sampled_from(["reload", "restart", "redo"]))
def test_interruptions_never_help_and_more_are_never_better(
    job_s: float, nodes: int, rate: float, recovery: str
) -> None:
    job, count = np.array([job_s]), np.array([float(nodes)])
    few, many = (risk(recovery, r).expected_s(job, nodes=count, load_s=100) for r in (rate, 2 * rate))
    assert job_s <= few * (1 + 1e-12)
    assert few <= many * (1 + 1e-12)


def test_clusters_that_cannot_hold_the_data_stay_so() -> None:
    assert np.isinf(risk("reload").expected_s(np.array([np.inf]), nodes=np.array([5.0]), load_s=1))


def spot(make_catalog: Make, head: str = "", **given: Any) -> Candidate:
    catalog = make_catalog({"a": {"read": 2e9, "write": 1e9}})
    prices = Path(catalog) / "prices.csv"
    prices.write_text(prices.read_text().replace("on-demand", "spot"))
    manifest = Path(catalog) / "catalog.toml"
    manifest.write_text(manifest.read_text().replace("[sources]", f"{head}\n[sources]"))
    asked: dict[str, Any] = {"data": "10TB", "model": "indy", "catalogs": (catalog,), "pricing": "spot", "nodes": 100}
    best = recommend(**(asked | given)).best
    assert best is not None
    return best


def test_an_unknown_rate_is_assumed_with_a_range_that_shows_in_the_95th_percentile(
    make_catalog: Make, approve: Approve
) -> None:
    best, known = spot(make_catalog), spot(make_catalog, interruptions_per_node_hour=0.0012)
    assert best.interruptions is not None and best.interruptions.evidence == "assumed"
    approve(best.warnings)
    assert best.time_s.p95 > known.time_s.p95


def test_interruptions_lengthen_the_job_and_its_bill(make_catalog: Make) -> None:
    calm, rough = (spot(make_catalog, interruptions_per_node_hour=hourly) for hourly in (1e-9, 0.05))
    assert rough.interruptions is not None
    assert rough.interruptions.recovery == "reload"
    assert rough.interruptions.delay_s == pytest.approx(rough.time_s.expected - calm.time_s.expected, rel=0.01)
    assert rough.interruptions.expected == pytest.approx(100 * 0.05 * rough.time_s.expected / 3600)
    assert rough.time_s.equation == calm.time_s.equation
    assert rough.cost_usd.total > calm.cost_usd.total
    assert rough.time_s.p95 > calm.time_s.p95
    assert not any("taken back" in warning for warning in rough.warnings)


def test_the_rate_may_be_the_catalogs(make_catalog: Make) -> None:
    head = '[spot]\ninterruptions_per_node_hour = 0.05\nevidence = "measured"\nsource = "made"'
    best = spot(make_catalog, head)
    assert best.interruptions is not None
    assert (best.interruptions.per_node_hour, best.interruptions.evidence) == (pytest.approx(0.05), "measured")


def test_a_framework_loses_less_to_an_interruption(make_catalog: Make) -> None:
    given = {"interruptions_per_node_hour": 0.05}
    framework, sort = (spot(make_catalog, model=model, **given) for model in ("framework", "indy"))
    assert framework.interruptions is not None
    assert sort.interruptions is not None
    assert (
        framework.interruptions.delay_s / framework.time_s.expected < sort.interruptions.delay_s / sort.time_s.expected
    )


@pytest.mark.parametrize(
    ("wrong", "words"),
    [({"interruptions_per_node_hour": -1}, "above 0"), ({"pricing": "on-demand"}, "say pricing spot")],
)
def test_what_makes_no_sense_is_refused(make_catalog: Make, wrong: dict[str, Any], words: str) -> None:
    with pytest.raises(BadInputError, match=words):
        spot(make_catalog, **({"interruptions_per_node_hour": 0.1} | wrong))


@pytest.mark.parametrize(
    "head",
    [
        "[spot]\ninterruptions_per_node_hour = 0.05",
        '[spot]\ninterruptions_per_node_hour = -1\nevidence = "measured"\nsource = "made"',
        '[spot]\ninterruptions_per_node_hour = 1\nevidence = "hearsay"\nsource = "made"',
    ],
)
def test_a_bad_rate_in_a_catalog_is_found(make_catalog: Make, head: str) -> None:
    with pytest.raises(BadInputError) as caught:
        spot(make_catalog, head)
    assert "spot" in str(caught.value.details)


def test_rare_interruptions_delay_by_hand() -> None:
    """Four nodes, each reclaimed once in 5,000 hours: 0.00035 interruptions in 1,375 s and 200 s of loading, each
    costing half of 1,575 s and 240 s: 0.36 s, and never less than zero.
    """
    spread = job_of(1375, nodes=4, sigma=0.1, shared_sigma=0.15)
    rare = risk("reload", per_node_hour=0.0002)
    mean_s = spread.mean_s[0] + 200
    hits = 4 * 0.0002 / 3600 * mean_s
    delay_s = disturbed(rare, spread, nodes=4, load_s=200).mean_s - spread.mean_s
    assert delay_s == pytest.approx(hits * (mean_s / 2 + 240), rel=0.2)
