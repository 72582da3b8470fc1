"""Adapter of the planner's calibration to the scoring protocol: tasks as JSON in, predictions as JSON out.

A task names its suite of measurements; a user knows that too (Spark on EMR, Hadoop, a native sorter), and it picks the
prior. Apart from that only a task's rows and the machines' specifications are used.
"""

from __future__ import annotations

import json
import sys
from typing import Any

from planner.calibration import calibrate
from planner.calibration.history import parse_jobs

MODEL_OF_SUITE = {"c3o": "spark", "arrow": "hadoop", "exo": "native", "records": "native"}


class Planner:
    """Predictor with one prior per suite."""

    def run(self, task: dict[str, Any]) -> list[dict[str, float]]:
        """Return median, lo and hi in seconds for every query row of a task."""
        profile = calibrate(task["train"], instances=task["specs"], model=self.model_of(task))
        ranges = profile.mixture(parse_jobs(task["query"], what="query", timed=False)).range_s()
        return [{"runtime_s": median, "lo": lo, "hi": hi} for median, lo, hi in ranges.T.tolist()]

    def model_of(self, task: dict[str, Any]) -> str:
        """Return the prior to calibrate from."""
        return MODEL_OF_SUITE.get(task["suite"], "framework")


class Undecided(Planner):
    """The same, knowing only whether the software is a framework or moves bytes natively."""

    def model_of(self, task: dict[str, Any]) -> str:
        """Return the prior that leaves open how output is written."""
        model = super().model_of(task)
        return model if model == "native" else "framework"


def main() -> None:
    """Answer the tasks on stdin."""
    batch = json.load(sys.stdin)
    predictor = Planner()
    results = [
        {"task_id": task["task_id"], "predictions": predictor.run({**task, "specs": task["specs"] or batch["specs"]})}
        for task in batch["tasks"]
    ]
    json.dump({"results": results}, sys.stdout)


if __name__ == "__main__":
    main()
