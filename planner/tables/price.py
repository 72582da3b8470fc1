"""The price of a sorted rewrite, as values."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from typing import Any, Literal

from planner.tables.queries import Scanned


@dataclass(frozen=True, kw_only=True)
class Place:
    """Where a rewrite runs: seconds, and US dollars, None for a machine that is not rented; with the range of each."""

    name: Literal["here", "one machine", "cluster"]
    machines: str
    seconds: float | None = None
    seconds_range: tuple[float, float] | None = None
    usd: float | None = None
    usd_range: tuple[float, float] | None = None
    reason: str = ""
    """Why there is no price."""


@dataclass(frozen=True, kw_only=True)
class TablePrice:
    """What a rewrite touches and costs, and the days after which known queries have paid for it."""

    keys: tuple[str, ...]
    groups: int
    files: int
    depth: int
    read_bytes: int
    written_bytes: int
    table_bytes: int
    places: tuple[Place, ...]
    scanned: Scanned | None = None
    saved_usd_per_day: float | None = None
    days_to_pay: float | None = None
    is_worth_it: bool | None = None
    """None without known queries."""
    verdict: str = ""

    def to_dict(self) -> dict[str, Any]:
        """Return the price as JSON-able values."""
        found = asdict(self)
        return {"sort_by": list(found.pop("keys")), **found}
