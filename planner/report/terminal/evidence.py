"""Facts with evidence, source and date: those behind a recommended cluster, and all of a catalog on one type."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import groupby
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
    """One number: its name, its value as text, and its evidence."""

    what: str
    value: str
    evidence: str
    source: str
    as_of: str


def bases(plan: Plan) -> list[Basis]:
    """Return the evidence for the best candidate's numbers: assumptions first, then the catalog, then the job's
    overheads.

    Facts about other regions and prices are left out. A missing catalog is reported in a row.
    """
    best = plan.best
    if best is None:
        return []
    return [*_assumption_bases(plan), *_facts(plan, best), *(_overheads(best) if best.overheads_s else [])]


def _assumption_bases(plan: Plan) -> Iterator[Basis]:
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
        for fact in facts_on(catalog, best.instance_type, region=best.region):
            if _concerns(fact, best):
                source = catalog.sources[fact.source].title if fact.source in catalog.sources else fact.source
                yield Basis(
                    what=f"{fact.kind}: {fact.field.replace('_', ' ')}",
                    value=_value_text(fact.value, fact.unit),
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
        value = _value_text(seconds, "s" if name.endswith("_s") else "")
        what = f"around the job: {name.removesuffix('_s').replace('_', ' ')}"
        yield Basis(what=what, value=value, evidence=evidence, source=source or "ours", as_of=day)


def _value_text(value: Any, unit: str) -> str:
    if isinstance(value, dict):
        return ", ".join(f"{name} {amount:g}" for name, amount in value.items())
    if isinstance(value, float) and unit in _FORMATS:
        return _FORMATS[unit](value)
    return f"{value:.6g} {unit}".strip() if isinstance(value, float) else str(value)


_FORMATS = {"bytes": format_bytes, "bytes/s": format_rate, "s": format_duration}


_UNITS = {"bytes": format_bytes, "bytes/s": format_rate}


def render_facts(instance_type: str, facts: Sequence[dict[str, Any]]) -> Iterator[Any]:
    """Yield the output for facts in the form of `planner catalog show TYPE --json`, grouped by catalog."""
    sources = list(dict.fromkeys(fact["source"] for fact in facts))
    for catalog, its in groupby(facts, key=lambda fact: fact["catalog"]):
        yield _facts_table(f"{instance_type} in {catalog}", list(its), sources)
    yield "\n".join(f"[{number}] {source}" for number, source in enumerate(sources, start=1))


def _facts_table(title: str, facts: Sequence[dict[str, Any]], sources: list[str]) -> Any:
    from rich.markup import escape
    from rich.table import Table

    table = Table(title=title, title_justify="left", title_style="bold", box=None, pad_edge=False)
    for column in ("file", "what", "value", "evidence", "truth", "as of", "source", "note"):
        table.add_column(column, overflow="fold", justify="right" if column == "value" else "left")
    before = None
    for fact in facts:
        group, before = ("" if fact["kind"] == before else fact["kind"]), fact["kind"]
        score = "" if fact["cloud_truth"] is None else str(fact["cloud_truth"])
        cells = (_name(fact), _fact_value(fact), fact["evidence"], score, fact["as_of"])
        table.add_row(group, *map(escape, cells), f"[{sources.index(fact['source']) + 1}]", escape(fact["note"]))
    table.add_section()
    return table


def _name(fact: dict[str, Any]) -> str:
    """Return the field in words, without the value's unit."""
    field: str = fact["field"]
    name, space, where = field.partition(" ")
    for ending in ("_bytes_per_s", "_bytes", "_usd_per_hour"):
        name = name.removesuffix(ending) if fact["unit"] else name
    return ("rate" if name == "bytes_per_s" else name.replace("_", " ")) + space + where.replace("_", " ")


def _fact_value(fact: dict[str, Any]) -> str:
    value, unit = fact["value"], fact["unit"]
    if value is None:
        return "unknown"
    if isinstance(value, bool):
        return "yes" if value else "no"
    if unit in _UNITS and isinstance(value, int | float):
        return _UNITS[unit](value)
    shown = f"{value:.6g}" if isinstance(value, float) else str(value)
    return f"{shown} {unit}".strip()
