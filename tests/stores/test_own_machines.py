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
from planner.errors import InfeasibleError, IoFailureError

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


def test_a_csv_is_completed_by_options_and_its_prices_are_known_by_usual_names(tmp_path: Path) -> None:
    hosts = tmp_path / "hosts.csv"
    hosts.write_text("type,vcpus,memory,network,disks,USD/h\na,64,256GiB,25Gbit/s,0,1.5\nb,32,128GiB,25Gbit/s,0,0.5\n")
    call("catalog", "new", str(tmp_path / "ours"), str(hosts), "--machines", "20")
    catalog = load_catalog(str(tmp_path / "ours"))
    assert catalog.instances.machines.tolist() == [20, 20]
    assert catalog.prices("here").price_usd_per_hour.tolist() == [1.5, 0.5]


def test_machines_without_a_type_are_called_like_their_catalog(tmp_path: Path) -> None:
    hosts = tmp_path / "hosts.csv"
    heading, row = "host,cpu,ram_gb,disks,disk_tb,nic_gbit\n", "64,256,8,2,25\n"
    hosts.write_text(f"{heading}h1,{row}h2,{row}")
    rates = ["--disk-kind", "nvme", "--disk-read", "6GB/s", "--disk-write", "4GB/s"]
    call("catalog", "new", str(tmp_path / "ours"), str(hosts), *rates)
    shapes = load_catalog(str(tmp_path / "ours")).instances
    assert (shapes.names[0], shapes.machines[0], shapes.local_disk_bytes[0]) == ("ours", 2, 2e12)
    assert shapes.network_baseline_bytes_per_s[0] == 25e9 / 8
    hosts.write_text(f"{heading}h1,{row}h2,32{row[2:]}")
    call("catalog", "new", str(tmp_path / "two"), str(hosts), *rates)
    assert list(load_catalog(str(tmp_path / "two")).instances.names) == ["two-1", "two-2"]


def test_machines_of_price_zero_are_without_rent(tmp_path: Path) -> None:
    call("catalog", "new", str(tmp_path / "mine"), *FACTS, "--price", "0")
    assert load_catalog(str(tmp_path / "mine")).is_free


@pytest.mark.parametrize(
    ("text", "code"),
    [
        ("type,machines\n", "no-rows"),
        ('type,machines\n"' + "a" * 200_000 + ",1\n", "malformed"),
        ("type,vcpus,memory,network,disks,price\na,64,1GiB,1GB/s,0,1\nb,64,1GiB,1GB/s,0,\n", "missing-facts"),
    ],
)
def test_a_csv_that_makes_no_catalog_is_refused(tmp_path: Path, text: str, code: str) -> None:
    hosts = tmp_path / "hosts.csv"
    hosts.write_text(text)
    with refused(code):
        call("catalog", "new", str(tmp_path / "ours"), str(hosts))
    assert not (tmp_path / "ours").exists()


def test_a_deadline_that_is_missed_names_the_fastest_of_the_machines_there_are(mine: Path) -> None:
    with pytest.raises(InfeasibleError) as raised:
        call("plan", "--data", "1TB", "--model", "indy", "--catalog", str(mine), "--deadline", "1min")
    assert "20 x mine" in str(raised.value)


def test_fewer_free_machines_are_not_shown_as_cheaper(mine: Path) -> None:
    plan = planner.recommend("1TB", model="indy", catalog=str(mine), objective="time").plan
    assert [point.nodes for point in plan.frontier] == [20]


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


def test_columns_of_a_csv_that_are_not_read_are_named(tmp_path: Path) -> None:
    hosts = tmp_path / "hosts.csv"
    hosts.write_text("type,vcpus,memory,nic_speed,disks,colour\na,64,256GiB,25Gbit/s,0,red\n")
    told = invoked("catalog", "new", str(tmp_path / "ours"), str(hosts), "--network", "25Gbit/s").stderr
    assert "not read: 'nic_speed', 'colour'; the columns are called type, machines" in " ".join(told.split())


def test_headings_give_bare_numbers_their_units(tmp_path: Path) -> None:
    hosts = tmp_path / "hosts.csv"
    heads = "name,vCPUs,memory_gb,Network performance [Gbit/s],disks,Disk size (TB),disk_kind,disk read (GB/s)"
    heads += ",disk write,Price (USD/h)"
    hosts.write_text(
        f"{heads}\nbig,32,256,25,4,3.84,nvme,6,3800MB/s,$1.20\nsmall,8,32GiB,10,1,960GB,nvme,1.5,1GB/s,0.3\n"
    )
    call("catalog", "new", str(tmp_path / "ours"), str(hosts))
    catalog = load_catalog(str(tmp_path / "ours"))
    assert catalog.instances.memory_bytes.tolist() == [256 * 10**9, 32 << 30]
    assert catalog.instances.network_baseline_bytes_per_s.tolist() == [25e9 / 8, 10e9 / 8]
    assert catalog.instances.local_disk_bytes.tolist() == [3_840 * 10**9, 960 * 10**9]
    assert catalog.disk_rates("read_only").bytes_per_s.tolist() == [6e9, 1.5e9]
    assert catalog.disk_rates("write_only").bytes_per_s.tolist() == [3.8e9, 1e9]
    assert catalog.prices("here").price_usd_per_hour.tolist() == [1.2, 0.3]
    hosts.write_text(hosts.read_text().replace("[Gbit/s]", "(gbps)"))
    with refused("missing-facts", "hosts.csv:2: network: rate '25 gbps': bits or bytes?"):
        call("catalog", "new", str(tmp_path / "more"), str(hosts))
