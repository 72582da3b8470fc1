"""Work of each resource in a phase, by hand: nodes with a network of 1 GB/s that read 4 GB/s and write 2 GB/s."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

import numpy as np
import pytest

import planner
from planner.api.request_inputs import inputs_of
from planner.catalog import Straggler
from planner.cost_model.caveats import stated_burst_bytes_per_s
from planner.cost_model.disk_layout import LOCAL
from planner.cost_model.work import Work
from planner.cost_model.workload import JobContext
from planner.simulation.machines import likely_bucket_s
from planner.simulation.simulate import simulation_context
from planner.statistics.order_statistics import slowest_mean

Make = Callable[..., JobContext]
DISKS = {"read": 4e9, "write": 2e9}
FEW = {"memory_bytes": 10**6}


def work(*, read: float, write: float, whole: float) -> Work:
    return Work(
        total_bytes=np.ones(1),
        node_seconds=np.array([whole]),
        read_node_s=np.array([read]),
        write_node_s=np.array([write]),
    )


@pytest.mark.parametrize(
    ("direction", "whole", "slower"),
    [
        ("", 10.0, 3.0),  # all of it
        ("read", 10.0, 2.2),  # one after the other: (3 x 6 + 4) / 10
        ("write", 10.0, 1.8),  # (6 + 3 x 4) / 10
        ("read", 6.0, 3.0),  # at once: max(3 x 6, 4) / 6
        ("write", 6.0, 2.0),  # max(6, 3 x 4) / 6
    ],
)
def test_a_slow_direction_counts_by_its_share(direction: str, whole: float, slower: float) -> None:
    both = work(read=6, write=4, whole=whole)
    assert both.slow_factor(direction, factor=3, row=0) == pytest.approx(slower)
    assert work(read=0, write=0, whole=0).slow_factor(direction, factor=3, row=0) == 1


def test_the_cpu_does_all_kinds_of_work_in_turn(make_context: Make) -> None:
    """10 TB at 1.2 GB/s on each of 16 vCPUs: 1e13 / 1.2e9 / 16 node-seconds."""
    context = make_context({"a": DISKS})
    partition, sort = (context.works(phase)["cpu"] for phase in context.model.phases)
    assert partition.node_seconds[0] == pytest.approx(1e13 / 2.5e9 / 16)
    assert sort.node_seconds[0] == pytest.approx(1e13 / 1.2e9 / 16)
    assert sort.total_bytes[0] == 1e13


def test_a_processor_at_half_its_speed_moves_bytes_at_half(make_context: Make) -> None:
    """10 TB take 1e13 / 2.5e9 s of a vCPU to partition and, at 1 ns a byte, 10,000 s to send: twice that at half."""
    context = make_context({"a": DISKS})
    engine = replace(context.model.engine, send_s_per_byte=1e-9)
    slow = replace(context, model=replace(context.model, engine=engine)).times({"cpu": 0.5})
    cpu = slow.works(context.model.phases[0])["cpu"]
    assert cpu.node_seconds[0] == pytest.approx((1e13 / 2.5e9 / 0.5 + 1e4 / 0.5) / 16)


def test_a_group_alone_has_its_share_of_the_disks(make_context: Make) -> None:
    """One of four disks reads 10 TB at a quarter of twice the rate of two disks, 2 x 1.5 / 4 GB/s; three write."""
    context = make_context({"a": DISKS | FEW | {"both": 1.5e9}})
    data, intermediate = (context.works(context.model.phases[0])[name] for name in ("data_disks", "intermediate_disks"))
    assert context.layouts.data_disks[:3].tolist() == [1, 2, 3]
    assert data.read_node_s[:3].tolist() == pytest.approx([1e13 / (3e9 * k / 4) for k in (1, 2, 3)])
    assert intermediate.write_node_s[:3].tolist() == pytest.approx([1e13 / (3e9 * k / 4) for k in (3, 2, 1)])
    assert data.write_node_s[:3].tolist() == [0, 0, 0]


def test_one_disk_reads_and_writes_at_its_simultaneous_rate(make_context: Make) -> None:
    """1.5 GB/s in each direction at once: reading 10 TB takes as long as writing 10 TB, and both at once no longer."""
    shared = make_context({"a": DISKS | FEW | {"both": 1.5e9, "local_disks": 1}})
    disks = shared.works(shared.model.phases[0])["local_disks"]
    assert (disks.read_node_s[0], disks.write_node_s[0], disks.node_seconds[0]) == pytest.approx((1e13 / 1.5e9,) * 3)
    alone = make_context({"a": DISKS | {"both": 1.5e9, "local_disks": 1}}, reduce_ratio=0.5)
    in_memory = alone.works(alone.model.phases[1])["data_disks"]
    assert in_memory.write_node_s[1] == pytest.approx(0.5e13 / 1.5e9)


def test_exclusive_rates_add_up(make_context: Make) -> None:
    context = make_context({"a": DISKS | FEW})
    both = context.works(context.model.phases[0])["local_disks"]
    assert both.node_seconds[0] == pytest.approx(1e13 / 4e9 + 1e13 / 2e9)
    assert both.total_bytes[0] == 2e13
    assert context.moved_on(LOCAL, context.model.phases[0])[0] == 2e13
    assert context.held_on(LOCAL)[0] == 3e13


def test_of_a_shuffle_all_but_a_nodes_own_share_crosses_and_a_copy_does_whole(make_context: Make) -> None:
    """10 TB over 4 nodes: 2.5 TB x 3/4, and 2.5 TB of copies. The papers charge all of the shuffle."""
    four = np.array([4.0])
    context = make_context({"a": DISKS}, model="daytona")
    first, second = (context.network_bytes(phase, four)[0, 0] for phase in context.model.phases)
    assert (first, second) == (pytest.approx(1.875e12), pytest.approx(2.5e12))
    paper = replace(context, paper=True)
    assert paper.network_bytes(context.model.phases[0], four)[0, 0] == pytest.approx(2.5e12)


@pytest.mark.parametrize(("reduce_ratio", "streams_tb"), [(1.0, 1.0), (2.0, 2.0), (0.25, 0.25)])
def test_the_object_store_shares_the_nic_one_way_at_a_time(
    make_context: Make, reduce_ratio: float, streams_tb: float
) -> None:
    """On 10 nodes phase 1 reads 1 TB a node during a shuffle of 0.9 TB; phase 2 writes its output."""
    context = make_context({"a": DISKS}, model="object-store", reduce_ratio=reduce_ratio)
    ten = np.array([10.0])
    first, second = (context.network_bytes(phase, ten)[0, 0] for phase in context.model.phases)
    assert first == pytest.approx(0.9e12 + 1e12)
    assert second == pytest.approx(streams_tb * 1e12)


def bucket_context(make_context: Make, *, tokens: float, model: str = "indy") -> JobContext:
    """Return a job on a link of 1 GB/s that bursts at 4 GB/s while `tokens` bytes last."""
    context = make_context({"a": DISKS | FEW}, model=model)
    network = replace(context.rates.network, burst=np.array([4e9]), bucket_bytes=np.array([tokens]))
    return replace(context, rates=replace(context.rates, network=network))


@pytest.mark.parametrize(
    ("tokens", "seconds"),
    [
        (0.0, 900.0),  # 0.9 TB at 1 GB/s
        (3e11, 600.0),  # tokens are worth 300 s: (0.9 - 0.3) TB at 1 GB/s
        (9e11, 225.0),  # all at 4 GB/s
    ],
)
def test_a_token_bucket_bursts_while_tokens_last(make_context: Make, tokens: float, seconds: float) -> None:
    context = bucket_context(make_context, tokens=tokens)
    assert context.network_seconds(context.model.phases[0], np.array([10.0]))[0, 0] == pytest.approx(seconds)


@pytest.mark.parametrize(("tokens", "seconds"), [(9e11, 775.0), (675e9, 1000.0), (5e11, 1000.0), (3e12, 250.0)])
def test_what_an_earlier_phase_sent_is_gone(make_context: Make, tokens: float, seconds: float) -> None:
    """Daytona on 10 nodes: phase 1 sends 0.9 TB at 4 GB/s, three quarters of it from tokens, 0.675 TB; phase 2 sends
    1 TB. 0.225 TB are left of 0.9 TB of tokens, so (1 - 0.225) TB travel at 1 GB/s.
    """
    context = bucket_context(make_context, tokens=tokens, model="daytona")
    assert context.network_seconds(context.model.phases[1], np.array([10.0]))[0, 0] == pytest.approx(seconds)


def test_only_links_with_a_bucket_burst(make_context: Make) -> None:
    context = make_context({"a": DISKS | FEW, "b": DISKS | FEW})
    network = replace(context.rates.network, burst=np.array([4e9, np.nan]), bucket_bytes=np.array([9e11, np.nan]))
    context = replace(context, rates=replace(context.rates, network=network))
    seconds = context.network_seconds(context.model.phases[0], np.array([10.0]))[:, 0]
    assert dict(zip(context.layouts.type_row.tolist(), seconds.tolist(), strict=True)) == pytest.approx(
        {0: 225, 1: 900}
    )


def test_start_up_and_single_streams_are_not_divided(make_context: Make) -> None:
    """3 s and 0.5 s a node; 10 TB at 2 GB/s through one stream. The papers have neither."""
    context = make_context({"a": DISKS})
    phase = replace(context.model.phases[0], startup_s=3.0, per_node_s=0.5, one_stream={"map_out": 1.0})
    context = replace(context, rates=replace(context.rates, one_stream_bytes_per_s=2e9))
    works = context.undivided(phase, np.array([2.0, 10.0]))
    assert works["start_up"][0] == 0
    assert works["start_up"][1].tolist() == [[4, 8]]
    assert works["one_stream"][0] == 1e13
    assert works["one_stream"][1].tolist() == [[5000, 5000]]
    assert replace(context, paper=True).undivided(phase, np.array([2.0])) == {}
    assert context.undivided(context.model.phases[0], np.array([2.0])) == {}


def test_volumes_under_both_groups_read_and_write_in_turn(make_context: Make) -> None:
    """No local disks: 10 TB are read and 10 TB written at 500 MB/s in phase 1, one after the other."""
    volume = {"volume_type": "v", "price_usd_per_gib_month": 0.1, "size_bytes_max": 1e15, "free_bytes_per_s": 5e8,
              "read_bytes_per_s_max": 5e8, "write_bytes_per_s_max": 5e8, "price_evidence": "spec",
              "limit_evidence": "spec"}  # fmt: skip
    bare = {"a": FEW | {"local_disks": 0, "local_disk_bytes": ""}}
    context = make_context(bare, model="cloudsort", files={"volumes": [volume]})
    both = context.works(context.model.phases[0])["volumes"]
    assert both.total_bytes[0] == 2e13
    assert both.node_seconds[0] == pytest.approx(2e13 / 5e8)


def test_a_measured_rate_of_sorting_counts_where_there_is_one(make_context: Make) -> None:
    """0.6 GB/s a vCPU on the second type, the shipped 1.2 GB/s on the first; partitioning was not measured."""
    context = make_context({"a": DISKS | FEW, "b": DISKS | FEW})
    context = replace(context, rates=replace(context.rates, measured_sort_per_vcpu=np.array([np.nan, 6e8])))
    partition, sort = (context.works(phase)["cpu"].node_seconds for phase in context.model.phases)
    own_rows = context.layouts.first_of_types()
    assert sort[own_rows].tolist() == pytest.approx([1e13 / 1.2e9 / 16, 1e13 / 6e8 / 16])
    assert partition[own_rows].tolist() == pytest.approx([1e13 / 2.5e9 / 16] * 2)


@pytest.mark.parametrize(("tail", "mean"), [("network", 1.5), ("local_read", 1 + 1 / 6)])
def test_a_tail_slows_the_network_whole_and_disks_in_its_direction(make_context: Make, tail: str, mean: float) -> None:
    """Half of the nodes are twice as slow: the network all of the time, disks in 2.5 of 7.5 s, while they read."""
    context = make_context({"a": DISKS | FEW})
    slow = Straggler(
        zone="", resource=tail, slow_fraction=0.5, slow_factor=2.0, per="node", evidence="measured", source="made"
    )
    context = replace(context, spreads=replace(context.spreads, node_sigma={}, tails={0: (slow,)}))
    name = "network" if tail == "network" else "local_disks"
    works = context.works(context.model.phases[0])
    assert slowest_mean(context.spread(name, works.get(name)), 1.0) == pytest.approx(mean, rel=1e-6)


def test_a_resource_at_half_its_rate_takes_twice_as_long() -> None:
    half = work(read=6.0, write=4.0, whole=10.0).at_share(0.5)
    assert (half.read_node_s[0], half.write_node_s[0], half.node_seconds[0]) == (12.0, 8.0, 20.0)
    assert half.total_bytes[0] == 1.0


def test_only_what_lies_in_the_object_store_waits_for_its_requests(make_context: Make) -> None:
    """10 TB in parts of 1 MB at 5,500 reads/s; a model of local disks sends none, whatever the sizes."""
    context = make_context({"a": DISKS}, model="object-store", prefixes=1)
    sizes = {"read_bytes": 1e6, "write_bytes": 2e6}
    store = replace(context.objects, reads_per_s=5500.0, writes_per_s=3500.0)
    with_sizes = replace(context, model=replace(context.model, requests=sizes), objects=store)
    read, written = (with_sizes.undivided(phase, np.array([3.0])) for phase in context.model.phases)
    assert read["object_requests"][0] == written["object_requests"][0] == 1e13
    assert read["object_requests"][1][0, 0] == pytest.approx(1e13 / 1e6 / 5500)
    assert written["object_requests"][1][0, 0] == pytest.approx(1e13 / 2e6 / 3500)
    without = replace(context, model=replace(context.model, requests={}), objects=store)
    local = make_context({"a": DISKS})
    for other in (without, replace(local, model=replace(local.model, requests=sizes), objects=store)):
        assert "object_requests" not in other.undivided(other.model.phases[0], np.array([3.0]))


def test_a_network_that_is_busy_with_half_its_rate_takes_twice_as_long(make_context: Make) -> None:
    """10 TB among ten nodes: nine tenths of each node's TB cross 1 GB/s in 900 s."""
    context = make_context({"a": DISKS})
    engine = replace(context.model.engine, busy={"network": {"partition": 0.5}})
    half = replace(context, model=replace(context.model, engine=engine))
    seconds = [float(c.network_seconds(c.model.phases[0], np.array([10.0]))[0, 0]) for c in (context, half)]
    assert seconds == pytest.approx([900, 1800])


@pytest.mark.parametrize(
    ("model", "zones", "fewest"), [("indy", 1, 1), ("indy", 2, 2), ("daytona", 1, 2), ("daytona", 3, 3)]
)
def test_copies_and_zones_need_a_node_each(make_context: Make, model: str, zones: int, fewest: int) -> None:
    assert make_context({"a": DISKS}, model=model, zones=zones).nodes_min == fewest


def context_of(instance: str, *, cloud: str = "aws") -> JobContext:
    """Return a job on ten nodes of a type."""
    answer = planner.recommend("1TB", instance=instance, nodes=10, model="indy", engine="ideal", catalogs=(cloud,))
    request, given = inputs_of(answer.plan.request)
    assert answer.best is not None
    return simulation_context(
        request, answer.best, models=given.models, catalogs=given.catalogs, overheads=given.overheads
    )


def test_ec2_states_a_burst_of_small_types_alone() -> None:
    assert stated_burst_bytes_per_s(context_of("i4i.4xlarge"), 10) == 3.125e9
    assert stated_burst_bytes_per_s(context_of("i4i.8xlarge"), 10) is None


def test_buckets_hold_as_many_seconds_of_the_baseline_as_on_the_measured_types() -> None:
    """c5.4xlarge, 1,339.6 GB at 627 MB/s: 2,137 s; c5.2xlarge 3,015, c5.large 3,325, c5.xlarge 3,541 s."""
    assert likely_bucket_s(context_of("i4i.4xlarge")) == pytest.approx([2137, 3015, 3325, 3541], rel=1e-3)


def test_where_nothing_was_measured_nothing_is_known() -> None:
    azure = context_of("Standard_L8as_v3", cloud="azure")
    assert likely_bucket_s(azure) == []
    assert stated_burst_bytes_per_s(azure, 10) is None
