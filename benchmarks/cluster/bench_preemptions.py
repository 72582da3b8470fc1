"""Machines taken back at random moments of whole runs, and replaced: does the run end correctly, and how much later?

A run on emulated nodes generates, sums up, sorts and validates. Once or twice, at moments drawn from its undisturbed
time, a random node loses all its processes and files; an empty one takes its place `--replaced-after` seconds later.
Indy (one copy) and Daytona (two) take turns. As root, with `pip install 'sortplanner[ray]'`:

python benchmarks/cluster/bench_preemptions.py --patterns 20
"""

from __future__ import annotations

import argparse
import random
import shutil
import tempfile
import threading
import time
from pathlib import Path
from statistics import median
from typing import Any

from planner.clusters.emulated.ray import EmulatedRay, emulated_ray
from planner.clusters.emulated.shaping import parse_shaping
from planner.clusters.ray.driver_session import Session
from planner.errors import PlannerError

STORE_BYTES = 200_000_000
LOCK = threading.Lock()


def preempt(cluster: EmulatedRay, node: int, *, replaced_after_s: float) -> None:
    """End a node with everything on it, and start an empty one in its place."""
    with LOCK:
        cluster.nodes.end(node)
        for path in cluster.nodes.directory(node).iterdir():
            if path.is_dir() and path.name != "ray":
                shutil.rmtree(path, ignore_errors=True)
                path.mkdir()
            elif path.is_file():
                path.unlink()
    time.sleep(replaced_after_s)
    with LOCK:
        cluster.start_worker(node, store_bytes=STORE_BYTES)


def run(
    session: Session, journal: Path, *, records: int, copies: int, wait_s: float
) -> tuple[dict[str, Any], float, int]:
    """Do a whole run; return its result, its seconds, and how often a step was repeated."""
    again = 0

    def on_event(event: dict[str, Any]) -> None:
        nonlocal again
        again += event["event"] == "again"

    request = {"records": records, "copies": copies, "replaced_within_s": wait_s}
    began = time.monotonic()
    done = session.do({"do": "run", "request": request, "journal": str(journal)}, on_event)
    return done, time.monotonic() - began, again


def is_right(done: dict[str, Any], *, records: int) -> bool:
    """Return whether every copy is sorted and holds the original data."""
    wanted = (records, done["checksum"], True)
    return all((copy["records"], copy["checksum"], copy["sorted"]) == wanted for copy in done["validations"])


def main() -> None:
    options = _options()
    rng = random.Random(options.seed)
    ratios, right = [], 0
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
        journal, wait_s = Path(folder) / "journal", 4 * options.replaced_after
        usual_s = {
            copies: median(
                run(session, journal, records=options.records, copies=copies, wait_s=wait_s)[1] for _ in range(2)
            )
            for copies in (1, 2)
        }
        for number in range(options.patterns):
            copies = 1 + number % 2
            losses = rng.sample(range(1, options.nodes + 1), 1 + number // 2 % 2)
            moments = sorted(rng.random() for _ in losses)
            timers = [
                threading.Timer(
                    share * usual_s[copies], preempt, (cluster, node), {"replaced_after_s": options.replaced_after}
                )
                for share, node in zip(moments, losses, strict=True)
            ]
            for timer in timers:
                timer.start()
            told = ", ".join(f"node-{node} at {share:.2f}" for node, share in zip(losses, moments, strict=True))
            try:
                done, seconds, again = run(session, journal, records=options.records, copies=copies, wait_s=wait_s)
                is_well = is_right(done, records=options.records)
                right += is_well
                ratios.append(seconds / usual_s[copies])
                ending = f"{'right' if is_well else 'WRONG'}, {ratios[-1]:.2f} times, {again} steps again"
            except PlannerError as error:
                ending = f"FAILED: {error.message} {error.details}"
            for timer in timers:
                timer.join()
            print(f"{number + 1}: {copies} copies, {told}: {ending}", flush=True)
    print(
        f"{right} of {options.patterns} right; times the undisturbed: {median(ratios):.2f}, at most {max(ratios):.2f}"
    )


def _options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--patterns", type=int, default=20)
    parser.add_argument("--nodes", type=int, default=4)
    parser.add_argument("--records", type=int, default=2_000_000, help="in all")
    parser.add_argument("--rate", default="400Mbit")
    parser.add_argument("--replaced-after", type=float, default=5.0)
    parser.add_argument("--seed", type=int, default=1)
    return parser.parse_args()


if __name__ == "__main__":
    main()
