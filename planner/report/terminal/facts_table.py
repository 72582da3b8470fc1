"""All that the catalogs know of one instance type: a table for each catalog, and the sources that its numbers name."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import groupby
from typing import Any

from planner.units import format_bytes, format_rate

_UNITS = {"bytes": format_bytes, "bytes/s": format_rate}


def render_facts(instance_type: str, facts: Sequence[dict[str, Any]]) -> Iterator[Any]:
    """Yield what to print of facts as `planner catalog show TYPE --json` has them, those of a catalog together."""
    sources = list(dict.fromkeys(fact["source"] for fact in facts))
    for catalog, its in groupby(facts, key=lambda fact: fact["catalog"]):
        yield _table(f"{instance_type} in {catalog}", list(its), sources)
    yield "\n".join(f"[{number}] {source}" for number, source in enumerate(sources, start=1))


def _table(title: str, facts: Sequence[dict[str, Any]], sources: list[str]) -> Any:
    from rich.markup import escape
    from rich.table import Table

    table = Table(title=title, title_justify="left", title_style="bold", box=None, pad_edge=False)
    for column in ("file", "what", "value", "evidence", "truth", "as of", "source", "note"):
        table.add_column(column, overflow="fold", justify="right" if column == "value" else "left")
    before = None
    for fact in facts:
        group, before = ("" if fact["kind"] == before else fact["kind"]), fact["kind"]
        score = "" if fact["cloud_truth"] is None else str(fact["cloud_truth"])
        cells = (_name(fact), _value(fact), fact["evidence"], score, fact["as_of"])
        table.add_row(group, *map(escape, cells), f"[{sources.index(fact['source']) + 1}]", escape(fact["note"]))
    table.add_section()
    return table


def _name(fact: dict[str, Any]) -> str:
    """Return the field in words, without the unit that the value has."""
    field: str = fact["field"]
    name, space, where = field.partition(" ")
    for ending in ("_bytes_per_s", "_bytes", "_usd_per_hour"):
        name = name.removesuffix(ending) if fact["unit"] else name
    return ("rate" if name == "bytes_per_s" else name.replace("_", " ")) + space + where.replace("_", " ")


def _value(fact: dict[str, Any]) -> str:
    value, unit = fact["value"], fact["unit"]
    if value is None:
        return "unknown"
    if isinstance(value, bool):
        return "yes" if value else "no"
    if unit in _UNITS and isinstance(value, int | float):
        return _UNITS[unit](value)
    shown = f"{value:.6g}" if isinstance(value, float) else str(value)
    return f"{shown} {unit}".strip()
