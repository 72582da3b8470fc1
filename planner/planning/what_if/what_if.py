"""What-ifs about a plan: its cluster at other sizes, with other resource speeds, more data or other prices."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, Final

import numpy as np

from planner.cost_model.rates import SCALABLE, quantity_meant
from planner.cost_model.volumes.volume_counts import VolumeCount
from planner.errors import BadInputError
from planner.planning.ranking.selection import narrowed
from planner.planning.what_if.network_views import NetworkRow, network_as_it_is
from planner.planning.what_if.reliefs import used_resources
from planner.schemas.arguments import arguments, request_fields
from planner.schemas.plan import Candidate, Plan, Request
from planner.schemas.request_forms import factor, is_factor

FACTORS: Final[Mapping[str, Sequence[float]]] = {
    "data": (0.1, 2.0, 10.0),
    "network": (0.5, 2.0),
    "price": (0.7,),
    "nodes": (0.5, 2.0),
}
"""Factors by which a page's what-ifs multiply each quantity to plan again."""

STORE_SCHEMES: Final[Mapping[str, str]] = {"aws": "s3", "gcp": "gs", "azure": "az", "oci": "oci"}
"""URL scheme of each cloud's own object store."""


@dataclass(frozen=True, kw_only=True)
class Variant:
    """The plan with one quantity (`lever`) multiplied by `factor`; "limits" are dropped instead."""

    lever: str
    factor: float
    plan: Plan


@dataclass(frozen=True, kw_only=True)
class Contrast:
    """Comparisons with the best candidate: the same cluster with each resource twice as fast (`reliefs`) or half as
    fast (`burdens`), with `doubled` data or price (None: not feasible), and the choice by storage alone
    (`storage_alone`, None if it is the same; its best is None if it is not feasible with the network it has).
    `networks` has the leading types under three networks, `volumes` their rates with each number of block volumes, and
    `variants` the plans at the factors of a page, if these are shown.
    """

    reliefs: Mapping[str, Candidate] = field(default_factory=dict)
    burdens: Mapping[str, Candidate] = field(default_factory=dict)
    doubled: Mapping[str, Candidate | None] = field(default_factory=dict)
    storage_alone: Plan | None = None
    networks: Sequence[NetworkRow] = ()
    volumes: Sequence[VolumeCount] = ()
    variants: Sequence[Variant] = ()


@dataclass(frozen=True, kw_only=True)
class WhatIf:
    """Questions about the best cluster of a plan; without a best cluster every answer is empty.

    `plan_again` plans a request on the same catalogs; `has_type` returns whether the named catalog has a candidate's
    type.
    """

    plan: Plan
    plan_again: Callable[[Request], Plan]
    has_type: Callable[[str, Candidate], bool]

    def at_sizes(self, points: int) -> list[Candidate]:
        """Return the best type at about `points` node counts, evenly spaced in their logarithm, from the fewest that
        hold the data to as many as `max_nodes` allows with their spares; infeasible ones are left out.
        """
        best = self.plan.best
        if best is None:
            return []
        machines = self.plan.request.max_nodes
        beyond = self.plan_again(replace(self._narrowed(best, nodes=machines), max_nodes=Request.max_nodes)).best
        most = max(best.nodes, machines - (beyond or best).spares)
        sizes = np.unique(np.geomspace(best.nodes_min, most, points).round().astype(int)).tolist()
        clusters = (self.plan_again(self._narrowed(best, nodes=nodes)).best for nodes in sizes)
        return [cluster for cluster in clusters if cluster is not None]

    def reliefs(self, factor: float) -> dict[str, Candidate]:
        """Return the best cluster with each resource that it uses made `factor` times as fast."""
        best = self.plan.best
        if best is None:
            return {}
        fixed = self._narrowed(best, nodes=best.nodes)
        clusters = {name: self.plan_again(scaled(fixed, {name: factor})).best for name in used_resources(best)}
        return {name: cluster for name, cluster in clusters.items() if cluster is not None}

    def variants(self) -> list[Variant]:
        """Return the plans of the leading types at the factors of a page, and without limits if there are any."""
        best, request = self.plan.best, self._leading()
        if best is None:
            return []
        asked = [(lever, factor) for lever, factors in FACTORS.items() for factor in factors]
        changes = {(lever, factor): _varied(request, best, lever=lever, factor=factor) for lever, factor in asked}
        if request.deadline_s or request.sort_deadline_s or request.budget_usd:
            changes["limits", 1.0] = replace(request, deadline_s=None, sort_deadline_s=None, budget_usd=None)
        return [Variant(lever=lever, factor=by, plan=self.plan_again(of)) for (lever, by), of in changes.items()]

    def _leading(self) -> Request:
        """Return the request restricted to the types of the candidates and of the frontier."""
        names = [candidate.instance_type for candidate in self.plan.candidates]
        names += [point.instance_type for point in self.plan.frontier]
        return replace(self.plan.request, instances=tuple(dict.fromkeys(names)), top=1)

    def contrast(self) -> Contrast:
        """Return the comparisons with the best cluster."""
        best = self.plan.best
        if best is None:
            return Contrast()
        fixed = self._narrowed(best, nodes=best.nodes)
        return Contrast(
            reliefs=self.reliefs(2.0),
            burdens=self.reliefs(0.5),
            doubled={name: self.plan_again(scaled(fixed, {name: 2.0})).best for name in ("data", "price")},
            storage_alone=self._storage_alone(best),
        )

    def in_object_store(self) -> Candidate | None:
        """Return the best cluster if it loaded its data from an object store of its cloud, and wrote the result there;
        None if the request places either, or nothing is known of such a store.
        """
        best, request = self.plan.best, self.plan.request
        scheme = STORE_SCHEMES.get(best.cloud) if best else None
        if best is None or scheme is None or request.input or request.output or request.paper:
            return None
        place = f"{scheme}://bucket/path"
        return self.plan_again(replace(self._narrowed(best, nodes=best.nodes), input=place, output=place)).best

    def _storage_alone(self, best: Candidate) -> Plan | None:
        """Return the plan of the type that would be chosen if every network were fast enough; None if it is the same,
        or if the user gives the network.
        """
        request = self.plan.request
        if not network_as_it_is(request):
            return None
        blind = self.plan_again(replace(request, network="unlimited", top=1)).best
        if blind is None or blind.instance_type == best.instance_type:
            return None
        catalogs = self._catalogs_with(blind)
        return self.plan_again(
            replace(request, catalogs=catalogs, regions=(blind.region,), instances=(blind.instance_type,), top=1)
        )

    def _narrowed(self, candidate: Candidate, *, nodes: int) -> Request:
        """Return the request narrowed to one candidate's type, region and model at `nodes`, without limits on time
        and cost.
        """
        request = self.plan.request
        model = candidate.model if request.has_several_models else request.model
        catalogs = self._catalogs_with(candidate)
        return replace(narrowed(request, candidate, nodes=nodes), model=model, catalogs=catalogs, top=1)

    def _catalogs_with(self, candidate: Candidate) -> tuple[str, ...]:
        return tuple(name for name in self.plan.request.catalogs if self.has_type(name, candidate))


def scaled(request: Request, factors: Mapping[str, float]) -> Request:
    """Return the request with resources multiplied by factors, on top of its existing ones."""
    product = {name: factor * request.scale.get(name, 1.0) for name, factor in factors.items()}
    return replace(request, scale=request.scale | product)


def _varied(request: Request, best: Candidate, *, lever: str, factor: float) -> Request:
    """Return the request with one quantity multiplied; nodes are those of the best cluster."""
    if lever == "nodes":
        spares = math.ceil(factor * max(best.spares, 1))  # at most: their share falls with the number of nodes
        return replace(request, nodes=max(min(round(factor * best.nodes), request.max_nodes - spares), 1))
    return scaled(request, {lever: factor})


def changed(request: Request, changes: Mapping[str, Any], *, what_if: Mapping[str, Any] | str = "") -> Request:
    """Return the request with resources multiplied (by factors under the names of `SCALABLE`, and by `what_if`, as
    `--what-if` takes it) and arguments of `recommend` replaced; prices and capacities are added to its existing ones.
    Raises BadInputError for an unknown name.
    """
    by_name = {name: by for name, by in changes.items() if name in SCALABLE}
    factors = {name: factor(name, by) for name, by in by_name.items() if is_factor(by) or name not in arguments()}
    asked = {name: amount for name, amount in changes.items() if name not in factors}
    for name in asked:
        if name not in arguments():
            near = quantity_meant(name, (*SCALABLE, *arguments()))
            text = f"what_if {name}: no resource and no argument of recommend.{near}"
            known = f"resources are {', '.join(SCALABLE)}: what_if(network=2, price=0.5), or '2x' and '50%'"
            raise BadInputError(text, [known], code="unknown-argument")
    fields = request_fields(asked)
    for several in fields.keys() & {"own_prices", "node_limits"}:
        fields[several] += getattr(request, several)
    stated = request_fields({"what_if": what_if})["scale"] if what_if else {}
    return scaled(replace(request, **fields), stated | factors)
