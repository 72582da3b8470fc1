"""Memory that decoders of xz and zstd take, from the headers of their data; zstd data cut into parts of little text.

Sources: The .xz File Format 1.2.1, sections 2.1 and 3.1; RFC 8878, section 3.1.1.
"""

from __future__ import annotations

import io
from collections.abc import Iterable, Iterator
from typing import Any, Final

from planner.compression.block_formats import BrokenDataError, ChunkReader

ZSTD_MAGIC: Final = b"\x28\xb5\x2f\xfd"
ZSTD_SKIPPABLE: Final = tuple(bytes((0x50 + number, 0x2A, 0x4D, 0x18)) for number in range(16))
"""First bytes of zstd frames without data (RFC 8878, section 3.1.2), which parallel compressors write first."""
HEADER_BYTES: Final = 64
"""Beginning of a file that has the header with the window, unless it has unusual filters."""
MOST_WINDOW_BYTES: Final = 1 << 31
"""Longest window of zstd, as with `zstd --long=31`; dictionaries of xz have at most 1.5 GiB."""
_MOST_BLOCKS: Final = 2
"""Blocks decoded at a time: each holds at most 128 KiB of text, even if only four bytes are stored."""
_REPEATED: Final = 1
_ZSTD_SIZES: Final = (0, 2, 4, 8)
_DICTIONARY_BYTES: Final = (0, 1, 2, 4)
_STREAM_HEADER_BYTES: Final = 12
_LZMA2: Final = 0x21
_MOST_DICTIONARY: Final = 40


class WindowError(BrokenDataError):
    """Data need more memory to be decompressed than is given."""

    def __init__(self, window_bytes: int, most_bytes: int) -> None:
        super().__init__(
            f"decompressing it takes {window_bytes >> 20} MiB, and {most_bytes >> 20} MiB are left for that"
        )
        self.window_bytes = window_bytes


def require_window(window_bytes: int, most_bytes: int) -> None:
    """Raise WindowError for a window that is too long."""
    if window_bytes > most_bytes:
        raise WindowError(window_bytes, most_bytes)


def xz_window_bytes(beginning: bytes) -> int:
    """Return the length of the dictionary of the first block of xz data; 0 if it is not in the beginning."""
    try:
        at = _STREAM_HEADER_BYTES + 1
        flags, at = beginning[at], at + 1
        for _ in range((flags >> 6 & 1) + (flags >> 7)):  # the sizes
            _, at = _number(beginning, at)
        for _ in range((flags & 3) + 1):
            filter_id, at = _number(beginning, at)
            size, at = _number(beginning, at)
            if filter_id == _LZMA2:
                bits = min(beginning[at], _MOST_DICTIONARY)
                return (2 | bits & 1) << bits // 2 + 11
            at += size
    except IndexError:
        pass
    return 0


def _number(data: bytes, at: int) -> tuple[int, int]:
    """Return a number of xz, and its end."""
    value = shift = 0
    while data[at] >= 128:
        value, shift, at = value | (data[at] & 127) << shift, shift + 7, at + 1
    return value | data[at] << shift, at + 1


def zstd_window_bytes(beginning: bytes) -> int:
    """Return the window of a zstd frame; 0 for a frame without data, or if the header is not in the beginning."""
    if not beginning.startswith(ZSTD_MAGIC) or len(beginning) < _header_bytes(beginning[4:5]):
        return 0
    flags, window = beginning[4], beginning[5]
    if not flags & 0x20:
        base = 1 << 10 + (window >> 3)
        return base + base // 8 * (window & 7)
    begin = 5 + _DICTIONARY_BYTES[flags & 3]
    size = int.from_bytes(beginning[begin : begin + (_ZSTD_SIZES[flags >> 6] or 1)], "little")
    size += 256 if flags >> 6 == 1 else 0
    return size if size <= MOST_WINDOW_BYTES else 0  # the decoder refuses it


def _header_bytes(flags: bytes) -> int:
    """Return the size of a frame's header, given the byte after its magic bytes."""
    if not flags:
        return len(ZSTD_MAGIC) + 1
    is_single = flags[0] >> 5 & 1
    sizes = (_ZSTD_SIZES[flags[0] >> 6] or is_single) + _DICTIONARY_BYTES[flags[0] & 3]
    return len(ZSTD_MAGIC) + 2 - is_single + sizes


def cut_zstd(chunks: Iterable[bytes]) -> Iterator[bytes]:
    """Yield the data in parts of few blocks; a frame's first part is its header. Damage goes on to the decoder."""
    source = io.BufferedReader(ChunkReader(chunks))
    while magic := source.read(len(ZSTD_MAGIC)):
        while magic.startswith(b"\0"):  # padding
            magic = magic.lstrip(b"\0")
            magic += source.read(len(ZSTD_MAGIC) - len(magic))
        if magic in ZSTD_SKIPPABLE:
            size = source.read(4)
            yield magic + size
            left = int.from_bytes(size, "little")
            while left and (part := source.read(min(left, 1 << 16))):
                left -= len(part)
                yield part
        elif magic == ZSTD_MAGIC:
            flags = source.read(1)
            yield magic + flags + source.read(_header_bytes(flags) - len(magic) - 1)
            yield from _cut_blocks(source, has_checksum=bool(flags) and flags[0] & 4 > 0)
        elif magic:
            yield magic


def _cut_blocks(source: io.BufferedReader[Any], *, has_checksum: bool) -> Iterator[bytes]:
    """Yield the blocks of a frame, some at a time."""
    waiting: list[bytes] = []
    while header := source.read(3):
        fields = int.from_bytes(header, "little")
        size = 1 if fields >> 1 & 3 == _REPEATED else fields >> 3
        waiting += header, source.read(size)
        if fields & 1 and has_checksum:
            waiting.append(source.read(4))
        if fields & 1 or len(waiting) >= 2 * _MOST_BLOCKS:
            yield b"".join(waiting)
            waiting.clear()
        if fields & 1:
            return
    if waiting:
        yield b"".join(waiting)
