"""Filters of instance types: `--instance`, `--exclude`, `--arch`, memory, previous generations; and clashes."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, fields
from fnmatch import translate
from functools import lru_cache
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
from planner.units import format_exact_size

UNASKED: Final = "not asked for"
"""Prefix of the reason for rejecting a type that --instance does not name."""

PREVIOUS: Final = "of a previous generation"
TOO_LITTLE_MEMORY: Final = "not known to have the memory of"
TOO_SMALL: Final = "a small type"
LEAST_VCPU: Final = 4
LEAST_MEMORY_BYTES: Final = 7 * 2**30
"""A node has at least so much, unless the request names types or says how much memory is enough."""

NOT_WANTED: Final = (UNASKED, "excluded", "not known to be", TOO_LITTLE_MEMORY, PREVIOUS, TOO_SMALL)
"""Prefixes of the reasons for types that the request's filters exclude."""

Filter = Callable[[str, str, float], str]
"""Takes a type's name, architecture and bytes of memory, and returns why it is left out, '' if it is not."""


@dataclass(frozen=True)
class _Asked:
    """What a request says of types."""

    instances: tuple[str, ...]
    exclude: tuple[str, ...]
    arch: str | None
    min_memory_bytes: int | None
    previous_generations: bool
    paper: bool
    times_memory: float = 1.0
    """Factor of a what-if on every machine's memory."""

    @classmethod
    def of(cls, request: Request) -> _Asked:
        said = {field.name: getattr(request, field.name) for field in fields(cls)[:-1]}
        return cls(**said, times_memory=request.scale.get("memory", 1.0))


def filters(request: _Asked) -> dict[str, Filter]:
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
        least = f"--set min-memory={format_exact_size(request.min_memory_bytes)}"
        by_option[least] = lambda _, __, memory_bytes: (
            "" if memory_bytes >= (request.min_memory_bytes or 0) else f"{TOO_LITTLE_MEMORY} {least}"
        )
    return by_option


def wanted(request: Request, catalog: Catalog) -> tuple[Flags, list[Rejection]]:
    """Return which types (T,) pass the request's filters, and a rejection for each other."""
    return _wanted(_Asked.of(request), catalog)


@lru_cache(maxsize=64)
def _wanted(request: _Asked, catalog: Catalog) -> tuple[Flags, list[Rejection]]:
    """Return them once: a what-if and a sweep ask for the same types again."""
    types, chosen = _types(catalog, request.times_memory), list(filters(request).values())
    past = _past_their_time(request, catalog)
    small = ~past & _too_small(request, catalog, past)
    passed = ~past & ~small
    as_offered = catalog.instances.offered_row == np.arange(len(passed))
    unasked = [
        _left_out(types[row][0], is_past=bool(past[row])) for row in np.flatnonzero(~passed & as_offered).tolist()
    ]
    for row in np.flatnonzero(passed).tolist() if chosen else ():
        listed, arch, memory_bytes = types[row]
        name, weighting = split_weighting(listed)  # patterns match types as they are offered
        for reason_of in chosen:
            if reason := reason_of(name, arch, memory_bytes):
                passed[row] = False
                unasked += [] if weighting else [Rejection(instance_type=name, reason=reason)]
                break
    return passed, unasked


def _past_their_time(request: _Asked, catalog: Catalog) -> Flags:
    """Return the types (T,) that their cloud counts as a previous generation and that were not named; --paper keeps
    all. If no type is current, as in catalogs of past years, none counts as previous.
    """
    current = catalog.instances.current_generation
    if request.previous_generations or request.instances or request.paper or not current.any():
        return np.zeros(len(current), bool)
    return ~current


def _too_small(request: _Asked, catalog: Catalog, past: Flags) -> Flags:
    """Return the types (T,) with less than a node has unless asked; none where no type that is not `past` has more, as
    in catalogs of small machines, under --paper, and among machines of one's own.
    """
    types = catalog.instances
    small = (types.vcpu < LEAST_VCPU) | (types.memory_bytes * request.times_memory < LEAST_MEMORY_BYTES)
    asked = request.instances or request.min_memory_bytes is not None or request.paper or catalog.is_own
    return np.zeros(len(small), bool) if asked or (small | past).all() else small


def _left_out(name: str, *, is_past: bool) -> Rejection:
    if is_past:
        detail = "its cloud says so; --set previous-generations or --instance takes it in"
        return Rejection(instance_type=name, reason=PREVIOUS, detail=detail)
    least = f"{LEAST_VCPU} vCPUs or {format_exact_size(LEAST_MEMORY_BYTES)}"
    detail = f"below {least}; --instance or --set min-memory takes it in"
    return Rejection(instance_type=name, reason=TOO_SMALL, detail=detail)


def filter_conflicts(request: Request, catalogs: Sequence[Catalog]) -> Iterator[str]:
    """Yield the filter that lets no type through, or the pairs that each let some through but none together."""
    asked = _Asked.of(request)
    types = [facts for catalog in catalogs for facts in _types(catalog, asked.times_memory)]
    chosen = filters(asked)
    passing = {name: {facts for facts in types if not reason_of(*facts)} for name, reason_of in chosen.items()}
    if not chosen or set.intersection(*passing.values()):
        return
    yield from (f"{name} lets no type through" for name, passed in passing.items() if not passed)
    for first, second in combinations([name for name, passed in passing.items() if passed], 2):
        if not passing[first] & passing[second]:
            yield f"{first} and {second} clash: no type passes both"


@lru_cache(maxsize=16)
def _types(catalog: Catalog, times_memory: float) -> list[tuple[str, str, float]]:
    types = catalog.instances
    memory_bytes = types.memory_bytes * times_memory
    return list(zip(types.instance_type.tolist(), types.arch.tolist(), memory_bytes.tolist(), strict=True))


def _any(name: str, patterns: tuple[str, ...]) -> bool:
    return _compiled(patterns).match(name) is not None


@lru_cache(maxsize=64)
def _compiled(patterns: tuple[str, ...]) -> re.Pattern[str]:
    return re.compile("|".join(map(translate, patterns)))


WEAKEST: Final = {"measured": "derived", "spec": "spec", "any": EVIDENCE[-1]}
"""Weakest evidence that each choice lets through. Figures computed from measurements of the same type count as
measured; those computed from other types do not: see `_of_other_types`.
"""


def well_founded(context: JobContext, wanted: str, *, networked: bool) -> tuple[Flags, list[Rejection]]:
    """Return which layouts (R,) use only rates with the `wanted` evidence, and a rejection for each type without one.
    Network rates count only where nodes exchange data (`networked`).
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
    offered, names = context.catalog.instances.offered_row, context.catalog.instances.names
    lost = sorted(row for row in set(type_rows.tolist()) - set(type_rows[passed].tolist()) if offered[row] == row)
    reason = f"rests on weaker evidence than --set evidence={wanted}"
    return passed, [
        Rejection(instance_type=names[row], reason=reason, detail=", ".join(weak[row]), nearness=1.0 + len(weak[row]))
        for row in lost
    ]


def weak_network(context: JobContext, wanted: str) -> Flags:
    """Return the layouts (R,) whose network rests on less than the `wanted` evidence."""
    codes = context.rates.network.evidence[context.layouts.type_row]
    return np.asarray(codes > EVIDENCE.index(WEAKEST[wanted]))


def _rate_evidence(context: JobContext, *, networked: bool) -> Iterator[tuple[str, Codes]]:
    """Yield the rates that a job may wait for and their evidence codes (R,): -1 where a layout does not use one."""
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
