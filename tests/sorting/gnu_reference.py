"""A second implementation of GNU sort's order in the locale C: slow, comparing as its manual describes."""

from __future__ import annotations

import random
import re
from dataclasses import dataclass
from fractions import Fraction
from functools import cmp_to_key

from planner.sorting.records.keys import UNLIMITED, Key, with_defaults

_BLANKS = b" \t\n"
_MONTHS = ["JAN", "FEB", "MAR", "APR", "MAY", "JUN", "JUL", "AUG", "SEP", "OCT", "NOV", "DEC"]
_SUFFIXES = {b: order for order, both in enumerate(["", "Kk", "M", "G", "T", "P", "E", "Z", "Y"]) for b in both}


@dataclass(frozen=True)
class Case:
    """A text and its sort options, for GNU sort and for ours alike."""

    text: bytes
    keys: tuple[Key, ...]
    arguments: tuple[str, ...]
    separator: bytes | None
    line_end: bytes
    stable: bool
    unique: bool
    reversed: bool


def sign(a: object, b: object) -> int:
    """Return < 0, 0, > 0 as `a` is less than, equal to, greater than `b`."""
    return (a > b) - (a < b)  # type: ignore[operator]


def split(text: bytes, line_end: bytes) -> list[bytes]:
    """Return the lines without their ends; the last may lack its own."""
    lines = text.split(line_end)
    return lines[:-1] if not lines[-1] else lines


def expected(case: Case) -> bytes:
    """Return the sorted text."""
    ordered = sorted(split(case.text, case.line_end), key=cmp_to_key(lambda a, b: compare(case, a, b)))
    if case.unique:
        ordered = [line for i, line in enumerate(ordered) if i == 0 or compare(case, ordered[i - 1], line)]
    return b"".join(line + case.line_end for line in ordered)


def compare(case: Case, a: bytes, b: bytes) -> int:
    """Return < 0, 0, > 0 as line `a` comes before, is equal to, comes after `b`."""
    for key in case.keys:
        order = compare_keys(key, extract(key, a, case.separator), extract(key, b, case.separator))
        if order:
            return -order if "r" in key.options else order
    if case.keys and (case.stable or case.unique):
        return 0
    return -sign(a, b) if case.reversed else sign(a, b)


def _skip_fields(line: bytes, at: int, separator: bytes | None, fields: int) -> int:
    for _ in range(fields):
        if at >= len(line):
            break
        if separator is None:
            match = re.compile(rb"[ \t\n]*[^ \t\n]*").match(line, at)
            assert match
            at = match.end()
        else:
            at = line.find(separator, at) + 1 or len(line)
    return at


def _skip_blanks(line: bytes, at: int) -> int:
    while at < len(line) and line[at] in _BLANKS:
        at += 1
    return at


def extract(key: Key, line: bytes, separator: bytes | None) -> bytes:
    """Return the key's part of the line."""
    start = _skip_fields(line, 0, separator, 0 if key.first_field == UNLIMITED else key.first_field)
    if "b" in key.options:
        start = _skip_blanks(line, start)
    start = min(start + key.first_byte, len(line))
    if key.last_field == UNLIMITED:
        return line[start:]
    if key.last_field_bytes:
        end = _skip_fields(line, 0, separator, key.last_field)
        end = _skip_blanks(line, end) if "B" in key.options else end
        return line[start : end + key.last_field_bytes]
    end = _skip_fields(line, 0, separator, key.last_field)
    if separator is None:
        end = _skip_fields(line, end, None, 1)
    elif end < len(line):
        behind = line.find(separator, end)
        end = len(line) if behind < 0 else behind
    return line[start : max(start, end)]


def compare_keys(key: Key, a: bytes, b: bytes) -> int:
    """Compare two keys by the key's kind, ascending."""
    a, b = _translated(key, a), _translated(key, b)
    for letter, of in (("n", decimal), ("g", general), ("h", human), ("M", month)):
        if letter in key.options:
            return sign(of(a), of(b))
    return compare_versions(a, b) if "V" in key.options else sign(a, b)


def _translated(key: Key, text: bytes) -> bytes:
    if "f" in key.options:
        text = text.upper()
    if "d" in key.options:
        return re.sub(rb"[^A-Za-z0-9 \t\n]", b"", text)
    return re.sub(rb"[^ -~]", b"", text) if "i" in key.options else text


def _number(text: bytes) -> tuple[Fraction, bytes]:
    match = re.match(rb"[ \t\n]*(-?)([0-9]*)(?:\.([0-9]*))?", text)
    assert match
    whole, fraction = match[2] or b"0", match[3] or b""
    value = Fraction(int(whole)) + Fraction(int(fraction or b"0"), 10 ** len(fraction))
    return (-value if match[1] else value), text[match.end() :]


def decimal(text: bytes) -> Fraction:
    """Return the number at the beginning, or 0."""
    return _number(text)[0]


def human(text: bytes) -> tuple[int, Fraction]:
    """Return the order of the suffix, with the number's sign, and the number."""
    value, rest = _number(text)
    order = _SUFFIXES.get(chr(rest[0]), 0) if rest and value else 0
    return (-order if value < 0 else order), value


def general(text: bytes) -> tuple[int, Fraction]:
    """Return a value that orders no number, NaN, -NaN, minus infinity, numbers and infinity like this."""
    match = re.match(
        rb"[ \t\n\v\f\r]*([+-]?)(inf|nan|0x[0-9a-f]+|(?:[0-9]+\.?[0-9]*|\.[0-9]+)(?:e[+-]?[0-9]+)?)", text, re.I
    )
    if not match:
        return 0, Fraction(0)
    negative, word = match[1] == b"-", match[2].lower()
    if word == b"nan":
        return 1 + negative, Fraction(0)
    if word == b"inf":
        return (3 if negative else 5), Fraction(0)
    value = (
        Fraction(int(word, 16)) if word.startswith(b"0x") else Fraction(word.decode().rstrip(".").replace(".e", "e"))
    )
    return 4, (-value if negative else value)


def month(text: bytes) -> int:
    """Return 1 to 12, or 0 for no month."""
    name = text.lstrip(_BLANKS)[:3].decode("latin-1").upper()
    return _MONTHS.index(name) + 1 if name in _MONTHS else 0


def compare_versions(a: bytes, b: bytes) -> int:
    """Compare like GNU's filevercmp: without suffixes first."""
    ranks = [0 if not name else 4 if name[:1] != b"." else {b".": 1, b"..": 2}.get(name, 3) for name in (a, b)]
    if ranks[0] != ranks[1] or ranks[0] < 3:
        return sign(*ranks)
    suffix = re.compile(rb"(?:\.[A-Za-z~][A-Za-z0-9~]*)*\Z")
    bases = [name[: max(_suffix_start(suffix, name), 1)] for name in (a, b)]
    return _compare_runs(*bases) or _compare_runs(a, b)


def _suffix_start(suffix: re.Pattern[bytes], name: bytes) -> int:
    match = suffix.search(name, 1)
    assert match
    return match.start()


def _rank(text: bytes, at: int) -> int:
    if at >= len(text):
        return -1
    character = text[at : at + 1]
    if character.isdigit():
        return 0
    if character == b"~":
        return -2
    return character[0] if character.isalpha() else character[0] + 256


def _compare_runs(a: bytes, b: bytes) -> int:
    i = j = 0
    while i < len(a) or j < len(b):
        while (i < len(a) and not a[i : i + 1].isdigit()) or (j < len(b) and not b[j : j + 1].isdigit()):
            if _rank(a, i) != _rank(b, j):
                return sign(_rank(a, i), _rank(b, j))
            i, j = i + 1, j + 1
        digits = [re.compile(rb"[0-9]*").match(text, at) for text, at in ((a, i), (b, j))]
        values = [int(match[0] or b"0") for match in digits if match]
        if values[0] != values[1]:
            return sign(*values)
        i, j = (match.end() for match in digits if match)
    return 0


_WORDS = [
    b"", b"a", b"B", b"b", b"ab", b"a.b", b"A~", b"a-1.2", b"a01", b"a1", b"a1b", b".x", b"..", b"x.tar.gz", b"1",
    b"01", b"10", b"-1", b"-0", b"+1", b"1.5", b"1.50", b".5", b"-.5", b"1,000", b"1K", b"2k", b"1M", b"-1G", b"0K",
    b"3Y", b"1e3", b"0x1F", b"inf", b"-inf", b"nan", b"-nan", b"1e-2", b"99999999999999999999", b"jan", b"FEB",
    b"marsh", b"Dec", b"de", b"\0", b"\1", b"\xff", b"!", b"a\0b",
]  # fmt: skip
_GAPS = [b" ", b"  ", b"\t", b",", b":", b" \t", b",,"]


def random_case(chance: random.Random) -> Case:
    """Return a small text with traps in it, and keys to sort it by."""
    line_end = b"\0" if chance.random() < 0.15 else b"\n"
    separator = chance.choice([None, None, b",", b":", b" ", b"a"])
    keys = tuple(_random_key(chance) for _ in range(chance.choice([0, 1, 1, 1, 2, 3])))
    options = "".join(letter for letter in "bfr" if chance.random() < 0.2)
    arguments = [f"-{options}"] if options else []
    arguments += [] if separator is None else ["-t", separator.decode()]
    flags = {"z": line_end == b"\0", "s": chance.random() < 0.3, "u": chance.random() < 0.25}
    arguments += [f"-{flag}" for flag, wanted in flags.items() if wanted]
    arguments += [f"-k{shown(key)}" for key in keys]
    text = line_end.join(_random_line(chance, line_end) for _ in range(chance.randrange(12)))
    text += line_end if chance.random() < 0.8 else b""
    return Case(
        text, tuple(with_defaults(list(keys), options)), tuple(arguments), separator, line_end,
        stable=flags["s"], unique=flags["u"], reversed="r" in options,
    )  # fmt: skip


def _random_line(chance: random.Random, line_end: bytes) -> bytes:
    line = b"".join(chance.choice(_WORDS) + chance.choice(_GAPS) for _ in range(chance.randrange(5)))
    line += chance.choice(_WORDS)
    if line_end == b"\0" and chance.random() < 0.2:
        line += b"\nx"
    return line.replace(line_end, b"")


def _random_key(chance: random.Random) -> Key:
    how = chance.choice(["", "", "n", "g", "h", "M", "V", "d", "i", "di"])
    options = how + "".join(letter for letter in "bBfr" if chance.random() < 0.2)
    first_field = chance.randrange(3)
    first_byte = chance.choice([0, 0, 0, 1, 2])
    ends = chance.random() < 0.6
    last_bytes = chance.choice([0, 0, 1, 2, 5])
    return Key(
        first_field=first_field if first_field or first_byte else UNLIMITED,
        first_byte=first_byte,
        last_field=chance.randrange(4) if ends else UNLIMITED,
        last_field_bytes=last_bytes if ends else 0,
        options=options if ends else options.replace("B", ""),
    )


def shown(key: Key) -> str:
    """Return the key as `-k` takes it."""
    field = 0 if key.first_field == UNLIMITED else key.first_field
    start = f"{field + 1}.{key.first_byte + 1}{key.options.replace('B', '')}"
    if key.last_field == UNLIMITED:
        return start
    end = f",{key.last_field + 1}" + (f".{key.last_field_bytes}" if key.last_field_bytes else "")
    return start + end + ("b" if "B" in key.options else "")
