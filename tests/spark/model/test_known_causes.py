"""Ten logs of Spark 3.5 with known causes (`benchmarks/spark_log/bench_causes.py`): the cause is named first, and the
shares match those that other clocks measured.
"""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from planner.spark import log as spark_log
from planner.spark.model.bounds import Explanation, explain

LOGS = Path(__file__).parents[2] / "data" / "spark" / "causes"
SLOTS = 2
MEASURED = json.loads((LOGS / "measured.json").read_text())
"""Seconds: wall time of the job, CPU time of its task threads by the kernel, collections by the JVM, own clocks."""
CAUSES = {
    "cpu": "processors", "sleep": "waiting", "udf": "python", "driver": "driver", "skew": "straggler",
    "small_files": "small tasks", "spill": "memory", "gc": "memory", "shuffle": "network", "storage": "storage",
}  # fmt: skip
PARTS = {"sleep": "waiting", "storage": "storage"}


def explained(name: str) -> Explanation:
    return explain(spark_log.read(LOGS / f"{name}.gz").only())


@pytest.mark.parametrize(("name", "cause"), CAUSES.items())
def test_the_known_cause_is_named_first(name: str, cause: str) -> None:
    told = explained(name)
    assert next(iter(told.seconds_by_bound)) == cause
    assert told.evidence[cause]
    assert told.completeness.share == 1


@pytest.mark.parametrize("name", CAUSES)
def test_cpu_time_is_the_kernels(name: str) -> None:
    slots_s = SLOTS * MEASURED[name]["wall"]
    assert explained(name).time.cpu / slots_s == pytest.approx(MEASURED[name]["cpu"] / slots_s, abs=0.05)


@pytest.mark.parametrize(("name", "part"), PARTS.items())
def test_waits_are_as_long_as_what_held_the_tasks_back(name: str, part: str) -> None:
    slots_s = SLOTS * MEASURED[name]["wall"]
    assert getattr(explained(name).time, part) / slots_s == pytest.approx(MEASURED[name][part] / slots_s, abs=0.05)


def test_collections_stop_all_slots() -> None:
    measured = MEASURED["gc"]
    assert explained("gc").time.gc / (SLOTS * measured["wall"]) == pytest.approx(
        measured["gc_of_jvm"] / measured["wall"], abs=0.1
    )


def test_the_driver_held_the_job_up_between_stages() -> None:
    line = explained("driver").timeline
    assert line.between_s + line.after_s == pytest.approx(MEASURED["driver"]["driver"], abs=1.5)


def test_a_python_worker_takes_what_its_function_does_and_more() -> None:
    """The worker's start and the transfer of rows are outside the function."""
    assert 1 < explained("udf").time.python / MEASURED["udf"]["python"] < 1.5
