"""How long a whole run on rented machines may take, so that they do not end before it."""

from __future__ import annotations

from dataclasses import replace
from typing import Final

from planner.catalog import load_catalog
from planner.cost_model import run_overheads
from planner.cost_model.model import on_a_cluster, run_by
from planner.cost_model.model_reader import load_engine, load_model
from planner.errors import PlannerError
from planner.planning.ranking.selection import narrowed
from planner.planning.recommendation import recommend
from planner.schemas.plan import Candidate, Request

ENGINE: Final = "ray"
"""What runs the sort on rented machines."""
UNPLANNED_S: Final = 1800.0
"""For what no plan counts: the software is copied to the head and installed, each in at most 15 minutes."""


def late_s(candidate: Candidate, request: Request) -> float:
    """Return within how many seconds 95 of 100 whole runs of a planned cluster end.

    The sort is that of the cluster, by its engine, with intermediate data on disks whatever the memory. What is around
    it is as late as the sort. The input that a run generates is read once more, for its checksum, than a plan counts.
    """
    again = _on_a_cluster(candidate, request)
    overheads = again.overheads_s
    summed_s = overheads.get("validate", 0.0) if "generate" in overheads else 0.0
    lateness = max(1.0, again.time_s.p95 / again.time_s.expected) if again.time_s.expected else 1.0
    return again.time_s.p95 + lateness * (sum(overheads.values()) + summed_s) + UNPLANNED_S


def _on_a_cluster(candidate: Candidate, request: Request) -> Candidate:
    """Return the cluster as the cluster's sort uses it, or as planned where that cannot be planned again."""
    alone = replace(narrowed(request, candidate, nodes=candidate.nodes), engine=ENGINE)
    try:
        model = run_by(on_a_cluster(load_model(candidate.model)), load_engine(ENGINE))
        catalogs = [load_catalog(candidate.cloud)]
        return recommend(alone, model=model, catalogs=catalogs, overheads=run_overheads.shipped()).best or candidate
    except PlannerError:
        return candidate
