"""This machine as a catalog."""

from __future__ import annotations

from datetime import date
from functools import partial
from pathlib import Path

import pytest

from planner import recommend as recommend_by
from planner.catalog import check_catalog, load_catalog
from planner.measurement.instruments.local_catalog import TYPE, write_catalog
from planner.measurement.instruments.machine import LocalMachine

recommend = partial(recommend_by, engine="ideal")
"""The sums here use the equations alone."""

TODAY = date(2026, 11, 21)

MACHINE = LocalMachine(
    vcpu=2,
    memory_bytes=8 * 10**9,
    disk_free_bytes=10**12,
    read_bytes_per_s=2e9,
    write_bytes_per_s=1e9,
    sample_bytes=10**8,
    repeats=3,
    measured_s=1.0,
)


def test_the_catalog_is_sound_and_holds_what_was_measured(tmp_path: Path) -> None:
    directory = write_catalog(MACHINE, tmp_path / "catalog", today=TODAY)
    assert not [finding for finding in check_catalog(directory, today=TODAY) if finding.severity == "error"]
    catalog = load_catalog(directory)
    assert catalog.instances.instance_type.tolist() == [TYPE]
    assert catalog.disk_rates("read_only").bytes_per_s.tolist() == [2e9]
    assert catalog.disk_rates("write_only").bytes_per_s.tolist() == [1e9]


def test_one_s_own_machine_needs_no_network_and_costs_no_rent(tmp_path: Path) -> None:
    """10 GB, more than memory holds: read 5 s and write 10 s in each of two phases on the one disk."""
    directory = write_catalog(MACHINE, tmp_path / "catalog", today=TODAY)
    best = recommend(data="10GB", model="indy", catalogs=(str(directory),), nodes=1).best
    assert best is not None
    assert [phase.equation_s for phase in best.phases] == pytest.approx([15, 15])
    assert best.cost_usd.total == 0


def test_what_it_reads_and_at_the_same_time_writes_decides_where_it_is_known(tmp_path: Path) -> None:
    """10 GB both ways at once at 0.5 GB/s each: 20 s a phase."""
    directory = write_catalog(MACHINE, tmp_path / "catalog", today=TODAY, simultaneous_bytes_per_s=5e8)
    best = recommend(data="10GB", model="indy", catalogs=(str(directory),), nodes=1).best
    assert best is not None
    assert [phase.equation_s for phase in best.phases] == pytest.approx([20, 20])
