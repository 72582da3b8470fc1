"""Calls grow linearly with nodes, and more than a thousand machines go. Times: benchmarks/cluster/bench_growth.py."""

from __future__ import annotations

import pytest
from emulated_cloud import EmulatedCloud
from many_nodes import life_of

PER_NODE = {"aws": 0.0, "gcp": 3.0, "azure": 3.0}
"""EC2 ends a thousand machines in one call. Compute Engine deletes each, and reports twice for each that it is gone.
Azure creates each machine and its schedule, and is asked about each, because two listings omit their group.
"""
PAGES = 0.2
"""Listing calls per node, at most. Azure's pages have 50 machines, so each look at all of them takes 0.02 calls per
node; there are 3 or 4 looks of two or three listings each, and a few more when threads are slow.
"""


@pytest.mark.soak
def test_calls_grow_linearly(cloud: EmulatedCloud) -> None:
    few, some, many = (life_of(cloud, nodes).calls for nodes in (50, 100, 200))
    per_node = PER_NODE[cloud.cloud]
    assert per_node * 50 <= some - few <= (per_node + PAGES) * 50
    assert per_node * 100 <= many - some <= (per_node + PAGES) * 100


@pytest.mark.soak
def test_more_than_a_thousand_machines_go(cloud: EmulatedCloud) -> None:
    """EC2 takes at most a thousand ids in a call."""
    life_of(cloud, 1101)
    if cloud.cloud == "aws":
        ended = [seen for seen in cloud.proxy.seen if seen.action == "TerminateInstances" and cloud.is_meant(seen)]
        ids = [sum(name.startswith("InstanceId.") for name in seen.params) for seen in ended]
        assert ids == [1000, 101]
        launched = [seen.params["MinCount"] for seen in cloud.proxy.seen if seen.action == "RunInstances"]
        assert launched == ["500", "500", "100", "1"]
