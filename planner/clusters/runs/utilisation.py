"""How busy each resource was while a phase ran, and which was the bottleneck, from what was sampled each second.

SoCC 2015, Figure 11 reads the bottleneck off the same samples by eye.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Final

CPU: Final = "cpu"
NETWORK: Final = "network"
DISKS: Final = "disks"

Samples = Mapping[str, Sequence[Mapping[str, float]]]
"""By node, samples in order of `at_s`, each of which holds the means since the one before."""


def utilisation(
    samples: Samples, stretches: Sequence[Mapping[str, Any]], *, rates_bytes_per_s: Mapping[str, float], vcpus: float
) -> dict[str, float]:
    """Return the share of each resource that was in use, all nodes together, during a phase's `stretches` (`start_s`
    and `end_s` of each): 1 is all of it.

    `rates_bytes_per_s` are what a node's NETWORK and DISKS can do, `vcpus` those of all nodes together. The network
    counts in its busier direction; disks by all that was read and written. A resource whose rate is not known is left
    out, and nothing is known when no sample was taken.
    """
    inside = [
        sample
        for of_node in samples.values()
        for sample in of_node
        if any(stretch["start_s"] < sample["at_s"] <= stretch["end_s"] for stretch in stretches)
    ]
    if not inside:
        return {}

    def mean(name: str) -> float:
        return sum(sample[name] for sample in inside) / len(inside)

    cpu_share = {CPU: mean("cpu_cores") * len(samples) / vcpus} if vcpus > 0 else {}
    moved = {
        NETWORK: max(mean("network_in_bytes_per_s"), mean("network_out_bytes_per_s")),
        DISKS: mean("disk_read_bytes_per_s") + mean("disk_write_bytes_per_s"),
    }
    return cpu_share | {name: moved[name] / rate for name, rate in rates_bytes_per_s.items() if rate > 0}


def bottleneck(shares: Mapping[str, float]) -> str | None:
    """Return the busiest resource; None when nothing is known."""
    return max(shares, key=lambda name: shares[name]) if shares else None
