"""The resource that limits a whole run: the one whose doubling shortens it most."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Final

import numpy as np

from planner.arrays import Floats
from planner.cost_model.capacity import fewest_nodes
from planner.cost_model.clusters import Clusters
from planner.cost_model.rates import RESOURCES
from planner.planning.candidates.candidate_grid import CandidateGrid
from planner.planning.ranking.selection import Figures
from planner.schemas.plan import Candidate

_IN_PHASES: Final[Mapping[str, frozenset[str]]] = {
    "local": frozenset({"local_disks", "data_disks", "intermediate_disks"}),
    "objects": frozenset({"object_store"}),
    "requests": frozenset({"object_requests"}),
}
"""A resource's names in phases, where they are not its own."""

_ALWAYS: Final = ("startup", "barriers")
_STAGING: Final = ("network", "objects", "requests")
"""Resources that every run waits for, and those that transfers to or from an object store may wait for."""


def used_resources(cluster: Candidate) -> list[str]:
    """Return those of `RESOURCES` that a run on a cluster uses."""
    in_phases = {name for phase in cluster.phases for name in phase.resources}
    is_staged = not {"stage in", "stage out"}.isdisjoint(cluster.overheads_s)
    return [
        name
        for name in RESOURCES
        if name in _ALWAYS or (is_staged and name in _STAGING) or in_phases & _IN_PHASES.get(name, {name})
    ]


def with_reliefs(best: Candidate, grid: CandidateGrid) -> Candidate:
    """Return a cluster of a grid with the saving from doubling each of its resources, over the whole run, and its
    bottleneck: the resource that saves most. As in a what-if, its type may then have the disk layout and bandwidth
    weighting that the objective prefers.
    """
    rows = next(rows for rows in grid.rows_of_types() if grid.type_name(int(rows[0])) == best.instance_type)
    rows = rows[fewest_nodes(grid.context.only_rows(rows)) <= best.nodes]
    names = used_resources(best)
    doubled = np.repeat(1 + np.eye(len(names)), len(rows), axis=1)
    context = grid.context.only_rows(np.tile(rows, len(names))).times(dict(zip(names, doubled, strict=True)))
    relieved = Clusters(context=context, offer=grid.offer, nodes=np.full(doubled.shape[1], float(best.nodes)))
    relieved_s = relieved.expected_s + relieved.around_s
    figures = _figures(best, relieved.expected_s, relieved_s)
    groups = np.arange(doubled.shape[1]).reshape(len(names), len(rows))
    chosen = [group[figures.only(group).in_order(grid.request.rule)[0]] for group in groups]
    whole_s = best.time_s.expected + sum(best.overheads_s.values())
    reliefs_s = dict(zip(names, np.maximum(whole_s - relieved_s[chosen], 0.0).tolist(), strict=True))
    return replace(best, reliefs_s=reliefs_s, bottleneck=max(reliefs_s, key=lambda name: reliefs_s[name]))


def _figures(best: Candidate, job_s: Floats, whole_s: Floats) -> Figures:
    """Return what an objective compares of further clusters of as many nodes of a cluster's type, at its rent."""
    of_all, hourly = np.ones(len(job_s)), best.usd_per_hour
    return Figures(
        time_s=job_s,
        total_usd=hourly * whole_s / 3600 + best.cost_usd.charges,
        charges_usd=best.cost_usd.charges * of_all,
        at_least=np.zeros(len(job_s), bool),
        energy_j=job_s,  # of one power
        handicap=of_all,
    )
