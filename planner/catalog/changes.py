"""Differences between two states of a catalog: added and removed types, changed shapes and prices."""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from planner.catalog.catalog import Catalog
from planner.catalog.tables import Table

_ABOUT = ("instance_type", "evidence", "source", "as_of")


@dataclass(frozen=True, kw_only=True)
class ShapeChange:
    """A cell of instances.csv that differs; None is blank."""

    instance_type: str
    column: str
    before: Any
    after: Any


@dataclass(frozen=True, kw_only=True)
class PriceChange:
    """A price that differs, in USD per hour; None without a price."""

    instance_type: str
    region: str
    pricing: str
    before: float | None
    after: float | None

    @property
    def ratio(self) -> float | None:
        """The new price over the old one."""
        return None if self.before is None or self.after is None else self.after / self.before


@dataclass(frozen=True, kw_only=True)
class Changes:
    """All differences. A type is `added` when it is new, `removed` when it has lost all its prices."""

    added: tuple[str, ...]
    removed: tuple[str, ...]
    shapes: tuple[ShapeChange, ...]
    prices: tuple[PriceChange, ...]

    @property
    def up(self) -> tuple[PriceChange, ...]:
        """Increased prices, the steepest first."""
        return tuple(sorted((p for p in self.prices if (p.ratio or 1.0) > 1), key=lambda p: -(p.ratio or 1.0)))

    @property
    def down(self) -> tuple[PriceChange, ...]:
        """Decreased prices, the steepest first."""
        return tuple(sorted((p for p in self.prices if (p.ratio or 1.0) < 1), key=lambda p: p.ratio or 1.0))

    @property
    def priced(self) -> tuple[PriceChange, ...]:
        """New prices."""
        return tuple(p for p in self.prices if p.before is None)

    @property
    def unpriced(self) -> tuple[PriceChange, ...]:
        """Removed prices."""
        return tuple(p for p in self.prices if p.after is None)


def changes_between(before: Catalog, after: Catalog) -> Changes:
    """Return the differences of `after` from `before`; the source and day of a fact do not count."""
    old, new = _shapes(before.tables["instances"]), _shapes(after.tables["instances"])
    prices = tuple(_price_changes(_prices(before.tables["prices"]), _prices(after.tables["prices"])))
    priced = [{key[0] for key in _prices(catalog.tables["prices"])} for catalog in (before, after)]
    return Changes(
        added=tuple(sorted(new.keys() - old.keys())),
        removed=tuple(sorted(priced[0] - priced[1])),
        shapes=tuple(c for name in sorted(new.keys() & old.keys()) for c in _shape_changes(name, old[name], new[name])),
        prices=prices,
    )


def _shapes(table: Table) -> dict[str, dict[str, Any]]:
    return {row["instance_type"]: row for row in table.rows()}


def _prices(table: Table) -> dict[tuple[str, str, str], float]:
    return {(row["instance_type"], row["region"], row["pricing"]): row["price_usd_per_hour"] for row in table.rows()}


def _shape_changes(name: str, old: dict[str, Any], new: dict[str, Any]) -> Iterator[ShapeChange]:
    for column, value in new.items():
        if column not in _ABOUT and not _are_equal(old[column], value):
            yield ShapeChange(instance_type=name, column=column, before=_known(old[column]), after=_known(value))


def _price_changes(
    old: dict[tuple[str, str, str], float], new: dict[tuple[str, str, str], float]
) -> Iterator[PriceChange]:
    for key in sorted(old.keys() | new.keys()):
        before, after = old.get(key), new.get(key)
        if before is None or after is None or not math.isclose(before, after, rel_tol=1e-6):
            name, region, pricing = key
            yield PriceChange(instance_type=name, region=region, pricing=pricing, before=before, after=after)


def _are_equal(first: Any, second: Any) -> bool:
    if isinstance(first, float) and isinstance(second, float):
        return math.isclose(first, second, rel_tol=1e-6) or (math.isnan(first) and math.isnan(second))
    return bool(first == second)


def _known(value: Any) -> Any:
    return None if value == "" or (isinstance(value, float) and math.isnan(value)) else value
