"""Processor time and memory of `planner.spark.log.read` for large event logs.

Each run is its own process. Logs are the given ones, uncompressed; or one made of stages of 10,000 tasks with lines as
long as those of Spark 3, 3.6 kB with their accumulables. The floor is Python's json over the same lines.
"""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path
from statistics import median

sys.path.insert(0, str(Path(__file__).resolve().parents[2] / "tests" / "helpers"))
from spark_events import START_MS, application_start, lines, log_start, metrics, stage_submitted, task_end, task_start

TASKS_A_STAGE = 10_000
FLAGS = {"Internal": True, "Count Failed Values": True}
ACCUMULABLES = [{"ID": i, "Name": f"internal.metrics.figure{i}", "Update": i, "Value": i, **FLAGS} for i in range(20)]
READ = "print(s.read(sys.argv[1]).only().tasks)"
FLOOR = "print(sum('Event' in json.loads(line) for line in open(sys.argv[1], 'rb')))"
TIMED = """import json, resource, sys, time
import planner.spark.log as s
start = time.process_time()
{}
print(time.process_time() - start, resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024)"""


def pieces(size_bytes: int) -> Iterator[bytes]:
    """Yield a log of about this number of bytes."""
    made, task = 0, 0
    yield lines([log_start(), application_start()])
    while made < size_bytes:
        stage = task // TASKS_A_STAGE
        events = [stage_submitted(stage, tasks=TASKS_A_STAGE, at_ms=START_MS)] if task % TASKS_A_STAGE == 0 else []
        launch = START_MS + task
        ended = task_end(task, stage=stage, launch_ms=launch, finish_ms=launch + 900, did=metrics(run_ms=800))
        ended["Task Info"]["Accumulables"] = ACCUMULABLES
        data = lines([*events, task_start(task, stage=stage, launch_ms=launch), ended])
        made, task = made + len(data), task + 1
        yield data


def timed(program: str, path: Path) -> tuple[float, float]:
    """Return seconds and MiB of a program over a log."""
    command = [sys.executable, "-c", TIMED.format(program), str(path)]
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    seconds, mebibytes = done.stdout.split()[-2:]
    return float(seconds), float(mebibytes)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("logs", type=Path, nargs="*")
    parser.add_argument("--megabytes", type=int, default=1000)
    parser.add_argument("--runs", type=int, default=5)
    arguments = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        made = Path(folder) / "log"
        if not arguments.logs:
            with made.open("wb") as log:
                log.writelines(pieces(arguments.megabytes * 10**6))
        for path in arguments.logs or [made]:
            pairs = [(timed(READ, path), timed(FLOOR, path)) for _ in range(arguments.runs)]
            for name, results in zip(("read", "json alone"), zip(*pairs, strict=True), strict=True):
                seconds, memory = zip(*results, strict=True)
                rates = [path.stat().st_size / 1e6 / each for each in seconds]
                spread = f"({min(rates):.1f} to {max(rates):.1f}, {len(rates)} runs)"
                figures = {"s": round(median(seconds), 1), "MB/s": round(median(rates), 1), "spread": spread}
                print(json.dumps({"log": path.name, "what": name, **figures, "MiB": max(memory)}))


if __name__ == "__main__":
    main()
