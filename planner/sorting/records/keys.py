"""Keys by which text is sorted: GNU sort's `-k POS1[,POS2]` and ordering options, with one parser for all callers.

This module loads neither the sort core nor dataclasses, so that `gnusort` starts quickly.
"""

from __future__ import annotations

from typing import NamedTuple

UNLIMITED = 2**64 - 1
"""No field given: as the first field, the line's beginning; as the last field, its end."""
ORDERINGS = "bdfghiMnRrV"
"""Letters of the ordering options, as in GNU sort."""
_KINDS = "nghM"


class BadKeyError(ValueError):
    """An invalid key; the message names the error and its place."""


class Key(NamedTuple):
    """A range from a byte of a field to a byte of a field, counted from 0, and how it compares; in the core's form."""

    first_field: int = UNLIMITED
    first_byte: int = 0
    last_field: int = UNLIMITED
    last_field_bytes: int = 0
    options: str = ""


def parse_key(text: str) -> Key:
    """Return the key for `POS1[,POS2]` with its letters. Raises BadKeyError with GNU sort's wording."""
    reader = _Reader(text)
    first_field = reader.count("invalid number at field start") - 1
    if first_field < 0:
        raise reader.error("field number is zero")
    first_byte = 0
    if reader.take("."):
        first_byte = reader.count("invalid number after '.'") - 1
        if first_byte < 0:
            raise reader.error("character offset is zero")
    key = Key(first_field if first_field or first_byte else UNLIMITED, first_byte, options=reader.letters("b"))
    if reader.take(","):
        key = _with_end(reader, key)
    reader.must_end()
    return key


def parse_old_key(start: str, end: str | None) -> Key:
    """Return the key of the obsolete `+POS1 [-POS2]`, both given without their sign and counted from 0."""
    reader = _Reader(start)
    first_field = reader.count("invalid number after '+'")
    first_byte = reader.count("invalid number after '.'") if reader.take(".") else 0
    key = Key(first_field if first_field or first_byte else UNLIMITED, first_byte, options=reader.letters("b"))
    reader.must_end()
    if end is None:
        return key
    reader = _Reader(end)
    last_field = reader.count("invalid number after '-'")
    last_bytes = reader.count("invalid number after '.'") if reader.take(".") else 0
    options = key.options + reader.letters("B")
    reader.must_end()
    last_field -= 1 if last_field and not last_bytes else 0
    return key._replace(last_field=last_field, last_field_bytes=last_bytes, options=options)


def with_defaults(keys: list[Key], options: str) -> list[Key]:
    """Apply the global `options` to keys without their own; if there are no keys, they make one of the whole line."""
    both = options + ("B" if "b" in options else "")
    if not keys and set(options) - {"r"}:
        return [Key(options=both)]
    return [key._replace(options=both) if not key.options else key for key in keys]


def check_compatible(key: Key) -> None:
    """Raise BadKeyError where a key's options exclude each other."""
    has = set(key.options)
    if len(has & set(_KINDS)) + bool(has & set("VRdi")) > 1:
        shown = "".join(letter for letter in "dfghiMnRV" if letter in has)
        if "d" in has:
            shown = shown.replace("i", "")
        raise BadKeyError(f"options '-{shown}' are incompatible")


def _with_end(reader: _Reader, key: Key) -> Key:
    last_field = reader.count("invalid number after ','") - 1
    if last_field < 0:
        raise reader.error("field number is zero")
    last_bytes = reader.count("invalid number after '.'") if reader.take(".") else 0
    options = key.options + reader.letters("B")
    return key._replace(last_field=last_field, last_field_bytes=last_bytes, options=options)


class _Reader:
    """Reads a key's text from left to right."""

    def __init__(self, text: str) -> None:
        self._text = text
        self._at = 0

    def must_end(self) -> None:
        if self._at != len(self._text):
            raise self.error("stray character in field spec")

    def take(self, character: str) -> bool:
        if not self._text.startswith(character, self._at):
            return False
        self._at += 1
        return True

    def count(self, what: str) -> int:
        rest = self._text[self._at :]
        body = rest.lstrip(" \t\n\v\f\r")
        sign = body[:1] == "+"
        digits = body[sign : sign + _digits(body[sign:])]
        if not digits:
            raise BadKeyError(f"{what}: invalid count at start of {quote(rest)}")
        self._at += len(rest) - len(body) + sign + len(digits)
        return min(int(digits), UNLIMITED)

    def letters(self, blanks: str) -> str:
        """Take the letters of options; `b` is returned as `blanks`, which depends on the end of the key."""
        start = self._at
        while self._at < len(self._text) and self._text[self._at] in ORDERINGS:
            self._at += 1
        return self._text[start : self._at].replace("b", blanks)

    def error(self, why: str) -> BadKeyError:
        return BadKeyError(f"{why}: invalid field specification {quote(self._text)}")


def quote(text: str) -> str:
    """Return the text in single quotes, as GNU sort prints it in the locale C."""
    return "'" + "".join(f"\\{letter}" if letter in "\\'" else escaped(letter) for letter in text) + "'"


_ESCAPES = {"\a": "\\a", "\b": "\\b", "\f": "\\f", "\n": "\\n", "\r": "\\r", "\t": "\\t", "\v": "\\v"}


def escaped(letter: str) -> str:
    """Return a character as GNU programs print it in the locale C: unprintable ones by their bytes."""
    if " " <= letter <= "~":
        return letter
    return _ESCAPES.get(letter) or "".join(f"\\{byte:03o}" for byte in letter.encode(errors="surrogateescape"))


def _digits(text: str) -> int:
    return next((i for i, character in enumerate(text) if character not in "0123456789"), len(text))
