"""Why a type is not recommended: its best cluster compared with the recommended one, and what would put it first."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from typing import Any, Final

from planner.catalog import Catalog
from planner.errors import BadInputError, nearest
from planner.planning.candidates.feasibility import DISK_RATE_UNKNOWN, nodes_needed
from planner.planning.ranking import selection
from planner.planning.what_if.first_choice import Needed, least_price
from planner.schemas.plan import ALL_MODELS, Candidate, OwnPrice, Plan, Rejection, Request
from planner.units import format_duration, format_exact_size, format_rate, format_usd

_SLOWEST_DISKS: Final = 50e6
_FASTEST_DISKS: Final = 50e9
"""Bytes/s up to which a sufficient rate of a node's local disks is searched; no type of 2026 is faster."""

_STEPS: Final = 8

_RIVALS: Final = 4
"""Number of leading types, besides the cheapest, that a type is compared with when its price is tried."""


@dataclass(frozen=True, kw_only=True)
class WhyNot:
    """Answer about one type. `cluster` is its best one: as requested, or, if it was left out for a `reason`, with the
    changes in `lifted_by` (empty: no change tried admits it, and there is no cluster).

    `needed` is what would make it come first. If the rate of its local disks is unknown, `disk_bytes_per_s` is the rate
    that a node's disks, `local_disks`, must read and write for that (None: no rate is enough), and `measure` the
    command to measure it.
    """

    instance_type: str
    recommended: Candidate | None
    cluster: Candidate | None = None
    reason: str = ""
    lifted_by: tuple[str, ...] = ()
    needed: Needed = field(default_factory=Needed)
    disk_bytes_per_s: float | None = None
    local_disks: int | None = None
    measure: str = ""

    @property
    def is_recommended(self) -> bool:
        """True if it is the recommended type after all."""
        best = self.recommended
        return best is not None and not self.reason and best.instance_type == self.instance_type


@dataclass(frozen=True, kw_only=True)
class TypeQuestions:
    """Questions about types that a plan does not recommend. `plan_again` plans a request on the same catalogs,
    `brief_plan` does so without an explanation, and `factors` returns how many times as fast each resource of a cluster
    must be for its type to come first.
    """

    plan: Plan
    catalogs: Sequence[Catalog]
    plan_again: Callable[[Request], Plan]
    brief_plan: Callable[[Request], Plan]
    factors: Callable[[Candidate], dict[str, float]]

    def why_not(self, name: str) -> WhyNot:
        """Return why the type called `name` is not recommended."""
        best = self.plan.best
        if best is not None and name in (best.instance_type, best.cloud_type):
            return WhyNot(instance_type=best.instance_type, recommended=best, cluster=best)
        alone = self._alone(name)
        plan_of_type = self.plan_again(alone)
        reason = self._reason(name, plan_of_type)
        if plan_of_type.best is None:
            return self._lifted(name, alone, plan_of_type, reason=reason)
        lifted_by = (_naming(self.plan.request, name),) if reason else ()
        return WhyNot(
            instance_type=plan_of_type.best.instance_type,
            recommended=best,
            cluster=plan_of_type.best,
            reason=reason,
            lifted_by=lifted_by,
            needed=self._needed(plan_of_type.best),
        )

    def _needed(self, cluster: Candidate) -> Needed:
        """Return what would make a cluster's type come first; nothing if the plan has no cluster to compare with."""
        if self.plan.best is None:
            return Needed()
        first_at = partial(self._is_first_at, cluster)
        price = least_price(self.plan, cluster, first_at=first_at)
        return Needed(price_usd_per_hour=price, factors=self.factors(cluster))

    def _is_first_at(self, cluster: Candidate, price_usd_per_hour: float) -> bool:
        """Return whether a cluster's type is recommended at a price, against the leading types and the cheapest."""
        request, name = self.plan.request, cluster.instance_type
        own = OwnPrice(
            instance=name, cloud=cluster.cloud, pricing=cluster.pricing, price_usd_per_hour=price_usd_per_hour
        )
        cheapest = sorted(self.plan.frontier, key=lambda point: point.cost_usd_total)[:1]
        leading = [candidate.instance_type for candidate in self.plan.candidates[:_RIVALS]]
        rivals = dict.fromkeys([*leading, *(point.instance_type for point in cheapest)])
        asked = replace(request, instances=(name, *rivals), exclude=(), own_prices=(own, *request.own_prices), top=1)
        best = self.brief_plan(asked).best
        return best is not None and best.instance_type == name

    def _alone(self, name: str) -> Request:
        catalogs = tuple(
            of
            for of, catalog in zip(self.plan.request.catalogs, self.catalogs, strict=True)
            if name in type_names(catalog)
        )
        return replace(self.plan.request, catalogs=catalogs, instances=(name,), exclude=(), top=1)

    def _reason(self, name: str, plan_of_type: Plan) -> str:
        """Return why the plan, or that for the type alone, leaves a type out; '' if it does not."""
        rejected = [*(plan_of_type.rejected if plan_of_type.best is None else ()), *self.plan.rejected]
        return next((_text(r) for r in rejected if name in (r.instance_type, r.instance_type.partition("+")[0])), "")

    def _lifted(self, name: str, alone: Request, plan_of_type: Plan, *, reason: str) -> WhyNot:
        """Return the answer about a type excluded by the request, with the change that admits it."""
        refused = WhyNot(instance_type=name, recommended=self.plan.best, reason=reason)
        if any(
            r.reason == DISK_RATE_UNKNOWN for r in plan_of_type.rejected if r.instance_type.partition("+")[0] == name
        ):
            return self._with_disk_rate(refused, alone)
        lifts = dict(self._lifts(alone, plan_of_type))
        for words, change in lifts.items():
            if (cluster := self.plan_again(replace(alone, **change)).best) is not None:
                return replace(refused, cluster=cluster, lifted_by=(words,))
        together = {name: value for change in lifts.values() for name, value in change.items()}
        cluster = self.plan_again(replace(alone, **together)).best if len(lifts) > 1 else None
        return refused if cluster is None else replace(refused, cluster=cluster, lifted_by=tuple(lifts))

    def _lifts(self, alone: Request, plan_of_type: Plan) -> Iterator[tuple[str, dict[str, Any]]]:
        """Yield the parts of a request that may exclude a type, in words, and the fields that lift them."""
        for option, field_name in _LIMITS.items():
            value = getattr(alone, field_name)
            if value is not None:
                yield f"leave out {option} {_SHOWN.get(field_name, str)(value)}", {field_name: None}
        if alone.evidence != "any":
            yield "use --set evidence=any", {"evidence": "any"}
        if alone.node_limits:
            yield "have more machines than --set capacity or the cloud allows", {"node_limits": ()}
        for rejection in plan_of_type.rejected:
            if not alone.nodes and (least := nodes_needed(rejection, alone)):
                yield f"allow --max-nodes {least}", {"max_nodes": least}
        if alone.pricing != "on-demand":
            yield "use --pricing on-demand", {"pricing": "on-demand", "interruptions_per_node_hour": None}
        if alone.model != ALL_MODELS:
            yield "use --model all", {"model": ALL_MODELS}
        for region in self._regions_with(alone):
            yield f"use --region {region}", {"regions": (region,)}

    def _regions_with(self, alone: Request) -> list[str]:
        """Return the first two regions that sell a type, the catalog's default first."""
        (name,) = alone.instances
        found = []
        for catalog in self.catalogs:
            rows = [row for row, of in enumerate(catalog.instances.names) if name in (of, of.partition("+")[0])]
            regions = sorted(catalog.main_regions(), key=lambda region: region != catalog.default_region)
            sold = (r for r in regions if (catalog.prices(r).price_usd_per_hour[rows] > 0).any())
            found += [region for region in sold if region not in alone.regions]
        return found[:2]

    def _with_disk_rate(self, refused: WhyNot, alone: Request) -> WhyNot:
        """Return the answer about a type of unknown disk rate, with the least rate at which it would come first."""
        name = refused.instance_type
        of_type = next(catalog for catalog in self.catalogs if name in type_names(catalog))
        measure = f"planner bench fleet --cloud {of_type.name} --instance {name} --nodes 2"
        count = of_type.instances.local_disks[of_type.instances.index(name)] if name in of_type.instances.rows else 0
        refused = replace(refused, measure=measure, local_disks=int(count) if count > 0 else None)
        low, high = _SLOWEST_DISKS, _FASTEST_DISKS
        cluster = self._at_disk_rate(alone, high)
        if cluster is None:
            return refused
        if not self._is_first(cluster):
            return replace(refused, cluster=cluster, lifted_by=(_assumed_disks(high),))
        for _ in range(_STEPS):
            middle = (low * high) ** 0.5
            plan_of_type = self._at_disk_rate(alone, middle)
            if plan_of_type is not None and self._is_first(plan_of_type):
                cluster, high = plan_of_type, middle
            else:
                low = middle
        return replace(refused, cluster=cluster, lifted_by=(_assumed_disks(high),), disk_bytes_per_s=high)

    def _at_disk_rate(self, alone: Request, bytes_per_s: float) -> Candidate | None:
        rates = {f"{LOCAL_DISKS}_{way}": bytes_per_s for way in ("read", "write")}
        return self.plan_again(alone.assuming(rates)).best

    def _is_first(self, cluster: Candidate) -> bool:
        return selection.order([cluster, *self.plan.candidates], self.plan.request.rule)[0] is cluster


LOCAL_DISKS: Final = "local"
_LIMITS: Final = {
    "--arch": "arch",
    "--min-memory": "min_memory_bytes",
    "--deadline": "deadline_s",
    "--sort-deadline": "sort_deadline_s",
    "--budget": "budget_usd",
    "--max-vcpus": "max_vcpus",
    "--nodes": "nodes",
}
_SHOWN: Final[dict[str, Callable[..., str]]] = {
    "min_memory_bytes": format_exact_size,
    "deadline_s": format_duration,
    "sort_deadline_s": format_duration,
    "budget_usd": format_usd,
}


def type_names(catalog: Catalog) -> set[str]:
    """Return the names of a catalog's types, with and without their optional extra disks."""
    return {*catalog.instances.instance_type.tolist(), *catalog.instances.cloud_type.tolist()}


def require_type(
    name: str, catalogs: Sequence[Catalog], *, option: str, others: Callable[[], Sequence[Catalog]]
) -> None:
    """Raise BadInputError for a type that is in none of the catalogs, naming the cloud among `others` that has it, or
    types with similar names.
    """
    if any(name in type_names(catalog) for catalog in catalogs):
        return
    asked = ",".join(catalog.name for catalog in catalogs)
    if set("*?[") & set(name):
        raise BadInputError(f"{option} {name}: name one type; the option can be repeated", code="one-type")
    elsewhere = [catalog.name for catalog in others() if name in type_names(catalog)]
    if elsewhere:
        both = f"--cloud {asked},{elsewhere[0]}"
        raise BadInputError(
            f"{option} {name}: a type of {elsewhere[0]}, and {asked} is planned for; try {both}", code="other-cloud"
        )
    names = sorted({name for catalog in catalogs for name in type_names(catalog)})
    raise BadInputError(
        f"{option} {name}: unknown instance type in {asked}.{nearest(name, names)}",
        ["machines of your own: --catalog ./DIR of the catalog that `planner catalog new` made of them"],
        code="unknown-type",
    )


def _assumed_disks(bytes_per_s: float) -> str:
    return f"assume local disks of {format_rate(bytes_per_s)} a node"


def _naming(request: Request, name: str) -> str:
    if request.exclude:
        return f"name it by --instance {name} and leave out --exclude"
    return f"name it by --instance {name}"


def _text(rejection: Rejection) -> str:
    return rejection.reason + (f" ({rejection.detail})" if rejection.detail else "")
