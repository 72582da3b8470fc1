"""How long to wait for a cloud, and how often to ask it."""

from __future__ import annotations

import random
import time
from collections.abc import Iterator
from dataclasses import dataclass


@dataclass(frozen=True, kw_only=True)
class Pace:
    """Seconds. `patience_s` is for a cloud that throttles, is away or has not noticed yet what it made; `join_s` for
    machines to run; `gone_s` for deletions; after `settle_s` what was asked for last must show in a listing.
    """

    first_pause_s: float = 0.5
    longest_pause_s: float = 20.0
    patience_s: float = 300.0
    poll_s: float = 5.0
    join_s: float = 600.0
    gone_s: float = 900.0
    settle_s: float = 5.0

    def pauses(self, total_s: float) -> Iterator[None]:
        """Yield at once, then after pauses that double, each shortened at random, until `total_s` are over."""
        end, pause = time.monotonic() + total_s, self.first_pause_s
        yield
        while time.monotonic() < end:
            time.sleep(pause * random.uniform(0.5, 1.0))
            pause = min(2 * pause, self.longest_pause_s)
            yield

    def polls(self, total_s: float) -> Iterator[None]:
        """Yield at once, then every `poll_s`, until `total_s` are over."""
        end = time.monotonic() + total_s
        yield
        while time.monotonic() < end:
            time.sleep(self.poll_s)
            yield

    def settle(self) -> None:
        """Wait until what was asked for last must show."""
        time.sleep(self.settle_s)
