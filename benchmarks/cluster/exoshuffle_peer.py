"""Exoshuffle-CloudSort's algorithm on Ray's API: map, merge, reduce (Luan et al., "Exoshuffle-CloudSort", 2023).

Map tasks sort a piece of the input and cut it by worker; merge tasks on each worker merge the pieces of several maps as
they come, cut the result by reducer, and write it to the worker's disk; reduce tasks merge one reducer's pieces there
and write the output. Keys are assumed to be evenly spread, as there. Sorting and merging use the sort core, so only the
algorithm and the transport differ from `planner sort`. Run by bench_peers.py on the head.
"""

from __future__ import annotations

import json
import os
import sys
import time
from collections import defaultdict
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
import ray
from ray.util.scheduling_strategies import NodeAffinitySchedulingStrategy

from planner.native import core

RECORD_BYTES = 100
MAP_BYTES = 25_000_000
REDUCE_BYTES = 45_000_000
MAPS_PER_MERGE = 8
MAPS_IN_FLIGHT_PER_NODE = 3
MERGES_IN_FLIGHT_PER_NODE = 2
REDUCES_IN_FLIGHT_PER_NODE = 3


def even_keys(parts: int) -> Any:
    """First eight key bytes of each part but the first."""
    return np.array([2**64 * part // parts for part in range(1, parts)], np.uint64)


def cuts(records: Any, boundaries: Any) -> list[int]:
    """Positions at which sorted records are cut, in bytes, both ends included."""
    rows = records.reshape(-1, RECORD_BYTES)
    keys = rows[:, :8].copy().view(">u8").ravel().astype(np.uint64)
    at = np.searchsorted(keys, boundaries)
    return [0, *(int(cut) * RECORD_BYTES for cut in at), len(records)]


def merged(runs: list[Any]) -> Any:
    """Merge sorted runs into one."""
    out = np.empty(sum(len(run) for run in runs), np.uint8)
    core.merge_runs([run.data for run in runs if len(run)], out.data, threads=1)
    return out


@ray.remote(max_retries=3)
def map_piece(path: str, offset: int, size: int, boundaries: Any) -> list[Any]:
    """Sort a piece of the input and return each worker's part."""
    records = np.fromfile(path, np.uint8, size, offset=offset)
    ordered = np.empty_like(records)
    core.sort_records(records.data, ordered.data, threads=1)
    at = cuts(ordered, boundaries)
    return [ordered[start:end] for start, end in pairwise(at)]


@ray.remote(max_retries=3)
def merge_blocks(folder: str, name: str, boundaries: Any, *blocks: Any) -> list[int]:
    """Merge sorted blocks, write them to the worker's disk, and return the limits of each reducer's share."""
    together = merged(list(blocks))
    Path(folder).mkdir(exist_ok=True)
    together.tofile(Path(folder) / name)
    return cuts(together, boundaries)


@ray.remote(max_retries=3)
def reduce_blocks(folder: str, pieces: list[tuple[str, int, int]], output: str) -> str:
    """Merge a reducer's share of all merged files and write the output."""
    runs = [np.fromfile(Path(folder) / name, np.uint8, end - start, offset=start) for name, start, end in pieces]
    Path(output).parent.mkdir(exist_ok=True)
    with Path(output).open("wb") as file:
        merged(runs).tofile(file)
        file.flush()
        os.fsync(file.fileno())
    return output


class Waiting:
    """References to running tasks; waits until at most `most` run."""

    def __init__(self, most: int) -> None:
        self.most, self.references = most, []

    def add(self, reference: Any) -> None:
        self.references.append(reference)
        if len(self.references) > self.most:
            enough = len(self.references) - self.most
            # Not fetched: otherwise the driver's node would pull blocks, and be asked for those it has dropped.
            _, self.references = ray.wait(self.references, num_returns=enough, fetch_local=False)


def sort(manifest: dict[str, Any], directories: dict[str, str], ids: dict[str, str]) -> list[str]:
    """Sort the dataset of a manifest and return the output's files in order."""
    nodes = sorted(directories)
    data_bytes = sum(part["records"] for part in manifest["partitions"]) * RECORD_BYTES
    reducers = max(1, round(data_bytes / len(nodes) / REDUCE_BYTES))
    all_boundaries = even_keys(len(nodes) * reducers)
    by_worker = ray.put(all_boundaries[reducers - 1 :: reducers])
    by_reducer = [ray.put(all_boundaries[turn * reducers :][: reducers - 1]) for turn in range(len(nodes))]

    def at(node: str) -> Any:
        return {"scheduling_strategy": NodeAffinitySchedulingStrategy(ids[node], soft=False), "num_cpus": 1}

    maps = Waiting(MAPS_IN_FLIGHT_PER_NODE * len(nodes))
    merges = Waiting(MERGES_IN_FLIGHT_PER_NODE * len(nodes))
    held: dict[int, list[Any]] = defaultdict(list)
    written: dict[int, list[tuple[str, Any]]] = defaultdict(list)

    def merge(turn: int) -> None:
        node, name = nodes[turn], f"merged-{len(written[turn])}"
        folder = f"{directories[node]}/exoshuffle"
        reference = merge_blocks.options(**at(node)).remote(folder, name, by_reducer[turn], *held.pop(turn))
        written[turn].append((name, reference))
        merges.add(reference)

    pieces = [
        [(part, offset) for offset in range(0, part["records"] * RECORD_BYTES, MAP_BYTES)]
        for part in manifest["partitions"]
    ]
    in_turn = [piece for row in zip(*pieces, strict=True) for piece in row]
    for part, offset in in_turn:
        size = min(MAP_BYTES, part["records"] * RECORD_BYTES - offset)
        (copy,) = part["copies"]
        where = at(copy["node"]) | {"num_returns": len(nodes)}
        blocks = map_piece.options(**where).remote(copy["uri"], offset, size, by_worker)
        maps.add(blocks[0])
        for turn, block in enumerate(blocks):
            held[turn].append(block)
            if len(held[turn]) == MAPS_PER_MERGE:
                merge(turn)
        del blocks, block
    for turn in list(held):
        merge(turn)
    outputs = []
    reduces = Waiting(REDUCES_IN_FLIGHT_PER_NODE * len(nodes))
    at_bytes = {turn: [(name, ray.get(reference)) for name, reference in files] for turn, files in written.items()}
    for reducer in range(reducers):
        for turn, node in enumerate(nodes):
            shares = [(name, cut[reducer], cut[reducer + 1]) for name, cut in at_bytes[turn]]
            folder, output = f"{directories[node]}/exoshuffle", f"{directories[node]}/peer/{reducer:06d}"
            reference = reduce_blocks.options(**at(node)).remote(folder, shares, output)
            outputs.append((turn, reducer, reference))
            reduces.add(reference)
    return [ray.get(reference) for _, _, reference in sorted(outputs, key=lambda part: part[:2])]


def main() -> None:
    """Sort by an order on standard input: address, manifest, and each node's directory."""
    order = json.load(sys.stdin)
    ray.init(address=order["address"], log_to_driver=False, logging_level="ERROR")
    ids = {node["NodeManagerAddress"]: node["NodeID"] for node in ray.nodes() if node["Alive"]}
    ids = {name: ids[address] for name, address in order["addresses"].items()}
    seconds = []
    for _ in range(order["repeats"]):
        began = time.monotonic()
        outputs = sort(order["manifest"], order["directories"], ids)
        seconds.append(time.monotonic() - began)
    print(json.dumps({"seconds": seconds, "outputs": outputs}))


if __name__ == "__main__":
    main()
