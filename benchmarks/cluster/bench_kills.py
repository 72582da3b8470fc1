"""Processes killed and links cut at random moments of a cluster sort: does it finish, is it right, how much longer?

A Daytona sort on emulated nodes is disturbed `--kills` times, in turn by kill -9 of all worker processes of a node, by
kill -9 of its raylet, and by cutting its link; node and moment are drawn. Before each it is timed undisturbed, after a
sort that warms up what was started anew. Records on a lost node are made anew from their recipe; text and Parquet lie
where all nodes reach them. As root, with `pip install 'sortplanner[ray,arrow]'`:

    python benchmarks/cluster/bench_kills.py --kills 20
    python benchmarks/cluster/bench_kills.py --kills 6 --format parquet
"""

from __future__ import annotations

import argparse
import json
import os
import random
import signal
import tempfile
import threading
import time
from dataclasses import replace
from pathlib import Path
from statistics import median
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from planner.distributed_sort.content import content_of
from planner.distributed_sort.dataset import Copy, Dataset, Layout, Partition, Recipe, TextFormat, dataset_of
from planner.distributed_sort.table_dataset import tables_of
from planner.emulation.ray import EmulatedRay, emulated_ray
from planner.emulation.shaping import parse_shaping
from planner.errors import PlannerError
from planner.native import core
from planner.ray_cluster.driver_session import Session
from planner.sorting.keys import parse_key
from planner.sorting.table_hash import rows_checksum

FAULTS = ("workers", "raylet", "link")
STORE_BYTES = 200_000_000


def generated(cluster: EmulatedRay, records: int) -> tuple[Dataset, int]:
    """Write `records` records to each node and return the dataset and its checksum."""
    partitions, checksum = [], 0
    for node in range(1, cluster.nodes.workers + 1):
        path, start = cluster.nodes.directory(node) / "input", (node - 1) * records
        core.generate_file(str(path), records=records, start=start)
        checksum += core.validate_file(str(path)).checksum
        copy = Copy(uri=str(path), node=cluster.nodes.name(node))
        partitions.append(Partition(records=records, copies=(copy,), recipe=Recipe(start=start)))
    return Dataset(partitions=tuple(partitions)), checksum


def lines(cluster: EmulatedRay, records: int) -> tuple[Dataset, int]:
    """Write as many lines of 100 bytes for each node and return the dataset and its checksum."""
    text, partitions, checksum = TextFormat(keys=(parse_key("1,1nr"),)), [], 0
    for node in range(1, cluster.nodes.workers + 1):
        path, numbers = cluster.nodes.directory(node) / "input", np.random.default_rng(node)
        path.write_bytes(b"".join(b"%-99d\n" % number for number in numbers.integers(0, 1 << 60, records).tolist()))
        partitions.append(Partition(records=path.stat().st_size, copies=(Copy(uri=str(path)),)))
        checksum += content_of(Layout.of_text(text)).validated(partitions[-1], 1)[0].checksum
    return Dataset(partitions=tuple(partitions), layout=Layout.of_text(text)), checksum


def tables(cluster: EmulatedRay, records: int) -> tuple[Dataset, int]:
    """Write as many rows of 100 bytes for each node and return the dataset and its checksum."""
    paths, checksum = list[str](), 0
    for node in range(1, cluster.nodes.workers + 1):
        path, numbers = cluster.nodes.directory(node) / "input.parquet", np.random.default_rng(node)
        columns = {f"number{column}": numbers.integers(0, 1 << 60, records) for column in range(12)}
        rows = pa.table(columns | {"small": numbers.integers(0, 1000, records).astype(np.int32)})
        pq.write_table(rows, path, row_group_size=100_000)
        checksum += rows_checksum(rows)
        paths.append(str(path))
    return tables_of(paths, ["small", "number0:desc"]), checksum


def kill(cluster: EmulatedRay, node: int, fault: str) -> None:
    """Do harm to a node."""
    if fault == "link":
        cluster.nodes.cut(node)
        return
    for pid in cluster.nodes.pids(node):
        try:
            program = Path(f"/proc/{pid}/cmdline").read_bytes().split(b"\0")[0].decode(errors="replace")
        except OSError:
            continue
        is_worker = program.startswith("ray::") and not program.endswith("Agent")
        if is_worker if fault == "workers" else program.endswith("/raylet"):
            os.kill(pid, signal.SIGKILL)


def sort(session: Session, source: Dataset, journal: Path) -> tuple[Dataset, float, Any]:
    """Sort with two copies; return the output, the seconds and the report."""
    request = {"source": json.loads(source.to_json()), "output": "output", "copies": 2}
    began = time.monotonic()
    done = session.do({"do": "sort", "request": request, "journal": str(journal)}, lambda _: None)
    return dataset_of(done["dataset"]), time.monotonic() - began, done["report"]


def is_right(output: Dataset, checksum: int, records: int) -> bool:
    """Say whether every copy of the output is there, in order, and holds the input: so many records, lines or rows."""
    content = content_of(output.layout)
    for copy in range(2):
        whole = content.empty_summary()
        for partition in output.partitions:
            alone = replace(partition, copies=(replace(partition.copies[copy], node=""),))
            whole.append(content.validated(alone, 2)[0])
        if (whole.records, whole.unordered, whole.checksum) != (records, 0, checksum):
            return False
    return True


MADE = {"records": generated, "lines": lines, "parquet": tables}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--kills", type=int, default=20)
    parser.add_argument("--nodes", type=int, default=4)
    parser.add_argument("--records", type=int, default=2_000_000, help="on each node")
    parser.add_argument("--format", choices=list(MADE), default="records")
    parser.add_argument("--rate", default="400Mbit")
    parser.add_argument("--first", type=int, default=0, help="number of the first kill, to go on with a series")
    parser.add_argument("--seed", type=int, default=1)
    options = parser.parse_args()
    rng = random.Random(options.seed)
    moments = [(rng.random(), 1 + rng.randrange(options.nodes)) for _ in range(options.first + options.kills)]
    with (
        tempfile.TemporaryDirectory() as folder,
        emulated_ray(
            workers=options.nodes,
            shaping=parse_shaping(rate=options.rate),
            directory=Path(folder),
            store_bytes=STORE_BYTES,
        ) as cluster,
        cluster.session() as session,
    ):
        source, checksum = MADE[options.format](cluster, options.records)
        journal = Path(folder) / "journal"
        ratios: dict[str, list[float]] = {fault: [] for fault in FAULTS}
        for number in range(options.first, options.first + options.kills):
            share, node = moments[number]
            fault = FAULTS[number % len(FAULTS)]
            sort(session, source, journal)
            _, normal_s, _ = sort(session, source, journal)
            timer = threading.Timer(share * normal_s, kill, (cluster, node, fault))
            timer.start()
            try:
                output, seconds, report = sort(session, source, journal)
                ratios[fault].append(seconds / normal_s)
                right = "right" if is_right(output, checksum, options.records * options.nodes) else "WRONG"
                hit = [stretch["phase"] for stretch in report["timeline"] if stretch["start_s"] <= share * normal_s][-1]
                lost = ", ".join(report["lost_nodes"]) or "no node"
                ending = f"{hit}: {right}, {seconds:.1f} s, {seconds / normal_s:.2f} times, lost {lost}"
            except PlannerError as error:
                ending = f"FAILED: {error.message} {error.details}"
            timer.join()
            print(
                f"{number + 1}: {fault} of node-{node} at {share * normal_s:.1f} of {normal_s:.1f} s, {ending}",
                flush=True,
            )
            if fault != "workers":
                cluster.nodes.end(node)
                cluster.start_worker(node, store_bytes=STORE_BYTES)
        print(f"{sum(map(len, ratios.values()))} of {options.kills} finished; times the undisturbed, median (range):")
        for fault, times in ratios.items():
            if times:
                print(f"{fault} ({len(times)}): {median(times):.2f} ({min(times):.2f}-{max(times):.2f})")


if __name__ == "__main__":
    main()
