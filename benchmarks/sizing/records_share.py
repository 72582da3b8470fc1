"""Expected slowdown of a job with more records in the same bytes: chosen for each job by the others.

python benchmarks/sizing/records_share.py [--seeds 4]

The candidates are exponents of records per GB. Each fold takes the one whose predictions give the other jobs' measured
times the highest mean log density, every protocol and job counting alike.
"""

from __future__ import annotations

import argparse
import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parent))

import numpy as np
from other_work import densities
from protocols import deal
from tables import read

from planner.calibration import options

JOBS = ("c3o_sgd", "c3o_kmeans", "c3o_pagerank")
"""Available jobs whose runs count records."""
SHARES = (0.0, 0.25, 0.5, 0.75, 1.0)
PROTOCOLS = ("new_type", "few5", "few3_across")


def main() -> None:
    """Print one line per job: the density of each share on the others, the choice, and the job's own densities."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--seeds", type=int, default=4)
    seeds = parser.parse_args().seeds
    found = {job: np.array([_density(job, share, seeds) for share in SHARES]) for job in JOBS}
    print(f"| left out | {' | '.join(f'{share:g}' for share in SHARES)} | chosen | its own density |")
    print(f"|---|{'---:|' * len(SHARES)}---:|---|")
    for job in JOBS:
        others = np.mean([found[other] for other in JOBS if other != job], axis=0)
        own = ", ".join(f"{density:.2f}" for density in found[job])
        print(f"| {job} | {' | '.join(f'{x:.3f}' for x in others)} | {SHARES[int(others.argmax())]:g} | {own} |")


def _density(suite: str, share: float, seeds: int) -> float:
    options.RECORDS_SHARE = share
    tasks = (list(deal(protocol, read(suite), seeds=seeds)) for protocol in PROTOCOLS)
    return float(np.mean([np.mean([d for task in some for d, _ in densities(suite, task)]) for some in tasks]))


if __name__ == "__main__":
    main()
