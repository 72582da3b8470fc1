"""The clock: flows of a few kinds share resources; an event is the end of a flow, or of a bucket's tokens.

Flows of one kind use the same resources in the same proportions, so all of them have the same rate at any time. The
`progress` of a kind is the amount that one of its flows has moved since the beginning. A flow ends when the progress
has grown by its amount. So each event costs one sharing of the resources, whatever the number of flows.

Sharing is max-min fair: all flows speed up together until a resource they use is full. Its users then keep their rate,
and the others go on (progressive filling: Bertsekas and Gallager, Data Networks, section 6.5.2). A flow may use several
resources at once, each in its own proportion. A link with a token bucket is fast until its tokens are spent.
"""

from __future__ import annotations

import heapq
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from itertools import count
from typing import Final

import numpy as np

from planner.arrays import Floats, Ints

_TOGETHER: Final = 1e-9
"""Flows that end within this share of the present time end at the same event."""


@dataclass(frozen=True, kw_only=True, eq=False)
class Stretch:
    """A span from `start_s` to `end_s` with constant rates: `held_by` (K,) limits each kind of flow, as in `Sharing`;
    `counts` (K,) flows are under way. Resources carry a `load` (R,), out of their `capacity` (R,).
    """

    start_s: float
    end_s: float
    held_by: Ints
    counts: Floats
    load: Floats
    capacity: Floats


@dataclass(kw_only=True, eq=False)
class Clock:
    """Flows of K kinds over R resources: `usage` (K, R), and `most` (K,), the rate of a flow alone."""

    usage: Floats
    most: Floats
    capacities: Capacities
    now_s: float = 0.0
    _progress: Floats = field(init=False)
    _counts: Floats = field(init=False)
    _ends: list[list[tuple[float, int, Callable[[], None]]]] = field(init=False)
    _number: Iterator[int] = field(default_factory=count)

    def __post_init__(self) -> None:
        kinds = len(self.most)
        self._progress, self._counts, self._ends = np.zeros(kinds), np.zeros(kinds), [[] for _ in range(kinds)]

    def start(self, flow: int, amount: float, then: Callable[[], None]) -> None:
        """Start a flow of a kind, by its number; it calls `then` after moving `amount`, at once if that is 0."""
        if amount <= 0 or (not self.usage[flow].any() and np.isinf(self.most[flow])):
            then()
            return
        heapq.heappush(self._ends[flow], (self._progress[flow] + amount, next(self._number), then))
        self._counts[flow] += 1

    def run(self, *, until_s: float = np.inf) -> Iterator[Stretch]:
        """Advance the time until no flow is left, or until `until_s`; yield every stretch of constant rates."""
        while self._counts.any() and self.now_s < until_s:
            capacity = self.capacities.at_present()
            sharing = max_min(usage=self.usage, capacity=capacity, counts=self._counts, most=self.most)
            load = (sharing.rates * self._counts) @ self.usage
            left = self._seconds_left(sharing.rates)
            step_s = min(float(left.min()), self.capacities.change_in_s(load), until_s - self.now_s)
            if not np.isfinite(step_s):
                raise ValueError("flows wait for a resource that gives nothing")
            counts = self._counts.copy()
            self._progress += sharing.rates * step_s
            self.capacities.pass_s(step_s, load)
            start_s, self.now_s = self.now_s, self.now_s + step_s
            yield Stretch(
                start_s=start_s, end_s=self.now_s, held_by=sharing.held_by, counts=counts, load=load, capacity=capacity
            )
            self._end(np.flatnonzero(left <= step_s + _TOGETHER * self.now_s))

    def _seconds_left(self, rates: Floats) -> Floats:
        """Return the seconds until the first flow of each kind ends, (K,)."""
        first = np.array([ends[0][0] if ends else np.inf for ends in self._ends])
        waiting = first - self._progress
        is_moving = (rates > 0) & np.isfinite(waiting)
        return np.asarray(np.divide(waiting, rates, out=np.full(len(rates), np.inf), where=is_moving))

    def _end(self, kinds: Ints) -> None:
        """End the completed flows, at least one of each of `kinds`."""
        done = []
        for row in kinds.tolist():
            ends = self._ends[row]
            through = max(self._progress[row], ends[0][0]) * (1 + 1e-12)
            while ends and ends[0][0] <= through:
                done.append(heapq.heappop(ends))
                self._counts[row] -= 1
        for _, _, then in sorted(done, key=lambda flow: flow[1]):
            then()


_EMPTY_SHARE = 1e-9
"""Share of a bucket below which it counts as empty, so that rounding does not fill and empty it in turn."""


@dataclass(kw_only=True, eq=False)
class Capacities:
    """Rates of R resources per second, shape (R,). Those with a bucket of `size` run at `burst` while `tokens` last,
    and at `steady` afterwards; elsewhere `size` is 0. Tokens come at the steady rate, and go as the resource is used.
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
        """Return the present rate of each resource."""
        return np.where(self.tokens > self.size * _EMPTY_SHARE, self.burst, self.steady)

    def change_in_s(self, load: Floats) -> float:
        """Return the seconds until a bucket is empty while resources carry `load` (R,); inf for never."""
        spent = (load - self.steady) * (self.tokens > self.size * _EMPTY_SHARE)
        emptied = np.divide(self.tokens, spent, out=np.full(len(spent), np.inf), where=spent > 0)
        return float(emptied.min(initial=np.inf))

    def pass_s(self, seconds: float, load: Floats) -> None:
        """Update the tokens after some seconds in which resources carried `load` (R,)."""
        self.tokens = np.clip(self.tokens + (self.steady - load) * seconds, 0.0, self.size)


UNLIMITED: Final = -1
"""In `Sharing.held_by`: flows without a limit."""
ITSELF: Final = -2
"""In `Sharing.held_by`: flows at their own maximum rate."""


@dataclass(frozen=True, kw_only=True, eq=False)
class Sharing:
    """`rates` (K,) of one flow of each kind, and their limits `held_by` (K,): a resource, `UNLIMITED` or `ITSELF`."""

    rates: Floats
    held_by: Ints


def max_min(*, usage: Floats, capacity: Floats, counts: Floats, most: Floats) -> Sharing:
    """Return the max-min fair rates of K kinds of flows over R resources.

    A flow of kind k at rate 1 takes `usage[k, r]` (K, R) of a resource with `capacity[r]` (R,). There are `counts`
    (K,) flows of each kind, none faster than `most` (K,), which may be inf. Kinds without flows get rate 0.
    """
    rates, held_by = np.zeros(len(counts)), np.full(len(counts), UNLIMITED, np.int64)
    open_counts, left, uses = counts.astype(float), capacity.astype(float), usage > 0
    while (is_open := open_counts > 0).any():
        load = open_counts @ usage
        full_at = np.divide(left, load, out=np.full(len(left), np.inf), where=load > 0)
        reach = np.where(uses, full_at, np.inf)
        first = reach.argmin(axis=1)
        level = np.minimum(reach[np.arange(len(first)), first], most)
        # A resource is settled when none of its users is limited earlier elsewhere: one round settles several.
        earliest = np.where(uses & is_open[:, None], level[:, None], np.inf).min(axis=0)
        now = is_open & ((most <= level) | (earliest >= full_at)[first])
        rates[now] = level[now]
        held_by[now] = np.where(most[now] <= level[now], ITSELF, first[now])
        limited = now & np.isfinite(level)
        left = np.maximum(left - (counts * np.where(limited, level, 0.0)) @ usage, 0.0)
        open_counts[now] = 0.0
    held_by[np.isinf(rates)] = UNLIMITED
    return Sharing(rates=rates, held_by=held_by)
