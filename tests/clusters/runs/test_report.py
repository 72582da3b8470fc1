"""Utilisation of resources: shares of their capacity, over a phase's own seconds."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st
from refusals import refused

from planner.clusters.runs.report import CPU, DISKS, NETWORK, bottleneck, record_count, utilisation

SHUFFLE = [{"phase": "map and shuffle", "start_s": 1.0, "end_s": 3.0}]


def sample(
    at_s: float, *, cpu: float = 0.0, disk: float = 0.0, came: float = 0.0, went: float = 0.0
) -> dict[str, float]:
    return {
        "at_s": at_s,
        "cpu_cores": cpu,
        "disk_read_bytes_per_s": disk,
        "disk_write_bytes_per_s": disk,
        "network_in_bytes_per_s": came,
        "network_out_bytes_per_s": went,
    }


def test_shares_are_means_over_nodes_and_the_phases_seconds() -> None:
    samples = {
        "node-1": [sample(1.0, cpu=9.0), sample(2.0, cpu=1.0, came=40.0, disk=5.0), sample(3.0, cpu=0.5, came=20.0)],
        "node-2": [sample(2.0, cpu=0.5, went=80.0), sample(3.0, cpu=0.0, went=80.0), sample(4.0, cpu=9.0)],
    }
    shares = utilisation(samples, SHUFFLE, rates_bytes_per_s={NETWORK: 50.0, DISKS: 10.0}, vcpus=2)
    assert shares == {CPU: pytest.approx(0.5), NETWORK: pytest.approx(0.8), DISKS: pytest.approx(0.25)}
    assert bottleneck(shares) == NETWORK


def test_an_unknown_rate_is_left_out() -> None:
    shares = utilisation({"n": [sample(2.0, cpu=1.0, disk=7.0)]}, SHUFFLE, rates_bytes_per_s={DISKS: 0.0}, vcpus=4)
    assert shares == {CPU: pytest.approx(0.25)}


def test_nothing_is_known_without_samples() -> None:
    outside = {"n": [sample(0.5, cpu=1.0)]}
    assert utilisation(outside, SHUFFLE, rates_bytes_per_s={NETWORK: 1.0}, vcpus=1) == {}
    assert bottleneck({}) is None


@given(st.lists(st.floats(0, 4), min_size=1, max_size=20), st.integers(1, 8))
def test_processors_that_are_never_exceeded_are_never_more_than_busy(cores: list[float], nodes: int) -> None:
    samples = {str(node): [sample(2.0, cpu=busy_cores) for busy_cores in cores] for node in range(nodes)}
    assert 0 <= utilisation(samples, SHUFFLE, rates_bytes_per_s={}, vcpus=4.0 * nodes)[CPU] <= 1 + 1e-9


def test_records_have_a_hundred_bytes() -> None:
    assert record_count(10**9) == 10**7
    with refused("partial-records", "--data 150B", "100-byte", field="--data"):
        record_count(150)
