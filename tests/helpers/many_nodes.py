"""Number and rate of the calls that bring a cluster of many machines up and down."""

from __future__ import annotations

import time
from bisect import bisect_left
from dataclasses import dataclass, replace
from datetime import UTC, datetime, timedelta
from typing import Any

import emulated_azure
import emulated_ec2
import emulated_gcp
from emulated_cloud import QUICK, EmulatedCloud

from planner.clouds.protocol import Place
from planner.clouds.registry import provider_of
from planner.clusters.provisioning.cluster_lifecycle import ProviderSession, begin, down, up

MODULES: dict[str, Any] = {"aws": emulated_ec2, "gcp": emulated_gcp, "azure": emulated_azure}
PATIENT = replace(QUICK, give_up_s=60.0, join_s=120.0, gone_s=180.0)
WORLD: dict[str, dict[str, Any]] = {
    "aws": {"quota_vcpus": {"us-east-1": 1e6}, "launches_per_s": 1000.0},
    "gcp": {"operation_polls": 3},
    "azure": {"quota_vcpus": {"eastus": 10**6}},
}


@dataclass(frozen=True, kw_only=True)
class Life:
    """Calls to bring a cluster up and down, the most of them in any second, and seconds from first to last."""

    nodes: int
    calls_up: int
    calls_down: int
    peak_calls_per_s: int
    wall_s: float

    @property
    def calls(self) -> int:
        return self.calls_up + self.calls_down


def life_of(cloud: EmulatedCloud, nodes: int) -> Life:
    """Launch a cluster in an empty account and take it down. `cloud.environment()` must be set.

    Raises AssertionError when the cloud lacks a machine, or keeps anything.
    """
    cloud.world(starting_polls=3, ending_polls=3, **WORLD[cloud.cloud])
    module = MODULES[cloud.cloud]
    choice = module.choice(nodes=nodes - 1, spares=1)
    order = module.order(f"n{nodes}-{time.time_ns()}", choice, expires_at=datetime.now(UTC) + timedelta(hours=3))
    session = ProviderSession(provider=provider_of(cloud.cloud, policy=PATIENT), policy=PATIENT, say=lambda _: None)
    began = time.monotonic()
    keyed, directory = begin(order)
    up(keyed, [Place(choice=choice, region=cloud.region, zone=cloud.zones[0])], directory, session)
    calls_up = len(cloud.proxy.seen)
    assert cloud.machines() == nodes
    down(directory, session)
    wall_s = time.monotonic() - began
    assert cloud.left() == {}
    times = sorted(seen.at_s for seen in cloud.proxy.seen)
    peak = max(bisect_left(times, at + 1.0) - number for number, at in enumerate(times))
    calls_down = len(times) - calls_up
    return Life(nodes=nodes, calls_up=calls_up, calls_down=calls_down, peak_calls_per_s=peak, wall_s=wall_s)
