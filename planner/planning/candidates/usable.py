"""The layouts of a region that a job may run on: those asked for that have every fact, for data of any size."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial
from typing import Final

import numpy as np

from planner.arrays import Flags
from planner.catalog.instances import FOR_VOLUMES
from planner.cost_model.capacity import with_lasting_credit
from planner.cost_model.disk_layout import OBJECTS, VOLUMES
from planner.cost_model.model import MEDIA, CostModel
from planner.cost_model.prices import Offer
from planner.cost_model.run_overheads import RunOverheads
from planner.cost_model.workload import JobContext
from planner.planning.candidates import feasibility
from planner.planning.request.filters import well_founded
from planner.planning.request.job_context import job_context
from planner.planning.request.region import Region
from planner.schemas.plan import Rejection, Request


@dataclass(frozen=True, kw_only=True, eq=False)
class Usable:
    """The requested layouts that have every fact, at the prices of an offer, and a rejection for each other type."""

    context: JobContext
    offer: Offer
    rejected: Sequence[Rejection]

    @classmethod
    def of(cls, request: Request, *, model: CostModel, region: Region, overheads: RunOverheads, most: int) -> Usable:
        """Return the layouts for a job on clusters of at most so many nodes; those of a recent request that differs in
        the size of its data and its limits alone are taken again.
        """
        about = _About(request, model=model, region=region, overheads=overheads)
        found = next((usable for other, usable in _recent if other.is_alike(about)), None)
        if found is not None:
            return found
        whole = _context_of_all_types(request, model=model, region=region, overheads=overheads, most=most)
        usable = cls._of_all(request, whole, region=region)
        if about.of_any_size(whole):
            _recent[:] = [(about, usable), *_recent[: _KEPT - 1]]
        return usable

    @classmethod
    def _of_all(cls, request: Request, whole: JobContext, *, region: Region) -> Usable:
        offer = _with_volumes(region.offer, whole, request)
        asked = whole.only_rows(np.flatnonzero(region.passed[whole.layouts.type_row] & ~_gains_nothing(whole)))
        networked, powered = request.nodes != 1, request.objective == "energy"
        fit, lacking = feasibility.with_all_facts(asked, offer, networked=networked, powered=powered)
        fitting = asked.only_rows(np.flatnonzero(fit))
        founded, weak = well_founded(fitting, request.evidence, networked=request.nodes not in (None, 1))
        return cls(context=fitting.only_rows(np.flatnonzero(founded)), offer=offer, rejected=[*lacking, *weak])


_KEPT: Final = 16
_recent: list[tuple[_About, Usable]] = []
"""What was usable for recent requests, the latest first."""


def forget() -> None:
    """Forget what was usable for recent requests."""
    _recent.clear()


_LIMITS: Final = frozenset(
    [
        "data_bytes",
        "most_data",
        "nodes",
        "max_nodes",
        "max_vcpus",
        "node_limits",
        "deadline_s",
        "sort_deadline_s",
        "confidence",
        "budget_usd",
        "objective",
        "top",
        "scale",
        "model",
        "catalogs",
        "regions",
        "own_prices",
        "instances",
        "exclude",
        "arch",
        "previous_generations",
        "min_memory_bytes",
    ]
)
"""Fields of a request that decide nothing about a layout's facts, or only by what else `_About` compares."""


class _About:
    """What the facts of layouts depend on, for a job of any size."""

    def __init__(self, request: Request, *, model: CostModel, region: Region, overheads: RunOverheads) -> None:
        speeds = {name: factor for name, factor in request.scale.items() if name != "data"}
        few = request.nodes if request.nodes in (None, 1) else 2
        self._equal = (
            [value for name, value in vars(request).items() if name not in _LIMITS],
            (speeds, few, request.objective == "energy", model),
        )
        self._same = (region.catalog, region.offer, region.volumes, region.passed, overheads)
        self._on_credit = region.volumes_on_credit

    def is_alike(self, other: _About) -> bool:
        """Return whether all of it is the same."""
        alike = all(mine is theirs for mine, theirs in zip(self._same, other._same, strict=True))
        return alike and self._equal == other._equal

    def of_any_size(self, context: JobContext) -> bool:
        """Return whether the size of a job decides none of its rates: those of whole jobs in the object store and of
        volumes on burst credit depend on it.
        """
        is_in_store = context.model.storage["data"] == MEDIA[OBJECTS]
        return not is_in_store and (self._on_credit is None or not context.layouts.uses(VOLUMES).any())


def _context_of_all_types(
    request: Request, *, model: CostModel, region: Region, overheads: RunOverheads, most: int
) -> JobContext:
    """Return the job on all types of a region, with volumes on burst credit if that lasts and costs less."""
    place = region.offer.region
    with_volumes = partial(job_context, request, model=model, catalog=region.catalog, overheads=overheads, region=place)
    sustained = with_volumes(volumes=region.volumes)
    if region.volumes_on_credit is None or not sustained.layouts.uses(VOLUMES).any():
        return sustained
    lasting = with_lasting_credit(
        sustained,
        on_credit=region.volumes_on_credit,
        price_usd_per_hour=region.offer.price_usd_per_hour,
        nodes=request.nodes,
        max_nodes=most,
    )
    return with_volumes(volumes=lasting)


def _gains_nothing(context: JobContext) -> Flags:
    """Return the layouts whose type gives up network for volumes that the job does not use."""
    for_volumes = np.char.endswith(context.catalog.instances.names, f"+{FOR_VOLUMES}")
    return np.asarray(for_volumes[context.layouts.type_row] & ~context.layouts.uses(VOLUMES))


def _with_volumes(offer: Offer, context: JobContext, request: Request) -> Offer:
    """Return the offer with the price of a node on volumes, including costs that do not depend on capacity."""
    fixed = np.zeros(len(offer.price_usd_per_hour))
    on_volumes = context.layouts.uses(VOLUMES)
    type_rows = context.layouts.type_row[on_volumes]
    fixed[type_rows] = np.nan_to_num(context.volumes.fixed_usd_per_hour[type_rows])
    if "price" in request.assume or not on_volumes.any():
        return offer
    factor = request.scale.get("price", 1.0)
    return offer.with_volumes(fixed * factor)
