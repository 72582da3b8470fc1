"""Cost of the cluster sort on Ray: processor seconds by byte, by slice and by node, for the plans of `--engine ray`.

Sorts of several shapes run on emulated nodes; each is one equation of a least-squares fit. As root:

    python benchmarks/cluster/bench_engine.py --nodes 1,3,5 --data 500MB,1500MB --runs 2 --out trials.json
    python benchmarks/cluster/bench_engine.py --fit trials.json
"""

from __future__ import annotations

import argparse
import json
import math
import os
from collections.abc import Callable, Iterator
from dataclasses import asdict
from pathlib import Path
from statistics import fmean, median
from typing import Any, Final

import numpy as np
from engine_trials import PhaseCost, Shape, cluster_of, generated, sorted_once
from kill_inputs import MADE

from planner.clusters.emulated.network_trial import payload_bytes_per_s
from planner.clusters.emulated.ray import NODE_STORE_BYTES
from planner.clusters.emulated.shaping import parse_shaping
from planner.measurement.instruments.machine import LocalMachine, measure_machine
from planner.units import parse_size

PARTITION_S_PER_BYTE: Final = 3.47e-10
"""Seconds in which the sort core groups a byte (`benchmarks/sort/bench_local_engine.py`): with slices of 6 to 20 MB it
cannot be separated from the cost of a slice.
"""
SAMPLE_BYTES: Final = 512_000_000
PROCESSORS: Final = os.cpu_count() or 1
SHUFFLE, REDUCE = "map and shuffle", "sort and reduce"
BUSY_SHARE: Final = 0.8
"""Share of the processors' time; links decide where less is used."""
CROWDED_NODES: Final = 5
"""From this number of nodes on processors decide, unless links are capped."""


def trials(shape: Shape, *, runs: int, folder: Path | None) -> Iterator[PhaseCost]:
    """Sort once to start processes, then `runs` times; yield the cost of each phase."""
    with cluster_of(shape, folder) as (cluster, session, journal):
        machine = measure_machine(journal.parent, sample_bytes=SAMPLE_BYTES)
        source = generated(cluster, session, shape)
        for number in range(1 + runs):
            costs = sorted_once(cluster, session, source, shape=shape, journal=journal, machine=machine)
            yield from costs if number else ()


def fitted(costs: list[dict[str, Any]]) -> Iterator[str]:
    """Yield the lines of the engine's file from trials without caps: least squares of relative errors, nothing
    negative.
    """
    free = [cost for cost in costs if not cost["shape"]["rate"]]
    maps, reduces = ([cost for cost in free if cost["name"] == name] for name in (SHUFFLE, REDUCE))
    nodes, data = _column(maps, "nodes"), _column(maps, "data_bytes")
    slices, blocks = np.array([cost["slices"] for cost in maps], float), nodes - 1
    yield from _solved(
        "nodes_cpu_s",
        maps,
        {
            "send_s_per_byte": data * blocks / nodes,
            "tasks.partition.node_s": slices,
            "tasks.partition.node_block_s": slices * blocks,
        },
        known_s=PARTITION_S_PER_BYTE * data,
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


def waiting(costs: list[dict[str, Any]]) -> Iterator[str]:
    """Yield the share of processors, links and disks that is reached, each from the trials where it decides, and the
    cost of a byte through a capped link.
    """
    costs = [cost for cost in costs if cost["name"] in (SHUFFLE, REDUCE)]
    capped = [cost for cost in costs if cost["shape"]["rate"] and _sent_bytes(cost)]
    crowded = [cost for cost in costs if not cost["shape"]["rate"] and cost["shape"]["nodes"] >= CROWDED_NODES]
    alone = [cost for cost in costs if cost["shape"]["nodes"] == 1 and cost["machine"]]
    yield from _by_phase("busy.cpu", crowded, _processors_share)
    for rate in sorted({cost["shape"]["rate"] for cost in capped}):
        of = [cost for cost in capped if cost["shape"]["rate"] == rate]
        idle = [cost for cost in of if _processors_share(cost) < BUSY_SHARE]
        yield from _by_phase(f"busy.network, {rate}", idle, _links_share)
        yield from _capped_s_per_byte(rate, of, free=[cost for cost in costs if not cost["shape"]["rate"]])
    yield from _by_phase("disk share, at least", alone, _disk_share)


def coding(costs: list[dict[str, Any]]) -> Iterator[str]:
    """Yield the additional cost to the nodes of a byte of each form over one of records, for all shapes tried both
    ways.
    """
    for form in sorted({_form(cost) for cost in costs} - {"records"}):
        for phase, name in ((SHUFFLE, "decode_s_per_byte"), (REDUCE, "encode_s_per_byte")):
            of_phase = [cost for cost in costs if cost["name"] == phase]
            extra = list[float]()
            for cost in (cost for cost in of_phase if _form(cost) == form):
                shape = cost["shape"] | {"form": "records"}
                like = [other["nodes_cpu_s"] for other in of_phase if other["shape"] == shape]
                extra += [(cost["nodes_cpu_s"] - fmean(like)) / shape["data_bytes"]] if like else []
            if extra:
                yield f"{name}.{form} = {median(extra):.3g} ({min(extra):.2g} to {max(extra):.2g}, {len(extra)})"


def _form(cost: dict[str, Any]) -> str:
    return str(cost["shape"].setdefault("form", "records"))


def _by_phase(name: str, costs: list[dict[str, Any]], share: Callable[[dict[str, Any]], float]) -> Iterator[str]:
    for phase in (SHUFFLE, REDUCE):
        if of := [share(cost) for cost in costs if cost["name"] == phase]:
            yield f"{name}, {phase}: {median(of):.2f} ({min(of):.2f} to {max(of):.2f}, {len(of)})"


def _processors_share(cost: dict[str, Any]) -> float:
    return float((cost["nodes_cpu_s"] + cost["head_cpu_s"]) / PROCESSORS / cost["seconds"])


def _sent_bytes(cost: dict[str, Any]) -> float:
    """Return the bytes that all nodes together send in a phase."""
    nodes, data = cost["shape"]["nodes"], cost["shape"]["data_bytes"]
    return float(data * (nodes - 1) / nodes if cost["name"] == SHUFFLE else data * (cost["shape"]["copies"] - 1))


def _links_share(cost: dict[str, Any]) -> float:
    nodes, cap = cost["shape"]["nodes"], parse_shaping(rate=cost["shape"]["rate"]).draws(1).draw()[0]
    rate = payload_bytes_per_s(cap.bytes_per_s) if cap else math.inf
    return _sent_bytes(cost) / nodes / rate / cost["seconds"]


def _capped_s_per_byte(rate: str, capped: list[dict[str, Any]], *, free: list[dict[str, Any]]) -> Iterator[str]:
    """Yield the additional cost to the nodes of a byte with caps over one without, for all shapes tried both ways."""
    extra_s, sent_bytes, each = 0.0, 0.0, list[float]()
    for cost in capped:
        shape = cost["shape"] | {"rate": ""}
        like = [other["nodes_cpu_s"] for other in free if (other["name"], other["shape"]) == (cost["name"], shape)]
        if like:
            extra_s += cost["nodes_cpu_s"] - fmean(like)
            sent_bytes += _sent_bytes(cost)
            each.append((cost["nodes_cpu_s"] - fmean(like)) / _sent_bytes(cost))
    if each:
        yield f"capped_s_per_byte, {rate}: {extra_s / sent_bytes:.2g} ({min(each):.2g} to {max(each):.2g}, {len(each)})"


def _disk_share(cost: dict[str, Any]) -> float:
    """Return the time that one sort alone would need of the disk for a phase, over the phase's duration."""
    machine, data = LocalMachine(**cost["machine"]), cost["shape"]["data_bytes"]
    return data * (1 / machine.read_bytes_per_s + 1 / machine.write_bytes_per_s) / cost["seconds"]


def _column(costs: list[dict[str, Any]], name: str) -> Any:
    return np.array([cost["shape"][name] for cost in costs], float)


def _solved(measured: str, costs: list[dict[str, Any]], terms: dict[str, Any], *, known_s: Any = 0.0) -> Iterator[str]:
    """Yield the coefficients of `terms` that explain the measurement apart from `known_s`; negative terms are
    left out.
    """
    seen = np.array([cost[measured] for cost in costs], float)
    left_over = 1 - known_s / seen
    left = dict(terms)
    while True:
        table = np.stack(list(left.values()), axis=1) / seen[:, None]
        solution, *_ = np.linalg.lstsq(table, left_over * np.ones(len(seen)), rcond=None)
        if (solution >= 0).all():
            break
        del left[list(left)[int(np.argmin(solution))]]
    errors = table @ solution - left_over
    yield from (f"{name} = {value:.3g}" for name, value in zip(left, solution, strict=True))
    yield f"# {measured}: {len(seen)} trials, root mean square error {np.sqrt((errors**2).mean()):.1%}"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--nodes", default="1,3,5")
    parser.add_argument("--data", default="500MB,1500MB")
    parser.add_argument("--copies", default="1,2")
    parser.add_argument("--form", choices=MADE, default="records")
    parser.add_argument("--rate", default="", help="of every link; none without it")
    parser.add_argument("--store", type=parse_size, default=NODE_STORE_BYTES, help="of each node's objects")
    parser.add_argument("--runs", type=int, default=2)
    parser.add_argument("--out", type=Path, default=None, help="append the trials to this file, one JSON object a line")
    parser.add_argument("--dir", type=Path, default=None)
    parser.add_argument("--fit", type=Path, nargs="*", help="print the engine's figures from files of trials")
    options = parser.parse_args()
    if options.fit:
        lines = [line for path in options.fit for line in path.read_text(encoding="utf-8").splitlines()]
        costs = [json.loads(line) for line in lines]
        plain = [cost for cost in costs if _form(cost) == "records"]
        print("\n".join([*fitted(plain), *waiting(plain), *coding(costs)]))
        return
    for nodes in map(int, options.nodes.split(",")):
        for copies in (int(word) for word in options.copies.split(",") if int(word) <= nodes):
            for data in map(parse_size, options.data.split(",")):
                shape = Shape(
                    nodes=nodes,
                    copies=copies,
                    data_bytes=data,
                    rate=options.rate,
                    store_bytes=options.store,
                    form=options.form,
                )
                for cost in trials(shape, runs=options.runs, folder=options.dir):
                    line = json.dumps(asdict(cost))
                    print(line, flush=True)
                    if options.out:
                        with options.out.open("a", encoding="utf-8") as file:
                            file.write(line + "\n")


if __name__ == "__main__":
    main()
