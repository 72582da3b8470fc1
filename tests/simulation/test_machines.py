"""Rates of a node's link: measured buckets, stated bursts, and neither."""

from __future__ import annotations

import numpy as np
import pytest

import planner
from planner.api.request_inputs import inputs_of
from planner.cost_model.workload import JobContext
from planner.errors import BadInputError
from planner.simulation.machines import Machines, NodeGroup, Slow, groups_of, likely_bursts, machines_of
from planner.simulation.simulate import simulation_context


def bursts_of(instance: str, **options: object) -> list[Machines]:
    """Return the possible links of ten nodes of a type."""
    answer = planner.recommend("1TB", instance=instance, nodes=10, model="indy", engine="ideal", **options)  # type: ignore[arg-type]
    request, given = inputs_of(answer.plan.request)
    assert answer.best is not None
    context: JobContext = simulation_context(
        request, answer.best, models=given.models, catalogs=given.catalogs, overheads=given.overheads
    )
    return likely_bursts(context, machines_of(context, 10), 10)


def test_a_stated_burst_lasts_as_long_as_those_that_were_measured() -> None:
    """i4i.4xlarge: 9.375 and 25 Gbit/s. A c5 bucket holds 2,137 to 3,541 s of its baseline."""
    bursts = bursts_of("i4i.4xlarge")
    assert {machines.burst_bytes_per_s for machines in bursts} == {3.125e9}
    seconds = [machines.bucket_bytes / machines.link_bytes_per_s for machines in bursts]
    assert seconds == sorted(seconds) and len(seconds) == 4
    assert [seconds[0], seconds[-1]] == pytest.approx([2137, 3541], rel=1e-3)


def test_a_link_without_a_burst_has_no_bucket() -> None:
    (machines,) = bursts_of("i4i.8xlarge")
    assert machines.bucket_bytes == machines.burst_bytes_per_s == 0.0


def test_a_network_that_the_user_knows_does_not_burst() -> None:
    (machines,) = bursts_of("i4i.4xlarge", assume={"network": "10Gbit/s"})
    assert (machines.link_bytes_per_s, machines.bucket_bytes) == (1.25e9, 0.0)


def test_a_bucket_without_a_burst_is_none() -> None:
    link = Machines(vcpu=1.0, link_bytes_per_s=10.0)
    assert link.with_bucket(burst_bytes_per_s=5.0, bucket_bytes=100.0) == link
    assert link.with_bucket(burst_bytes_per_s=50.0, bucket_bytes=100.0).bucket_bytes == 100.0


def test_the_slowest_stay_alone_and_nobody_is_lost() -> None:
    """Thirty nodes: the four slowest alone, then 4 and 16, then the other 6."""
    slowness = np.linspace(1.0, 3.9, 30)
    groups = groups_of({"disk": slowness}, lateness=slowness)
    assert [group.nodes for group in groups] == [1, 1, 1, 1, 4, 16, 6]
    assert [round(group.slowness_of("disk"), 6) for group in groups[:2]] == [3.9, 3.8]
    assert sum(group.nodes * group.slowness_of("disk") for group in groups) == pytest.approx(slowness.sum())


def test_a_resource_of_which_nothing_is_stated_is_as_fast_as_the_medians() -> None:
    assert groups_of({}, lateness=np.zeros(1))[0].slowness_of("network") == 1.0


def test_what_is_slow_is_read_as_people_write_it() -> None:
    assert Slow.parse("18@2") == Slow(nodes=18, factor=2.0)
    assert Slow.parse("10%@1.5") == Slow(share=0.1, factor=1.5)
    assert Slow.parse("network:1@3") == Slow(nodes=1, factor=3.0, resource="network")


@pytest.mark.parametrize(
    ("text", "why"),
    [
        ("18", "write 10%@2"),
        ("a@2", "write 10%@2"),
        ("18@", "write 10%@2"),
        ("1@1", "at least one node"),
        ("0@2", "at least one node"),
        ("0%@2", "at least one node"),
        ("1@inf", "write 10%@2"),
        ("fan:1@2", "one of network, cpu, disks"),
        (":1@2", "one of network, cpu, disks"),
    ],
)
def test_other_words_are_refused_with_an_example(text: str, why: str) -> None:
    with pytest.raises(BadInputError, match=why):
        Slow.parse(text)


def test_a_tenth_of_nineteen_nodes_are_two() -> None:
    assert Slow.parse("10%@2").count(19) == 2
    assert Slow.parse("10%@2").count(20) == 2
    with pytest.raises(BadInputError, match="only 4 nodes"):
        Slow.parse("5@2").count(4)


def test_slow_nodes_come_out_of_the_largest_groups_and_keep_what_else_is_slow() -> None:
    groups = [NodeGroup(nodes=1, slowness={"network": 1.2}), NodeGroup(nodes=9, slowness={"network": 1.1})]
    slow, fast, alone = Slow.parse("3@2").of(groups, ["local_disks"])
    assert (slow.nodes, fast.nodes, alone.nodes) == (3, 6, 1)
    assert slow.slowness_of("network") == pytest.approx(2.2)
    assert slow.slowness_of("local_disks") == slow.slowness_of("cpu") == 2.0
    assert fast.slowness_of("network") == 1.1


def test_only_what_is_named_is_slow() -> None:
    slow, _ = Slow.parse("disks:1@2").of([NodeGroup(nodes=2)], ["local_disks"])
    assert (slow.slowness_of("local_disks"), slow.slowness_of("network"), slow.slowness_of("cpu")) == (2.0, 1.0, 1.0)


def test_a_slow_tenth_holds_up_nearly_all_of_a_sort() -> None:
    """Each phase ends when the last node is done, nearly twice as late when a node has half its rate in everything."""
    answer = planner.recommend("2TB", instance="i4i.8xlarge", nodes=20, model="indy")
    slow = answer.simulate(draws=1, slow="10%@2").slow
    assert slow is not None
    assert slow.nodes == 2
    assert 1.5 < slow.times <= 2.01
