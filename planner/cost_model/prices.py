"""Costs of a cluster in addition to its nodes' hourly price: spares, capacity, requests, and rounding of the bill."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, replace
from itertools import chain
from typing import Final

import numpy as np

from planner.arrays import Days, Flags, Floats, Rows
from planner.catalog.loading import outside_charges
from planner.catalog.transfer_prices import TransferPrice, transfer_between
from planner.cost_model.disk_layout import OBJECTS, VOLUMES
from planner.cost_model.evidence import ASSUMED_CHARGE, assumed_range, assumed_transfer, is_assumed, stated_of_stores
from planner.cost_model.object_store import HERE
from planner.cost_model.staging import compiling_node_s, moved_bytes
from planner.cost_model.workload import JobContext


def paid_nodes(nodes: Floats, *, spare_fraction: float) -> Floats:
    """Return the number of nodes a run pays for: spares are launched for clusters of more than one. No number of nodes
    (inf) stays none.
    """
    spares = np.ceil(np.where(np.isinf(nodes), 0.0, nodes) * spare_fraction)
    return np.where(nodes > 1, nodes + spares, nodes)


@dataclass(frozen=True, kw_only=True, eq=False)
class Reservations:
    """Prices limited to a number of nodes of a type, both of shape (T,): beyond `nodes` (inf: no limit) the price is
    `above_usd_per_hour` more.
    """

    nodes: Floats
    above_usd_per_hour: Floats

    def excess_usd_per_hour(self, type_rows: Rows, paid: Floats) -> Floats:
        """Return the cost above the price of nodes beyond the reservations, shape (R, N), of `paid` nodes (N,), or
        (R, 1).
        """
        beyond = np.maximum(paid - self.nodes[type_rows, None], 0.0)
        return beyond * self.above_usd_per_hour[type_rows, None]


def spares_paid_s(context: JobContext, nodes: Floats) -> Floats:
    """Return the seconds that the spares of `nodes` are paid for, elementwise: a run ends them after screening."""
    return billed_s(context.overheads.ready_s(nodes) + compiling_node_s(context), context)


def billed_s(seconds: Floats, context: JobContext) -> Floats:
    """Return the seconds that the cloud bills; prorated for the papers, and if the catalog states no rule."""
    billing = context.catalog.manifest.billing
    if context.paper or billing is None:
        return seconds
    return np.maximum(np.ceil(seconds / billing.step_s) * billing.step_s, billing.minimum_s)


def capacity_usd_per_hour(context: JobContext, nodes: Floats) -> Floats:
    """Return the hourly price of the whole cluster's data on volumes and in the object store, shape (R, N);
    (R, 1) where it does not depend on the nodes.

    Volumes are bought as large as the data or, where their rate comes with their size, as large as the rate requires.
    """
    volumes, type_rows = context.volumes, context.layouts.type_row
    on_volumes, in_store_bytes = (context.held_on(medium)[:, None] for medium in (VOLUMES, OBJECTS))
    in_store = np.where(in_store_bytes > 0, in_store_bytes * context.objects.usd_per_byte_hour, 0.0)
    if not on_volumes.any():
        return in_store
    least, usd = volumes.bytes_min[type_rows, None], volumes.usd_per_byte_hour[type_rows, None]
    bought = np.maximum(on_volumes, nodes * least) if least.any() else on_volumes
    return np.asarray(np.where(on_volumes > 0, bought * usd, 0.0) + in_store)


def dearer_usd_per_hour(context: JobContext, nodes: Floats) -> Floats:
    """Return how much more an hour of the cluster's storage may cost than planned, (R, N): the possible excess of
    another region's prices of volumes and store over those of the catalog's own.
    """
    excess, type_rows = _excess_elsewhere(context), context.layouts.type_row
    if not excess:
        return np.zeros((1, 1))
    fixed = np.nan_to_num(context.volumes.fixed_usd_per_hour[type_rows, None]) * nodes
    on_volumes = context.layouts.uses(VOLUMES)[:, None]
    return np.asarray(excess * (capacity_usd_per_hour(context, nodes) + np.where(on_volumes, fixed, 0.0)))


def _excess_elsewhere(context: JobContext) -> float:
    """Return the share by which the price of volumes and store may be higher in the run's region than planned."""
    is_known = context.paper or context.region in ("", context.catalog.default_region)
    return 0.0 if is_known else assumed_range("place").high - 1


def request_usd(context: JobContext) -> float:
    """Return the cost of the job's requests to the object store: reading the input and writing the output once."""
    sizes, store = context.model.requests, context.objects
    if not sizes:
        return 0.0
    share = context.staging.stored_share
    reads = max(math.ceil(context.job.map_in * share / sizes["read_bytes"]), context.staging.files or 0)
    writes = math.ceil(context.job.reduce_out * share / sizes["write_bytes"])
    return reads * store.read_usd_per_request + writes * store.write_usd_per_request


_GIB: Final = 2**30


@dataclass(frozen=True, kw_only=True, eq=False)
class Charge:
    """Dollars for each layout, shape (R,): NaN where the price is unknown. `basis` describes the charge."""

    name: str
    usd: Floats
    evidence: str
    basis: str
    high_usd: Floats | None = None
    """The highest charge that an assumed price may cause."""

    @property
    def most_usd(self) -> Floats:
        """The highest possible charge where the price is uncertain, (R,)."""
        return self.usd if self.high_usd is None else self.high_usd


def charges(context: JobContext, *, nodes: Floats | float = np.inf) -> list[Charge]:
    """Return all charges of a run on `nodes` nodes (R,), including unknown ones; none for the papers.

    The more nodes, the less is charged: without `nodes` it is the least that a cluster of any size is charged.
    """
    if context.paper:
        return []
    charged = (_requests(context), _between_regions(context), _egress(context), _between_zones(context, nodes))
    return list(chain(*charged))


def copies_usd(context: JobContext) -> float:
    """Return the charge of the run on two nodes beyond `known_usd`; on N nodes it is an (N - 1)th of it.

    A copy goes to one of the N - 1 other nodes, so (N - N/Z)/(N - 1) = (Z-1)/Z + (Z-1)/Z/(N - 1) of the copies cross.
    """
    zones = context.staging.zones
    if context.paper or zones == 1:
        return 0.0
    copied_gib = _sent(context, "replicate") * (zones - 1) / zones / _GIB
    return float(np.nan_to_num(_transfer(context, "zone", np.array(copied_gib)).usd))


def known_usd(context: JobContext) -> Floats:
    """Return the sum of the known charges, shape (R,): the least that a cluster of any size is charged."""
    zeros = np.zeros(len(context.layouts.type_row))
    return sum((np.nan_to_num(charge.usd) for charge in charges(context)), start=zeros)


def doubtful_usd(context: JobContext) -> Floats:
    """Return by how much assumed prices of charges and requests may exceed the plan, shape (R,)."""
    requests = np.full(len(context.layouts.type_row), request_usd(context) * _excess_elsewhere(context))
    return sum((np.nan_to_num(charge.most_usd - charge.usd) for charge in charges(context)), start=requests)


def partly_unknown(context: JobContext) -> Flags:
    """Return whether a charge of the run on each layout (R,) has no known price, so that its bill is a lower bound."""
    nothing = np.zeros(len(context.layouts.type_row), bool)
    return np.asarray(sum((np.isnan(charge.usd) for charge in charges(context)), start=nothing), bool)


def _requests(context: JobContext) -> Iterator[Charge]:
    store, sizes, staging = context.objects, context.overheads.staging_request_bytes, context.staging
    moves, excess = moved_bytes(context), _excess_elsewhere(context)
    for name, verb, price in (
        ("stage in", "read", store.read_usd_per_request),
        ("stage out", "write", store.write_usd_per_request),
    ):
        place = staging.source if name == "stage in" else staging.sink
        if name in moves and moves[name].any() and place == context.catalog.cloud:
            count = np.ceil(moves[name] / sizes[verb])
            count = np.maximum(count, staging.files or 0) if verb == "read" else count
            basis = f"{verb} requests of {sizes[verb] / 1e6:.3g} MB to {store.name}"
            priced = _of_store(context, f"{verb}_usd_per_request", price, count, evidence=store.evidence, excess=excess)
            yield replace(priced, name=f"{name}: requests", basis=basis)
    yield from _from_store(context)
    # The store's charge for traffic to instances of its own region, if stated.
    inward = moves.get("stage in")
    if inward is not None and inward.any() and staging.source == context.catalog.cloud:
        basis = f"traffic from {store.name} to instances of its region"
        priced = _out_of_store(context, inward / _GIB)
        yield replace(priced, name="stage in: traffic", basis=basis + (f"; {priced.basis}" if priced.basis else ""))


def _from_store(context: JobContext) -> Iterator[Charge]:
    """Yield the cost of traffic that a job reads from the store directly, if it is not free."""
    reads = (context.layouts.data_on == OBJECTS) * (context.job.map_in * context.staging.stored_share / _GIB)
    priced = _out_of_store(context, reads)
    if reads.any() and (priced.most_usd.any() or priced.evidence == "assumed"):
        basis = f"traffic from {context.objects.name} to instances of its region"
        yield replace(priced, name="object store: traffic", basis=basis)


def _out_of_store(context: JobContext, moved_gib: Floats) -> Charge:
    """Return the cluster's own store's charge for traffic to instances of its region."""
    store, excess, name = context.objects, _excess_elsewhere(context), "egress_usd_per_gib"
    return _of_store(context, name, store.egress_usd_per_gib, moved_gib, evidence=store.evidence, excess=excess)


def _between_regions(context: JobContext) -> Iterator[Charge]:
    """Yield the cost of reading from or writing to a store of the same cloud in another region."""
    staging, cloud, share = context.staging, context.catalog.cloud, context.staging.stored_share
    ways = (
        ("input", staging.source, staging.source_region, context.job.map_in),
        ("output", staging.sink, staging.sink_region, context.job.reduce_out),
    )
    for name, place, region, moved in ways:
        if place == cloud and region and context.region and region != context.region:
            moved_gib = np.full(len(context.layouts.type_row), moved * share / _GIB)
            priced = _transfer(context, transfer_between(cloud, region, context.region), moved_gib)
            between = f"{region} to {context.region}" if name == "input" else f"{context.region} to {region}"
            yield replace(priced, name=f"{name}: traffic between regions", basis=f"{between}; {priced.basis}")


def _transfer(context: JobContext, transfer: str, moved_gib: Floats) -> Charge:
    """Return the cost of traffic of a kind in the catalog's cloud."""
    return _traffic(context, context.catalog.transfer_price(transfer), transfer, moved_gib)


def _traffic(context: JobContext, price: TransferPrice, transfer: str, moved_gib: Floats) -> Charge:
    """Return the cost of traffic of a kind, assumed if the cloud's price is unknown and the policy allows it."""
    usd = price.usd(moved_gib)
    if np.isnan(usd).any() and is_assumed("charge", context.unknown):
        middle, high, basis = assumed_transfer(transfer, moved_gib)
        return Charge(name="", usd=middle, high_usd=high, evidence="assumed", basis=basis)
    return Charge(name="", usd=usd, evidence=price.evidence, basis=price.note)


def _of_store(
    context: JobContext, name: str, price: float, count: Floats, *, evidence: str = "", excess: float = 0.0
) -> Charge:
    """Return a store's charge for requests or traffic; `name` is that of the price in the catalog, which may be higher
    by the share `excess`.
    """
    if np.isnan(price) and is_assumed("charge", context.unknown):
        stated = stated_of_stores(name) or [np.nan]
        middle, high = count * float(np.mean(stated)), count * max(stated)
        return Charge(name="", usd=middle, high_usd=high, evidence="assumed", basis=ASSUMED_CHARGE)
    return Charge(name="", usd=count * price, high_usd=count * price * (1 + excess), evidence=evidence, basis="")


def _egress(context: JobContext) -> Iterator[Charge]:
    """Yield charges for data that leaves a cloud, by that cloud, and for requests, by the cloud of the store."""
    moves, cloud, staging = moved_bytes(context), context.catalog.cloud, context.staging
    sizes = context.overheads.staging_request_bytes
    if staging.source not in ("", HERE, cloud):
        there, moved = outside_charges(staging.source), moves["stage in"]
        leaving = _traffic(context, there.leaving, "internet", moved / _GIB)
        asked = _of_store(context, "read_usd_per_request", there.read_usd_per_request, np.ceil(moved / sizes["read"]))
        yield _with_requests(leaving, asked, "stage in", f"traffic out of {staging.source} and requests there")
    if staging.sink and staging.sink != cloud:
        moved, count = moves["stage out"], np.ceil(moves["stage out"] / sizes["write"])
        price = 0.0 if staging.sink == HERE else outside_charges(staging.sink).write_usd_per_request
        asked = _of_store(context, "write_usd_per_request", price, count)
        basis = f"traffic out of {cloud}" + (f" and requests to {staging.sink}" if staging.sink != HERE else "")
        yield _with_requests(_transfer(context, "internet", moved / _GIB), asked, "stage out", basis)


def _with_requests(leaving: Charge, asked: Charge, step: str, about: str) -> Charge:
    """Return the charge for the traffic and the requests of a step to or from another cloud."""
    return Charge(
        name=f"{step}: egress",
        usd=leaving.usd + asked.usd,
        high_usd=leaving.most_usd + asked.most_usd,
        evidence="assumed" if "assumed" in (leaving.evidence, asked.evidence) else leaving.evidence,
        basis=f"{about}; {leaving.basis}" if leaving.basis else about,
    )


def _between_zones(context: JobContext, nodes: Floats | float) -> Iterator[Charge]:
    """Yield the charge for traffic between zones. Nodes spread evenly over Z zones send (Z-1)/Z of their shuffle to
    other
    zones, counting themselves as receivers, and more of the copies, which always go to another node.
    """
    zones = context.staging.zones
    if zones > 1:
        shuffled, copied = (_sent(context, way) for way in ("network", "replicate"))
        crossing = np.ones(len(context.layouts.type_row)) * (1 / np.maximum(1, nodes - 1))
        crossing = (shuffled + copied * (1 + crossing)) * (zones - 1) / zones
        priced = _transfer(context, "zone", crossing / _GIB)
        share = crossing[0] / (shuffled + copied) if crossing.any() else 0.0
        basis = f"{share:.0%} of what the nodes exchange crosses zones"
        basis += f"; {priced.basis}" if priced.evidence == "assumed" else ""
        yield replace(priced, name="traffic between zones", basis=basis)


def _sent(context: JobContext, way: str) -> float:
    """Return the bytes of all phases that nodes shuffle (`network`) or copy to another node (`replicate`)."""
    return sum(context.job.total(getattr(phase, way)) for phase in context.model.phases)


@dataclass(frozen=True, kw_only=True, eq=False)
class Offer:
    """Prices of a region for every type of a catalog, shape (T,): all-in USD per node-hour, with their evidence.

    `notes` mark the types whose prices are the user's own, by row; `as_of` is the day of each list price. Of 100 runs,
    95 pay at most `most_usd_per_hour`; None where all prices are as listed. Among spot nodes the head is bought on
    demand, at `head_usd_per_hour`; None where all nodes are bought alike.
    """

    region: str
    pricing: str
    price_usd_per_hour: Floats
    evidence: tuple[str, ...]
    reservations: Reservations | None = None
    notes: Mapping[int, str] = field(default_factory=dict)
    as_of: Days | None = None
    most_usd_per_hour: Floats | None = None
    head_usd_per_hour: Floats | None = None

    def day_of(self, type_row: int) -> str:
        """Return the day of a type's list price (ISO), '' if its price is not from a list."""
        if self.as_of is None or type_row in self.notes or np.isnat(self.as_of[type_row]):
            return ""
        return str(self.as_of[type_row])

    def times(self, factor: float) -> Offer:
        """Return the offer with every price multiplied."""
        limits = self.reservations
        if limits is not None:
            limits = replace(limits, above_usd_per_hour=limits.above_usd_per_hour * factor)
        most = None if self.most_usd_per_hour is None else self.most_usd_per_hour * factor
        price = self.price_usd_per_hour * factor
        head = None if self.head_usd_per_hour is None else self.head_usd_per_hour * factor
        return replace(
            self, price_usd_per_hour=price, reservations=limits, most_usd_per_hour=most, head_usd_per_hour=head
        )

    def with_volumes(self, usd_per_hour: Floats) -> Offer:
        """Return the offer of nodes whose volumes cost a fixed amount, (T,)."""
        head = None if self.head_usd_per_hour is None else self.head_usd_per_hour + usd_per_hour
        return replace(self, price_usd_per_hour=self.price_usd_per_hour + usd_per_hour, head_usd_per_hour=head)

    @property
    def dearest(self) -> Offer:
        """The offer at the most that 95 of 100 runs pay for its listed prices; the user's own hold."""
        if self.most_usd_per_hour is None:
            return self
        price = self.most_usd_per_hour.copy()
        price[list(self.notes)] = self.price_usd_per_hour[list(self.notes)]
        return replace(self, price_usd_per_hour=price, most_usd_per_hour=None)
