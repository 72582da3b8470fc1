"""Filters of types, and requests that contradict themselves."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
from approvals import Approve
from typer.testing import CliRunner

import planner
from planner.api.recommend import recommend
from planner.catalog import load_catalog
from planner.cli.app import build
from planner.errors import BadInputError, InfeasibleError
from planner.planning.recommendation import require_best
from planner.planning.request.filters import WEAKEST, wanted
from planner.schemas.plan import Plan, Request

DISKS = {"read": 2e9, "write": 1e9}


@pytest.fixture
def cloud(make_catalog: Callable[..., str]) -> str:
    return make_catalog(
        {
            "a.1": {**DISKS, "arch": "arm64"},
            "a.2": {**DISKS, "arch": "x86_64"},
            "b.1": {**DISKS, "arch": "x86_64", "memory_bytes": 128 * 10**9},
        }
    )


def planned(cloud: str, **options: Any) -> Plan:
    return recommend(**{"data": "1TB", "model": "indy", "catalogs": [cloud], **options}).plan


@pytest.mark.parametrize(
    ("options", "left"),
    [
        ({}, ["a.1", "a.2", "b.1"]),
        ({"instances": ["a.*"]}, ["a.1", "a.2"]),
        ({"exclude": ["a.*"]}, ["b.1"]),
        ({"arch": "arm64"}, ["a.1"]),
        ({"instances": ["a.*"], "arch": "x86_64"}, ["a.2"]),
        ({"min_memory": "64GB"}, ["a.1", "a.2", "b.1"]),
        ({"min_memory": "100GB"}, ["b.1"]),
    ],
    ids=str,
)
def test_types_that_pass(cloud: str, options: dict[str, Any], left: list[str]) -> None:
    plan = planned(cloud, **options)
    assert {entry.instance_type for entry in plan.candidates} == {*left}
    assert {entry.instance_type for entry in plan.rejected} == {"a.1", "a.2", "b.1"} - {*left}


@pytest.mark.parametrize(
    ("options", "conflict"),
    [
        ({"instances": ["a.*"], "exclude": ["a.*"]}, "--instance a.* and --exclude a.* clash: no type passes both"),
        ({"instances": ["b.1"], "arch": "arm64"}, "--instance b.1 and --arch arm64 clash: no type passes both"),
        ({"instances": ["a.*"], "min_memory": "1TB"}, "--set min-memory=1TB lets no type through"),
        ({"min_memory": "100TiB"}, "--set min-memory=100TiB lets no type through"),
        ({"arch": "arm64", "min_memory": "65GB"}, "--arch arm64 and --set min-memory=65GB clash: no type passes both"),
        ({"exclude": ["*"]}, "--exclude * lets no type through"),
        ({"exclude": ["a.1"], "arch": "arm64"}, "--exclude a.1 and --arch arm64 clash: no type passes both"),
    ],
)
def test_filters_that_clash_are_named(cloud: str, options: dict[str, Any], conflict: str) -> None:
    plan = planned(cloud, **options)
    assert plan.best is None
    assert plan.conflicts == (conflict,)
    with pytest.raises(InfeasibleError) as caught:
        require_best(plan)
    assert caught.value.details[0].startswith(conflict)


def test_the_nearest_rejections_are_those_that_were_asked_for(cloud: str, approve: Approve) -> None:
    with pytest.raises(InfeasibleError) as caught:
        require_best(planned(cloud, instances=["b.1"], arch="arm64"))
    approve(caught.value.details[1])


def test_numbers_of_nodes_that_contradict(cloud: str) -> None:
    with pytest.raises(BadInputError, match="`nodes=50` and `max_nodes=10` contradict"):
        planned(cloud, nodes=50, max_nodes=10)
    assert planned(cloud, nodes=1500).best


def test_places_to_look_that_contradict() -> None:
    asked = ["plan", "--data", "1TB", "--model", "indy", "--cloud", "aws", "--catalog", "gcp"]
    outcome = CliRunner().invoke(build(), asked)
    assert isinstance(outcome.exception, BadInputError)
    assert "--cloud and --catalog contradict" in str(outcome.exception)


def test_the_papers_leave_aside_what_they_do_not_know(cloud: str) -> None:
    plan = planned(cloud, paper=True, zones=2, confidence=0.9, deadline="10h")
    assert plan.warnings[0].startswith("--paper ignores --zones, --confidence")
    assert not planned(cloud, paper=True).warnings


@pytest.mark.parametrize("arguments", [{"regions": ["eu-west-1"]}, {"pricing": "spot", "catalogs": ["azure"]}])
def test_prices_that_are_missing_can_be_refreshed(arguments: dict[str, Any]) -> None:
    with pytest.raises(BadInputError, match=r"planner catalog refresh --cloud a\w+ .*--public reads them"):
        recommend(data="1TB", model="indy", **arguments)


@pytest.mark.parametrize(
    ("options", "left"),
    [
        ({}, ["new"]),
        ({"previous_generations": True}, ["new", "old"]),
        ({"instances": ["old"]}, ["old"]),
        ({"paper": True}, ["new", "old"]),
    ],
    ids=str,
)
def test_previous_generations_are_left_out_unless_asked_for(
    make_catalog: Callable[..., str], options: dict[str, Any], left: list[str], approve: Approve
) -> None:
    cloud = make_catalog({"new": {**DISKS, "current_generation": "yes"}, "old": {**DISKS, "current_generation": "no"}})
    plan = planned(cloud, **options)
    assert sorted(entry.instance_type for entry in plan.candidates) == left
    if not options:
        (rejection,) = plan.rejected
        approve((rejection.instance_type, rejection.reason))


def test_where_nothing_is_current_all_may_be_taken(make_catalog: Callable[..., str]) -> None:
    plan = planned(make_catalog({"a": {**DISKS, "current_generation": "no"}}))
    assert [entry.instance_type for entry in plan.candidates] == ["a"]


REASON = "rests on weaker evidence than --set evidence=measured"


def test_a_type_whose_network_is_only_stated_is_left_out_when_measured_is_asked() -> None:
    asked = {"data": "100TB", "model": "indy", "catalogs": ["aws"], "instances": ["i4i.*"], "evidence": "measured"}
    for more, detail in (({}, "network: not measured"), ({"nodes": 100}, "network: spec")):
        answer = planner.recommend(**asked, **more)  # type: ignore[arg-type]
        assert answer.best is None
        reasons = {rejection.instance_type: rejection for rejection in answer.rejected}
        assert (reasons["i4i.8xlarge"].reason, reasons["i4i.8xlarge"].detail) == (REASON, detail)
        assert reasons["i4i.8xlarge"].nearness == 2.0, "one rate too weak"


def test_one_node_is_among_the_sizes_that_are_tried() -> None:
    """The cluster that `--nodes 1` gives is feasible without the option, too: a single node waits for no network."""
    asked = {"data": "1TB", "model": "indy", "catalogs": ["aws"], "instances": ["i4i.*"], "evidence": "measured"}
    free, alone = (planner.recommend(**asked, **more).best for more in ({}, {"nodes": 1}))  # type: ignore[arg-type]
    assert free is not None and alone is not None
    assert (free.instance_type, free.nodes) == (alone.instance_type, 1)


def test_evidence_and_a_deadline_that_clash_are_named(approve: Approve) -> None:
    """One i4i.metal takes minutes for a terabyte; fifty of them meet 30 s, over a network whose rate is only stated."""
    asked = {"data": "1TB", "model": "indy", "catalogs": ["aws"], "instances": ["i4i.*"], "engine": "ideal"}
    plan = planner.recommend(**asked, evidence="measured", sort_deadline="30s").plan  # type: ignore[arg-type]
    assert len(plan.conflicts) == 1
    approve(plan.conflicts[0])


def test_no_limit_is_blamed_where_no_type_is_left() -> None:
    """The evidence fails: no type within the quota has a known rate."""
    asked = {"data": "1TB", "model": "indy", "catalogs": ["aws"], "instances": ["i4i.*"], "nodes": 3}
    plan = planner.recommend(**asked, evidence="measured", max_vcpus=64).plan  # type: ignore[arg-type]
    assert plan.best is None and plan.conflicts == ()


def test_one_node_uses_no_network_so_derived_disks_are_enough() -> None:
    asked = {"data": "100GB", "model": "indy", "catalogs": ["aws"], "instances": ["i4i.8xlarge"], "nodes": 1}
    best = planner.recommend(**asked, evidence="measured").best  # type: ignore[arg-type]
    assert best is not None
    assert best.evidence in ("measured", "derived")


def test_measured_rates_pass_and_what_the_user_assumes_does_not(approve: Approve) -> None:
    asked = {"data": "10TB", "model": "indy", "catalogs": ["aws-2014"], "instances": ["i2.8xlarge"]}
    assert planner.recommend(**asked, evidence="measured").best is not None  # type: ignore[arg-type]
    assumed = planner.recommend(**asked, assume={"network": "1GB/s"}, evidence="spec")  # type: ignore[arg-type]
    assert assumed.best is None
    approve([r.detail for r in assumed.rejected if "evidence=" in r.reason])


def test_stated_rates_pass_when_stated_is_asked_and_everything_when_any_is() -> None:
    asked = {"data": "1TB", "model": "indy", "catalogs": ["aws"], "instances": ["i4i.*"]}
    assert planner.recommend(**asked, evidence="spec").best is not None  # type: ignore[arg-type]
    assert set(WEAKEST) == {"measured", "spec", "any"}


def test_another_word_is_refused_with_those_there_are() -> None:
    with pytest.raises(BadInputError, match="use measured, spec, any"):
        planner.recommend(data="1TB", model="indy", evidence="good")


def test_types_with_fewer_weak_rates_are_nearer(make_catalog: Callable[..., str]) -> None:
    """One weak rate exceeds the limit once over, two twice: disks of evidence `recalled` and a stated network."""
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


def test_a_node_has_four_processors_and_seven_gib_unless_asked() -> None:
    """c9g.large has 2 vCPUs and 4 GiB, c9g.xlarge 4 and 8 GiB."""
    catalog = load_catalog("aws")
    small, enough = (catalog.instances.index(name) for name in ("c9g.large", "c9g.xlarge"))
    passed, left_out = wanted(Request(data_bytes=10**12), catalog)
    assert not passed[small] and passed[enough]
    (reason,) = (rejection for rejection in left_out if rejection.instance_type == "c9g.large")
    assert reason.reason == "a small type"
    assert reason.detail == "below 4 vCPUs or 7GiB; --instance or --set min-memory takes it in"
    asks: tuple[dict[str, Any], ...] = ({"instances": ("c9g.*",)}, {"min_memory_bytes": 2**30}, {"paper": True})
    for asked in asks:
        assert wanted(Request(data_bytes=10**12, **asked), catalog)[0][small]


def test_where_all_machines_are_small_none_is_left_out(make_catalog: Callable[..., str]) -> None:
    path = make_catalog({"a": {"vcpu": 2}, "b": {"vcpu": 1}})
    assert wanted(Request(data_bytes=10**12), load_catalog(path))[0].all()


def test_a_what_if_of_memory_counts_for_the_least_memory() -> None:
    """A type of 128 GiB has 256 in machines with twice the memory, and half of 256 is too little."""
    for name, times in (("i4i.4xlarge", 2), ("i4i.8xlarge", 0.5)):
        asked = planner.recommend("1TB", instance=name, min_memory="256GiB")
        supposed = asked.what_if(memory=times)
        assert (asked.best is not None, supposed.best is not None) == (times < 1, times > 1)
    (clash,) = planner.recommend("1TB", instance="i4i.8xlarge", min_memory="256GiB").what_if(memory=0.5).plan.conflicts
    assert "--set min-memory=256GiB" in clash
