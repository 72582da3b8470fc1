"""Policy for a plan: limits on money, time and machines, and their breaches."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, fields
from datetime import date
from fnmatch import fnmatchcase
from typing import Any, Final

from planner.errors import BadInputError, nearest
from planner.schemas.plan import Candidate, Plan
from planner.units import count_text, format_duration, format_usd, parse_duration

_EVIDENCE: Final = ("measured", "derived", "spec", "extrapolated", "recalled", "assumed")


@dataclass(frozen=True, kw_only=True)
class Policy:
    """Limits; None and () mean no limit. Money is for the whole run, time from boot to the end, as expected or, with
    `p95`, as 95 of 100 runs keep it. Machines must match one pattern of `instances` and none of `not_instances`.
    """

    max_cost_usd: float | None = None
    deadline_s: float | None = None
    p95: bool = False
    max_nodes: int | None = None
    max_price_age_days: int | None = None
    evidence: str | None = None
    clouds: tuple[str, ...] = ()
    regions: tuple[str, ...] = ()
    pricings: tuple[str, ...] = ()
    instances: tuple[str, ...] = ()
    not_instances: tuple[str, ...] = ()


@dataclass(frozen=True, kw_only=True)
class Breach:
    """A limit that a plan breaks, with both values in words."""

    limit: str
    allowed: str
    found: str

    def __str__(self) -> str:
        return f"{self.limit}: {self.found}, allowed {self.allowed}"


def breaches(plan: Plan, policy: Policy, *, today: date) -> tuple[Breach, ...]:
    """Return the limits that a plan breaks. A cost that lacks a price, or a price without a date, meets no limit."""
    if plan.best is None:
        return (Breach(limit="feasible", allowed="a cluster", found="none"),)
    return (*_of_money_and_time(plan.best, policy), *_of_machines(plan.best, policy, today=today))


def _of_money_and_time(best: Candidate, policy: Policy) -> Iterator[Breach]:
    cost_usd = best.cost_usd.total_p95 if policy.p95 else best.cost_usd.total
    run_s = sum(best.overheads_s.values()) + (best.time_s.p95 if policy.p95 else best.time_s.expected)
    if policy.max_cost_usd is not None and (cost_usd > policy.max_cost_usd or best.cost_usd.at_least):
        found = f"{'at least ' if best.cost_usd.at_least else ''}{format_usd(cost_usd)}"
        yield Breach(limit="max_cost", allowed=format_usd(policy.max_cost_usd), found=found)
    if policy.deadline_s is not None and run_s > policy.deadline_s:
        yield Breach(limit="deadline", allowed=format_duration(policy.deadline_s), found=format_duration(run_s))


def _of_machines(best: Candidate, policy: Policy, *, today: date) -> Iterator[Breach]:
    if policy.max_nodes is not None and best.nodes + best.spares > policy.max_nodes:
        yield Breach(limit="max_nodes", allowed=str(policy.max_nodes), found=str(best.nodes + best.spares))
    if policy.max_price_age_days is not None:
        age = (today - date.fromisoformat(best.price_as_of)).days if best.price_as_of else None
        if age is None or age > policy.max_price_age_days:
            found = "a price without a date" if age is None else count_text(age, "day")
            yield Breach(limit="max_price_age_days", allowed=str(policy.max_price_age_days), found=found)
    if policy.evidence and _EVIDENCE.index(best.evidence) > _EVIDENCE.index(policy.evidence):
        yield Breach(limit="evidence", allowed=policy.evidence, found=best.evidence)
    named = {"clouds": best.cloud, "regions": best.region, "pricings": best.pricing}
    for limit, found in named.items():
        if (allowed := getattr(policy, limit)) and found not in allowed:
            yield Breach(limit=limit, allowed=", ".join(allowed), found=found)
    if policy.instances and not _fits(best.instance_type, policy.instances):
        yield Breach(limit="instances", allowed=", ".join(policy.instances), found=best.instance_type)
    if _fits(best.instance_type, policy.not_instances):
        yield Breach(
            limit="not_instances", allowed=f"none of {', '.join(policy.not_instances)}", found=best.instance_type
        )


def _fits(name: str, patterns: tuple[str, ...]) -> bool:
    return any(fnmatchcase(name, pattern) for pattern in patterns)


_WRITTEN: Final[dict[str, tuple[str, str, Callable[[Any], Any]]]] = {
    "max_cost": ("max_cost_usd", "an amount in US dollars", lambda value: _number(value, float)),
    "deadline": ("deadline_s", "a duration such as '1h'", lambda value: parse_duration(_text(value))),
    "p95": ("p95", "true or false", lambda value: _of_kind(value, bool)),
    "max_nodes": ("max_nodes", "a number", lambda value: _number(value, int)),
    "max_price_age_days": ("max_price_age_days", "a number of days", lambda value: _number(value, int)),
    "evidence": ("evidence", f"one of {', '.join(_EVIDENCE)}", lambda value: _EVIDENCE[_EVIDENCE.index(value)]),
    **{
        name: (name, "a list of texts", lambda value: tuple(map(_text, _of_kind(value, list))))
        for name in ("clouds", "regions", "pricings", "instances", "not_instances")
    },
}
"""Form of each limit in a file: its field, the expected value, and its parser."""


def policy_of(table: dict[str, Any], *, source: str) -> Policy:
    """Return the policy in a file's values. Raises BadInputError naming each key that is unknown or wrong."""
    found: dict[str, Any] = {}
    wrong: list[str] = []
    for key, value in table.items():
        if key not in _WRITTEN:
            wrong.append(f"{key}: there is no such limit.{nearest(key, tuple(_WRITTEN))}")
            continue
        name, kind, read = _WRITTEN[key]
        try:
            found[name] = read(value)
        except (BadInputError, ValueError, TypeError):
            wrong.append(f"{key} = {value!r}: has to be {kind}")
    if wrong:
        raise BadInputError(f"{source} is no policy", [*wrong, f"limits are {', '.join(_WRITTEN)}"])
    return Policy(**found)


def with_limits(policy: Policy, **limits: object) -> Policy:
    """Return a policy with the given limits replacing its own."""
    own = {f.name: getattr(policy, f.name) for f in fields(Policy)}
    return Policy(**own | {name: value for name, value in limits.items() if value not in (None, False)})


def _text(value: object) -> str:
    if not isinstance(value, str):
        raise TypeError
    return value


def _of_kind(value: Any, kind: type) -> Any:
    if not isinstance(value, kind):
        raise TypeError
    return value


def _number(value: Any, kind: type[int] | type[float]) -> Any:
    if isinstance(value, bool) or not isinstance(value, int if kind is int else (int, float)) or value < 0:
        raise TypeError
    return kind(value)
