"""Machines from their specifications; missing values are filled in and counted."""

from __future__ import annotations

import math

import pytest
from refusals import refused

from planner.calibration.machines import machine, read_specs


def test_a_full_specification_is_taken_as_it_is() -> None:
    """Disks of 2 and 1 GB/s alternate reading and writing at 2 / (1/2 + 1/1); 8 Gbit/s of baseline without a burst."""
    spec = {"vcpu": 8, "ghz": 3.0, "mem_gib": 64, "nvme_r_MBps": 2000, "nvme_w_MBps": 1000, "net_base_gbps": 8}
    node = machine("a", {**spec, "price_usd_h": 1.5})
    assert (node.cores, node.clock_ghz, node.memory_gb, node.price_usd_per_hour) == (8, 3, 64, 1.5)
    assert node.disk_gb_per_s == pytest.approx(4 / 3)
    assert node.network_gb_per_s == pytest.approx(1)
    assert node.filled_in == () and node.unknown_specs == 0


def test_a_bare_specification_is_filled_in_and_a_clock_counts_a_quarter() -> None:
    node = machine("a", {"vcpu": 4, "ebs_mbps": 8000, "net_base_gbps": 1, "net_burst_gbps": 32})
    assert set(node.filled_in) == {"clock_ghz", "memory_gb"} and node.unknown_specs == 1.25
    assert (node.memory_gb, node.disk_gb_per_s) == (16, 1)
    assert node.network_gb_per_s == pytest.approx(2 / 8), "32 times the baseline to the power of 0.2 is 2"
    assert math.isnan(node.price_usd_per_hour)


def test_a_machine_without_processors_and_a_type_twice_are_refused() -> None:
    with refused("out-of-range", "'a'"):
        machine("a", {"ghz": 3})
    with refused("repeated"):
        read_specs([{"type": "a", "vcpu": 1}, {"type": "a", "vcpu": 2}])
