"""Network scaling curves: bytes/s per node against the number of nodes.

SoCC 2015, section 4.3 and Figure 8: a node's share of the network falls as the cluster grows, so that a large job does
not get the two-node rate.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property, lru_cache
from typing import Final

import numpy as np
from numpy.typing import ArrayLike

from planner.arrays import Flags, Floats
from planner.errors import BadInputError
from planner.statistics.order_statistics import on_ladder
from planner.statistics.scaling_prior import Posterior, condition

ENOUGH_POINTS: Final = 4
"""Number of cluster sizes from which the points, not the prior, determine the curve's fall."""

BAND_VALUES: Final = 8
"""Number of equally likely rates that represent the band of an extrapolated network."""

_STEPS: Final = 33
"""Number of cluster sizes beyond the last point at which the law is computed; between them the curve is a power law."""


@lru_cache(maxsize=1)
def prior_curve() -> ScalingCurve:
    """Return the expected curve of an unmeasured network, as fractions of its two-node rate: the prior alone."""
    return ScalingCurve.through([2.0], [1.0])


@lru_cache(maxsize=64)
def mean_slowdowns(nodes: bytes) -> Floats:
    """Return the mean factor by which a network is slower than stated, at each of `nodes`, given as the bytes of a
    float array (N,).
    """
    return on_ladder(lambda some: np.asarray(stated_slowdowns(some).mean(axis=0)), np.frombuffer(nodes))


def stated_slowdowns(nodes: Floats) -> Floats:
    """Return equally likely slowdowns of a network with only a stated rate, at each of `nodes` (N,), shape (8, N) and
    ascending. A network is never assumed faster than stated: the stated rate is the link's limit.
    """
    asked = nodes.tolist()
    if new := sorted(set(asked) - _stated.keys()):
        sizes = np.array(new)
        made = np.maximum(prior_curve().slowdowns_at(sizes, count=BAND_VALUES), 1.0)
        _stated.update(zip(new, np.where(sizes < 2, 1.0, made).T, strict=True))
    return np.array([_stated[size] for size in asked]).reshape(-1, BAND_VALUES).T


_stated: dict[float, Floats] = {}
"""Those slowdowns by number of nodes: few numbers are asked for again and again."""


@dataclass(frozen=True, kw_only=True, eq=False)
class Band:
    """A plausible range of bytes/s per node at each requested cluster size, all of shape (N,); `extrapolated` marks
    sizes beyond the measured ones.
    """

    low_bytes_per_s: Floats
    middle_bytes_per_s: Floats
    high_bytes_per_s: Floats
    extrapolated: Flags


@dataclass(frozen=True, kw_only=True, eq=False)
class ScalingCurve:
    """A curve through measured points, both of shape (P,): `nodes` strictly increasing, `bytes_per_s` per node, never
    increasing. `measurements` are the raw (nodes, bytes/s), shape (M, 2), behind the points.

    Between points it is a power law (straight in log-log); beyond the last point it falls as the fitted law does
    (`scaling_prior`), and is an extrapolation. With one point it is flat, like the rates that clouds state; its band
    and slowdowns include the loss of such a rate at scale.
    """

    nodes: Floats
    bytes_per_s: Floats
    measurements: Floats

    @classmethod
    def through(cls, nodes: ArrayLike, bytes_per_s: ArrayLike) -> ScalingCurve:
        """Return the curve through points in any order. Several at one node count count as their mean; if a larger
        cluster was faster, the two are levelled to their mean (Figure 8: small clusters, drawn on other days, beat or
        missed the baseline by chance), which is the least change in squares that leaves no rise.

        Raises BadInputError for no points, or a node count or rate that is not positive and finite.
        """
        raw = np.stack([np.asarray(nodes, float), np.asarray(bytes_per_s, float)], axis=1)
        if not len(raw) or not (np.isfinite(raw) & (raw > 0)).all():
            raise BadInputError(
                "a scaling curve needs at least one point, with positive node counts and rates", code="missing-points"
            )
        unique, place, weight = np.unique(raw[:, 0], return_inverse=True, return_counts=True)
        means = np.bincount(place, raw[:, 1]) / weight
        return cls(nodes=unique, bytes_per_s=_make_falling(means, weight.astype(float)), measurements=raw)

    @property
    def measured_to_nodes(self) -> float:
        """The largest measured cluster."""
        return float(self.nodes[-1])

    @property
    def basis(self) -> str:
        """Basis of the curve's shape, in words."""
        sizes = f"{len(self.nodes)} cluster size{'s' * (len(self.nodes) > 1)}"
        enough = len(self.nodes) >= ENOUGH_POINTS
        return f"fitted to {sizes}" if enough else f"family prior: only {sizes} of {ENOUGH_POINTS} measured"

    def at(self, nodes: ArrayLike) -> Floats:
        """Return bytes/s per node for each cluster size; sizes below the first point get the first point's rate."""
        wanted = np.log(np.asarray(nodes, float))
        x, y = np.log(self.nodes), np.log(self.bytes_per_s)
        if len(x) > 1 and (furthest := float(np.max(wanted, initial=x[-1]))) > x[-1]:
            further = np.linspace(x[-1], furthest, _STEPS)
            fall = self._posterior.log_fall(start=self.measured_to_nodes, nodes=np.exp(further))
            x, y = np.append(x, further[1:]), np.append(y, y[-1] + fall[1:])
        return np.asarray(np.exp(np.interp(wanted, x, y)))

    def each(self, nodes: Floats) -> Floats:
        """Return the result of `at` for each of `nodes` (N,) alone, shape (N,): several at once share its steps."""
        alone = self.at(np.minimum(nodes, self.nodes[-1]))
        beyond = nodes > self.nodes[-1]
        if len(self.nodes) > 1 and beyond.any():
            alone[beyond] *= np.exp(self._posterior.log_fall(start=self.measured_to_nodes, nodes=nodes[beyond]))
        return alone

    def band(self, nodes: ArrayLike, *, coverage: float = 0.9) -> Band:
        """Return the central range that contains the true curve with probability `coverage`, size by size.

        Raises BadInputError unless `coverage` lies between 0 and 1.
        """
        if not 0 < coverage < 1:
            raise BadInputError(f"coverage {coverage} must lie between 0 and 1", code="out-of-range")
        wanted = np.atleast_1d(np.asarray(nodes, float))
        tail = (1 - coverage) / 2
        low, middle, high = self._quantiles(wanted, np.array([tail, 0.5, 1 - tail]))
        return Band(
            low_bytes_per_s=low,
            middle_bytes_per_s=middle,
            high_bytes_per_s=high,
            extrapolated=wanted > self.measured_to_nodes,
        )

    def slowdowns(self, nodes: float, *, count: int) -> Floats:
        """Return `count` equally likely values of at(nodes) over the true rate there, shape (count,), ascending: the
        factors by which the network may take longer than by the curve.
        """
        return self.slowdowns_at(np.array([nodes]), count=count)[:, 0]

    def slowdowns_at(self, nodes: Floats, *, count: int) -> Floats:
        """Return `slowdowns` at each of `nodes` (N,), shape (count, N)."""
        return np.asarray(self.at(nodes) / self._quantiles(nodes, (np.arange(count) + 0.5)[::-1] / count))

    def _quantiles(self, nodes: Floats, shares: Floats) -> Floats:
        """Return the rates below which `shares` (Q,) of the plausible ones lie at each of `nodes` (N,), (Q, N)."""
        log_rates = np.ascontiguousarray(self._posterior.log_rates(nodes).T)
        log_rates.sort(axis=1)  # faster than numpy's quantiles
        places = shares * (log_rates.shape[1] - 1)
        below = places.astype(int)
        low, high = log_rates[:, below], log_rates[:, below + 1]
        return np.asarray(np.exp(low + (high - low) * (places - below)).T)

    @cached_property
    def _posterior(self) -> Posterior:
        return condition(self.measurements[:, 0], np.log(self.measurements[:, 1]))


def _make_falling(rates: Floats, weight: Floats) -> Floats:
    """Return the never-rising rates nearest to `rates` in weighted squares, by pooling neighbours that rise."""
    blocks: list[tuple[float, float, int]] = []
    for rate, heft in zip(rates.tolist(), weight.tolist(), strict=True):
        block = (rate, heft, 1)
        while blocks and blocks[-1][0] < block[0]:
            before = blocks.pop()
            both = before[1] + block[1]
            block = ((before[0] * before[1] + block[0] * block[1]) / both, both, before[2] + block[2])
        blocks.append(block)
    return np.repeat([block[0] for block in blocks], [block[2] for block in blocks])
