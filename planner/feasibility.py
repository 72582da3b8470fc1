"""Why a type cannot do the job: every type left out carries a reason that a reader can act on."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
from numpy.typing import NDArray

from planner.candidates import Offer
from planner.estimate import Estimates
from planner.plan import Rejection, Request
from planner.units import format_duration, format_usd
from planner.work import Situation

Flags = NDArray[np.bool_]
Floats = NDArray[np.float64]


def usable(situation: Situation, offer: Offer, *, networked: bool) -> tuple[Flags, list[Rejection]]:
    """Return which types (T,) have every fact the model needs, and a rejection for each that lacks one."""
    left = np.ones(len(situation.catalog.instances), bool)
    rejections: list[Rejection] = []
    for lacking, reason, detail in _lacks(situation, offer, networked=networked):
        rejections += [_rejection(situation, row, reason, detail) for row in np.flatnonzero(left & lacking).tolist()]
        left &= ~lacking
    return left, rejections


def _lacks(situation: Situation, offer: Offer, *, networked: bool) -> Iterator[tuple[Flags, str, str]]:
    """Yield, in the order to report them, which types lack a fact, what it is called and what to do about it."""
    instances, rates, needs = situation.catalog.instances, situation.rates, set(situation.model.storage.values())
    yield np.isnan(instances.local_disks), "number of local disks unknown", ""
    if situation.model.storage["data"] == "local":
        yield instances.local_disks == 0, "no local disks", "the model keeps its data on them"
    if "local" in needs:
        lacking = (instances.local_disks > 0) & ~rates.local.known
        yield lacking, "local disk rate unknown", "measure it, or --assume local_read=RATE,local_write=RATE"
        yield (instances.local_disks > 0) & np.isnan(instances.local_disk_bytes), "local disk capacity unknown", ""
    on_volumes = _any_row(situation, (situation.layouts.data_disks == 0) | (situation.layouts.intermediate_disks == 0))
    unknown = np.isnan(rates.volumes.read) | np.isnan(rates.volumes.write)
    yield (
        on_volumes & unknown,
        "block volume rate unknown",
        "measure it, or --assume volume_read=RATE,volume_write=RATE",
    )
    yield on_volumes & np.isnan(situation.volumes.bytes_max), "block volumes that can be attached unknown", ""
    yield np.isnan(rates.network.flat) & networked, "network rate unknown", "measure it, or --assume network=RATE"
    yield np.isnan(instances.vcpu) & (not situation.paper), "number of vCPUs unknown", ""
    where = f"{offer.pricing} price unknown in {offer.region}"
    yield np.isnan(offer.price_usd_per_hour), where, "or --assume price=USD"


def too_small(situation: Situation, row: int, estimates: Estimates, request: Request) -> Rejection:
    """Return the rejection of a type that needs more nodes than it may have to hold the data; `row` is its roomiest
    layout.
    """
    fewest = estimates.fewest[row]
    allowed = request.nodes or request.max_nodes
    limit = f"--nodes {allowed}" if request.nodes else f"--max-nodes {allowed}"
    return Rejection(
        instance_type=_name(situation, int(situation.layouts.type_row[row])),
        reason=f"does not hold the data within {limit}",
        detail=f"needs {fewest:.0f} nodes to hold the data",
        nearness=float(fewest / allowed),
    )


def misses(situation: Situation, kind: int, *, best_s: float, least_usd: float, request: Request) -> Rejection:
    """Return the rejection of a type that holds the data but meets neither deadline nor budget, or not both at once."""
    late = request.deadline_s is not None and best_s > request.deadline_s
    dear = request.budget_usd is not None and least_usd > request.budget_usd
    if late and request.deadline_s:
        reason, detail = (
            f"misses the deadline of {format_duration(request.deadline_s)}",
            f"takes {format_duration(best_s)}",
        )
        nearness = best_s / request.deadline_s
    elif dear and request.budget_usd:
        reason, detail = (
            f"exceeds the budget of {format_usd(request.budget_usd)}",
            f"costs {format_usd(least_usd)} in all",
        )
        nearness = least_usd / request.budget_usd
    else:
        reason = "meets the deadline and the budget only apart"
        detail = f"takes at least {format_duration(best_s)}, costs at least {format_usd(least_usd)} in all"
        nearness = 1.0
    return Rejection(instance_type=_name(situation, kind), reason=reason, detail=detail, nearness=nearness)


def _any_row(situation: Situation, flags: Flags) -> Flags:
    found = np.zeros(len(situation.catalog.instances), bool)
    found[situation.layouts.type_row[flags]] = True
    return found


def _rejection(situation: Situation, kind: int, reason: str, detail: str) -> Rejection:
    return Rejection(instance_type=_name(situation, kind), reason=reason, detail=detail)


def _name(situation: Situation, kind: int) -> str:
    return str(situation.catalog.instances.instance_type[kind])
