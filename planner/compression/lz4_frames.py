"""Streaming compression and decompression of LZ4 frames, the format of the tool `lz4`, by pyarrow."""

from __future__ import annotations

import io
from collections.abc import Iterable, Iterator
from typing import Any, Final

from planner.compression.block_formats import BrokenDataError, ChunkReader
from planner.extras import optional

_READ_BYTES: Final = 1 << 20


def _library() -> Any:
    return optional("pyarrow", extra="arrow", purpose="text compressed with LZ4")


def unlz4(chunks: Iterable[bytes]) -> Iterator[bytes]:
    """Yield the text of consecutive frames. Raises BrokenDataError where they are damaged, or end early."""
    library = _library()
    stream = library.CompressedInputStream(library.PythonFile(io.BufferedReader(ChunkReader(chunks)), mode="r"), "lz4")
    try:
        while text := stream.read(_READ_BYTES):
            yield text
    except OSError as error:
        if error.errno is not None:  # raised by the system
            raise
        raise BrokenDataError(f"the LZ4 data are damaged, or end early ({error})") from error


class Lz4Compressor:
    """Incremental compressor with the interface of zlib's objects."""

    def __init__(self) -> None:
        self._made = io.BytesIO()
        self._stream = _library().CompressedOutputStream(self._made, "lz4")

    def compress(self, content: bytes) -> bytes:
        """Return the bytes of the frame produced since the last call."""
        self._stream.write(content)
        made = self._made.getvalue()
        self._made.seek(0)
        self._made.truncate()
        return made

    def flush(self) -> bytes:
        """Return the end of the frame."""
        made = self._made
        made.close, close = lambda: None, made.close  # type: ignore[method-assign]  # the stream closes what it fills
        self._stream.close()
        ended = made.getvalue()
        close()
        return ended
