"""`planner catalog new`: a catalog of machines of one's own, which plans take as theirs."""

from __future__ import annotations

import json
from datetime import date
from pathlib import Path

import pytest
from command_line import call, invoked
from refusals import refused

import planner
from planner.catalog import check_catalog, load_catalog
from planner.errors import IoFailureError

DISKS = ["--disks", "8", "--disk-size", "2TB", "--disk-kind", "nvme", "--disk-read", "6GB/s", "--disk-write", "4GB/s"]
FACTS = ["--machines", "20", "--vcpus", "64", "--memory", "256GiB", "--network", "25Gbit/s", *DISKS]


@pytest.fixture
def mine(tmp_path: Path) -> Path:
    call("catalog", "new", str(tmp_path / "mine"), *FACTS)
    return tmp_path / "mine"


def test_facts_with_units_make_a_catalog_without_errors(mine: Path) -> None:
    shapes, row = load_catalog(str(mine)).instances, 0
    found = [shapes.names[row], shapes.machines[row], shapes.vcpu[row], shapes.memory_bytes[row]]
    found += [shapes.network_baseline_bytes_per_s[row], shapes.local_disks[row], shapes.local_disk_bytes[row]]
    assert found == ["mine", 20, 64, 256 * 2**30, 25e9 / 8, 8, 2e12]
    assert load_catalog(str(mine)).disk_rates("write_only").bytes_per_s.tolist() == [4e9]
    assert {finding.severity for finding in check_catalog(str(mine), today=date.today())} <= {"note"}


def test_a_plan_uses_all_machines_and_talks_neither_of_rent_nor_of_quota(mine: Path) -> None:
    shown = call("plan", "--data", "1TB", "--catalog", str(mine), "--objective", "time")
    assert shown.startswith("Use 20 x mine (local here)") and "without rent" in shown and "no rent" in shown
    assert not {word for word in ("Rent", "quota", "weeks", "spare", "at most $") if word in shown}
    best = planner.recommend("1TB", catalog=str(mine), objective="time").best
    assert best is not None and (best.nodes, best.spares, best.is_free) == (20, 0, True)


def test_more_machines_than_there_are_are_not_planned_unless_asked(mine: Path) -> None:
    assert planner.recommend("1PB", catalog=str(mine)).best is None
    more = planner.recommend("1PB", catalog=str(mine), capacity="mine=400").best
    assert more is not None and more.nodes > 20
    shown = call("own", "40 x mine", "--data", "1TB", "--catalog", str(mine))
    assert shown.startswith("Your 40 x mine take ") and "The plan would use " in shown
    assert not {word for word in ("Rented", "rented", "$") if word in shown}


def test_a_price_is_paid_without_renting(tmp_path: Path) -> None:
    call("catalog", "new", str(tmp_path / "paid"), *FACTS, "--price", "0.90")
    shown = call("plan", "--data", "1TB", "--catalog", str(tmp_path / "paid"))
    assert shown.startswith("Use ") and "$0.90 an hour" in shown


def test_every_missing_fact_is_asked_for_at_once(tmp_path: Path) -> None:
    options = ("--vcpus", "--network", "--disk-size", "--disk-kind", "--disk-read", "--disk-write")
    with refused("missing-facts", *(f"{option} is missing" for option in options), "--memory: size '256' has no unit"):
        call("catalog", "new", str(tmp_path / "mine"), "--machines", "20", "--memory", "256", "--disks", "8")
    assert list(tmp_path.iterdir()) == []


def test_a_csv_has_a_row_for_each_type_or_machine(tmp_path: Path) -> None:
    file = tmp_path / "hosts.csv"
    rows = ["Model,RAM,Cores,Drives", "Dell R740,256GiB,64,0", "old,64GiB,16,0", "Dell R740,256GiB,64,0"]
    file.write_text("\n".join(rows))
    done = invoked("catalog", "new", tmp_path / "ours", file, "--network", "25Gbit/s", "--json")
    assert "memory is column 'RAM'" in done.stderr
    assert json.loads(done.stdout)["types"] == ["Dell-R740", "old"]
    assert load_catalog(str(tmp_path / "ours")).instances.machines.tolist() == [2, 1]
    file.write_text("\n".join([*(f"{row},{count}" for row, count in zip(rows[:3], ("number", 12, 7), strict=True))]))
    call("catalog", "new", str(tmp_path / "more"), str(file), "--network", "25Gbit/s")
    assert load_catalog(str(tmp_path / "more")).instances.machines.tolist() == [12, 7]


@pytest.mark.parametrize(
    ("text", "code", "named"),
    [
        ("host,ip\na,1\n", "unknown-column", "expected: type, machines, vcpus"),
        ("", "unknown-column", "no column"),
        ("type,memory\na,lots\nb,1GiB\n", "missing-facts", "hosts.csv:2: memory: size 'lots'"),
        ("type,count,memory\na,2,1GiB\na,3,1GiB\n", "missing-facts", "two rows are of type a"),
    ],
)
def test_a_csv_without_the_facts_is_refused_by_row(tmp_path: Path, text: str, code: str, named: str) -> None:
    (tmp_path / "hosts.csv").write_text(text)
    with refused(code, named):
        call("catalog", "new", str(tmp_path / "ours"), str(tmp_path / "hosts.csv"))
    assert not (tmp_path / "ours").exists()


def test_a_folder_is_not_replaced_and_its_parent_exists(mine: Path) -> None:
    before = (mine / "instances.csv").read_bytes()
    with refused("output-exists", str(mine)):
        call("catalog", "new", str(mine), *FACTS)
    assert (mine / "instances.csv").read_bytes() == before
    with refused("io", kind=IoFailureError):
        call("catalog", "new", str(mine / "no" / "such"), *FACTS)
