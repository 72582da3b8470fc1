"""Shaping of the links of emulated nodes: given rates, rates drawn from a cloud's distribution, or a token bucket.

The hose model of Uta and Obaseki (ICPE 2018, section 2.2): each node has one cap on outgoing and one on incoming
traffic, both at the rate drawn for it.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated, Final

from planner.errors import BadInputError
from planner.schemas.door import Between, Help, Offset, Seconds, checked
from planner.units import count_text, format_rate, parse_duration, parse_rate, parse_size

LEAST_BYTES_PER_S: Final = 1000.0
LONGEST_BUCKET_S: Final = 270.0
"""The kernel stores a bucket as its fill time, in 32 bits of 64 ns."""


@dataclass(frozen=True, kw_only=True)
class Bucket:
    """A token bucket: while it holds tokens the link runs at `burst_bytes_per_s`; the cap's rate refills it."""

    size_bytes: int
    burst_bytes_per_s: float


@dataclass(frozen=True, kw_only=True)
class Cap:
    """The rate of a link in each direction, headers included."""

    bytes_per_s: float
    bucket: Bucket | None = None

    def __str__(self) -> str:
        if self.bucket is None:
            return format_rate(self.bytes_per_s)
        return f"{format_rate(self.bucket.burst_bytes_per_s)}, {format_rate(self.bytes_per_s)} when its bucket is empty"


@checked
@dataclass(frozen=True, kw_only=True)
class Shaping:
    """The source of caps: `rates_bytes_per_s` (one for all nodes, or one for each) or a `distribution` times
    `rate_factor`; with neither, links are uncapped. With a `seed`, draws are repeatable.
    """

    rates_bytes_per_s: tuple[float, ...] = ()
    distribution: str | None = None
    rate_factor: Annotated[float, Between(0, above=True)] = 1.0
    bucket: Bucket | None = None
    redraw_s: Seconds | None = None
    seed: Offset | None = None

    @property
    def shapes(self) -> bool:
        """True if any link is capped."""
        return bool(self.rates_bytes_per_s) or self.distribution is not None

    def draws(self, nodes: int) -> Draws:
        """Return the source of caps for `nodes` nodes. Raises BadInputError for a wrong number of rates."""
        if len(self.rates_bytes_per_s) not in (0, 1, nodes):
            raise BadInputError(
                f"--rate names {count_text(len(self.rates_bytes_per_s), 'rate')} for {count_text(nodes, 'node')}: "
                "give one, or all",
                code="wrong-count",
            )
        return Draws(self, nodes)


class Draws:
    """Caps for the nodes of one cluster, drawn again at each call."""

    def __init__(self, shaping: Shaping, nodes: int) -> None:
        from numpy.random import default_rng

        self._shaping = shaping
        self._nodes = nodes
        self._rng = default_rng(shaping.seed)

    def draw(self) -> list[Cap | None]:
        """Return the cap of each node, None for an uncapped link."""
        shaping = self._shaping
        if not shaping.shapes:
            return [None] * self._nodes
        if shaping.distribution is not None:
            from planner.catalog import bandwidth_distributions

            drawn = (
                bandwidth_distributions.distribution(shaping.distribution).sample(self._nodes, self._rng)
                * shaping.rate_factor
            )
            return [Cap(bytes_per_s=float(rate)) for rate in drawn]
        rates = shaping.rates_bytes_per_s * (self._nodes if len(shaping.rates_bytes_per_s) == 1 else 1)
        return [Cap(bytes_per_s=rate, bucket=shaping.bucket) for rate in rates]


def parse_shaping(
    *,
    rate: Annotated[
        str | None, Help("Cap on each node's link, both ways: 400Mbit, or a list with one rate per node.")
    ] = None,
    distribution: Annotated[
        str | None, Help("Draw caps from a cloud's measured bandwidths, A to H of the study by Uta and Obaseki.")
    ] = None,
    rate_factor: Annotated[float, Help("Multiply the drawn caps: 0.1.")] = 1.0,
    bucket: Annotated[str | None, Help("Size of each link's token bucket, full at first: 200MB.")] = None,
    burst_rate: Annotated[
        str | None, Help("With a bucket: the cap while tokens are left; --rate refills them.")
    ] = None,
    redraw: Annotated[str | Seconds | None, Help("Draw new caps this often during the run: 10s.")] = None,
    seed: Annotated[int | None, Help("Seed of the draws; without it they differ each time.")] = None,
) -> Shaping:
    """Return the shaping for these arguments: `400Mbit`, or `400Mbit,100Mbit` with a rate for each node.

    Raises BadInputError for contradictory options and for rates to which no link can be capped.
    """
    if rate is not None and distribution is not None:
        raise BadInputError(
            "`rate` and `distribution` exclude each other: a link has one source of caps",
            field="rate",
            code="contradiction",
        )
    drawn = {"redraw": redraw is not None, "seed": seed is not None, "rate_factor": rate_factor != 1}
    for name in (name for name, is_given in drawn.items() if is_given and distribution is None):
        text = f"`{name}` needs `distribution`: fixed rates have nothing to draw"
        raise BadInputError(text, field=name, code="missing-companion")
    if rate_factor <= 0:
        raise BadInputError(f"`rate_factor={rate_factor}` must be positive", field="rate_factor", code="out-of-range")
    if distribution is not None:
        from planner.catalog import bandwidth_distributions

        bandwidth_distributions.distribution(distribution)
    rates = tuple(_rate(part) for part in rate.split(",")) if rate is not None else ()
    return Shaping(
        rates_bytes_per_s=rates,
        distribution=distribution,
        rate_factor=rate_factor,
        bucket=_bucket(bucket, burst_rate, rates),
        redraw_s=parse_duration(redraw) if isinstance(redraw, str) else redraw,
        seed=seed,
    )


def _rate(text: str) -> float:
    """Return bytes/s; `400Mbit` is 400 Mbit/s."""
    text = text.strip()
    bytes_per_s = parse_rate(text if text.endswith(("/s", "ps")) else f"{text}/s")
    if bytes_per_s < LEAST_BYTES_PER_S:
        raise BadInputError(
            f"--rate {text} is less than {format_rate(LEAST_BYTES_PER_S)}, which no node would survive",
            code="out-of-range",
        )
    return bytes_per_s


def _bucket(size: str | None, burst_rate: str | None, rates: tuple[float, ...]) -> Bucket | None:
    if size is None and burst_rate is None:
        return None
    if size is None or burst_rate is None or not rates:
        raise BadInputError(
            "a token bucket needs --bucket, --burst-rate and --rate, which refills it", code="missing-companion"
        )
    bucket = Bucket(size_bytes=parse_size(size), burst_bytes_per_s=_rate(burst_rate))
    if bucket.burst_bytes_per_s <= max(rates):
        raise BadInputError(
            f"--burst-rate {burst_rate} must exceed --rate: the bucket would never empty", code="contradiction"
        )
    if bucket.size_bytes / min(rates) > LONGEST_BUCKET_S:
        raise BadInputError(
            f"--bucket {size} takes more than {LONGEST_BUCKET_S:g} s to fill at --rate",
            ["the kernel cannot represent that; use a smaller bucket"],
            code="out-of-range",
        )
    return bucket
