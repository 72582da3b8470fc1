"""Facts with evidence, source and date: those behind a recommended cluster, and all of a catalog on one type."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import groupby
from typing import Any

from planner.catalog import facts_on, load_catalog
from planner.catalog.columns import EVIDENCE
from planner.cost_model import run_overheads
from planner.errors import PlannerError
from planner.report.section import Section, unrepeated
from planner.schemas.plan import Candidate, Plan
from planner.schemas.request_forms import is_plain
from planner.units import format_bytes, format_duration, format_rate

_Basis = tuple[str, str, str, str, str]
"""One number: its name, its value as text, its evidence, source and date."""


def evidence_section(plan: Plan, best: Candidate) -> Section:
    """Return the evidence for a candidate's numbers: assumptions first, then the catalog, then the job's overheads.

    Facts about other regions and prices are left out. A missing catalog is reported in a row.
    """
    rows = [*_assumptions(plan), *_facts(plan, best), *(_overheads(best) if best.overheads_s else [])]
    return Section(title="Evidence", columns=("number", "value", "evidence", "source", "as of"), rows=rows)


def _assumptions(plan: Plan) -> Iterator[_Basis]:
    for name, amount in plan.request.assume.items():
        value = f"{amount:g}" if is_plain(name) else format_rate(amount)
        yield name, value, "assumed", "--assume", ""
    for name, factor in plan.request.scale.items():
        yield name, f"{factor:g} times", "assumed", "--what-if", ""


def _facts(plan: Plan, best: Candidate) -> Iterator[_Basis]:
    for name in plan.request.catalogs:
        try:
            catalog = load_catalog(name)
        except PlannerError as error:
            yield name, "", "unknown", f"catalog not found: {error.message}", ""
            continue
        if catalog.cloud != best.cloud or best.instance_type not in catalog.instances.rows:
            continue
        for fact in facts_on(catalog, best.instance_type, region=best.region):
            row = fact.row
            if row.get("region", best.region) in ("", best.region) and row.get("pricing", best.pricing) == best.pricing:
                source = catalog.sources[fact.source].title if fact.source in catalog.sources else fact.source
                source += f" ({fact.note})" if fact.note else ""
                value = _value_text(fact.value, fact.unit)
                yield f"{fact.kind}: {fact.field.replace('_', ' ')}", value, fact.evidence, source, str(fact.as_of)


def _overheads(best: Candidate) -> Iterator[_Basis]:
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
        yield what, value, evidence, source or "ours", day


def _value_text(value: Any, unit: str) -> str:
    if isinstance(value, dict):
        return ", ".join(f"{name} {amount:g}" for name, amount in value.items())
    if value is None or isinstance(value, bool):
        return {None: "unknown", True: "yes", False: "no"}[value]
    if unit in _FORMATS and isinstance(value, int | float):
        return _FORMATS[unit](value)
    return f"{value:.6g} {unit}".strip() if isinstance(value, float) else f"{value} {unit}".strip()


_FORMATS = {"bytes": format_bytes, "bytes/s": format_rate, "s": format_duration}


def render_facts(instance_type: str, facts: Sequence[dict[str, Any]]) -> Iterator[Section | str]:
    """Yield the output for facts in the form of `planner catalog show TYPE --json`, grouped by catalog."""
    from rich.markup import escape

    sources = list(dict.fromkeys(fact["source"] for fact in facts))
    columns = ("file", "what", "value", "evidence", "truth", "as of", "source", "note")
    for catalog, its in groupby(facts, key=lambda fact: fact["catalog"]):
        rows = unrepeated(
            [
                (
                    fact["kind"],
                    escape(_name(fact)),
                    escape(_value_text(fact["value"], fact["unit"])),
                    escape(fact["evidence"]),
                    "" if fact["cloud_truth"] is None else str(fact["cloud_truth"]),
                    fact["as_of"],
                    f"[{sources.index(fact['source']) + 1}]",
                    escape(fact["note"]),
                )
                for fact in its
            ]
        )
        yield Section(title=f"{instance_type} in {catalog}", columns=columns, rows=rows, numbers=(2,))
    yield "\n".join(f"[{number}] {source}" for number, source in enumerate(sources, start=1))


def _name(fact: dict[str, Any]) -> str:
    """Return the field in words, without the value's unit."""
    name, space, where = str(fact["field"]).partition(" ")
    for ending in ("_bytes_per_s", "_bytes", "_usd_per_hour"):
        name = name.removesuffix(ending) if fact["unit"] else name
    return ("rate" if name == "bytes_per_s" else name.replace("_", " ")) + space + where.replace("_", " ")
