"""The inverse question: how much data a cluster sorts within a deadline, a budget or so many nodes.

For every cluster more data takes longer, costs more and needs more room. So sizes fit up to one, and no larger one
fits: bisection finds it.
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Callable
from dataclasses import replace
from functools import cache
from typing import Final

from planner.errors import BadInputError
from planner.schemas.plan import Candidate, Plan, Request
from planner.units import LARGEST_SIZE_BYTES, format_bytes

_MANTISSAS: Final = range(1000, 10_000)
"""Sizes have four figures, so that what is printed fits: neighbours differ by at most 0.1%."""

_SIZES: Final = range(17 * len(_MANTISSAS))
"""Numbers of all sizes of four figures from 1 kB to below 100 EB."""


def most_data(request: Request, *, plan_of: Callable[[Request], Plan]) -> Plan:
    """Return the plan for the most data, to four figures, that any cluster sorts within what `request` asks.

    The plan's request has that size; `beyond` says what stands against the next. Its best is None where not even the
    least size fits. Raises BadInputError where nothing asked limits the size.
    """
    fixed = replace(request, most_data=False)

    @cache
    def plan_at(number: int) -> Plan:
        return plan_of(replace(fixed, data_bytes=_size(number)))

    first_misfit = bisect_left(_SIZES, True, key=lambda number: plan_at(number).best is None)
    if first_misfit == len(_SIZES):
        most = format_bytes(LARGEST_SIZE_BYTES)
        raise BadInputError(f"--most-data: even {most} fit: give --sort-deadline or --budget to limit the size")
    plan = plan_at(max(0, first_misfit - 1))
    if plan.best is None:
        return plan
    size = format_bytes(_size(first_misfit))
    return replace(plan, beyond=f"{size} would be too much: {_obstacle(plan.best, plan_at(first_misfit))}")


def _size(number: int) -> int:
    """Return the size in bytes of a number of `_SIZES`."""
    power, place = divmod(number, len(_MANTISSAS))
    return _MANTISSAS[place] * int(10**power)


def _obstacle(best: Candidate, beyond: Plan) -> str:
    """Say why the cluster's type cannot do more; where it was not the first to be tried, what clashes."""
    for rejection in beyond.rejected:
        if rejection.instance_type == best.instance_type:
            detail = f" ({rejection.detail})" if rejection.detail else ""
            return f"{rejection.instance_type} {rejection.reason}{detail}"
    return "; ".join(beyond.conflicts) or "no cluster does it within what is asked"
