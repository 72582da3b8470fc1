"""Filters of instance types: `--instance`, `--exclude`, `--arch`, `--min-memory`, previous generations; and clashes."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from fnmatch import fnmatchcase
from itertools import combinations
from typing import Final

import numpy as np

from planner.arrays import Codes, Flags
from planner.catalog import EVIDENCE, Catalog
from planner.catalog.instances import split_weighting
from planner.cost_model.disk_layout import LOCAL, OBJECTS, VOLUMES
from planner.cost_model.rates import Device, evidence_name
from planner.cost_model.workload import JobContext
from planner.schemas.plan import Rejection, Request
from planner.schemas.request_forms import size_text

UNASKED: Final = "not asked for"
"""How the reason begins that rejects a type which --instance does not name."""

PREVIOUS: Final = "of a previous generation"
TOO_LITTLE_MEMORY: Final = "not known to have the memory of"
NOT_WANTED: Final = (UNASKED, "excluded", "not known to be", TOO_LITTLE_MEMORY, PREVIOUS)
"""How the reasons begin that reject what the request's filters do not let through."""

Filter = Callable[[str, str, float], str]
"""Takes a type's name, architecture and bytes of memory, and returns why it is left out, '' when it is not."""


def filters(request: Request) -> dict[str, Filter]:
    """Return the filters of a request by the option that sets them."""
    by_option: dict[str, Filter] = {}
    if request.instances:
        option = f"--instance {','.join(request.instances)}"
        by_option[option] = lambda name, *_: "" if _any(name, request.instances) else f"{UNASKED} ({option})"
    if request.exclude:
        other = f"--exclude {','.join(request.exclude)}"
        by_option[other] = lambda name, *_: f"excluded ({other})" if _any(name, request.exclude) else ""
    if request.arch:
        by_option[f"--arch {request.arch}"] = lambda _, arch, __: (
            "" if arch == request.arch else f"not known to be {request.arch} (--arch)"
        )
    if request.min_memory_bytes:
        least = f"--min-memory {size_text(request.min_memory_bytes)}"
        by_option[least] = lambda _, __, memory_bytes: (
            "" if memory_bytes >= (request.min_memory_bytes or 0) else f"{TOO_LITTLE_MEMORY} {least}"
        )
    return by_option


def wanted(request: Request, catalog: Catalog) -> tuple[Flags, list[Rejection]]:
    """Return which types (T,) the request's filters let through, and a rejection for each other."""
    types, chosen = _types(catalog), list(filters(request).values())
    passed = ~_past_their_time(request, catalog)
    unasked = [_past(types[row][0]) for row in np.flatnonzero(~passed).tolist()]
    for row, (listed, arch, memory_bytes) in enumerate(types if chosen else ()):
        name, weighting = split_weighting(listed)  # patterns know types as they are offered
        reason = next(filter(None, (reason_of(name, arch, memory_bytes) for reason_of in chosen)), "")
        if reason and passed[row]:
            passed[row] = False
            unasked += [] if weighting else [Rejection(instance_type=name, reason=reason)]
    return passed, unasked


def _past_their_time(request: Request, catalog: Catalog) -> Flags:
    """Return the types (T,) that their cloud counts as a previous generation and nobody named; --paper takes all, and
    where no type is current, as in catalogs of years gone by, the word means nothing.
    """
    current = catalog.instances.current_generation
    if request.previous_generations or request.instances or request.paper or not current.any():
        return np.zeros(len(current), bool)
    return ~current


def _past(name: str) -> Rejection:
    return Rejection(
        instance_type=name,
        reason=PREVIOUS,
        detail="its cloud says so; --previous-generations or --instance takes it in",
    )


def filter_conflicts(request: Request, catalogs: Sequence[Catalog]) -> Iterator[str]:
    """Name the filter that lets no type through, or the pairs that let some through each and none together."""
    types = [facts for catalog in catalogs for facts in _types(catalog)]
    chosen = filters(request)
    passing = {name: {facts for facts in types if not reason_of(*facts)} for name, reason_of in chosen.items()}
    if not chosen or set.intersection(*passing.values()):
        return
    yield from (f"{name} lets no type through" for name, passed in passing.items() if not passed)
    for first, second in combinations([name for name, passed in passing.items() if passed], 2):
        if not passing[first] & passing[second]:
            yield f"{first} and {second} clash: no type passes both"


def _types(catalog: Catalog) -> list[tuple[str, str, float]]:
    types = catalog.instances
    return list(zip(types.instance_type.tolist(), types.arch.tolist(), types.memory_bytes.tolist(), strict=True))


def _any(name: str, patterns: Sequence[str]) -> bool:
    return any(fnmatchcase(name, pattern) for pattern in patterns)


WEAKEST: Final = {"measured": "derived", "spec": "spec", "any": EVIDENCE[-1]}
"""The weakest evidence that each choice lets through. What is computed from measurements of a type counts as measured,
and what is computed from those of other types does not: see `_of_other_types`.
"""


def well_founded(context: JobContext, wanted: str, *, networked: bool) -> tuple[Flags, list[Rejection]]:
    """Return which layouts (R,) use only rates that rest on what is `wanted`, and a rejection for each type that has
    none. The rate of a network counts only where nodes exchange data (`networked`).
    """
    type_rows = context.layouts.type_row
    passed = np.ones(len(type_rows), bool)
    weak: dict[int, list[str]] = {}
    for name, codes in _rate_evidence(context, networked=networked):
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


def _rate_evidence(context: JobContext, *, networked: bool) -> Iterator[tuple[str, Codes]]:
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
        codes = _of_other_types(device)[layouts.type_row]
        yield name, np.where(layouts.uses(medium), codes, unused)
    if networked:
        yield "network", rates.network.evidence[layouts.type_row]


def _of_other_types(device: Device) -> Codes:
    """Return the evidence of a device's rates (T,): those computed from other types, with a range, are extrapolated."""
    if device.edges is None:
        return device.evidence
    ranged = np.isfinite(device.edges[0])
    worse = np.maximum(device.evidence, EVIDENCE.index("extrapolated"))
    return np.where(ranged, worse, device.evidence).astype(np.int8)
