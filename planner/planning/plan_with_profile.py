"""A plan whose times come from a calibrated profile instead of the equations alone.

The equations determine which clusters hold the data and how long each resource works; the profile, learned from real
runs, gives the time of such a cluster and its range. A deadline is met when the upper end of the profile's 90% range
meets it.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any, Final, Protocol

import numpy as np

from planner.arrays import Floats
from planner.calibration import JobRow, Profile
from planner.calibration.experiment import settling_run
from planner.cost_model.known_times import KnownTimes
from planner.cost_model.model_reader import load_model
from planner.schemas.plan import Plan, Request

_TYPES: Final = 40
"""Types for which the profile predicts a time: the first by the equations, however many are shown."""

_NODE_COUNTS: Final = 24
"""Cluster sizes tried up to the most allowed, evenly spread on a logarithmic scale."""

Specs = Mapping[str, Mapping[str, Any]]


class Planner(Protocol):
    """Plans a request by the equations, or at some sizes with known times."""

    def __call__(
        self, request: Request, sizes: Floats | None = None, *, explained: bool, known: KnownTimes | None = None
    ) -> Plan: ...


def plan_with_profile(
    request: Request, profile: Profile, *, specs: Specs, options: Mapping[str, Any] | None = None, plan_of: Planner
) -> Plan:
    """Return the plan for `request` with `profile`'s times and ranges.

    `specs` describe the machines as calibration needs them, `options` are the further columns of the runs (such as
    `io`). The first types by the equations are planned at sizes that all share, and at the fewest nodes that hold the
    data on each; types whose range ends after the deadline, or whose total exceeds the budget, are rejected with how
    near they come.
    """
    free = replace(request, deadline_s=None, sort_deadline_s=None, confidence=None, budget_usd=None, top=_TYPES)
    base = plan_of(free, explained=False)
    if not base.candidates:
        return replace(base, request=request)
    names = sorted({candidate.instance_type for candidate in base.candidates})
    shared = np.geomspace(1, request.max_nodes, _NODE_COUNTS).round()
    fewest = [candidate.nodes_min for candidate in base.candidates]
    sizes = np.array([float(request.nodes)]) if request.nodes else np.union1d(shared[shared >= min(fewest)], fewest)
    job = JobRow(instance_type=names[0], nodes=1, data_gb=request.bytes_to_sort / 1e9, options=dict(options or {}))
    if "replicas" in profile.options.physical and "replicas" not in job.options:  # the model says how many it writes
        copies = load_model(base.candidates[0].model).output_copies
        job = replace(job, options={**job.options, "replicas": copies})
    jobs = [replace(job, instance_type=name, nodes=int(nodes)) for name in names for nodes in sizes.tolist()]
    mixture = profile.mixture(jobs, instances={name: specs[name] for name in names})
    shape = (len(names), len(sizes))
    usual_s, _, high_s = mixture.range_s().reshape(3, *shape)
    known = KnownTimes(
        rows={name: row for row, name in enumerate(names)},
        nodes=sizes,
        usual_s=usual_s,
        median_s=mixture.quantiles_s(0.5).reshape(shape),
        high_s=high_s,
    )
    plan = plan_of(replace(request, instances=tuple(names)), sizes, explained=True, known=known)
    missed = [rejection for rejection in plan.rejected if rejection.instance_type in names]
    plan = replace(plan, request=request, rejected=(*base.rejected, *missed))
    if (best := plan.best) is None:
        return plan
    chosen = replace(job, instance_type=best.instance_type, nodes=best.nodes)
    settling = settling_run(profile, chosen, instances={best.instance_type: specs[best.instance_type]})
    if settling is None:
        return plan
    first = replace(best, warnings=(settling.settles(), *best.warnings))
    shown = tuple(first if candidate is best else candidate for candidate in plan.candidates)
    return replace(plan, best=first, candidates=shown)
