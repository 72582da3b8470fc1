"""Damage to files: bytes anywhere, and in Parquet the structs of the footer and of pages, and what pages hold."""

from __future__ import annotations

import random
from collections.abc import Callable, Iterator
from typing import Any, NamedTuple

import pyarrow as pa

from planner.sorting.tables.parquet_parts import Field, List, read_footer_struct, read_sized_struct, struct_bytes

NUMBERS = (-1, 0, 1, 3, 16, 255, 2**16, 2**31 - 1, 2**31, 2**32, 2**62, 2**63 - 1, -(2**31), -(2**63))
CODECS = ("none", "snappy", "gzip", "lzo", "brotli", "lz4", "zstd", "lz4_raw")


class Boasting(list[Any]):
    """A list whose stored length is a lie."""

    said = 0

    def __len__(self) -> int:
        return self.said


def mutated(content: bytes, chance: random.Random) -> bytes:
    """Return the content damaged in one way, or now and then in two."""
    ways: list[Callable[[bytes, random.Random], bytes]] = [bytes_changed]
    if content.startswith(b"PAR1"):
        ways = [bytes_changed, _footer_changed, _footer_changed, _counts_changed, _page_header_changed, _page_changed]
    for _ in range(chance.choice((1, 1, 1, 1, 2))):
        content = chance.choice(ways)(content, chance)
        if len(ways) > 1 and not _is_whole_table(content):
            break
    return content


def _is_whole_table(content: bytes) -> bool:
    """Return whether the damage left what further damage of structs reads."""
    try:
        return bool(pages(content))
    except (IndexError, ValueError, KeyError, TypeError, AttributeError):
        return False


def bytes_changed(content: bytes, chance: random.Random) -> bytes:
    """Return content with bytes changed, cut out, repeated or added."""
    data = bytearray(content)
    for _ in range(chance.choice((1, 1, 1, 2, 8))):
        if not data:
            break
        place = chance.choice((chance.randrange(len(data)), max(len(data) - chance.randint(1, 40), 0)))
        size = chance.choice((1, 4, 16, 100))
        kind = chance.random()
        if kind < 0.6:
            data[place] = chance.choice((data[place] ^ 1 << chance.randrange(8), 0, 255, chance.randrange(256)))
        elif kind < 0.7:
            data[place : place + size] = bytes([chance.choice((0, 255))]) * len(data[place : place + size])
        elif kind < 0.76:
            data[place] |= 128  # a longer number
        elif kind < 0.82:
            del data[place:]
        elif kind < 0.88:
            del data[place : place + size]
        elif kind < 0.94:
            data[place:place] = data[(other := chance.randrange(len(data))) : other + size]
        else:
            data += chance.choice((bytes(size), chance.randbytes(size), data[:size], b"\n"))
    return bytes(data)


def _number(value: int, chance: random.Random) -> int:
    return chance.choice((*NUMBERS, value + 1, value - 1, value * 2, value // 2, -value, value + chance.randrange(64)))


def _struct_changed(struct: Any, chance: random.Random) -> None:
    """Change one field of a struct, or of one within it."""
    below, number = chance.choice(list(_fields(struct)))
    below[number] = _other(below[number], chance)
    if chance.random() < 0.1:
        del below[number]
    if chance.random() < 0.1:
        below[chance.randrange(1, 20)] = Field(5, chance.randrange(-3, 40))


def _fields(struct: Any) -> Iterator[tuple[Any, int]]:
    for number, (_, value) in struct.items():
        yield struct, number
        for below in value.values if isinstance(value, List) else [value]:
            if isinstance(below, dict):
                yield from _fields(below)


def _other(field: Field, chance: random.Random) -> Field:
    value = field.value
    if isinstance(value, bool):
        return field._replace(value=not value)
    if isinstance(value, int):
        return field._replace(value=_number(value, chance))
    if isinstance(value, bytes):
        return field._replace(value=chance.choice((b"", value * 2, value[:-1], chance.randbytes(len(value)))))
    if isinstance(value, List) and value.values:
        kept = chance.choice((value.values[:-1], value.values * 2, [], Boasting(value.values)))
        if isinstance(kept, Boasting):
            kept.said = chance.choice((2**20, 2**31 - 1, 2**40, 2**63 - 1))
        return field._replace(value=value._replace(values=kept))
    return Field(5, chance.randrange(-1, 50))


def with_footer(content: bytes, footer: Any) -> bytes:
    """Return a Parquet file with another footer."""
    size = int.from_bytes(content[-8:-4], "little")
    new = struct_bytes(dict(sorted(footer.items())))
    return content[: -8 - size] + new + len(new).to_bytes(4, "little") + b"PAR1"


def _footer_changed(content: bytes, chance: random.Random) -> bytes:
    footer = read_footer_struct(content)
    _struct_changed(footer, chance)
    return with_footer(content, footer)


def chunks(footer: Any) -> list[Any]:
    """Return the structs of all column chunks in a footer."""
    return [chunk for group in footer[4].value.values for chunk in group[1].value.values]


def _counts_changed(content: bytes, chance: random.Random) -> bytes:
    """Change numbers of rows and values, of one place or of several that agree."""
    footer = read_footer_struct(content)
    group = chance.choice(footer[4].value.values)
    change = chance.choice((-1, 1, -group[3].value, 7, -10, 2**31, 10**12))
    places = [(footer, 3), (group, 3)] + [(chunk[3].value, 5) for chunk in group[1].value.values]
    taken = chance.choice((places, places[1:], places[2:], places[:2], chance.sample(places, 1)))
    for struct, number in taken:
        struct[number] = struct[number]._replace(value=struct[number].value + change)
    if chance.random() < 0.1:
        footer[4].value.values.remove(group)
    return with_footer(content, footer)


class Page(NamedTuple):
    """A page: the number of its chunk, its place, its header and what that and the page take."""

    chunk: int
    place: int
    header: Any
    header_bytes: int
    bytes: int


def pages(content: bytes) -> list[Page]:
    """Return the pages of a Parquet file that is whole."""
    found = []
    for number, chunk in enumerate(chunks(read_footer_struct(content))):
        about = chunk[3].value
        begins = [about[field].value for field in (9, 11) if field in about]
        at, end = min(begins), min(begins) + about[7].value
        while at < end:
            header, size = read_sized_struct(content[at : at + 4096])
            if header[3].value < 0:
                raise ValueError("a page has a negative size")
            found.append(Page(number, at, header, size, header[3].value))
            at += size + header[3].value
    return found


def with_page(content: bytes, page: Page, header: Any, data: bytes) -> bytes:
    """Return a Parquet file with another page, whose places fit again."""
    new = struct_bytes(dict(sorted(header.items()))) + data
    end = page.place + page.header_bytes + page.bytes
    moved_by = len(new) - (end - page.place)
    footer = read_footer_struct(content)
    for number, chunk in enumerate(chunks(footer)):
        about = chunk[3].value
        for struct, field in [(chunk, 2), (chunk, 4), (chunk, 6), (about, 9), (about, 10), (about, 11), (about, 14)]:
            if field in struct and struct[field].value > page.place:
                struct[field] = struct[field]._replace(value=struct[field].value + moved_by)
        if number == page.chunk:
            about[7] = about[7]._replace(value=about[7].value + moved_by)
    return with_footer(content[: page.place] + new + content[end:], footer)


def _page_header_changed(content: bytes, chance: random.Random) -> bytes:
    page = chance.choice(pages(content))
    data = content[page.place + page.header_bytes :][: page.bytes]
    _struct_changed(page.header, chance)
    return with_page(content, page, page.header, data)


def _page_changed(content: bytes, chance: random.Random) -> bytes:
    """Change what a page holds decompressed, so that no codec notices it; checksums do."""
    page = chance.choice(pages(content))
    about = chunks(read_footer_struct(content))[page.chunk][3].value
    data = content[page.place + page.header_bytes :][: page.bytes]
    name = CODECS[about[4].value]
    levels = 0
    if 8 in page.header:  # levels of these pages are not compressed
        levels = page.header[8].value[5].value + page.header[8].value[6].value
        name = "none" if not page.header[8].value.get(7, Field(1, True)).value else name
    if name == "none":
        data = bytes_changed(data, chance)
    else:
        codec = pa.Codec("lz4_raw" if name.startswith("lz4") else name)
        size = page.header[2].value - levels
        plain = codec.decompress(data[levels:], size, asbytes=True) if size else b""
        head = data[:levels]
        if levels and chance.random() < 0.3:
            head = bytes_changed(head, chance)[:levels].ljust(levels, b"\0")
        else:
            plain = bytes_changed(plain, chance)
        page.header[2] = page.header[2]._replace(value=levels + len(plain))
        data = head + (codec.compress(plain, asbytes=True) if plain else b"")
    if name == "none":
        page.header[2] = page.header[2]._replace(value=len(data))
    page.header[3] = page.header[3]._replace(value=len(data))
    return with_page(content, page, page.header, data)
