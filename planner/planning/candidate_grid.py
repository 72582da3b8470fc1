"""One model on one catalog in one region: filter the types, price them, and estimate every cluster there."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from planner.arrays import Floats
from planner.catalog import Catalog
from planner.cost_model import run_overheads
from planner.cost_model.block_volumes import VolumeChoice, choose_volumes, has_credit
from planner.cost_model.burst_credit import with_lasting_credit
from planner.cost_model.disk_layout import VOLUMES, layouts
from planner.cost_model.duration import duration
from planner.cost_model.estimate import Estimates, estimate
from planner.cost_model.model import CostModel, JobVolumes, Software
from planner.cost_model.object_store import choose_object_store
from planner.cost_model.prices import paid_nodes
from planner.cost_model.rate_spreads import spreads_of
from planner.cost_model.rates import Rates, catalog_rates, evidence_codes, evidence_name
from planner.cost_model.staging import Staging, staging_of
from planner.cost_model.workload import JobContext
from planner.planning import feasibility
from planner.planning.candidates import Offer, candidate
from planner.planning.constraints import Constraint, constraints, overrun
from planner.planning.filters import wanted
from planner.planning.price_overrides import with_own_prices
from planner.planning.selection import Cell
from planner.schemas.plan import Candidate, FrontierPoint, OwnPrice, Rejection, Request
from planner.statistics.interruptions import Risk
from planner.statistics.order_statistics import Spread


@dataclass(frozen=True, kw_only=True, eq=False)
class CandidateGrid:
    """The context, what it is offered for, the estimates of every cluster there, and what is asked of them."""

    context: JobContext
    offer: Offer
    estimates: Estimates
    asked: Sequence[Constraint]
    good: NDArray[np.bool_]

    def rows_of_types(self) -> list[NDArray[np.intp]]:
        """Return the layouts of each type, as arrays of rows."""
        rows = np.arange(len(self.context.layouts.type_row))
        return np.split(rows, self.context.layouts.first_of_types()[1:])

    def type_name(self, row: int) -> str:
        """Return the instance type of a layout."""
        return str(self.context.catalog.instances.instance_type[self.context.layouts.type_row[row]])

    def point(self, cell: Cell) -> FrontierPoint:
        """Return a cell as a point of the frontier."""
        return FrontierPoint(
            model=self.context.model.name,
            cloud=self.context.catalog.cloud,
            instance_type=self.type_name(cell.row),
            nodes=int(self.estimates.nodes[cell.column]),
            time_s=float(self.estimates.expected_s[cell.row, cell.column]),
            cost_usd_total=float(self.estimates.total_usd[cell.row, cell.column]),
        )

    def exact(self, cell: Cell, request: Request) -> tuple[Candidate, float]:
        """Return a cell as a candidate, and by what factor it exceeds what was asked: at most 1 is within."""
        nodes = int(self.estimates.nodes[cell.column])
        found = candidate(self.context, row=cell.row, nodes=nodes, offer=self.offer)
        needed_s = found.time_s.expected
        if request.deadline_s and request.confidence:
            one = self.context.only(cell.row)
            needed_s = float(duration(one, found.phases, nodes).quantile_s(request.confidence))
        return found, max(overrun(found, needed_s, request), self._too_many(cell, found.nodes + found.spares))

    def _too_many(self, cell: Cell, launched: int) -> float:
        """Return by what factor `launched` nodes exceed a quota or the capacity: spares may be more than estimated."""
        nodes = self.estimates.nodes[cell.column : cell.column + 1]
        usual = float(paid_nodes(nodes, spare_fraction=self.context.overheads.spare_fraction)[0])
        counted = [one for one in self.asked if one.name in ("quota", "capacity")]
        shares = (float(one.measure[cell.row, cell.column]) / one.limit for one in counted)
        return max(shares, default=0.0) * launched / usual


@dataclass(frozen=True, kw_only=True, eq=False)
class Region:
    """What a region has to offer whatever the model: nodes without volumes, the volumes to take with them, and which
    types, (T,), the request's filters let through; a rejection for each other.
    """

    catalog: Catalog
    offer: Offer
    volumes: VolumeChoice
    volumes_on_credit: VolumeChoice | None
    passed: NDArray[np.bool_]
    unasked: list[Rejection]

    @classmethod
    def of(cls, request: Request, catalog: Catalog, name: str) -> Region:
        """Return the region called `name`. Raises BadInputError where the catalog has no prices."""
        offer = _offer(catalog, name, request)
        price = offer.price_usd_per_hour
        own_rates = request.paper or bool({"volume_read", "volume_write"} & request.assume.keys())
        with_credit = has_credit(catalog) and not own_rates
        faster = choose_volumes(catalog, region=name, price_usd_per_hour=price, with_credit=with_credit)
        sustained, on_credit = faster, None
        if faster.on_credit.any():
            sustained, on_credit = choose_volumes(catalog, region=name, price_usd_per_hour=price), faster
        passed, unasked = wanted(request, catalog)
        return cls(
            catalog=catalog,
            offer=offer,
            volumes=sustained,
            volumes_on_credit=on_credit,
            passed=passed,
            unasked=unasked,
        )


def build_grid(
    request: Request,
    *,
    model: CostModel,
    region: Region,
    overheads: run_overheads.RunOverheads,
    network_spread: tuple[float, Spread] | None,
) -> tuple[CandidateGrid, list[Rejection]]:
    """Return the grid, and a rejection for every type that was not asked for or lacks a fact.

    `network_spread` is the median bytes/s and the spread that replace what the catalog knows of the network.
    """
    catalog, passed, unasked = region.catalog, region.passed, region.unasked
    whole = _context(request, model, catalog, overheads, volumes=region.volumes, network_spread=network_spread)
    if region.volumes_on_credit is not None and whole.layouts.uses(VOLUMES).any():
        volumes = with_lasting_credit(
            whole,
            on_credit=region.volumes_on_credit,
            price_usd_per_hour=region.offer.price_usd_per_hour,
            nodes=request.nodes,
            max_nodes=request.max_nodes,
        )
        whole = _context(request, model, catalog, overheads, volumes=volumes, network_spread=network_spread)
    offer = _with_volumes(region.offer, whole, request)
    fit, lacking = feasibility.usable(whole, offer, networked=request.nodes != 1, powered=request.objective == "energy")
    fitting = replace(whole, layouts=whole.layouts.only(np.flatnonzero(passed[whole.layouts.type_row] & fit)))
    roomy, small = feasibility.roomy(fitting, request)
    context = replace(fitting, layouts=fitting.layouts.only(np.flatnonzero(roomy)))
    nodes = np.array([float(request.nodes)]) if request.nodes else np.arange(1.0, request.max_nodes + 1)
    estimates = estimate(
        context,
        price_usd_per_hour=offer.price_usd_per_hour,
        nodes=nodes,
        budgeted=request.budget_usd is not None,
        reservations=offer.reservations,
    )
    asked = constraints(context, estimates, request, region=offer.region)
    good = np.isfinite(estimates.total_usd)
    for one in asked:
        good &= one.met
    names = {r.instance_type for r in unasked}
    return (
        CandidateGrid(context=context, offer=offer, estimates=estimates, asked=asked, good=good),
        unasked + [r for r in lacking if r.instance_type not in names] + small,
    )


def _context(
    request: Request,
    model: CostModel,
    catalog: Catalog,
    overheads: run_overheads.RunOverheads,
    *,
    volumes: VolumeChoice,
    network_spread: tuple[float, Spread] | None,
) -> JobContext:
    software = None if request.paper else model.software
    if software is not None:
        overheads = replace(overheads, shared_sigma=software.shared_sigma)
    rates = _rates(request, catalog, overheads, volumes=volumes, network_spread=network_spread, software=software)
    spread = None if network_spread is None else network_spread[1]
    return JobContext(
        catalog=catalog,
        model=model,
        job=JobVolumes.of(request.data_bytes, map_ratio=request.map_ratio, reduce_ratio=request.reduce_ratio),
        rates=rates,
        volumes=_all_in(volumes) if "price" in request.assume else volumes,
        objects=choose_object_store(catalog),
        layouts=layouts(catalog, model=model, rates=rates, paper=request.paper),
        spreads=spreads_of(
            catalog,
            node_sigma=overheads.node_sigma,
            network=spread,
            volumes_each=volumes.count,
            tailed=bool(overheads.node_sigma),
        ),
        overheads=overheads,
        paper=request.paper,
        staging=Staging() if request.paper else staging_of(request),
        power_w=_power(request, catalog),
        risk=_risk(request, catalog, model, overheads),
    )


def _power(request: Request, catalog: Catalog) -> Floats:
    known = catalog.instances.power_w
    return np.full(len(known), request.assume["power"]) if "power" in request.assume else known


def _risk(request: Request, catalog: Catalog, model: CostModel, overheads: run_overheads.RunOverheads) -> Risk | None:
    """Return what threatens spot nodes; None where nothing does, or it is not known how often."""
    stated, asked = catalog.manifest.spot, request.interruptions_per_node_hour
    if request.pricing != "spot" or request.paper or (stated is None and asked is None):
        return None
    hourly = asked or (stated.interruptions_per_node_hour if stated else 0.0)
    return Risk(
        per_node_s=hourly / 3600,
        replacement_s=overheads.boot_s + overheads.screen_s,
        recovery=model.recovery,
        evidence="assumed"
        if asked or stated is None
        else evidence_name(int(evidence_codes(np.array([stated.evidence]))[0])),
    )


def _rates(
    request: Request,
    catalog: Catalog,
    overheads: run_overheads.RunOverheads,
    *,
    volumes: VolumeChoice,
    network_spread: tuple[float, Spread] | None,
    software: Software | None,
) -> Rates:
    assume = dict(request.assume) if network_spread is None else request.assume | {"network": network_spread[0]}
    own = {} if software is None else dict(software.bytes_per_s)
    one_stream = own.pop("one_stream", float("inf"))
    cpu = overheads.cpu_bytes_per_s_per_vcpu | own | {w: assume[w] for w in ("partition", "sort") if w in assume}
    if request.compute_bytes_per_s_per_vcpu:
        cpu["partition"] = 1 / (1 / cpu["partition"] + 1 / request.compute_bytes_per_s_per_vcpu)
    rest = {name: rate for name, rate in assume.items() if name not in ("partition", "sort")}
    objects = choose_object_store(catalog).device
    rates = catalog_rates(catalog, volumes=volumes.device, objects=objects, cpu=cpu, assume=rest)
    if software is not None or "sort" in assume:  # what was measured is this sort's rate
        rates = replace(rates, measured_sort_per_vcpu=np.full(len(catalog.instances), np.nan))
    rates = replace(
        rates, one_stream_bytes_per_s=one_stream, cpu_evidence=software.evidence if software else "measured"
    )
    if network_spread is not None:
        each = np.zeros(len(catalog.instances), bool)
        rates = replace(rates, network=replace(rates.network, slowest_of_n=each))
    return rates.times(request.scale)


def _offer(catalog: Catalog, region: str, request: Request) -> Offer:
    """Price a node without its volumes."""
    factor, size = request.scale.get("price", 1.0), len(catalog.instances)
    if catalog.cloud == "local":  # nothing is rented, and that is known
        nothing = np.zeros(size)
        return Offer(region=region, pricing=request.pricing, price_usd_per_hour=nothing, evidence=("measured",) * size)
    if "price" in request.assume:
        price = np.full(size, request.assume["price"] * factor)
        return Offer(region=region, pricing=request.pricing, price_usd_per_hour=price, evidence=("assumed",) * size)
    own = () if request.paper else request.own_prices
    offer = offer_of(catalog, region, pricing=request.pricing, own_prices=own)
    return offer if factor == 1 else _times(offer, factor)


def offer_of(catalog: Catalog, region: str, *, pricing: str, own_prices: Sequence[OwnPrice] = ()) -> Offer:
    """Return the list prices of a region, with the user's own in their place. Raises BadInputError as `prices` does."""
    listed = catalog.prices(region, pricing)
    words = tuple(evidence_name(code) for code in evidence_codes(listed.evidence).tolist())
    offer = Offer(region=region, pricing=pricing, price_usd_per_hour=listed.price_usd_per_hour, evidence=words)
    return with_own_prices(offer, catalog, own_prices) if own_prices else offer


def _times(offer: Offer, factor: float) -> Offer:
    limits = offer.reservations
    if limits is not None:
        limits = replace(limits, above_usd_per_hour=limits.above_usd_per_hour * factor)
    return replace(offer, price_usd_per_hour=offer.price_usd_per_hour * factor, reservations=limits)


def _with_volumes(offer: Offer, context: JobContext, request: Request) -> Offer:
    """Price a node all-in: on volumes, with what does not depend on capacity."""
    fixed = np.zeros(len(offer.price_usd_per_hour))
    on_volumes = context.layouts.uses(VOLUMES)
    kinds = context.layouts.type_row[on_volumes]
    fixed[kinds] = np.nan_to_num(context.volumes.fixed_usd_per_hour[kinds])
    if "price" in request.assume or not on_volumes.any():
        return offer
    factor = request.scale.get("price", 1.0)
    return replace(offer, price_usd_per_hour=offer.price_usd_per_hour + fixed * factor)


def _all_in(volumes: VolumeChoice) -> VolumeChoice:
    """An assumed price is all-in: volumes cost nothing on top of it."""
    nothing = np.zeros(len(volumes.count))
    return replace(volumes, fixed_usd_per_hour=nothing, usd_per_byte_hour=nothing)
