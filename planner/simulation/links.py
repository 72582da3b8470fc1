"""Capacities that change: links with a token bucket, which are fast until their tokens are spent."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from planner.arrays import Floats

_EMPTY_SHARE = 1e-9
"""Of a bucket: what is less counts as nothing, so that rounding does not fill and empty it in turn."""


@dataclass(kw_only=True, eq=False)
class Capacities:
    """What R resources give in a second, shape (R,). Those with a bucket of `size` give `burst` while `tokens` last,
    and `steady` afterwards; elsewhere `size` is 0. Tokens come at the steady rate, and go as the resource is used.
    """

    steady: Floats
    burst: Floats
    size: Floats
    tokens: Floats

    @classmethod
    def of(cls, steady: Floats, *, burst: Floats, size: Floats) -> Capacities:
        """Return capacities with full buckets."""
        return cls(steady=steady, burst=burst, size=size, tokens=size.copy())

    def at_present(self) -> Floats:
        """Return what each resource gives at present."""
        return np.where(self.tokens > self.size * _EMPTY_SHARE, self.burst, self.steady)

    def change_in_s(self, load: Floats) -> float:
        """Return the seconds until a bucket is empty while resources give `load` (R,); inf for never."""
        spent = (load - self.steady) * (self.tokens > self.size * _EMPTY_SHARE)
        emptied = np.divide(self.tokens, spent, out=np.full(len(spent), np.inf), where=spent > 0)
        return float(emptied.min(initial=np.inf))

    def pass_s(self, seconds: float, load: Floats) -> None:
        """Let tokens come and go for some seconds in which resources give `load` (R,)."""
        self.tokens = np.clip(self.tokens + (self.steady - load) * seconds, 0.0, self.size)
