"""Contribution of each part of the calibration: errors and ranges with one part left out at a time.

python benchmarks/sizing/ablation.py [--seeds 4] [--suites c3o_sgd,...] [--protocols new_type,few5]
"""

from __future__ import annotations

import argparse
import sys
from pathlib import Path
from typing import Any
from unittest.mock import patch

sys.path.insert(0, str(Path(__file__).parent))

from predictors.planner import Predictor
from protocols import deal
from score import Score, mean
from synthetic import untimed
from tables import read, specifications

from planner.calibration import fit, options, posterior, priors

# Module or class, attribute, and the value that leaves the part out.
PARTS: dict[str, tuple[Any, str, Any]] = {
    "nothing": (options, "RECORDS_SHARE", options.RECORDS_SHARE),
    "work by records": (options, "RECORDS_SHARE", 0.0),
    "iterations by the tolerance": (options.Option, "iterations", lambda self, job: 0.0),
    "memory that may not hold the data": (priors, "WORKING_SETS", ()),
    "a charge for more data than ran": (fit, "MOST_CHARGED", 1.0),
    "smooth deviations from the physics": (posterior, "AMPLITUDES", (0.01,)),
    "wider ranges after few runs": (fit, "few_runs_factor", lambda runs: 1.0),
}


def main() -> None:
    """Print one line per part: error and share of the times in the 90% range, in percent."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--seeds", type=int, default=4)
    parser.add_argument("--suites", default="c3o_sort,c3o_grep,c3o_sgd,c3o_kmeans,c3o_pagerank")
    parser.add_argument("--protocols", default="new_type,few5")
    asked = parser.parse_args()
    columns = [(suite, protocol) for suite in asked.suites.split(",") for protocol in asked.protocols.split(",")]
    print(f"| left out | {' | '.join(f'{suite} {protocol}' for suite, protocol in columns)} |")
    print(f"|---|{'---:|' * len(columns)}", flush=True)
    for name, part in PARTS.items():
        with patch.object(*part):
            scores = [_score(suite, protocol, asked.seeds) for suite, protocol in columns]
        cells = [f"{100 * mean(score.error):.1f}, {100 * mean(score.held_by_range):.0f}" for score in scores]
        print(f"| {name} | {' | '.join(cells)} |", flush=True)


def _score(suite: str, protocol: str, seeds: int) -> Score:
    specs, score = specifications(), Score()
    for task in deal(protocol, read(suite), seeds=seeds):
        train = [{**row, "runtime_s": s} for row, s in zip(untimed(task.train), task.train_s, strict=True)]
        seen = {"suite": suite, "specs": specs, "train": train, "query": untimed(task.query)}
        score.add(task.query, Predictor().run(seen), specs)
    return score


if __name__ == "__main__":
    main()
