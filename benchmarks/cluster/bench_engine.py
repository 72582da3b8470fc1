"""What the cluster sort on Ray costs: processor seconds by byte, by slice and by node, for the plans of `--engine ray`.

Sorts of several shapes run on emulated nodes; each is one equation of a least-squares fit. As root:

    python benchmarks/cluster/bench_engine.py --nodes 1,3,5 --data 500MB,1500MB --runs 2 --out trials.json
    python benchmarks/cluster/bench_engine.py --fit trials.json
"""

from __future__ import annotations

import argparse
import json
from collections.abc import Iterator
from dataclasses import asdict
from pathlib import Path
from typing import Any

import numpy as np
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


def fitted(costs: list[dict[str, Any]]) -> Iterator[str]:
    """Yield what the engine's file says of trials without caps: least squares of relative errors, nothing negative."""
    free = [cost for cost in costs if not cost["shape"]["rate"]]
    maps, reduces = ([cost for cost in free if cost["name"] == name] for name in ("map and shuffle", "sort and reduce"))
    nodes, data = _column(maps, "nodes"), _column(maps, "data_bytes")
    slices, blocks = np.array([cost["slices"] for cost in maps], float), nodes - 1
    yield from _solved(
        "nodes_cpu_s",
        maps,
        {
            "cpu_s_per_byte.partition": data,
            "send_s_per_byte": data * blocks / nodes,
            "tasks.partition.node_s": slices,
            "tasks.partition.node_block_s": slices * blocks,
        },
    )
    for most in (1.4, 2, 6, 12):
        parcels = blocks / (1 + blocks / most)
        terms = {"tasks.partition.driver_s": slices, "tasks.partition.driver_parcel_s": slices * parcels}
        yield f"with parcels_max = {most}:"
        yield from _solved("head_cpu_s", maps, terms)
    data, copied = _column(reduces, "data_bytes"), _column(reduces, "copies") - 1
    partitions = np.array([cost["partitions"] for cost in reduces], float)
    others = _column(reduces, "nodes") - 1
    yield from _solved(
        "nodes_cpu_s",
        reduces,
        {
            "cpu_s_per_byte.sort": data,
            "copy_s_per_byte": data * copied,
            "tasks.sort.node_s": partitions,
            "tasks.sort.node_block_s": partitions * others,
        },
    )
    yield from _solved("head_cpu_s", reduces, {"tasks.sort.driver_s": partitions * (1 + copied)})


def _column(costs: list[dict[str, Any]], name: str) -> Any:
    return np.array([cost["shape"][name] for cost in costs], float)


def _solved(measured: str, costs: list[dict[str, Any]], terms: dict[str, Any]) -> Iterator[str]:
    """Yield the coefficients of `terms` that make up what was measured; terms that come out negative are left out."""
    seen = np.array([cost[measured] for cost in costs], float)
    left = dict(terms)
    while True:
        table = np.stack(list(left.values()), axis=1) / seen[:, None]
        solution, *_ = np.linalg.lstsq(table, np.ones(len(seen)), rcond=None)
        if (solution >= 0).all():
            break
        del left[list(left)[int(np.argmin(solution))]]
    errors = table @ solution - 1
    yield from (f"{name} = {value:.3g}" for name, value in zip(left, solution, strict=True))
    yield f"# {measured}: {len(seen)} trials, root mean square error {np.sqrt((errors**2).mean()):.1%}"


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
    parser.add_argument("--fit", type=Path, nargs="*", help="print the engine's figures from files of trials")
    options = parser.parse_args()
    if options.fit:
        lines = [line for path in options.fit for line in path.read_text(encoding="utf-8").splitlines()]
        print("\n".join(fitted([json.loads(line) for line in lines])))
        return
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
