"""Estimates of how often spot machines are taken back and how soon others can be had, from what was seen so far.

Both rates are taken as constant, so that what was seen adds up to events and seconds. A prior counts as one event seen
in its own mean time. It keeps the first guesses sensible and loses its weight after a few events.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Final, Self

USUAL_LOSSES_PER_S: Final = 0.1 / 3600
"""One machine in ten lost an hour; assumed where no catalog says how often."""
USUAL_RETURNS_PER_S: Final = 1.0 / 3600
"""An hour until there is room again; assumed."""


@dataclass(frozen=True, kw_only=True)
class Seen:
    """How long spot machines could be had and how long not, in seconds, and how often the one followed the other."""

    up_s: float = 0.0
    down_s: float = 0.0
    losses: int = 0
    returns: int = 0

    def extend(self, *, was_up: bool, for_s: float, is_up: bool) -> Self:
        """Return what has been seen after another `for_s` seconds, which began as `was_up` and ended as `is_up`."""
        return replace(
            self,
            up_s=self.up_s + for_s * was_up,
            down_s=self.down_s + for_s * (not was_up),
            losses=self.losses + (was_up and not is_up),
            returns=self.returns + (is_up and not was_up),
        )


@dataclass(frozen=True, kw_only=True)
class SpotRates:
    """How often the machines are lost, per second while there are any, and how often there is room again."""

    losses_per_s: float = USUAL_LOSSES_PER_S
    returns_per_s: float = USUAL_RETURNS_PER_S

    def update(self, seen: Seen) -> SpotRates:
        """Return the rates expected after what was seen, with these as the prior."""
        return SpotRates(
            losses_per_s=(1 + seen.losses) / (1 / self.losses_per_s + seen.up_s),
            returns_per_s=(1 + seen.returns) / (1 / self.returns_per_s + seen.down_s),
        )
