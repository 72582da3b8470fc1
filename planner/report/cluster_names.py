"""Names of clusters in reports."""

from __future__ import annotations

from planner.schemas.plan import Candidate, FrontierPoint


def cluster_name(of: Candidate | FrontierPoint, *, several_models: bool = False, several_pricings: bool = False) -> str:
    """Return a cluster's usual name: `79 x i8g.8xlarge`, with its bandwidth weighting if it is not the default, and
    with the model, or a note that its nodes are spot ones, where several models or ways to pay are compared.
    """
    weighting = f" ({of.bandwidth_weighting})" if of.bandwidth_weighting else ""
    spot = ", spot" if several_pricings and of.pricing == "spot" else ""
    name = f"{of.nodes} x {of.instance_type}{weighting}{spot}"
    return f"{name}, {of.model}" if several_models else name
