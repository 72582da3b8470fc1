"""Decoders for the framings of Spark's codecs that common tools cannot read: LZ4Block and snappy-java.

Both are size-prefixed blocks (lz4-java's LZ4BlockOutputStream, snappy-java's SnappyOutputStream). The checksums of
LZ4Block are not verified: lines corrupted by a broken block fail to parse and are counted.
"""

from __future__ import annotations

import io
import struct
from collections.abc import Iterable, Iterator
from typing import Any, Final

from planner.extras import optional

LZ4_MAGIC: Final = b"LZ4Block"
SNAPPY_MAGIC: Final = b"\x82SNAPPY\x00"
MOST_BLOCK_BYTES: Final = 64 << 20
"""No codec of Spark writes larger blocks; a larger size in a header is damage, and must not be allocated."""
_LZ4_REST: Final = struct.Struct("<Biii")
"""Fields after the magic word: token, compressed length, decompressed length, checksum."""
_LZ4_METHODS: Final = {0x10: False, 0x20: True}
_SNAPPY_HEADER_BYTES: Final = 16


class BrokenDataError(Exception):
    """Compressed data end early or are damaged; output up to that point is valid."""


class ChunkReader(io.RawIOBase):
    """Chunks of bytes as a file that is read from start to end."""

    def __init__(self, chunks: Iterable[bytes]) -> None:
        self._chunks = iter(chunks)
        self._left = memoryview(b"")

    def readable(self) -> bool:
        """Return True."""
        return True

    def readinto(self, buffer: Any) -> int:
        """Fill a buffer with what comes next; return the bytes, 0 at the end."""
        while not self._left and (chunk := next(self._chunks, None)) is not None:
            self._left = memoryview(chunk)
        size = min(len(buffer), len(self._left))
        buffer[:size], self._left = self._left[:size], self._left[size:]
        return size


def read_whole(source: io.BufferedReader[Any], size: int) -> bytes:
    """Return `size` bytes; b'' at the end of the data. Raises BrokenDataError when fewer are left."""
    data = source.read(size)
    if data and len(data) < size:
        raise BrokenDataError("the compressed data end in the middle of a block")
    return data


def lz4_blocks(chunks: Iterable[bytes]) -> Iterator[bytes]:
    """Yield the decoded blocks of LZ4Block streams, one after the other. Raises BrokenDataError."""
    cramjam, source = _cramjam("lz4"), io.BufferedReader(ChunkReader(chunks))
    while magic := read_whole(source, len(LZ4_MAGIC)):
        if magic != LZ4_MAGIC:
            raise BrokenDataError("an LZ4 block does not begin with its magic word")
        token, size, length, _ = _LZ4_REST.unpack(read_whole(source, _LZ4_REST.size).ljust(_LZ4_REST.size, b"\0"))
        compressed = _LZ4_METHODS.get(token & 0xF0)
        if compressed is None or not (0 <= size <= MOST_BLOCK_BYTES and 0 <= length <= MOST_BLOCK_BYTES):
            raise BrokenDataError("the header of an LZ4 block is damaged")
        if length:
            data = _read_exactly(source, size)
            yield _decode_block(cramjam.lz4.decompress_block, data, output_len=length) if compressed else data


def snappy_blocks(chunks: Iterable[bytes]) -> Iterator[bytes]:
    """Yield the decoded blocks of snappy-java streams, one after the other. Raises BrokenDataError."""
    cramjam, source = _cramjam("snappy"), io.BufferedReader(ChunkReader(chunks))
    _read_exactly(source, _SNAPPY_HEADER_BYTES)
    while head := read_whole(source, 4):
        if head == SNAPPY_MAGIC[:4]:  # a further stream was appended
            _read_exactly(source, _SNAPPY_HEADER_BYTES - 4)
            continue
        size = int.from_bytes(head, "big")
        if size > MOST_BLOCK_BYTES:
            raise BrokenDataError("the size of a snappy block is damaged")
        data = _read_exactly(source, size)
        if _decoded_length(cramjam, data) > MOST_BLOCK_BYTES:
            raise BrokenDataError("the size of a snappy block is damaged")
        yield _decode_block(cramjam.snappy.decompress_raw, data)


def _cramjam(codec: str) -> Any:
    return optional("cramjam", extra="spark", purpose=f"reading an event log compressed with {codec}")


def _read_exactly(source: io.BufferedReader[Any], size: int) -> bytes:
    data = source.read(size)
    if len(data) < size:
        raise BrokenDataError("the compressed data end in the middle of a block")
    return data


def _decoded_length(cramjam: Any, data: bytes) -> int:
    try:
        return int(cramjam.snappy.decompress_raw_len(data))
    except Exception as error:  # the library has an error class for each codec
        raise BrokenDataError(f"a snappy block is damaged ({error})") from error


def _decode_block(decompress: Any, data: bytes, **arguments: int) -> bytes:
    try:
        return bytes(decompress(data, **arguments))
    except Exception as error:  # as above
        raise BrokenDataError(f"a block is damaged ({error})") from error
