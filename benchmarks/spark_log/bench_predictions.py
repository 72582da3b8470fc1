"""Does one Spark event log predict the same job on other clusters? Each is predicted before it runs.

Jobs run on standalone Spark over emulated nodes, with processors limited by control groups and links capped. From the
log of one shape all other shapes are predicted; then they run. As root, with java and pyspark:

python benchmarks/spark_log/bench_predictions.py --spark-home ENVIRONMENT/pyspark --out trials.jsonl

Every line of the output is one run, with its prediction. A second call continues where the first ended, and repeats
runs that others on the machine disturbed. `--report trials.jsonl` scores such a file; every log then takes its turn as
the known one, to show the savings of a cluster picked from it.
"""

from __future__ import annotations

import argparse
import json
import signal
import sys
import tempfile
from collections.abc import Iterator, Sequence
from dataclasses import asdict
from pathlib import Path
from typing import Any, Final

from contention import Probe
from spark_nodes import Shape, spark_nodes, usable
from trial_report import Trial, logged_work, predicted, report, trials_of

from planner.spark import log as spark_log

LOGGED: Final = Shape(nodes=2, slots=1, processors=0.5, rate="400Mbit")
SHAPES: Final = {
    "tried": (
        Shape(nodes=1, slots=1, processors=1.0, rate="400Mbit"),
        Shape(nodes=4, slots=1, processors=0.25, rate="400Mbit"),
        Shape(nodes=2, slots=2, processors=0.5, rate="400Mbit"),
        Shape(nodes=3, slots=1, processors=0.3, rate="100Mbit"),
        Shape(nodes=1, slots=2, processors=1.0, rate="400Mbit"),
        Shape(nodes=2, slots=1, processors=0.4, rate="50Mbit"),
        Shape(nodes=1, slots=1, processors=0.8, rate="400Mbit"),
        Shape(nodes=3, slots=2, processors=0.3, rate="200Mbit"),
        Shape(nodes=2, slots=1, processors=0.5, rate="100Mbit"),
    ),
    "unseen": (
        Shape(nodes=3, slots=1, processors=0.5, rate="100Mbit"),
        Shape(nodes=2, slots=2, processors=0.75, rate="400Mbit"),
        Shape(nodes=2, slots=1, processors=0.75, rate="50Mbit"),
        Shape(nodes=3, slots=2, processors=0.5, rate="400Mbit"),
        Shape(nodes=2, slots=1, processors=1.0, rate="400Mbit"),
        Shape(nodes=5, slots=1, processors=0.4, rate="100Mbit"),
        Shape(nodes=1, slots=1, processors=0.75, rate="400Mbit"),
        Shape(nodes=4, slots=1, processors=0.5, rate="200Mbit"),
    ),
}
"""Shapes tried while the model was made, of one processor in all, and those that were not."""
ROWS: Final = {"sort": 10_000_000, "join": 6_000_000, "aggregate": 10_000_000, "pagerank": 2_500_000}
"""Rows with which the logged shape takes about a minute."""
PARTITIONS: Final = {"sort": 48, "join": 48, "aggregate": 48, "pagerank": 24}
_DISTURBED: Final = 2.0
"""A run is repeated if others slowed a small loop by this factor meanwhile."""


def trials(
    jobs: list[str], shapes: Sequence[Shape], *, ran: Sequence[Trial], spark_home: Path, logs: Path, directory: Path
) -> Iterator[dict[str, Any]]:
    """Yield each run of each job with its prediction: the logged shape first, so that all others are predicted. Runs
    that `ran` undisturbed are not repeated.
    """
    logs.mkdir(parents=True, exist_ok=True)
    done = [(trial.job, trial.shape) for trial in ran if trial.slowdown < _DISTURBED]
    for shape in (LOGGED, *shapes):
        left = [job for job in jobs if (job, shape) not in done]
        if not left:
            continue
        with spark_nodes(shape, spark_home=spark_home, directory=directory) as cluster:
            for job in left:
                first = _log_of(logs, job, LOGGED)
                before = {} if shape == LOGGED else predicted(logged_work(first, LOGGED), shape)
                if before:
                    print(f"{job:10} {shape.name:55} {before['expected_s']:.1f} s expected", flush=True)
                path = _log_of(logs, job, shape)
                with Probe(cluster.head) as probe:
                    cluster.run(job, rows=ROWS[job], partitions=PARTITIONS[job], shape=shape, log=path)
                row = {
                    "job": job,
                    "shape": asdict(shape),
                    **before,
                    "measured_s": spark_log.read(str(path)).only().duration_s,
                }
                yield {**row, "slowdown": round(probe.slowdown, 2), "log": str(path)}


def _log_of(logs: Path, job: str, shape: Shape) -> Path:
    return logs / f"{job}-{shape.nodes}x{shape.slots}x{shape.processors:g}x{shape.rate}.log"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--spark-home", type=Path)
    parser.add_argument("--jobs", default=",".join(ROWS))
    parser.add_argument("--shapes", choices=SHAPES, default="unseen")
    parser.add_argument("--out", type=Path, default=Path("trials.jsonl"))
    parser.add_argument("--report", type=Path)
    arguments = parser.parse_args()
    if arguments.report:
        report(trials_of(arguments.report))
        return
    if arguments.spark_home is None:
        parser.error("--spark-home: the folder of the package pyspark")
    if reason := usable(arguments.spark_home):
        sys.exit(reason)
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(1))  # clusters are removed, too
    arguments.out.parent.mkdir(parents=True, exist_ok=True)
    logs = arguments.out.with_suffix(".logs")
    ran = trials_of(arguments.out)
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
    report(trials_of(arguments.out))


if __name__ == "__main__":
    main()
