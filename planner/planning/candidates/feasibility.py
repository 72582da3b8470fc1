"""Reasons why a type cannot do the job; each is one that a reader can act on."""

from __future__ import annotations

import math
from collections.abc import Iterator
from typing import Any, Final

import numpy as np

from planner.arrays import Flags
from planner.cost_model.capacity import fewest_nodes, node_bounds
from planner.cost_model.disk_layout import LOCAL, MEMORY, OBJECTS, VOLUMES
from planner.cost_model.evidence import is_assumed
from planner.cost_model.prices import Offer, charges, paid_nodes
from planner.cost_model.staging import place_link
from planner.cost_model.workload import JobContext
from planner.schemas.plan import Rejection, Request
from planner.units import count_text, format_bytes

NO_DISKS: Final = "no local disks"
DISKS_UNKNOWN: Final = "number of local disks unknown"
DISK_RATE_UNKNOWN: Final = "local disk rate unknown"
"""Reasons that a measurement would remove."""

TOO_FEW: Final = ("does not hold the data", "does not keep its copies on two nodes", "has no node in each zone")
"""Prefixes of the reasons for types that need more nodes than a request allows."""


def with_all_facts(
    context: JobContext, offer: Offer, *, networked: bool, powered: bool
) -> tuple[Flags, list[Rejection]]:
    """Return which layouts (R,) have every fact the model needs, and a rejection for each type that has none.

    The reason is the first fact that the type's first layout lacks; the detail lists the other facts it lacks. Network
    facts count only for jobs that use a network, and power only for the objective `energy` (`powered`).
    """
    type_rows = context.layouts.type_row
    facts = list(_missing_facts(context, offer, networked=networked, powered=powered))
    lacking = np.stack([flags for flags, _, _ in facts], axis=1)
    left = np.asarray(~lacking.any(axis=1))
    first = context.layouts.first_of_types()
    useless = first[~np.isin(type_rows[first], type_rows[left]) & _is_as_offered(context, type_rows[first])]
    kinds = [row.tobytes() for row in lacking[useless]]  # few types differ in what they lack
    texts = {
        kind: _texts([facts[fact][1:] for fact in np.flatnonzero(np.frombuffer(kind, bool)).tolist()])
        for kind in set(kinds)
    }
    return left, [
        Rejection(instance_type=_name(context, type_row), reason=texts[kind][0], detail=texts[kind][1])
        for type_row, kind in zip(type_rows[useless].tolist(), kinds, strict=True)
    ]


def _is_as_offered(context: JobContext, type_rows: Any) -> Any:
    """Return whether rows of the catalog are of types without a bandwidth weighting, of which nobody asked."""
    return context.catalog.instances.offered_row[type_rows] == type_rows


def _missing_facts(
    context: JobContext, offer: Offer, *, networked: bool, powered: bool
) -> Iterator[tuple[Flags, str, str]]:
    """Yield, in the order to report them, the layouts that lack a fact, its name and what to do about it."""
    yield from _unsold(context, offer)
    yield from _unassumed(context, offer)
    instances, rates, layouts = context.catalog.instances, context.rates, context.layouts
    type_rows, local = layouts.type_row, layouts.uses(LOCAL)
    disks = instances.local_disks[type_rows]
    # A model of local intermediate data keeps it on volumes where a type has no disks; whether it has must be known.
    by_default = local | ((layouts.intermediate_on == VOLUMES) & (context.model.storage["intermediate"] == "local"))
    yield by_default & np.isnan(disks), DISKS_UNKNOWN, ""
    yield local & (disks == 0), NO_DISKS, "the model keeps its data on them"
    measure = "measure it, or --assume {0}_read=RATE,{0}_write=RATE"
    there = local & (disks != 0)
    yield there & ~rates.local.known[type_rows], DISK_RATE_UNKNOWN, measure.format("local")
    alone = there & (layouts.data_on == LOCAL) & np.isinf(rates.local.read)[type_rows]
    yield alone, DISK_RATE_UNKNOWN, "only that the disks kept up with volumes; " + measure.format("local")
    yield there & np.isnan(instances.local_disk_bytes[type_rows]), "local disk capacity unknown", ""
    on_volumes, unknown = layouts.uses(VOLUMES), np.isnan(rates.volumes.read + rates.volumes.write)[type_rows]
    yield on_volumes & unknown, "block volume rate unknown", measure.format("volume")
    yield on_volumes & np.isnan(context.volumes.bytes_max[type_rows]), "block volume price or size unknown", ""
    on_objects, unknown = layouts.uses(OBJECTS), np.isnan(rates.objects.read + rates.objects.write)[type_rows]
    yield on_objects & unknown, "object store rate unknown", measure.format("object")
    yield on_objects & (not context.objects.priced), "object store price unknown", ""
    staged = ~on_objects & (context.catalog.cloud in (context.staging.source, context.staging.sink))
    yield staged & unknown, "object store rate unknown", measure.format("object") + " to stage the data"
    buffered = layouts.uses(MEMORY) | bool(context.overheads.partitions_at_once)
    yield buffered & np.isnan(instances.memory_bytes[type_rows]), "memory unknown", "two passes need buffers"
    yield (
        np.isnan(rates.network.flat)[type_rows] & networked,
        "network rate unknown",
        "measure it, or --assume network=RATE",
    )
    yield np.isnan(instances.vcpu)[type_rows] & (not context.paper), "number of vCPUs unknown", ""
    unknown = np.isnan(rates.credits.baseline_share)[type_rows] & (not context.paper)
    yield unknown, "burstable, its sustained share of a processor unknown", "name another type"
    needed = context.model.engine.memory_min_bytes(instances.vcpu[type_rows])
    engine = f"the engine {context.model.engine.name}"
    yield (needed > 0) & np.isnan(instances.memory_bytes[type_rows]), "memory unknown", f"{engine} needs some"
    least = format_bytes(float(np.nanmin(needed, initial=np.inf)))
    yield instances.memory_bytes[type_rows] < needed, "too little memory", f"{engine} needs at least {least} on a node"
    yield np.isnan(context.power_w)[type_rows] & powered, "power unknown", "or --assume power:TYPE=WATTS"
    where = f"{offer.pricing} price unknown in {offer.region}"
    yield np.isnan(offer.price_usd_per_hour)[type_rows], where, "or --assume price=USD"


def _unassumed(context: JobContext, offer: Offer) -> Iterator[tuple[Flags, str, str]]:
    """Yield the layouts that lack a fact about the machines' surroundings; `unknown=exclude` assumes none of them."""
    if context.paper or context.catalog.is_free:
        return
    every, unknown = np.ones(len(context.layouts.type_row), bool), context.unknown
    for charge in charges(context):
        yield np.isnan(charge.usd), f"{charge.name}: price unknown", _advice(unknown, "charge")
    cloud = context.catalog.cloud
    if offer.pricing == "spot" and context.risk is None:
        detail = f"--set interruptions=RATE says it, {_TAKE_IN}"
        yield every, f"how often {cloud} takes spot nodes back is unknown", detail
    places = (context.staging.source, context.staging.sink)
    steps = zip(places, ("stage in", "stage out"), strict=True)
    if any(place not in ("", cloud) and not place_link(context, step) for place, step in steps) and not is_assumed(
        "link", unknown
    ):
        yield every, f"the rate between {cloud} and another cloud is unknown", _TAKE_IN
    stores = context.layouts.uses(OBJECTS) | (cloud in places)
    store = context.objects
    limitless = bool(store.name) and bool(np.isinf([store.reads_per_s, store.writes_per_s]).any())
    yield stores & limitless, "requests a store takes unknown", _advice(unknown, "requests")
    elsewhere = offer.region != context.catalog.default_region
    if elsewhere and not is_assumed("place", unknown):
        stored = context.layouts.uses(VOLUMES) | stores
        yield stored, f"price of volumes or object store unknown in {offer.region}", _TAKE_IN


_TAKE_IN: Final = "or --set unknown=assume"


def _advice(unknown: str | None, kind: str) -> str:
    """Return the option that lets an unknown fact be assumed, if that was not tried."""
    return "no cloud states it" if is_assumed(kind, unknown) else _TAKE_IN


def _unsold(context: JobContext, offer: Offer) -> Iterator[tuple[Flags, str, str]]:
    """Yield the layouts that a region of the whole price list does not sell."""
    catalog, type_rows, region = context.catalog, context.layouts.type_row, offer.region
    if not catalog.is_further(region, offer.pricing):
        return
    unpriced = np.isnan(offer.price_usd_per_hour)[type_rows]
    names = catalog.instances.names
    with_disks = np.array(["+" in names[row] for row in type_rows.tolist()], dtype=bool)
    yield unpriced & with_disks, f"price of local disks to add unknown in {region}", "or --assume price=USD"
    day = catalog.priced_on(region, offer.pricing)
    yield (
        unpriced & ~with_disks,
        f"not sold in {region}",
        f"the {offer.pricing} prices of {day} have none, or none to trust",
    )


def fits_capacity(context: JobContext, request: Request) -> tuple[Flags, list[Rejection]]:
    """Return which layouts (R,) hold the data within the nodes a request allows, and a rejection for each type with no
    such layout.
    """
    fewest = fewest_nodes(context)
    launched = paid_nodes(np.maximum(fewest, request.nodes or 1), spare_fraction=context.overheads.spare_fraction)
    large = ~(fewest > (request.nodes or np.inf)) & ~(launched > request.most_machines)
    type_rows = context.layouts.type_row
    small = np.flatnonzero(~np.isin(type_rows, type_rows[large]))
    small = small[np.lexsort((fewest[small], type_rows[small]))]
    least = small[np.diff(type_rows[small], prepend=-1) > 0]  # the layout of each type that needs fewest
    bounds = {name: nodes[least] for name, nodes in node_bounds(context).items()} if len(least) else {}
    limits = [list(bounds)[limit] for limit in np.argmax(list(bounds.values()), axis=0)] if bounds else []
    rows = zip(type_rows[least].tolist(), fewest[least].tolist(), launched[least].tolist(), limits, strict=True)
    return large, [
        _too_few(context, of_type, least=least, launched=launched, limit=limit, request=request)
        for of_type, least, launched, limit in rows
        if _is_as_offered(context, of_type)
    ]


_PURPOSE: Final = {
    "disks": "to hold the data",
    "memory": "for its memory to sort it in two passes",
    "credit": "for its volumes' burst credit to last",
}


def _too_few(
    context: JobContext, type_row: int, *, least: float, launched: float, limit: str, request: Request
) -> Rejection:
    """Return the rejection of a type that needs more nodes than allowed, for the data, its copies or zones: at `least`
    so many, with which so many are launched.
    """
    alone = request.nodes is not None and least > request.nodes
    working = max(least, request.nodes or 1)
    needed, allowed = (least, request.nodes or 1) if alone else (launched, request.max_nodes)
    option = f"--nodes {allowed}" if alone else f"--max-nodes {allowed}"
    spares = f" and {count_text(launched - working, 'spare')}" if launched > working and not alone else ""
    reason, detail = TOO_FEW[0], f"needs {count_text(working, 'node')}{spares} {_PURPOSE[limit]}"
    if allowed < context.model.nodes_min:
        reason, detail = TOO_FEW[1], f"the model {context.model.name} keeps a copy on another node: it needs 2 nodes"
    elif allowed < context.nodes_min:
        reason, detail = (
            TOO_FEW[2],
            f"it needs {count_text(context.nodes_min, 'node')} for --set zones={context.staging.zones}",
        )
    return Rejection(
        instance_type=_name(context, type_row),
        reason=f"{reason} within {option}",
        detail=detail,
        nearness=needed / allowed,
    )


def nodes_needed(rejection: Rejection, request: Request) -> int | None:
    """Return how many nodes, or machines with spares, a type needs that was rejected as `--nodes` or `--max-nodes` of
    `request` allows too few; None for other rejections.
    """
    if not rejection.reason.startswith(TOO_FEW) or not rejection.nearness:
        return None
    allowed = request.max_nodes if limited_by_machines(rejection) else request.nodes or request.max_nodes
    return math.ceil(rejection.nearness * allowed - 1e-6)


def limited_by_machines(rejection: Rejection) -> bool:
    """Return whether a rejection is due to `--max-nodes`, not `--nodes`."""
    return " within --max-nodes " in rejection.reason


def _texts(lacking: list[tuple[str, str]]) -> tuple[str, str]:
    """Return the first missing fact as the reason, and as the detail its remedy with the names of the others."""
    (reason, advice), *others = lacking
    also = f"also {', '.join(name for name, _ in others)}" if others else ""
    return reason, "; ".join(filter(None, (advice, also)))


def _name(context: JobContext, type_row: int) -> str:
    return context.catalog.instances.names[type_row]
