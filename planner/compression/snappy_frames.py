"""Streaming compression and decompression of Snappy's framing format by cramjam, which verifies its checksums.

Source: google/snappy, framing_format.txt (2013-10-25). Chunks start with one byte of type and three of length.
"""

from __future__ import annotations

import io
from collections.abc import Iterable, Iterator
from typing import Any, Final

from planner.compression.block_formats import BrokenDataError, ChunkReader, read_whole
from planner.extras import optional

IDENTIFIER: Final = b"\xff\x06\x00\x00sNaPpY"
_HEADER_BYTES: Final = 4
_DATA: Final = (0x00, 0x01)
_FIRST_SKIPPABLE: Final = 0x80
_MOST_DATA_BYTES: Final = 4 + 32 + 65536 + 65536 // 6
"""Largest chunk read into memory: a checksum and 64 KiB, which may grow when compressed."""


def _library() -> Any:
    return optional("cramjam", extra="spark", purpose="text compressed with Snappy")


def unsnappy(chunks: Iterable[bytes]) -> Iterator[bytes]:
    """Yield the text of consecutive streams. Raises BrokenDataError where they are damaged, or end early."""
    library, source = _library(), io.BufferedReader(ChunkReader(chunks))
    while head := read_whole(source, _HEADER_BYTES):
        kind, size = head[0], int.from_bytes(head[1:], "little")
        if kind == IDENTIFIER[0] and size != len(IDENTIFIER) - _HEADER_BYTES:
            raise BrokenDataError("the Snappy data are damaged (an identifier has another length)")
        if kind < _FIRST_SKIPPABLE and (kind not in _DATA or size > _MOST_DATA_BYTES):
            raise BrokenDataError(f"the Snappy data are damaged (a chunk of type {kind} and {size} bytes)")
        content = read_whole(source, size)
        if len(content) < size:
            raise BrokenDataError("the compressed data end in the middle of a block")
        if kind in _DATA or kind == IDENTIFIER[0]:
            yield _decoded(library, head + content)


def _decoded(library: Any, chunk: bytes) -> bytes:
    try:
        return bytes(library.snappy.decompress(IDENTIFIER + chunk))
    except library.DecompressionError as error:
        raise BrokenDataError(f"the Snappy data are damaged ({error})") from error


class SnappyCompressor:
    """Incremental compressor with the interface of zlib's objects."""

    def __init__(self) -> None:
        self._library = _library()

    def compress(self, content: bytes) -> bytes:
        """Return the content as a stream; streams may be concatenated."""
        return bytes(self._library.snappy.compress(content))

    def flush(self) -> bytes:
        """Return a stream identifier, so that empty text is a valid stream, too."""
        return IDENTIFIER
