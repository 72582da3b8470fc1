"""Repeated measurement of every node of an emulated cluster in random order, for `planner bench fleet`.

The order is random within each round, so that a swing of the host does not look like a slow node. All nodes share this
machine's disk and processors: only the network is measured on all at once, everything else on one node at a time.
"""

from __future__ import annotations

import json
import random
import subprocess
import sys
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

from planner.clusters.emulated.cluster import EmulatedCluster
from planner.clusters.emulated.network_trial import bench_links
from planner.errors import IoFailureError

_BENCH: Final = (sys.executable, "-P", "-m", "planner", "bench", "disk", "--json")
_SMALL_RUNS_S: Final = 0.05
"""Share of a DiskBench run's seconds that each of the small-io suite's 42 runs takes."""

NETWORK: Final = "network"
DISK: Final = "disk"
SMALL_IO: Final = "small-io"


@dataclass(frozen=True, kw_only=True)
class Step:
    """One measurement: the round it belongs to, the instrument, and the node (0: all of them)."""

    round: int
    instrument: str
    node: int


def plan_steps(*, nodes: int, repeats: int, seed: int) -> list[Step]:
    """Return the steps: in each round every instrument on every node, and the network among them, in random order."""
    shuffled = random.Random(seed)
    steps = []
    for number in range(1, repeats + 1):
        of_round = [
            Step(round=number, instrument=instrument, node=node)
            for instrument in (DISK, SMALL_IO)
            for node in range(1, nodes + 1)
        ]
        of_round += [Step(round=number, instrument=NETWORK, node=0)] if nodes > 1 else []
        shuffled.shuffle(of_round)
        steps += of_round
    return steps


def measure_rounds(
    cluster: EmulatedCluster,
    *,
    repeats: int,
    seconds: float,
    file_bytes: int,
    results: Path,
    seed: int,
    say: Callable[[str], None],
) -> list[Path]:
    """Measure the cluster's nodes and return the instruments' files, each written below `results` when its step ends.

    Raises IoFailureError with the message of an instrument that failed; earlier files remain.
    """
    steps = plan_steps(nodes=cluster.workers, repeats=repeats, seed=seed)
    paths = []
    for number, step in enumerate(steps, 1):
        name = "all nodes" if step.node == 0 else cluster.name(step.node)
        say(f"{number} of {len(steps)}: {step.instrument} of {name}")
        document = _measure(cluster, step, seconds=seconds, file_bytes=file_bytes)
        path = results / f"{step.round}-{step.instrument}-{name.replace(' ', '-')}.json"
        path.write_text(json.dumps(document), encoding="utf-8")
        paths.append(path)
    return paths


def _measure(cluster: EmulatedCluster, step: Step, *, seconds: float, file_bytes: int) -> dict[str, Any]:
    if step.instrument == NETWORK:
        return _with_names(cluster, bench_links(cluster))
    words = [*_BENCH, "--dir", str(cluster.directory(step.node)), "--size", f"{file_bytes}B", "--repeats", "1"]
    if step.instrument == SMALL_IO:
        words += ["--suite", SMALL_IO, "--seconds", f"{seconds * _SMALL_RUNS_S:g}"]
    else:
        words += ["--mode", "all", "--seconds", f"{seconds:g}", "--queue-depth", "4"]
    done = subprocess.run(cluster.command(step.node, *words), capture_output=True, text=True, check=False)
    if done.returncode:
        raise IoFailureError(
            f"{step.instrument} of {cluster.name(step.node)} failed",
            done.stderr.strip().splitlines()[-4:],
            code="instrument-failed",
        )
    # All nodes report this machine's name.
    return {**json.loads(done.stdout), "host": cluster.name(step.node)}


def _with_names(cluster: EmulatedCluster, document: dict[str, Any]) -> dict[str, Any]:
    """Return NetBench's document with node names in place of its agents' addresses."""
    for run in document["runs"]:
        for number, node in enumerate(run["per_node"], 1):
            node["address"] = cluster.name(number)
    return document
