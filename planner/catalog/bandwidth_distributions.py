"""Network bandwidth as distributions: the eight clouds A-H of Ballani et al. (SIGCOMM 2011).

Uta & Obaseki (ICPE 2018, Figure 1) used them. The source gives the percentiles 1, 25, 50, 75 and 99. Between them the
quantile function is assumed linear; beyond the outer two it is unknown, and stays at their value rather than guess a
tail.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from typing import Final

import numpy as np
from numpy.typing import ArrayLike

from planner.arrays import Floats
from planner.catalog.tables import Column, Schema, read_table
from planner.config.paths import catalogs_directory
from planner.errors import BadInputError, nearest

PERCENTILES: Final = (1, 25, 50, 75, 99)

SCHEMA: Final = Schema(
    name="network_distributions",
    meaning="percentiles of the bandwidth between two machines of a cloud, over hours to days",
    key=("distribution",),
    columns=(
        Column(name="distribution", meaning="name of the cloud in the source"),
        *(
            Column(name=f"p{p:02}_bytes_per_s", kind="number", unit="bytes/s", above=0, meaning=f"percentile {p}")
            for p in PERCENTILES
        ),
        Column(name="evidence", kind="choice", choices=("measured", "derived"), meaning="what the figures rest on"),
        Column(name="source", meaning="where they are from"),
        Column(name="as_of", kind="day", meaning="day of the source"),
    ),
)


@dataclass(frozen=True, kw_only=True)
class BandwidthDistribution:
    """A bandwidth in bytes/s with known quantiles, linear between them and flat beyond.

    `probabilities` and `bytes_per_s` have equal length and increase.
    """

    name: str
    probabilities: tuple[float, ...]
    bytes_per_s: tuple[float, ...]
    evidence: str
    source: str

    def quantile(self, probability: ArrayLike) -> Floats:
        """Return the bandwidth at quantile `probability` (0 to 1), elementwise."""
        return np.asarray(
            np.interp(np.asarray(probability, np.float64), self.probabilities, self.bytes_per_s), np.float64
        )

    def cdf(self, bytes_per_s: ArrayLike) -> Floats:
        """Return P(bandwidth <= `bytes_per_s`), elementwise; the flat ends are jumps at the outer percentiles."""
        rates = np.asarray(bytes_per_s, np.float64)
        inside = np.interp(rates, self.bytes_per_s, self.probabilities, left=0.0)
        return np.where(rates >= self.bytes_per_s[-1], 1.0, inside)

    @property
    def median_bytes_per_s(self) -> float:
        """The median bandwidth."""
        return float(self.quantile(0.5))

    def sample(self, count: int, rng: np.random.Generator) -> Floats:
        """Draw `count` independent bandwidths."""
        return self.quantile(rng.random(count))


def load_distributions(path: Path | None = None) -> dict[str, BandwidthDistribution]:
    """Return the distributions of a file, by default the shipped one, by name.

    Raises BadInputError listing all problems of the file, including percentiles that decrease.
    """
    path = catalogs_directory() / f"{SCHEMA.name}.csv" if path is None else path
    return dict(_load(path, path.stat().st_ctime_ns if path.exists() else 0))


def distribution(name: str) -> BandwidthDistribution:
    """Return a shipped distribution by name. Raises BadInputError with the known names."""
    distributions = load_distributions()
    if name not in distributions:
        hint = nearest(name, list(distributions))
        raise BadInputError(
            f"unknown network distribution {name!r}.{hint} Known: {', '.join(distributions)}",
            code="unknown-distribution",
        )
    return distributions[name]


@lru_cache(maxsize=4)
def _load(path: Path, stamp: int) -> tuple[tuple[str, BandwidthDistribution], ...]:
    table = read_table(path, SCHEMA)
    rates = np.stack([table[f"p{p:02}_bytes_per_s"] for p in PERCENTILES], axis=1)
    wrong = [line for line, row in zip(table.lines, rates, strict=True) if (np.diff(row) < 0).any()]
    if wrong:
        raise BadInputError(
            f"{path}: percentiles must not decrease", [f"{path}:{line}" for line in wrong], code="not-monotonic"
        )
    return tuple((row["distribution"], _make_distribution(row)) for row in table.rows())


def _make_distribution(row: dict[str, str]) -> BandwidthDistribution:
    return BandwidthDistribution(
        name=row["distribution"],
        probabilities=tuple(p / 100 for p in PERCENTILES),
        bytes_per_s=tuple(float(row[f"p{p:02}_bytes_per_s"]) for p in PERCENTILES),
        evidence=row["evidence"],
        source=row["source"],
    )
