"""Shapes of files that other readers got wrong, according to public reports: read right, or refused with the reason."""

from __future__ import annotations

import copy
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from approvals import Approve
from refusals import refused

from planner.errors import BadInputError
from planner.measurement.ingest.ingest import read_measurements
from planner.measurement.ingest.node_results import read_node_results

DATA = Path(__file__).parent / "data"
FIO = json.loads((DATA / "fio_read.json").read_text())
IPERF = json.loads((DATA / "iperf3_p4.json").read_text())
IOPING = json.loads((DATA / "samples" / "ioping.json").read_text())
RATE = FIO["jobs"][0]["read"]["bw_bytes"]
NET = {"placement_group": "no"}


@pytest.fixture
def written(tmp_path: Path) -> Callable[[str | bytes], Path]:
    def written(content: str | bytes) -> Path:
        path = tmp_path / "file.dat"
        path.write_bytes(content if isinstance(content, bytes) else content.encode())
        return path

    return written


def fio(change: Callable[[dict[str, Any]], Any] = lambda d: None, /, **options: str) -> dict[str, Any]:
    """Return a run of fio with these additional options of its one job."""
    document: dict[str, Any] = copy.deepcopy(FIO)
    document["jobs"][0]["job options"].update(options)
    change(document)
    return document


def later(document: dict[str, Any], *, seconds: int) -> dict[str, Any]:
    return {**document, "timestamp_ms": document["timestamp_ms"] + 1000 * seconds}


@pytest.mark.parametrize(
    "content",
    [
        json.dumps(FIO).replace('"bw_dev": ', '"bw_dev": -nan, "x": ', 1),
        json.dumps(FIO).replace('"iops_stddev": ', '"iops_stddev" : NaN, "x": ', 1),
        json.dumps(FIO).encode("utf-16"),
        json.dumps([FIO]),
        "Jobs: 1 (f=1): [R(1)][100.0%]\r" + json.dumps(FIO, indent=2),
        "2026-11-21T11:44:38Z stdout F " + json.dumps(FIO),
    ],
    ids=["nan", "NaN", "utf-16", "list", "progress", "words"],
)
def test_the_same_run_in_other_wrappings(
    content: str | bytes, written: Callable[[str | bytes], Path], read: Callable[..., Any]
) -> None:
    (result,) = read(written(content))
    assert result.bytes_per_s == RATE


@pytest.mark.parametrize(
    ("options", "expected"),
    [
        ({"ioengine": "psync", "iodepth": "32"}, {"depth": 1, "buffered": "no"}),
        ({"iodepth": "32"}, {"depth": 1, "buffered": "no"}),
        ({"ioengine": "libaio", "iodepth": "32"}, {"depth": 32, "buffered": "no"}),
        ({"ioengine": "mmap"}, {"depth": 1, "buffered": "yes"}),
        ({"direct": "0", "buffered": "0"}, {"depth": 1, "buffered": "no"}),
        ({"rate": "0,0"}, {"depth": 1}),
    ],
)
def test_what_options_came_to(
    options: dict[str, str], expected: dict[str, Any], written: Callable[[str], Path], read: Callable[..., Any]
) -> None:
    (result,) = read(written(json.dumps(fio(**options))))
    assert {name: getattr(result, name) for name in expected} == expected
    asked = int(options.get("iodepth", 1))
    assert (f"iodepth={asked} has no effect" in result.note) == (result.depth < asked)
    assert ("went through the page cache" in result.note) == (result.buffered == "yes")


def _without_options(document: dict[str, Any]) -> None:
    job = document["jobs"][0]
    del job["job options"]
    document.pop("global options", None)
    job["read"], job["write"] = job["write"], job["read"]


def test_a_file_without_options_tells_what_was_moved_alone(
    written: Callable[[str], Path], read: Callable[..., Any]
) -> None:
    (result,) = read(written(json.dumps(fio(_without_options))))
    assert (result.quantity, result.bytes_per_s) == ("write_only", RATE)
    assert (result.pattern, result.depth, result.threads, result.buffered) == (None, None, None, None)


def test_the_report_of_a_group_has_the_options_of_its_first_job(
    written: Callable[[str], Path], read: Callable[..., Any], refusal: Callable[..., str]
) -> None:
    """A reader and a writer under group_reporting are one entry, with the reader's options."""
    both = fio(lambda d: d["jobs"][0].update(write=d["jobs"][0]["read"]))
    rows = read(written(json.dumps(both)))
    assert [(row.quantity, row.side, row.read_share) for row in rows] == [
        ("simultaneous", "read", None),
        ("simultaneous", "write", None),
    ]
    blocks = fio(lambda d: d["jobs"][0]["read"].update(total_ios=int(d["jobs"][0]["read"]["total_ios"] * 1.7)))
    with refused("inconsistent-block", "group_reporting"):
        read(written(json.dumps(blocks)))


def test_reading_to_verify_is_no_reading(written: Callable[[str], Path], read: Callable[..., Any]) -> None:
    document = fio(lambda d: d["jobs"][0].update(write=d["jobs"][0]["read"]), rw="write", verify="crc32c")
    assert [row.quantity for row in read(written(json.dumps(document)))] == ["write_only"]


def _second(**options: str) -> Callable[[dict[str, Any]], None]:
    def change(document: dict[str, Any]) -> None:
        other = copy.deepcopy(document["jobs"][0])
        other["job options"].update(options)
        document["jobs"].append({**other, "jobname": "other"})

    return change


FIO_REFUSED = {
    "jobs that did not begin together (seq, other)": fio(_second(startdelay="60")),
    "jobs that did not begin together (seq, other);": fio(_second(wait_for="seq")),
    "held back by thinkcycles=1000": fio(thinkcycles="1000"),
    "held back by flow=-8": fio(flow="-8"),
    "neither sequential nor random (rw=randread:256)": fio(rw="randread:256"),
    "neither sequential nor random (rw=read:1m)": fio(rw="read:1m"),
    "neither sequential nor random (percentage_random=0)": fio(rw="randread", percentage_random="0"),
    "neither sequential nor random (percentage_sequential=50)": fio(rw="randread", percentage_sequential="50"),
    "(random_distribution=zipf:1.2)": fio(rw="randread", random_distribution="zipf:1.2"),  # axboe/fio#196
    "neither sequential nor random (rw_sequencer=identical)": fio(rw_sequencer="identical"),
    "ioengine=librpma_apm_client uses no disk": fio(ioengine="librpma_apm_client"),
    "reports errors of seq": fio(lambda d: d["jobs"][0].update(total_err=12, first_error=5)),
    "ioengine=libpmem uses no disk": fio(ioengine="libpmem"),
    "ioengine=ftruncate uses no disk": fio(ioengine="ftruncate"),
    "filename=/dev/nullb0 lies in memory": fio(filename="/dev/nullb0"),
    "directory=/mnt/tmpfs lies in memory": fio(directory="/mnt/tmpfs"),
    "its disk ram0 lies in memory": fio(lambda d: d.update(disk_util=[{"name": "ram0"}])),
    "replays a log of operations": fio(read_iolog="trace.log"),
    "units that depend on its version": fio(lambda d: d.update({"fio version": "2.21"})),
    "only the sum over all clients": {
        "fio version": "fio-3.33",
        "client_stats": [{**FIO["jobs"][0], "jobname": "All clients"}],
    },
    "2 runs of the same; say --files-are": [FIO, later(FIO, seconds=60)],
}


@pytest.mark.parametrize("says", FIO_REFUSED)
def test_fio_runs_that_say_something_else(
    says: str, written: Callable[[str], Path], refusal: Callable[..., str]
) -> None:
    assert says in refusal(written(json.dumps(FIO_REFUSED[says])))


def test_options_of_order_that_change_nothing_are_taken(
    written: Callable[[str], Path], read: Callable[..., Any]
) -> None:
    usual = {"percentage_random": "100", "random_distribution": "random", "rw_sequencer": "sequential"}
    (result,) = read(written(json.dumps(fio(rw="randread:1", **usual))))
    assert result.pattern == "random"


@pytest.mark.parametrize(("attained", "is_noted"), [(0, True), (1, False)])
def test_a_steady_state_that_was_not_reached_is_noted(
    attained: int, is_noted: bool, written: Callable[[str], Path], read: Callable[..., Any]
) -> None:
    end = {"ss": "iops:5%", "duration": 60, "attained": attained}
    (result,) = read(written(json.dumps(fio(lambda d: d["jobs"][0].update(steadystate=end)))))
    assert ("did not reach its steady state" in result.note) == is_noted


def test_two_runs_in_one_file_are_repeats_where_the_user_says_so(
    written: Callable[[str], Path], read: Callable[..., Any]
) -> None:
    """fio also reports time left for a run that has ended: the earlier run is not under way."""
    path = written(json.dumps(FIO) + "\n" + json.dumps(later(FIO, seconds=60)))
    (result,) = read(path, files_are="repeats")
    assert (result.bytes_per_s, result.repeats) == (RATE, 2)
    with refused("not-applicable", field="--files-are"):
        read(written(json.dumps(FIO)), files_are="repeats")


def test_bins_by_number_are_not_pooled(written: Callable[[str], Path], read: Callable[..., Any]) -> None:
    """json+ of early versions has constants among its bins, and words may stand among the percentiles."""
    document = json.loads((DATA / "fio_write_plus.json").read_text())
    for job in document["jobs"]:
        job["write"]["clat_ns"]["bins"]["FIO_IO_U_PLAT_BITS"] = 6
        job["write"]["clat_ns"]["percentile"]["Total"] = 1
    (result,) = read(written(json.dumps(document)))
    assert "slowest job's" in result.note and result.latency_p99_s > 0


def test_jobs_that_ran_for_unlike_times_are_marked(
    written: Callable[[str], Path], read: Callable[..., Any], approve: Approve
) -> None:
    def longer(document: dict[str, Any]) -> None:
        _second()(document)
        for name in ("io_bytes", "runtime", "total_ios"):
            document["jobs"][1]["read"][name] *= 6

    approve(read(written(json.dumps(fio(longer))))[0].note)


def events(document: dict[str, Any]) -> str:
    """Return a run in the form of `--json-stream`."""
    lines = [("start", document["start"]), *(("interval", i) for i in document["intervals"]), ("end", document["end"])]
    return "".join(json.dumps({"event": name, "data": data}) + "\n" for name, data in lines)


@pytest.mark.parametrize(
    "content",
    [
        events(IPERF) + json.dumps(IPERF),
        events(IPERF) + json.dumps(IPERF, indent=1),
        json.dumps(IPERF).replace('"omitted": false', '"lost_percent": -nan, "omitted": false'),
        json.dumps({**IPERF, "end": {"streams": IPERF["end"]["streams"]}}),
    ],
    ids=["stream and whole", "stream and whole on lines", "nan", "no sums"],
)
def test_one_run_of_iperf3_in_other_shapes(
    content: str, written: Callable[[str], Path], read: Callable[..., Any]
) -> None:
    (result,) = read(written(content), **NET)
    received = IPERF["end"]["sum_received"]
    assert result.bytes_per_s == pytest.approx(received["bits_per_second"] / 8, rel=1e-3)


def test_two_streamed_runs_are_two(written: Callable[[str], Path], read: Callable[..., Any]) -> None:
    (result,) = read(written(events(IPERF) * 2), files_are="repeats", **NET)
    assert result.repeats == 2


@pytest.mark.parametrize(
    ("content", "says"),
    [
        (json.dumps(IPERF).replace("10.0.0.2", "127.0.0.1"), "both ends are one machine"),
        (json.dumps(IPERF).replace("10.0.0.2", "::1"), "both ends are one machine"),
        (json.dumps({"error": "unable to connect to server"}), "iperf3 failed: unable to connect"),
        (
            json.dumps({**IPERF, "end": {**IPERF["end"], "sum_received": {"bytes": 0, "seconds": 10.0}}}),
            "this side received nothing",
        ),
        (json.dumps([{**item, "target": {**item["target"], "fstype": "tmpfs"}} for item in IOPING]), "lies in memory"),
        (json.dumps([{**i, "target": {**i["target"], "fstype": "nfs4"}} for i in IOPING]), "another machine's disk"),
        (json.dumps({**IPERF, "end": {**IPERF["end"], "sum_sent": {"bytes": 100}}}), "bytes received of 100 sent"),
        (json.dumps([IPERF, IPERF]), "2 runs of the same; say --files-are"),
        (json.dumps({"fio version": "fio-3.33", "jobs": [{"jobname": "j", "read": 7, "job options": 3}]}), "moved"),
        (json.dumps({"start": {"test_start": {}, "connected": 5}, "end": {"x": 1}}), "not as its instrument writes it"),
    ],
)
def test_files_that_measure_something_else(
    content: str, says: str, written: Callable[[str], Path], refusal: Callable[..., str]
) -> None:
    assert says in refusal(written(content), **NET)


@pytest.mark.parametrize(
    ("filename", "disks"), [("/dev/nvme1n1:/dev/nvme2n1", 2), ("/dev/sdb", 1), ("/dev/md0", None), ("/mnt/x", None)]
)
def test_disks_are_counted_by_their_devices(
    filename: str, disks: int | None, written: Callable[[str], Path], read: Callable[..., Any]
) -> None:
    assert read(written(json.dumps(fio(filename=filename))))[0].disks == disks


OTHERS = {
    "fio's terse output": "3;fio-3.33;seq;0;0;4194304;69905;17476;60000;0;0;0.000000\n",
    "fio's log of samples": "500, 102400, 0, 1048576, 0\n1000, 102400, 0, 1048576, 0\n",
    "iperf 2's output": "20260101120000,10.0.0.1,49152,10.0.0.2,5001,3,0.0-10.0,11748245504,9398596403\n",
    "iperf 2's output; run iperf3": "Client connecting to 10.0.0.2, TCP port 5001\n[ ID] Interval       Transfer\n",
    "an error of iperf3": "iperf3: error - unable to connect to server: Connection refused\n",
    "netperf's output": "MIGRATED TCP STREAM TEST from 0.0.0.0 () port 0 AF_INET to 10.0.0.2 () port 0 AF_INET\n",
    "sockperf's output": "sockperf: == version #3.10 ==\nsockperf: Summary: Latency is 25.1 usec\n",
    "dd's output": "1+0 records in\n1+0 records out\n1073741824 bytes (1.1 GB, 1.0 GiB) copied, 0.5 s, 2.1 GB/s\n",
    "hdparm's output": "\n/dev/sda:\n Timing buffered disk reads: 1536 MB in  3.00 seconds = 511.78 MB/sec\n",
    "bonnie++'s output": "1.98,1.98,host,1,1700000000,32G,,8192,5,900,99,500000,30,200000,20\n",
    "something else than files": "sysbench 1.0.20 (using LuaJIT)\n\nCPU speed:\n    events per second: 1161.05\n",
    "ioping's output for people": "4 KiB <<< . (ext4 /dev/vda1 252 GiB): request=1 time=200 us (warmup)\n",
    "a web page": "<!DOCTYPE html>\n<html><body>502 Bad Gateway</body></html>\n",
    "apart by semicolons": "instance_type;quantity;bytes_per_s\ni4i.large;read_only;1e9\n",
    "neither the JSON of a known instrument nor a table": "hello world\nthis is no benchmark\n",
}


@pytest.mark.parametrize("says", OTHERS)
def test_what_other_tools_print_is_named(
    says: str, written: Callable[[str], Path], refusal: Callable[..., str]
) -> None:
    path = written(OTHERS[says])
    assert says in refusal(path)
    with pytest.raises(BadInputError) as error:
        read_node_results(path)
    assert "no column 'node'" in str(error.value) or says in str(error.value)


@pytest.mark.parametrize(
    "heading", ["rate (MB/s)", "rate [MB/s]", "MB/sec", "read_MB_per_s", "MBytes/sec", "MB per second"]
)
def test_units_in_headings_of_any_spelling(heading: str, written: Callable[[str], Path]) -> None:
    path = written(f"{heading},quantity\n1.5,read_only\n")
    said = {"instance_type": "i4i.large", "zone": "z", "aggregate": "mean", "instances": 1, "repeats": 1, "method": "x"}
    said |= {"as_of": "2026-01-01"}
    (row,) = read_measurements([path], user_values=said, mapping={"bytes_per_s": (heading, "")})
    assert row.bytes_per_s == 1.5e6
