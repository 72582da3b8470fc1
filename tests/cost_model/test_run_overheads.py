"""What surrounds a job: the shipped figures, those of the papers, and those of machines that are there already."""

from __future__ import annotations

import math
from pathlib import Path

import numpy as np
import pytest

from planner.catalog.manifest import Boot
from planner.config import paths
from planner.cost_model.run_overheads import PAPER, on_hand, shipped
from planner.errors import BadInputError

BOOT = Boot(launches=7, median_s=30, p90_s=40, p95_s=50, node_sigma=0.1, evidence="measured", source="made")


def test_screening_and_teardown_do_not_depend_on_the_data() -> None:
    """Two minutes and one."""
    assert shipped().fixed_s == 120 + 60


def test_the_papers_know_the_job_alone() -> None:
    """TritonSort's MinuteSort held 20.5 GB on nodes of 24 GB; nothing else is taken off."""
    assert PAPER.memory_share == pytest.approx(0.8541667)
    assert (PAPER.fixed_s, PAPER.boot_s, PAPER.spare_fraction, PAPER.file_system_overhead) == (0, 0, 0, 0)
    assert (PAPER.shared_sigma, PAPER.node_sigma) == (0, {})
    assert set(PAPER.cpu_bytes_per_s_per_vcpu.values()) == {math.inf}


def test_machines_on_hand_start_at_once_and_vary_as_others_do() -> None:
    local = on_hand()
    assert (local.boot_s, local.fixed_s, local.spare_fraction, local.file_system_overhead) == (0, 0, 0, 0)
    assert set(local.cpu_bytes_per_s_per_vcpu.values()) == {math.inf}
    assert (local.shared_sigma, local.node_sigma) == (shipped().shared_sigma, shipped().node_sigma)


def test_measured_launches_stand_in_for_the_assumed_boot() -> None:
    measured = shipped().in_cloud(BOOT)
    assert measured.boot_note == "measured: the slowest node, from 7 launches of all types"
    assert measured.booting_s(np.ones(1))[0] < 40
    assert measured.late_booting_s(np.ones(1))[0] >= 50  # the 95% that was measured
    assert shipped().booting_s(np.ones(2)).tolist() == [120, 120]
    assert on_hand().in_cloud(BOOT).boot is None


def test_head_room_is_the_share_of_the_disks_that_stays_free() -> None:
    """A fifth: 1 / 0.8 times as many nodes, and none besides."""
    room = shipped().with_head_room(0.2)
    assert (room.skew, room.lost_nodes) == (pytest.approx(0.25), 0)
    assert shipped().with_head_room(None) is shipped()


def test_a_damaged_file_of_figures_is_named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "run_overheads.toml").write_text("boot_s = 1")
    monkeypatch.setattr(paths, "catalogs_directory", lambda: tmp_path)
    with pytest.raises(BadInputError, match=r"run_overheads.toml: missing .*screen_s.*; reinstall the package"):
        shipped.__wrapped__()
