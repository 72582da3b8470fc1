"""What the cluster sort on Ray costs: processor seconds by byte, by slice and by node, for the plans of `--engine ray`.

Sorts of several shapes run on emulated nodes; each is one equation of a least-squares fit. As root:

    python benchmarks/cluster/bench_engine.py --nodes 1,3,5 --data 500MB,1500MB --runs 2 --out trials.json
"""

from __future__ import annotations

import argparse
import json
from collections.abc import Iterator
from dataclasses import asdict
from pathlib import Path

from engine_trials import PhaseCost, Shape, cluster_of, generated, sorted_once

from planner.emulation.ray import NODE_STORE_BYTES
from planner.units import parse_size


def trials(shape: Shape, *, runs: int, folder: Path | None) -> Iterator[PhaseCost]:
    """Sort once to start processes, then `runs` times; yield what each phase cost."""
    with cluster_of(shape, folder) as (cluster, session, journal):
        source = generated(session, shape.data_bytes)
        for number in range(1 + runs):
            costs = sorted_once(cluster, session, source, shape=shape, journal=journal)
            yield from costs if number else ()


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--nodes", default="1,3,5")
    parser.add_argument("--data", default="500MB,1500MB")
    parser.add_argument("--copies", default="1,2")
    parser.add_argument("--rate", default="", help="of every link; none without it")
    parser.add_argument("--store", type=parse_size, default=NODE_STORE_BYTES, help="of each node's objects")
    parser.add_argument("--runs", type=int, default=2)
    parser.add_argument("--out", type=Path, default=None, help="append the trials to this file, one JSON object a line")
    parser.add_argument("--dir", type=Path, default=None)
    options = parser.parse_args()
    for nodes in map(int, options.nodes.split(",")):
        for copies in (int(word) for word in options.copies.split(",") if int(word) <= nodes):
            for data in map(parse_size, options.data.split(",")):
                shape = Shape(nodes=nodes, copies=copies, data_bytes=data, rate=options.rate, store_bytes=options.store)
                for cost in trials(shape, runs=options.runs, folder=options.dir):
                    line = json.dumps(asdict(cost))
                    print(line, flush=True)
                    if options.out:
                        with options.out.open("a", encoding="utf-8") as file:
                            file.write(line + "\n")


if __name__ == "__main__":
    main()
