"""Explanations that the runs leave open, and the run that would decide between them."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import pytest
from approvals import Approve
from made_up_clusters import CORE, grid, job, runs, true_seconds

from planner.calibration import Profile, calibrate
from planner.calibration.experiment import likeliest_of_each_family
from planner.calibration.history import parse_jobs
from planner.calibration.machines import machine
from planner.calibration.physics import Shape, Stream, log_seconds, unit_seconds
from planner.calibration.workloads import workload

SAME_DISK: dict[str, dict[str, float]] = {
    "a": {"vcpu": 8, "mem_gib": 32, "ghz": 2.5, "ebs_mbps": 1000, "net_base_gbps": 2, "price_usd_h": 0.4},
    "b": {"vcpu": 8, "mem_gib": 32, "ghz": 2.5, "ebs_mbps": 1700, "net_base_gbps": 2, "price_usd_h": 0.5},
}
"""Two types that differ only in their volume."""
HALF: dict[str, dict[str, float]] = {"half": {**SAME_DISK["a"], "vcpu": 4, "mem_gib": 16}}
"""Half the cores of type a; clock, volume and network are the same."""


def serial_job(times: float, rest: Sequence[float]) -> np.ndarray:
    """Coefficients of a job dominated by a serial stream: `times` its unit; `rest` is disk, network and cpu."""
    return np.append(np.log([20, 0.5, *rest, times, 1, 1]), 0.0)


def profile_of(rows: list[dict[str, Any]]) -> Profile:
    return calibrate(rows, instances=SAME_DISK, model="spark")


def synthetic(
    types: tuple[str, ...], stream: Stream, times: float, rest: Sequence[float] = (0.3, 0.1, 100)
) -> list[dict[str, Any]]:
    rows = grid(types=types, nodes=(2, 4, 8, 12), sizes=(10, 20))
    machines = {name: machine(name, spec) for name, spec in {**SAME_DISK, **HALF}.items()}
    work = workload(parse_jobs(rows, what="rows", timed=False), machines)
    log_s, _ = log_seconds(serial_job(times, rest), unit_seconds(work, Shape(stream)))
    noise = 0.01 * np.random.default_rng(1).standard_normal(len(rows))
    return [{**row, "runtime_s": float(np.exp(a + b))} for row, a, b in zip(rows, log_s, noise, strict=True)]


def weight_of(profile: Profile, stream: Stream) -> float:
    pairs = likeliest_of_each_family(profile.verdict.explanations)
    return sum(weight for explanation, weight in pairs if explanation.family.stream == stream)


@pytest.mark.parametrize(("stream", "times"), [("disk", 1.0), ("nothing", 8.0)])
def test_a_type_never_run_lies_in_the_range_whichever_resource_limits_the_stream(stream: Stream, times: float) -> None:
    """Runs on type a alone cannot distinguish its volume (8 s/GB at 0.125 GB/s) from 8 s/GB of an unknown cause."""
    history, new = synthetic(("a",), stream, times), synthetic(("b",), stream, times)
    ranges = profile_of(history).predict(new)
    truth = np.array([row["runtime_s"] for row in new])
    assert ((ranges["lo"] < truth) & (truth < ranges["hi"])).mean() > 0.85


def test_the_sentence_names_two_explanations_and_the_run_that_settles_it(approve: Approve) -> None:
    report = profile_of(synthetic(("a",), "disk", 1.0)).explain()["rivals"]
    approve(report["sentence"])
    assert "would settle it" in report["sentence"]
    assert report["run"]["instance_type"] == "b"
    assert report["run"]["first_s"] < report["run"]["second_s"]
    hours = (report["run"]["first_s"] * report["run"]["second_s"]) ** 0.5 / 3600
    assert report["run"]["cost_usd"] == pytest.approx(report["run"]["nodes"] * 0.5 * hours)
    assert sum(report["weights"].values()) == pytest.approx(1, abs=0.01)


@pytest.mark.parametrize(("stream", "times"), [("disk", 1.0), ("nothing", 8.0)])
def test_runs_of_both_types_decide(stream: Stream, times: float) -> None:
    assert weight_of(profile_of(synthetic(("a", "b"), stream, times)), stream) > weight_of(
        profile_of(synthetic(("a",), stream, times)), stream
    )


def test_the_next_run_for_a_type_never_run_is_on_that_type() -> None:
    profile = profile_of(synthetic(("a",), "disk", 1.0))
    candidates = [job(name, nodes, 20.0) for name in ("a", "b") for nodes in (2, 12)]
    assert profile.next_run([job("b", 8, 20.0)], candidates=candidates).instance_type == "b"


def test_one_explanation_leaves_nothing_to_settle() -> None:
    hadoop = calibrate(runs(grid()), instances={"small": {"vcpu": 4}}, model="hadoop").explain()["rivals"]
    assert hadoop["run"] is None
    assert "leave one explanation: distributed output" in hadoop["sentence"]


def test_without_machines_no_run_is_proposed(approve: Approve) -> None:
    report = calibrate([], instances={}, model="spark").explain()["rivals"]
    assert report["run"] is None
    approve(report["sentence"])


def test_made_up_runs_follow_the_stream_asked_for() -> None:
    """A core's clock does not matter when the disk limits: 25 times through the disk takes longer than 25 GHz s/GB."""
    assert (true_seconds([job()], CORE.mean, stream="disk") > true_seconds([job()], CORE.mean)).all()


def test_half_the_cores_of_a_node_tell_all_its_cores_from_one() -> None:
    """10 GB at 160 core GHz s/GB through one node: 80 s on eight cores of 2.5 GHz, 160 s on four."""
    apart = calibrate(synthetic(("a", "half"), "node", 160), instances={**SAME_DISK, **HALF}, model="spark")
    alike = profile_of(synthetic(("a",), "node", 160))
    assert weight_of(alike, "node") == pytest.approx(weight_of(alike, "core"), rel=0.01)
    assert weight_of(apart, "node") > 3 * weight_of(apart, "core")


def test_a_column_of_tolerances_is_no_share() -> None:
    history = [{**row, "tolerance": 0.001 * (i % 3)} for i, row in enumerate(synthetic(("a",), "disk", 1.0))]
    assert profile_of(history).options.share is None
    assert profile_of([{**row, "tolerance": 50 * row["tolerance"]} for row in history]).options.share == "tolerance"


def kept_by_share(rest: Sequence[float]) -> tuple[list[dict[str, Any]], list[dict[str, Any]]]:
    """Return runs that output everything at 8 s/GB, and runs that output half, a tenth and none of it."""
    whole, nothing = synthetic(("a",), "nothing", 8.0, rest), synthetic(("a",), "nothing", 1e-6, rest)
    return whole, [
        {**row, "kept": share, "runtime_s": share * row["runtime_s"] + (1 - share) * little["runtime_s"]}
        for share in (0.5, 0.1, 0.0)
        for row, little in zip(whole, nothing, strict=True)
    ]


def test_an_option_that_is_the_share_let_out_foretells_what_lets_out_more() -> None:
    whole, history = kept_by_share((0.3, 0.1, 100))
    ranges = profile_of(history).predict([{**row, "kept": 1.0} for row in whole])
    truth = np.array([row["runtime_s"] for row in whole])
    assert ((0.95 * ranges["lo"] < truth) & (truth < ranges["hi"])).all()


def test_an_option_that_is_the_share_let_out_is_seen_to_be_it() -> None:
    _, history = kept_by_share((1, 0.5, 250))
    pairs = likeliest_of_each_family(profile_of(history).verdict.explanations)
    assert sum(weight for explanation, weight in pairs if explanation.family.selective) > 0.6
