"""A run's measurements reach the next plan, under the type that the run planned with."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from emulated_cloud import order

from planner import recommend
from planner.catalog import load_catalog
from planner.clusters.provisioning.run_directory import RunDirectory
from planner.clusters.runs.cloud import MEASURED, REPORT, remember
from planner.planning.recommendation import require_best
from planner.schemas.plan import Candidate, Plan
from planner.schemas.run_report import RunReport

MODES = {"mixed": (2e8, 2.5e8), "read": (3e8, None), "write": (None, 3.5e8)}


@pytest.fixture(autouse=True)
def own_directories(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PLANNER_RUNS", str(tmp_path / "runs"))
    monkeypatch.setenv("PLANNER_MEASUREMENTS", str(tmp_path / "measurements"))


def written(instrument: str, machine_type: str, **fields: Any) -> str:
    common = {
        "instrument": instrument,
        "planner_version": "1",
        "method": "as it does",
        "measured_at": "2026-11-21T12:00:00Z",
    }
    return json.dumps(common | {"machine_type": machine_type} | fields)


def disk_file(cloud_type: str, *, disks: float) -> str:
    rates = [
        {"mode": mode, "read_bytes_per_s": read, "write_bytes_per_s": write, "repeats": 2}
        for mode, (read, write) in MODES.items()
    ]
    runs = [{"mode": mode, "seconds": 5.0} for mode in MODES]
    devices = [{"device": f"nvme{number}n1"} for number in range(int(disks))]
    return written("diskbench", cloud_type, rates=rates, runs=runs, notes=[], file_systems=devices)


def ran(cloud: str, best: Candidate, report: RunReport) -> RunDirectory:
    """Return the directory left by a run on two machines; a machine only knows the type ordered from the cloud."""
    directory = RunDirectory.create(order("r1", cloud=cloud))
    directory.note("place", zone=f"{best.region}-a", region=best.region, placement_group=True)
    (directory.path / MEASURED).mkdir()
    instances = load_catalog(cloud).instances
    local_disks = float(instances.local_disks[instances.rows[best.instance_type]])
    for node in ("m1", "m2"):
        (directory.path / MEASURED / f"disk-{node}.json").write_text(
            disk_file(best.cloud_type, disks=local_disks), "utf-8"
        )
    run = {"nodes": 2, "connections": 4, "seconds": 5.0, "slowest_bytes_per_s": 9e7}
    network = written("netbench", best.cloud_type, runs=[run, run])
    (directory.path / MEASURED / "network.json").write_text(network, "utf-8")
    (directory.path / REPORT).write_text(report.to_json(), "utf-8")
    return directory


@pytest.mark.parametrize(
    ("cloud", "instance_type"), [("aws", "i4i.large"), ("gcp", "n2-standard-32+4x375GB"), ("azure", "Standard_L8s_v3")]
)
def test_the_next_plan_reckons_with_it(cloud: str, instance_type: str) -> None:
    def planned() -> Plan:
        asked = {"data": "20MB", "model": "daytona", "catalogs": (cloud,), "instances": [instance_type], "nodes": 2}
        return recommend(**asked, engine="ideal").plan  # type: ignore[arg-type]

    before = planned()
    report = RunReport(plan=before, machine={}, steps_s={}, phases=(), checks=())
    remember(ran(cloud, require_best(before), report))
    now, shipped = (rates(require_best(plan)) for plan in (planned(), before))
    assert now.keys() == shipped.keys()
    assert [name for name in now if now[name] == shipped[name]] == [name for name in now if "cpu" in name]


def rates(candidate: Candidate) -> dict[tuple[str, str], float]:
    """Return bytes/s by phase and resource; all disks have one name, whether data is kept apart on them or not."""
    return {
        (phase.name, "disks" if name.endswith("disks") else name): resource.bytes_per_s
        for phase in candidate.phases
        for name, resource in phase.resources.items()
    }
