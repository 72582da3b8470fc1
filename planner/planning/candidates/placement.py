"""Whether a cluster goes in one placement group: what its type, its zones and the cloud's limit allow."""

from __future__ import annotations

from collections.abc import Iterator

from planner.cost_model.workload import JobContext


def goes_in_one_group(context: JobContext, *, machines: int) -> bool:
    """Say whether so many machines of the one layout, spares included, are launched in one placement group."""
    return _is_grouped(context) and machines <= _most_machines(context)


def too_many_for_one_group(context: JobContext, *, machines: int) -> Iterator[str]:
    """Yield a warning where only their number keeps the machines out of one placement group."""
    if _is_grouped(context) and machines > (most := _most_machines(context)):
        text = f"a placement group of this cloud takes {most:,.0f} machines, so these {machines:,} stand anywhere"
        yield f"network: {text} in the zone; rates between machines that are not placed together were seen to fall more"


def _is_grouped(context: JobContext) -> bool:
    type_row = int(context.layouts.type_row[0])
    return bool(context.catalog.instances.placement_group[type_row]) and context.staging.zones == 1


def _most_machines(context: JobContext) -> float:
    stated = context.catalog.manifest.placement
    return float("inf") if stated is None else float(stated.machines_most)
