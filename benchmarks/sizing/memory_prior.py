"""Prior for the memory that a job needs before any run: chosen for each job by the regret on the others.

python benchmarks/sizing/memory_prior.py [--seeds 5]

Regret is that of the cluster chosen from three runs, for the same data and for the most. Every job counts alike. The
column `median` has the chosen prior, but chooses by the median in place of the mean over explanations.
"""

from __future__ import annotations

import argparse
import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parent))

import numpy as np
from protocols import deal
from score import Score, mean
from synthetic import learnable, untimed
from tables import SUITES, read, specifications

from planner.calibration import calibrate, priors
from planner.calibration.history import parse_jobs

JOBS = [suite for suite in SUITES if suite.startswith(("c3o", "dataproc")) and suite != "c3o_kmeans"]
"""Spark's jobs; k-means on C3O is missing, as no six clusters ran on the same least data."""
CANDIDATES = {
    "no memory": (0.0, 64.0),
    "0.5, 32": (0.5, 32.0),
    "0.5, 64": (0.5, 64.0),
    "0.75, 16": (0.75, 16.0),
    "0.75, 32": (0.75, 32.0),
    "0.75, 64": (0.75, 64.0),
    "0.75, 128": (0.75, 128.0),
}
"""Odds that a job holds data in memory, and the passes over a disk of the data that does not fit."""


def main() -> None:
    """Print one line per job: the mean regret of each prior on the others, the choice, and its own regret."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--seeds", type=int, default=5)
    seeds = parser.parse_args().seeds
    found = {name: {job: _regret(job, seeds, *prior) for job in JOBS} for name, prior in CANDIDATES.items()}
    medians = {job: _regret(job, seeds, 0.75, 64.0, level=0.5) for job in JOBS}
    print(f"| left out | {' | '.join(CANDIDATES)} | chosen | regret with it | without memory | by the median |")
    print(f"|---|{'---:|' * (len(CANDIDATES) + 4)}")
    for job in JOBS:
        others = {name: np.mean([regrets[other] for other in JOBS if other != job]) for name, regrets in found.items()}
        chosen = min(others, key=others.__getitem__)
        ends = f"{found[chosen][job]:.2f} | {found['no memory'][job]:.2f} | {medians[job]:.2f}"
        print(f"| {job} | {' | '.join(f'{regret:.2f}' for regret in others.values())} | {chosen} | {ends} |")


def _regret(suite: str, seeds: int, odds: float, passes: float, level: float | None = None) -> float:
    """Return the mean regret on a job with another prior, choosing by a quantile if `level` is given."""
    specs, score = specifications(), Score()
    before = priors.WORKING_SETS, priors.SPILL
    priors.WORKING_SETS = priors.working_sets(holds_data=odds, holds_by_core=priors.HOLDS_BY_CORE if odds else 0)
    priors.SPILL = priors.Prior(centre=passes, spread=priors.SPILL.spread)
    for protocol in ("few3_same_data", "few3_more_data"):
        for task in deal(protocol, read(suite), seeds=seeds):
            rows = zip(learnable(task.train), task.train_s, strict=True)
            learned = calibrate([{**row, "runtime_s": s} for row, s in rows], instances=specs, model="spark")
            mixture = learned.mixture(parse_jobs(untimed(task.query), what="query", timed=False))
            times = mixture.expected_s() if level is None else mixture.quantiles_s(level)[0]
            score.add(task.query, times.tolist(), specs)
    priors.WORKING_SETS, priors.SPILL = before
    return mean(score.regret)


if __name__ == "__main__":
    main()
