"""A dataset of ten times the cluster's memory: does the sort keep to its limit, without spilling or swapping?

Every node has an object store of `--store` and may sort in the same amount of memory in addition. Memory is the private
memory of all processes of the cluster and the pages of the stores in use, less the amount before the sort. As root,
with `pip install 'sortplanner[ray]'`:

python benchmarks/cluster/bench_small_memory.py --nodes 4 --store 80MB --times 10
"""

from __future__ import annotations

import argparse
import sys
import tempfile
from pathlib import Path
from typing import Any

from memory_watch import Watch, held_bytes

from planner.clusters.emulated.ray import emulated_ray
from planner.clusters.emulated.shaping import parse_shaping
from planner.clusters.ray.driver_session import Session
from planner.units import format_bytes, parse_size


def sort(session: Session, source: dict[str, Any], *, memory_bytes: int, journal: Path) -> dict[str, Any]:
    """Sort and return the report; end with an error unless the output is the input in order."""
    request = {"source": source["dataset"], "output": "output", "memory_bytes": memory_bytes}
    order = {"do": "sort", "request": request, "journal": str(journal)}
    report: dict[str, Any] = session.do(order, lambda _: None)["report"]
    if not report["sorted"] or report["checksum"] != source["checksum"]:
        sys.exit(f"wrong output: checksum {report['checksum']}, the input's {source['checksum']}")
    return report


def swapped_pages() -> int:
    """Return how many pages this machine has swapped out since it started."""
    lines = Path("/proc/vmstat").read_text(encoding="ascii").splitlines()
    return int(dict(line.split() for line in lines)["pswpout"])


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--nodes", type=int, default=4)
    parser.add_argument("--store", default="80MB", help="of each node; it may sort in as much again")
    parser.add_argument("--times", type=float, default=10.0, help="the data, in times the memory of all nodes")
    parser.add_argument("--rate", default="400Mbit")
    parser.add_argument("--dir", type=Path, default=None)
    options = parser.parse_args()
    each_bytes = parse_size(options.store)
    allowed_bytes = 2 * each_bytes * options.nodes
    with (
        tempfile.TemporaryDirectory(dir=options.dir) as folder,
        emulated_ray(
            workers=options.nodes,
            shaping=parse_shaping(rate=options.rate),
            directory=Path(folder),
            store_bytes=each_bytes,
        ) as cluster,
        cluster.session() as session,
    ):
        journal = Path(folder) / "journal"
        few = session.do({"do": "generate", "records": 1000}, lambda _: None)
        sort(session, few, memory_bytes=each_bytes, journal=journal)  # starts processes
        records = int(allowed_bytes * options.times) // 100
        source = session.do({"do": "generate", "records": records}, lambda _: None)
        idle_bytes, swapped = held_bytes(cluster), swapped_pages()
        with Watch(cluster) as seen:
            report = sort(session, source, memory_bytes=each_bytes, journal=journal)
        swapped = swapped_pages() - swapped
    data_bytes, moved = report["data_bytes"], report["moved_bytes"]
    print(f"{format_bytes(data_bytes)}, {options.nodes} nodes with {format_bytes(allowed_bytes)} of memory together")
    print(f"taken above the idle {format_bytes(idle_bytes)}: {format_bytes(seen.memory_bytes - idle_bytes)}")
    print(f"spilled by Ray: {format_bytes(seen.spilled_bytes)}, swapped out: {swapped} pages")
    for name in ("input_read", "intermediate_written", "intermediate_read", "output_written"):
        print(f"{name}: {moved[name] / data_bytes:.3f} times the data")
    print(", ".join(f"{phase} {seconds:.1f} s" for phase, seconds in report["phases_s"].items()))


if __name__ == "__main__":
    main()
