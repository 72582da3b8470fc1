"""Which types rest on evidence that is good enough: `--evidence measured` or `spec`."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

import numpy as np

from planner.arrays import Codes, Flags
from planner.catalog import EVIDENCE
from planner.cost_model.disk_layout import LOCAL, OBJECTS, VOLUMES
from planner.cost_model.rates import evidence_name
from planner.cost_model.workload import JobContext
from planner.schemas.plan import Rejection

WEAKEST: Final = {"measured": "derived", "spec": "spec", "any": EVIDENCE[-1]}
"""The weakest evidence that each choice lets through; what is computed from measurements counts as measured."""


def well_founded(context: JobContext, wanted: str, *, networked: bool) -> tuple[Flags, list[Rejection]]:
    """Return which layouts (R,) use only rates that rest on what is `wanted`, and a rejection for each type that has
    none. The rate of a network counts only where nodes exchange data (`networked`).
    """
    type_rows = context.layouts.type_row
    passed = np.ones(len(type_rows), bool)
    weak: dict[int, list[str]] = {}
    for name, codes in _evidence(context, networked=networked):
        too_weak = codes > EVIDENCE.index(WEAKEST[wanted])
        passed &= ~too_weak
        for row in np.flatnonzero(too_weak).tolist():
            text = f"{name}: {evidence_name(int(codes[row]))}"
            so_far = weak.setdefault(int(type_rows[row]), [])
            so_far += [text] * (text not in so_far)
    lost = sorted(set(type_rows.tolist()) - set(type_rows[passed].tolist()))
    names = context.catalog.instances.names
    reason = f"rests on weaker evidence than --evidence {wanted}"
    return passed, [
        Rejection(instance_type=names[row], reason=reason, detail=", ".join(weak[row]), nearness=1.0 + len(weak[row]))
        for row in lost
    ]


def weak_network(context: JobContext, wanted: str) -> Flags:
    """Return of which layouts (R,) the network rests on less than what is `wanted`."""
    codes = context.rates.network.evidence[context.layouts.type_row]
    return np.asarray(codes > EVIDENCE.index(WEAKEST[wanted]))


def _evidence(context: JobContext, *, networked: bool) -> Iterator[tuple[str, Codes]]:
    """Yield the rates that a job may wait for and the codes of their evidence (R,): -1 where a layout has no use of
    one.
    """
    rates, layouts = context.rates, context.layouts
    unused = np.full(len(layouts.type_row), -1, np.int8)
    for name, medium, device in (
        ("local disks", LOCAL, rates.local),
        ("volumes", VOLUMES, rates.volumes),
        ("object store", OBJECTS, rates.objects),
    ):
        yield name, np.where(layouts.uses(medium), device.evidence[layouts.type_row], unused)
    if networked:
        yield "network", rates.network.evidence[layouts.type_row]
