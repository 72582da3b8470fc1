"""Fifty files in the instruments' form (`scripts/write_ingest_samples.py`): the rows stored, with nothing lost."""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from planner.catalog import load_catalog
from planner.catalog.measurements import MEASUREMENTS
from planner.catalog.tables import read_table
from planner.errors import BadInputError
from planner.measurement.ingest.ingest import read_measurements
from planner.measurement.ingest.measurement import Measurement
from planner.stores.measurements import store

SAMPLES = Path(__file__).parent / "data" / "samples"
STORED = {
    "fio-block-sweep": "reads 4K, reads 16K, reads 64K, reads 256K, reads 1M",
    "fio-clients-in-turn": "reads 1M, read 4K, write 4K",
    "fio-clients-one-job": "reads 1M",
    "fio-four-jobs-grouped": "reads 4K",
    "fio-four-jobs": "reads 4K",
    "fio-in-turn": "reads 1M, writes 1M, reads 4K, writes 4K, read 8K, write 8K",
    "fio-json-plus": "reads 4K",
    "fio-lat-percentiles": "reads 4K",
    "fio-new-groups": "reads 1M, writes 1M",
    "fio-no-percentiles": "reads 4K",
    "fio-other-spellings": "reads 8K",
    "fio-randread-16k": "reads 16K",
    "fio-randread-1m": "reads 1M",
    "fio-randread-4k-depth32": "reads 4K",
    "fio-randread-4k": "reads 4K",
    "fio-randrw-50-4k": "read 4K, write 4K",
    "fio-randrw-70-4k": "read 4K, write 4K",
    "fio-randrw-mixwrite-8k": "read 8K, write 8K",
    "fio-randwrite-32k": "writes 32K",
    "fio-randwrite-4k-fsync": "writes 4K",
    "fio-randwrite-4k": "writes 4K",
    "fio-read-128k": "reads 128K",
    "fio-read-1m": "reads 1M",
    "fio-read-256k": "reads 256K",
    "fio-read-64k": "reads 64K",
    "fio-read-buffered": "reads 1M",
    "fio-reader-and-writer": "read 1M, write 1M",
    "fio-rw-1m": "read 1M, write 1M",
    "fio-same-again": "reads 1M, reads 1M",
    "fio-two-block-sizes": "read 4K, write 64K",
    "fio-write-1m": "writes 1M",
    "fio-write-4k-fdatasync": "writes 4K",
    "fio-write-4k-osync": "writes 4K",
    "fio-write-512k": "writes 512K",
    "ioping-quiet": "reads 4K",
    "ioping-write": "writes 4K",
    "ioping": "reads 4K",
    "iperf3-both-ways": "network",
    "iperf3-four": "network",
    "iperf3-one": "network",
    "iperf3-reverse": "network",
    "own-disk-read": "reads",
    "own-disk": "read, write, read, write, reads, reads, writes, writes",
    "own-small-io": "read4K, read4M, write4K, write4K/64, write4M",
    "own-sort": "sort",
}
"""By file: the data moved and its block size; `read` and `write` alone are sides of doing both at once."""
REFUSED = {
    "fio-block-range": "mixes block sizes (bsrange=4k-16k)",
    "fio-blocks-mixed": "jobs of several kinds at once (small: rw=read bs=4096, large: rw=read bs=1048576)",
    "fio-both-sides-added": "run fio without unified_rw_reporting",
    "fio-held-back": "held back by rate_iops=20000",
    "iperf3-udp": "measured over UDP",
}


def measured(name: str) -> list[Measurement]:
    values = {"instance_type": "i4i.large", "zone": "us-east-1a"}
    if name.startswith("iperf3"):
        values["placement_group"] = "no"
    if name == "ioping-quiet":
        values["quantity"] = "read_only"
    return read_measurements([SAMPLES / f"{name}.json"], user_values=values, mapping={})


def told(measurement: Measurement) -> str:
    what = measurement.side or measurement.quantity.replace("_only", "s")
    size = (measurement.block_bytes or 0) / 1024
    return what + (f" {size:g}K" if 0 < size < 1024 else f" {size / 1024:g}M" if size else "")


def test_there_are_fifty_files() -> None:
    assert sorted(path.stem for path in SAMPLES.iterdir()) == sorted({**STORED, **REFUSED})
    assert len(STORED) + len(REFUSED) == 50


@pytest.mark.parametrize("name", STORED)
def test_what_is_stored_of_a_file(name: str) -> None:
    rows = [told(measurement) for measurement in measured(name)]
    assert ", ".join(sorted(rows) if name == "own-small-io" else rows) == STORED[name]


@pytest.mark.parametrize("name", REFUSED)
def test_a_refused_file_says_why(name: str) -> None:
    with pytest.raises(BadInputError) as caught:
        measured(name)
    assert REFUSED[name] in str(caught.value)


def fio_sides(name: str) -> Iterator[dict[str, Any]]:
    """Yield both directions of all jobs that moved anything; the sum over clients is not a job."""
    document = json.loads((SAMPLES / f"{name}.json").read_text())
    jobs = document.get("jobs") or [job for job in document["client_stats"] if job["jobname"] != "All clients"]
    yield from (job[side] for job in jobs for side in ("read", "write") if job[side]["total_ios"])


@pytest.mark.parametrize("name", [name for name in STORED if name.startswith("fio")])
def test_no_byte_no_operation_and_no_latency_of_fio_is_lost(name: str) -> None:
    sides, rows = list(fio_sides(name)), measured(name)
    assert sum(m.bytes_per_s * m.instances for m in rows) == pytest.approx(sum(side["bw_bytes"] for side in sides))
    operations = sum((m.operations_per_s or 0) * m.instances for m in rows)
    assert operations == pytest.approx(sum(side["iops"] for side in sides))
    for field, rank in (
        ("latency_p50_s", "50.000000"),
        ("latency_p99_s", "99.000000"),
        ("latency_p999_s", "99.900000"),
    ):
        stated = [side["clat_ns"]["percentile"][rank] * 1e-9 for side in sides if "percentile" in side["clat_ns"]]
        values = [value for m in rows if (value := getattr(m, field)) is not None]
        assert bool(values) == bool(stated)
        assert all(min(stated) * 0.999 <= value <= max(stated) * 1.001 for value in values)


def test_a_job_before_another_is_in_another_row() -> None:
    rows = {measurement.job: measurement for measurement in measured("fio-in-turn")}
    assert (rows["rr"].depth, rows["rr"].pattern, rows["r"].pattern) == (16, "random", "sequential")
    assert (rows["mix"].read_share, rows["r"].read_share) == (0.75, None)


def test_flushes_and_the_page_cache_are_told() -> None:
    flushes = {name: measured(f"fio-{name}")[0].flush_every for name in ("randwrite-4k-fsync", "write-4k-fdatasync")}
    assert flushes == {"randwrite-4k-fsync": 1, "write-4k-fdatasync": 8}
    assert measured("fio-write-4k-osync")[0].flush_every == 1
    assert [measured(name)[0].buffered for name in ("fio-read-1m", "fio-read-buffered", "ioping")] == [
        "no",
        "yes",
        "yes",
    ]


def test_clients_are_instances() -> None:
    (row,) = measured("fio-clients-one-job")
    rates = [side["bw_bytes"] for side in fio_sides("fio-clients-one-job")]
    assert (row.instances, row.bytes_per_s) == (2, sum(rates) / 2) and row.across_instances_sigma is not None


def test_all_files_together_are_stored_and_read_back(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PLANNER_MEASUREMENTS", str(tmp_path))
    larger = {"network": "i4i.32xlarge"}  # the samples' link was faster than an i4i.large's
    found = [measurement for name in STORED for measurement in measured(name)]
    rows = [replace(row, instance_type=larger.get(row.quantity, row.instance_type)) for row in found]
    path = store(rows, catalog="aws").path
    assert len(read_table(path, MEASUREMENTS)) == len(rows) == 75
    assert store(rows, catalog="aws").replaced == len(rows)
    catalog = load_catalog("aws")
    operations = catalog.disk_rates("read_only").operations_per_s[catalog.instances.index("i4i.large")]
    assert operations == next(m.operations_per_s for m in rows if m.job == "rr")
