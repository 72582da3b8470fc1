"""Samples of PerfKitBenchmarker in its publisher's form, by hand: those stored, and those refused."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest
from approvals import Approve

from planner.errors import BadInputError
from planner.measurement.ingest.ingest import read_measurements
from planner.measurement.ingest.measurement import Measurement

VM = {"vm_1_machine_type": "n2-standard-8", "vm_1_zone": "us-east1-b", "cloud": "GCP"}
NETWORK = {**VM, "vm_2_machine_type": "n2-standard-8", "vm_2_zone": "us-east1-b", "ip_type": "internal"}


def sample(
    metric: str, value: float, unit: str, labels: Mapping[str, object], *, run: str = "1", **more: Any
) -> dict[str, Any]:
    text = ",".join(f"|{name}:{label}|" for name, label in labels.items())
    whole = {"metric": metric, "value": value, "unit": unit, "labels": text, "run_uri": run, "timestamp": 1.7e9}
    return {**whole, "product_name": "PerfKitBenchmarker", "official": False, **more}


def stored(tmp_path: Path, *samples: dict[str, Any], **said: Any) -> list[Measurement]:
    path = tmp_path / "perfkitbenchmarker_results.json"
    path.write_text("\n".join(json.dumps(row) for row in samples) + "\n")
    return read_measurements([path], user_values=said, mapping={})


def test_both_directions_of_netperf_are_repeats_and_external_addresses_are_left_out(
    tmp_path: Path, approve: Approve
) -> None:
    labels = {**NETWORK, "netperf_retransmissions": 3384, "sending_thread_count": 4}
    (row,) = stored(
        tmp_path,
        sample("TCP_STREAM_Throughput", 1956.77, "Mbits/sec", {**labels, "ip_type": "external"}, test="netperf"),
        sample("TCP_STREAM_Throughput", 15_000.0, "Mbits/sec", labels, test="netperf"),
        sample("TCP_STREAM_Throughput", 16_000.0, "Mbits/sec", labels, test="netperf"),
        sample("TCP_RR_Latency_p50", 295.0, "us", labels, test="netperf"),
        placement_group="no",
    )
    assert (row.quantity, row.bytes_per_s, row.nodes, row.connections) == ("network", 15.5e9 / 8, 2, 4)
    assert (row.instance_type, row.zone, row.repeats, row.retransmits) == ("n2-standard-8", "us-east1-b", 2, 6768)
    approve(row.note)


def fio(run: str = "1", *, rate: float = 129_836, iops: float = 253, **labels: object) -> list[dict[str, Any]]:
    named = {**VM, "fio_job": "sequential_read", "data_disk_count": 1, **labels}
    stem = "sequential_read:read"
    return [
        sample(f"{stem}:bandwidth", rate, "KB/s", {**named, "bw_max": 162_491}, run=run, test="fio"),
        sample(f"{stem}:latency", 250_667.0, "usec", {**named, "p50": 264_192, "p99.9": 528_384}, run=run, test="fio"),
        sample(f"{stem}:latency:p99", 473_088, "usec", named, run=run, test="fio"),
        sample(f"{stem}:iops", iops, "", named, run=run, test="fio"),
    ]


def test_fio_through_it_has_block_size_and_latencies(tmp_path: Path) -> None:
    (row,) = stored(tmp_path, *fio(data_disk_0_type="local"))
    assert (row.quantity, row.bytes_per_s, row.block_bytes) == ("read_only", 129_836 * 1024, 512 * 1024)
    assert (row.pattern, row.job, row.disks, row.operations_per_s) == ("sequential", "sequential_read", 1, 253)
    assert row.latency_mean_s == pytest.approx(0.250667)
    assert (row.latency_p50_s, row.latency_p90_s) == (pytest.approx(0.264192), None)
    assert (row.latency_p99_s, row.latency_p999_s) == (pytest.approx(0.473088), pytest.approx(0.528384))


def test_runs_are_instances(tmp_path: Path) -> None:
    (row,) = stored(tmp_path, *fio("1"), *fio("2", rate=140_000, iops=273))
    assert (row.instances, row.bytes_per_s) == (2, (129_836 + 140_000) / 2 * 1024)


def test_a_disk_that_is_not_local_is_a_volume(tmp_path: Path) -> None:
    (row,) = stored(tmp_path, *fio(data_disk_0_type="pd-ssd"))
    assert (row.volume_type, row.volumes, row.disks) == ("pd-ssd", 1, None)


def test_reading_and_writing_at_once_has_two_sides(tmp_path: Path) -> None:
    labels = {**VM, "fio_job": "mix", "rw": "randrw"}
    rows = stored(
        tmp_path,
        sample("mix:read:bandwidth", 7000, "KB/s", labels),
        sample("mix:write:bandwidth", 3000, "KB/s", labels),
    )
    assert [(row.quantity, row.side, row.pattern) for row in rows] == [
        ("simultaneous", "read", "random"),
        ("simultaneous", "write", "random"),
    ]


def test_labels_may_be_an_object(tmp_path: Path) -> None:
    row = sample("Throughput", 9.0, "Gbits/sec", {}, test="iperf")
    del row["labels"]
    (read,) = stored(tmp_path, {**row, "metadata": {**NETWORK, "runtime_in_seconds": 60}}, placement_group="no")
    assert (read.bytes_per_s, read.seconds, read.instances) == (9e9 / 8, 60, 2)


@pytest.mark.parametrize(
    ("samples", "reason"),
    [
        ([sample("lscpu", 0, "", VM)], "no rate among PerfKitBenchmarker's samples: lscpu"),
        ([sample("Throughput", 900, "Mbits/sec", {**NETWORK, "ip_type": "external"})], "over external addresses only"),
        ([sample("Throughput", 900, "MB/s", NETWORK)], "Throughput in 'MB/s', expected Mbits/sec or Gbits/sec"),
        ([sample("Throughput", 900, "Mbits/sec", {**NETWORK, "protocol": "UDP"})], "measured over UDP"),
        (
            [sample("Throughput", 900, "Mbits/sec", {**NETWORK, "vm_2_zone": "us-east1-c"})],
            "between us-east1-b and us-east1-c; measure within one zone",
        ),
        ([sample("Throughput", -1, "Mbits/sec", NETWORK)], "value is -1"),
        (fio(rate=129_836, iops=300), "443,174 bytes an operation, which is no block size"),
    ],
)
def test_what_is_refused(tmp_path: Path, samples: list[dict[str, Any]], reason: str) -> None:
    with pytest.raises(BadInputError) as caught:
        stored(tmp_path, *samples, placement_group="no")
    assert reason in str(caught.value)
