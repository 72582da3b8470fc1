"""fio's files give the rates of their jobs, and unusable ones give the reason."""

from __future__ import annotations

import copy
import json
from collections.abc import Callable
from datetime import date
from pathlib import Path
from typing import Any

import pytest

from planner.measurement.ingest.fio import PERCENTILES, latencies

DATA = Path(__file__).parent / "data"
FIO = json.loads((DATA / "fio_read.json").read_text())
FIO_FAULTS: dict[str, Callable[[dict[str, Any]], Any]] = {
    "have no length": lambda d: d["jobs"][0]["read"].update(io_bytes=0, bw_bytes=0, runtime=0),
    "negative figure": lambda d: d["jobs"][0]["read"].update(bw_bytes=-1),
    "two units": lambda d: d["jobs"][0]["read"].update(bw_bytes=d["jobs"][0]["read"]["bw"]),
    "bw is missing": lambda d: [d["jobs"][0]["read"].pop(name) for name in ("bw_bytes", "bw")],
    "'fast', expected a number": lambda d: d["jobs"][0]["read"].update(bw_bytes="fast"),
    "depend on its version": lambda d: d.update({"fio version": "fio-2.2"}),
    "reports errors of seq": lambda d: d["jobs"][0].update(error=5),
    "no jobs": lambda d: d.update(jobs=[]),
    "iodepth=deep is no whole number": lambda d: d["jobs"][0]["job options"].update(iodepth="deep"),
    "rw=trim is neither reading nor writing": lambda d: d["jobs"][0]["job options"].update(rw="trim"),
    "held back by rate=1m": lambda d: d["jobs"][0]["job options"].update(rate="1m"),
    "held back by latency_target=1ms": lambda d: d["jobs"][0]["job options"].update(latency_target="1ms"),
    "mixes block sizes (bssplit=4k/50:64k/50)": lambda d: d["jobs"][0]["job options"].update(bssplit="4k/50:64k/50"),
    "ioengine=rbd uses no disk": lambda d: d["jobs"][0]["job options"].update(ioengine="rbd"),
    "filename=/dev/zero lies in memory": lambda d: d["jobs"][0]["job options"].update(filename="/data/x:/dev/zero"),
    "directory=/dev/shm/fio lies in memory": lambda d: d["jobs"][0]["job options"].update(directory="/dev/shm/fio"),
    "ioengine=null uses no disk": lambda d: d["jobs"][0]["job options"].update(ioengine="null"),
    "2 results of machines without names": lambda d: d.update(client_stats=d["jobs"] * 2, jobs=[]),
    "without unified_rw_reporting": lambda d: d["jobs"][0].update(mixed={}),
    "no known instrument": lambda d: d.pop("fio version"),
}


def test_fio_reads_alone(read: Callable[..., Any]) -> None:
    (result,) = read(DATA / "fio_read.json")
    assert result.quantity == "read_only" and result.bytes_per_s == FIO["jobs"][0]["read"]["bw_bytes"]
    assert result.as_of == date(2026, 11, 21) and result.instances == 1
    assert result.method.startswith("fio-3.33 rw=read bs=1M numjobs=1 direct=1")


def test_fio_json_plus_adds_up_the_jobs_that_ran_together(read: Callable[..., Any]) -> None:
    document = json.loads((DATA / "fio_write_plus.json").read_text())
    (result,) = read(DATA / "fio_write_plus.json")
    assert result.quantity == "write_only" and "numjobs=2" in result.method
    assert (
        result.bytes_per_s == sum(job["write"]["bw_bytes"] for job in document["jobs"]) and len(document["jobs"]) == 2
    )


def test_reading_and_writing_at_once_are_two_readings(read: Callable[..., Any]) -> None:
    job = json.loads((DATA / "fio_mixed.json").read_text())["jobs"][0]
    results = read(DATA / "fio_mixed.json")
    assert [(m.quantity, m.side, m.bytes_per_s, m.operations_per_s, m.latency_p99_s) for m in results] == [
        ("simultaneous", side, job[side]["bw_bytes"], job[side]["iops"],
         pytest.approx(job[side]["clat_ns"]["percentile"]["99.000000"] * 1e-9))
        for side in ("read", "write")
    ]  # fmt: skip
    assert {(m.read_share, m.threads, m.depth, m.buffered, m.block_bytes) for m in results} == {
        (0.5, 2, 1, "no", 2**20)
    }


def test_a_job_can_be_picked(
    read: Callable[..., Any], changed: Callable[..., Any], refusal: Callable[..., Any]
) -> None:
    def both(document: dict[str, Any]) -> None:
        other = copy.deepcopy(document["jobs"][0])
        other["jobname"], other["job options"]["rw"] = "w", "write"
        other["read"], other["write"] = other["write"], other["read"]
        document["jobs"].append(other)

    path = changed(FIO, both)
    assert [(m.quantity, m.side) for m in read(path)] == [("simultaneous", "read"), ("simultaneous", "write")]
    assert [m.quantity for m in read(path, job="w")] == ["write_only"]
    assert "no job 'x'; there are seq, w" in refusal(path, job="x")


def test_jobs_of_several_block_sizes_at_once_are_refused(
    changed: Callable[..., Any], refusal: Callable[..., Any]
) -> None:
    def smaller(document: dict[str, Any]) -> None:
        document["jobs"].append(copy.deepcopy(document["jobs"][0]) | {"jobname": "small"})
        document["jobs"][1]["read"]["total_ios"] *= 256

    assert "seq: rw=read bs=1048576, small: rw=read bs=4096" in refusal(changed(FIO, smaller))


def test_groups_are_measurements_of_their_own(read: Callable[..., Any], changed: Callable[..., Any]) -> None:
    path = changed(FIO, lambda d: d["jobs"].append({**d["jobs"][0], "jobname": "second", "groupid": 1}))
    assert [(m.job, m.bytes_per_s) for m in read(path)] == [
        (name, FIO["jobs"][0]["read"]["bw_bytes"]) for name in ("seq", "second")
    ]


@pytest.mark.parametrize("says", FIO_FAULTS)
def test_bad_fio_files_say_why(says: str, changed: Callable[..., Any], refusal: Callable[..., Any]) -> None:
    assert says in refusal(changed(FIO, FIO_FAULTS[says]))


def test_a_mix_that_is_all_reading_is_reading(read: Callable[..., Any], changed: Callable[..., Any]) -> None:
    whole = changed(FIO, lambda d: d["jobs"][0]["job options"].update(rw="randrw", rwmixread="100"))
    assert [(row.quantity, row.side) for row in read(whole)] == [("read_only", None)]


PATH = Path("a.json")


def job(*, mean_ns: float, operations: int, p50_ns: int, bins: dict[str, int] | None = None) -> dict[str, Any]:
    percentiles = {f"{rank:f}": p50_ns * (1 + rank / 100) for rank in PERCENTILES.values()}
    table: dict[str, Any] = {"mean": mean_ns, "N": operations, "percentile": percentiles}
    return {"lat_ns": {"mean": mean_ns, "N": operations}, "clat_ns": {**table, **({"bins": bins} if bins else {})}}


def test_the_mean_is_over_operations_not_over_jobs() -> None:
    jobs = [job(mean_ns=100, operations=900, p50_ns=90), job(mean_ns=1100, operations=100, p50_ns=9)]
    assert latencies(PATH, jobs)[0]["latency_mean_s"] == pytest.approx(200e-9)  # (900 x 100 + 100 x 1100) / 1000


def test_without_bins_the_slowest_job_bounds_the_percentile() -> None:
    figures, note = latencies(
        PATH, [job(mean_ns=1, operations=1, p50_ns=100), job(mean_ns=1, operations=1, p50_ns=300)]
    )
    assert figures["latency_p50_s"] == pytest.approx(450e-9) and "slowest job" in note


def test_bins_are_pooled() -> None:
    fast, slow = {"100": 90, "200": 9}, {"200": 0, "5000": 1}
    jobs = [job(mean_ns=1, operations=1, p50_ns=7, bins=fast), job(mean_ns=1, operations=1, p50_ns=7, bins=slow)]
    figures, note = latencies(PATH, jobs)
    by_hand = [100e-9, 100e-9, 200e-9, 5000e-9]  # 50, 90, 99 and 99.9 of 100 operations
    assert [figures[name] for name in PERCENTILES] == pytest.approx(by_hand) and note == ""


def test_what_fio_did_not_count_is_unknown() -> None:
    figures, _ = latencies(PATH, [{"lat_ns": {"mean": 5.0, "N": 2}, "clat_ns": {"mean": 5.0, "N": 2}}])
    assert figures == {"latency_mean_s": pytest.approx(5e-9), **dict.fromkeys(PERCENTILES)}


def test_fio_before_3_2_gives_kib_per_s_and_no_count_of_samples(
    read: Callable[..., Any], changed: Callable[..., Path]
) -> None:
    (today,) = read(DATA / "fio_read.json")

    def older(document: dict[str, Any]) -> None:
        result = document["jobs"][0]["read"]
        result.pop("bw_bytes")
        for name in ("slat_ns", "clat_ns", "lat_ns"):
            result.get(name, {}).pop("N", None)

    (then,) = read(changed(FIO, older))
    assert then.bytes_per_s == pytest.approx(today.bytes_per_s, rel=1e-4)
    assert then.latency_mean_s == pytest.approx(today.latency_mean_s, rel=1e-3)


def test_samples_of_single_operations_are_no_spread_over_time(
    read: Callable[..., Any], changed: Callable[..., Any]
) -> None:
    """fio 3.42 with `write_bw_log`, as posted: the mean over operations is 1796 KiB/s of 12,809."""

    def log_operations(document: dict[str, Any]) -> None:
        side = document["jobs"][0]["read"]
        side.update(bw_samples=side["total_ios"], bw_mean=side["bw"] / 7, bw_dev=side["bw"] / 23)

    (result,) = read(changed(FIO, log_operations))
    assert result.within_run_sigma is None
    assert result.note.startswith("ran ") == (result.seconds < 1)


def test_a_run_under_way_is_in_what_comes_after_it(tmp_path: Path, read: Callable[..., Any]) -> None:
    """`fio --status-interval=60` writes all results so far every minute."""
    interim = copy.deepcopy(FIO)
    interim["jobs"][0].update(eta=3481)
    path = tmp_path / "status.json"
    path.write_text("".join(f"{json.dumps(document)}\n" for document in (interim, interim, FIO)))
    (result,) = read(path)
    assert result.bytes_per_s == FIO["jobs"][0]["read"]["bw_bytes"]


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        (
            "job: (g=0): rw=read, bs=(R) 4096KiB-4096KiB, ioengine=libaio, iodepth=1\nfio-3.19\n\n"
            "Run status group 0 (all jobs):\n   READ: bw=611MiB/s (641MB/s), io=512MiB (537MB), run=838-838msec\n",
            "fio's output for people; run it with --output-format=json",
        ),
        (
            "Connecting to host 10.0.0.2, port 5201\n[ ID] Interval           Transfer     Bitrate         Retr\n"
            "[  5]   0.00-10.00  sec  11.0 GBytes  9.41 Gbits/sec    0             sender\n",
            "iperf3's output for people; run it with -J",
        ),
    ],
)
def test_text_for_people_is_named(tmp_path: Path, refusal: Callable[..., str], text: str, reason: str) -> None:
    path = tmp_path / "shown.txt"
    path.write_text(text)
    assert reason in refusal(path)
