"""Writing and reading files past the page cache, through one buffer per thread, or in it.

Output, and intermediate data larger than memory, are read at most once, so the page cache only costs time: filling its
fresh pages takes longer than the disk needs for the bytes. Intermediate data that fits in memory is better off in the
cache: much of it is deleted before it would have been written to the disk.
"""

from __future__ import annotations

import errno
import mmap
import os
import threading
from collections.abc import Iterable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from planner.arrays import Bytes

_BLOCK_BYTES: Final = 4096
"""Alignment of offsets, sizes and addresses, which suits all disks."""
_BUFFER_BYTES: Final = 4 << 20
_HUGE_PAGE_BYTES: Final = 2 << 20


class _Buffers(threading.local):
    def __init__(self) -> None:
        self.buffer = _in_huge_pages(_BUFFER_BYTES)


def _in_huge_pages(size: int) -> Bytes:
    """Return memory for transfers, in huge pages if the kernel has them; ordinary ones take four times the requests."""
    memory = mmap.mmap(-1, size + _HUGE_PAGE_BYTES, flags=mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS)
    with suppress(OSError):  # a kernel without them
        memory.madvise(mmap.MADV_HUGEPAGE)
    whole = np.frombuffer(memory, np.uint8)
    start = -whole.ctypes.data % _HUGE_PAGE_BYTES
    return whole[start : start + size]


_OWN: Final = _Buffers()


@contextmanager
def open_direct(path: Path, flags: int, *, cached: bool = False) -> Iterator[int]:
    """Yield a descriptor past the page cache, or through it where `cached`, or if the file system has no other way."""
    try:
        descriptor = os.open(path, flags | (0 if cached else os.O_DIRECT), 0o644)
    except OSError as error:
        if error.errno != errno.EINVAL:
            raise
        descriptor = os.open(path, flags, 0o644)
    try:
        yield descriptor
    finally:
        os.close(descriptor)


def write_all(descriptor: int, arrays: Iterable[NDArray[Any]]) -> int:
    """Write arrays one after another to an empty file and return the number of bytes. Raises OSError."""
    buffer, filled, written = _OWN.buffer, 0, 0
    for array in arrays:
        content = array.reshape(-1).view(np.uint8)
        while len(content):
            taken = min(len(content), len(buffer) - filled)
            buffer[filled : filled + taken] = content[:taken]
            content, filled = content[taken:], filled + taken
            if filled == len(buffer):
                _write(descriptor, buffer)
                filled, written = 0, written + filled
    if filled:
        _write(descriptor, buffer[: _blocks(filled)])
        os.ftruncate(descriptor, written + filled)
    return written + filled


def read_into(descriptor: int, into: Bytes, *, offset: int) -> int:
    """Fill `into` from `offset` on and return the number of bytes, fewer where the file ends. Raises OSError."""
    buffer, done = _OWN.buffer, 0
    while done < len(into):
        ahead = (offset + done) % _BLOCK_BYTES
        block_bytes = min(len(buffer), _blocks(ahead + len(into) - done))
        count = os.preadv(descriptor, [buffer[:block_bytes].data], offset + done - ahead) - ahead
        if count <= 0:
            break
        taken = min(count, len(into) - done)
        into[done : done + taken] = buffer[ahead : ahead + taken]
        done += taken
    return done


def write_cached(descriptor: int, arrays: Iterable[NDArray[Any]]) -> int:
    """Write arrays one after another to an empty file through the page cache and return the number of bytes. Raises
    OSError.
    """
    written = 0
    for array in arrays:
        content = array.reshape(-1).view(np.uint8)
        _write(descriptor, content)
        written += len(content)
    return written


def read_cached(descriptor: int, into: Bytes, *, offset: int) -> int:
    """Fill `into` from `offset` on through the page cache and return the number of bytes, fewer where the file ends.
    Raises OSError.
    """
    done = 0
    while done < len(into) and (count := os.preadv(descriptor, [into[done:].data], offset + done)):
        done += count
    return done


def _blocks(size: int) -> int:
    """Return the bytes of the blocks that hold `size` bytes."""
    return -(-size // _BLOCK_BYTES) * _BLOCK_BYTES


def _write(descriptor: int, content: Bytes) -> None:
    while len(content):
        content = content[os.write(descriptor, content.data) :]
