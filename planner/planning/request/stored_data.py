"""The files of a request: format, compression and number, their stored size and their size unpacked."""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass
from functools import lru_cache
from statistics import NormalDist
from typing import Final

from planner.cost_model.engine import Engine
from planner.cost_model.evidence import Assumed, assumed_range, assumptions, is_assumed
from planner.errors import BadInputError, nearest
from planner.schemas.request import CODECS, FORMATS, Request
from planner.units import format_bytes, format_rate

_MOST_RATIO: Final = 1000.0
_USUAL_OF_PARQUET: Final = "snappy"
"""Default Parquet compression of Spark and pyarrow."""


@dataclass(frozen=True, kw_only=True)
class StoredData:
    """`stored_bytes` unpack to `ratio` times as many bytes. If the ratio is assumed, `sigma` is the standard deviation
    of its logarithm. `packing_s_per_byte` is the seconds of one vCPU to unpack a byte, and to pack it.
    """

    stored_bytes: int
    ratio: float = 1.0
    sigma: float = 0.0
    packing_s_per_byte: tuple[float, float] = (0.0, 0.0)
    codec: str = "none"
    is_divided: bool = True

    @property
    def sorted_bytes(self) -> int:
        """Bytes that are sorted: all files unpacked."""
        return self.stored_bytes if self.ratio == 1 else round(self.stored_bytes * self.ratio)


def stored_data(request: Request) -> StoredData:
    """Return the files of a request; by default, records as in the sort benchmark.

    Raises BadInputError for an unknown format or codec, and for an unknown ratio if none may be assumed.
    """
    if request.paper:  # the papers have only records
        return StoredData(stored_bytes=request.bytes_to_sort)
    return _stored(request.bytes_to_sort, request.format, request.compression, request.unknown)


@lru_cache(maxsize=64)
def _stored(stored_bytes: int, form: str | None, compression: str | None, unknown: str | None) -> StoredData:
    if form is None and compression is None:
        return StoredData(stored_bytes=stored_bytes)
    if form not in (None, *FORMATS):
        raise BadInputError(
            f"--format {form}: use one of {', '.join(FORMATS)}.{nearest(form or '', FORMATS)}", code="unknown-word"
        )
    codec, ratio = _codec(compression or (_USUAL_OF_PARQUET if form == "parquet" else "none"))
    sigma = 0.0
    if ratio is None:
        ratio, sigma = 1.0 if codec == "none" else float(assumptions()["compression"][codec]["ratio"]), _sigma(codec)
        if sigma and not is_assumed("packing", unknown):
            raise BadInputError(
                f"--unknown exclude: how {codec} packs this data is unknown; say --compression {codec}=RATIO",
                code="ratio-unknown",
            )
    return StoredData(
        stored_bytes=stored_bytes,
        ratio=ratio,
        sigma=sigma,
        packing_s_per_byte=_packing_s_per_byte(codec),
        codec=codec,
        is_divided=form in (None, "records") and codec == "none",
    )


def _codec(text: str) -> tuple[str, float | None]:
    """Return a codec and its stated ratio. Raises BadInputError."""
    name, equals, amount = text.partition("=")
    codec = {"gz": "gzip", "zst": "zstd", "zlib": "gzip", "uncompressed": "none"}.get(name.casefold(), name.casefold())
    if codec not in CODECS:
        raise BadInputError(
            f"--compression {text}: use one of {', '.join(CODECS)}.{nearest(codec, CODECS)}", code="unknown-word"
        )
    if not equals:
        return codec, None
    try:
        ratio = float(amount)
    except ValueError:
        ratio = 0.0
    if not 1 / _MOST_RATIO <= ratio <= _MOST_RATIO:
        raise BadInputError(
            f"--compression {text}: write unpacked over stored bytes, such as {codec}=3.1", code="malformed"
        )
    return codec, ratio


def _sigma(codec: str) -> float:
    return 0.0 if codec == "none" else math.log(assumptions()["compression"]["factor"]) / NormalDist().inv_cdf(0.95)


def _packing_s_per_byte(codec: str) -> tuple[float, float]:
    if codec == "none":
        return 0.0, 0.0
    unpack, pack = (1 / float(assumptions()["compression"][codec][f"{way}_bytes_per_s"]) for way in ("unpack", "pack"))
    return unpack, pack


def _coding_rate(form: str) -> Assumed | None:
    """Return the bytes/s of one vCPU that decodes or encodes a format; None for one that needs neither."""
    table = "format_bytes_per_s_per_vcpu"
    return assumed_range(table, form) if form in assumptions()[table] else None


def format_s_per_byte(request: Request, engine: Engine) -> tuple[float, float]:
    """Return the seconds of one vCPU to decode a byte of the format, and to encode it: as measured for the engine, else
    as assumed.
    """
    form = request.format or "records"
    if form in engine.decode_s_per_byte:
        return engine.decode_s_per_byte[form], engine.encode_s_per_byte[form]
    rate = _coding_rate(form)
    return (0.0, 0.0) if rate is None else (1 / rate.middle, 1 / rate.middle)


def format_range(request: Request) -> Assumed | None:
    """Return the range of rates for other data of a format, relative to the middle one: 1. None if the user gives the
    rate, and for a format without decoding or encoding.
    """
    rate = _coding_rate(request.format or "records")
    if rate is None or request.paper or request.compute_bytes_per_s_per_vcpu:
        return None
    return Assumed(low=rate.low / rate.middle, middle=1.0, high=rate.high / rate.middle)


def coding_s_per_byte(request: Request, engine: Engine) -> tuple[float, float]:
    """Return the seconds of one vCPU to decode a byte of the files, including unpacking, and to encode and pack it.

    Raises BadInputError if they are unknown and none may be assumed.
    """
    if request.paper:
        return 0.0, 0.0
    if request.compute_bytes_per_s_per_vcpu:  # includes decoding
        return 1 / request.compute_bytes_per_s_per_vcpu, 0.0
    is_unknown = format_range(request) is not None and request.format not in engine.decode_s_per_byte
    if is_unknown and not is_assumed("decoding", request.unknown):
        raise BadInputError(
            f"--unknown exclude: how fast {request.format} is decoded is unknown; say --compute RATE",
            code="rate-unknown",
        )
    (unpack_s, pack_s), (decode_s, encode_s) = (
        stored_data(request).packing_s_per_byte,
        format_s_per_byte(request, engine),
    )
    return unpack_s + decode_s, pack_s + encode_s


def stored_notes(request: Request, engine: Engine) -> Iterator[str]:
    """Yield notes on the size sorted for the size stored, and the assumptions behind it."""
    stored = stored_data(request)
    if stored.ratio != 1:
        amount = (
            f"{format_bytes(stored.stored_bytes)} stored as {stored.codec} hold {format_bytes(stored.sorted_bytes)}"
        )
        if not stored.sigma:
            yield f"data: {amount}, which are sorted"
        else:
            factor = float(assumptions()["compression"]["factor"])
            low, high = (format_bytes(end) for end in (stored.sorted_bytes / factor, stored.sorted_bytes * factor))
            yield (
                f"data: {amount} at an assumed ratio of {stored.ratio:.3g}, {low} to {high} nine times in ten; "
                f"--set compression={stored.codec}=RATIO says yours"
            )
    if (span := format_range(request)) is not None:
        rate = 2 / sum(format_s_per_byte(request, engine))
        least, most = format_rate(rate * span.low), format_rate(rate * span.high)
        known = "measured" if request.format in engine.decode_s_per_byte else "assumed"
        yield (
            f"cpu: decoding and encoding {request.format} are {known} at {format_rate(rate)} for each vCPU, "
            f"{least} to {most} with other data; --set compute=RATE says yours"
        )


def size_text(request: Request) -> str:
    """Return the size in words, and the unpacked size."""
    stored = stored_data(request)
    assumed = " at an assumed ratio" if stored.sigma else ""
    unpacked = f" ({format_bytes(stored.sorted_bytes)} unpacked{assumed})" if stored.ratio != 1 else ""
    return f"{format_bytes(stored.stored_bytes)}{unpacked}"
