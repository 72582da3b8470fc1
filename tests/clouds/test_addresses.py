"""The private network of a run."""

from __future__ import annotations

from ipaddress import ip_network

from planner.clouds.addresses import HEAD_SUBNET, NETWORK, NODES_SUBNET


def test_the_subnets_lie_apart_within_the_network() -> None:
    network, nodes, head = map(ip_network, (NETWORK, NODES_SUBNET, HEAD_SUBNET))
    assert nodes.subnet_of(network) and head.subnet_of(network)  # type: ignore[arg-type]
    assert not nodes.overlaps(head)
    assert network.is_private and nodes.num_addresses > 32_000
