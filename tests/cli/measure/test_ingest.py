"""`planner ingest`, called in-process, from a file to a plan."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from approvals import Approve
from command_line import call
from refusals import refused
from typer.testing import CliRunner

from planner.cli.app import build
from planner.errors import BadInputError

DATA = Path(__file__).resolve().parents[2] / "measurement" / "ingest" / "data"


@pytest.fixture(autouse=True)
def directory(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("PLANNER_MEASUREMENTS", str(tmp_path / "mine"))
    return tmp_path / "mine"


def test_a_measurement_becomes_a_fact_of_the_catalog() -> None:
    file = str(DATA / "fio_read.json")
    (row,) = json.loads(call("ingest", file, "--type", "i4i.4xlarge", "--where", "us-east-1a", "--json"))[
        "measurements"
    ]
    facts = json.loads(call("catalog", "show", "i4i.4xlarge", "--catalog", "aws", "--json"))["facts"]
    (mine,) = [fact for fact in facts if fact["source"] == "your own measurements" and fact["unit"] == "bytes/s"]
    assert mine["value"] == row["bytes_per_s"]
    assert "read_only" in mine["field"] and mine["evidence"] == "measured"


def test_csv_with_a_mapping(tmp_path: Path, directory: Path) -> None:
    table = tmp_path / "net.csv"
    table.write_text("vm,n,speed\ni4i.4xlarge,2,5\ni4i.4xlarge,4,4.5\n")
    columns = ("instance_type=vm", "nodes=n", "bytes_per_s=speed:Gbit/s")
    shown = call(
        "ingest", str(table), *(word for c in columns for word in ("--column", c)),
        "--quantity", "network", "--where", "us-east-1a", "--as-of", "2026-11-01", "--instances", "4", "--repeats", "3",
        "--aggregate", "slowest_of_n", "--placement-group", "--method", "netbench 10 s",
    )  # fmt: skip
    assert "625 MB/s" in shown and "562.5 MB/s" in shown
    assert len((directory / "aws.csv").read_text().splitlines()) == 3


def test_one_bad_file_stores_none(tmp_path: Path, directory: Path) -> None:
    bad = tmp_path / "bad.json"
    bad.write_text((DATA / "fio_read.json").read_text()[:300])
    with pytest.raises(BadInputError, match="cut off"):
        call("ingest", str(DATA / "fio_mixed.json"), str(bad), "--type", "i4i.4xlarge", "--where", "here")
    assert not directory.exists()


def test_a_day_is_a_day() -> None:
    with pytest.raises(BadInputError, match="YYYY-MM-DD"):
        call("ingest", str(DATA / "fio_read.json"), "--as-of", "yesterday")


@pytest.mark.parametrize("disks", ["1", "9"])
def test_a_rate_of_other_disks_than_the_types_is_refused(disks: str, directory: Path) -> None:
    with refused("other-catalog", "catalog aws") as caught:
        call("ingest", str(DATA / "fio_read.json"), "--type", "i3.16xlarge", "--where", "us-east-1a", "--disks", disks)
    assert f"has 8 local disks, and the rate is of {disks}" in caught.value.details[0]
    assert not directory.exists()


def test_a_rate_far_from_what_the_type_does_is_doubted(tmp_path: Path, directory: Path) -> None:
    """A volume's file on a type whose own disks write 17 times as fast."""
    table = tmp_path / "rates.csv"
    table.write_text("instance_type,quantity,bytes_per_s\ni4i.4xlarge,write_only,130e6\n")
    asked = ["ingest", str(table), "--where", "us-east-1a", "--as-of", "2026-11-01", "--instances", "1"]
    asked += ["--repeats", "3", "--aggregate", "mean"]
    with refused("unlikely-rate", "i4i.4xlarge", "--volume", "--method"):
        call(*asked, "--column", "method=instance_type")
    assert not directory.exists()
    call(*asked, "--method", "on the node's own, by hand")
    assert len((directory / "aws.csv").read_text().splitlines()) == 2
    with refused("unlikely-rate", "2.289 GB/s"):  # as shipped, not as stored
        call(*asked, "--column", "method=instance_type")


def test_who_says_that_the_disks_are_the_type_s_is_believed(directory: Path) -> None:
    named = ("ingest", str(DATA / "fio_read.json"), "--type", "i4i.8xlarge", "--where", "us-east-1a")
    with refused("unlikely-rate", "--disks"):
        call(*named)
    call(*named, "--disks", "2")
    assert (directory / "aws.csv").exists()


def test_volumes_are_planned_with_by_type_and_number() -> None:
    place = ("--where", "us-east-1a", "--type", "r8ib.96xlarge")
    file = str(DATA / "samples" / "fio-in-turn.json")
    with refused("other-catalog", "catalog aws") as caught:
        call("ingest", file, *place)
    assert "--volume gp3 --count 4" in caught.value.details[0]
    shown = call("ingest", file, *place, "--volume", "gp3", "--count", "4")
    assert "4 x gp3, 1024 KiB," in shown and "73,143" in shown and "ms" in shown
    rows = json.loads(call("catalog", "show", "r8ib.96xlarge", "--catalog", "aws", "--json"))["facts"]
    fields = {row["field"] for row in rows if row["kind"] == "volume_rates" and row["unit"] in ("bytes/s", "1/s")}
    names, modes = ("bytes_per_s", "operations_per_s"), ("read_only", "write_only")
    assert fields == {f"{name} [gp3, {mode}, mean]" for name in names for mode in modes}


def test_a_file_ingested_again_replaces_its_rows(approve: Approve) -> None:
    file = ("ingest", str(DATA / "fio_read.json"), "--type", "i4i.4xlarge", "--where", "us-east-1a")
    call(*file)
    outcome = CliRunner().invoke(build(), file)
    assert outcome.exit_code == 0
    approve(outcome.stderr)


def test_small_operations_on_volumes_are_ranked_by_what_a_dollar_buys(tmp_path: Path) -> None:
    path = tmp_path / "small-io.json"
    path.write_text((DATA / "samples" / "own-small-io.json").read_text().replace("i4i.large", "r8ib.96xlarge"))
    file = ("ingest", str(path), "--where", "us-east-1a", "--volume", "gp3")
    for count in ("1", "4"):
        call(*file, "--count", count)
    shown = call("catalog", "rank", "--by", "usd_per_op", "--operation", "all", "--instance", "r8ib.96xlarge")
    assert "1 x gp3" in shown and "4 x gp3" in shown and "write4K/64 per $" in shown
