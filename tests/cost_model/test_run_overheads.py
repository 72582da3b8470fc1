"""Overheads around a job: the shipped figures, those of the papers, and those of existing machines."""

from __future__ import annotations

import math
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from approvals import Approve
from hypothesis import given
from hypothesis import strategies as st

from planner.api.recommend import recommend
from planner.catalog import load_catalog
from planner.catalog.manifest import Boot
from planner.config import paths
from planner.cost_model import run_overheads
from planner.cost_model.run_overheads import PAPER, existing_machines, expected_boot_s, late_boot_s, shipped
from planner.errors import BadInputError

BOOT = Boot(launches=7, median_s=30, p90_s=40, p95_s=50, node_sigma=0.1, evidence="measured", source="made")


def test_installing_screening_and_teardown_do_not_depend_on_the_data() -> None:
    """A minute, two and one."""
    assert shipped().fixed_s(np.full(1, 2.0)) == 60 + 120 + 60
    assert shipped().ready_s(np.full(2, 2.0)).tolist() == [120 + 60 + 120] * 2


def test_a_single_machine_is_not_screened() -> None:
    assert shipped().fixed_s(np.array([1.0, 2.0])).tolist() == [120, 240]


def test_the_papers_know_the_job_alone() -> None:
    """TritonSort's MinuteSort held 20.5 GB on nodes of 24 GB; nothing else is deducted."""
    assert PAPER.memory_share == pytest.approx(0.8541667)
    assert (PAPER.fixed_s(np.ones(1)), PAPER.boot_s, PAPER.spare_fraction, PAPER.file_system_overhead) == (0, 0, 0, 0)
    assert (PAPER.shared_sigma, PAPER.node_sigma) == (0, {})
    assert set(PAPER.cpu_bytes_per_s_per_vcpu.values()) == {math.inf}


def test_machines_on_hand_start_at_once_and_vary_as_others_do() -> None:
    local = existing_machines()
    assert (local.boot_s, local.fixed_s(np.ones(1)), local.spare_fraction, local.file_system_overhead) == (0, 0, 0, 0)
    assert set(local.cpu_bytes_per_s_per_vcpu.values()) == {math.inf}
    assert (local.shared_sigma, local.node_sigma) == (shipped().shared_sigma, shipped().node_sigma)


def test_measured_launches_stand_in_for_the_assumed_boot(approve: Approve) -> None:
    measured = shipped().in_cloud(BOOT)
    approve(measured.boot_note)
    assert measured.booting_s(np.ones(1))[0] < 40
    assert measured.late_booting_s(np.ones(1))[0] >= 50  # the measured 95%
    assert shipped().booting_s(np.ones(2)).tolist() == [120, 120]
    assert existing_machines().in_cloud(BOOT).boot is None


def test_head_room_is_the_share_of_the_disks_that_stays_free() -> None:
    """A fifth: 1 / 0.8 times as many nodes, and nothing more."""
    room = shipped().with_head_room(0.2)
    assert (room.skew, room.lost_nodes) == (pytest.approx(0.25), 0)
    assert shipped().with_head_room(None) is shipped()


def test_a_damaged_file_of_figures_is_named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "run_overheads.toml").write_text("boot_s = 1")
    monkeypatch.setattr(paths, "catalogs_directory", lambda: tmp_path)
    with pytest.raises(BadInputError, match=r"run_overheads.toml: missing .*screen_s.*; reinstall the package"):
        shipped.__wrapped__()


def boot(*, median_s: float = 20, sigma: float = 0.5, node_sigma: float = 0.3, p95_s: float | None = None) -> Boot:
    """Make launches whose logarithm has standard deviation `sigma`; the normal has its 90% at 1.28155."""
    p90_s = median_s * math.exp(1.2815516 * sigma)
    return Boot(
        launches=100,
        median_s=median_s,
        p90_s=p90_s,
        p95_s=p95_s or p90_s,
        node_sigma=node_sigma,
        evidence="measured",
        source="made",
    )


def test_one_node_boots_as_the_launches_did() -> None:
    single = np.ones(1)
    # mean of a lognormal: 20 x e^(0.5^2 / 2) = 20 x 1.13315; its 95%: 20 x e^(1.64485 x 0.5) = 20 x 2.27600
    assert expected_boot_s(boot(), single)[0] == pytest.approx(22.663, rel=1e-4)
    assert late_boot_s(boot(), single)[0] == pytest.approx(45.520, rel=1e-4)
    # never less than the measured 95%
    assert late_boot_s(boot(p95_s=250), single)[0] == 250


def test_the_slowest_of_many_is_as_simulated() -> None:
    rng = np.random.default_rng(1)
    shared = rng.normal(0, 0.4, (20_000, 1))  # 0.5^2 = 0.3^2 + 0.4^2
    slowest = 20 * np.exp(shared + rng.normal(0, 0.3, (20_000, 50))).max(axis=1)
    fifty = np.array([50.0])
    assert expected_boot_s(boot(), fifty)[0] == pytest.approx(slowest.mean(), rel=0.02)
    assert late_boot_s(boot(), fifty)[0] == pytest.approx(np.quantile(slowest, 0.95), rel=0.02)


@given(st.floats(0, 1), st.floats(0, 1), st.integers(1, 1000))
def test_more_nodes_never_boot_sooner(sigma: float, node_sigma: float, nodes: int) -> None:
    launches = boot(sigma=sigma, node_sigma=min(sigma, node_sigma))
    counts = np.array([nodes, nodes + 1.0])
    fewer, more = expected_boot_s(launches, counts)
    assert more >= fewer * (1 - 1e-3)
    assert (late_boot_s(launches, counts) >= launches.p95_s * (1 - 1e-12)).all()


def test_a_cloud_without_launches_keeps_the_assumption_and_says_so() -> None:
    assumed = run_overheads.shipped().in_cloud(load_catalog("oci").manifest.boot)
    assert assumed.booting_s(np.array([1.0, 100.0])).tolist() == [120, 120]
    assert assumed.late_booting_s(np.ones(1)).tolist() == [120]
    assert assumed.boot_note.startswith("assumed")


@pytest.mark.parametrize("overheads", [run_overheads.PAPER, run_overheads.existing_machines()])
def test_what_boots_nothing_takes_no_time(overheads: run_overheads.RunOverheads) -> None:
    assert overheads.in_cloud(load_catalog("aws").manifest.boot).booting_s(np.array([50.0])).tolist() == [0]


@pytest.mark.parametrize(("cloud", "least_s", "most_s"), [("aws", 22, 60), ("azure", 41, 451), ("gcp", 42, 351)])
def test_shipped_clouds_boot_between_the_median_and_the_slowest_launch_seen(
    cloud: str, least_s: float, most_s: float
) -> None:
    overheads = run_overheads.shipped().in_cloud(load_catalog(cloud).manifest.boot)
    times = overheads.booting_s(np.array([1.0, 10, 100]))
    assert (np.diff(times) > 0).all()
    assert least_s < times[0]
    assert times[-1] < most_s


@pytest.mark.parametrize("cloud", ["aws", "azure", "gcp", "oci"])
def test_the_bill_says_what_the_boot_rests_on_and_its_95_percent_has_the_boots(cloud: str) -> None:
    best = recommend(data="10TB", model="indy", catalogs=[cloud]).best
    assert best is not None
    line = next(line for line in best.bill if line.name == "boot")
    count = np.array([float(best.nodes)])
    overheads = run_overheads.shipped().in_cloud(load_catalog(cloud).manifest.boot)
    assert line.time_s == best.overheads_s["boot"] == overheads.booting_s(count)[0]
    assert line.note.startswith("assumed" if cloud == "oci" else "measured")
    boot_later_s = float(overheads.late_booting_s(count)[0]) - line.time_s
    job_later_s = best.time_s.p95 - best.time_s.expected
    hourly, spares_hourly = best.usd_per_hour, best.usd_per_hour * best.spares / best.nodes
    # all nodes wait for the boot, and spares are released before the job; rounding leaves less than two seconds
    later_usd = (hourly * (job_later_s + boot_later_s) + spares_hourly * boot_later_s) / 3600
    assert best.cost_usd.total_p95 - best.cost_usd.total == pytest.approx(later_usd, abs=2 * hourly / 3600)


def test_software_takes_longer_to_start_on_more_nodes_and_a_what_if_halves_it() -> None:
    overheads = replace(shipped(), start_s=0.9, start_per_node_s=0.04)
    extra_s = overheads.fixed_s(np.array([1.0, 100.0])) - shipped().fixed_s(np.array([1.0, 100.0]))
    assert extra_s == pytest.approx([0.94, 4.9])
    assert overheads.times(2).starting_s(np.array([100.0])) == pytest.approx([2.45])
