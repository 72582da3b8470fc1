"""A measurement of the links between nodes: every node fetches a probe from the next at the same time."""

from __future__ import annotations

from statistics import median
from typing import Final

from planner.distributed_sort.job.nodes import LOST, Nodes
from planner.distributed_sort.node_files.node_environment import JobFiles

PROBE_BYTES: Final = 4_000_000
"""Over 400 Mbit/s they take 80 ms, which a connection's first milliseconds do not hide."""


def link_bytes_per_s(nodes: Nodes, files: JobFiles) -> float | None:
    """Return the median rate of the nodes' links, in bytes/s; None with fewer than two nodes, or when any is lost.

    What waits for a processor of a busy node counts as the link's, so that the rate is rather too low.
    """
    names = nodes.names
    if len(names) < 2:
        return None
    begun = [nodes.call(name, "begin_probe", files, PROBE_BYTES) for name in names]
    if any(nodes.wait_for(reference, nodes=names) is LOST for reference in begun):
        return None
    fetched = [
        nodes.call(name, "probe_seconds", files, nodes.address(other), PROBE_BYTES)
        for name, other in zip(names, [*names[1:], names[0]], strict=True)
    ]
    seconds = [nodes.wait_for(reference, nodes=names) for reference in fetched]
    return None if any(took is LOST or took is None for took in seconds) else PROBE_BYTES / median(seconds)
