"""What fio, iperf3 and our own instruments wrote, read back; and every way such a file can be bad."""

from __future__ import annotations

import copy
import json
import math
from collections.abc import Callable
from datetime import date
from pathlib import Path
from typing import Any

import pytest

from planner.errors import BadInputError
from planner.ingest.ingest import read_measurements
from planner.ingest.measurement import Measurement
from planner.measure.small_io import KIB4, Operation, bench_small_io
from planner.measure.sort_rate import bench_sort

DATA = Path(__file__).parent / "data"
USER_VALUES = {"instance_type": "i4i.4xlarge", "zone": "us-east-1a"}
FIO = json.loads((DATA / "fio_read.json").read_text())
IPERF = json.loads((DATA / "iperf3_p4.json").read_text())
ORIGIN = {
    "method": "made up",
    "machine_type": "i4i.4xlarge",
    "version": "1",
    "measured_at": "2026-11-01T10:00:00+00:00",
}


def read(path: Path, *, job: str | None = None, files_are: str | None = None, **message: Any) -> list[Measurement]:
    return read_measurements([path], user_values={**USER_VALUES, **message}, mapping={}, job=job, files_are=files_are)


def changed(tmp_path: Path, document: dict[str, Any], change: Callable[[dict[str, Any]], Any]) -> Path:
    path, mine = tmp_path / "changed.json", copy.deepcopy(document)
    change(mine)
    path.write_text(json.dumps(mine))
    return path


def refusal(path: Path, **options: Any) -> str:
    with pytest.raises(BadInputError) as error:
        read(path, **options)
    assert path.name in str(error.value)
    return str(error.value)


def test_fio_reads_alone() -> None:
    (result,) = read(DATA / "fio_read.json")
    assert result.quantity == "read_only" and result.bytes_per_s == FIO["jobs"][0]["read"]["bw_bytes"]
    assert result.as_of == date(2026, 11, 21) and result.instances == 1
    assert result.method.startswith("fio-3.33 rw=read bs=1M numjobs=1 direct=1")


def test_fio_json_plus_adds_up_the_jobs_that_ran_together() -> None:
    document = json.loads((DATA / "fio_write_plus.json").read_text())
    (result,) = read(DATA / "fio_write_plus.json")
    assert result.quantity == "write_only" and "numjobs=2" in result.method
    assert (
        result.bytes_per_s == sum(job["write"]["bw_bytes"] for job in document["jobs"]) and len(document["jobs"]) == 2
    )


def test_fio_reading_and_writing_counts_the_lesser() -> None:
    document = json.loads((DATA / "fio_mixed.json").read_text())
    (result,) = read(DATA / "fio_mixed.json")
    sides = [document["jobs"][0][side]["bw_bytes"] for side in ("read", "write")]
    assert result.quantity == "simultaneous" and result.bytes_per_s == min(sides)
    assert "at once" in result.note


def test_fio_talk_before_its_json_is_passed_over(tmp_path: Path) -> None:
    path = tmp_path / "talk.json"
    path.write_text("fio: a warning\n" + (DATA / "fio_read.json").read_text())
    assert read(path)[0].bytes_per_s == FIO["jobs"][0]["read"]["bw_bytes"]


def test_iperf3_parallel_streams_are_one_rate() -> None:
    (result,) = read(DATA / "iperf3_p4.json", placement_group="no")
    received = IPERF["end"]["sum_received"]
    assert result.bytes_per_s == pytest.approx(received["bytes"] / received["seconds"], rel=1e-3)
    assert (result.quantity, result.nodes, result.connections) == ("network", 2, 4)


def test_iperf3_reverse_and_both_directions() -> None:
    (back,) = read(DATA / "iperf3_reverse.json", placement_group="yes")
    assert "reverse" in back.method and back.placement_group == "yes"
    end = json.loads((DATA / "iperf3_bidir.json").read_text())["end"]
    (both,) = read(DATA / "iperf3_bidir.json", placement_group="no")
    ways = [end[name]["bits_per_second"] / 8 for name in ("sum_received", "sum_received_bidir_reverse")]
    assert both.bytes_per_s == min(ways)


def test_our_own_diskbench(tmp_path: Path) -> None:
    rate = {"repeats": 5, "lowest_total_bytes_per_s": 1.0, "highest_total_bytes_per_s": 9.0}
    document = {
        **ORIGIN, "instrument": "diskbench", "nodes": 1, "repeats": 5, "notes": ["ext4"],
        "file_systems": [{"device": "/dev/a"}, {"device": "/dev/b"}, {"device": "/dev/a"}],
        "rates": [
            {**rate, "mode": "mixed", "read_bytes_per_s": 3e8, "write_bytes_per_s": 2e8},
            {**rate, "mode": "read", "read_bytes_per_s": 9e8, "write_bytes_per_s": None},
        ],
        "runs": [{"mode": "mixed", "seconds": 10}, {"mode": "read", "seconds": 10}],
    }  # fmt: skip
    path = changed(tmp_path, document, lambda d: None)
    result = read_measurements([path], user_values={"zone": "here"}, mapping={})
    assert [(m.quantity, m.bytes_per_s, m.repeats) for m in result] == [
        ("simultaneous", 2e8, 5),
        ("read_only", 9e8, 5),
    ]
    assert result[0].instance_type == "i4i.4xlarge" and result[0].as_of == date(2026, 11, 1)
    assert result[0].disks == 2
    assert {m.aggregate for m in result} == {"median"}


def test_an_array_is_not_taken_for_single_disks(tmp_path: Path) -> None:
    rate = {"mode": "read", "repeats": 3, "write_bytes_per_s": None, "within_run_sigma": 0.1, "across_runs_sigma": 0.2}
    jbod = {**rate, "layout": "jbod", "read_bytes_per_s": 2e8}
    striped = {**rate, "layout": "raid0", "read_bytes_per_s": 3e8}
    document = {
        **ORIGIN, "instrument": "diskbench", "nodes": 1, "repeats": 3, "notes": [],
        "file_systems": [{"device": "/dev/a"}], "rates": [jbod, striped], "runs": [{"mode": "read", "seconds": 10}],
    }  # fmt: skip
    (result,) = read_measurements(
        [changed(tmp_path, document, lambda d: None)], user_values={"zone": "here"}, mapping={}
    )
    assert (result.bytes_per_s, result.within_run_sigma, result.across_time_sigma) == (2e8, 0.1, None)
    document["rates"] = [striped]
    (result,) = read_measurements(
        [changed(tmp_path, document, lambda d: None)], user_values={"zone": "here"}, mapping={}
    )
    assert result.bytes_per_s == 3e8 and "RAID-0" in result.note


def test_small_operations_and_sorting_measured_here_can_be_ingested(tmp_path: Path) -> None:
    operation = Operation(name="read4K", io_bytes=KIB4, writes=False, flush_probability=0, threads=(1, 2))
    suite = bench_small_io(tmp_path, seconds=0.2, file_bytes=8_192_000, operations=[operation], machine_type="m.large")
    sorting = bench_sort(data_bytes=1_000_000, threads=1, repeats=3, machine_type="m.large")
    for result in (suite, sorting):
        (tmp_path / f"{result.origin.instrument}.json").write_text(json.dumps(result.to_dict()))
    paths = [tmp_path / "smallio.json", tmp_path / "sortbench.json"]
    read4k, sort = read_measurements(paths, user_values={"zone": "here"}, mapping={})
    chosen = next(run for run in suite.runs if run.threads == suite.recommended_threads["read4K"])
    assert (read4k.quantity, read4k.threads, read4k.bytes_per_s) == ("read4K", chosen.threads, chosen.bytes_per_s)
    assert read4k.within_run_sigma is not None
    assert (sort.quantity, sort.aggregate, sort.bytes_per_s) == ("sort", "median", sorting.bytes_per_s_per_vcpu)


@pytest.mark.parametrize(("files_are", "sigma"), [("repeats", "across_time"), ("instances", "across_instances")])
def test_several_files_tell_how_a_rate_varies(tmp_path: Path, files_are: str, sigma: str) -> None:
    paths = []
    for factor in (1, 2):
        document = json.loads((DATA / "fio_read.json").read_text())
        side = document["jobs"][0]["read"]
        side["bw_bytes"], side["io_bytes"] = side["bw_bytes"] * factor, side["io_bytes"] * factor
        side["bw_samples"], side["bw_dev"] = 6, side["bw_mean"] * 0.1
        paths.append(tmp_path / f"{factor}.json")
        paths[-1].write_text(json.dumps(document))
    (result,) = read_measurements(paths, user_values=USER_VALUES, mapping={}, files_are=files_are)
    sigmas = {name: getattr(result, f"{name}_sigma") for name in ("across_time", "across_instances", "within_run")}
    assert sigmas.pop(sigma) == pytest.approx(math.log(2) / math.sqrt(2), rel=1e-3)
    assert sigmas.pop("within_run") == pytest.approx(0.1, rel=0.01) and list(sigmas.values()) == [None]


def test_our_own_netbench_gives_a_point_for_each_size(tmp_path: Path) -> None:
    runs = [
        {"nodes": n, "seconds": 10, "connections": 2, "slowest_bytes_per_s": r}
        for n, r in ((2, 1.0e9), (2, 1.2e9), (4, 9e8))
    ]
    document = {**ORIGIN, "instrument": "netbench", "runs": runs, "curve": []}
    result = read(changed(tmp_path, document, lambda d: None), placement_group="yes")
    assert [(m.nodes, m.bytes_per_s, m.repeats, m.aggregate) for m in result] == [
        (2, 1.1e9, 2, "slowest_of_n"), (4, 9e8, 1, "slowest_of_n"),
    ]  # fmt: skip


def test_what_cannot_be_known_is_asked_for_by_name() -> None:
    with pytest.raises(BadInputError) as error:
        read_measurements([DATA / "iperf3_p4.json"], user_values={}, mapping={})
    assert error.value.details == (
        "instance_type: give --type",
        "zone: give --where",
        "placement_group: give --placement-group or --no-placement-group",
    )


def test_what_the_file_says_is_not_overruled() -> None:
    assert "says nodes 2, --nodes says 8" in refusal(DATA / "iperf3_p4.json", placement_group="no", nodes=8)


def test_a_file_given_twice_is_refused() -> None:
    with pytest.raises(BadInputError, match="the same circumstances twice"):
        read_measurements([DATA / "fio_read.json"] * 2, user_values=USER_VALUES, mapping={})


def test_files_of_one_name_in_two_directories_are_two(tmp_path: Path) -> None:
    text = (DATA / "fio_read.json").read_text()
    paths = [tmp_path / node / "fio.json" for node in ("a", "b")]
    for path in paths:
        path.parent.mkdir()
        path.write_text(text)
    (result,) = read_measurements(paths, user_values=USER_VALUES, mapping={}, files_are="instances")
    assert result.instances == 2


def test_duplicate_rows_are_all_named(tmp_path: Path) -> None:
    table = tmp_path / "table.csv"
    table.write_text(
        "instance_type,quantity,bytes_per_s\na.large,network,1e9\nb.large,network,1e9\na.large,network,2e9\n"
    )
    with pytest.raises(BadInputError) as caught:
        read_measurements([table], user_values=USER_VALUES, mapping={})
    assert "table.csv: the same circumstances twice" in str(caught.value)
    assert list(caught.value.details) == ["line 2, line 4: a.large, network"]


def test_two_files_of_two_instances(tmp_path: Path) -> None:
    def slower(document: dict[str, Any]) -> None:
        document["jobs"][0]["read"]["bw_bytes"] /= 2
        document["jobs"][0]["read"]["io_bytes"] /= 2
        document["timestamp"] -= 2 * 86400

    paths = [DATA / "fio_read.json", changed(tmp_path, FIO, slower)]
    with pytest.raises(BadInputError, match="--files-are instances, or --files-are repeats"):
        read_measurements(paths, user_values=USER_VALUES, mapping={})
    (result,) = read_measurements(paths, user_values=USER_VALUES, mapping={}, files_are="instances")
    assert result.bytes_per_s == pytest.approx(0.75 * FIO["jobs"][0]["read"]["bw_bytes"])
    assert (result.instances, result.repeats, result.period_days) == (2, 1, 2.0)
    assert result.source == "fio_read.json, changed.json"


@pytest.mark.parametrize("cut", [0.2, 0.5, 0.99])
@pytest.mark.parametrize("name", ["fio_read.json", "fio_write_plus.json", "iperf3_p4.json"])
def test_truncated_files_are_refused(tmp_path: Path, name: str, cut: float) -> None:
    text, path = (DATA / name).read_text().rstrip(), tmp_path / "cut.json"
    path.write_text(text[: int(len(text) * cut)])
    assert "was it cut off" in refusal(path)


def test_jobs_of_several_kinds_must_be_told_apart(tmp_path: Path) -> None:
    def mixed(document: dict[str, Any]) -> None:
        other = copy.deepcopy(document["jobs"][0])
        other["jobname"], other["job options"]["rw"], other["write"] = "w", "write", other["read"]
        document["jobs"].append(other)

    path = changed(tmp_path, FIO, mixed)
    assert "seq: rw=read, w: rw=write" in refusal(path)
    assert [m.quantity for m in read(path, job="w")] == ["write_only"]
    assert "no job 'x'; there are seq, w" in refusal(path, job="x")


def test_jobs_one_after_the_other_do_not_add_up(tmp_path: Path) -> None:
    path = changed(tmp_path, FIO, lambda d: d["jobs"].append({**d["jobs"][0], "jobname": "second", "groupid": 1}))
    assert "one after the other" in refusal(path)


FIO_FAULTS: dict[str, Callable[[dict[str, Any]], Any]] = {
    "have no length": lambda d: d["jobs"][0]["read"].update(io_bytes=0, bw_bytes=0, runtime=0),
    "negative figure": lambda d: d["jobs"][0]["read"].update(bw_bytes=-1),
    "two units": lambda d: d["jobs"][0]["read"].update(bw_bytes=d["jobs"][0]["read"]["bw"]),
    "bw_bytes is missing": lambda d: d["jobs"][0]["read"].pop("bw_bytes"),
    "'fast', expected a number": lambda d: d["jobs"][0]["read"].update(bw_bytes="fast"),
    "depend on its version": lambda d: d.update({"fio version": "fio-2.2"}),
    "reports errors of seq": lambda d: d["jobs"][0].update(error=5),
    "no jobs": lambda d: d.update(jobs=[]),
    "measure operations": lambda d: d["jobs"][0]["job options"].update(bs="4k"),
    "is not understood": lambda d: d["jobs"][0]["job options"].update(bs="large"),
    "is no pattern": lambda d: d["jobs"][0]["job options"].update(rw="trim"),
    "no known instrument": lambda d: d.pop("fio version"),
}


@pytest.mark.parametrize("says", FIO_FAULTS)
def test_bad_fio_files_say_why(tmp_path: Path, says: str) -> None:
    assert says in refusal(changed(tmp_path, FIO, FIO_FAULTS[says]))


IPERF_FAULTS: dict[str, Callable[[dict[str, Any]], Any]] = {
    "iperf3 failed: unable to connect": lambda d: d.update(error="unable to connect"),
    "did not finish": lambda d: d.update(end={}),
    "over UDP": lambda d: d["start"]["test_start"].update(protocol="UDP"),
    "no sum_received": lambda d: d["end"].pop("sum_received"),
    "a run of no length": lambda d: d["end"]["sum_received"].update(bytes=0, seconds=0),
    "negative figure": lambda d: d["end"]["sum_received"].update(bytes=-5),
    "two units": lambda d: d["end"]["sum_received"].update(bits_per_second=d["end"]["sum_received"]["bytes"]),
}


@pytest.mark.parametrize("says", IPERF_FAULTS)
def test_bad_iperf3_files_say_why(tmp_path: Path, says: str) -> None:
    assert says in refusal(changed(tmp_path, IPERF, IPERF_FAULTS[says]), placement_group="no")


@pytest.mark.parametrize(
    ("document", "says"),
    [
        ({"instrument": "clock"}, "no instrument known here"),
        ({"instrument": "diskbench", **ORIGIN}, "not as diskbench writes it"),
        ({"instrument": "netbench", **ORIGIN, "runs": [{"nodes": "two"}]}, "not as netbench writes it"),
    ],
)
def test_bad_files_of_ours_say_why(tmp_path: Path, document: dict[str, Any], says: str) -> None:
    assert says in refusal(changed(tmp_path, document, lambda d: None))


@pytest.mark.parametrize("text", ["", "  \n", "[1]", "{}", '{"fio version": NaN}'])
def test_files_that_are_nothing_are_refused(tmp_path: Path, text: str) -> None:
    path = tmp_path / "nothing.json"
    path.write_text(text)
    refusal(path)
