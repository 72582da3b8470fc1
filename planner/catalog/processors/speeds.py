"""Speed of a virtual CPU of each type, with all of them busy: measured on the type, or on others of its generation.

`cpu_measured.csv` has what one core compresses with zstd at level 1. Two threads that share a core reach `THREAD_SHARE`
of that each: the median of stress-ng's qsort on 916 types with two threads to a core is 0.67 for each virtual CPU, with
all busy, of that of one alone; 0.99 on 281 types with one. The product agrees with PassMark's string sort on all
virtual CPUs (1,835 types of 4 to 64 in three clouds) but for a standard deviation of 0.13 in ln, and without the share
of threads for one of 0.26.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from functools import lru_cache
from typing import Final

import numpy as np

from planner.arrays import Floats, Texts
from planner.catalog.shipped_tables import measured_cores

THREAD_SHARE: Final = 2 / 3

BASES: Final = ("type", "family", "generation", "")
"""What a speed was measured on, best first: '' for nothing alike."""

_SIGMAS: Final = (0.13, 0.16, 0.24)
"""Standard deviations of ln(speed) by basis: the measurement's own, and that of a type from the median of its family
(0.04 to 0.09 in three clouds) or generation (0.10 on EC2, 0.20 on Azure).
"""

_GENERATION: Final = {
    "aws": r"[a-z]+?(\d+)([agi]?)",
    "azure": r"Standard_[A-Z]+[\d-]+(?:[a-z]*?([ap]))?[a-z]*.*_v(\d+)$",
}
"""What names a generation and a maker of processors in the names of a cloud's types, none meaning Intel."""


@dataclass(frozen=True, kw_only=True, eq=False)
class ProcessorSpeeds:
    """By type, each (T,): `bytes_per_s` of a virtual CPU, NaN if unknown, the standard deviation of its logarithm, and
    its basis, one of `BASES`.
    """

    bytes_per_s: Floats
    sigma: Floats
    basis: Texts


def processor_speeds(cloud: str, types: Texts, families: Texts) -> ProcessorSpeeds:
    """Return the speeds of a cloud's types. Raises BadInputError if the file of measurements is damaged."""
    measured = _speeds(cloud)
    of_type = np.array([measured.get(name, np.nan) for name in types.tolist()])
    generations = np.array([_generation(cloud, name) for name in types.tolist()])
    speeds, basis = np.full(len(types), np.nan), np.full(len(types), len(_SIGMAS))
    for place, found in enumerate((of_type, _medians(of_type, families), _medians(of_type, generations))):
        better = np.isnan(speeds) & ~np.isnan(found)
        speeds[better], basis[better] = found[better], place
    sigmas = np.array([*_SIGMAS, float(np.std(np.log([*measured.values()] or [*_speeds("").values()])))])
    return ProcessorSpeeds(bytes_per_s=speeds, sigma=sigmas[basis], basis=np.array(BASES)[basis])


@lru_cache(maxsize=8)
def _speeds(cloud: str) -> dict[str, float]:
    """Return the speed of a virtual CPU of each measured type of a cloud; '' for all clouds."""
    return {
        core.instance_type: core.zstd1_bytes_per_s * (1.0 if core.threads == 1 else THREAD_SHARE)
        for core in measured_cores()
        if cloud in ("", core.cloud)
    }


def _generation(cloud: str, name: str) -> str:
    found = re.match(_GENERATION.get(cloud, "$."), name)
    return "-".join(part or "i" for part in found.groups()) if found else ""


def _medians(speeds: Floats, groups: Texts) -> Floats:
    """Return the median of the known speeds of each type's group (T,); NaN for groups without any, and for no group."""
    in_order = np.lexsort((speeds, groups))
    in_order = in_order[~np.isnan(speeds[in_order]) & (groups[in_order] != "")]
    names, starts, counts = np.unique(groups[in_order], return_index=True, return_counts=True)
    low, high = (speeds[in_order[starts + (counts - odd) // 2]] for odd in (1, 0))
    medians = dict(zip(names.tolist(), ((low + high) / 2).tolist(), strict=True))
    return np.array([medians.get(group, np.nan) for group in groups.tolist()])
