"""Doubt about a rate by its evidence: none for measured and assumed rates, else at least that of stated ones."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

import numpy as np
import pytest

import planner
from planner.catalog import EVIDENCE, load_catalog
from planner.catalog.shipped_tables import load_spreads
from planner.cost_model.evidence import CERTAIN, RATES, RateDoubts, _by_evidence, rate_doubts
from planner.cost_model.rates import _local, evidence_codes
from planner.cost_model.workload import JobContext
from planner.schemas.plan import Candidate

RISING = np.array([[1.0, 1.0, 1.0, 1.0, 1.0, 1.0, 1.2, 1.8]])


def planned(**asked: object) -> Candidate:
    best = planner.recommend(
        data="2TB", model="indy", catalogs=["aws"], instances=["i4i.8xlarge"], nodes=2, **asked
    ).best  # type: ignore[arg-type]
    assert best is not None
    return best


def test_each_value_of_each_rate_counts_once_and_large_ones_do_not_meet() -> None:
    network, disk = (RISING[0, RATES[name].order] for name in ("network", "disk"))
    assert (network * disk < 1.8 * 1.2).all()
    assert all(sorted(rate.order) == list(range(8)) for rate in RATES.values() if rate.order)


def test_the_mean_is_that_of_the_eight_and_certain_rates_have_none() -> None:
    doubts = RateDoubts(slowdowns={"disk": RISING})
    assert doubts.mean("local_disks", np.array([0])).tolist() == [pytest.approx(9 / 8)]
    assert doubts.mean("network", np.array([0])).tolist() == [1.0]
    assert CERTAIN.mean("local_disks", np.array([0])).tolist() == [1.0]


def test_what_the_user_assumes_is_not_doubted() -> None:
    """Two nodes of equal disks: the doubt about derived disks, a stated network and a run's spread raise the expected
    time above that of assumed rates; the equation is the same.
    """
    rates = {"local_read": 6231600000.0, "local_write": 4578600000.0, "network": 2343750000.0}
    doubted, assumed = planned(), planned(assume=rates)
    assert assumed.time_s.equation == pytest.approx(doubted.time_s.equation)
    assert assumed.time_s.expected < doubted.time_s.expected
    assert assumed.time_s.p95 < doubted.time_s.p95


@pytest.mark.parametrize("name", ["local_read", "network"])
def test_what_is_assumed_of_one_type_takes_no_doubt_from_another(name: str) -> None:
    assert planned(assume={f"{name}:i3.*": 1e9}).time_s == planned().time_s
    assert planned(assume={f"{name}:i4i.*": 6e9}).time_s != planned().time_s


def test_the_papers_know_no_doubt() -> None:
    best = planned(paper=True)
    assert best.time_s.expected == pytest.approx(best.time_s.equation)


def test_by_hand_a_disk_bound_job_is_slower_by_the_mean_doubt_of_its_disks() -> None:
    """With an assumed network that never binds, only the derived disks are in doubt. The mean of their slowdowns, none
    counted below 1 and each at least that of a stated disk, stretches the expected time over that of assumed disks.
    """
    spreads = load_spreads()
    mean = np.maximum(np.maximum(spreads["disk", "derived"], spreads["disk", "spec"]), 1).mean()
    rates = {"local_read": 6231600000.0, "local_write": 4578600000.0}
    doubted, assumed = planned(assume={"network": 1e15}), planned(assume=rates | {"network": 1e15})
    assert doubted.time_s.expected / assumed.time_s.expected == pytest.approx(mean, rel=2e-3)


def test_a_computed_rate_of_disks_is_as_doubtful_as_its_range(make_context: Callable[..., JobContext]) -> None:
    """Three quarters to four thirds: the eight slowdowns rise from none to those of a normal distribution by hand; the
    largest is 1.5341, and 1.645 leaves one in twenty. The other type has no range.
    """
    rates = make_context({"a": {"read": 4e9, "write": 2e9}, "b": {"read": 4e9, "write": 2e9}}).rates
    edges = (np.array([0.75, np.nan]), np.array([4 / 3, np.nan]))
    doubts = rate_doubts(replace(rates, local=replace(rates.local, edges=edges)), {})
    ranged, other = doubts.slowdowns["disk"]
    assert ranged[-1] == pytest.approx((4 / 3) ** (1.5341 / 1.6449), rel=1e-3)
    assert ranged[0] == 1
    assert (np.diff(ranged) >= 0).all()
    assert other.tolist() == rate_doubts(rates, {}).slowdowns["disk"][1].tolist()


def test_only_computed_rates_of_disks_have_a_range() -> None:
    """c6id.8xlarge was measured; m6id.8xlarge has the same disks and its rate is computed."""
    aws = load_catalog("aws")
    edges = _local(aws).edges
    assert edges is not None
    measured, computed = (aws.instances.index(name) for name in ("c6id.8xlarge", "m6id.8xlarge"))
    assert np.isnan([edge[measured] for edge in edges]).all()
    assert edges[0][computed] < 1 < edges[1][computed]


def test_claims_that_were_never_compared_are_as_doubtful_as_the_worst_that_were(
    make_context: Callable[..., JobContext],
) -> None:
    """The largest of each eighth. Nobody compared rates of object stores. Measured rates are certain."""
    rates = make_context({"a": {"read": 4e9, "write": 2e9}}).rates
    codes = evidence_codes(np.array(["measured", "recalled"]))
    asked = replace(rates, objects=replace(rates.objects, evidence=codes))
    certain, recalled = rate_doubts(asked, {}).slowdowns["object_store"]
    assert certain.tolist() == [1.0] * 8
    compared = load_spreads()
    assert "object_store" not in {resource for resource, _ in compared}
    worst = [max(values[eighth] for values in compared.values()) for eighth in range(8)]
    assert recalled.tolist() == [max(1.0, value) for value in worst]


def test_each_evidence_has_its_own_row() -> None:
    """Measured and unknown rates are not doubted; stated ones are off by the table's amount."""
    table, spreads = _by_evidence("network"), load_spreads()
    assert table.shape == (len(EVIDENCE) + 1, 8)
    assert (table[0] == 1).all() and (table[-1] == 1).all()
    stated = np.maximum(spreads["network", "spec"], 1.0)
    assert table[EVIDENCE.index("spec")].tolist() == stated.tolist()
    for word in EVIDENCE[1:]:
        assert (table[EVIDENCE.index(word)] >= stated).all()
