"""Weak scaling: the same data on each node, more and more emulated nodes; payload rate of each node's link.

The rate per node is that of the map and shuffle phase: records stored by a node a second, and, from two nodes on, the
payload that came in over its link. The latter is written as a curve that the planner reads, like NetBench's. As root:

python benchmarks/cluster/bench_weak_scaling.py --nodes 1,2,4,8 --curve curve.csv
"""

from __future__ import annotations

import argparse
import csv
import os
import sys
import tempfile
from datetime import date
from pathlib import Path
from statistics import median
from typing import Any

from planner.clusters.emulated.ray import emulated_ray
from planner.clusters.emulated.shaping import parse_shaping
from planner.statistics.scaling_curve import ScalingCurve
from planner.units import parse_size

COLUMNS = "instance_type nodes placement_group bytes_per_s aggregate connections method note evidence source as_of"


def measured(nodes: int, *, options: argparse.Namespace, folder: Path) -> list[dict[str, float]]:
    """Sort `options.runs` times on `nodes` nodes, after one sort that starts processes; return each run's rates."""
    records = parse_size(options.data) // 100 * nodes
    shaping = parse_shaping(rate=options.rate)
    rows = []
    with (
        emulated_ray(workers=nodes, shaping=shaping, directory=folder, store_bytes=options.store_bytes) as cluster,
        cluster.session() as session,
    ):
        source = session.do({"do": "generate", "records": records}, lambda _: None)
        for number in range(1 + options.runs):
            request = {"source": source["dataset"], "output": "output"}
            order = {"do": "sort", "request": request, "journal": str(folder / "journal")}
            report = session.do(order, lambda _: None)["report"]
            if not report["sorted"] or report["checksum"] != source["checksum"]:
                sys.exit(f"wrong output: checksum {report['checksum']}, the input's {source['checksum']}")
            if number:
                rows.append(rates(report, nodes=nodes))
    return rows


def rates(report: dict[str, Any], *, nodes: int) -> dict[str, float]:
    """Return the bytes/s of each node in a run."""
    shuffle_s = report["phases_s"]["map and shuffle"]
    return {
        "shuffle_s": shuffle_s,
        "stored": report["data_bytes"] / nodes / shuffle_s,
        "crossed": report["moved_bytes"]["crossed_network"] / nodes / shuffle_s,
    }


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--nodes", default="1,2,4,8")
    parser.add_argument("--data", default="250MB", help="on each node")
    parser.add_argument("--rate", default="50Mbit")
    parser.add_argument("--runs", type=int, default=3)
    parser.add_argument("--store-bytes", type=int, default=200_000_000)
    parser.add_argument("--curve", type=Path, help="append the points to this file")
    parser.add_argument("--dir", type=Path, default=None)
    options = parser.parse_args()
    print(f"{options.data} on each node behind {options.rate}, {os.cpu_count()} CPUs for all nodes together")
    points: list[tuple[int, float]] = []
    for nodes in map(int, options.nodes.split(",")):
        with tempfile.TemporaryDirectory(dir=options.dir) as folder:
            rows = measured(nodes, options=options, folder=Path(folder))
        times = [row["shuffle_s"] for row in rows]
        stored, crossed = (median(row[name] for row in rows) for name in ("stored", "crossed"))
        print(
            f"{nodes} nodes: shuffle {median(times):.2f} s ({min(times):.2f}-{max(times):.2f}), each stores "
            f"{stored / 1e6:.2f} MB/s, {crossed / 1e6:.2f} MB/s of them from others",
            flush=True,
        )
        if nodes > 1:
            points.append((nodes, crossed))
    if len(points) > 1:
        curve = ScalingCurve.through(*zip(*points, strict=True))
        least, most = min(rate for _, rate in points), max(rate for _, rate in points)
        listed = ", ".join(
            f"{rate / 1e6:.2f} at {nodes:g}" for nodes, rate in zip(curve.nodes, curve.bytes_per_s, strict=True)
        )
        print(f"from the slowest to the fastest {least / most:.0%}; the curve, MB/s: {listed}")
    if options.curve:
        append(options.curve, points)


def append(path: Path, points: list[tuple[int, float]]) -> None:
    """Append points to a file in the form of catalogs/*/networks.csv."""
    is_new = not path.exists()
    with path.open("a", newline="", encoding="utf-8") as file:
        writer = csv.writer(file)
        if is_new:
            writer.writerow(COLUMNS.split())
        for nodes, rate in points:
            what = ("bench_weak_scaling", "payload of the shuffle on emulated nodes", "measured", "own", date.today())
            writer.writerow(("emulated", nodes, "no", round(rate), "mean", nodes - 1, *what))


if __name__ == "__main__":
    main()
