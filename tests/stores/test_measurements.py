"""The user's measurements on disk: whole or not at all."""

from __future__ import annotations

import resource
import subprocess
import sys
from dataclasses import replace
from datetime import date
from pathlib import Path

import pytest
from refusals import refused

from planner.catalog.measurements import MEASUREMENTS
from planner.catalog.tables import read_table
from planner.errors import BadInputError, IoFailureError
from planner.measurement.ingest.measurement import Measurement
from planner.stores.measurements import forget, store

ONE = Measurement(
    instance_type="i4i.4xlarge", quantity="read_only", bytes_per_s=2.5e9, aggregate="mean", zone="us-east-1a",
    as_of=date(2026, 11, 1), instances=3, repeats=2, method="fio-3.33 rw=read", source="a.json",
)  # fmt: skip


@pytest.fixture(autouse=True)
def directory(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("PLANNER_MEASUREMENTS", str(tmp_path / "mine"))
    return tmp_path / "mine"


def test_what_is_stored_reads_back(directory: Path) -> None:
    path = store([ONE, replace(ONE, quantity="write_only", note='a "quoted", note')], catalog="aws").path
    assert path == directory / "aws.csv"
    rows = list(read_table(path, MEASUREMENTS).rows())
    assert [row["quantity"] for row in rows] == ["read_only", "write_only"]
    assert rows[0]["bytes_per_s"] == 2.5e9 and rows[0]["as_of"] == date(2026, 11, 1)
    assert rows[1]["note"] == 'a "quoted", note'


def test_what_is_ingested_again_replaces_its_rows_and_no_others() -> None:
    store([ONE, replace(ONE, source="b.json")], catalog="aws")
    stored = store([replace(ONE, bytes_per_s=3e9), replace(ONE, block_bytes=4096)], catalog="aws")
    rows = read_table(stored.path, MEASUREMENTS)
    assert stored.replaced == 1
    assert sorted(zip(rows["source"].tolist(), rows["bytes_per_s"].tolist(), strict=True)) == [
        ("a.json", 2.5e9), ("a.json", 3e9), ("b.json", 2.5e9),
    ]  # fmt: skip


def test_what_is_given_twice_is_refused(directory: Path) -> None:
    with pytest.raises(BadInputError, match="given twice"):
        store([ONE] * 2, catalog="aws")
    assert not list(directory.glob("*.csv"))


def test_local_disks_are_refused_of_a_type_without_any(directory: Path) -> None:
    volumes = replace(ONE, instance_type="r5.4xlarge", bytes_per_s=5e8, volume_type="gp3", volumes=4)
    with refused("other-catalog", "r5.4xlarge", "--volume gp3 --count 4"):
        store([volumes, replace(volumes, volume_type=None, volumes=None)], catalog="aws")
    with refused("other-catalog", "gp4", "gp3"):
        store([replace(volumes, volume_type="gp4")], catalog="aws")
    assert not directory.exists()
    assert store([volumes], catalog="aws").path.exists()


def test_an_unknown_type_stores_nothing(directory: Path) -> None:
    with refused("other-catalog", "i4i.4xlarge"):
        store([ONE, replace(ONE, instance_type="i4i.4xlarg")], catalog="aws")
    assert not directory.exists()


def test_a_damaged_store_is_not_written_over(directory: Path) -> None:
    directory.mkdir()
    (directory / "aws.csv").write_text("instance_type,quantity\ni4i.4xlarge,speed\n")
    with pytest.raises(BadInputError, match="problems"):
        store([ONE], catalog="aws")
    assert (directory / "aws.csv").read_text().endswith("speed\n")


def test_a_directory_that_is_a_file_is_an_io_failure(directory: Path) -> None:
    directory.write_text("")
    with pytest.raises(IoFailureError, match="nothing was changed"):
        store([ONE], catalog="aws")


def test_a_full_disk_leaves_the_store_as_it_was(directory: Path) -> None:
    """A limit on the size of files stands in for the disk: the write fails in the same place."""
    path = store([ONE], catalog="aws").path
    before = path.read_text()
    script = f"""
import signal, resource
from tests_one import ONE
from dataclasses import replace
from planner.catalog import load_catalog
from planner.errors import IoFailureError
from planner.stores.measurements import forget, store
load_catalog("aws")
signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
resource.setrlimit(resource.RLIMIT_FSIZE, ({len(before)}, {len(before)}))
try:
    store([replace(ONE, source="b.json")], catalog="aws")
except IoFailureError as error:
    print(error)
"""
    assert resource.getrlimit(resource.RLIMIT_FSIZE)[0] != len(before)
    (directory / "tests_one.py").write_text(
        "from datetime import date\nfrom planner.measurement.ingest.measurement import Measurement\n"
        f"import datetime\nONE = {ONE!r}\n"
    )
    paths = [str(directory), str(Path(__file__).resolve().parents[2])]
    run = subprocess.run(
        [sys.executable, "-c", f"import sys; sys.path[:0] = {paths!r}\n{script}"],
        capture_output=True,
        text=True,
        check=True,
    )
    assert "File too large; nothing was changed" in run.stdout
    assert path.read_text() == before
    assert not list(directory.glob("*.part"))


@pytest.mark.parametrize(
    ("wrong", "says"),
    [
        (replace(ONE, placement_group="true"), "placement_group 'true': expected one of yes, no"),
        (replace(ONE, depth=0), "depth '0': expected a whole number"),
        (replace(ONE, quantity="network", nodes=2, bytes_per_s=25e9), "more than its network carries"),
        (replace(ONE, bytes_per_s=40e9), "more than 1 disks' link carries"),
        (
            replace(ONE, quantity="sort", disks=None, bytes_per_s=20e9),
            "more than a virtual CPU with its memory carries",
        ),
    ],
)
def test_what_no_plan_could_read_or_no_machine_reach_is_refused(directory: Path, wrong: Measurement, says: str) -> None:
    with pytest.raises(BadInputError) as error:
        store([wrong], catalog="aws")
    assert says in str(error.value) and not list(directory.glob("*.csv"))


def test_what_was_ingested_is_taken_back_by_type_or_file_and_damaged_rows_too() -> None:
    path = store([ONE, replace(ONE, source="b.json"), replace(ONE, source="c.json")], catalog="aws").path
    assert forget("b.json", catalog="aws") == 1
    path.write_text(path.read_text().replace("mean", "average", 1))
    assert forget("i4i.*", catalog="aws") == 2
    store([ONE], catalog="aws")
    with refused("no-such-measurement", "'x'", "i4i.4xlarge from a.json"):
        forget("x", catalog="aws")
    assert forget("/some/folder/a.json", catalog="aws") == 1
    with pytest.raises(BadInputError, match="There are none"):
        forget("i4i.*", catalog="aws")


@pytest.mark.parametrize(
    ("figures", "says"),
    [
        ({"bytes_per_s": 1.2}, "less than any disk or network"),
        ({"operations_per_s": 1000.0, "block_bytes": 4096}, "1000 operations/s of 4096 bytes are 4.096 MB/s"),
        ({"latency_p50_s": 0.01, "latency_p99_s": 0.001}, "a higher percentile of latency lies below"),
        ({"latency_mean_s": 250.0}, "latencies are in seconds"),
        ({"quantity": "simultaneous", "read_share": 70.0}, "no share from 0 to 1"),
    ],
)
def test_figures_that_contradict_each_other_are_refused(directory: Path, figures: dict[str, object], says: str) -> None:
    with pytest.raises(BadInputError, match=says):
        store([replace(ONE, **figures)], catalog="aws")  # type: ignore[arg-type]
    assert not list(directory.glob("*.csv"))
