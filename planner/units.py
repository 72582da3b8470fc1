"""Parsing and formatting of sizes, rates, durations and money.

Inside the planner everything is bytes, bytes/s, seconds and US dollars; other units exist only in this module's input
and output.
"""

from __future__ import annotations

import math
import re
from typing import Final

from planner.errors import BadInputError

_NUMBER: Final = r"([+-]?(?:\d{1,3}(?:,\d{3})+(?:\.\d+)?|\d[\d_]*\.?\d*|\.\d+)(?:[eE][+-]?\d+)?)"
_QUANTITY: Final = re.compile(rf"^\s*{_NUMBER}\s*([^\d\s].*?)?\s*$")

_SIZES: Final = {
    "B": 1,
    **{f"{prefix}B": 1000**power for power, prefix in enumerate("KMGTPE", start=1)},
    **{f"{prefix}iB": 1024**power for power, prefix in enumerate("KMGTPE", start=1)},
}
_SHORT_SIZES: Final = {unit.removesuffix("B"): factor for unit, factor in _SIZES.items() if unit != "B"}
"""Sizes without their B, such as `100T` and `1Ti`. Rates need the B, to tell bytes from bits."""
_RECORDS: Final = {"records": 100}
"""Bytes per record of the sort benchmark, for sizes such as `1e6 records`."""
_PREFIXES: Final = {
    "": "", "kilo": "K", "mega": "M", "giga": "G", "tera": "T", "peta": "P", "exa": "E",
    "kibi": "Ki", "mebi": "Mi", "gibi": "Gi", "tebi": "Ti", "pebi": "Pi", "exbi": "Ei",
}  # fmt: skip
_UNIT_WORDS: Final = re.compile(rf"({'|'.join(_PREFIXES)})(bit|byte)s?(\s*(?:/\s*s(?:ec(?:ond)?)?|per second))?", re.I)
_UNCLEAR: Final = re.compile(r"([KMGTPE]?)(i?)b", re.I)
"""Ambiguous units such as `Tb`, `gib` and `b`: by the book b means bits, but many write it for bytes."""
_BIT_RATES: Final = {"bit": 1, **{f"{prefix}bit": 1000**power for power, prefix in enumerate("KMGT", start=1)}}
_PARTS: Final = re.compile(r"\d+(?:\.\d+)?\s*[a-z]+")
_SEVERAL: Final = re.compile(r"^\s*(?:\d+(?:\.\d+)?\s*[a-z]+\s*){2,}$")
_MINUTES_LEFT: Final = re.compile(r"^(\s*\d+\s*h\s*[0-5]?\d)\s*$")
"""Durations such as `1h30`: a number without a unit after the hours is minutes."""
_DURATIONS: Final = {"ms": 0.001, "s": 1, "sec": 1, "m": 60, "min": 60, "h": 3600, "hr": 3600, "d": 86400}
_PLURALS: Final = {"secs": 1, "mins": 60, "hrs": 3600}
_DURATION_WORDS: Final = {"second": 1, "minute": 60, "hour": 3600, "day": 86400}

SMALL_USD: Final = 0.1
"""Amounts below this are not rounded to cents."""

LARGEST_SIZE_BYTES: Final = 10**20
"""100 EB; a larger request is treated as a typing mistake."""


def parse_size(text: str) -> int:
    """Return the bytes in `text`: `100TB` and `100T` are 10^14, `1TiB` is 2^40. Thousands' commas (`10,000GB`), the
    sort benchmark's records of 100 bytes (`1e6 records`) and words (`3 terabytes`, `1.5 tebibytes`) are accepted.

    Raises BadInputError for a bare number, an unknown unit, bits, what may be bits, or a size that is not positive, not
    whole bytes or over `LARGEST_SIZE_BYTES`.
    """
    number, unit = _split(text, what="size", example="100TB or 8GiB")
    unit = _abbreviated(unit)
    _require_no_bits(text, number, unit)
    factor = _lookup(unit, _SIZES | _RECORDS) or _lookup(unit, _SHORT_SIZES)
    if factor is None:
        raise BadInputError(
            f"size {text!r}: unknown unit {unit!r}; use one of {', '.join(_SIZES)}", code="unknown-unit"
        )
    size = number * factor
    if not 1 <= size <= LARGEST_SIZE_BYTES:
        raise BadInputError(f"size {text!r} must lie between 1B and 100EB", code="out-of-range")
    return round(size)


def parse_rate(text: str) -> float:
    """Return the bytes per second in `text`: `800MB/s`, `1.5GiB/s`, `25Gbit/s`, `400Mbps`, `400Mbit`; bits are always
    per second.

    Raises BadInputError for a bare number, an unknown unit or a rate that is not positive and finite.
    """
    number, unit = _split(text, what="rate", example="800MB/s or 25Gbit/s")
    unit = _abbreviated(unit)
    stem = re.sub(r"(/s|ps)$", "", unit)
    factor = _SIZES.get(stem) if stem != unit else None
    factor = factor or (_bits(stem) if stem != unit or unit.endswith("bit") else None)
    if factor is None and stem != unit and (unclear := _UNCLEAR.fullmatch(stem)):
        prefix = unclear[1].upper() + unclear[2].lower()
        raise BadInputError(
            f"rate {text!r}: bits or bytes? Write {prefix}bit/s for bits, {prefix}B/s for bytes", code="bits-or-bytes"
        )
    if factor is None:
        raise BadInputError(
            f"rate {text!r}: unknown unit {unit!r}; write it as 800MB/s, 1GiB/s or 25Gbit/s", code="unknown-unit"
        )
    return _positive(number * factor, text=text, what="rate")


def parse_duration(text: str) -> float:
    """Return the seconds in `text`: `90s`, `20m`, `1.5h`, `2d`, `1h 30m`, `1h30`, `2 hours`. Raises BadInputError as
    `parse_rate` does.
    """
    text = _MINUTES_LEFT.sub(r"\1m", text)
    match = _QUANTITY.match(text)
    parts = _PARTS.findall(text) if _SEVERAL.match(text) and not (match and match[2] in _DURATIONS) else [text]
    return _positive(sum(_seconds(part, whole=text) for part in parts), text=text, what="duration")


def parse_seconds(text: str) -> float:
    """Return the seconds in `text`: a duration such as `1m`, or a number of seconds, which may be 0. Raises
    BadInputError for negative values, and as `parse_duration` does.
    """
    match = _QUANTITY.match(text)
    if match is None or match[2]:
        return parse_duration(text)
    return parse_number(text) if parse_number(text) == 0 else parse_duration(f"{text}s")


def _seconds(part: str, *, whole: str) -> float:
    number, unit = _split(part, what="duration", example="20m or 1.5h")
    factor = (_DURATIONS | _PLURALS).get(unit) or _DURATION_WORDS.get(unit.removesuffix("s"))
    if factor is None and unit.startswith(":"):
        raise BadInputError(
            f"duration {whole!r}: a time of day, or minutes and seconds? Write it as 6h or 1h 30m",
            code="ambiguous-duration",
        )
    if factor is None:
        raise BadInputError(
            f"duration {whole!r}: unknown unit {unit!r}; use one of {', '.join(_DURATIONS)}", code="unknown-unit"
        )
    return number * factor


def parse_share(text: str) -> float:
    """Return the fraction in `text`: `95%` and `0.95` are 0.95. Raises BadInputError if it is not a number."""
    try:
        return parse_number(text.strip().removesuffix("%")) / (100 if text.strip().endswith("%") else 1)
    except BadInputError:
        raise BadInputError(f"share {text!r}: write it as 95% or 0.95", code="not-a-share") from None


def parse_number(text: str) -> float:
    """Return the number in `text`: `10,000`, `1e6`, `0.5`. Raises BadInputError if it is not a finite number."""
    match = _QUANTITY.match(text)
    if match is None or match[2] is not None:
        raise BadInputError(f"number {text!r}: write it as 10,000, 1e6 or 0.5", code="not-a-number")
    return float(match[1].replace(",", "").replace("_", ""))


def parse_count(text: str) -> int:
    """Return the whole number in `text`: `10,000,000`, `1e7`, `1e6 records`. Raises BadInputError if it is not one."""
    match = _QUANTITY.match(text)
    if match and match[2] in (None, "records"):
        digits = match[1].replace(",", "").replace("_", "")
        number = int(digits) if digits.isdecimal() and len(digits) <= 100 else float(digits)  # large ones stay exact
        if math.isfinite(number) and number == int(number):
            return int(number)
    raise BadInputError(f"count {text!r}: write a whole number, such as 10,000,000 or 1e7", code="not-a-number")


def count_text(count: float, noun: str, nouns: str = "", *, grouped: bool = False) -> str:
    """Return a number of things: '1 row', '0.5 CPUs', '2 copies' with their plural `nouns` where it is irregular, and
    '1,200 rows' where digits are `grouped`.
    """
    number = f"{count:{',' * grouped}.0f}" if float(count).is_integer() else f"{count:g}"
    return f"{number} {noun if count == 1 else nouns or f'{noun}s'}"


def count_of(count: float, nouns: str) -> str:
    """Return a number of things by their regular plural: 1 of 'rows' -> '1 row'."""
    return count_text(count, nouns.removesuffix("s"))


def format_bytes(size: float) -> str:
    """Return a size to three figures in decimal units: 1.5e12 -> '1.5 TB'."""
    return f"{_scaled(size)}B"


def format_exact_size(size: int) -> str:
    """Return a size to the byte in the unit that makes it shortest, as options take it: 2**40 -> '1TiB'."""
    return min((f"{size // factor}{unit}" for unit, factor in _SIZES.items() if size % factor == 0), key=len)


def format_rate(bytes_per_s: float) -> str:
    """Return a rate to three figures: 8.79e8 -> '879 MB/s'."""
    return f"{_scaled(bytes_per_s)}B/s"


def format_link(bytes_per_s: float) -> str:
    """Return a network's rate in bits, as clouds state it: 1.5625e9 -> '12.5 Gbit/s', to three figures."""
    return f"{_scaled(float(f'{8 * bytes_per_s:.3g}'))}bit/s"


def format_memory(size: float) -> str:
    """Return a size of memory in binary units, as clouds state it: 2**38 -> '256 GiB'."""
    return f"{size / 2**30:.4g} GiB"


def format_duration(seconds: float) -> str:
    """Return a readable duration: 962 -> '16 min 2 s'."""
    if not math.isfinite(seconds):
        return "unknown"
    if 0 < seconds < 0.001:
        return "under 1 ms"
    if seconds < 59.95:
        return f"{seconds:.3g} s"
    whole = round(seconds)
    hours, minutes, rest = whole // 3600, whole % 3600 // 60, whole % 60
    return f"{hours} h {minutes} min" if hours else f"{minutes} min {rest} s"


def format_usd(amount: float) -> str:
    """Return an amount of US dollars, or 'unknown' for NaN; under ten cents to a hundredth of a cent, not $0.00."""
    if not math.isfinite(amount):
        return "unknown"
    if 0 < amount < 0.0001:
        return "under $0.0001"
    written = f"${amount:,.{usd_decimals(amount)}f}"
    return written.removesuffix("00") if usd_decimals(amount) > 2 else written


def usd_decimals(amount: float) -> int:
    """Return the decimals to show for an amount of US dollars; whole cents are too coarse for bills of a few."""
    return 4 if 0 < amount < SMALL_USD else 2


def _split(text: str, *, what: str, example: str) -> tuple[float, str]:
    match = _QUANTITY.match(text)
    if not match:
        raise BadInputError(f"{what} {text!r} is not a number with a unit; write it as {example}", code="not-an-amount")
    digits, unit = match[1].replace("_", "").replace(",", ""), match[2]
    number = int(digits) if digits.isdecimal() and len(digits) <= 20 else float(digits)  # whole bytes stay exact
    if unit and unit.startswith(","):
        pointed = text.strip().replace(",", ".", 1)
        raise BadInputError(
            f"{what} {text!r}: a comma separates thousands; write decimals with a point: {pointed}",
            code="decimal-comma",
        )
    if unit is None:
        raise BadInputError(f"{what} {text!r} has no unit; write it as {example}", code="no-unit")
    return number, unit


def _abbreviated(unit: str) -> str:
    """Return `TB` for `terabytes`, `Gbit/s` for `gigabits per second`, and other units as they are."""
    words = _UNIT_WORDS.fullmatch(unit)
    if words is None:
        return unit
    symbol = "bit" if words[2].lower() == "bit" else "B"
    return _PREFIXES[words[1].lower()] + symbol + ("/s" if words[3] else "")


def _require_no_bits(text: str, number: float, unit: str) -> None:
    """Raise BadInputError, with both readings, for a size in bits or one that could mean bits or bytes."""
    unclear = _UNCLEAR.fullmatch(unit)
    prefix = unit.removesuffix("bit") if unit.endswith("bit") else ""
    if unclear and unit[-1] == "b":
        prefix = unclear[1].upper() + unclear[2].lower()
    elif not unit.endswith("bit"):
        return
    factor = _SIZES.get(f"{prefix}B")
    if factor is None:
        return
    plain = f"{number:g}".replace("e+", "e")
    question = "bits or bytes? Write" if unclear else "sizes are in bytes. Write"
    in_bytes = f"{plain}{prefix}B for bytes, or " if unclear else ""
    raise BadInputError(
        f"size {text!r}: {question} {in_bytes}{number / 8:g}{prefix}B for {plain} {prefix}bit", code="bits-or-bytes"
    )


def _lookup(unit: str, units: dict[str, int]) -> int | None:
    """Match a unit exactly, or with its case folded where that stays unambiguous (`500g`, `1kB`)."""
    return units.get(unit) or {name.casefold(): value for name, value in units.items()}.get(unit.casefold())


def _bits(stem: str) -> float | None:
    """Return bytes per unit of a bit rate, written `Gbit` or `Gb`; the b of bits is never taken for the B of bytes."""
    factor = _BIT_RATES.get(f"{stem}it" if stem.endswith("b") else stem)
    return None if factor is None else factor / 8


def _positive(value: float, *, text: str, what: str) -> float:
    if not (math.isfinite(value) and value > 0):
        raise BadInputError(f"{what} {text!r} must be positive and finite", code="out-of-range")
    return float(value)


def _scaled(value: float) -> str:
    if not math.isfinite(value):
        return "unknown "
    power = 0 if value < 1 else min(6, int(math.log10(value) // 3))
    return f"{value / 1000**power:.4g} {['', 'K', 'M', 'G', 'T', 'P', 'E'][power]}"
