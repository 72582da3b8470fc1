"""Random schedules of faults: a sort succeeds, or fails with an error after which the same call succeeds.

    FAULT_SCHEDULES=100-400 pytest -m soak tests/distributed_sort/test_fault_schedules_journey.py

Each number is a seed: it decides the data, and the faults of each node and their times. DuckDB checks the output.
"""

from __future__ import annotations

import json
import os
import random
import signal
import threading
import time
from collections.abc import Iterator
from contextlib import ExitStack, suppress
from dataclasses import dataclass, field
from pathlib import Path
from subprocess import CalledProcessError
from typing import TYPE_CHECKING, Any, Final

import duckdb
import pytest

from planner.clusters.emulated.shaping import Cap
from planner.distributed_sort.dataset.dataset import Dataset, read_manifest
from planner.distributed_sort.dataset.text_dataset import rows_of
from planner.errors import BadInputError, IoFailureError
from planner.sorting.text.text_job import CsvColumns
from tests.distributed_sort.test_object_store_journey import BUCKET, Store, store
from tests.distributed_sort.test_sort_journey import ALONE, COORDINATED, MAP, REDUCE

if TYPE_CHECKING:
    from conftest import SortCluster

__all__ = ["store"]
FIRST, LAST = map(int, os.environ.get("FAULT_SCHEDULES", "0-6").split("-"))
ROWS: Final = 60_000
"""Rows in each of three files."""
FAULTS: Final = ("kill", "power", "stop", "slow", "cut", "full", "flip", "duplicate", "change")
MOST_CALLS: Final = 4
LONGEST_S: Final = 400.0
"""Time limit for all calls of a schedule."""


@dataclass(frozen=True, kw_only=True)
class Fault:
    """A fault of a node, caused when a share of a phase is done."""

    kind: str
    node: int
    phase: str
    share: float


@dataclass(kw_only=True)
class Schedule:
    """A sort and its faults; some of them are undone before the next call."""

    seed: int
    cluster: SortCluster
    folder: Path
    faults: list[Fault] = field(init=False)
    undo: ExitStack = field(default_factory=ExitStack)
    others: list[threading.Thread] = field(default_factory=list)

    def __post_init__(self) -> None:
        self.chance = random.Random(self.seed)
        self.is_stored = self.chance.random() < 0.2
        self.options = {
            "job": f"s{self.seed}",
            "output": f"{BUCKET}/s{self.seed}" if self.is_stored else f"s{self.seed}",
            "copies": 1 if self.is_stored else self.chance.choice([1, 2]),
            "nodes_per_coordinator": self.chance.choice([ALONE, COORDINATED]),
        }
        self.faults = [
            Fault(
                kind=self.chance.choice(FAULTS),
                node=self.chance.choice([1, 2, 3]),
                phase=self.chance.choice([MAP, REDUCE]),
                share=self.chance.choice([0.0, 0.3, 0.6]),
            )
            for _ in range(self.chance.choice([1, 1, 2, 3]))
        ]
        self.write(self.seed)

    def write(self, seed: int) -> None:
        """Write the input, whose length does not depend on the seed."""
        chance = random.Random(seed)
        (self.folder / "in").mkdir(exist_ok=True)
        for number in range(3):
            rows = "".join(f"{chance.randrange(10**9):09d},{number}{at:07d},{'x' * 40}\n" for at in range(ROWS))
            (self.folder / "in" / f"{number}.csv").write_text("key,id,text\n" + rows)

    def source(self) -> Dataset:
        return rows_of([str(self.folder / "in")], CsvColumns(keys=("key:num",)), unique=False)

    def order(self) -> dict[str, Any]:
        request = {"source": json.loads(self.source().to_json()), "least_partition_bytes": 1_000_000} | self.options
        return {
            "do": "sort",
            "request": request,
            "journal": str(self.folder / "journal"),
            "manifest": str(self.folder / "out.json"),
            "replaces": self.is_stored,
        }

    def on_event(self, event: dict[str, Any]) -> None:
        if event["event"] != "progress":
            return
        for fault in list(self.faults):
            if event["phase"] == fault.phase and event["bytes_done"] >= fault.share * event["bytes_total"]:
                self.faults.remove(fault)
                getattr(self, f"_{fault.kind}")(fault.node)

    def _kill(self, node: int) -> None:
        self.cluster.kill(node, "ray::")

    def _power(self, node: int) -> None:
        self.cluster.lose(node)
        self._restart(node)

    def _restart(self, node: int) -> None:
        self.undo.callback(lambda: self.cluster.emulated.start_worker(node, store_bytes=80_000_000))
        self.undo.callback(self.cluster.emulated.nodes.end, node)

    def _stop(self, node: int) -> None:
        for pid in self.cluster.processes(node, "ray::"):
            with suppress(ProcessLookupError):
                os.kill(pid, signal.SIGSTOP)
        self._restart(node)

    def _slow(self, node: int) -> None:
        nodes = self.cluster.emulated.nodes
        nodes.cap([Cap(bytes_per_s=1e6) if number == node else None for number in (1, 2, 3)])
        self.undo.callback(nodes.cap, [None] * 3)

    def _cut(self, node: int) -> None:
        self.cluster.emulated.nodes.cut(node)
        self._restart(node)

    def _full(self, node: int) -> None:
        folder = self.cluster.directory(node) / f".planner-sort-s{self.seed}"
        with suppress(OSError, IndexError, CalledProcessError):  # the node has ended
            folder.mkdir(exist_ok=True)
            self.cluster.inside(node, "mount", "-t", "tmpfs", "-o", "size=300k", "tmpfs", str(folder))
            self.undo.callback(self._empty_disk, node, folder)

    def _empty_disk(self, node: int, folder: Path) -> None:
        with suppress(IndexError, CalledProcessError):  # the node has ended, or is a new one without this disk
            self.cluster.inside(node, "umount", "--lazy", str(folder))

    def _flip(self, node: int) -> None:
        for run in sorted(self.cluster.directory(node).rglob("*.run"))[:2]:
            with suppress(OSError), run.open("r+b") as file:  # it has been deleted
                times, byte = os.fstat(file.fileno()), file.read(1)[0]
                file.seek(0)
                file.write(bytes([byte ^ 4]))
                os.utime(run, ns=(times.st_atime_ns, times.st_mtime_ns))

    def _duplicate(self, _: int) -> None:
        other = threading.Thread(target=self._sort_beside)
        other.start()
        self.others.append(other)

    def _sort_beside(self) -> None:
        order = self.order()
        order["request"]["job"] += "b"  # each call has an id of its own
        with self.cluster.emulated.session() as session, suppress(BadInputError, IoFailureError):
            session.do(order, lambda _: None)

    def _change(self, _: int) -> None:
        self.write(self.seed + 1_000_000)

    def settle(self) -> None:
        """Undo the faults, last first, and wait for others that sort the same."""
        self.undo.close()
        for other in self.others:
            other.join()
        self.others.clear()


def call_until_done(schedule: Schedule) -> list[str]:
    """Sort as a user would, repeating the call once the cause of an error is put right. Return the errors."""
    errors = list[str]()
    while len(errors) < MOST_CALLS:
        try:
            schedule.cluster.do(schedule.order(), schedule.on_event)
        except BadInputError as error:
            errors.append(error.message)
            schedule.settle()
            if "another result is there" in str(error) or "is being written" in str(error):
                return errors
        except IoFailureError as error:
            errors.append(error.message)
        else:
            return errors
        finally:
            schedule.settle()
    raise AssertionError(errors)


def content(database: duckdb.DuckDBPyConnection, files: list[str]) -> tuple[Any, ...]:
    """Return the number of rows in files, a sum over all of them, and the number of rows before a smaller key."""
    columns = "{'key': 'BIGINT', 'id': 'VARCHAR', 'text': 'VARCHAR'}"
    query = f"""
        with rows as (
          select *, row_number() over () as place
          from read_csv(?, columns = {columns}, header = true, parallel = false, filename = false)
        )
        select count(*), sum(hash(key, id, text)::hugeint), count(*) filter (key < before)
        from (select *, lag(key) over (order by place) as before from rows)
    """
    found = database.execute(query, [files]).fetchone()
    assert found is not None
    return found


def output_files(schedule: Schedule, held: Store | None, *, copy: int) -> Iterator[str]:
    for number, partition in enumerate(read_manifest(schedule.folder / "out.json").partitions):
        uri = partition.copies[copy].uri
        if held is None or not uri.startswith("s3://"):
            yield uri
            continue
        path = schedule.folder / f"stored-{number}.csv"
        path.write_bytes(held.get(uri))
        yield str(path)


@pytest.mark.soak
@pytest.mark.needs_root(why="kills nodes, cuts links and mounts disks in network namespaces")
@pytest.mark.parametrize("seed", range(FIRST, LAST))
def test_a_sort_ends_right_or_can_be_called_again(
    sort_cluster: SortCluster, store: Store, tmp_path: Path, seed: int
) -> None:
    schedule = Schedule(seed=seed, cluster=sort_cluster, folder=tmp_path)
    planned, began = list(schedule.faults), time.monotonic()
    precious = [sort_cluster.directory(node) / f"s{seed}" / "precious.txt" for node in (1, 2, 3)]
    for path in precious:
        path.parent.mkdir()
        path.write_text("a user's")
    files = sorted(str(path) for path in (tmp_path / "in").iterdir())
    with duckdb.connect() as database:
        before = content(database, files)[:2]
    errors = call_until_done(schedule)
    print(seed, [fault.kind for fault in planned], schedule.options, errors, f"{time.monotonic() - began:.0f} s")
    assert time.monotonic() - began < LONGEST_S
    with duckdb.connect() as database:
        for copy in range(len(read_manifest(tmp_path / "out.json").partitions[0].copies)):
            *held, unordered = content(database, list(output_files(schedule, store, copy=copy)))
            assert tuple(held) in (before, content(database, files)[:2]), "the input as it was, or as it is"
            assert unordered == 0
    assert [path.read_text() for path in precious] == ["a user's"] * 3
