"""The inverse question: how much data a cluster can sort within a deadline, a budget or a number of nodes.

For every cluster, more data takes longer, costs more and needs more room. So there is a largest size that fits, found
by bisection. A look at some cluster sizes only gives the starting point.
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Callable
from dataclasses import replace
from functools import cache
from typing import Final

import numpy as np

from planner.arrays import Floats
from planner.errors import BadInputError
from planner.schemas.plan import Candidate, Plan, Request
from planner.units import LARGEST_SIZE_BYTES, format_bytes

_MANTISSAS: Final = range(1000, 10_000)
"""Sizes have four figures, so the printed size fits: neighbours differ by at most 0.1%."""

_SIZES: Final = range(17 * len(_MANTISSAS))
"""Numbers of all sizes of four figures from 1 kB to below 100 EB."""

_LOOKS: Final = 400
"""Cluster sizes of the first look, with repeats of the smallest."""

_NEAR: Final = 1.15
"""Factor by which cluster sizes may differ to count as near."""


def most_data(
    request: Request,
    *,
    plan_of: Callable[[Request], Plan],
    quick_plan: Callable[[Request, Floats], Plan] | None = None,
    in_full: Callable[[Request], Plan] | None = None,
) -> Plan:
    """Return the plan for the most data, to four figures, that any cluster sorts within what `request` asks.

    The plan's request has that size; `beyond` gives what prevents the next one. Its best is None if not even the least
    size fits. `quick_plan` plans only clusters of some numbers of nodes, which changes the time but not the answer;
    `in_full` plans the result, if `plan_of` leaves out why something is not feasible. Raises BadInputError if no
    constraint limits the size.
    """
    if "data" in request.scale:
        raise BadInputError(
            "--most-data and --what-if data=... contradict each other: both say how much; give one",
            code="contradiction",
        )
    fixed = replace(request, most_data=False)

    @cache
    def plan_at(number: int) -> Plan:
        return plan_of(replace(fixed, data_bytes=_size(number)))

    def shown(number: int) -> Plan:
        return plan_at(number) if in_full is None else in_full(replace(fixed, data_bytes=_size(number)))

    def misfit(number: int) -> bool:
        return plan_at(number).best is None

    begin = 0 if quick_plan is None or request.nodes else _first_unseen(fixed, quick_plan)
    all_fit_before = begin == 0 or not misfit(begin - 1)
    first_misfit = _first_misfit(misfit, begin=begin) if quick_plan and all_fit_before else _bisected(misfit)
    if first_misfit == len(_SIZES):
        most = format_bytes(LARGEST_SIZE_BYTES)
        raise BadInputError(
            f"--most-data: even {most} fit: give --sort-deadline or --budget to limit the size", code="no-limit"
        )
    plan = shown(max(0, first_misfit - 1))
    if plan.best is None:
        return plan
    size = format_bytes(_size(first_misfit))
    return replace(plan, beyond=f"{size} would be too much: {_obstacle(plan.best, shown(first_misfit))}")


def _first_unseen(request: Request, quick_plan: Callable[[Request, Floats], Plan]) -> int:
    """Return the number of the first size not seen to fit: on some clusters from the least to the largest, then on
    those about as large as the best of them.
    """

    def seen(number: int, sizes: Floats) -> Plan:
        return quick_plan(replace(request, data_bytes=_size(number)), sizes)

    some = np.unique(np.geomspace(1, request.max_nodes, _LOOKS).round())
    end = _bisected(lambda number: seen(number, some).best is None)
    best = seen(end - 1, some).best if end else None
    if best is None:
        return 0
    near = np.arange(max(1, best.nodes // _NEAR), min(request.max_nodes, best.nodes * _NEAR) + 1) // 1
    return _first_misfit(lambda number: seen(number, near).best is None, begin=end)


def _bisected(misfit: Callable[[int], bool], low: int = 0, high: int = len(_SIZES)) -> int:
    """Return the number of the first size from `low` to below `high` that does not fit; `high` if all do."""
    return bisect_left(_SIZES, True, low, high, key=misfit)


def _first_misfit(misfit: Callable[[int], bool], *, begin: int) -> int:
    """Return the number of the first size at or after `begin` that does not fit, in few steps where it is near."""
    low, step = begin, 1
    while low + step < len(_SIZES) and not misfit(low + step - 1):
        low, step = low + step, 2 * step
    return _bisected(misfit, low, min(low + step, len(_SIZES)))


def _size(number: int) -> int:
    """Return the size in bytes of a number of `_SIZES`."""
    power, place = divmod(number, len(_MANTISSAS))
    return _MANTISSAS[place] * int(10**power)


def _obstacle(best: Candidate, beyond: Plan) -> str:
    """Return why the cluster's type cannot do more; if it was not the first tried, what clashes."""
    for rejection in beyond.rejected:
        if rejection.instance_type == best.instance_type:
            detail = f" ({rejection.detail})" if rejection.detail else ""
            return f"{rejection.instance_type} {rejection.reason}{detail}"
    return " ".join(beyond.conflicts) or "no cluster does it within what is asked"
