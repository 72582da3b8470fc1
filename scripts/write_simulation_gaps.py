"""Write catalogs/simulation_gaps.csv: planned and simulated sorts, by model, links, nodes and data per node.

Usage: python scripts/write_simulation_gaps.py; it takes some minutes. A test recomputes a few rows.
"""

from __future__ import annotations

import sys
from collections.abc import Iterator
from itertools import product
from typing import Final

from planner import recommend
from planner.catalog.shipped_tables import GAPS
from planner.config.paths import catalogs_directory

TYPES: Final = {"steady": "i4i.8xlarge", "bursting": "i4i.4xlarge"}
"""By links: one type of each kind, of one family, with volumes and disks."""
MODELS: Final = ("cloudsort", "daytona", "indy", "object-store")
NODES: Final = (4, 12, 40, 150, 600)
NODE_BYTES: Final = (5e9, 50e9, 500e9)
DRAWS: Final = 8


def row(model: str, links: str, nodes: int, node_bytes: float) -> str | None:
    """Return a row of the table, None if no such cluster can do the job."""
    answer = recommend(
        data=nodes * node_bytes, model=model, catalogs=("aws",), instances=(TYPES[links],), nodes=nodes, engine="ray"
    )
    if answer.best is None:
        return None
    simulation = answer.simulate(draws=DRAWS)
    gap, width = simulation.p50_s / simulation.planned_p50_s, simulation.planned_p95_s / simulation.planned_p50_s
    return f"{model},{links},{nodes},{node_bytes:.0f},{gap:.3f},{width:.3f}"


def rows() -> Iterator[str]:
    """Yield the rows of the table."""
    for shape in product(MODELS, TYPES, NODES, NODE_BYTES):
        if line := row(*shape):
            yield line
            print(line, file=sys.stderr, flush=True)


def main() -> None:
    """Write the file."""
    path = catalogs_directory() / f"{GAPS.name}.csv"
    path.write_text("\n".join([",".join(GAPS.names), *rows()]) + "\n", "utf-8")


if __name__ == "__main__":
    main()
