"""The files of a request: format, compression and number, their stored size and their size unpacked."""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass
from functools import lru_cache
from statistics import NormalDist
from typing import Final

from planner.cost_model.unknowns import Assumed, Policy, format_bytes_per_s_per_vcpu, packing_factor, packings
from planner.errors import BadInputError, nearest
from planner.schemas.request import CODECS, FORMATS, Request
from planner.units import format_bytes, format_rate

_MOST_RATIO: Final = 1000.0
_USUAL_OF_PARQUET: Final = "snappy"
"""What Spark and pyarrow compress Parquet with where nobody says otherwise."""


@dataclass(frozen=True, kw_only=True)
class StoredData:
    """`stored_bytes` that unpack to `ratio` times as many. Where the ratio is assumed, `sigma` is the standard
    deviation of its logarithm. `seconds_per_byte` of one vCPU go to decoding a byte, and to encoding it:
    to packing, and to the format, at the assumed `decoded_bytes_per_s`.
    """

    stored_bytes: int
    ratio: float = 1.0
    sigma: float = 0.0
    seconds_per_byte: tuple[float, float] = (0.0, 0.0)
    decoded_bytes_per_s: Assumed | None = None
    codec: str = "none"
    is_divided: bool = True

    @property
    def sorted_bytes(self) -> int:
        """What is sorted: all files unpacked."""
        return self.stored_bytes if self.ratio == 1 else round(self.stored_bytes * self.ratio)


def stored_data(request: Request) -> StoredData:
    """Return what a request says of its files; records as the sort benchmark has them where it says nothing.

    Raises BadInputError for an unknown format or codec, and for a ratio that nobody knows where none may be assumed.
    """
    if request.paper:  # the papers know of records alone
        return StoredData(stored_bytes=request.bytes_to_sort)
    return _stored(request.bytes_to_sort, request.format, request.compression, request.unknown)


@lru_cache(maxsize=64)
def _stored(stored_bytes: int, form: str | None, compression: str | None, unknown: str | None) -> StoredData:
    if form is None and compression is None:
        return StoredData(stored_bytes=stored_bytes)
    if form not in (None, *FORMATS):
        raise BadInputError(f"--format {form}: use one of {', '.join(FORMATS)}.{nearest(form or '', FORMATS)}")
    codec, ratio = _codec(compression or (_USUAL_OF_PARQUET if form == "parquet" else "none"))
    policy, sigma = Policy.of(unknown), 0.0
    if ratio is None:
        ratio, sigma = 1.0 if codec == "none" else packings()[codec].ratio, _sigma(codec)
        if sigma and not policy.assumes("packing"):
            raise BadInputError(
                f"--unknown exclude: how {codec} packs this data is unknown; say --compression {codec}=RATIO"
            )
    return StoredData(
        stored_bytes=stored_bytes,
        ratio=ratio,
        sigma=sigma,
        seconds_per_byte=_seconds_per_byte(form, codec, policy),
        decoded_bytes_per_s=format_bytes_per_s_per_vcpu(form or "records"),
        codec=codec,
        is_divided=form in (None, "records") and codec == "none",
    )


def _codec(text: str) -> tuple[str, float | None]:
    """Return a codec and the ratio that is said of it. Raises BadInputError."""
    name, equals, amount = text.partition("=")
    codec = {"gz": "gzip", "zst": "zstd", "zlib": "gzip", "uncompressed": "none"}.get(name.casefold(), name.casefold())
    if codec not in CODECS:
        raise BadInputError(f"--compression {text}: use one of {', '.join(CODECS)}.{nearest(codec, CODECS)}")
    if not equals:
        return codec, None
    try:
        ratio = float(amount)
    except ValueError:
        ratio = 0.0
    if not 1 / _MOST_RATIO <= ratio <= _MOST_RATIO:
        raise BadInputError(f"--compression {text}: write unpacked over stored bytes, such as {codec}=3.1")
    return codec, ratio


def _sigma(codec: str) -> float:
    return 0.0 if codec == "none" else math.log(packing_factor()) / NormalDist().inv_cdf(0.95)


def _seconds_per_byte(form: str | None, codec: str, policy: Policy) -> tuple[float, float]:
    """Return the seconds of one vCPU to decode a byte, and to encode it: to unpack, and to read the format."""
    unpack_s = pack_s = 0.0
    if codec != "none":
        unpack_s, pack_s = 1 / packings()[codec].unpack_bytes_per_s, 1 / packings()[codec].pack_bytes_per_s
    rate = format_bytes_per_s_per_vcpu(form or "records")
    if rate is None:
        return unpack_s, pack_s
    if not policy.assumes("decoding"):
        raise BadInputError(f"--unknown exclude: how fast {form} is decoded is unknown; say --compute RATE")
    return unpack_s + 1 / rate.middle, pack_s + 1 / rate.middle


def stored_notes(request: Request) -> Iterator[str]:
    """Say how much is sorted of what is stored, and what of that is assumed."""
    stored = stored_data(request)
    if stored.ratio != 1:
        amount = (
            f"{format_bytes(stored.stored_bytes)} stored as {stored.codec} hold {format_bytes(stored.sorted_bytes)}"
        )
        if not stored.sigma:
            yield f"data: {amount}, which are sorted"
        else:
            ends = (stored.sorted_bytes / packing_factor(), stored.sorted_bytes * packing_factor())
            low, high = (format_bytes(end) for end in ends)
            yield (
                f"data: {amount} at an assumed ratio of {stored.ratio:.3g}, {low} to {high} nine times in ten; "
                f"--compression {stored.codec}=RATIO says yours"
            )
    rate = format_bytes_per_s_per_vcpu(request.format or "records")
    if rate is not None and not request.compute_bytes_per_s_per_vcpu:
        span = f"{format_rate(rate.low)} to {format_rate(rate.high)}"
        yield (
            f"cpu: decoding and encoding {request.format} are assumed at {format_rate(rate.middle)} for each vCPU, "
            f"{span}; --compute RATE says yours"
        )


def size_text(request: Request) -> str:
    """Return how much there is in words, and how much that unpacks to."""
    stored = stored_data(request)
    assumed = " at an assumed ratio" if stored.sigma else ""
    unpacked = f" ({format_bytes(stored.sorted_bytes)} unpacked{assumed})" if stored.ratio != 1 else ""
    return f"{format_bytes(stored.stored_bytes)}{unpacked}"
