"""Least reliance of a job that does not sort on disks, networks and memory: chosen for each job by the other jobs.

python benchmarks/sizing/other_resources.py

The candidates are prior centres of the disk's, the network's and memory's coefficients, for the explanations that leave
the work open. Every family of machines is left out in turn and predicted from the others. Each fold takes the candidate
that gives the other jobs' times the highest mean log density; every family of a job counts alike, and every job.
"""

from __future__ import annotations

import argparse
import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parent))

import numpy as np
from other_work import densities
from protocols import deal
from tables import SUITES, family, read

from planner.calibration import priors
from planner.calibration.priors import Prior

AS_SORTS = {
    "disk": Prior(centre=2, spread=0.4),
    "network": Prior(centre=1, spread=0.7),
    "memory": Prior(centre=0.1, spread=0.05),
}
CANDIDATES = {
    "as sorts": AS_SORTS,
    **{
        f"{disk:g}, {network:g}, {memory:g}": {
            "disk": Prior(centre=disk, spread=1.0),
            "network": Prior(centre=network, spread=1.2),
            "memory": Prior(centre=memory, spread=0.05),
        }
        for disk, network, memory in (
            (1, 0.5, 0.1),
            (0.5, 0.3, 0.1),
            (0.5, 0.3, 0.05),
            (0.5, 0.3, 0),
            (0.25, 0.1, 0.05),
        )
    },
}


def main() -> None:
    """Print one line per job: score of each candidate on the others and the choice; then the job's own by family."""
    argparse.ArgumentParser(description=__doc__.splitlines()[0]).parse_args()
    scores = {suite: [_by_family(suite, chosen) for chosen in CANDIDATES.values()] for suite in SUITES}
    means = {suite: np.array([np.mean(list(row.values())) for row in rows]) for suite, rows in scores.items()}
    print(f"| left out | {' | '.join(CANDIDATES)} | chosen | its own families, as sorts and chosen |")
    print(f"|---|{'---:|' * (len(CANDIDATES) + 2)}")
    for suite, rows in scores.items():
        others = np.mean([means[other] for other in SUITES if other != suite], axis=0)
        best = int(others.argmax())
        cells = " | ".join(f"{score:.3f}" for score in others)
        own = ", ".join(f"{name} {rows[0][name]:.2f} {rows[best][name]:.2f}" for name in rows[0])
        print(f"| {suite} | {cells} | {list(CANDIDATES)[best]} | {own} |", flush=True)


def _by_family(suite: str, chosen: dict[str, Prior]) -> dict[str, float]:
    """Return the mean log density of each family's times, predicted from the others."""
    priors.OTHER_RESOURCES = chosen
    return {
        family(task.query[0]["type"]): float(np.mean([density for density, _ in densities(suite, task)]))
        for task in deal("new_family", read(suite), seeds=1)
    }


if __name__ == "__main__":
    main()
