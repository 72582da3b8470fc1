"""What the model rests on beside the log and the catalogs, as data."""

from __future__ import annotations

import tomllib
from dataclasses import dataclass
from functools import lru_cache

from planner.config.paths import catalogs_directory


@dataclass(frozen=True, kw_only=True)
class Assumptions:
    """Figures of `spark_model.toml`, where each has its evidence. The sigmas are standard deviations of ln(time)."""

    sibling_share: float
    speed_exponent: float
    memory_for_executors: float
    memory_fraction: float
    same_cluster_sigma: float
    same_processors_sigma: float
    other_cluster_sigma: float
    doubling_sigma: float
    architecture_sigma: float
    unexplained_sigma: float
    limit_sigma: float
    cold_sigma: float
    partition_bytes: int


@lru_cache(maxsize=1)
def shipped_assumptions() -> Assumptions:
    """Return the figures that ship."""
    figures = tomllib.loads((catalogs_directory() / "spark_model.toml").read_text(encoding="utf-8"))
    figures.pop("notes")
    return Assumptions(**figures)
