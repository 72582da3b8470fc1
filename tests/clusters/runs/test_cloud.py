"""`planner run --cloud aws` from end to end: an emulated EC2 whose machines are reached by SSH, measured, and sort."""

from __future__ import annotations

import shutil
import signal
import subprocess
import urllib.request
from collections.abc import Iterator
from dataclasses import replace
from itertools import pairwise
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from emulated_ec2 import EmulatedEc2
from emulated_machines import EmulatedMachines
from rented_runs import PACE, RECORDS, run_words, signalling
from secret_watcher import watch_for_secrets

from planner.clusters.provisioning.run_directory import RunDirectory
from planner.distributed_sort.dataset import object_store
from planner.distributed_sort.dataset.dataset import read_manifest
from planner.distributed_sort.dataset.partition_reader import read_file, read_records
from planner.native import core
from planner.schemas.plan import ADDRESS_LINE, MACHINES_LINE, ROOTS_LINE
from planner.schemas.run_report import RunReport

pytestmark = pytest.mark.needs_root(why="machines are network namespaces")
SLOW_MBIT = 10  # far slower than a shared disk ever makes a machine look
LENT = "the-secret-of-the-account"
SWEEP = ("cluster", "sweep", "--region", "us-east-1", "--all", "--yes")


@pytest.fixture
def store(ec2: EmulatedEc2, machines: EmulatedMachines, monkeypatch: pytest.MonkeyPatch) -> Iterator[str]:
    """An object store with three buckets, one of which holds 20 MB of input in objects of different sizes."""
    with machines.object_store("10.77.200.1") as url:
        for name in ("data", "sorted", "refusing"):
            request = urllib.request.Request(f"{url}/{name}", method="PUT")
            urllib.request.urlopen(request, timeout=30).close()
        ec2.extra = {"AWS_ENDPOINT_URL_S3": url, "AWS_ALLOW_HTTP": "true", "AWS_REGION": "us-east-1"}
        for name, value in ec2.extra.items():
            monkeypatch.setenv(name, value)
        for number, (start, end) in enumerate(pairwise([0, RECORDS // 10, RECORDS // 2, RECORDS])):
            records = np.empty((end - start) * 100, np.uint8)
            core.generate_records(records.data, start=start, skewed=False, threads=1)
            object_store.write_object(f"s3://data/job/{number}", records)
        yield url
    ec2.extra = {}
    object_store._store.cache_clear()


@pytest.mark.soak
@pytest.mark.quick
def test_rented_measured_sorted_validated_and_gone(
    ec2: EmulatedEc2,
    machines: EmulatedMachines,
    store: str,
    wheels: Path,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """One of three machines has a slow link: it is ended, the job is replanned, done and accounted for. Input comes
    from an object store, and output goes there.
    """
    machines.caps = {0: SLOW_MBIT}
    out = tmp_path / "report.json"
    monkeypatch.setattr(ec2, "extra", ec2.extra | {"PLANNER_MEASUREMENTS": str(tmp_path / "mine")})
    staged = ("--input", "s3://data/job", "--output", "s3://sorted/job", "--lend-credentials")
    with watch_for_secrets(ec2, machines, account=[LENT]) as watcher:
        words = run_words(wheels, "--out", str(out), source=staged)
        ended = ec2.planner(*words, policy=PACE, within_s=300)
    assert ended.code == 0, ended.text
    report = RunReport.from_json(out.read_text("utf-8"))
    directory = RunDirectory.open(ec2.runs()[0])
    assert report.passed and [check.records for check in report.checks] == [RECORDS] * 2
    assert_the_output_is_in_the_store(report, directory)
    assert_staging_is_compared(report)
    assert_the_slow_one_was_sent_away(ec2, report, directory, slow=machines.order[0])
    assert_accounted_for(report, directory, ended.text)
    assert not directory.key.exists()
    watcher.require_hidden(ended.text)
    assert "measurements stored in" in ended.text
    assert ec2.left() == {} and machines.are_gone()


@pytest.mark.soak
def test_sorted_in_place_from_store_to_store(
    ec2: EmulatedEc2, machines: EmulatedMachines, store: str, wheels: Path, tmp_path: Path
) -> None:
    """Machines read the input from the object store while they sort, and write the output there; nothing is staged."""
    out = tmp_path / "report.json"
    places = ("--input", "s3://data/job", "--output", "s3://sorted/job", "--lend-credentials")
    with watch_for_secrets(ec2, machines, account=[LENT]) as watcher:
        words = run_words(wheels, "--model", "object-store", "--out", str(out), source=places)
        ended = ec2.planner(*words, policy=PACE, within_s=300)
    assert ended.code == 0, ended.text
    report = RunReport.from_json(out.read_text("utf-8"))
    assert report.passed and [check.records for check in report.checks] == [RECORDS]
    assert report.staging == () and not {"stage in", "stage out", "generate"} & set(report.steps_s)
    assert_the_output_is_in_the_store(report, RunDirectory.open(ec2.runs()[0]))
    watcher.require_hidden(ended.text)
    assert ec2.left() == {} and machines.are_gone()


@pytest.mark.soak
def test_output_on_the_machines_is_fetched_and_sent_before_they_go(
    ec2: EmulatedEc2, machines: EmulatedMachines, store: str, wheels: Path, tmp_path: Path
) -> None:
    words = run_words(wheels, "--keep", source=("--input", "s3://data/job", "--lend-credentials"))
    kept = ec2.planner(*words, policy=PACE, within_s=300)
    assert kept.code == 0 and "goes with them in the end" not in kept.text, kept.text
    (run,) = ec2.runs()
    fetched = ec2.planner("cluster", "fetch", run, str(tmp_path / "here"), policy=PACE)
    assert fetched.code == 0, fetched.text
    here = read_manifest(tmp_path / "here" / "output.json")
    parts = [read_records(part, here.layout, first=0, records=part.records) for part in here.partitions]
    summary = core.validate_records(np.concatenate(parts).data)
    assert (summary.records, summary.unordered) == (RECORDS, 0)
    sent = ec2.planner("cluster", "fetch", run, "s3://sorted/late", policy=PACE, within_s=120)
    assert sent.code == 0, sent.text
    assert sum(object_store.list_files("s3://sorted/late").values()) >= RECORDS * 100
    ended = ec2.planner("cluster", "down", run, policy=PACE)
    assert ended.code == 0 and "goes with them" not in ended.text and ec2.left() == {}


@pytest.mark.soak
def test_rows_of_csv_from_a_store_and_back(
    ec2: EmulatedEc2, machines: EmulatedMachines, store: str, wheels: Path, tmp_path: Path
) -> None:
    """Objects are staged whole; the bytes of a job without records need not be whole records."""
    numbers = [number * 7919 % 20_011 for number in range(20_000)]
    parts = [b"k,t\n" + b"".join(b'%d,"two\nlines"\n' % number for number in numbers[first::3]) for first in range(3)]
    for number, part in enumerate(parts):
        object_store.write_object(f"s3://data/rows/{number}.csv", np.frombuffer(part, np.uint8))
    out = tmp_path / "report.json"
    places = ("--input", "s3://data/rows", "--output", "s3://sorted/rows", "--lend-credentials")
    keyed = ("--format", "csv", "--key", "k:int:desc", "--out", str(out))
    ended = ec2.planner(*run_words(wheels, *keyed, source=places), policy=PACE, within_s=300)
    assert ended.code == 0, ended.text
    assert "of rows in 3 objects, none of which is divided while it is staged" in ended.text
    report = RunReport.from_json(out.read_text("utf-8"))
    assert report.passed and [check.records for check in report.checks] == [20_000] * 2
    header = len(b"k,t\n")
    assert report.plan.request.data_bytes == sum(map(len, parts)) - 3 * header
    assert report.staging[0].bytes == sum(map(len, parts))
    manifest = read_manifest(RunDirectory.open(ec2.runs()[0]).path / "output.json")
    read = [
        read_records(partition, manifest.layout, first=0, records=partition.records)
        for partition in manifest.partitions
    ]
    expected = b"".join(b'%d,"two\nlines"\n' % number for number in sorted(numbers, reverse=True))
    assert np.concatenate(read).tobytes() == expected
    assert ec2.left() == {} and machines.are_gone()


@pytest.mark.soak
def test_tables_are_sorted_in_place(
    ec2: EmulatedEc2, machines: EmulatedMachines, store: str, wheels: Path, tmp_path: Path
) -> None:
    """Machines read Parquet from the object store while they sort, with the software they got, and write it there."""
    numbers = [number * 7919 % 20_011 for number in range(20_000)]
    for first in range(3):
        sink = pa.BufferOutputStream()
        pq.write_table(pa.table({"k": numbers[first::3]}), sink, row_group_size=3000)
        content = np.frombuffer(sink.getvalue(), np.uint8)
        object_store.write_object(f"s3://data/tables/day={first}/a.parquet", content)
    out = tmp_path / "report.json"
    places = ("--input", "s3://data/tables", "--output", "s3://sorted/tables", "--lend-credentials")
    keyed = ("--format", "parquet", "--key", "k:desc", "--model", "object-store", "--out", str(out))
    ended = ec2.planner(*run_words(wheels, *keyed, source=places), policy=PACE, within_s=300)
    assert ended.code == 0, ended.text
    assert "20000 rows in 3 objects" in ended.text
    report = RunReport.from_json(out.read_text("utf-8"))
    assert report.passed and report.staging == () and report.checks[0].records == 20_000
    assert report.plan.request.data_bytes == 20_000 * 8, "what they are in memory"
    manifest = read_manifest(RunDirectory.open(ec2.runs()[0]).path / "output.json")
    files = [pq.read_table(pa.BufferReader(read_file(partition).tobytes())) for partition in manifest.partitions]
    assert pa.concat_tables(files)["k"].to_pylist() == sorted(numbers, reverse=True)
    assert ec2.left() == {} and machines.are_gone()


def assert_the_output_is_in_the_store(report: RunReport, directory: RunDirectory) -> None:
    """Check that the manifest, both copies, lists objects that hold the input's records in order."""
    there = object_store.list_files("s3://sorted/job")
    manifest = read_manifest(directory.path / "output.json")
    assert report.manifest == "s3://sorted/job/manifest.json" and report.manifest in there
    assert set(there) - {report.manifest} == {partition.uri for partition in manifest.partitions}
    read = [
        read_records(partition, manifest.layout, first=0, records=partition.records)
        for partition in manifest.partitions
    ]
    summary = core.validate_records(np.concatenate(read).data)
    assert (summary.records, summary.unordered) == (RECORDS, 0)
    assert f"{summary.checksum:x}" == report.checks[0].checksum


def assert_staging_is_compared(report: RunReport) -> None:
    assert [step.name for step in report.staging] == ["stage in", "stage out"]
    assert [step.place for step in report.staging] == ["s3://data/job", "s3://sorted/job"]
    for step in report.staging:
        assert step.bytes == RECORDS * 100 and step.requests >= 3
        assert report.plan.best is not None and step.predicted_s == report.plan.best.overheads_s[step.name]
        assert step.measured_s == report.steps_s[step.name]
        assert step.predicted_usd is not None and step.measured_usd is not None and step.measured_usd > 0


def assert_the_slow_one_was_sent_away(
    ec2: EmulatedEc2, report: RunReport, directory: RunDirectory, *, slow: str
) -> None:
    crew = next(event.details for event in directory.events() if event.what == "crew")
    assert slow in crew["idle"] and slow in report.machine["dropped"], (slow, crew, report.machine["dropped"])
    ended = [seen for seen in ec2.proxy.seen if seen.action == "TerminateInstances" and "DryRun" not in seen.params]
    assert slow in ended[0].params.values() and slow not in ended[-1].params.values()
    assert report.first_plan is not None and report.first_plan.best is not None and report.plan.best is not None
    assert report.first_plan.best.nodes == 2
    assert report.plan.request.assume["network"] == pytest.approx(report.machine["network_bytes_per_s"])
    assert [phase.predicted_s for phase in report.phases] == [phase.time_s for phase in report.plan.best.phases]


def assert_accounted_for(report: RunReport, directory: RunDirectory, text: str) -> None:
    stored = RunReport.from_json((directory.path / "report.json").read_text("utf-8"))
    assert stored == report
    assert report.cost is not None and report.cost.node_hours > 0
    lines = {line.name: line.usd for line in report.cost.bill}
    assert lines[MACHINES_LINE] == pytest.approx(report.cost.node_hours * 0.172, rel=1e-6)
    assert {ROOTS_LINE, ADDRESS_LINE} < lines.keys()
    assert report.cost.usd == pytest.approx(sum(usd for usd in lines.values() if usd is not None))
    assert list(report.steps_s)[:4] == ["launch", "equip", "measure", "start Ray"]
    assert list(report.steps_s)[-1] == "take down"
    measured = {path.name.partition("-")[0] for path in (directory.path / "measured").iterdir()}
    assert measured == {"disk", "network.json"}
    assert "Expected before measuring" in text and "planned for 2 nodes before measuring" in text


@pytest.mark.soak
def test_a_result_that_the_store_refuses_stays_on_the_machines_until_it_takes_it(
    ec2: EmulatedEc2, machines: EmulatedMachines, store: str, wheels: Path
) -> None:
    """The machines stay until they expire; the messages suffice to fetch the whole output from them. Once the store
    accepts it, `attach` sends it there, and the run is over.
    """
    places = ("--input", "s3://data/job", "--output", "s3://refusing/job", "--lend-credentials")
    ended = ec2.planner(*run_words(wheels, source=places), policy=PACE, within_s=400)
    assert ended.code == 6 and "partitions failed while the output was sent" in ended.text, ended.text
    (run,) = ec2.runs()
    directory = RunDirectory.open(run).path
    assert f"planner cluster fetch {directory.name} FOLDER" in ended.text
    assert f"planner cluster down {run}" in ended.text and ec2.machines() >= 2
    manifest = read_manifest(directory / "output.json")
    command = ["ssh", "-F", str(directory / "ssh_config")]
    fetched = [
        subprocess.run([*command, copy.node, "cat", copy.uri], capture_output=True, check=True).stdout
        for copy in (partition.copies[0] for partition in manifest.partitions)
    ]
    summary = core.validate_records(b"".join(fetched))
    assert (summary.records, summary.unordered) == (RECORDS, 0)
    request = urllib.request.Request(f"{store}/refusing/no-more", method="PUT")
    urllib.request.urlopen(request, timeout=30).close()
    attached = ec2.planner("cluster", "attach", run, policy=PACE, within_s=300)
    assert attached.code == 0 and "trying again what follows the sort" in attached.text, attached.text
    report = RunReport.from_json((directory / "report.json").read_text("utf-8"))
    assert report.passed and report.manifest == "s3://refusing/job/manifest.json"
    assert {"sort", "stage in", "stage out"} <= set(report.steps_s)
    assert ec2.left() == {}


@pytest.mark.soak
@pytest.mark.parametrize(
    "word", ["waiting for the head", "bringing", "measuring the disks", "ending 1 machine", "sort"]
)
@pytest.mark.parametrize("way", ["down", "sweep"])
def test_killed_while_it_runs(ec2: EmulatedEc2, machines: EmulatedMachines, wheels: Path, word: str, way: str) -> None:
    """Killed at a given message, a run leaves only what `down`, or `sweep` without its state, finds and removes."""
    machines.caps = {0: SLOW_MBIT}
    ended = ec2.planner(*run_words(wheels), policy=PACE, within_s=300, meanwhile=signalling(signal.SIGKILL, word))
    assert ended.code == -signal.SIGKILL, ended.text
    assert ec2.left()["instance"] >= 2
    run = ec2.runs()[0]
    if way == "sweep":
        shutil.rmtree(ec2.home)
    assert ec2.planner(*(SWEEP if way == "sweep" else ("cluster", "down", run)), policy=PACE).code == 0
    assert ec2.left() == {}


@pytest.mark.soak
@pytest.mark.parametrize("word", ["bringing", "measuring the network", "sort"])
def test_ended_by_a_signal(ec2: EmulatedEc2, machines: EmulatedMachines, wheels: Path, word: str) -> None:
    meanwhile = signalling(signal.SIGTERM, word)
    ended = ec2.planner(*run_words(wheels), policy=PACE, within_s=300, meanwhile=meanwhile)
    assert ended.code == 130, ended.text
    assert ec2.left() == {}


@pytest.mark.soak
def test_a_machine_that_never_answers_is_given_up(ec2: EmulatedEc2, machines: EmulatedMachines, wheels: Path) -> None:
    machines.mute = {0}
    ended = ec2.planner(*run_words(wheels, "--json"), policy=replace(PACE, join_s=20.0), within_s=300)
    assert ended.code == 0, ended.text
    assert "giving up i-" in ended.text and ec2.left() == {}


@pytest.mark.soak
def test_a_machine_where_ray_does_not_start_is_replaced_by_the_spare(
    ec2: EmulatedEc2, machines: EmulatedMachines, wheels: Path, tmp_path: Path
) -> None:
    """It is one of the first two, but not the head: the other and the head do the work, as many as planned."""
    machines.without_ray = {0}
    out = tmp_path / "report.json"
    ended = ec2.planner(*run_words(wheels, "--out", str(out)), policy=PACE, within_s=400)
    assert ended.code == 0, ended.text
    report = RunReport.from_json(out.read_text("utf-8"))
    assert report.passed and report.machine["nodes"] == 2
    crew = next(event for event in reversed(RunDirectory.open(ec2.runs()[0]).events()) if event.what == "crew")
    assert machines.order[0] not in crew.details["working"]
    assert ec2.left() == {}


@pytest.mark.soak
def test_too_few_that_answer_is_a_clean_retreat(ec2: EmulatedEc2, machines: EmulatedMachines, wheels: Path) -> None:
    machines.mute = {0, 1}
    ended = ec2.planner(*run_words(wheels), policy=replace(PACE, join_s=15.0), within_s=300)
    assert ended.code == 4, ended.text
    assert "1 machine ready; 2 needed" in ended.text and ec2.left() == {}


@pytest.mark.soak
def test_a_head_with_another_host_key_is_not_spoken_to(
    ec2: EmulatedEc2, machines: EmulatedMachines, wheels: Path
) -> None:
    machines.has_false_keys = True
    ended = ec2.planner(*run_words(wheels), policy=replace(PACE, join_s=5.0), within_s=300)
    assert ended.code == 6, ended.text
    assert "host key" in ended.text.lower() and ec2.left() == {}


@pytest.mark.soak
def test_kept_until_it_is_taken_down(ec2: EmulatedEc2, machines: EmulatedMachines, wheels: Path) -> None:
    ended = ec2.planner(*run_words(wheels, "--keep"), policy=PACE, within_s=300)
    assert ended.code == 0, ended.text
    run = ec2.runs()[0]
    assert f"planner cluster down {run}" in ended.text
    assert ec2.left()["instance"] in (2, 3), "an idle spare goes, unless it is the head"
    assert ec2.planner("cluster", "down", run, policy=PACE).code == 0
    assert ec2.left() == {}
