"""A node whose link has a tenth of the others' rate, unknown beforehand: is it noticed, and what does it cost?

Each round sorts on the same nodes three times: with all links alike, then with the last node's at a tenth, kept to the
end (`avoid_slow` off), then with it left out once it is noticed. As root, with `pip install 'sortplanner[ray]'`:

python benchmarks/cluster/bench_slow_node.py --nodes 5 --data 1GB --rate 200Mbit --runs 3
"""

from __future__ import annotations

import argparse
import os
import sys
import tempfile
from pathlib import Path
from statistics import median
from typing import Any

from planner.clusters.emulated.ray import EmulatedRay, emulated_ray
from planner.clusters.emulated.shaping import Cap, Shaping, parse_shaping
from planner.clusters.ray.driver_session import Session
from planner.units import parse_size

SLOWER = 10
ALIKE, KEPT, LEFT_OUT = "all links alike", "one slow, kept", "one slow, left out"


def sort(session: Session, source: dict[str, Any], journal: Path, *, avoid_slow: bool) -> dict[str, Any]:
    """Sort and return the report; end with an error unless the output is the input in order."""
    request = {"source": source["dataset"], "output": "output", "avoid_slow": avoid_slow}
    report: dict[str, Any] = session.do({"do": "sort", "request": request, "journal": str(journal)}, lambda _: None)[
        "report"
    ]
    if not report["sorted"] or report["checksum"] != source["checksum"]:
        sys.exit(f"wrong output: checksum {report['checksum']}, the input's {source['checksum']}")
    return report


def cap(cluster: EmulatedRay, rate_bytes_per_s: float, *, last: float) -> None:
    """Cap all links at a rate, the last node's at another."""
    others = [Cap(bytes_per_s=rate_bytes_per_s)] * (cluster.nodes.workers - 1)
    cluster.nodes.cap([*others, Cap(bytes_per_s=last)])


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--nodes", type=int, default=5)
    parser.add_argument("--data", default="1GB")
    parser.add_argument("--rate", default="200Mbit")
    parser.add_argument("--runs", type=int, default=3)
    parser.add_argument("--dir", type=Path, default=None)
    options = parser.parse_args()
    (rate,) = parse_shaping(rate=options.rate).rates_bytes_per_s
    print(f"{options.data}, {options.nodes} nodes behind {options.rate}, {os.cpu_count()} CPUs for all of them")
    seconds: dict[str, list[float]] = {ALIKE: [], KEPT: [], LEFT_OUT: []}
    with (
        tempfile.TemporaryDirectory(dir=options.dir) as folder,
        emulated_ray(workers=options.nodes, shaping=Shaping(), directory=Path(folder)) as cluster,
        cluster.session() as session,
    ):
        source = session.do({"do": "generate", "records": parse_size(options.data) // 100}, lambda _: None)
        journal = Path(folder) / "journal"
        sort(session, source, journal, avoid_slow=False)  # starts processes
        for number in range(options.runs):
            for name, took in seconds.items():
                cap(cluster, rate, last=rate if name == ALIKE else rate / SLOWER)
                report = sort(session, source, journal, avoid_slow=name == LEFT_OUT)
                took.append(sum(report["phases_s"].values()))
                slow_nodes = (
                    "; ".join(f"{node}: {why}" for node, why in report["slow_nodes"].items()) or "no node is slow"
                )
                print(f"run {number + 1}, {name}: {took[-1]:.1f} s; {slow_nodes}", flush=True)
    for name, took in seconds.items():
        ratios = [slow_s / alike for slow_s, alike in zip(took, seconds[ALIKE], strict=True)]
        print(f"{name}: median {median(took):.1f} s ({min(took):.1f}-{max(took):.1f}), {median(ratios):.2f} times")


if __name__ == "__main__":
    main()
