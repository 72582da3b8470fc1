"""What a link between two nodes carries: every node pulls an object from the next at the same time."""

from __future__ import annotations

import time
from statistics import median
from typing import Any, Final

import numpy as np

from planner.distributed_sort.nodes import LOST, Nodes, import_ray

PROBE_BYTES: Final = 4_000_000
"""Over 400 Mbit/s they take 80 ms, which Ray's own milliseconds do not hide."""


def link_bytes_per_s(nodes: Nodes) -> float | None:
    """Return the median rate of the nodes' links, in bytes/s; None with fewer than two nodes, or when any is lost.

    What waits for a processor of a busy node counts as the link's, so that the rate is rather too low.
    """
    names = nodes.names
    if len(names) < 2:
        return None
    made = nodes.on_all(_made, PROBE_BYTES)
    if len(made) < len(names):
        return None
    pulls = {
        name: nodes.run(name, _pull_seconds, made[other])
        for name, other in zip(names, [*names[1:], names[0]], strict=True)
    }
    seconds = [nodes.awaited(reference, nodes=names) for reference in pulls.values()]
    return None if any(took is LOST for took in seconds) else PROBE_BYTES / median(seconds)


def _made(size: int) -> list[Any]:
    """Return a reference to so many bytes, which stay in this node's store."""
    return [import_ray().put(np.zeros(size, np.uint8))]


def _pull_seconds(references: list[Any]) -> float:
    ray, began = import_ray(), time.perf_counter()
    ray.get(references[0])
    return time.perf_counter() - began
