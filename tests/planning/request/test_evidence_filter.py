"""`--evidence` leaves out the types of which a rate rests on less, and names the rate."""

from __future__ import annotations

from collections.abc import Callable

import pytest

import planner
from planner.errors import BadInputError
from planner.planning.request.evidence_filter import WEAKEST

REASON = "rests on weaker evidence than --evidence measured"


def test_a_type_whose_network_is_only_stated_is_left_out_when_measured_is_asked() -> None:
    asked = {"data": "100TB", "model": "indy", "catalogs": ["aws"], "instances": ["i4i.*"], "evidence": "measured"}
    for more, detail in (({}, "network: not measured"), ({"nodes": 100}, "network: spec")):
        answer = planner.recommend(**asked, **more)  # type: ignore[arg-type]
        assert answer.best is None
        reasons = {rejection.instance_type: rejection for rejection in answer.rejected}
        assert (reasons["i4i.8xlarge"].reason, reasons["i4i.8xlarge"].detail) == (REASON, detail)
        assert reasons["i4i.8xlarge"].nearness == 2.0, "one rate too weak"


def test_one_node_is_among_the_sizes_that_are_tried() -> None:
    """What `--nodes 1` gives is feasible without it, too: a node alone waits for no network."""
    asked = {"data": "1TB", "model": "indy", "catalogs": ["aws"], "instances": ["i4i.*"], "evidence": "measured"}
    free, alone = (planner.recommend(**asked, **more).best for more in ({}, {"nodes": 1}))  # type: ignore[arg-type]
    assert free is not None and alone is not None
    assert (free.instance_type, free.nodes) == (alone.instance_type, 1)


def test_evidence_and_a_deadline_that_clash_are_named() -> None:
    """One i4i.metal needs minutes for a terabyte; fifty of its kind meet 30 s, over a network that is only stated."""
    asked = {"data": "1TB", "model": "indy", "catalogs": ["aws"], "instances": ["i4i.*"], "engine": "ideal"}
    plan = planner.recommend(**asked, evidence="measured", sort_deadline="30s").plan  # type: ignore[arg-type]
    assert len(plan.conflicts) == 1
    assert plan.conflicts[0].startswith(
        "the sort's deadline and the evidence clash: what meets the sort's deadline has"
    )


def test_no_limit_is_blamed_where_no_type_is_left() -> None:
    """What fails is the evidence: of no type in reach of the quota anything is known."""
    asked = {"data": "1TB", "model": "indy", "catalogs": ["aws"], "instances": ["i4i.*"], "nodes": 3}
    plan = planner.recommend(**asked, evidence="measured", max_vcpus=64).plan  # type: ignore[arg-type]
    assert plan.best is None and plan.conflicts == ()


def test_one_node_uses_no_network_so_derived_disks_are_enough() -> None:
    asked = {"data": "100GB", "model": "indy", "catalogs": ["aws"], "instances": ["i4i.8xlarge"], "nodes": 1}
    best = planner.recommend(**asked, evidence="measured").best  # type: ignore[arg-type]
    assert best is not None
    assert best.evidence in ("measured", "derived")


def test_measured_rates_pass_and_what_the_user_assumes_does_not() -> None:
    asked = {"data": "10TB", "model": "indy", "catalogs": ["aws-2014"], "instances": ["i2.8xlarge"]}
    assert planner.recommend(**asked, evidence="measured").best is not None  # type: ignore[arg-type]
    assumed = planner.recommend(**asked, assume={"network": "1GB/s"}, evidence="spec")  # type: ignore[arg-type]
    assert assumed.best is None
    assert [r.detail for r in assumed.rejected if "--evidence" in r.reason] == ["network: neither stated nor measured"]


def test_stated_rates_pass_when_stated_is_asked_and_everything_when_any_is() -> None:
    asked = {"data": "1TB", "model": "indy", "catalogs": ["aws"], "instances": ["i4i.*"]}
    assert planner.recommend(**asked, evidence="spec").best is not None  # type: ignore[arg-type]
    assert set(WEAKEST) == {"measured", "spec", "any"}


def test_another_word_is_refused_with_those_there_are() -> None:
    with pytest.raises(BadInputError, match="use measured, spec, any"):
        planner.recommend(data="1TB", model="indy", evidence="good")


def test_types_with_fewer_weak_rates_are_nearer(make_catalog: Callable[..., str]) -> None:
    """One weak rate is once more than is asked, two are twice; disks of evidence `recalled` and a stated network."""
    disks = [
        {"instance_type": name, "mode": mode, "bytes_per_s": 2e9, "aggregate": "mean", "method": "made",
         "evidence": evidence}
        for name, evidence in (("a", "measured"), ("b", "recalled"))
        for mode in ("read_only", "write_only")
    ]  # fmt: skip
    stated = [
        {"instance_type": name, "nodes": 2, "placement_group": "yes", "bytes_per_s": 1e9, "aggregate": "mean",
         "method": "made", "evidence": "spec"}
        for name in ("a", "b")
    ]  # fmt: skip
    catalog = make_catalog({"a": {}, "b": {}}, disks=disks, networks=stated)
    answer = planner.recommend(data="1TB", model="indy", catalogs=[catalog], evidence="measured", nodes=2)
    assert {(r.instance_type, r.nearness, r.detail) for r in answer.rejected} == {
        ("a", 2.0, "network: spec"),
        ("b", 3.0, "local disks: recalled, network: spec"),
    }
