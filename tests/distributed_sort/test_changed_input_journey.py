"""Input that is replaced during a sort by a file of the same size and time ends it, and nothing is published."""

from __future__ import annotations

import json
import os
import shutil
import signal
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from refusals import refused

from planner.distributed_sort.dataset.dataset import Dataset, Partition, TextFormat, read_manifest
from planner.distributed_sort.dataset.table_dataset import tables_of
from planner.distributed_sort.dataset.text_dataset import lines_of, rows_of
from planner.errors import InputChangedError, IoFailureError
from planner.sorting.text.text_job import CsvColumns
from tests.distributed_sort.dataset.test_input_versions import replaced, rewritten
from tests.distributed_sort.test_object_store_journey import BUCKET, ON_HEAD, Store, store
from tests.distributed_sort.test_sort_journey import ALONE, COORDINATED, MAP, REDUCE
from tests.distributed_sort.test_text_journey import once as when_begun

if TYPE_CHECKING:
    from conftest import SortCluster

__all__ = ["store"]
SAMPLE = "sample"
ROWS = 300_000


def rows(mark: str) -> bytes:
    return b"".join(b"%09d,%s%07d\n" % (n * 7919 % ROWS, mark.encode(), n) for n in range(ROWS))


def order(source: Dataset, folder: Path, **options: Any) -> dict[str, Any]:
    request = {"source": json.loads(source.to_json()), "least_partition_bytes": 1_000_000, "output": "changed"}
    places = {"journal": str(folder / "journal"), "manifest": str(folder / "out.json")}
    return {"do": "sort", "request": request | options} | places


def require_nothing_left(cluster: SortCluster, folder: Path, kept: Path) -> None:
    nodes = (1, 2, 3)
    assert [path.name for node in nodes for path in cluster.directory(node).glob("changed/*")] == [kept.name]
    assert not [path for node in nodes for path in cluster.directory(node).rglob(".planner-sort-*")]
    assert not (folder / "out.json").exists() and not (folder / "journal").exists()
    assert kept.read_text() == "a user's"


def once(cluster: SortCluster, act: Callable[[], object], *, phase: str) -> Callable[[dict[str, Any]], None]:
    """Return a function that acts once when a phase begins, while the driver waits."""

    def act_meanwhile() -> None:
        driver = cluster.driver()
        os.kill(driver, signal.SIGSTOP)
        act()
        os.kill(driver, signal.SIGCONT)

    return when_begun(act_meanwhile, phase=phase)


@pytest.fixture
def kept(sort_cluster: SortCluster) -> Path:
    for node in (1, 2, 3):
        folder = sort_cluster.directory(node) / "changed"
        shutil.rmtree(folder, ignore_errors=True)
        folder.mkdir()
    path = folder / "part-000000.csv"
    path.write_text("a user's")
    return path


@pytest.mark.parametrize(
    ("phase", "change", "group"),
    [
        (SAMPLE, replaced, ALONE),
        (MAP, replaced, ALONE),
        (MAP, rewritten, COORDINATED),
        (REDUCE, replaced, ALONE),
        (REDUCE, rewritten, COORDINATED),
    ],
)
def test_a_replaced_file_ends_the_sort(
    sort_cluster: SortCluster, tmp_path: Path, kept: Path, phase: str, change: Callable[[Path, bytes], None], group: int
) -> None:
    files = [tmp_path / f"{number}.csv" for number in range(3)]
    for path in files:
        path.write_bytes(b"k,t\n" + rows("A"))
    asked = order(
        rows_of([str(path) for path in files], CsvColumns(keys=("k:num",)), unique=False),
        tmp_path,
        nodes_per_coordinator=group,
    )
    other = b"k,t\n" + rows("B")
    with pytest.raises(InputChangedError, match=str(files[1])) as caught:
        sort_cluster.do(asked, once(sort_cluster, lambda: change(files[1], other), phase=phase))
    assert caught.value.exit_code == 6
    require_nothing_left(sort_cluster, tmp_path, kept)
    sort_cluster.do(asked)
    held = [Path(part.uri).read_bytes() for part in read_manifest(tmp_path / "out.json").partitions]
    held_rows = b"".join(part.removeprefix(b"k,t\n") for part in held).splitlines()
    assert sorted(held_rows) == sorted((rows("A") * 2 + rows("B")).splitlines())


@pytest.mark.parametrize("phase", [MAP, REDUCE])
def test_a_replaced_table_ends_the_sort(sort_cluster: SortCluster, tmp_path: Path, kept: Path, phase: str) -> None:
    path, other = tmp_path / "in.parquet", tmp_path / "other"
    numbers = [n * 7919 % ROWS for n in range(ROWS)]
    for name, keys in (path, numbers), (other, numbers[::-1]):
        table = pa.table({"k": keys, "t": ["text"] * ROWS})
        pq.write_table(table, name, row_group_size=10_000, compression="none", use_dictionary=False)
    content = other.read_bytes()
    asked = order(tables_of([str(path)], ["k"]), tmp_path)
    with pytest.raises(InputChangedError, match=str(path)):
        sort_cluster.do(asked, once(sort_cluster, lambda: replaced(path, content), phase=phase))
    require_nothing_left(sort_cluster, tmp_path, kept)


@pytest.mark.parametrize("phase", [SAMPLE, MAP, REDUCE])
def test_a_replaced_object_ends_the_sort(sort_cluster: SortCluster, store: Store, tmp_path: Path, phase: str) -> None:
    source = Dataset(
        partitions=tuple(
            Partition(records=len(rows("A")), copies=(copy,))
            for copy in store.put({f"changed-{phase[:3]}/{number}": rows("A") for number in range(2)})
        ),
        layout=lines_of([__file__], TextFormat()).layout,
    )
    name = source.partitions[1].uri.removeprefix(f"{BUCKET}/")
    code = ON_HEAD.format(bucket=BUCKET, code=f"obstore.put(store, {name!r}, sys.stdin.buffer.read())")
    words = sort_cluster.emulated.command(0, sys.executable, "-c", code)
    with subprocess.Popen(words, env=sort_cluster.emulated.environment(), stdin=subprocess.PIPE) as writer:
        with pytest.raises(InputChangedError, match=name):
            sort_cluster.do(
                order(source, tmp_path, output=f"{BUCKET}/changed-{phase[:3]}-sorted"),
                once(sort_cluster, lambda: writer.communicate(rows("B")), phase=phase),
            )
        assert not writer.wait()
    assert not store.sizes(f"changed-{phase[:3]}-sorted") and not (tmp_path / "out.json").exists()


@pytest.mark.needs_root(why="mounts a folder in network namespaces")
def test_nodes_with_files_of_their_own_by_one_name_sort_them(sort_cluster: SortCluster, tmp_path: Path) -> None:
    """Their inodes and times of last change differ."""
    folder, own = tmp_path / "in", tmp_path / "own"
    folder.mkdir()
    for number in range(3):
        (folder / str(number)).write_bytes(rows("A"))
    shutil.copytree(folder, own)
    sort_cluster.inside(2, "mount", "--bind", str(own), str(folder))
    try:
        sort_cluster.do(order(lines_of([str(folder)], TextFormat()), tmp_path))
    finally:
        sort_cluster.inside(2, "umount", str(folder))
    held = [Path(part.uri).read_bytes() for part in read_manifest(tmp_path / "out.json").partitions]
    assert b"".join(held).count(b"\n") == 3 * ROWS


def test_what_a_killed_driver_did_with_a_replaced_file_does_not_count(
    sort_cluster: SortCluster, tmp_path: Path, kept: Path
) -> None:
    """Their pieces are alike: one row differs."""
    path = tmp_path / "in"
    path.write_bytes(rows("A"))
    asked, events = order(lines_of([str(path)], TextFormat()), tmp_path), list[str]()
    with refused("head-lost", kind=IoFailureError):
        sort_cluster.do(asked, once(sort_cluster, lambda: os.kill(sort_cluster.driver(), 9), phase=REDUCE))
    content = bytearray(rows("A"))
    content[5000:5001] = b"x"
    replaced(path, bytes(content))
    result = sort_cluster.do(asked, lambda event: events.append(event["event"]))
    assert "anew" in events and not result["report"]["resumed"]
    held = b"".join(Path(part.uri).read_bytes() for part in read_manifest(tmp_path / "out.json").partitions)
    assert sorted(held.splitlines()) == sorted(bytes(content).splitlines())
    assert kept.exists()
