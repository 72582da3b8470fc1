"""Where simulated sorts take other times than the equations say: a table made beforehand, by shape of cluster.

`scripts/write_simulation_gaps.py` makes `simulation_gaps.csv`: clusters of two types of EC2, planned and simulated.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from typing import Final

import numpy as np

from planner.catalog.columns import choice
from planner.catalog.tables import Column, Schema, Table, read_table
from planner.config.paths import catalogs_directory

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
    """How many times as long as planned simulated sorts take, and how far the planned range goes."""

    simulated_over_p50: float
    p95_over_p50: float

    @property
    def is_beyond_range(self) -> bool:
        """Return whether the simulated median is above the planned 95%, or as far below the planned median."""
        return not 1 / self.p95_over_p50 <= self.simulated_over_p50 <= self.p95_over_p50


def nearest_gap(*, model: str, links: str, nodes: float, node_bytes: float) -> Gap | None:
    """Return what was found for the cluster most like this one, None for a model that is not in the table."""
    table = _load_gaps(catalogs_directory() / f"{GAPS.name}.csv")
    rows = np.flatnonzero((table["model"] == model) & (table["links"] == links))
    if not len(rows):
        return None
    distance = np.log(table["nodes"][rows] / nodes) ** 2 + np.log(table["node_bytes"][rows] / node_bytes) ** 2
    row = int(rows[int(distance.argmin())])
    return Gap(
        simulated_over_p50=float(table["simulated_over_p50"][row]), p95_over_p50=float(table["p95_over_p50"][row])
    )


@lru_cache(maxsize=2)
def _load_gaps(path: Path) -> Table:
    return read_table(path, GAPS)
