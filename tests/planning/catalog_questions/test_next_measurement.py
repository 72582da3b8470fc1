"""The next measurement: top types that rest on little evidence, with the cost by hand."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from functools import partial
from typing import Any

import pytest

from planner.api.recommend import recommend as recommend_by
from planner.catalog import load_catalog
from planner.planning.catalog_questions.next_measurement import Proposal, proposal, what_to_measure
from planner.schemas.plan import PhaseEstimate, ResourceUse

recommend = partial(recommend_by, engine="ideal")
"""The sums here are those of the equations alone."""

WELL = {"instances": 20, "period_days": 3, "method": "diskbench", "aggregate": "mean", "disks": 4}


def proposals(path: str) -> list[Proposal]:
    best = recommend(data="1TB", model="daytona", catalogs=[path], nodes=8).candidates
    return what_to_measure(best, load_catalog(path), boot_s=120)


def well_measured(name: str, mode: str, rate: float) -> dict[str, Any]:
    return {"instance_type": name, "mode": mode, "bytes_per_s": rate, **WELL}


def curve(name: str) -> list[dict[str, Any]]:
    rows = ((2, 1e9), (8, 9e8))
    extent = {"placement_group": "yes", "aggregate": "mean", "instances": 20, "period_days": 3, "method": "netbench"}
    return [{"instance_type": name, "nodes": nodes, "bytes_per_s": rate, **extent} for nodes, rate in rows]


def test_an_unmeasured_network_is_measured_while_doubling(make_catalog: Callable[..., str]) -> None:
    """Boot takes 2 min, then 3 runs of a minute at 2, 4, 8 and 16 nodes, at 3 USD/h each."""
    path = make_catalog(
        {"a": {"price": 3, "network_baseline_bytes_per_s": 10**8}}, disks=[well_measured("a", "simultaneous", 9e8)]
    )
    (proposal,) = proposals(path)
    assert (proposal.instance_type, proposal.nodes, proposal.seconds) == ("a", 16, 120 + 12 * 60)
    assert proposal.cost_usd == pytest.approx(16 * 3 * 840 / 3600)
    assert proposal.benches == ("planner bench net --doubling",)
    assert "network" in proposal.why and "measure next: 16 x a" in proposal.text


def test_disks_seen_on_few_instances_are_measured_on_many(make_catalog: Callable[..., str]) -> None:
    (proposal,) = proposals(make_catalog({"a": {"both": 2e8}}, networks=curve("a")))
    assert proposal.benches == ("planner bench disk --mode all",)
    assert proposal.nodes == 10


def test_what_rests_on_good_measurements_needs_none(make_catalog: Callable[..., str]) -> None:
    path = make_catalog({"a": {}}, disks=[well_measured("a", "simultaneous", 5e8)], networks=curve("a"))
    assert proposals(path) == []


def test_a_resource_that_hardly_matters_is_left_alone(make_catalog: Callable[..., str]) -> None:
    path = make_catalog({"a": {"both": 1e7, "network_baseline_bytes_per_s": 10**10}})
    (proposal,) = proposals(path)
    assert proposal.benches == ("planner bench disk --mode all",)


def test_what_a_cloud_rents_is_measured_by_one_command() -> None:
    """16 x i8g.8xlarge at $2.7456 for 1,140 s: $13.91. No type of 2014 can be rented."""
    best = recommend(data="100TB", model="daytona", catalogs=["aws"], instances=["i8g.8xlarge"]).best
    assert best is not None
    (wanted,) = what_to_measure([best], load_catalog("aws"), boot_s=120)
    assert wanted.command == "planner bench fleet --cloud aws --instance i8g.8xlarge --nodes 16"
    assert wanted.cost_usd == pytest.approx(16 * 2.7456 * 1140 / 3600)
    old = recommend(data="100TB", model="daytona", catalogs=["aws-2014"]).best
    assert old is not None
    (wanted,) = what_to_measure([old], load_catalog("aws-2014"), boot_s=120)
    assert "fleet" not in wanted.command and "planner bench" in wanted.command


def test_of_disks_and_network_each_is_measured_where_it_decides(make_catalog: Callable[..., str]) -> None:
    """A network of 1 GB/s and disks of 2 GB/s one way both decide the time. Boot takes 2 min; the network at 2 to 16
    nodes and 3 disk modes take 7 minutes, three times: 23 min of 16 nodes at $3.
    """
    path = make_catalog({"a": {"price": 3, "both": 1e9}})
    (best,) = recommend(data="1TB", model="daytona", catalogs=[path], nodes=8).candidates
    catalog = load_catalog(path)
    whole = proposal(best, catalog, network=True, storage=True, boot_s=120)
    assert whole.benches == ("planner bench net --doubling", "planner bench disk --mode all")
    assert whole.command == " && ".join(whole.benches)
    measures = "planner bench net --doubling and planner bench disk --mode all"
    assert whole.text == f"measure next: 16 x a for 23 min 0 s, $18.40: {measures} ()"
    assert (whole.nodes, whole.seconds) == (16, 120 + 3 * 60 * (4 + 3))
    assert whole.cost_usd == pytest.approx(16 * 3 * 1380 / 3600)
    disks = proposal(best, catalog, network=False, storage=True, boot_s=120)
    assert (disks.nodes, disks.seconds) == (10, 120 + 3 * 60 * 3)
    network = proposal(best, catalog, network=True, storage=False, boot_s=120)
    assert (network.nodes, network.seconds) == (16, 120 + 3 * 60 * 4)


def test_what_takes_half_as_long_as_what_decides_is_measured_too(make_catalog: Callable[..., str]) -> None:
    path = make_catalog({"a": {"both": 1e9}})
    (best,) = recommend(data="1TB", model="indy", catalogs=[path], nodes=8).candidates
    use = ResourceUse(bytes_per_node=1, bytes_per_s=1, time_s=10, equation_s=10)
    for network_s, both in ((4.99, False), (5.0, True)):
        resources = {"data_disks": use, "network": replace(use, time_s=network_s)}
        phase = PhaseEstimate(name="p", time_s=10, equation_s=10, bottleneck="data_disks", resources=resources)
        (wanted,) = what_to_measure([replace(best, phases=(phase,))], load_catalog(path), boot_s=0)
        assert ("planner bench net --doubling" in wanted.benches) == both


def test_one_local_disk_is_one_to_measure() -> None:
    best = recommend(data="1TB", model="daytona", catalogs=["aws"], instances=["c6gd.2xlarge"]).best
    assert best is not None
    wanted = proposal(best, load_catalog("aws"), network=True, storage=True, boot_s=120)
    assert wanted.command == "planner bench fleet --cloud aws --instance c6gd.2xlarge --nodes 16"
    assert wanted.text.endswith(f": {wanted.command} ()")
