"""Fixed cost of a cluster sort on the head: the start of workers and services, and each phase's barrier.

Sorts of a few megabytes run on more and more emulated nodes. The head's processor seconds count, not the clock, since
all nodes share this machine: for the first call those of its busiest process, as the head has several processors. The
tasks' cost to the driver by `models/engines/ray.toml` is subtracted; the rest is fitted as a constant and a part for
each node. As root:

python benchmarks/cluster/bench_start.py --nodes 1,2,4,8,12 --runs 3
"""

from __future__ import annotations

import argparse
from contextlib import suppress
from statistics import median
from typing import Any

import numpy as np
import psutil
from engine_trials import PHASES, Shape, cluster_of, generated, sorted_once

from planner.clusters.emulated.cluster import HEAD
from planner.clusters.emulated.ray import EmulatedRay
from planner.cost_model.engine import Engine
from planner.cost_model.model_reader import load_engine

BYTES_PER_NODE = 2_000_000
WORKS = {"map and shuffle": "partition", "sort and reduce": "sort"}
FIRST = "first call"


def trials(nodes: int, *, runs: int, engine: Engine) -> dict[str, float]:
    """Return the head's processor seconds of the first call, and of each phase without its tasks, medians of `runs`."""
    shape = Shape(nodes=nodes, copies=1, data_bytes=BYTES_PER_NODE * nodes, store_bytes=100_000_000)
    with cluster_of(shape, None) as (cluster, session, journal):
        before_s = head_cpu_s(cluster)
        source = generated(cluster, session, shape)
        first_s = max(seconds - before_s.get(pid, 0.0) for pid, seconds in head_cpu_s(cluster).items())
        seen: dict[str, list[float]] = {name: [] for name in PHASES}
        for number in range(1 + runs):
            for cost in sorted_once(cluster, session, source, shape=shape, journal=journal):
                if number:
                    seen[cost.name].append(cost.head_cpu_s - tasks_s(cost, engine=engine))
    return {FIRST: first_s} | {name: median(values) for name, values in seen.items()}


def head_cpu_s(cluster: EmulatedRay) -> dict[int, float]:
    """Return the processor seconds of each process on the head so far."""
    seconds = {}
    for pid in cluster.nodes.pids(HEAD):
        with suppress(psutil.Error):  # it has ended
            times = psutil.Process(pid).cpu_times()
            seconds[pid] = times.user + times.system
    return seconds


def tasks_s(cost: Any, *, engine: Engine) -> float:
    """Return the cost of a phase's tasks to the driver by the engine's own figures."""
    if cost.name not in WORKS:
        return 0.0
    task, nodes = engine.tasks[WORKS[cost.name]], cost.shape.nodes
    count = cost.slices if cost.name == "map and shuffle" else cost.partitions
    parcels = 0.0 if engine.sizes is None else engine.sizes.parcels(np.array([float(nodes)]), driver_decides=False)[0]
    return float(count * (task.driver_s + task.driver_parcel_s * parcels + task.driver_per_node_s * nodes))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--nodes", default="1,2,4,8,12")
    parser.add_argument("--runs", type=int, default=3)
    options = parser.parse_args()
    sizes = [int(size) for size in options.nodes.split(",")]
    rows = {size: trials(size, runs=options.runs, engine=load_engine("ray")) for size in sizes}
    for name in (FIRST, *PHASES):
        values = [rows[size][name] for size in sizes]
        slope, constant = np.polyfit(sizes, values, 1)
        listed = ", ".join(f"{value:.2f} on {size}" for size, value in zip(sizes, values, strict=True))
        print(f"{name}: {constant:.3f} s + {slope:.4f} s a node ({listed})", flush=True)


if __name__ == "__main__":
    main()
