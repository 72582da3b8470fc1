"""Output of `planner gnusort --debug`: marks of the keys below each line, and warnings of doubtful options."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator

from planner.cli.sort.gnusort_options import Options
from planner.sorting.records.keys import UNLIMITED, Key, with_defaults

_BLANKS = b" \t\n"
_FIELD = re.compile(rb"[ \t\n]*[^ \t\n]*")
_DECIMAL = re.compile(rb"-?(?=\.?[0-9])[0-9]*(?:\.[0-9]*)?")
_GENERAL = re.compile(
    rb"[ \t\n\v\f\r]*[+-]?(?:inf(?:inity)?|nan(?:\(\w*\))?|0x(?=\.?[0-9a-f])[0-9a-f]*(?:\.[0-9a-f]*)?(?:p[+-]?[0-9]+)?"
    rb"|(?=\.?[0-9])[0-9]*(?:\.[0-9]*)?(?:e[+-]?[0-9]+)?)",
    re.IGNORECASE,
)
_MONTH = re.compile(rb"jan|feb|mar|apr|may|jun|jul|aug|sep|oct|nov|dec", re.IGNORECASE)
_SUFFIXES = b"kKMGTPEZYRQ"
_NUMERIC = frozenset("ngh")
_IN_ORDER = "bdfghiMnRrV"


def debug_lines(lines: Iterable[bytes], options: Options) -> Iterator[bytes]:
    """Yield each line, tabs as `>`, with marks of its keys and, where that decides last, of the whole line."""
    keys = with_defaults(options.keys, options.ordering)
    is_last = not (options.stable or options.unique)
    for line in lines:
        yield line.replace(b"\t", b">") + b"\n"
        for key in keys:
            yield _mark(line, *_extent(line, key, options.separator))
        if is_last or not keys:
            yield _mark(line, 0, len(line))


def _mark(line: bytes, begin: int, end: int) -> bytes:
    width = _width(line[begin:end])
    return b" " * _width(line[:begin]) + (b"_" * width if width else b"^ no match for key") + b"\n"


def _width(text: bytes) -> int:
    """Return the width of a text in columns; control characters have none, except the tab."""
    return sum(byte == 9 or not (byte < 32 or byte == 127) for byte in text)


def _extent(line: bytes, key: Key, separator: bytes | None) -> tuple[int, int]:
    """Return where a key begins and ends; for numbers and months only the part that is read."""
    begin = 0 if key.first_field == UNLIMITED else _begin(line, key, separator)
    end = len(line) if key.last_field == UNLIMITED else _end(line, key, separator)
    letters = set(key.options)
    skips = "b" in letters and key.first_field == UNLIMITED
    if not (skips or letters & {*_NUMERIC, "M"}):
        return begin, max(begin, end)
    while begin < end and line[begin] in _BLANKS:
        begin += 1
    pattern = _MONTH if "M" in letters else _GENERAL if "g" in letters else _DECIMAL if letters & {"n", "h"} else None
    if pattern is None or end < begin:
        return begin, max(begin, end)
    match = pattern.match(line, begin, end)
    last = match.end() if match else begin
    return begin, last + (
        match is not None and "h" in letters and line[last:end][:1] in [bytes([s]) for s in _SUFFIXES]
    )


def _skip_fields(line: bytes, separator: bytes | None, fields: int) -> int:
    at = 0
    for _ in range(fields):
        if at >= len(line):
            break
        if separator is None:
            match = _FIELD.match(line, at)
            at = match.end() if match else at
        else:
            at = line.find(separator, at) + 1 or len(line)
    return at


def _skip_blanks(line: bytes, at: int) -> int:
    while at < len(line) and line[at] in _BLANKS:
        at += 1
    return at


def _begin(line: bytes, key: Key, separator: bytes | None) -> int:
    at = _skip_fields(line, separator, key.first_field)
    at = _skip_blanks(line, at) if "b" in key.options else at
    return min(at + key.first_byte, len(line))


def _end(line: bytes, key: Key, separator: bytes | None) -> int:
    at = _skip_fields(line, separator, key.last_field)
    if key.last_field_bytes:
        at = _skip_blanks(line, at) if "B" in key.options else at
        return min(at + key.last_field_bytes, len(line))
    if separator is None:
        return len(line) if at >= len(line) else _skip_fields(line[at:], None, 1) + at
    behind = line.find(separator, at)
    return len(line) if behind < 0 else behind


def warnings(options: Options) -> Iterator[str]:
    """Yield GNU sort's warnings: keys that match nothing, blanks that count, options without effect."""
    keys = with_defaults(options.keys, options.ordering)
    yield "text ordering performed using simple byte comparison"
    for number, key in enumerate(keys, 1):
        yield from _of_key(number, key, options)
    numeric = [key for key in keys if set(key.options) & _NUMERIC]
    spans = [key for key in numeric if options.keys and _spans_fields(key)]
    marks = {b".": "a decimal point", b"-": "a minus sign"}
    if any("g" in key.options for key in spans):
        marks[b"+"] = "a plus sign"
    is_said = bool(spans) and options.separator in marks
    if is_said and options.separator is not None:
        shown = options.separator.decode()
        yield f"field separator '{shown}' is treated as {marks[options.separator]} in numbers"
    if numeric and not (is_said and options.separator == b"."):
        yield "note numbers use '.' as a decimal point in this locale"
    yield from _of_ignored(keys, options)


def _spans_fields(key: Key) -> bool:
    first = 1 if key.first_field == UNLIMITED else key.first_field + 1
    return key.last_field == UNLIMITED or first < key.last_field + 1


def _of_key(number: int, key: Key, options: Options) -> Iterator[str]:
    if number - 1 in options.old_keys:
        yield options.old_keys[number - 1]
    has_width = key.first_field == UNLIMITED or key.last_field >= key.first_field
    if not has_width:
        yield f"key {number} has zero width and will be ignored"
    skips = bool(set(key.options) & {*_NUMERIC, "M"})
    is_by_place = key.last_field == 0 and key.last_field_bytes != 0
    begins_loose = "b" not in key.options and (not skips or key.first_byte)
    ends_loose = "B" not in key.options and key.last_field_bytes
    if has_width and options.keys and options.separator is None and not is_by_place and (begins_loose or ends_loose):
        yield f"leading blanks are significant in key {number}; consider also specifying 'b'"
    if options.keys and set(key.options) & _NUMERIC and _spans_fields(key):
        yield f"key {number} is numeric and spans multiple fields"


def _of_ignored(keys: list[Key], options: Options) -> Iterator[str]:
    """Yield the warning of global options that no key uses."""
    used = {letter for key in keys for letter in key.options}
    has_fallback = not (options.stable or options.unique)
    ignored = {letter for letter in options.ordering if letter not in used} - {"r"}
    is_reversed = "r" in options.ordering and bool(options.keys) and "r" not in used
    shown = [
        letter for letter in _IN_ORDER if letter in ignored or (letter == "r" and is_reversed and not has_fallback)
    ]
    if shown:
        yield f"option{'s' * (len(shown) > 1)} '-{''.join(shown)}' {'are' if len(shown) > 1 else 'is'} ignored"
    if is_reversed and has_fallback:
        yield "option '-r' only applies to last-resort comparison"
