"""Does one Spark event log foresee the same job on other clusters? Each is predicted before it runs.

Jobs run on standalone Spark over emulated nodes, whose processors are limited by control groups and whose links are
capped. From the log of one shape all other shapes are predicted; then they run. As root, with java and pyspark:

    python benchmarks/spark_log/bench_predictions.py --spark-home ENVIRONMENT/pyspark --out trials.jsonl

Every line of the output is one run, with what had been predicted for it. `--report trials.jsonl` scores such a file;
every log is then taken as the one that is known in turn, which says what a cluster picked from it would have saved.
"""

from __future__ import annotations

import argparse
import json
import sys
import tempfile
from collections.abc import Iterator, Sequence
from dataclasses import asdict
from pathlib import Path
from statistics import fmean, median
from typing import Any, Final

from contention import Probe
from spark_nodes import Shape, spark_nodes, usable

from planner import spark_log
from planner.spark_application.application import Application
from planner.spark_model.choices import choose, work_of

LOGGED: Final = Shape(nodes=2, slots=1, processors=0.5, rate="400Mbit")
SHAPES: Final = {
    "tried": (
        Shape(nodes=1, slots=1, processors=1.0, rate="400Mbit"),
        Shape(nodes=4, slots=1, processors=0.25, rate="400Mbit"),
        Shape(nodes=2, slots=2, processors=0.5, rate="400Mbit"),
        Shape(nodes=3, slots=1, processors=0.3, rate="100Mbit"),
        Shape(nodes=1, slots=2, processors=1.0, rate="400Mbit"),
        Shape(nodes=2, slots=1, processors=0.4, rate="50Mbit"),
    ),
    "unseen": (
        Shape(nodes=3, slots=1, processors=0.5, rate="100Mbit"),
        Shape(nodes=2, slots=2, processors=0.75, rate="400Mbit"),
        Shape(nodes=2, slots=1, processors=0.75, rate="50Mbit"),
        Shape(nodes=3, slots=2, processors=0.5, rate="400Mbit"),
        Shape(nodes=2, slots=1, processors=1.0, rate="400Mbit"),
        Shape(nodes=6, slots=1, processors=0.25, rate="100Mbit"),
        Shape(nodes=1, slots=1, processors=0.75, rate="400Mbit"),
        Shape(nodes=4, slots=1, processors=0.5, rate="200Mbit"),
    ),
}
"""Those that were tried while the model was made, of one processor in all, and those that were not."""
ROWS: Final = {"sort": 10_000_000, "join": 6_000_000, "aggregate": 10_000_000, "pagerank": 2_500_000}
"""So many that the tasks of the logged shape compute for three times what its start takes."""
PARTITIONS: Final = {"sort": 48, "join": 48, "aggregate": 48, "pagerank": 24}
_DISTURBED: Final = 2.0
"""A run during which others slowed a small loop by so much is run again."""


def logged(path: Path) -> Application:
    """Return the application of a log."""
    return spark_log.read(str(path)).only()


def foreseen(application: Application, *, ran_on: Shape, shape: Shape) -> dict[str, float]:
    """Return the seconds expected on a shape, and their 90% range, from a log of another."""
    prediction = work_of(application, ran_on.described()).predict(shape.described())
    return {"expected_s": prediction.duration_s, "low_s": prediction.low_s, "high_s": prediction.high_s}


def trials(
    jobs: list[str],
    shapes: Sequence[Shape],
    *,
    ran: list[dict[str, Any]],
    spark_home: Path,
    logs: Path,
    directory: Path,
) -> Iterator[dict[str, Any]]:
    """Yield each run of each job with its prediction: the logged shape first, so that all others are foreseen. What
    `ran` undisturbed is not run again.
    """
    logs.mkdir(parents=True, exist_ok=True)
    done = [(row["job"], Shape(**row["shape"])) for row in ran if row["slowdown"] < _DISTURBED]
    for shape in (LOGGED, *shapes):
        left = [job for job in jobs if (job, shape) not in done]
        if not left:
            continue
        with spark_nodes(shape, spark_home=spark_home, directory=directory) as cluster:
            for job in left:
                first = _log_of(logs, job, LOGGED)
                before = {} if shape == LOGGED else foreseen(logged(first), ran_on=LOGGED, shape=shape)
                if before:
                    print(f"{job:10} {shape.name:55} {before['expected_s']:.1f} s expected", flush=True)
                path = _log_of(logs, job, shape)
                with Probe(cluster.head) as probe:
                    cluster.run(job, rows=ROWS[job], partitions=PARTITIONS[job], shape=shape, log=path)
                row = {"job": job, "shape": asdict(shape), **before, "measured_s": logged(path).duration_s}
                yield {**row, "slowdown": round(probe.slowdown, 2), "log": str(path)}


def _log_of(logs: Path, job: str, shape: Shape) -> Path:
    return logs / f"{job}-{shape.nodes}x{shape.slots}x{shape.processors:g}x{shape.rate}.log"


def report(rows: list[dict[str, Any]]) -> None:
    """Print error and coverage of what was foreseen, and then of every log in turn."""
    foretold = [row for row in rows if "expected_s" in row]
    print("foreseen from one log before the run:")
    for job in dict.fromkeys(row["job"] for row in foretold):
        _score(job, [row for row in foretold if row["job"] == job])
    _score("all", foretold)
    crossed, saved = [], []
    for row in rows:
        application, ran_on = logged(Path(row["log"])), Shape(**row["shape"])
        others = [other for other in rows if other["job"] == row["job"]]
        shapes = [Shape(**other["shape"]) for other in others]
        crossed += [
            {**foreseen(application, ran_on=ran_on, shape=shape), "measured_s": other["measured_s"]}
            for shape, other in zip(shapes, others, strict=True)
            if shape != ran_on
        ]
        saved += _saved(application, ran_on=ran_on, shapes=shapes, seconds=[other["measured_s"] for other in others])
    print("every log in turn:")
    _score("all", crossed)
    if saved:
        cheaper = sum(share < 1 for share in saved)
        print(f"another cluster was picked from {len(saved)} of {len(rows)} logs; it was cheaper in {cheaper};")
        print(f"median of its cost over that of the logged one {median(saved):.2f}")


def _saved(application: Application, *, ran_on: Shape, shapes: list[Shape], seconds: list[float]) -> list[float]:
    """Return what the picked cluster cost of what the logged one did, as measured; nothing where that is kept, or where
    what is picked was not run.
    """
    work = work_of(application, ran_on.described())
    plans = [choose(work, [shape.described().machine], nodes=shape.nodes, deadline_s=1e9) for shape in shapes]
    best = min((plan.best for plan in plans if plan.best is not None), key=lambda choice: choice.cost_usd)
    cost = {shape.described(): shape.described().usd_per_hour * s for shape, s in zip(shapes, seconds, strict=True)}
    if best.nodes == ran_on.described() or best.nodes not in cost:
        return []
    return [cost[best.nodes] / cost[ran_on.described()]]


def _score(name: str, rows: list[dict[str, Any]]) -> None:
    errors = [row["expected_s"] / row["measured_s"] - 1 for row in rows]
    held = sum(row["low_s"] <= row["measured_s"] <= row["high_s"] for row in rows)
    sizes = [abs(error) for error in errors]
    print(
        f"  {name:10} {len(rows):3} runs: mean error {fmean(sizes):.1%} (bias {fmean(errors):+.1%}, worst "
        f"{max(sizes):.1%}), 90% range holds {held} = {held / len(rows):.0%}"
    )


def rows_of(path: Path) -> list[dict[str, Any]]:
    """Return the last run of each job on each shape."""
    rows = [json.loads(line) for line in path.read_text().splitlines()]
    return list({(row["job"], *row["shape"].values()): row for row in rows}.values())


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--spark-home", type=Path)
    parser.add_argument("--jobs", default=",".join(ROWS))
    parser.add_argument("--shapes", choices=SHAPES, default="unseen")
    parser.add_argument("--out", type=Path, default=Path("trials.jsonl"))
    parser.add_argument("--report", type=Path)
    arguments = parser.parse_args()
    if arguments.report:
        report(rows_of(arguments.report))
        return
    if arguments.spark_home is None:
        parser.error("--spark-home: the folder of the package pyspark")
    if reason := usable(arguments.spark_home):
        sys.exit(reason)
    logs = arguments.out.with_suffix(".logs")
    ran = rows_of(arguments.out) if arguments.out.exists() else []
    with tempfile.TemporaryDirectory() as folder, arguments.out.open("a") as written:
        jobs, home = arguments.jobs.split(","), arguments.spark_home.resolve()
        for row in trials(jobs, SHAPES[arguments.shapes], ran=ran, spark_home=home, logs=logs, directory=Path(folder)):
            written.write(json.dumps(row) + "\n")
            written.flush()
            print(
                f"{row['job']:10} {Shape(**row['shape']).name:55} {row['measured_s']:.1f} s, "
                f"others slowed it {row['slowdown']}",
                flush=True,
            )
    report(rows_of(arguments.out))


if __name__ == "__main__":
    main()
