"""Compressed text into and out of the sort core, through pipes: gzip, zstd, bzip2, xz, LZ4 and Snappy.

Inputs are detected by their first bytes, never by their names. A pipe closes when its writer fails; the sort is
cancelled first, so it never takes partial text for the whole.
"""

from __future__ import annotations

import fcntl
import os
import select
import stat
import threading
import zlib
from collections.abc import Callable, Iterable, Iterator
from contextlib import closing, suppress
from dataclasses import replace
from functools import partial
from itertools import chain
from typing import Any, Final

from planner.compression.block_formats import BrokenDataError
from planner.compression.decoding import bunzip2, gunzip, unxz, unzstd
from planner.compression.looks import (
    LOOK_BYTES,
    MAGIC_BYTES,
    SUFFIXES,
    Look,
    compression_of,
    require_text,
    require_text_within,
)
from planner.compression.lz4_frames import Lz4Compressor, unlz4
from planner.compression.snappy_frames import SnappyCompressor, unsnappy
from planner.compression.windows import HEADER_BYTES, MOST_WINDOW_BYTES, WindowError, xz_window_bytes, zstd_window_bytes
from planner.errors import BadInputError, InterruptedRunError, PlannerError, reading
from planner.extras import optional
from planner.native import Progress, core

BLOCK_BYTES: Final = 1 << 20
_SET_PIPE_SIZE: Final = getattr(fcntl, "F_SETPIPE_SZ", 1031)
_COMPRESSED_BYTES: Final = 1 << 16
USUAL_WINDOW_BYTES: Final = 8 << 20
"""Largest window that readers accept without an option (RFC 8878, section 3.1.1.1.2)."""
_POLL_MS: Final = 200
LIBRARIES: Final = {"zst": "zstandard", "lz4": "pyarrow", "sz": "cramjam"}
"""Distribution that reads each format; Python reads the others itself."""
_WINDOWS: Final = {"xz": xz_window_bytes, "zst": zstd_window_bytes}
_DECODER_BYTES: Final = {"gz": 1 << 19, "bz2": 5 << 20, "lz4": 10 << 20}
"""Memory of a decoder beside its window: mostly of the text that it returns at a time."""
_MOST_LATER: Final = 8
"""Windows of later streams of a file may have this fraction of the memory, or the size of the first."""
_ZSTD_PURPOSE: Final = "text compressed with zstd"


class Source:
    """An input called `name`: a file that the core reads itself, or `chunks` passed through a pipe.

    Each call of `from_start` restarts a file's chunks; no descriptor is open before the first chunk is taken.
    """

    def __init__(
        self,
        name: str,
        chunks: Iterator[bytes] | None,
        from_start: Callable[[], Iterator[bytes]] | None = None,
        *,
        window_bytes: int = 0,
        look: Look | None = None,
    ) -> None:
        self.name = name
        self.version = look and look.version
        """Of a file of its stated size, before it was read."""
        self.chunks = chunks
        self.window_bytes = window_bytes
        """Memory that decompressing the input takes."""
        self._from_start = from_start
        self._look = look

    def head(self) -> Iterator[bytes]:
        """Yield ever longer beginnings of the input on demand; chunks read for them are not lost."""
        if self._from_start is not None:
            if self._look is not None:
                yield self._look.head
                if self._look.is_whole:
                    return
            with closing(self._from_start()) as chunks:  # type: ignore[type-var]  # a generator
                yield from growing(chunks, [])
            return
        taken: list[bytes] = []
        try:
            yield from growing(self.chunks or iter(()), taken)
        finally:
            self.chunks = chain(taken, self.chunks or ())

    def read_in_chunks(self) -> None:
        """Have a file that the core could read itself pass through a pipe, too."""
        if self.chunks is None and self._from_start is not None:
            self.chunks = self._from_start()

    def skip(self, size: int) -> None:
        """Drop the first bytes of the chunks."""
        if self.chunks is not None:
            self.chunks = _skip_bytes(self.chunks, size)


def growing(chunks: Iterator[bytes], taken: list[bytes]) -> Iterator[bytes]:
    """Yield ever longer beginnings; the chunks are kept in `taken`."""
    for chunk in chunks:
        taken.append(chunk)
        yield b"".join(taken)


def _skip_bytes(chunks: Iterator[bytes], size: int) -> Iterator[bytes]:
    for chunk in chunks:
        if size < len(chunk):
            yield chunk[size:]
        size = max(size - len(chunk), 0)


def open_source(
    path: str, progress: Progress, *, by_name: bool = False, memory_bytes: int = 0, look: Look | None = None
) -> Source:
    """Return an input; `-` is standard input. The core itself reads only plain files whose reported size is right.

    With `by_name` the name must indicate compression as well, because records may begin with any bytes. `memory_bytes`
    limits the windows of later streams. A `look` at the file saves another. Raises OSError.
    """
    look = look_at(path) if look is None else look
    name, head, descriptor = "standard input" if path == "-" else path, look.stored, -1
    if not look.is_plain:
        descriptor = 0 if path == "-" else os.open(path, os.O_RDONLY | os.O_CLOEXEC)
        with reading(name):
            head = _first_bytes(descriptor)
    form = compression_of(head)
    if by_name and not path.endswith(tuple(SUFFIXES)):
        form = ""
    elif not by_name:
        require_text(head, name=name)
    window_bytes = _WINDOWS[form](head) if form in _WINDOWS else 0
    later_bytes = max(memory_bytes // _MOST_LATER, window_bytes, USUAL_WINDOW_BYTES) if memory_bytes else 0
    decoded = partial(_text, form=form, is_text=not by_name, most_window_bytes=later_bytes or MOST_WINDOW_BYTES)
    held_bytes = window_bytes + _DECODER_BYTES.get(form, 1 << 20) if form else 0
    if not look.is_plain:
        text = decoded(name, chain([head], _read(descriptor, progress, form)))
        return Source(name, text, window_bytes=held_bytes)

    def from_start() -> Iterator[bytes]:
        return decoded(path, _read_file(path, progress, form))

    return Source(path, from_start() if form else None, from_start, window_bytes=held_bytes, look=look)


def _first_bytes(descriptor: int) -> bytes:
    head = os.read(descriptor, HEADER_BYTES)
    while 0 < len(head) < MAGIC_BYTES and (more := os.read(descriptor, MAGIC_BYTES - len(head))):
        head += more
    return head


def look_at(path: str) -> Look:
    """Return the beginning of a file, read at once. What can be read only once, as a pipe, is left alone, and so is a
    name without a file. Raises OSError.
    """
    if path == "-" or not os.path.isfile(path):  # noqa: PTH113  # a name of any bytes
        return Look(name=path)
    version = core.FileVersion(os.fsencode(path))
    with reading(path), open(path, "rb", buffering=0) as file:  # noqa: PTH123
        size, is_plain = os.fstat(file.fileno()).st_size, _has_its_size(file.fileno())
        look = look_into(path, iter(partial(file.read, LOOK_BYTES), b""), size=size)
    return replace(look, is_plain=is_plain, version=version if is_plain else None)


def look_into(name: str, chunks: Iterator[bytes], *, size: int) -> Look:
    """Return the beginning of what `chunks` hold from their start: of damaged data, what can be decompressed."""
    stored = next(chunks, b"")
    if not (form := compression_of(stored)):
        return Look(name=name, stored=stored, head=stored, is_whole=len(stored) == size, size_bytes=size)
    head, is_whole = b"", False
    with suppress(PlannerError, BrokenDataError, OSError):
        for chunk in _DECODERS[form](chain([stored], chunks)):
            head += chunk
            if len(head) > LOOK_BYTES:
                break
        else:
            is_whole = True
    return Look(name=name, stored=stored, head=head[:LOOK_BYTES], is_whole=is_whole, size_bytes=size)


def _has_its_size(descriptor: int) -> bool:
    """Return whether a file has the size that the system reports; those of /proc, /sys and FUSE may not."""
    status = os.fstat(descriptor)
    if not stat.S_ISREG(status.st_mode) or os.pread(descriptor, 1, status.st_size):
        return False
    return not status.st_size or bool(os.pread(descriptor, 1, status.st_size - 1))


def _require_text_within(chunks: Iterable[bytes], name: str) -> Iterator[bytes]:
    """Yield what an input holds decompressed. Raises NoTextError where that is compressed again, or no text."""
    rest, head = iter(chunks), b""
    while len(head) < MAGIC_BYTES and (chunk := next(rest, b"")):
        head += chunk
    require_text_within(head, name=name)
    yield from chain([head] if head else [], rest)


def decompress_text(chunks: Iterable[bytes], form: str) -> Iterator[bytes]:
    """Yield the text of data compressed as `form`. Raises BadInputError where they are damaged, end early or
    hold no text.
    """
    try:
        yield from _require_text_within(_DECODERS[form](chunks), "its content")
    except BrokenDataError as error:
        raise BadInputError(str(error), code="broken-compression") from error


def _read_file(path: str, progress: Progress, form: str) -> Iterator[bytes]:
    yield from _read(os.open(path, os.O_RDONLY | os.O_CLOEXEC), progress, form)


def _read(descriptor: int, progress: Progress, form: str) -> Iterator[bytes]:
    """Yield the data read; a requested end interrupts a waiting read."""
    size = _COMPRESSED_BYTES if form else BLOCK_BYTES
    ready = select.poll()  # `select` refuses descriptors from 1024 on
    ready.register(descriptor, select.POLLIN)
    try:
        while True:
            while not ready.poll(_POLL_MS):
                if progress.is_cancelled:
                    return
            if not (chunk := os.read(descriptor, size)):
                return
            yield chunk
    finally:
        if descriptor > 0:
            os.close(descriptor)


def _text(name: str, chunks: Iterable[bytes], *, form: str, is_text: bool, most_window_bytes: int) -> Iterator[bytes]:
    """Yield the text of an input, or its records."""
    limit = {"most_window_bytes": most_window_bytes} if form in _WINDOWS else {}
    with reading(name):
        try:
            decoded = _DECODERS[form](chunks, **limit) if form else chunks
            yield from _require_text_within(decoded, name) if form and is_text else decoded
        except WindowError as error:
            needed_mb = (_MOST_LATER * error.window_bytes + (64 << 20)) // 1_000_000
            raise BadInputError(f"{name}: {error}: give --memory of at least {needed_mb}MB", code="memory") from error
        except BrokenDataError as error:
            raise BadInputError(f"{name}: {error}; nothing was written", code="broken-compression") from error


_DECODERS: Final[dict[str, Callable[..., Iterator[bytes]]]] = {
    "gz": gunzip,
    "zst": partial(unzstd, extra="zstd", purpose=_ZSTD_PURPOSE, most_window_bytes=MOST_WINDOW_BYTES),
    "bz2": bunzip2,
    "xz": partial(unxz, most_window_bytes=MOST_WINDOW_BYTES),
    "lz4": unlz4,
    "sz": unsnappy,
}


def compressor(form: str, threads: int) -> Any:
    """Return an object with `compress` and `flush`; only zstd uses threads. Raises PlannerError without the library."""
    if form == "gz":
        return zlib.compressobj(6, zlib.DEFLATED, 31)
    if form == "bz2":
        import bz2

        return bz2.BZ2Compressor()
    if form == "xz":
        import lzma

        return lzma.LZMACompressor()
    if form == "lz4":
        return Lz4Compressor()
    if form == "sz":
        return SnappyCompressor()
    library = optional("zstandard", extra="zstd", purpose=_ZSTD_PURPOSE)
    return library.ZstdCompressor(level=3, threads=threads or -1, write_checksum=True).compressobj()


class Pipe:
    """A pipe with the core at one end and a thread at the other; `path` is what the core opens."""

    def __init__(self, progress: Progress) -> None:
        self._progress = progress
        self._read_end, self._write_end = os.pipe()
        with suppress(OSError):  # the user's limit for pipes may be lower
            fcntl.fcntl(self._write_end, _SET_PIPE_SIZE, BLOCK_BYTES)
        self._own_end = -1
        self._thread: threading.Thread | None = None
        self.failure: BaseException | None = None
        self.path = ""

    def feed(self, chunks: Iterator[bytes]) -> None:
        """Write the chunks into the pipe."""
        self.path, self._own_end = f"/dev/fd/{self._read_end}", self._read_end
        self._start(self._write_end, lambda: _write_all(self._write_end, chunks))

    def drain(self, take: Callable[[bytes], None]) -> None:
        """Pass the core's output to `take`."""
        self.path, self._own_end = f"/dev/fd/{self._write_end}", self._write_end

        def work() -> None:
            while chunk := os.read(self._read_end, BLOCK_BYTES):
                take(chunk)

        self._start(self._read_end, work)

    def _start(self, end: int, work: Callable[[], None]) -> None:
        def run() -> None:
            try:
                work()
            except BaseException as error:  # re-raised in the waiting thread
                self.failure = error
                self._progress.cancel()
            finally:
                os.close(end)

        self._thread = threading.Thread(target=run, daemon=True)
        self._thread.start()

    def close(self) -> None:
        """Wait for the thread, to be called once the core is done."""
        if self._thread is not None:
            os.close(self._own_end)
            self._thread.join()

    def raise_failure(self) -> None:
        """Raise the thread's error, if any."""
        if isinstance(self.failure, (PlannerError, OSError)):
            raise self.failure
        if self.failure is not None:
            raise InterruptedRunError(f"interrupted: {self.failure}") from self.failure


def _write_all(descriptor: int, chunks: Iterator[bytes]) -> None:
    try:
        for chunk in chunks:
            view = memoryview(chunk)
            while view:
                view = view[os.write(descriptor, view) :]
    except BrokenPipeError:
        return  # the core reads no more
