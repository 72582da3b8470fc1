"""Made-up machine types: accuracy of predictions for a type never run, under each explanation.

python benchmarks/sizing/synthetic.py [--types 25] [--suites c3o_sort,arrow_terasort]

Each resource of a measured type is multiplied by its own factor, drawn by seed. The time of every measured run on it
follows from one explanation fitted to all runs of the suite, so that the formula's errors stay as they were measured,
times a factor for the type that no specification reveals. Each explanation is taken as true once.
"""

from __future__ import annotations

import argparse
import math
import random
import sys
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).parent))

import numpy as np
from predictors.planner import MODEL_OF_SUITE
from score import Score, mean
from tables import Row, read, specifications

from planner.calibration import calibrate
from planner.calibration.history import parse_jobs
from planner.calibration.machines import machine
from planner.calibration.physics import Shape, log_seconds, unit_seconds
from planner.calibration.posterior import Runs, explain_runs
from planner.calibration.priors import MODELS, Family
from planner.calibration.workloads import workload

FACTORS = {
    ("ghz",): (0.75, 1.4),
    ("mem_gib",): (0.5, 4.0),
    ("ebs_mbps", "nvme_r_MBps", "nvme_w_MBps"): (0.5, 2.5),
    ("net_base_gbps", "net_burst_gbps"): (0.5, 3.0),
}
"""Smallest and largest factor of each resource: the range within the families of one generation in the catalogs."""
UNTOLD_SD = 0.1
"""Standard deviation of the logarithm of a type's speed beyond its specification."""
NAME = "made.up"


def main() -> None:
    """Print a Markdown table by suite and by the true explanation."""
    options = _options()
    print("| suite, true explanation | types | mean error, % | bias, % | in the 90% range, % | range's ratio |")
    print("|---|---:|---:|---:|---:|---:|")
    for suite in options.suites.split(","):
        learned = calibrate(learnable(read(suite)), instances=specifications(), model=model_of(suite))
        for truth in explanations_of(suite):
            score, ratios = Score(), []
            for query, specs in synthetic(suite, truth, types=options.types):
                jobs = parse_jobs(untimed(query), what="query", timed=False)
                ranges = learned.mixture(jobs, instances=specs).range_s()
                ratios += np.log(ranges[2] / ranges[1]).tolist()
                score.add(
                    query, [dict(zip(("runtime_s", "lo", "hi"), r, strict=True)) for r in ranges.T.tolist()], specs
                )
            cells = (mean(score.error), math.expm1(mean(score.bias)), mean(score.held_by_range))
            percents = " | ".join(f"{100 * cell:.0f}" for cell in cells)
            print(
                f"| {suite}: {truth.name} | {options.types} | {percents} | {math.exp(mean(ratios)):.1f} |", flush=True
            )


def model_of(suite: str) -> str:
    """Return the model that a user of the suite's software would name."""
    return MODEL_OF_SUITE.get(suite, "spark")


def explanations_of(suite: str) -> tuple[Family, ...]:
    """Return the explanations under which times on a made-up type are computed."""
    return MODELS[model_of(suite)]


def synthetic(suite: str, truth: Family, *, types: int) -> Iterator[tuple[list[Row], dict[str, Row]]]:
    """Yield the runs of one measured type as they would be on a type derived from it, with all specifications."""
    rows, specs = read(suite), specifications()
    coefficients = _fitted(rows, specs, truth)
    bases = sorted({row["type"] for row in rows})
    for seed in range(types):
        rng = random.Random(f"made up {suite} {seed}")
        base = bases[seed % len(bases)]
        told = {**specs, NAME: _stretched(specs[base], rng)}
        untold = rng.gauss(0, UNTOLD_SD)
        own = [row for row in rows if row["type"] == base]
        new = [{**row, "type": NAME} for row in own]
        gain = _log_s(new, told, truth, coefficients) - _log_s(own, told, truth, coefficients) + untold
        yield (
            [{**row, "runtime_s": row["runtime_s"] * factor} for row, factor in zip(new, np.exp(gain), strict=True)],
            told,
        )


def learnable(rows: Sequence[Row]) -> list[Row]:
    """Return rows as calibration takes them: with the median of the repeats."""
    return [{key: value for key, value in row.items() if key != "repeats_s"} for row in rows]


def untimed(rows: Sequence[Row]) -> list[Row]:
    """Return rows without their times, as questions."""
    return [{key: value for key, value in row.items() if key not in ("repeats_s", "runtime_s")} for row in rows]


def _stretched(spec: Row, rng: random.Random) -> Row:
    drawn = {columns: math.exp(rng.uniform(math.log(low), math.log(high))) for columns, (low, high) in FACTORS.items()}
    return {**spec, "type": NAME, **{key: spec[key] * factor for keys, factor in drawn.items() for key in keys}}


def _fitted(rows: Sequence[Row], specs: dict[str, Row], truth: Family) -> Any:
    """Return the likeliest coefficients under one explanation."""
    jobs = parse_jobs(rows, what="runs", timed=True)
    runs = Runs(
        work=workload(jobs, {name: machine(name, spec) for name, spec in specs.items()}),
        options=np.zeros((len(jobs), 0)),
        log_s=np.log([row["runtime_s"] for row in rows]),
        outlier=np.zeros(len(jobs), bool),
    )
    return max(explain_runs(runs, (truth,)), key=lambda way: way.log_evidence).coefficients


def _log_s(rows: Sequence[Row], specs: dict[str, Row], truth: Family, coefficients: Any) -> Any:
    jobs = parse_jobs(rows, what="rows", timed=False)
    work = workload(jobs, {name: machine(name, spec) for name, spec in specs.items()})
    return log_seconds(coefficients, unit_seconds(work, Shape(truth.stream)))[0]


def _options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--types", type=int, default=25)
    parser.add_argument("--suites", default="c3o_sort,arrow_terasort")
    return parser.parse_args()


if __name__ == "__main__":
    main()
