"""Machine types that nobody built: how well calibration foresees a type never run, whichever explanation is the true one.

    python benchmarks/sizing/made_up.py [--types 25] [--suites c3o_sort,arrow_terasort]

Each resource of a measured type is multiplied by a factor of its own, drawn by seed. The time of every measured run on
it follows from one explanation fitted to all runs of the suite, so that what the formula misses stays as it was
measured, times a factor for the type that no specification tells. Every explanation is the truth once.
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
from predictors.planner import MODEL_OF_SUITE, Predictor
from protocols import Task
from score import Score, mean
from tables import Row, read, specifications

from planner.calibration.history import parse_jobs
from planner.calibration.machines import machine
from planner.calibration.physics import log_seconds, unit_seconds
from planner.calibration.posterior import Runs, explain_runs
from planner.calibration.priors import ONE_STREAM, Family, families
from planner.calibration.workloads import workload

FACTORS = {
    ("ghz",): (0.75, 1.4),
    ("mem_gib",): (0.5, 4.0),
    ("ebs_mbps", "nvme_r_MBps", "nvme_w_MBps"): (0.5, 2.5),
    ("net_base_gbps", "net_burst_gbps"): (0.5, 3.0),
}
"""Smallest and largest factor of each resource: what the families of one generation in the catalogs span."""
UNTOLD_SD = 0.1
"""Standard deviation of the logarithm of what a type does beyond its specification."""
NAME = "made.up"


def main() -> None:
    """Print a Markdown table by suite and by the explanation that is true."""
    options = _options()
    print("| suite, true explanation | types | mean error, % | bias, % | in the 90% range, % | range's ratio |")
    print("|---|---:|---:|---:|---:|---:|")
    for suite in options.suites.split(","):
        for truth in explanations_of(suite):
            score, ratios = Score(), []
            for task, specs in made_up(suite, truth, types=options.types):
                query = [{key: value for key, value in row.items() if key not in ("runtime_s", "repeats_s")} for row in task.query]
                answers = Predictor().run({"suite": suite, "specs": specs, "train": _timed(task), "query": query})
                ratios += [math.log(answer["hi"] / answer["lo"]) for answer in answers]
                score.add(task.query, answers, specs)
            cells = (mean(score.error), math.expm1(mean(score.bias)), mean(score.held_by_range))
            percents = " | ".join(f"{100 * cell:.0f}" for cell in cells)
            name = truth.name.removeprefix("one output stream, ")
            print(f"| {suite}, {name} | {options.types} | {percents} | {math.exp(mean(ratios)):.1f} |", flush=True)


def explanations_of(suite: str) -> tuple[Family, ...]:
    """Return the explanations under which times on a made-up type are worked out."""
    model = MODEL_OF_SUITE.get(suite, "spark")
    return ONE_STREAM if model == "spark" else families(model)


def made_up(suite: str, truth: Family, *, types: int) -> Iterator[tuple[Task, dict[str, Row]]]:
    """Yield tasks that learn from all runs of a suite and predict those of one type on a made-up type; with its specs."""
    rows, specs = read(suite), specifications()
    coefficients = _fitted(rows, specs, truth)
    bases = sorted({row["type"] for row in rows})
    for seed in range(types):
        rng = random.Random(f"made up {suite} {seed}")
        base = bases[seed % len(bases)]
        shared = {**specs, NAME: _stretched(specs[base], rng)}
        untold = rng.gauss(0, UNTOLD_SD)
        own = [row for row in rows if row["type"] == base]
        new = [{**row, "type": NAME} for row in own]
        ratio = _log_s(new, shared, truth, coefficients) - _log_s(own, shared, truth, coefficients)
        query = [
            {**row, "runtime_s": row["runtime_s"] * math.exp(gain + untold)}
            for row, gain in zip(new, ratio.tolist(), strict=True)
        ]
        yield Task(train=rows, train_s=[row["runtime_s"] for row in rows], query=query), shared


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
    return log_seconds(coefficients, unit_seconds(work, truth.stream))[0]


def _timed(task: Task) -> list[Row]:
    return [
        {**{key: value for key, value in row.items() if key != "repeats_s"}, "runtime_s": second}
        for row, second in zip(task.train, task.train_s, strict=True)
    ]


def _options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--types", type=int, default=25)
    parser.add_argument("--suites", default="c3o_sort,arrow_terasort")
    return parser.parse_args()


if __name__ == "__main__":
    main()
