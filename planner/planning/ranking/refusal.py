"""Reasons why nothing is feasible: what clashes, and the nearest types, with figures computed exactly."""

from __future__ import annotations

import heapq
from collections.abc import Iterator, Sequence
from dataclasses import replace
from itertools import combinations
from typing import Final

from planner.errors import InfeasibleError
from planner.planning.candidates.feasibility import TOO_FEW, limited_by_machines, nodes_needed
from planner.planning.catalog_questions.next_measurement import RENTED
from planner.planning.ranking.nearest import ConstrainedTypes, Nearest, least
from planner.planning.request.constraints import Constraint
from planner.planning.request.filters import NOT_WANTED, PREVIOUS, UNASKED
from planner.schemas.plan import Plan, Rejection

SHOWN: Final = 5
"""Number of types computed and shown, the nearest first."""
_NAMED: Final = 3
"""Up to this many types are named in the first line; more are counted."""

_BEST: Final = {"deadline": "fastest", "sort's deadline": "fastest", "budget": "cheapest"}
"""Word for the cluster nearest to each limit."""


def refusal_of(plan: Plan) -> InfeasibleError:
    """Return the error for a plan without a feasible cluster: what clashes, and the nearest rejections."""
    near: dict[str, Rejection] = {}
    for rejection in sorted((r for r in plan.rejected if r.nearness is not None), key=order):
        near.setdefault(rejection.instance_type, rejection)
    wanted = [r for r in plan.rejected if not r.reason.startswith(NOT_WANTED)] or plan.rejected
    shown = (list(near.values()) or sorted(wanted, key=by_missing_facts))[:SHOWN]
    names: dict[str, list[str]] = {}
    for rejection in shown:
        why = rejection.reason + (f" ({rejection.detail})" if rejection.detail else "")
        names.setdefault(why, []).append(rejection.instance_type)
    lines = [f"{', '.join(types)}: {why}" for why, types in names.items()]
    types = sorted({rejection.instance_type for rejection in wanted})
    of = f"with {', '.join(types)}" if len(types) <= _NAMED else f"among {len(types)} types"
    return InfeasibleError(
        f"nothing feasible {of}", [*(plan.conflicts or _more_nodes(plan, shown)), *lines], code="infeasible"
    )


def _more_nodes(plan: Plan, nearest: Sequence[Rejection]) -> Iterator[str]:
    """Yield the option that allows as many nodes as the nearest type needs, if these are too few."""
    for rejection in nearest[:1]:
        if nodes := nodes_needed(rejection, plan.request):
            yield f"Try {'--max-nodes' if limited_by_machines(rejection) else '--nodes'} {nodes}."


def by_missing_facts(rejection: Rejection) -> tuple[bool, int]:
    """Return the sort key of rejections without a distance: requested types first, by how many facts each lacks."""
    also = rejection.detail.partition("also ")[2]
    return rejection.reason.startswith((UNASKED, PREVIOUS)), len(also.split(", ")) if also else 0


def conflicts(groups: Sequence[ConstrainedTypes]) -> Iterator[str]:
    """Yield what clashes when no cluster of any grid meets all its constraints: a constraint that no cluster can meet,
    with the nearest cluster, or pairs that can each be met but not together.
    """
    of_all = {name: constraint for group in groups[::-1] for name, constraint in group.by_name.items()}
    limits = {name: constraint.limit for name, constraint in of_all.items()}
    nearest = {name: least(groups, name, enough=limit) for name, limit in limits.items()}
    unmet = {name: at for name, at in nearest.items() if at is not None and at.amount > limits[name]}
    there = {
        name: least(groups, name, within=("capacity",)) for name in unmet if "capacity" in limits and name != "capacity"
    }
    for name, at in unmet.items():
        held = there.get(name) or at  # of machines that are there, if that says anything
        yield _unmet(held.asked.by_name[name], held)
    clash = bool(unmet)
    for first, second in combinations([name for name in limits if nearest[name] and name not in unmet], 2):
        free = [group for group in groups if second not in group.by_name]  # of a model without that limit
        alone = least(free, first, enough=limits[first])
        dear = least(groups, second, within=(first,), enough=limits[second])
        if (dear is None or dear.amount > limits[second]) and (alone is None or alone.amount > limits[first]):
            clash = True
            late = least(groups, first, within=(second,))
            both = f"{of_all[first].asked} and {of_all[second].asked}"
            trades = _trade(of_all[first], second, dear), _trade(of_all[second], first, late)
            yield " ".join([f"No cluster meets {both} together.", *trades])
    if not clash and len(limits) > 2 and all(nearest.values()):
        yield f"No cluster meets all of {', '.join(of.asked for of in of_all.values())}, though some meet any two."


def _unmet(constraint: Constraint, at: Nearest) -> str:
    """Return a sentence that no cluster meets a constraint, with the nearest one's figure."""
    shown, option = constraint.show(at.amount), constraint.option(at.amount)
    if constraint.name == "evidence":
        nodes, _, instance_type = at.name.partition(" x ")
        where = f"--cloud {at.asked.catalog} --instance {instance_type.partition('+')[0]} --nodes {nodes}"
        measure = f"`planner bench fleet {where}` measures it. " if at.asked.catalog in RENTED else ""
        advice = f"{measure}One node needs no network (--model indy); --set evidence=spec takes what is stated."
        return f"No cluster meets the evidence. The nearest is {at.name}: {shown}. {advice}"
    best = f"The {_best(constraint.name)} {shown} ({at.name})."
    if constraint.name == "capacity":
        more = f"more machines: --set capacity={at.name.partition(' x ')[2]}=NUMBER"
        return f"No cluster meets the capacity. {best} Try less data, as `planner most-data` says, or {more}."
    alone = " --sort-deadline limits the sort alone." if constraint.name == "deadline" else ""
    return f"No cluster meets {constraint.asked}. {best}{option and f' Try {option}.'}{alone}"


def _trade(met: Constraint, broken: str, at: Nearest | None) -> str:
    """Return what meeting one of two constraints requires of the other."""
    if at is None:
        return f"No cluster that was tried meets {met.asked}."
    shown = at.asked.by_name[broken].show(at.amount)
    if broken == "evidence":
        return f"What meets {met.asked} has {shown}."
    return f"The {_best(broken)} that meets {met.asked} {shown} ({at.name})."


def _best(name: str) -> str:
    return _BEST.get(name, "nearest")


def nearest_types(groups: Sequence[ConstrainedTypes], rejected: Sequence[Rejection]) -> list[Rejection]:
    """Return the rejections of the nearest types, at least `SHOWN` that can do the job, one per type, computed exactly
    where they miss a constraint.
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
            exact_rejections[name] = _exact_rejection(groups, name) or rejection
            heapq.heappush(heap, (order(exact_rejections[name]), place, exact_rejections[name], True))
    return list(exact_rejections.values())


def order(rejection: Rejection) -> tuple[bool, float]:
    """Return the sort key of rejections: first the types that can do the job but miss a constraint, by how much."""
    return rejection.reason.startswith(TOO_FEW), rejection.nearness or 0.0


def _exact_rejection(groups: Sequence[ConstrainedTypes], name: str) -> Rejection | None:
    """Return the exact rejection of a type at its nearest; None if it cannot hold the data."""
    alone = [replace(group, types={name: group.types[name]}) for group in groups if name in group.types]
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
    apart = f"meets {together}, but not together"
    return Rejection(instance_type=name, reason=apart, detail=", ".join(amounts), nearness=1.0)
