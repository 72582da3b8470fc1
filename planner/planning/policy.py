"""Policy for a plan: limits on money, time and machines, and their breaches."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, fields
from datetime import date
from fnmatch import fnmatchcase
from typing import Any

from planner.catalog.columns import EVIDENCE, Evidence
from planner.errors import BadInputError, bad_input
from planner.schemas.door import Offset, Usd
from planner.schemas.json_values import Reader
from planner.schemas.plan import Candidate, Plan
from planner.units import count_text, format_duration, format_usd, parse_duration


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
    run_s = best.late_run_s if policy.p95 else best.whole_run_s
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
    if policy.evidence and EVIDENCE.index(best.evidence) > EVIDENCE.index(policy.evidence):
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


@dataclass(frozen=True, kw_only=True)
class _File:
    max_cost: Usd | None = None
    deadline: str | None = None
    p95: bool = False
    max_nodes: Offset | None = None
    max_price_age_days: Offset | None = None
    evidence: Evidence | None = None
    clouds: tuple[str, ...] = ()
    regions: tuple[str, ...] = ()
    pricings: tuple[str, ...] = ()
    instances: tuple[str, ...] = ()
    not_instances: tuple[str, ...] = ()


_LISTS = ("clouds", "regions", "pricings", "instances", "not_instances")


def policy_of(table: dict[str, Any], *, source: str) -> Policy:
    """Return the policy in a file's values; keys may have hyphens, and a list of one may be its text.

    Raises BadInputError naming each key that is unknown or wrong.
    """
    reader, deadline_s = Reader(is_strict=True), None
    table = {name.replace("-", "_"): value for name, value in table.items()}
    table |= {name: [value] for name in _LISTS if isinstance(value := table.get(name), str)}
    file: _File | None = reader.read(_File, table)
    if isinstance(text := table.get("deadline"), str):
        try:
            deadline_s = parse_duration(text)
        except BadInputError as error:
            reader.note("deadline", "wrong-type", error.message)
    if file is None or reader.findings:
        raise bad_input(f"{source} is no policy", reader.findings)
    stated = vars(file).copy()
    del stated["deadline"]
    return Policy(max_cost_usd=stated.pop("max_cost"), deadline_s=deadline_s, **stated)


def with_limits(policy: Policy, **limits: object) -> Policy:
    """Return a policy with the given limits replacing its own."""
    own = {f.name: getattr(policy, f.name) for f in fields(Policy)}
    return Policy(**own | {name: value for name, value in limits.items() if value not in (None, False)})
