"""Machines rented for measurements: end to end on an emulated EC2, and the use of their files."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import pytest
from emulated_ec2 import EmulatedEc2
from emulated_machines import EmulatedMachines
from rented_runs import PACE
from typer.testing import CliRunner

from planner.catalog import load_catalog
from planner.cli.app import build
from planner.clouds.protocol import Place
from planner.clusters.provisioning.smoke import choice_of_type
from planner.clusters.runs.instrument_rounds import READY_S, FleetTask, fleet_measurements
from planner.clusters.runs.node_benchmarks import Effort
from planner.errors import BadInputError, InfeasibleError

COMMON = {"planner_version": "1", "method": "as it does", "machine_type": "i4i.large"}


def test_the_length_of_a_fleet_by_hand() -> None:
    """A round: three modes of (1 x 5 + 2.5) s, 42 runs of 1 s, 5 s of network at 2, 4 and 5 nodes: 79.5 s. Six start
    over a day.
    """
    task = FleetTask(effort=Effort(seconds=5.0, repeats=1), nodes=5, rounds=6)
    assert task.round_s == pytest.approx(22.5 + 42 + 15)
    assert task.expected_s == pytest.approx(READY_S + 6 * 79.5)
    usual = FleetTask(effort=Effort(), nodes=16, rounds=2)
    assert usual.expected_s == pytest.approx(1139), "what planning/next_measurement.py reckons with"
    day = FleetTask(effort=task.effort, nodes=5, rounds=6, over_s=86400.0)
    assert day.expected_s == pytest.approx(READY_S + 86400 + 79.5)


def written(folder: Path, name: str, day: int, document: dict[str, Any]) -> Path:
    path = folder / name
    path.write_text(json.dumps({**COMMON, "measured_at": f"2026-11-{day:02}T12:00:00Z", **document}))
    return path


def disk(rate: float) -> dict[str, Any]:
    rates = [{"mode": "read", "read_bytes_per_s": rate, "write_bytes_per_s": None, "repeats": 2}]
    runs = [{"mode": "read", "seconds": 5.0}]
    return {"instrument": "diskbench", "rates": rates, "runs": runs, "notes": [], "file_systems": [{"device": "d"}]}


def place() -> Place:
    choice = choice_of_type(load_catalog("aws"), "i4i.large", regions=("us-east-1",), nodes=2, seconds=60.0)
    return Place(choice=choice, region="us-east-1", zone="us-east-1a")


def test_rounds_and_machines_are_counted_apart(tmp_path: Path) -> None:
    """Machine a: 100 and 120 MB/s, b: 200 and 240. Means 110 and 220, of both 165 MB/s; two days apart."""
    rates = {("a", 1): 100e6, ("a", 2): 120e6, ("b", 1): 200e6, ("b", 2): 240e6}
    paths = [written(tmp_path, f"{n}-disk-{name}.json", 10 + n, disk(rate)) for (name, n), rate in rates.items()]
    paths += [
        written(tmp_path, f"{n}-network-all.json", 10 + n, {
            "instrument": "netbench",
            "runs": [{"nodes": 2, "connections": 4, "seconds": 5.0, "slowest_bytes_per_s": 9e8}],
        })
        for n in (1, 2)
    ]  # fmt: skip
    disks, network = fleet_measurements(
        paths, place(), run="r1", instance_type="i4i.large", volume_type=None, volumes=None
    )
    assert (disks.quantity, disks.bytes_per_s, disks.instances, disks.repeats) == ("read_only", 165e6, 2, 4)
    assert disks.period_days == 1.0 and disks.source == "bench fleet r1" and disks.zone == "us-east-1a"
    assert disks.across_instances_sigma == pytest.approx(0.4901, abs=1e-4)  # ln 2 / sqrt 2
    assert disks.across_time_sigma == pytest.approx(0.1289, abs=1e-4)  # ln 1.2 / sqrt 2
    assert (network.quantity, network.nodes, network.instances, network.repeats) == ("network", 2, 2, 2)


def test_volumes_are_named(tmp_path: Path) -> None:
    path = written(tmp_path, "1-disk-a.json", 11, disk(4e8))
    (row,) = fleet_measurements([path], place(), run="r1", instance_type="m5.xlarge", volume_type="gp3", volumes=4)
    assert (row.instance_type, row.volume_type, row.volumes, row.disks) == ("m5.xlarge", "gp3", 4, None)


@pytest.mark.needs_root(why="machines are network namespaces")
@pytest.mark.soak
@pytest.mark.quick
def test_a_fleet_is_rented_measured_screened_remembered_and_gone(
    ec2: EmulatedEc2, machines: EmulatedMachines, wheels: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """One of four machines has a slow link: it is the one to drop."""
    machines.caps = {0: 10, 1: 400, 2: 400, 3: 400}  # a rate above the type's own link is not believed
    monkeypatch.setattr(ec2, "extra", ec2.extra | {"PLANNER_MEASUREMENTS": str(tmp_path / "mine")})
    out = tmp_path / "fleet"
    ended = ec2.planner(
        *("bench", "fleet", "--cloud", "aws", "--instance", "i4i.large", "--nodes", "4", "--max-cost", "20", "--yes"),
        *("--repeats", "1", "--seconds", "0.5", "--size", "20MB", "--out", str(out), "--wheelhouse", str(wheels)),
        *("--ssh-from", "203.0.113.7/32"),
        policy=PACE,
        within_s=300,
    )
    assert ended.code == 0, ended.text
    assert len(list(out.glob("1-disk-*.json"))) == len(list(out.glob("1-small-io-*.json"))) == 4
    assert re.search(rf"^{machines.order[0]} +network", ended.text, re.MULTILINE), ended.text
    assert "not stored" not in ended.text, ended.text
    stored = (tmp_path / "mine" / "aws.csv").read_text("utf-8")
    assert "bench fleet r" in stored and "read_only" in stored
    assert ",network," in stored, ended.text
    assert ec2.left() == {} and machines.are_gone()


@pytest.mark.parametrize(
    ("words", "says"),
    [
        ((), "say where: --local"),
        (("--local", "--cloud", "aws"), "say where: --local"),
        (("--local", "--instance", "i4i.large"), "--instance says nothing about emulated nodes"),
        (("--local", "--subnet", "s"), "--subnet says nothing about emulated nodes"),
        (("--cloud", "aws", "--instance", "i4i.large", "--jump", "b"), "--jump b: leads to private addresses alone"),
        (("--cloud", "aws", "--rate", "4Mbit"), "--rate says nothing about rented machines"),
        (("--cloud", "aws"), "say what to rent"),
        (("--cloud", "aws", "--instance", "i4i.lage"), "no such type. Did you mean i4i.large"),
        (("--cloud", "aws", "--instance", "m5.large"), "it has no local disks; say --volume gp3"),
        (("--cloud", "aws", "--instance", "i4i.large", "--volume", "gp3"), "name a type without"),
        (("--cloud", "aws", "--instance", "m5.large", "--volume", "gp4"), "--volume gp4: not among gp3, gp2"),
        (("--cloud", "aws", "--instance", "m5.large", "--volume", "st1", "--volume-size", "1PB"), "st1 of 1PB: data"),
    ],
)
def test_what_cannot_be_measured_is_refused_before_anything_is_rented(words: tuple[str, ...], says: str) -> None:
    result = CliRunner().invoke(build(only="bench"), ["bench", "fleet", "--dry-run", *words])
    assert isinstance(result.exception, BadInputError) and says in str(result.exception)


@pytest.fixture
def no_account(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """Remove credentials from the environment and this machine, so that a dry run asks no cloud."""
    for name in ("AWS_ACCESS_KEY_ID", "AWS_SECRET_ACCESS_KEY", "AWS_PROFILE"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("AWS_SHARED_CREDENTIALS_FILE", str(tmp_path / "none"))
    monkeypatch.setenv("AWS_CONFIG_FILE", str(tmp_path / "none"))
    monkeypatch.setenv("AWS_EC2_METADATA_DISABLED", "true")


@pytest.mark.usefixtures("no_account")
def test_machines_stand_in_a_subnet_of_the_users_own_and_in_what_is_reserved() -> None:
    site = ("--subnet", "subnet-1", "--no-public-address", "--ssh-from", "10.1.0.0/16", "--reservation", "cr-1")
    words = ("--cloud", "aws", "--instance", "i4i.large", "--nodes", "2", "--json", *site)
    result = CliRunner().invoke(build(only="bench"), ["bench", "fleet", "--dry-run", *words])
    requests = json.loads(result.stdout)["requests"]
    launches = [request["parameters"] for request in requests if request["operation"] == "run_instances"]
    assert "create_vpc" not in {request["operation"] for request in requests} and len(launches) == 2
    for launch in launches:
        (interface,) = launch["NetworkInterfaces"]
        assert (interface["SubnetId"], interface["AssociatePublicIpAddress"]) == ("subnet-1", False)
        assert (
            launch["CapacityReservationSpecification"]["CapacityReservationTarget"]["CapacityReservationId"] == "cr-1"
        )


@pytest.mark.usefixtures("no_account")
def test_volumes_and_limits_are_in_the_price() -> None:
    """Two m5.xlarge at $0.192 and 4 x 466 GiB of gp3 at $0.08 a month of 720 hours: $0.7982 an hour, for 1,079 s;
    their root volumes and an address are $0.0117 more.
    """
    words = ("--cloud", "aws", "--instance", "m5.xlarge", "--volume", "gp3", "--count", "4", "--nodes", "2", "--json")
    result = CliRunner().invoke(build(only="bench"), ["bench", "fleet", "--dry-run", *words])
    asked = json.loads(result.stdout)
    assert asked["usd_per_hour"] == pytest.approx(2 * (0.192 + 4 * 466 * 0.08 / 720 + 2.4 / 720) + 0.005)
    assert asked["cost_usd"] == pytest.approx(asked["usd_per_hour"] * asked["expected_s"] / 3600)
    refused = CliRunner().invoke(build(only="bench"), ["bench", "fleet", "--dry-run", *words, "--max-cost", "0.1"])
    assert isinstance(refused.exception, InfeasibleError)
