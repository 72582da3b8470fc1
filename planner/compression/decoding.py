"""Decompression of logs: the format is detected from the first bytes, not the name."""

from __future__ import annotations

import zlib
from collections.abc import Callable, Iterable, Iterator
from itertools import chain
from typing import Any, BinaryIO, Final

from planner.compression.block_formats import LZ4_MAGIC, SNAPPY_MAGIC, BrokenDataError, lz4_blocks, snappy_blocks
from planner.compression.windows import (
    ZSTD_MAGIC,
    ZSTD_SKIPPABLE,
    cut_zstd,
    require_window,
    xz_window_bytes,
    zstd_window_bytes,
)
from planner.extras import optional

CHUNK_BYTES: Final = 1 << 16
TEXT_BYTES: Final = 1 << 18
"""Most bytes that a decoder returns at a time."""
ZIP_MAGIC: Final = b"PK\x03\x04"
_TAR_MAGIC: Final = (257, b"ustar")
_PEEK_BYTES: Final = 512
_MOST_LAYERS: Final = 4
"""Most layers of compression; a log with more is a trap."""
_USUAL_WINDOW_BYTES: Final = 1 << 27
"""Longest window of logs: what zstd takes without an option; `xz -9` has half of it."""
_LEAST_ZSTD_BYTES: Final = 1 << 10
_XZ_BESIDE_BYTES: Final = 1 << 20
"""Memory of an xz decoder beside its dictionary, rounded up."""


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
    chunks: Iterable[bytes],
    *,
    new: Callable[[bytes], Any],
    errors: tuple[type[Exception], ...],
    name: str,
    most: tuple[int, ...] = (TEXT_BYTES,),
) -> Iterator[bytes]:
    """Decode consecutive streams, at most `TEXT_BYTES` at a time however well they are compressed.

    `new` returns a decoder for a stream of this beginning, with `decompress`, which takes the data and `most` bytes of
    text to return, `eof` and `unused_data`.
    """
    decoder: Any = None
    for chunk in chunks:
        data, is_full = chunk, False
        while data or is_full:
            if decoder is None or decoder.eof:
                if decoder is not None:
                    data = data.lstrip(b"\0")  # padding: xz allows it between streams, tapes end with it
                if not data:
                    break
                decoder = new(data)
            try:
                text = decoder.decompress(data, *most)
            except errors as error:
                raise BrokenDataError(f"the {name} data are damaged ({error})") from error
            if text:
                yield text
            is_full = len(text) == TEXT_BYTES
            data = decoder.unused_data if decoder.eof else getattr(decoder, "unconsumed_tail", b"")  # of zlib
    if decoder is not None and not decoder.eof:
        raise BrokenDataError(f"the {name} data end early")


def gunzip(chunks: Iterable[bytes]) -> Iterator[bytes]:
    """Return the decompressed chunks of gzip."""
    return _by_members(chunks, new=lambda _: zlib.decompressobj(31), errors=(zlib.error,), name="gzip")


def bunzip2(chunks: Iterable[bytes]) -> Iterator[bytes]:
    """Return the decompressed chunks of bzip2, a module that some builds of Python lack."""
    import bz2

    return _by_members(chunks, new=lambda _: bz2.BZ2Decompressor(), errors=(OSError, ValueError), name="bzip2")


def unxz(chunks: Iterable[bytes], *, most_window_bytes: int = _USUAL_WINDOW_BYTES) -> Iterator[bytes]:
    """Return the decompressed chunks of xz, a module that some builds of Python lack. Raises WindowError for a longer
    dictionary.
    """
    import lzma

    def new(beginning: bytes) -> Any:
        require_window(xz_window_bytes(beginning), most_window_bytes)
        return lzma.LZMADecompressor(memlimit=most_window_bytes + _XZ_BESIDE_BYTES)

    return _by_members(chunks, new=new, errors=(lzma.LZMAError,), name="xz")


def unzstd(
    chunks: Iterable[bytes],
    *,
    extra: str = "spark",
    purpose: str = "reading an event log compressed with zstd",
    most_window_bytes: int = _USUAL_WINDOW_BYTES,
) -> Iterator[bytes]:
    """Return the decompressed chunks of zstd.

    Raises WindowError for a longer window, PlannerError without the library; `purpose` and `extra` go into its message.
    """
    library = optional("zstandard", extra=extra, purpose=purpose)

    def new(beginning: bytes) -> Any:
        require_window(zstd_window_bytes(beginning), most_window_bytes)
        return library.ZstdDecompressor(max_window_size=max(most_window_bytes, _LEAST_ZSTD_BYTES)).decompressobj()

    return _by_members(cut_zstd(chunks), new=new, errors=(library.ZstdError,), name="zstd", most=())


def _lzf(chunks: Iterable[bytes]) -> Iterator[bytes]:
    return _fail_later(
        BrokenDataError("compressed with lzf, which is not read: write the log with zstd or lz4 instead")
    )


_DECODERS: Final[dict[bytes, Callable[[Iterable[bytes]], Iterator[bytes]]]] = {
    b"\x1f\x8b": gunzip,
    b"BZh": bunzip2,
    b"\xfd7zXZ\x00": unxz,
    ZSTD_MAGIC: unzstd,
    **dict.fromkeys(ZSTD_SKIPPABLE, unzstd),
    LZ4_MAGIC: lz4_blocks,
    SNAPPY_MAGIC: snappy_blocks,
    b"ZV": _lzf,
}
