"""Worth of the prior in runs: chosen for each job by how well ranges hold on the other jobs.

python benchmarks/sizing/prior_worth.py [--seeds 3]

After n runs a range is as much wider than the posterior's as Student's t of n + worth degrees of freedom is wider than
a normal. Each fold takes the worth whose ranges hold nearest to 90% on the other jobs, every job counting alike.
Without runs the spread of the work decides instead (other_work.py).
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Iterator
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parent))

import numpy as np
from protocols import deal
from synthetic import learnable, model_of, untimed
from tables import SUITES, read, specifications

from planner.calibration import calibrate, prediction
from planner.calibration.history import parse_jobs

WORTHS = (1.5, 2.0, 3.0, 5.0, 10.0, 1e6)
PROTOCOLS = ("few3", "few5", "few10", "few3_across", "new_family_few5")


def main() -> None:
    """Print one line per job: the share that each worth holds on the others, the choice, and its share on the job
    itself.
    """
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--seeds", type=int, default=3)
    seeds = parser.parse_args().seeds
    held = {suite: np.mean(list(_held_by_protocol(suite, seeds)), axis=0) for suite in SUITES}
    print(f"| left out | {' | '.join(f'{worth:g}' for worth in WORTHS)} | chosen | holds with it | without |")
    print(f"|---|{'---:|' * (len(WORTHS) + 3)}")
    for suite in SUITES:
        others = np.mean([held[other] for other in SUITES if other != suite], axis=0)
        best = int(np.abs(others - prediction.COVERAGE).argmin())
        cells = [f"{100 * share:.0f}%" for share in others]
        ends = f"{WORTHS[best]:g} | {100 * held[suite][best]:.0f}% | {100 * held[suite][-1]:.0f}%"
        print(f"| {suite} | {' | '.join(cells)} | {ends} |")


def _held_by_protocol(suite: str, seeds: int) -> Iterator[np.ndarray]:
    """Yield for each protocol the share of measured times within the range, by worth."""
    for protocol in PROTOCOLS:
        hits = [share for task in deal(protocol, read(suite), seeds=seeds) for share in _hits(suite, task)]
        if hits:
            yield np.mean(hits, axis=0)


def _hits(suite: str, task) -> np.ndarray:  # type: ignore[no-untyped-def]
    """Return whether each measured time lies in the range, shape (rows, worths)."""
    train = [{**row, "runtime_s": second} for row, second in zip(learnable(task.train), task.train_s, strict=True)]
    learned = calibrate(train, instances=specifications(), model=model_of(suite))
    mixture = learned.mixture(parse_jobs(untimed(task.query), what="query", timed=False))
    truth, (median, low, high) = (
        np.log([row["runtime_s"] for row in task.query]),
        np.log(mixture.quantiles_s(0.5, 0.05, 0.95)),
    )
    off = np.where(truth > median, (truth - median) / (high - median), (median - truth) / (median - low))
    ours = prediction.few_runs_factor(len(train))
    factors = [prediction.few_runs_factor(len(train) + worth - prediction.PRIOR_WORTH_RUNS) / ours for worth in WORTHS]
    return off[:, None] <= np.array(factors)


if __name__ == "__main__":
    main()
