"""The best cluster for each of several sizes of data, or numbers of nodes: `planner sizes --data 3TB,6TB,12TB`."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from planner.planning.ranking.refusal import refusal_of
from planner.schemas.plan import Candidate, Plan


@dataclass(frozen=True, kw_only=True)
class DataPoint:
    """One size of data, and number of nodes if that was asked for, with its recommended cluster; `cluster` is None if
    none is feasible, for the reason `why_not`.
    """

    data_bytes: int
    nodes: int | None = None
    cluster: Candidate | None = None
    why_not: str = ""

    @property
    def whole_run_s(self) -> float | None:
        """Expected seconds of the whole run, from boot to the end."""
        return self.cluster.whole_run_s if self.cluster else None

    @property
    def sort_s(self) -> float | None:
        """Expected seconds of the sort alone."""
        return self.cluster.time_s.expected if self.cluster else None

    @property
    def total_usd(self) -> float | None:
        """The whole bill in US dollars."""
        return self.cluster.cost_usd.total if self.cluster else None


def data_points(plans: Sequence[Plan]) -> tuple[DataPoint, ...]:
    """Return the points of some plans, least data and fewest nodes first."""
    points = [_point(plan) for plan in plans]
    return tuple(sorted(points, key=lambda point: (point.data_bytes, point.nodes or 0)))


def _point(plan: Plan) -> DataPoint:
    why_not = "" if plan.best else " ".join(plan.conflicts) or refusal_of(plan).message
    asked = plan.request
    return DataPoint(data_bytes=asked.bytes_to_sort, nodes=asked.nodes, cluster=plan.best, why_not=why_not)


def curve_json(plans: Sequence[dict[str, Any]]) -> dict[str, Any]:
    """Return one JSON object made from the objects of several plans, with the version that they share."""
    version = [("version", plan["version"]) for plan in plans[:1] if "version" in plan]
    return {**dict(version), "plans": list(plans)}
