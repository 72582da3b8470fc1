"""Keys of fixed-size records: a range of bytes, and how it compares."""

from __future__ import annotations

import re
from typing import Final

from planner.errors import BadInputError, nearest
from planner.sorting.records.keys import UNLIMITED, Key

_TEXTS: Final = {"bytes": "U", "fold": "f", "natural": "A", "int": "I", "num": "N", "float": "F"}
_DIRECTIONS: Final = {"asc": "", "desc": "r"}
_LETTERS: Final = {"u": "U", "i": "S", "f": "D"}
_BINARY: Final = re.compile(r"([uif])(8|16|24|32|40|48|56|64)(le|be)?")
_FLOAT_BYTES: Final = (2, 4, 8)
_FORM: Final = "OFFSET:SIZE[:bytes|fold|natural|int|num|float][:desc], or OFFSET:u64le, :i32be, :f64le and their kin"


def parse_record_key(text: str, *, record_bytes: int) -> Key:
    """Return the key `OFFSET:SIZE[:KIND][:asc|desc]`; the size may be left out where the kind implies it.

    KIND is bytes, fold, natural, or int, num and float in digits; or u, i, f with its bits and le or be, as u64le: a
    binary number. Of binary floats NaN is the greatest, and -0.0 equals 0.0. Raises BadInputError.
    """
    words = text.split(":")
    numbers = [int(word) for word in words[:2] if word.isascii() and word.isdigit()]
    form, options = _form(words[len(numbers) :], text)
    bits_size = _binary_bytes(form, text)
    if not numbers or (len(numbers) == 1 and bits_size is None):
        raise BadInputError(f"--key {text}: a key of records is {_FORM}", code="malformed")
    size = bits_size if len(numbers) == 1 else numbers[1]
    if bits_size not in (None, size):
        raise BadInputError(f"--key {text}: {form} has {bits_size} bytes, not {size}", code="wrong-width")
    begin, end = numbers[0], numbers[0] + (size or 0)
    if begin == end or end > record_bytes:
        raise BadInputError(
            f"--key {text}: bytes {begin} to {end} are no part of a record of {record_bytes} bytes",
            code="beyond-record",
        )
    return Key(UNLIMITED, begin, 0, end, options)


def bytes_key(*, offset: int, size: int, record_bytes: int) -> Key:
    """Return the key given by --key-offset and --key-size. Raises BadInputError."""
    return parse_record_key(f"{offset}:{size}", record_bytes=record_bytes)


def _form(words: list[str], text: str) -> tuple[str, str]:
    """Return the kind, and the core's letters for it and the direction."""
    kinds = [word for word in words if word not in _DIRECTIONS]
    directions = [word for word in words if word in _DIRECTIONS]
    if len(kinds) > 1 or len(directions) > 1:
        raise BadInputError(
            f"--key {text}: {(kinds if len(kinds) > 1 else directions)[1]!r} is one word too many", code="extra-word"
        )
    form = kinds[0] if kinds else "bytes"
    return form, _letters(form, text) + _DIRECTIONS[directions[0] if directions else "asc"]


def _letters(form: str, text: str) -> str:
    if form in _TEXTS:
        return _TEXTS[form]
    match = _BINARY.fullmatch(form)
    if match is None:
        every = [*_TEXTS, "u64le", "i64le", "f64le", "u32be", *_DIRECTIONS]
        raise BadInputError(
            f"--key {text}: {form!r} is none of {', '.join(every)}.{nearest(form, every)}", code="unknown-word"
        )
    if match[3] is None and match[2] != "8":
        raise BadInputError(
            f"--key {text}: say {form}le if the first byte counts least, {form}be if it counts most",
            code="byte-order-missing",
        )
    return _LETTERS[match[1]] + ("L" if match[3] == "le" else "")


def _binary_bytes(form: str, text: str) -> int | None:
    match = _BINARY.fullmatch(form)
    if match is None:
        return None
    size = int(match[2]) // 8
    if match[1] == "f" and size not in _FLOAT_BYTES:
        raise BadInputError(
            f"--key {text}: floating-point numbers have 16, 32 or 64 bits, not {match[2]}", code="float-bits"
        )
    return size
