"""Names of clusters in reports."""

from __future__ import annotations

from planner.report.words import region_word
from planner.schemas.plan import Candidate, FrontierPoint, Plan


def cluster_name(of: Candidate | FrontierPoint, *, several_models: bool = False, several_pricings: bool = False) -> str:
    """Return a cluster's usual name: `79 x i8g.8xlarge`, with its bandwidth weighting if it is not the default, and
    with the model, or a note that its nodes are spot ones, where several models or ways to pay are compared.
    """
    weighting = f" ({of.bandwidth_weighting})" if of.bandwidth_weighting else ""
    spot = ", spot" if several_pricings and of.pricing == "spot" else ""
    name = f"{of.nodes} x {of.instance_type}{weighting}{spot}"
    return f"{name}, {of.model}" if several_models else name


def place_suffix(plan: Plan, point: FrontierPoint) -> str:
    """Return the region of a cluster of the frontier, to follow its name, if the frontier has several of a cloud."""
    regions = {other.region for other in plan.frontier if other.cloud == point.cloud}
    return f", {region_word(point.region)}" if len(regions) > 1 else ""
