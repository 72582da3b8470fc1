"""Why nothing is feasible: what clashes, and the types that come nearest, with figures that are worked out."""

from __future__ import annotations

import heapq
from collections.abc import Iterator, Sequence
from dataclasses import replace
from itertools import combinations
from typing import Final

from planner.errors import InfeasibleError
from planner.planning.candidates.feasibility import TOO_FEW
from planner.planning.catalog_questions.next_measurement import RENTED
from planner.planning.ranking.nearest import ConstrainedTypes, Nearest, least
from planner.planning.request.filters import NOT_WANTED, PREVIOUS, UNASKED
from planner.schemas.plan import Plan, Rejection

SHOWN: Final = 5
"""How many types are worked out and shown, the nearest of all."""
_NAMED: Final = 3
"""So few types are named in the first line instead of counted."""


def refusal_of(plan: Plan) -> InfeasibleError:
    """Return why nothing is feasible: what clashes, and the nearest rejections."""
    near: dict[str, Rejection] = {}
    for rejection in sorted((r for r in plan.rejected if r.nearness is not None), key=order):
        near.setdefault(rejection.instance_type, rejection)
    wanted = [r for r in plan.rejected if not r.reason.startswith(NOT_WANTED)] or plan.rejected
    shown = (list(near.values()) or sorted(wanted, key=lacking))[:SHOWN]
    names: dict[str, list[str]] = {}
    for rejection in shown:
        why = rejection.reason + (f" ({rejection.detail})" if rejection.detail else "")
        names.setdefault(why, []).append(rejection.instance_type)
    lines = [f"{', '.join(types)}: {why}" for why, types in names.items()]
    types = sorted({rejection.instance_type for rejection in wanted})
    of = f"with {', '.join(types)}" if len(types) <= _NAMED else f"among {len(types)} types"
    return InfeasibleError(f"nothing feasible {of}", [*plan.conflicts, *lines])


def lacking(rejection: Rejection) -> tuple[bool, int]:
    """Order rejections that have no distance: first the types that were asked for, each by how many facts it lacks."""
    also = rejection.detail.partition("also ")[2]
    return rejection.reason.startswith((UNASKED, PREVIOUS)), len(also.split(", ")) if also else 0


def conflicts(asked: Sequence[ConstrainedTypes]) -> Iterator[str]:
    """Name what clashes when no cluster keeps to all that is asked of every grid: what no cluster can meet, with the
    cluster that comes nearest, or pairs that can each be met and not together.
    """
    limits = {name: constraint.limit for group in asked[:1] for name, constraint in group.by_name.items()}
    nearest = {name: least(asked, name, enough=limit) for name, limit in limits.items()}
    unmet = {name: at for name, at in nearest.items() if at is not None and at.amount > limits[name]}
    yield from (_unmet(name, at) for name, at in unmet.items())
    clash = bool(unmet)
    for first, second in combinations([name for name in limits if nearest[name] and name not in unmet], 2):
        dear = least(asked, second, within=(first,), enough=limits[second])
        if dear is None or dear.amount > limits[second]:
            clash = True
            late = least(asked, first, within=(second,))
            yield f"the {first} and the {second} clash: {_trade(first, second, dear)}; {_trade(second, first, late)}"
    if not clash and len(limits) > 2 and all(nearest.values()):
        yield f"{', '.join(f'the {name}' for name in limits)}: any two can be kept together, not all"


def _unmet(name: str, at: Nearest) -> str:
    """Say that no cluster keeps to a constraint, and what the nearest one does."""
    whole = " (of the whole run; --sort-deadline is for the sort without boot and checks)" if name == "deadline" else ""
    constraint = at.asked.by_name[name]
    if name == "evidence":
        nodes, _, instance_type = at.name.partition(" x ")
        where = f"--cloud {at.asked.catalog} --instance {instance_type.partition('+')[0]} --nodes {nodes}"
        measure = f"planner bench fleet {where} measures it; " if at.asked.catalog in RENTED else ""
        advice = f"{measure}one node needs none (--model indy); --evidence spec takes what is stated"
        return f"no cluster meets the evidence alone: the nearest, {at.name}, {constraint.show(at.amount)}: {advice}"
    option = f"; {constraint.option(at.amount)} has it" if constraint.option(at.amount) else ""
    return f"no cluster meets the {name} alone: the nearest, {at.name}, {constraint.show(at.amount)}{whole}{option}"


def _trade(met: str, broken: str, at: Nearest | None) -> str:
    """Say what meeting one of two asks of the other."""
    if at is None:
        return f"no cluster that was worked out meets the {met}"
    shown = at.asked.by_name[broken].show(at.amount)
    if broken == "evidence":
        return f"what meets the {met} has {shown}"
    return f"what meets the {met} {shown} at least, {at.name}"


def nearest_types(asked: Sequence[ConstrainedTypes], rejected: Sequence[Rejection]) -> list[Rejection]:
    """Return the rejections of the types that come nearest, at least `SHOWN` of those that can do the job, one of a
    type, worked out where they miss what was asked.
    """
    heap = [(order(rejection), place, rejection, False) for place, rejection in enumerate(rejected)]
    heap = [item for item in heap if item[2].nearness is not None]
    heapq.heapify(heap)
    exact_rejections: dict[str, Rejection] = {}
    shown = 0
    while heap and shown < SHOWN:
        _, place, rejection, exact = heapq.heappop(heap)
        name = rejection.instance_type
        if exact:
            shown += 1
        elif name not in exact_rejections:
            exact_rejections[name] = _exact_rejection(asked, name) or rejection
            heapq.heappush(heap, (order(exact_rejections[name]), place, exact_rejections[name], True))
    return list(exact_rejections.values())


def order(rejection: Rejection) -> tuple[bool, float]:
    """Order rejections: first the types that can do the job and miss what was asked of it, each by how much."""
    return rejection.reason.startswith(TOO_FEW), rejection.nearness or 0.0


def _exact_rejection(asked: Sequence[ConstrainedTypes], name: str) -> Rejection | None:
    """Return why a type misses what is asked, worked out, where it comes nearest; None where it holds no data."""
    alone = [replace(group, types={name: group.types[name]}) for group in asked if name in group.types]
    return min((_missed(name, group) for group in alone), key=lambda missed: missed.nearness or 0.0, default=None)


def _missed(name: str, group: ConstrainedTypes) -> Rejection:
    """Return the rejection of the only type of a group, by the first constraint that none of its clusters meets."""
    amounts: list[str] = []
    for constraint in group.constraints:
        at = least([group], constraint.name)
        if at is None:
            continue
        shown = constraint.show(at.amount) + (f" on {at.size}" if constraint.name != "evidence" else "")
        if at.amount > constraint.limit:
            return Rejection(
                instance_type=name,
                reason=constraint.reason,
                detail=f"{shown}{constraint.excess(at.amount)}",
                nearness=at.amount / constraint.limit,
            )
        amounts += [shown] * (constraint.name != "evidence")
    together = " and ".join(f"the {constraint.name}" for constraint in group.constraints)
    return Rejection(instance_type=name, reason=f"meets {together} only apart", detail=", ".join(amounts), nearness=1.0)
