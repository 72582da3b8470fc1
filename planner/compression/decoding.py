"""Decompression of logs: the format is detected from the first bytes, not the name."""

from __future__ import annotations

import zlib
from collections.abc import Callable, Iterable, Iterator
from itertools import chain
from typing import Any, BinaryIO, Final

from planner.compression.block_formats import LZ4_MAGIC, SNAPPY_MAGIC, BrokenDataError, lz4_blocks, snappy_blocks
from planner.extras import optional

CHUNK_BYTES: Final = 1 << 16
ZIP_MAGIC: Final = b"PK\x03\x04"
_TAR_MAGIC: Final = (257, b"ustar")
_PEEK_BYTES: Final = 512
_MOST_LAYERS: Final = 4
"""Most layers of compression; a log with more is a trap."""


def decode_stream(stream: BinaryIO) -> Iterator[bytes]:
    """Return the chunks of a stream, decompressed layer by layer as their first bytes indicate.

    The iterator raises BrokenDataError where the data end early or are damaged, after yielding the data before that.
    """
    chunks: Iterator[bytes] = iter(lambda: stream.read(CHUNK_BYTES), b"")
    for _ in range(_MOST_LAYERS):
        head, chunks = peek(chunks)
        decoder = next((decode for magic, decode in _DECODERS.items() if head.startswith(magic)), None)
        if decoder is None:
            return chunks
        chunks = decoder(chunks)
    raise BrokenDataError(f"compressed more than {_MOST_LAYERS} times")


def peek(chunks: Iterator[bytes], size: int = _PEEK_BYTES) -> tuple[bytes, Iterator[bytes]]:
    """Return at least `size` bytes (fewer at the end), and an iterator of all chunks, including these."""
    taken: list[bytes] = []
    try:
        while sum(map(len, taken)) < size:
            taken.append(next(chunks))
    except StopIteration:
        chunks = iter(())
    except BrokenDataError as error:
        chunks = _fail_later(error)
    return b"".join(taken), chain(taken, chunks)


def is_tar(head: bytes) -> bool:
    """Return whether decoded data begin like a tar archive."""
    place, magic = _TAR_MAGIC
    return head[place : place + len(magic)] == magic


def _fail_later(error: BrokenDataError) -> Iterator[bytes]:
    raise error
    yield b""


def _by_members(
    chunks: Iterable[bytes], *, new: Callable[[], Any], errors: tuple[type[Exception], ...], name: str
) -> Iterator[bytes]:
    """Decode consecutive streams; `new` returns a decoder with `decompressed`, `eof` and `unused_data`."""
    decoder, begun = new(), False
    for chunk in chunks:
        data = chunk
        while data:
            if decoder.eof:
                data = data.lstrip(b"\0")  # padding: xz allows it between streams, tapes end with it
                if not data:
                    break
                decoder, begun = new(), False
            try:
                text = decoder.decompress(data)
            except errors as error:
                raise BrokenDataError(f"the {name} data are damaged ({error})") from error
            begun = True
            yield text
            data = decoder.unused_data if decoder.eof else b""
    if begun and not decoder.eof:
        raise BrokenDataError(f"the {name} data end early")


def gunzip(chunks: Iterable[bytes]) -> Iterator[bytes]:
    """Return the decompressed chunks of gzip."""
    return _by_members(chunks, new=lambda: zlib.decompressobj(31), errors=(zlib.error,), name="gzip")


def bunzip2(chunks: Iterable[bytes]) -> Iterator[bytes]:
    """Return the decompressed chunks of bzip2, a module that some builds of Python lack."""
    import bz2

    return _by_members(chunks, new=bz2.BZ2Decompressor, errors=(OSError, ValueError), name="bzip2")


def unxz(chunks: Iterable[bytes]) -> Iterator[bytes]:
    """Return the decompressed chunks of xz, a module that some builds of Python lack."""
    import lzma

    return _by_members(chunks, new=lzma.LZMADecompressor, errors=(lzma.LZMAError,), name="xz")


def unzstd(
    chunks: Iterable[bytes],
    *,
    extra: str = "spark",
    purpose: str = "reading an event log compressed with zstd",
    max_window_bytes: int = 0,
) -> Iterator[bytes]:
    """Return the decompressed chunks of zstd; a limit on windows of 0 is the library's own.

    Raises PlannerError without the library; `purpose` and `extra` go into its message.
    """
    library = optional("zstandard", extra=extra, purpose=purpose)
    new = library.ZstdDecompressor(max_window_size=max_window_bytes).decompressobj
    return _by_members(chunks, new=new, errors=(library.ZstdError,), name="zstd")


def _lzf(chunks: Iterable[bytes]) -> Iterator[bytes]:
    return _fail_later(
        BrokenDataError("compressed with lzf, which is not read: write the log with zstd or lz4 instead")
    )


ZSTD_SKIPPABLE: Final = tuple(bytes((0x50 + number, 0x2A, 0x4D, 0x18)) for number in range(16))
"""First bytes of zstd frames without data (RFC 8878, section 3.1.2), which parallel compressors write first."""
_DECODERS: Final[dict[bytes, Callable[[Iterable[bytes]], Iterator[bytes]]]] = {
    b"\x1f\x8b": gunzip,
    b"BZh": bunzip2,
    b"\xfd7zXZ\x00": unxz,
    b"\x28\xb5\x2f\xfd": unzstd,
    **dict.fromkeys(ZSTD_SKIPPABLE, unzstd),
    LZ4_MAGIC: lz4_blocks,
    SNAPPY_MAGIC: snappy_blocks,
    b"ZV": _lzf,
}
