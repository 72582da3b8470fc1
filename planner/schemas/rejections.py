"""Types that a plan leaves out: listed singly in Python, by reason in JSON and on screen."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

from planner.schemas.json_values import Stored

EXAMPLES: Final = 3
"""Number of types named for each reason."""


@dataclass(frozen=True, kw_only=True)
class Rejection:
    """A type that is not among the candidates, and why. `nearness` orders them: the distance from the limit (1 is on
    it), if known.
    """

    instance_type: str
    reason: str
    detail: str = ""
    nearness: float | None = None


@dataclass(frozen=True, kw_only=True)
class LeftOutAlike:
    """Types that a plan leaves out for one reason with the same `detail` and `nearness` (see Rejection)."""

    detail: str
    nearness: float | None
    instance_types: tuple[str, ...]


@dataclass(frozen=True, kw_only=True)
class LeftOut:
    """Types that a plan leaves out for one `reason`: how many, some of them (the nearest first), and all by detail."""

    reason: str
    types: int
    examples: tuple[str, ...]
    which: tuple[LeftOutAlike, ...]


def by_reason(rejected: Sequence[Rejection]) -> tuple[LeftOut, ...]:
    """Return the rejected types grouped by reason, in alphabetical order; within a group, the nearest first."""
    groups: dict[str, list[Rejection]] = {}
    for rejection in rejected:
        groups.setdefault(rejection.reason, []).append(rejection)
    return tuple(_group(reason, groups[reason]) for reason in sorted(groups))


def _group(reason: str, rejected: Sequence[Rejection]) -> LeftOut:
    alike: dict[tuple[float, str, float | None], list[str]] = {}
    for rejection in rejected:
        order = math.inf if rejection.nearness is None else rejection.nearness
        alike.setdefault((order, rejection.detail, rejection.nearness), []).append(rejection.instance_type)
    which = tuple(
        LeftOutAlike(detail=detail, nearness=nearness, instance_types=tuple(sorted(names)))
        for (_, detail, nearness), names in sorted(alike.items(), key=lambda item: item[0][:2])
    )
    nearest = [name for group in which for name in group.instance_types][:EXAMPLES]
    return LeftOut(reason=reason, types=len(rejected), examples=tuple(nearest), which=which)


def one_by_one(groups: Sequence[LeftOut]) -> tuple[Rejection, ...]:
    """Return the types of groups, each with its reason."""
    return tuple(
        Rejection(instance_type=name, reason=group.reason, detail=alike.detail, nearness=alike.nearness)
        for group in groups
        for alike in group.which
        for name in alike.instance_types
    )


def types_text(group: LeftOut) -> str:
    """Return how many types a group has, and their names or some of them: `5 types, such as a, b, c`."""
    if group.types <= EXAMPLES:
        return ", ".join(group.examples)
    return f"{group.types:,} types, such as {', '.join(group.examples)}"


STORED_BY_REASON: Final = Stored(annotation=tuple[LeftOut, ...], store=by_reason, restore=one_by_one)
