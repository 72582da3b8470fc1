"""Allowed difference of a job from a sort before any run: chosen for each job by the other jobs.

python benchmarks/sizing/other_work.py [--seeds 2]

The candidates are standard deviations of the logarithm of the work, for the half of the explanations that leave it
open; the first one gives all jobs the work of sorts. Each fold takes the one whose predictions give the other jobs'
measured times the highest mean log density, every job counting alike.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Iterator
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parent))

import numpy as np
from protocols import Task, deal
from synthetic import learnable, model_of, untimed
from tables import SUITES, read, specifications

from planner.calibration import calibrate, priors
from planner.calibration.history import parse_jobs

SPREADS = (0.001, 0.75, 1.5, 3.0)
PROTOCOLS = ("no_runs", "few1", "few3", "few5", "few3_across")


def main() -> None:
    """Print one line per job: score of each spread on the others, the choice, and the share it holds on the job
    itself.
    """
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--seeds", type=int, default=2)
    seeds = parser.parse_args().seeds
    scores = {suite: np.array([_of_spread(suite, spread, seeds) for spread in SPREADS]) for suite in SUITES}
    print(f"| left out | {' | '.join(f'{spread:g}' for spread in SPREADS)} | chosen | own score | holds without runs |")
    print(f"|---|{'---:|' * (len(SPREADS) + 3)}")
    for suite in SUITES:
        others = np.mean([scores[other][:, 0] for other in SUITES if other != suite], axis=0)
        best = int(others.argmax())
        own = ", ".join(f"{score:.2f}" for score in scores[suite][:, 0])
        held = ", ".join(f"{100 * share:.0f}" for share in scores[suite][:, 1])
        print(f"| {suite} | {' | '.join(f'{score:.3f}' for score in others)} | {SPREADS[best]:g} | {own} | {held} |")


def _of_spread(suite: str, spread: float, seeds: int) -> tuple[float, float]:
    """Return the mean log density of the measured times, and the share within the range without runs."""
    priors.OTHER_WORK = priors.Prior(centre=1, spread=spread)
    results = {protocol: np.array(list(_densities(suite, protocol, seeds))) for protocol in PROTOCOLS}
    density = np.mean([rows[:, 0].mean() for rows in results.values() if len(rows)])
    return float(density), float(results["no_runs"][:, 1].mean())


def _densities(suite: str, protocol: str, seeds: int) -> Iterator[tuple[float, float]]:
    for task in deal(protocol, read(suite), seeds=seeds):
        yield from densities(suite, task)


def densities(suite: str, task: Task) -> list[tuple[float, float]]:
    """Return for each predicted time its log density and whether the range holds it."""
    train = [{**row, "runtime_s": second} for row, second in zip(learnable(task.train), task.train_s, strict=True)]
    learned = calibrate(train, instances=specifications(), model=model_of(suite))
    mixture = learned.mixture(parse_jobs(untimed(task.query), what="query", timed=False))
    truth, (_, low, high) = np.log([row["runtime_s"] for row in task.query]), np.log(mixture.range_s())
    z = (truth - mixture.mean) / mixture.sd
    density = np.log(mixture.weight @ (np.exp(-0.5 * z**2) / mixture.sd) + 1e-300)
    return list(zip(density.tolist(), ((low <= truth) & (truth <= high)).tolist(), strict=True))


if __name__ == "__main__":
    main()
