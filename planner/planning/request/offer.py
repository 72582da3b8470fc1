"""What the nodes of a region cost, type by type, as a request pays for them."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace

from planner.arrays import Floats
from planner.cost_model.prices import Reservations


@dataclass(frozen=True, kw_only=True, eq=False)
class Offer:
    """What a region asks for every type of a catalog, shape (T,): all-in USD per node-hour, and what that rests on.

    `notes` say which types' prices are the user's own, by row.
    """

    region: str
    pricing: str
    price_usd_per_hour: Floats
    evidence: tuple[str, ...]
    reservations: Reservations | None = None
    notes: Mapping[int, str] = field(default_factory=dict)

    def times(self, factor: float) -> Offer:
        """Return the offer with every price multiplied."""
        limits = self.reservations
        if limits is not None:
            limits = replace(limits, above_usd_per_hour=limits.above_usd_per_hour * factor)
        return replace(self, price_usd_per_hour=self.price_usd_per_hour * factor, reservations=limits)
