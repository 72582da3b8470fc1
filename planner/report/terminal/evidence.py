"""What the numbers of a recommended cluster rest on: every fact about it, with evidence, source and date."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from planner.catalog import Fact, facts_on, load_catalog
from planner.catalog.columns import EVIDENCE
from planner.cost_model import run_overheads
from planner.errors import PlannerError
from planner.schemas.plan import Candidate, Plan
from planner.schemas.request_forms import is_plain
from planner.units import format_bytes, format_duration, format_rate


@dataclass(frozen=True, kw_only=True)
class Basis:
    """One number: what it is, its value as text, and what it rests on."""

    what: str
    value: str
    evidence: str
    source: str
    as_of: str


def bases(plan: Plan) -> list[Basis]:
    """Return what the best candidate's numbers rest on: assumptions first, then the catalog, then what surrounds a job.

    Facts about other regions and prices are left out. A catalog that is no longer there is said so, in a row.
    """
    best = plan.best
    if best is None:
        return []
    return [*_assumed(plan), *_facts(plan, best), *(_overheads(best) if best.overheads_s else [])]


def _assumed(plan: Plan) -> Iterator[Basis]:
    for name, amount in plan.request.assume.items():
        value = f"{amount:g}" if is_plain(name) else format_rate(amount)
        yield Basis(what=name, value=value, evidence="assumed", source="--assume", as_of="")
    for name, factor in plan.request.scale.items():
        yield Basis(what=name, value=f"{factor:g} times", evidence="assumed", source="--what-if", as_of="")


def _facts(plan: Plan, best: Candidate) -> Iterator[Basis]:
    for name in plan.request.catalogs:
        try:
            catalog = load_catalog(name)
        except PlannerError as error:
            yield Basis(what=name, value="", evidence="unknown", source=f"catalog not found: {error.message}", as_of="")
            continue
        if catalog.cloud != best.cloud or best.instance_type not in catalog.instances.rows:
            continue
        for fact in facts_on(catalog, best.instance_type):
            if _concerns(fact, best):
                source = catalog.sources[fact.source].title if fact.source in catalog.sources else fact.source
                yield Basis(
                    what=f"{fact.kind}: {fact.field.replace('_', ' ')}",
                    value=_shown(fact.value, fact.unit),
                    evidence=fact.evidence,
                    source=source + (f" ({fact.note})" if fact.note else ""),
                    as_of=str(fact.as_of),
                )


def _concerns(fact: Fact, best: Candidate) -> bool:
    row = fact.row
    return row.get("region", best.region) in ("", best.region) and row.get("pricing", best.pricing) == best.pricing


def _overheads(best: Candidate) -> Iterator[Basis]:
    overheads = run_overheads.shipped()
    boot = {line.name: line.note for line in best.bill}.get("boot", "")
    for name, note in (overheads.notes | ({"boot_s": boot} if boot else {})).items():
        words, _, source = note.partition(": ")
        evidence, _, day = words.partition(" ")
        if evidence not in EVIDENCE:
            evidence, day, source = "mixed", "", note
        seconds = best.overheads_s.get(name.removesuffix("_s"), getattr(overheads, name))
        value = _shown(seconds, "s" if name.endswith("_s") else "")
        what = f"around the job: {name.removesuffix('_s').replace('_', ' ')}"
        yield Basis(what=what, value=value, evidence=evidence, source=source or "ours", as_of=day)


def _shown(value: Any, unit: str) -> str:
    if isinstance(value, dict):
        return ", ".join(f"{name} {amount:g}" for name, amount in value.items())
    if isinstance(value, float) and unit in _FORMATS:
        return _FORMATS[unit](value)
    return f"{value:.6g} {unit}".strip() if isinstance(value, float) else str(value)


_FORMATS = {"bytes": format_bytes, "bytes/s": format_rate, "s": format_duration}
