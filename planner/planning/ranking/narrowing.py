"""A request narrowed to one cluster, to plan that cluster again."""

from __future__ import annotations

from dataclasses import replace

from planner.schemas.plan import Candidate, Request


def narrowed(request: Request, candidate: Candidate, *, nodes: int) -> Request:
    """Return the request for a candidate's model, cloud, region and type alone, at `nodes`, without limits on time and
    cost.
    """
    return replace(
        request,
        model=candidate.model,
        catalogs=(candidate.cloud,),
        regions=(candidate.region,),
        instances=(candidate.instance_type,),
        exclude=(),
        nodes=nodes,
        deadline_s=None,
        sort_deadline_s=None,
        budget_usd=None,
    )
