"""Estimates of how often spot machines are lost and how soon others are available, from observations so far.

Both rates are taken as constant, so that observations add up to events and seconds. A prior counts as one event in its
own mean time. It keeps the first guesses sensible and loses its weight after a few events.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Final, Self

USUAL_LOSSES_PER_S: Final = 0.1 / 3600
"""One machine in ten lost per hour; assumed where no catalog has the rate."""
USUAL_RETURNS_PER_S: Final = 1.0 / 3600
"""One hour until there is capacity again; assumed."""


@dataclass(frozen=True, kw_only=True)
class SpotHistory:
    """Seconds with and without available spot machines, and the number of changes in each direction."""

    up_s: float = 0.0
    down_s: float = 0.0
    losses: int = 0
    returns: int = 0

    def extend(self, *, was_up: bool, for_s: float, is_up: bool) -> Self:
        """Return these observations extended by `for_s` seconds that began as `was_up` and ended as `is_up`."""
        return replace(
            self,
            up_s=self.up_s + for_s * was_up,
            down_s=self.down_s + for_s * (not was_up),
            losses=self.losses + (was_up and not is_up),
            returns=self.returns + (is_up and not was_up),
        )


@dataclass(frozen=True, kw_only=True)
class SpotRates:
    """Rate of losing the machines, per second while there are any, and rate of their return, per second while there are
    none.
    """

    losses_per_s: float = USUAL_LOSSES_PER_S
    returns_per_s: float = USUAL_RETURNS_PER_S

    def update(self, seen: SpotHistory) -> SpotRates:
        """Return the rates expected after the observations, with these as the prior."""
        return SpotRates(
            losses_per_s=(1 + seen.losses) / (1 / self.losses_per_s + seen.up_s),
            returns_per_s=(1 + seen.returns) / (1 / self.returns_per_s + seen.down_s),
        )
