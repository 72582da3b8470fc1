"""Sorting on a real Ray cluster: right answers, each byte moved as often as needed, whatever is lost meanwhile."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest

from planner.distributed_sort.dataset.dataset import Copy, Dataset, Partition, Recipe
from planner.errors import IoFailureError, UnfinishedError
from planner.native import core
from tests.marks import QUICK_SOAK, quick_soak

if TYPE_CHECKING:
    from conftest import SortCluster

RECORDS_PER_NODE = 100_000
ALONE, COORDINATED = 16, 2
"""Nodes for each coordinator: the driver alone handles three nodes, or there are two coordinators."""
Event = dict[str, Any]


def generated(cluster: SortCluster, name: str, *, recipes: bool = True, records: int = RECORDS_PER_NODE) -> Dataset:
    """Write test records to every node's disks and return the dataset."""
    partitions = []
    for node in range(1, cluster.emulated.nodes.workers + 1):
        path = cluster.directory(node) / name
        start = (node - 1) * records
        core.generate_file(str(path), records=records, start=start)
        recipe = Recipe(start=start) if recipes else None
        copy = Copy(uri=str(path), node=cluster.emulated.nodes.name(node))
        partitions.append(Partition(records=records, copies=(copy,), recipe=recipe))
    return Dataset(partitions=tuple(partitions))


def written(cluster: SortCluster, name: str, contents: list[bytes]) -> Dataset:
    """Write given records to the nodes in turn and return the dataset."""
    partitions = []
    for turn, content in enumerate(contents):
        node = 1 + turn % cluster.emulated.nodes.workers
        path = cluster.directory(node) / f"{name}-{turn}"
        path.write_bytes(content)
        copy = Copy(uri=str(path), node=cluster.emulated.nodes.name(node))
        partitions.append(Partition(records=len(content) // 100, copies=(copy,)))
    return Dataset(partitions=tuple(partitions))


def summary_of(paths: list[str]) -> Any:
    first, *rest = [core.validate_file(path) for path in paths]
    for partition in rest:
        first.append(partition)
    return first


def check(source: Dataset, output: Dataset, *, copies: int = 1, checksum: int | None = None) -> None:
    """Every copy is in order and holds the input's records; copies of a partition lie on different nodes."""
    expected = summary_of([partition.uri for partition in source.partitions]).checksum if checksum is None else checksum
    for copy in range(copies):
        summary = summary_of([partition.copies[copy].uri for partition in output.partitions])
        assert (summary.records, summary.unordered, summary.checksum) == (source.records, 0, expected)
    assert all(len({copy.node for copy in partition.copies}) == copies for partition in output.partitions)


def intermediate_files(cluster: SortCluster) -> list[Path]:
    nodes = range(1, cluster.emulated.nodes.workers + 1)
    return [path for node in nodes for path in cluster.directory(node).rglob(".planner-sort-*")]


def validation(cluster: SortCluster, dataset: Dataset) -> list[dict[str, Any]]:
    copies: list[dict[str, Any]] = cluster.do({"do": "validate", "dataset": json.loads(dataset.to_json())})["copies"]
    return copies


def test_indy_reads_and_writes_each_record_twice(sort_cluster: SortCluster, tmp_path: Path) -> None:
    source = generated(sort_cluster, "indy-in")
    output, report = sort_cluster.sort(source, tmp_path / "j", output="indy")
    check(source, output)
    moved = report["moved_bytes"]
    assert moved["input_read"] == moved["intermediate_read"] == moved["output_written"] == source.bytes
    assert source.bytes <= moved["intermediate_written"] < 1.01 * source.bytes
    assert moved["crossed_network"] == pytest.approx(source.bytes * 2 / 3, rel=0.05)
    assert report["largest_partition_bytes"] < 1.1 * source.bytes / report["partitions"]
    assert report["retries"] == 0
    assert intermediate_files(sort_cluster) == []
    assert not (tmp_path / "j").exists()


def test_daytona_keeps_every_partition_on_two_nodes(sort_cluster: SortCluster, tmp_path: Path) -> None:
    source = generated(sort_cluster, "daytona-in")
    output, report = sort_cluster.sort(source, tmp_path / "j", output="daytona", copies=2)
    check(source, output, copies=2)
    assert report["moved_bytes"]["replica_written"] == source.bytes
    intact = validation(sort_cluster, output)
    assert [copy["problems"] for copy in intact] == [[], []]
    assert [copy["validation"]["checksum"] for copy in intact] == [report["checksum"]] * 2
    with Path(output.partitions[0].copies[1].uri).open("r+b") as file:
        file.seek(50)
        file.write(b"another byte")
    first, second = validation(sort_cluster, output)
    assert first == intact[0]
    (problem,) = second["problems"]
    assert problem.startswith("copy 2 of partition 0: node-")
    assert problem.endswith(f"the manifest says {output.partitions[0].checksum}")


def test_uniform_keys_need_no_sample(sort_cluster: SortCluster, tmp_path: Path) -> None:
    source = generated(sort_cluster, "uniform-in")
    output, report = sort_cluster.sort(source, tmp_path / "j", output="uniform", uniform=True)
    check(source, output)
    assert report["moved_bytes"]["sample_read"] == 0
    assert report["largest_partition_bytes"] < 1.1 * source.bytes / report["partitions"]


def test_faster_nodes_get_more(sort_cluster: SortCluster, tmp_path: Path) -> None:
    source = generated(sort_cluster, "weighted-in")
    rates = {"node-1": 2.0, "node-2": 1.0, "node-3": 1.0}
    output, _ = sort_cluster.sort(source, tmp_path / "j", output="weighted", rates=rates)
    check(source, output)
    held = {
        name: sum(partition.records for partition in output.partitions if partition.copies[0].node == name)
        for name in rates
    }
    assert held["node-1"] == pytest.approx(source.records / 2, rel=0.15)


def equal_keys(records: int, *, share: float, seed: int) -> bytes:
    rng = np.random.default_rng(seed)
    made = rng.integers(0, 256, (records, 100), np.uint8)
    made[rng.random(records) < share, :10] = 77
    return made.tobytes()


def test_ninety_percent_equal_keys_are_balanced(sort_cluster: SortCluster, tmp_path: Path) -> None:
    source = written(sort_cluster, "equal", [equal_keys(60_000, share=0.9, seed=turn) for turn in range(3)])
    output, report = sort_cluster.sort(source, tmp_path / "j", output="equal")
    check(source, output)
    assert report["largest_partition_bytes"] < 1.6 * source.bytes / report["partitions"]


@pytest.mark.parametrize(
    ("name", "records"), [("none", [0, 0, 0]), ("one", [1]), ("fewer", [1, 1]), ("some", [5, 0, 1000])]
)
def test_few_records_or_none(sort_cluster: SortCluster, tmp_path: Path, name: str, records: list[int]) -> None:
    source = written(sort_cluster, name, [equal_keys(count, share=0, seed=turn) for turn, count in enumerate(records)])
    output, report = sort_cluster.sort(source, tmp_path / "j", output=name, copies=2)
    assert output.records == sum(records) == report["records"]
    check(source, output, copies=2)


def test_an_unreadable_partition_is_named_and_nothing_is_left(sort_cluster: SortCluster, tmp_path: Path) -> None:
    source = generated(sort_cluster, "unreadable-in", recipes=False)
    Path(source.partitions[1].uri).unlink()
    with pytest.raises(IoFailureError, match=r"node-2: cannot read .*unreadable-in: No such file"):
        sort_cluster.sort(source, tmp_path / "j", output="unreadable")
    assert intermediate_files(sort_cluster) == []
    assert not (sort_cluster.directory(1) / "unreadable").exists()
    assert Path(source.partitions[0].uri).exists(), "the input is never touched"


def test_a_truncated_record_is_named(sort_cluster: SortCluster, tmp_path: Path) -> None:
    source = generated(sort_cluster, "truncated-in", recipes=False)
    with Path(source.partitions[2].uri).open("r+b") as file:
        file.truncate(RECORDS_PER_NODE * 100 - 30)
    with pytest.raises(IoFailureError, match=r"node-3: .*truncated-in ends .* bytes too early"):
        sort_cluster.sort(source, tmp_path / "j", output="truncated")
    assert intermediate_files(sort_cluster) == []


def test_too_little_memory_is_refused(sort_cluster: SortCluster, tmp_path: Path) -> None:
    source = generated(sort_cluster, "memory-in", records=1000)
    with pytest.raises(Exception, match="hold no record"):
        sort_cluster.sort(source, tmp_path / "j", output="memory", memory_bytes=100)


class Once:
    """Acts once, when a phase has reached a share."""

    def __init__(self, act: Callable[[], object], *, phase: str, share: float) -> None:
        self._act, self._phase, self._share = act, phase, share
        self.done = False
        self.lost: list[str] = []

    def __call__(self, event: Event) -> None:
        if event["event"] == "lost":
            self.lost += event["nodes"]
        reached = event["event"] == "progress" and event["phase"] == self._phase
        if reached and not self.done and event["bytes_done"] >= self._share * event["bytes_total"]:
            self.done = True
            self._act()


MAP, REDUCE = "map and shuffle", "sort and reduce"


def test_minutesort_keeps_intermediate_data_in_memory(sort_cluster: SortCluster, tmp_path: Path) -> None:
    source = generated(sort_cluster, "minute-in")
    seen: set[str] = set()

    def look() -> None:
        seen.update(path.name for path in sort_cluster.emulated.nodes.memory(1).glob(".planner-sort-*/*.run"))
        assert intermediate_files(sort_cluster) == [], "nothing on the disks"

    fault = Once(look, phase=REDUCE, share=0.0)
    output, _ = sort_cluster.sort(source, tmp_path / "j", output="minute", in_memory=True, on_event=fault)
    check(source, output)
    assert seen
    assert not list(sort_cluster.emulated.nodes.memory(1).iterdir())


@pytest.mark.parametrize("nodes_each", [ALONE, pytest.param(COORDINATED, marks=pytest.mark.soak)])
def test_damaged_intermediate_files_are_made_again(sort_cluster: SortCluster, tmp_path: Path, nodes_each: int) -> None:
    """One is cut short, one is missing, and one has a flipped bit before phase two reads them, also where coordinators
    order the tasks.
    """
    name = f"damaged-{nodes_each}"
    source = generated(sort_cluster, f"{name}-in")
    events: list[Event] = []

    def harm() -> None:
        runs = sorted(sort_cluster.directory(2).rglob("*.run"))
        os.truncate(runs[0], runs[0].stat().st_size // 2)
        with runs[1].open("r+b") as flipped:
            byte, times = flipped.read(1)[0], os.fstat(flipped.fileno())
            flipped.seek(0)
            flipped.write(bytes([byte ^ 1]))
        os.utime(runs[1], ns=(times.st_atime_ns, times.st_mtime_ns))
        runs[-1].unlink()

    fault = Once(harm, phase=MAP, share=0.6)

    def on_event(event: Event) -> None:
        events.append(event)
        fault(event)

    output, report = sort_cluster.sort(
        source, tmp_path / "j", output=name, on_event=on_event, nodes_per_coordinator=nodes_each
    )
    assert fault.done
    check(source, output)
    assert {event["node"] for event in events if event["event"] == "damaged"} == {"node-2"}
    assert list(report["lost_nodes"]) == []
    assert source.bytes < report["moved_bytes"]["intermediate_written"] < 2 * source.bytes, "not all is made again"
    assert intermediate_files(sort_cluster) == []


def test_cloudsort_writes_to_volumes(sort_cluster: SortCluster, tmp_path: Path) -> None:
    source = generated(sort_cluster, "cloud-in")
    output, _ = sort_cluster.sort(source, tmp_path / "j", output="cloud", on_volume=True)
    check(source, output)
    volumes = {sort_cluster.emulated.nodes.volume(node) / "cloud" for node in (1, 2, 3)}
    assert {Path(partition.uri).parent for partition in output.partitions} == volumes
    assert {partition.copies[0].node for partition in output.partitions} == {""}, "any node can attach a volume"


def test_a_whole_run_on_generated_data_uses_every_disk(sort_cluster: SortCluster, tmp_path: Path) -> None:
    request, events = {"records": 120_001, "copies": 2, "skew": True}, list[Event]()
    done = sort_cluster.do({"do": "run", "request": request, "journal": str(tmp_path / "j")}, events.append)
    event = next(event for event in events if event["event"] == "sorted")
    again = sort_cluster.do({"do": "finish", "request": request, "sorted": event})
    assert {name: again[name] for name in again if name != "steps_s"} == {
        name: done[name] for name in again if name != "steps_s"
    }
    assert list(done["steps_s"]) == ["connect", "generate", "checksum of the input", "sort", "validate"]
    assert [(copy["records"], copy["checksum"], copy["sorted"]) for copy in done["validations"]] == [
        (120_001, done["checksum"], True)
    ] * 2
    assert (done["staged"], done["manifest"], done["dataset"]["records"]) == ({}, "", 120_001)
    for node in (1, 2, 3):
        for number in (0, 1):
            disk = sort_cluster.emulated.disk(node, number)
            assert list((disk / "input").iterdir()) and list((disk / "output").iterdir())


@pytest.mark.needs_root(why="finds a node's processes by its network namespace")
@pytest.mark.parametrize(
    ("phase", "nodes_each"),
    [
        (MAP, ALONE),
        pytest.param(MAP, COORDINATED, marks=pytest.mark.soak),
        pytest.param(REDUCE, COORDINATED, marks=QUICK_SOAK),
    ],
)
def test_killed_worker_processes_are_replaced(
    sort_cluster: SortCluster, tmp_path: Path, phase: str, nodes_each: int
) -> None:
    source = generated(sort_cluster, "worker-in")
    fault = Once(lambda: sort_cluster.kill(2, "ray::"), phase=phase, share=0.0)
    options = {"on_event": fault, "nodes_per_coordinator": nodes_each}
    output, report = sort_cluster.sort(source, tmp_path / "j", output=f"worker-{phase[:3]}", **options)
    assert fault.done
    check(source, output)
    assert report["lost_nodes"] == []


@pytest.mark.needs_root(why="finds a node's processes by its network namespace")
@pytest.mark.parametrize(
    ("phase", "nodes_each"),
    [
        pytest.param(MAP, ALONE, marks=pytest.mark.soak),
        pytest.param(MAP, COORDINATED, marks=pytest.mark.soak),
        pytest.param(REDUCE, ALONE, marks=QUICK_SOAK),
    ],
)
def test_a_second_call_goes_on_where_a_killed_driver_stopped(
    sort_cluster: SortCluster, tmp_path: Path, phase: str, nodes_each: int
) -> None:
    source = generated(sort_cluster, f"resume-in-{phase[:3]}", records=2 * RECORDS_PER_NODE)

    enough = 0.6  # at 0.3 sometimes no slice was stored yet
    event = Once(lambda: os.kill(sort_cluster.driver(), signal.SIGKILL), phase=phase, share=enough)
    with pytest.raises(IoFailureError, match="run the same command again"):
        options = {"on_event": event, "nodes_per_coordinator": nodes_each}
        sort_cluster.sort(source, tmp_path / "j", output=f"resume-{phase[:3]}", **options)
    assert (tmp_path / "j").exists()
    options = {"nodes_per_coordinator": nodes_each}
    output, report = sort_cluster.sort(source, tmp_path / "j", output=f"resume-{phase[:3]}", **options)
    check(source, output)
    assert report["resumed"]
    redone = report["moved_bytes"]["input_read" if phase == MAP else "output_written"]
    assert redone < source.bytes, "what was done is not done again"
    if phase == REDUCE:
        assert report["moved_bytes"]["input_read"] == 0
    assert intermediate_files(sort_cluster) == []


@pytest.mark.needs_root(why="mounts a small disk")
@pytest.mark.parametrize("phase", [MAP, pytest.param(REDUCE, marks=pytest.mark.soak)])
@pytest.mark.parametrize("nodes_each", [ALONE, pytest.param(COORDINATED, marks=QUICK_SOAK)])
def test_work_of_a_full_disk_moves_to_the_others(
    sort_cluster: SortCluster, tmp_path: Path, phase: str, nodes_each: int
) -> None:
    source, events, output = generated(sort_cluster, "full-in"), list[Event](), f"full-{phase[:3]}"
    with small_disk(sort_cluster, output, phase=phase) as folder:
        options = {"job": output, "on_event": events.append, "nodes_per_coordinator": nodes_each}
        dataset, report = sort_cluster.sort(source, tmp_path / "j", output=output, **options)
        sort_cluster.inside(2, "sh", "-c", f'test -z "$(ls -A {folder})"')
    check(source, dataset)
    assert {copy.node for partition in dataset.partitions for copy in partition.copies} == {"node-1", "node-3"}
    assert [event["node"] for event in events if event["event"] == "full"] == ["node-2"]
    assert report["lost_nodes"] == []
    assert intermediate_files(sort_cluster) == []


@pytest.mark.needs_root(why="mounts a small disk")
def test_where_no_other_can_do_it_a_full_disk_stops_the_job_until_there_is_room(
    sort_cluster: SortCluster, tmp_path: Path
) -> None:
    source = generated(sort_cluster, "stop-in", recipes=False)
    with (
        small_disk(sort_cluster, "stop", phase=REDUCE),
        pytest.raises(UnfinishedError, match=r"node-2: cannot write .*No space left(.|\n)*same command again"),
    ):
        sort_cluster.sort(source, tmp_path / "j", output="stop")
    dataset, report = sort_cluster.sort(source, tmp_path / "j", output="stop")
    check(source, dataset)
    assert (report["resumed"], report["moved_bytes"]["input_read"]) == (True, 0), "no slice is grouped again"
    assert intermediate_files(sort_cluster) == []


@contextmanager
def small_disk(cluster: SortCluster, name: str, *, phase: str) -> Iterator[Path]:
    """Give node 2 a disk that is too small for its intermediate files, or its output."""
    folder = cluster.directory(2) / (name if phase == REDUCE else f".planner-sort-{name}")
    folder.mkdir()
    cluster.inside(2, "mount", "-t", "tmpfs", "-o", "size=2m", "tmpfs", str(folder))
    try:
        yield folder
    finally:
        cluster.inside(2, "umount", str(folder))
        folder.rmdir()


HOG = """
import ray, sys, time
ray.init(address=sys.argv[1], logging_level="ERROR", log_to_driver=False)
def hold():
    time.sleep(600)
used = ray.remote(num_cpus=3)(hold).remote()
while ray.available_resources().get("CPU", 0) > 6:
    time.sleep(0.1)
print("used", flush=True)
time.sleep(600)
"""
"""Uses all CPUs of one of the three nodes."""


@contextmanager
def busy_node(cluster: SortCluster) -> Iterator[None]:
    words = cluster.emulated.command(0, sys.executable, "-c", HOG, cluster.emulated.ray.address)
    environment = cluster.emulated.environment()
    with subprocess.Popen(words, env=environment, stdout=subprocess.PIPE) as hog:
        assert hog.stdout is not None and hog.stdout.readline() == b"used\n"
        try:
            yield
        finally:
            hog.kill()


@quick_soak
def test_a_node_whose_cpus_are_in_use_is_left_in_peace(sort_cluster: SortCluster, tmp_path: Path) -> None:
    source = generated(sort_cluster, "free-in", records=1000)
    with busy_node(sort_cluster):
        output, report = sort_cluster.sort(source, tmp_path / "j", output="free")
    check(source, output)
    assert len(report["nodes"]) == 2


def test_without_the_token_nobody_gets_in(sort_cluster: SortCluster) -> None:
    code = f"import ray; ray.init(address={sort_cluster.emulated.ray.address!r}, logging_level='ERROR'); print('IN')"
    environment = {**sort_cluster.emulated.environment(), "RAY_AUTH_TOKEN": "0" * 64, "RAY_NUM_REDIS_GET_RETRIES": "1"}
    tried = subprocess.run(
        sort_cluster.emulated.command(0, sys.executable, "-c", code),
        env=environment, capture_output=True, text=True, check=False, timeout=120,
    )  # fmt: skip
    assert "IN" not in tried.stdout
    assert tried.returncode != 0
