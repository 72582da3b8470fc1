"""One cluster in full, by hand: 10 nodes of 4 disks that read 4 GB/s and write 2 GB/s, with 1 GB/s of network."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np
import pytest

import planner
from planner import recommend
from planner.cost_model.disk_layout import MEMORY
from planner.planning.candidates.candidates import candidate, with_quoted
from planner.schemas.plan import Candidate, DiskSplit, Plan
from planner.statistics.interruptions import Risk

Make = Callable[..., Any]
NODE = {"read": 4e9, "write": 2e9}


def cluster(
    make_job: Make,
    *,
    nodes: int = 10,
    row: int = 0,
    node: dict[str, Any] | None = None,
    files: dict[str, Any] | None = None,
    head: str = "",
    **asked: Any,
) -> Candidate:
    context, region, _ = make_job({"a": NODE | (node or {})}, files=files, head=head, **asked)
    return candidate(context, row=row, nodes=nodes, offer=region.offer)


def test_what_each_group_needs_and_has_on_a_node(make_job: Make) -> None:
    """10 TB in and 5 TB out over 10 nodes are 1.5 TB of data a node plus 1 TB of intermediate data, on 3.8 TB."""
    shared = cluster(make_job, reduce_ratio=0.5)
    assert shared.needed_bytes == {"data": pytest.approx(1.5e12), "intermediate": pytest.approx(1e12)}
    assert shared.capacity_bytes == {"data": pytest.approx(3.8e12), "intermediate": pytest.approx(3.8e12)}
    assert (shared.shared, shared.disk_split, shared.storage) == (True, None, "4 local nvme")
    assert shared.nodes_min == 8  # 25 / 3.8 = 6.6 and room for one lost node's share


def test_phases_wait_for_their_slowest_resource(make_job: Make) -> None:
    """1 TB a node: 250 s of reading and 500 s of writing against 900 s of network; then disks against CPU."""
    first, second = cluster(make_job).phases
    assert (first.bottleneck, first.equation_s) == ("network", pytest.approx(900))
    assert first.resources["network"].bytes_per_node == pytest.approx(0.9e12)
    assert first.resources["network"].bytes_per_s == pytest.approx(1e9)
    assert first.resources["local_disks"].equation_s == pytest.approx(750)
    assert first.resources["local_disks"].bytes_per_node == pytest.approx(2e12)
    assert (second.bottleneck, second.equation_s) == ("local_disks", pytest.approx(750))
    assert second.resources["cpu"].equation_s == pytest.approx(1e12 / 1.2e9 / 16)
    assert "network" not in second.resources


def test_one_node_sends_nothing(make_job: Make) -> None:
    alone = cluster(make_job, nodes=1, data_bytes=10**12)
    assert [phase.bottleneck for phase in alone.phases] == ["local_disks", "local_disks"]
    assert not any("network" in phase.resources for phase in alone.phases)
    assert not alone.placement_group
    assert alone.spares == 0


@pytest.mark.parametrize(
    ("node", "asked", "together"),
    [({}, {}, True), ({"placement_group": "no"}, {}, False), ({}, {"zones": 2}, False)],
    ids=str,
)
def test_nodes_stand_together_where_they_may(
    make_job: Make, node: dict[str, str], asked: dict[str, int], together: bool
) -> None:
    assert cluster(make_job, node=node, **asked).placement_group == together


def test_what_surrounds_the_job_by_hand(make_job: Make) -> None:
    """Boot and screening 120 s each, installing and teardown 60; 1 TB a node: 500 s to generate, 250 s to validate."""
    assert cluster(make_job).overheads_s == pytest.approx(
        {"boot": 120, "install": 60, "screen": 120, "teardown": 60, "generate": 500, "validate": 250}
    )
    assert cluster(make_job, paper=True).overheads_s == {}


def test_the_papers_time_is_the_equation(make_job: Make) -> None:
    """The whole shuffle crosses the network: 1,000 s. Disks split 2 : 2; each half reads 2 GB/s or writes 1 GB/s."""
    papers = cluster(make_job, row=1, paper=True)
    assert papers.disk_split == DiskSplit(data=2, intermediate=2)
    assert [phase.equation_s for phase in papers.phases] == pytest.approx([1000, 1000])
    span = papers.time_s
    assert (span.equation, span.expected, span.p50, span.p95) == pytest.approx((2000,) * 4)
    assert papers.cost_usd.total == pytest.approx(10 * 2000 / 3600)


def test_a_late_boot_makes_the_bill_dearer_and_not_the_job(make_job: Make) -> None:
    """The measured 95% quantile of launches is 600 s, while the mean of all ten is below 60."""
    head = (
        "[boot]\nlaunches = 50\nmedian_s = 30.0\np90_s = 40.0\np95_s = 600.0\nnode_sigma = 0.1\n"
        'evidence = "measured"\nsource = "made"'
    )
    slow = cluster(make_job, head=head)
    late_s = 600 - slow.overheads_s["boot"]
    assert 540 < late_s < 570
    cost, span = slow.cost_usd, slow.time_s
    later_s = span.p95 - span.expected + late_s
    spares_usd = slow.spares * slow.price_usd_per_hour * late_s / 3600  # they are released once all nodes are screened
    assert cost.total_p95 - cost.total == pytest.approx(slow.usd_per_hour * later_s / 3600 + spares_usd)


def test_intermediate_data_may_be_in_memory(make_job: Make) -> None:
    """On 300 nodes 33.3 GB fit in 0.53 of 64 GB; all four disks hold only the data."""
    context, region, _ = make_job({"a": NODE})
    row = int(np.flatnonzero(context.layouts.intermediate_on == MEMORY)[0])
    in_memory = candidate(context, row=row, nodes=300, offer=region.offer)
    assert in_memory.storage == "4 local nvme + memory"
    assert in_memory.capacity_bytes["intermediate"] == pytest.approx(0.53 * 64e9)
    assert in_memory.disk_split == DiskSplit(data=4, intermediate=0)
    assert in_memory.phases[0].resources["data_disks"].equation_s == pytest.approx(1e13 / 300 / 4e9)


VOLUME = {"volume_type": "v", "price_usd_per_gib_month": 0.1, "bytes_per_s_per_gib": 1e5, "size_bytes_min": 2**30,
          "read_bytes_per_s_max": 2.5e8, "write_bytes_per_s_max": 2.5e8, "size_bytes_max": 1e15,
          "price_evidence": "spec", "limit_evidence": "spec"}  # fmt: skip


@pytest.mark.parametrize(("data_bytes", "each_gib"), [(10**13, 2500), (10**14, 1e13 / 2**30)])
def test_volumes_are_as_large_as_the_data_or_their_rate_asks(make_job: Make, data_bytes: int, each_gib: float) -> None:
    """Two volumes of 250 MB/s fill the 500 MB/s link: 2,500 GiB each at 0.1 MB/s per GiB; 20 TB over 10 nodes need less
    than that, 200 TB more.
    """
    on_volumes = cluster(make_job, data_bytes=data_bytes, model="cloudsort", files={"volumes": [VOLUME]})
    assert on_volumes.volumes is not None
    assert (on_volumes.volumes.count, on_volumes.volumes.bytes_per_s_each) == (2, 2.5e8)
    assert on_volumes.volumes.bytes_each / 2**30 == pytest.approx(each_gib)
    assert on_volumes.storage == f"4 local nvme + 2 x v of {each_gib:.0f} GiB"
    assert on_volumes.disk_split == DiskSplit(data=0, intermediate=4)
    assert cluster(make_job).volumes is None


def test_energy_is_that_of_nodes_and_switches(make_job: Make) -> None:
    """Ten nodes of 100 W and one switch of 1,300 W."""
    powered = cluster(make_job, node={"power_w": 100})
    assert powered.energy_j == pytest.approx(2300 * powered.time_s.expected)
    assert cluster(make_job).energy_j is None


def test_interruptions_are_told_by_the_hour(make_job: Make) -> None:
    context, region, _ = make_job({"a": NODE})
    risk = Risk(per_node_s=0.18 / 3600, replacement_s=100, recovery="redo", evidence="assumed")
    rough = candidate(replace(context, risk=risk), row=0, nodes=10, offer=region.offer)
    calm = candidate(context, row=0, nodes=10, offer=region.offer)
    assert rough.interruptions is not None
    assert rough.interruptions.per_node_hour == pytest.approx(0.18)
    assert rough.interruptions.expected == pytest.approx(10 * 0.18 * rough.time_s.expected / 3600)
    assert rough.interruptions.delay_s == pytest.approx(rough.time_s.expected - calm.time_s.expected)
    assert rough.interruptions.delay_s > 0
    assert calm.interruptions is None


def test_two_nodes_in_one_zone_share_a_placement_group_and_one_needs_none() -> None:
    grouped = {
        (nodes, zones): best.placement_group
        for nodes, zones in ((1, 1), (2, 1), (2, 2))
        if (best := planner.recommend("10GB", model="indy", instance="i4i.large", nodes=nodes, zones=zones).best)
    }
    assert grouped == {(1, 1): False, (2, 1): True, (2, 2): False}


def test_a_node_alone_needs_no_network_rate_and_two_do(make_catalog: Callable[..., str]) -> None:
    silent = {"read": 1e9, "write": 1e9, "network_baseline_bytes_per_s": ""}
    asked = {"data": "1GB", "model": "indy", "catalogs": (make_catalog({"a": silent}),)}
    assert planner.recommend(**asked, nodes=1).best is not None
    lacking = planner.recommend(**asked, nodes=2)
    assert lacking.best is None and lacking.rejected[0].reason == "network rate unknown"


def minute_sort() -> Plan:
    """1,353 GB on 66 nodes of TritonSort: 20.5 GB x (1/1.25e9 + 1/1.434e9) s = 30.696 s for each node."""
    return recommend(
        data="1353GB", model="minutesort", catalogs=("tritonsort-2011",), instances=("dl380g6",), nodes=66, paper=True
    ).plan


def test_minutesort_as_run_has_a_start_and_an_end() -> None:
    """15 trials took 59.2 s in the median (TritonSort, section 5.5), nearly twice the two passes of the equations."""
    asked: dict[str, Any] = {"data": "1353GB", "model": "minutesort", "catalogs": ("tritonsort-2011",), "nodes": 66}
    answer = recommend(**asked, instances=("dl380g6",), engine="ideal", head_room=0.0)
    best = best_of(answer.plan)
    assert [phase.name for phase in best.phases] == ["start and end", "map and shuffle", "sort and reduce"]
    assert best.time_s.p50 == pytest.approx(59.2, rel=0.25) == answer.simulate(draws=2).p50_s
    assert best_of(minute_sort()).time_s.expected == pytest.approx(20.5e9 * (1 / 1.25e9 + 1 / 1.434e9), rel=1e-3)
    own = best_of(recommend("1TB", model="minutesort").plan)
    assert [phase.name for phase in own.phases] == ["map and shuffle", "sort and reduce"]


def best_of(plan: Plan) -> Candidate:
    assert plan.best is not None
    return plan.best


def test_rates_and_records_for_each_joule() -> None:
    seconds = 20.5e9 * (1 / 1.25e9 + 1 / 1.434e9)
    quoted = best_of(minute_sort()).quoted
    assert quoted is not None
    assert quoted.tb_per_min == pytest.approx(1.353 / seconds * 60) == pytest.approx(2.6447, rel=1e-4)
    assert quoted.mb_per_s_per_node == pytest.approx(20_500 / seconds) == pytest.approx(667.85, rel=1e-4)
    joules = (66 * 330 + 2 * 1300) * seconds  # 66 nodes need two switches of 52 ports
    assert quoted.records_per_j == pytest.approx(13.53e9 / joules)
    assert quoted.usd_per_tb == quoted.usd_per_tb_total == 0


def test_dollars_for_each_terabyte_and_joules_unknown() -> None:
    """SoCC 2015's estimate for i2.8xlarge in a placement group: $324.52 for 100 TB."""
    best = best_of(
        recommend(
            data="100TB", model="indy", catalogs=("aws-2014",), instances=("i2.8xlarge",), nodes=178, paper=True
        ).plan
    )
    assert best.quoted is not None
    assert best.quoted.usd_per_tb == pytest.approx(3.2452, rel=1e-4)
    assert best.quoted.records_per_j is None


def test_a_job_that_takes_no_time_has_none() -> None:
    best = best_of(minute_sort())
    idle = replace(best, quoted=None, time_s=replace(best.time_s, expected=0.0))
    assert with_quoted(idle, data_bytes=1e9).quoted is None


def test_frames_and_json_have_them() -> None:
    from planner.report.frames import candidates_frame

    plan = minute_sort()
    best = best_of(plan)
    assert best.quoted is not None
    assert candidates_frame(plan).tb_per_min[0] == best.quoted.tb_per_min
    assert Plan.from_json(plan.to_json()) == plan
