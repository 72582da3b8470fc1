"""One rule for all jobs: many nodes of four cores with 4 GB each, a common order regardless of the job."""

from __future__ import annotations

import math
from typing import Any


class Predictor:
    """Seconds by which the cluster nearest to 16 nodes of four cores and 16 GB is cheapest; only its regret counts."""

    name = "fixed cluster"
    needs_runs = False
    only_chooses = True

    def run(self, task: dict[str, Any]) -> list[float]:
        """Return for every query row its distance from the fixed cluster, over its price."""
        return [_distance(row, task["specs"][row["type"]]) for row in task["query"]]


def _distance(row: dict[str, Any], spec: dict[str, Any]) -> float:
    off = (row["n"] / 16, spec["vcpu"] / 4, spec["mem_gib"] / 16)
    return (1 + sum(abs(math.log(ratio)) for ratio in off)) / (row["n"] * spec["price_usd_h"])
