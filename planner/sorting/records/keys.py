"""Keys by which text is sorted: what GNU sort's `-k POS1[,POS2]` and ordering options say, parsed once for all.

Nothing here loads the sort core or dataclasses, as `gnusort` must begin quickly.
"""

from __future__ import annotations

from typing import NamedTuple

UNLIMITED = 2**64 - 1
"""No such field: of a first one, the line's beginning; of a last one, its end."""
ORDERINGS = "bdfghiMnRrV"
"""The letters that say how a key compares, as in GNU sort."""
_KINDS = "nghM"


class BadKeyError(ValueError):
    """A key that cannot be; the message says what and where."""


class Key(NamedTuple):
    """From a byte of a field to a byte of a field, counted from 0, and how that compares; as the core takes it."""

    first_field: int = UNLIMITED
    first_byte: int = 0
    last_field: int = UNLIMITED
    last_field_bytes: int = 0
    options: str = ""


def parse_key(text: str) -> Key:
    """Return the key that `POS1[,POS2]` with its letters means; raise BadKeyError as GNU sort words it."""
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
    """Give keys that say nothing themselves the global `options`; without keys these make one of the whole line."""
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
        """Take the letters of options; `b` is returned as `blanks`, for which end of the key it is."""
        start = self._at
        while self._at < len(self._text) and self._text[self._at] in ORDERINGS:
            self._at += 1
        return self._text[start : self._at].replace("b", blanks)

    def error(self, why: str) -> BadKeyError:
        return BadKeyError(f"{why}: invalid field specification {quote(self._text)}")


def quote(text: str) -> str:
    """Return the text in single quotes, as GNU sort shows it in the locale C."""
    return "'" + "".join(f"\\{letter}" if letter in "\\'" else escaped(letter) for letter in text) + "'"


_ESCAPES = {"\a": "\\a", "\b": "\\b", "\f": "\\f", "\n": "\\n", "\r": "\\r", "\t": "\\t", "\v": "\\v"}


def escaped(letter: str) -> str:
    """Return a character as GNU programs print it in the locale C: what does not print by its bytes."""
    if " " <= letter <= "~":
        return letter
    return _ESCAPES.get(letter) or "".join(f"\\{byte:03o}" for byte in letter.encode(errors="surrogateescape"))


def _digits(text: str) -> int:
    return next((i for i, character in enumerate(text) if character not in "0123456789"), len(text))
