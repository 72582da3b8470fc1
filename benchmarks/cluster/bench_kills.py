"""Processes killed and links cut at random moments of a cluster sort: does it finish correctly, and how much later?

A Daytona sort on emulated nodes is disturbed `--kills` times, in turn by kill -9 of all worker processes of a node, by
kill -9 of its raylet, and by cutting its link, or by other `--faults`; node and moment are drawn. Before each, an
undisturbed sort is timed, after one that warms up restarted processes. Records on a lost node are generated again from
their recipe; text and Parquet lie where all nodes reach them. As root, with `pip install 'sortplanner[ray,arrow]'
duckdb zstandard`:

python benchmarks/cluster/bench_kills.py --kills 20
python benchmarks/cluster/bench_kills.py --kills 6 --format parquet --records 1000000
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
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from statistics import median
from typing import Any

from kill_inputs import MADE, Input

from planner.clusters.emulated.ray import EmulatedRay, emulated_ray
from planner.clusters.emulated.shaping import parse_shaping
from planner.clusters.ray.driver_session import Session
from planner.distributed_sort.dataset.dataset import Dataset, dataset_of
from planner.errors import PlannerError

FAULTS = ("workers", "raylet", "link")
OTHER_FAULTS = ("service",)
MOST_TIMES = 1.6
HANG_TIMES = 6
STORE_BYTES = 200_000_000


def kill(cluster: EmulatedRay, node: int, fault: str) -> None:
    """Cause a fault on a node."""
    if fault == "link":
        cluster.nodes.cut(node)
        return
    for pid in cluster.nodes.pids(node):
        try:
            program = Path(f"/proc/{pid}/cmdline").read_bytes().split(b"\0")[0].decode(errors="replace")
        except OSError:
            continue
        if is_hit(program, fault):
            os.kill(pid, signal.SIGKILL)


def is_hit(program: str, fault: str) -> bool:
    """Return whether a fault ends a process that runs this program."""
    if fault == "raylet":
        return program.endswith("/raylet")
    if fault == "service":
        return program.startswith("ray::NodeService")
    return program.startswith("ray::") and not program.endswith("Agent")


def sort(session: Session, source: Dataset, journal: Path) -> tuple[Dataset, float, Any]:
    """Sort with two copies; return the output, the seconds and the report."""
    request = {"source": json.loads(source.to_json()), "output": "output", "copies": 2}
    began = time.monotonic()
    done = session.do({"do": "sort", "request": request, "journal": str(journal)}, lambda _: None)
    return dataset_of(done["dataset"]), time.monotonic() - began, done["report"]


class HangError(Exception):
    """A sort took `HANG_TIMES` as long as undisturbed."""


def hung(*_: Any) -> None:
    raise HangError


@dataclass(frozen=True, kw_only=True)
class Kill:
    """A fault on a node after a share of the undisturbed time."""

    number: int
    fault: str
    node: int
    share: float


def kills(options: argparse.Namespace) -> list[Kill]:
    """Return the kills of a series: the seed alone decides on node and moment."""
    chance = random.Random(options.seed)
    series = []
    for number in range(options.first + options.kills):
        share, node = chance.random(), 1 + chance.randrange(options.nodes)
        series.append(Kill(number=number, fault=options.faults[number % len(options.faults)], node=node, share=share))
    return series[options.first :]


@contextmanager
def harmed(cluster: EmulatedRay, harm: Kill, *, at_s: float, longest_s: float) -> Iterator[None]:
    """Cause a fault after some seconds of the body. Raises HangError where the body takes longer than `longest_s`."""
    timer = threading.Timer(at_s, kill, (cluster, harm.node, harm.fault))
    signal.setitimer(signal.ITIMER_REAL, longest_s)
    timer.start()
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        timer.join()


def disturbed(
    cluster: EmulatedRay, harm: Kill, *, session: Session, data: Input, journal: Path, normal_s: float
) -> str:
    """Sort during a fault, and return the outcome; the undisturbed times come first, if any."""
    at_s = harm.share * normal_s
    try:
        with harmed(cluster, harm, at_s=at_s, longest_s=HANG_TIMES * normal_s + 60):
            output, seconds, report = sort(session, data.source, journal)
    except PlannerError as error:
        return f"FAILED: {error.message} {error.details}"
    except HangError:
        return "HANGS"
    right = "right" if all(data.is_right(output, copy) for copy in range(2)) else "WRONG"
    hit = [stretch["phase"] for stretch in report["timeline"] if stretch["start_s"] <= at_s][-1]
    times = seconds / normal_s
    phases = ", ".join(f"{name} {phase_s:.1f}" for name, phase_s in report["phases_s"].items())
    lost = ", ".join(report["lost_nodes"]) or "no node"
    return f"{times:.2f} times{' SLOW' if times > MOST_TIMES else ''}, {right}, in {hit}, lost {lost}, {phases}"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--kills", type=int, default=20)
    parser.add_argument("--nodes", type=int, default=4)
    parser.add_argument("--records", type=int, default=2_000_000, help="on each node")
    parser.add_argument("--format", choices=list(MADE), default="records")
    parser.add_argument("--rate", default="400Mbit")
    parser.add_argument("--first", type=int, default=0, help="number of the first kill, to go on with a series")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--faults", nargs="+", choices=FAULTS + OTHER_FAULTS, default=FAULTS)
    options = parser.parse_args()
    signal.signal(signal.SIGALRM, hung)
    shaping = parse_shaping(rate=options.rate)
    with (
        tempfile.TemporaryDirectory() as folder,
        emulated_ray(
            workers=options.nodes, shaping=shaping, directory=Path(folder), store_bytes=STORE_BYTES
        ) as cluster,
        cluster.session() as session,
    ):
        data, journal = MADE[options.format](cluster, options.records), Path(folder) / "journal"
        endings, normal = list[tuple[str, str]](), list[float]()
        for harm in kills(options):
            sort(session, data.source, journal)
            normal.append(sort(session, data.source, journal)[1])
            ending = disturbed(cluster, harm, session=session, data=data, journal=journal, normal_s=normal[-1])
            endings.append((harm.fault, ending))
            moment = f"{harm.share * normal[-1]:.1f} of {normal[-1]:.1f} s"
            print(f"{harm.number + 1}: {harm.fault} of node-{harm.node} at {moment}: {ending}", flush=True)
            if harm.fault in ("raylet", "link"):
                cluster.nodes.end(harm.node)
                cluster.start_worker(harm.node, store_bytes=STORE_BYTES)
    for line in summed_up(endings, normal):
        print(line)


def summed_up(endings: list[tuple[str, str]], normal: list[float]) -> Iterator[str]:
    """Yield how many sorts ended correctly, the spread of undisturbed times, and the duration after each fault."""
    right = sum(", right," in ending for _, ending in endings)
    yield f"{right} of {len(endings)} ended right; undisturbed {min(normal):.1f}-{max(normal):.1f} s"
    for fault in dict.fromkeys(name for name, _ in endings):
        if times := [float(ending.split()[0]) for name, ending in endings if name == fault and " times" in ending]:
            yield f"{fault} ({len(times)}): {median(times):.2f} ({min(times):.2f}-{max(times):.2f}) times undisturbed"


if __name__ == "__main__":
    main()
