"""Does `planner explain-log` name the known cause of a job? Ten jobs, each slowed by one thing, and read blind.

python benchmarks/spark_log/bench_causes.py --spark-home ENVIRONMENT/pyspark --logs FOLDER --sizes first

Shares are of the slots' time while the job ran: the measurement outside Spark (`cause_jobs.py`) against the reading of
the log. Existing logs are read again, not made again. The shuffle needs root, for its own network.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import tempfile
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final

SLOTS: Final = 2


@dataclass(frozen=True, kw_only=True)
class Cause:
    """A job with its sizes, first and second; the bounds that name its cause; and the part of the task time that each
    clock measured.
    """

    sizes: tuple[int, int]
    bounds: tuple[str, ...]
    parts: Mapping[str, str] = field(default_factory=dict)
    settings: Mapping[str, str] = field(default_factory=dict)
    before: tuple[str, ...] = ()


_LIMITED: Final = (
    "unshare", "--net", "sh", "-c",
    'ip link set lo up && tc qdisc add dev lo root tbf rate 25mbit burst 256k latency 2s && exec "$@"', "sh",
)  # fmt: skip
CAUSES: Final = {
    "cpu": Cause(sizes=(150_000, 400_000), bounds=("processors",), parts={"cpu": "cpu"}),
    "sleep": Cause(sizes=(480, 144), bounds=("waiting",), parts={"cpu": "cpu", "waiting": "waiting"}),
    "udf": Cause(sizes=(1200, 3000), bounds=("python",), parts={"cpu": "cpu", "python": "python"}),
    "spill": Cause(
        sizes=(1_500_000, 3_000_000),
        bounds=("memory",),
        parts={"cpu": "cpu"},
        settings={"spark.driver.memory": "600m", "spark.memory.fraction": "0.2"},
    ),
    "skew": Cause(sizes=(80_000, 200_000), bounds=("straggler",), parts={"cpu": "cpu"}),
    "shuffle": Cause(
        sizes=(500_000, 900_000),
        bounds=("network",),
        parts={"cpu": "cpu"},
        settings={
            "spark.master": "local-cluster[2,1,1024]",
            "spark.shuffle.readHostLocalDisk": "false",
            "spark.shuffle.compress": "false",
            "spark.driver.host": "127.0.0.1",
        },
        before=_LIMITED,
    ),
    "gc": Cause(
        sizes=(1_000_000, 1_300_000),
        bounds=("memory",),
        parts={"cpu": "cpu", "gc": "gc"},
        settings={"spark.driver.memory": "520m", "spark.driver.extraJavaOptions": "-XX:+UseParallelGC"},
    ),
    "small_files": Cause(
        sizes=(600, 1500),
        bounds=("small tasks",),
        parts={"cpu": "cpu"},
        settings={"spark.sql.files.openCostInBytes": str(1 << 27)},
    ),
    "storage": Cause(sizes=(12_000_000, 25_000_000), bounds=("storage",), parts={"cpu": "cpu", "storage": "storage"}),
    "driver": Cause(sizes=(4, 7), bounds=("driver",), parts={"driver": "driver"}),
}


def run(name: str, cause: Cause, *, size: int, spark_home: Path, log: Path) -> None:
    """Run a job; leave its log, and the measurements next to it."""
    with tempfile.TemporaryDirectory() as folder:
        scratch = Path(folder)
        (scratch / "log").mkdir()
        settings = {
            "spark.master": f"local[{SLOTS}]",
            "spark.driver.memory": "1g",
            "spark.sql.shuffle.partitions": "8",
            "spark.sql.adaptive.enabled": "false",
            "spark.ui.enabled": "false",
            "spark.local.dir": folder,
            "spark.eventLog.enabled": "true",
            "spark.eventLog.dir": (scratch / "log").as_uri(),
            **cause.settings,
        }
        words = [word for key, value in settings.items() for word in ("--conf", f"{key}={value}")]
        job = [str(Path(__file__).with_name("cause_jobs.py")), name, str(size), folder]
        python = str(spark_home.parents[3] / "bin" / "python")
        done = subprocess.run(
            [*cause.before, str(spark_home / "bin" / "spark-submit"), *words, *job],
            env={**os.environ, "SPARK_HOME": str(spark_home), "PYSPARK_PYTHON": python},
            capture_output=True,
            text=True,
            timeout=400,
            check=False,
        )
        if done.returncode:
            sys.exit(f"{name} failed:\n{done.stdout[-1000:]}{done.stderr[-9000:]}")
        (written,) = (scratch / "log").iterdir()
        log.write_bytes(written.read_bytes())
        log.with_suffix(".json").write_text(done.stdout.strip().splitlines()[-1])


def read_blind(log: Path) -> dict[str, Any]:
    """Return the output of `planner explain-log --json`."""
    command = [str(Path(sys.executable).with_name("planner")), "explain-log", str(log), "--json"]
    answer: dict[str, Any] = json.loads(subprocess.run(command, capture_output=True, text=True, check=True).stdout)
    return answer


def compared(cause: Cause, read: Mapping[str, Any], measured: Mapping[str, float]) -> dict[str, Any]:
    """Return the cause named first, and for each measured part its measured and its read share."""
    whole_s = SLOTS * measured["wall"]
    known = {**measured, "gc": SLOTS * measured["gc_of_jvm"], "driver": SLOTS * measured.get("driver", 0.0)}
    parts = {**read["task_time_s"], "driver": SLOTS * (read["between_s"] + read["after_s"])}
    shares = {
        part: [round(known[clock] / whole_s, 3), round(parts[part] / whole_s, 3)] for part, clock in cause.parts.items()
    }
    named = read["bounds"][0]["name"] if read["bounds"] else ""
    return {"named": named, "right": named in cause.bounds, "shares": shares, "wall_s": round(measured["wall"], 1)}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--spark-home", type=Path, required=True, help="the folder of the package pyspark")
    parser.add_argument("--logs", type=Path, required=True)
    parser.add_argument("--sizes", choices=["first", "second"], default="first")
    parser.add_argument("--causes", default=",".join(CAUSES))
    arguments = parser.parse_args()
    arguments.logs.mkdir(parents=True, exist_ok=True)
    rows = []
    for name in arguments.causes.split(","):
        cause, log = CAUSES[name], arguments.logs / f"{name}-{arguments.sizes}.log"
        if not log.exists():
            size = cause.sizes[arguments.sizes == "second"]
            run(name, cause, size=size, spark_home=arguments.spark_home.resolve(), log=log)
        measured = json.loads(log.with_suffix(".json").read_text())
        rows.append(compared(cause, read_blind(log), measured))
        print(name, json.dumps(rows[-1]), flush=True)
    errors = [abs(read - known) for row in rows for known, read in row["shares"].values()]
    right, worst = sum(row["right"] for row in rows), max(errors, default=0.0)
    print(f"{right} of {len(rows)} causes; shares off by at most {worst:.1%}")


if __name__ == "__main__":
    main()
