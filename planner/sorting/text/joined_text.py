"""Texts one after another as one, as the sort core joins files: they take one pipe, however many they are."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from planner.compression.text_codecs import Source
from planner.errors import BadInputError
from planner.sorting.records.keyed import TextOrder


def grouped(sources: Sequence[Source]) -> Iterator[list[Source]]:
    """Yield the sources in their order: files that the core reads each alone, neighbours that need a pipe together."""
    piped: list[Source] = []
    for source in sources:
        if source.chunks is not None:
            piped.append(source)
            continue
        if piped:
            yield piped
        yield [source]
        piped = []
    if piped:
        yield piped


def joined(sources: Sequence[Source], order: TextOrder) -> Iterator[bytes]:
    """Yield the text of all; a last line without its end gets it.

    Raises BadInputError for a quoted field of CSV without an end, and for half a record, by the source's name.
    """
    for source in sources:
        size, is_within_quotes, last = 0, False, b""
        for chunk in source.chunks or ():
            if chunk:
                size += len(chunk)
                last = chunk[-1:]
                is_within_quotes ^= bool(order.csv) and _flips_quotes(chunk, order)
            yield chunk
        if is_within_quotes:
            raise BadInputError(f"{source.name}: the last row has a quoted field that has no end")
        if order.record_bytes:
            _require_whole_records(source.name, size, order.record_bytes)
        elif last not in (b"", order.line_end):
            yield _line_end(order, last)


def _flips_quotes(chunk: bytes, order: TextOrder) -> bool:
    return order.csv is not None and chunk.count(order.csv[1]) % 2 == 1


def _line_end(order: TextOrder, last: bytes) -> bytes:
    adds_return = order.csv is not None and order.csv[3] and last != b"\r"
    return b"\r" + order.line_end if adds_return else order.line_end


def _require_whole_records(name: str, size: int, record_bytes: int) -> None:
    if left := size % record_bytes:
        raise BadInputError(f"{name} holds no whole number of records of {record_bytes} bytes: {left} are left over")
