"""`planner sort`, Ray Data and Exoshuffle's algorithm on Ray: on the same emulated nodes and input, in turn.

Seconds are those of the sort itself, from when its driver is connected. In each run a contestant sorts on a newly
started cluster, `--sorts` times: the first sort starts processes, and the median of the others counts. Its last output
is validated against the input.

Memory is the greatest sum over the cluster of the processes' private memory and of the object stores' pages in use,
sampled twice a second; spilled is what Ray wrote out of its stores. As root:

pip install 'sortplanner[ray]' pyarrow
python benchmarks/cluster/bench_peers.py --data 1GB --runs 3

The others' clusters have the settings with which the planner starts Ray; `--stock` leaves them Ray's own.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from statistics import median
from typing import Any
from unittest.mock import patch

import ray
from memory_watch import PeakMemory, Watch

from planner.clusters.emulated.cluster import HEAD
from planner.clusters.emulated.ray import EmulatedRay, emulated_ray
from planner.clusters.emulated.shaping import parse_shaping
from planner.clusters.ray import nodes
from planner.clusters.ray.driver_session import Session
from planner.native import core
from planner.units import format_bytes, parse_size

HERE = Path(__file__).parent
SETTINGS = (nodes.FAILURE_SETTINGS, nodes.TRANSFER_SETTINGS, nodes.MEMORY_SETTINGS, nodes.PROCESS_SETTINGS)
PEERS = {
    "exoshuffle": ("exoshuffle_peer.py", {}),
    "ray-data": ("ray_data_peer.py", {"strategy": "pull"}),
    "ray-data-push": ("ray_data_peer.py", {"strategy": "push"}),
}
"""Their programs, and further arguments besides the input."""


def planner_sort(
    session: Session, source: dict[str, Any], journal: Path, *, sorts: int
) -> tuple[list[float], list[str]]:
    request = {"source": source["dataset"], "output": "output"}
    seconds = []
    for _ in range(sorts):
        done = session.do({"do": "sort", "request": request, "journal": str(journal)}, lambda _: None)
        seconds.append(sum(done["report"]["phases_s"].values()))
    return seconds, [partition["copies"][0]["uri"] for partition in done["dataset"]["partitions"]]


def peer_sort(
    cluster: EmulatedRay, program: str, source: dict[str, Any], *, sorts: int, **options: str
) -> tuple[list[float], list[str]]:
    workers = range(1, cluster.nodes.workers + 1)
    order = {
        "address": cluster.ray.address,
        "manifest": source["dataset"],
        "directories": {cluster.nodes.name(node): str(cluster.nodes.directory(node)) for node in workers},
        "addresses": {cluster.nodes.name(node): cluster.nodes.address(node) for node in workers},
        "repeats": sorts,
        **options,
    }
    command = cluster.command(HEAD, sys.executable, str(HERE / program))
    done = subprocess.run(
        command, input=json.dumps(order), env=cluster.environment(), capture_output=True, text=True, check=False
    )
    if done.returncode:
        sys.exit(f"{program} failed:\n{done.stderr[-3000:]}")
    document = json.loads(done.stdout.splitlines()[-1])
    return document["seconds"], document["outputs"]


def check(outputs: list[str], source: dict[str, Any]) -> None:
    """End with an error unless the output holds the input in order."""
    whole, *rest = [core.validate_file(path) for path in outputs]
    for summary in rest:
        whole.append(summary)
    if whole.unordered or f"{whole.checksum:x}" != source["checksum"]:
        sys.exit(f"wrong output: {whole.unordered} records out of order, checksum {whole.checksum:x}")


@contextmanager
def settings_of(name: str, *, stock: bool) -> Iterator[None]:
    """Start clusters in the body as the planner does, or, for others if `stock`, with Ray's defaults."""
    with ExitStack() as changed:
        for settings in SETTINGS if stock and name != "planner" else ():
            changed.enter_context(patch.dict(settings, clear=True))
        yield


def measured(name: str, options: argparse.Namespace) -> tuple[list[float], PeakMemory]:
    """Run a contestant's sorts on its own cluster; return the seconds of each sort, and the memory used."""
    shaping = parse_shaping(rate=options.rate)
    with (
        tempfile.TemporaryDirectory(dir=options.dir) as folder,
        settings_of(name, stock=options.stock),
        emulated_ray(workers=options.nodes, shaping=shaping, directory=Path(folder)) as cluster,
    ):
        with cluster.session() as session:
            source = session.do({"do": "generate", "records": parse_size(options.data) // 100}, lambda _: None)
            if name == "planner":
                with Watch(cluster) as seen:
                    took, outputs = planner_sort(session, source, Path(folder) / "journal", sorts=options.sorts)
        if name != "planner":
            program, more = PEERS[name]
            with Watch(cluster) as seen:
                took, outputs = peer_sort(cluster, program, source, sorts=options.sorts, **more)
        check(outputs, source)
    return took, seen


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--data", default="1GB")
    parser.add_argument("--nodes", type=int, default=4)
    parser.add_argument("--rate", default="400Mbit")
    parser.add_argument("--runs", type=int, default=3, help="clusters of each")
    parser.add_argument("--sorts", type=int, default=2, help="on each cluster")
    parser.add_argument("--dir", type=Path, default=None)
    parser.add_argument("--only", default=",".join(("planner", *PEERS)), help="who sorts; others are set to the first")
    parser.add_argument("--stock", action="store_true", help="leave the others Ray's own settings")
    options = parser.parse_args()
    names = options.only.split(",")
    print(f"Ray {ray.__version__}, {options.data}, {options.nodes} nodes behind {options.rate}, {os.cpu_count()} CPUs")
    runs_of: dict[str, list[tuple[list[float], PeakMemory]]] = {name: [] for name in names}
    for number in range(options.runs):
        for name in names:
            took, seen = measured(name, options)
            runs_of[name].append((took, seen))
            memory, spilled = format_bytes(seen.memory_bytes), format_bytes(seen.spilled_bytes)
            words = ", ".join(f"{seconds:.2f}" for seconds in took)
            print(f"run {number + 1}, {name}: {words} s, memory {memory}, spilled {spilled}", flush=True)
    first = runs_of[names[0]]
    for name, runs in runs_of.items():
        seconds = [second for took, _ in runs for second in took[1:]]
        ratios = [median(took[1:]) / median(own[1:]) for (took, _), (own, _) in zip(runs, first, strict=True)]
        memory_ratios = [seen.memory_bytes / own.memory_bytes for (_, seen), (_, own) in zip(runs, first, strict=True)]
        print(
            f"{name}: median {median(seconds):.2f} s ({min(seconds):.2f}-{max(seconds):.2f}, {len(seconds)}), "
            f"{median(ratios):.2f} times {names[0]}'s ({min(ratios):.2f}-{max(ratios):.2f} by cluster), "
            f"{median(memory_ratios):.2f} times its memory"
        )


if __name__ == "__main__":
    main()
