"""The planner's calibration. A suite implies what a user also knows: Spark on EMR, Hadoop, or a native sorter."""

from __future__ import annotations

from typing import Any

from planner.calibration import calibrate
from planner.calibration.history import parse_jobs

MODEL_OF_SUITE = {"arrow_terasort": "hadoop", "exoshuffle": "native"}


class Predictor:
    """Predictor of median and 90% range; it also answers without runs."""

    name = "planner"
    needs_runs = False

    def run(self, task: dict[str, Any]) -> list[dict[str, float]]:
        """Return median, lo and hi in seconds for every query row of a task."""
        model = MODEL_OF_SUITE.get(task["suite"], "spark")
        profile = calibrate(task["train"], instances=task["specs"], model=model)
        ranges = profile.mixture(parse_jobs(task["query"], what="query", timed=False)).range_s()
        return [{"runtime_s": median, "lo": lo, "hi": hi} for median, lo, hi in ranges.T.tolist()]
