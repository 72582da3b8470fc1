"""Plans for Hadoop and Spark: extra passes, start-up, slow processing, and constants that a profile supplies."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest

from planner import recommend
from planner.calibration import calibrate
from planner.calibration.physics import COEFFICIENTS, Shape, Workload, log_seconds, unit_seconds
from planner.cost_model.model_reader import load_model
from planner.planning.candidates.calibrated_model import with_profile
from planner.schemas.plan import Candidate, Plan

Make = Callable[..., str]

SPEC = {"a": {"vcpu": 16, "mem_gib": 64, "ghz": 2.5, "nvme_r_MBps": 1000, "nvme_w_MBps": 1000, "net_base_gbps": 8}}


def best_of(catalog: str, **given: object) -> Candidate:
    best = recommend(**({"data": "1TB", "model": "framework", "catalogs": (catalog,), "nodes": 10} | given)).best  # type: ignore[arg-type]
    assert best is not None
    return best


def test_the_sum_by_hand(make_catalog: Make) -> None:
    """10 nodes: 20 + 10 x 0.5 s of start-up. Each phase moves 400 GB a node over disks of 1 GB/s: 400 s; 90 GB over a
    network of 1 GB/s; 100 GB through 16 vCPUs at 5 MB/s: 1250 s.
    """
    best = best_of(make_catalog({"a": {"read": 1e9, "write": 1e9}}))
    assert best.phases[0].bottleneck == "start_up"
    assert best.phases[0].equation_s == pytest.approx(25)
    first, second = best.phases[1].resources, best.phases[2].resources
    assert {name: use.equation_s for name, use in first.items()} == pytest.approx(
        {"local_disks": 400, "network": 90, "cpu": 1250}
    )
    assert {name: use.equation_s for name, use in second.items()} == pytest.approx({"local_disks": 400, "cpu": 1250})
    assert best.time_s.equation == pytest.approx(25 + 2500)
    assert best.evidence == "extrapolated"


def test_spills_go_to_disk_whatever_the_memory(make_catalog: Make) -> None:
    catalog = make_catalog({"a": {"read": 1e9, "write": 1e9, "memory_bytes": 10**12}})
    assert best_of(catalog).storage == "4 local nvme"
    assert best_of(catalog, model="indy", engine="ideal").storage == "4 local nvme + memory"


def test_a_paper_replay_has_the_passes_and_nothing_else(make_catalog: Make) -> None:
    best = best_of(make_catalog({"a": {"both": 1e9, "network_baseline_bytes_per_s": 1e12}}), paper=True)
    assert best.phases[0].bottleneck == "nothing"
    assert "cpu" not in best.phases[1].resources


def test_an_assumed_rate_replaces_the_frameworks(make_catalog: Make) -> None:
    best = best_of(make_catalog({"a": {"read": 1e9, "write": 1e9}}), assume={"partition": 1e9, "sort": 1e9})
    assert best.phases[1].bottleneck == "local_disks"


def test_a_plan_with_start_up_and_durability_round_trips(make_catalog: Make) -> None:
    plan = recommend(data="1TB", model="all", catalogs=(make_catalog({"a": {"read": 1e9, "write": 1e9}}),)).plan
    assert Plan.from_json(plan.to_json()) == plan
    assert {c.model: c.durability for c in plan.candidates} == {
        c.model: load_model(c.model).durability for c in plan.candidates
    }


def test_a_profile_supplies_the_constants(make_catalog: Make) -> None:
    """Runs generated from the physics with known coefficients: the calibrated model returns their times."""
    truth = np.array([*np.log([30, 1.0, 3.0, 1.0, 400, 2.0, 1.0, 1.0]), 0.0])
    nodes = np.array([2.0, 3, 4, 6, 8, 10, 12, 16] * 4)
    data_gb = np.repeat([20.0, 50, 100, 200], 8)
    same = {"cores": 16.0, "clock_ghz": 2.5, "memory_gb": 64.0, "disk_gb_per_s": 1.0, "network_gb_per_s": 1.0}
    passes = {"disk_passes_1": 2.0, "disk_passes_2": 2.0, "network_passes_2": 0.0, "usable_gb": 27.0}
    ones = np.ones_like(nodes)
    work = Workload(
        nodes=nodes, data_gb=data_gb, **{name: value * ones for name, value in (same | passes).items()},
        network_passes_1=(nodes - 1) / nodes, unknown_specs=0 * ones, output_share=ones, records=ones,
    )  # fmt: skip
    seconds = np.exp(log_seconds(truth, unit_seconds(work, Shape("core")))[0])
    runs = [
        {"instance_type": "a", "nodes": int(n), "data_gb": float(d), "runtime_s": float(t)}
        for n, d, t in zip(nodes, data_gb, seconds, strict=True)
    ]
    profile = calibrate(runs, instances=SPEC, model="hadoop")
    model = with_profile(load_model("framework"), profile)
    assert model.software is not None
    assert model.software.evidence == "measured"
    learned = {name: entry["value"] for name, entry in profile.explain()["coefficients"].items()}
    assert set(learned) == set(COEFFICIENTS)
    assert model.phases[0].startup_s == pytest.approx(learned["startup"])
    assert model.software.bytes_per_s["sort"] == pytest.approx(5e9 / learned["cpu"])
    moved = sum(sum(c.values()) for groups in (model.phases[1].read, model.phases[1].write) for c in groups.values())
    assert moved == pytest.approx(2 * learned["disk"])


def test_a_model_of_no_software_is_left_alone() -> None:
    profile = calibrate([], instances=SPEC, model="spark")
    assert with_profile(load_model("indy"), profile) == load_model("indy")
    prior = with_profile(load_model("framework"), profile)
    assert prior.software is not None
    assert prior.software.evidence == "assumed"
    assert prior.phases[2].one_stream == {"reduce_out": 1.0}


def test_a_single_stream_is_not_sped_up_by_nodes(make_catalog: Make, tmp_path: Path) -> None:
    text = (
        'title="t"\nsource="s"\ndurability="d"\n[storage]\ndata="local"\nintermediate="local"\n[software]\n'
        'one_stream_bytes_per_s=1e9\nshared_sigma=0\nevidence="assumed"\nsource="made"\n'
        '[[phase]]\nname="p"\nread.data={map_in=1}\none_stream={reduce_out=1}\n'
    )
    path = tmp_path / "mine.toml"
    path.write_text(text)
    catalog = make_catalog({"a": {"read": 1e10, "write": 1e10}})
    for nodes in (1, 100):
        best = best_of(catalog, model=str(path), nodes=nodes)
        assert best.time_s.equation == pytest.approx(1000)
        assert best.phases[0].bottleneck == "one_stream"
    assert best_of(catalog, model=str(path)).time_s.expected == pytest.approx(1000, rel=1e-3)


def test_more_shared_variation_than_the_planners_own_sort(make_catalog: Make) -> None:
    catalog = make_catalog({"a": {"read": 1e9, "write": 1e9}})
    framework, own = best_of(catalog), best_of(catalog, model="indy")
    assert framework.time_s.p95 / framework.time_s.p50 > own.time_s.p95 / own.time_s.p50
