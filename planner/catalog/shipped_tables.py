"""Shipped tables besides the catalogs: spreads of claimed rates, gaps of simulations, measured speeds of one core.

Spreads: ratios of claimed rates to later observations, by resource and evidence of the claim. `rate_comparisons.csv`
holds the pairs. `scripts/write_evidence_spreads.py` makes `evidence_spreads.csv` from them: eight equally likely
slowdowns for each resource and evidence, the means of the eighths of all pairs, in order.

Gaps: `scripts/write_simulation_gaps.py` makes `simulation_gaps.csv`: clusters of two EC2 types, planned and simulated.

Cores: zstd compression on one core stands for its speed. On 14 of the 15 EC2 types in benchmarks/sizing/data/specs.csv
it is within 7% of 65 MB/s per GHz of the stated clock (i2.8xlarge: 56), so the rate over 65 MB/s is a clock rate.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from typing import Final

import numpy as np

from planner.arrays import Floats
from planner.catalog.columns import EVIDENCE, choice
from planner.catalog.tables import Column, Schema, Table, read_table
from planner.config.paths import catalogs_directory

COMPARED: Final = ("disk", "network", "volumes")
"""Resources with both claimed and observed rates."""

EIGHTHS: Final = 8

COMPARISONS: Final = Schema(
    name="rate_comparisons",
    meaning="rates that were claimed, and the same rates as observed later or by others",
    key=(),
    columns=(
        choice("resource", COMPARED, "what was claimed"),
        choice("evidence", EVIDENCE, "what the claim rested on"),
        Column(name="cloud", meaning="cloud of the type"),
        Column(name="instance_type", meaning="type of machine"),
        Column(name="claimed_bytes_per_s", kind="number", unit="bytes/s", above=0, meaning="rate as claimed"),
        Column(name="observed_bytes_per_s", kind="number", unit="bytes/s", above=0, meaning="rate as observed"),
        Column(name="claimed_by", meaning="where the claim is from"),
        Column(name="observed_by", meaning="where the observation is from"),
    ),
)

SPREADS: Final = Schema(
    name="evidence_spreads",
    meaning="how many times longer a resource takes than by its claimed rate: eight equally likely values",
    key=("resource", "evidence"),
    columns=(
        choice("resource", COMPARED, "what was claimed"),
        choice("evidence", EVIDENCE, "what the claims rested on"),
        Column(name="comparisons", kind="whole", least=1, meaning="how many pairs were compared"),
        *(
            Column(name=f"slowdown_{n}", kind="number", above=0, meaning=f"mean of claimed/observed in eighth {n}")
            for n in range(1, EIGHTHS + 1)
        ),
    ),
)


def slowdowns_by_claim(comparisons: Table) -> dict[tuple[str, str], tuple[int, Floats]]:
    """Return the number of pairs and the eight slowdowns, ascending, for each resource and evidence."""
    ratios = comparisons["claimed_bytes_per_s"] / comparisons["observed_bytes_per_s"]
    claims = list(zip(comparisons["resource"].tolist(), comparisons["evidence"].tolist(), strict=True))
    grouped = {claim: np.sort(ratios[[other == claim for other in claims]]) for claim in sorted(set(claims))}
    return {claim: (len(group), _means_of_eighths(group)) for claim, group in grouped.items()}


def _means_of_eighths(rising: Floats) -> Floats:
    """Return the mean of each eighth of some values; a value across a border counts in part on each side."""
    sums = np.concatenate(([0.0], np.cumsum(rising)))
    borders = np.interp(np.linspace(0, len(rising), EIGHTHS + 1), np.arange(len(rising) + 1), sums)
    return np.asarray(np.diff(borders) * EIGHTHS / len(rising))


def comparisons() -> Table:
    """Return the shipped pairs of claimed and observed rates."""
    return read_table(catalogs_directory() / f"{COMPARISONS.name}.csv", COMPARISONS)


def load_spreads() -> Mapping[tuple[str, str], Floats]:
    """Return the shipped slowdowns, (8,) and ascending, by resource and evidence. Raises BadInputError if their file is
    damaged.
    """
    return _load_spreads(catalogs_directory() / f"{SPREADS.name}.csv")


@lru_cache(maxsize=2)
def _load_spreads(path: Path) -> Mapping[tuple[str, str], Floats]:
    table = read_table(path, SPREADS)
    columns = np.stack([table[f"slowdown_{n}"] for n in range(1, EIGHTHS + 1)], axis=1)
    return {
        (resource, evidence): values
        for resource, evidence, values in zip(
            table["resource"].tolist(), table["evidence"].tolist(), columns, strict=True
        )
    }


LINKS: Final = ("steady", "bursting")

GAPS: Final = Schema(
    name="simulation_gaps",
    meaning="what sorts by the engine ray take, simulated, in multiples of what is planned",
    key=("model", "links", "nodes", "node_bytes"),
    columns=(
        Column(name="model", meaning="cost model"),
        choice("links", LINKS, "whether links burst for a while that is not stated"),
        Column(name="nodes", kind="whole", least=1, meaning="nodes of the cluster"),
        Column(name="node_bytes", kind="number", unit="bytes", above=0, meaning="data of each node"),
        Column(name="simulated_over_p50", kind="number", above=0, meaning="simulated median over the planned one"),
        Column(name="p95_over_p50", kind="number", above=0, meaning="planned 95% over the planned median"),
    ),
)


@dataclass(frozen=True, kw_only=True)
class Gap:
    """Ratio of simulated to planned sort time, and the planned range."""

    simulated_over_p50: float
    p95_over_p50: float

    @property
    def is_beyond_range(self) -> bool:
        """Return whether the simulated median is above the planned 95th percentile, or as far below the median."""
        return not 1 / self.p95_over_p50 <= self.simulated_over_p50 <= self.p95_over_p50


def nearest_gap(*, model: str, links: str, nodes: float, node_bytes: float) -> Gap | None:
    """Return the result for the most similar cluster, None for a model that is not in the table."""
    sizes, sizes_bytes, simulated, p95 = _gaps_of(catalogs_directory(), model, links)
    if not len(sizes):
        return None
    distance = np.log(sizes / nodes) ** 2 + np.log(sizes_bytes / node_bytes) ** 2
    row = int(distance.argmin())
    return Gap(simulated_over_p50=float(simulated[row]), p95_over_p50=float(p95[row]))


@lru_cache(maxsize=16)
def _gaps_of(directory: Path, model: str, links: str) -> list[Floats]:
    """Return the columns of numbers for a model and a kind of links."""
    table = _load_gaps(directory / f"{GAPS.name}.csv")
    rows = (table["model"] == model) & (table["links"] == links)
    return [table[name][rows] for name in ("nodes", "node_bytes", "simulated_over_p50", "p95_over_p50")]


@lru_cache(maxsize=2)
def _load_gaps(path: Path) -> Table:
    return read_table(path, GAPS)


ZSTD_BYTES_PER_S_PER_GHZ: Final = 65e6

CLOCKS: Final = Schema(
    name="cpu_measured",
    meaning="what one core of a machine type was measured to compress",
    key=("cloud", "instance_type"),
    columns=(
        Column(name="cloud", meaning="cloud of the type"),
        Column(name="instance_type", meaning="name of the type"),
        Column(
            name="zstd1_bytes_per_s",
            kind="number",
            unit="bytes/s",
            above=0,
            meaning="text compressed by one core with zstd at level 1",
        ),
        Column(name="threads_per_core", kind="whole", least=1, meaning="virtual CPUs that share a core"),
        Column(name="as_of", kind="day", meaning="day of the measurement"),
    ),
)


@dataclass(frozen=True, kw_only=True)
class MeasuredCore:
    """What one core of a type compresses, and the number of virtual CPUs that share it."""

    cloud: str
    instance_type: str
    zstd1_bytes_per_s: float
    threads: int


def measured_cores(path: Path | None = None) -> tuple[MeasuredCore, ...]:
    """Return what was measured on a core of each type. Raises BadInputError for a broken file."""
    path = catalogs_directory() / f"{CLOCKS.name}.csv" if path is None else path
    return _load_cores(path, path.stat().st_ctime_ns if path.exists() else 0)


@lru_cache(maxsize=4)
def _load_cores(path: Path, stamp: int) -> tuple[MeasuredCore, ...]:
    table = read_table(path, CLOCKS)
    columns = (table[name].tolist() for name in ("cloud", "instance_type", "zstd1_bytes_per_s", "threads_per_core"))
    return tuple(
        MeasuredCore(cloud=cloud, instance_type=name, zstd1_bytes_per_s=rate, threads=int(threads))
        for cloud, name, rate, threads in zip(*columns, strict=True)
    )


def measured_clocks_ghz(cloud: str, path: Path | None = None) -> dict[str, float]:
    """Return the measured speed of one core by type, in GHz of the processors above; types not measured are absent.

    Raises BadInputError for a broken file.
    """
    cores = (core for core in measured_cores(path) if core.cloud == cloud)
    return {core.instance_type: core.zstd1_bytes_per_s / ZSTD_BYTES_PER_S_PER_GHZ for core in cores}
