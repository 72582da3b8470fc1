"""Intermediate files on a node's disk: the records of some slices of the input for consecutive partitions.

A file holds the partitions' records one partition after another, and within each one slice after another. These are
followed by 64-bit integers: the slices' numbers, and the number of records and their CRC-32 for each slice and
partition. The file's name identifies its slices and partitions, and it appears atomically. The checksums are computed
when a slice is grouped, and stay with the records over the network and on the disk until these are sorted.
"""

from __future__ import annotations

import errno
import mmap
import os
import re
import threading
import uuid
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from functools import lru_cache
from hashlib import sha256
from io import FileIO
from pathlib import Path
from typing import Any, Final, NamedTuple, Self

import numpy as np
from numpy.typing import NDArray

from planner.arrays import Bytes, Ints, raw_bytes
from planner.distributed_sort.node_files.node_environment import node_name
from planner.errors import IoFailureError
from planner.native import core


class Block(NamedTuple):
    """The number of records of each partition, their CRC-32, and the records one after another."""

    counts: Ints
    checksums: Ints
    records: Bytes

    @classmethod
    def of(cls, counts: Ints, records: Bytes) -> Self:
        """Return the block of a slice that has just been grouped."""
        return cls(counts.astype("<i8"), checksums_of(records, _lengths(counts, records)), records)

    @classmethod
    def parse(cls, content: Bytes, *, partitions: int) -> Self:
        """Parse the block that was sent as `head` and records."""
        counts, checksums = content[: head_bytes(partitions)].view("<i8").reshape(2, partitions)
        return cls(counts, checksums, content[head_bytes(partitions) :])

    @property
    def head(self) -> Ints:
        """Head, sent before the records."""
        return np.stack([self.counts, self.checksums])

    @property
    def is_intact(self) -> bool:
        """True if the records are those that were grouped."""
        lengths = _lengths(self.counts, self.records)
        if (lengths < 0).any() or lengths.sum() != len(self.records):
            return False
        return bool((checksums_of(self.records, lengths) == self.checksums).all())


def head_bytes(partitions: int) -> int:
    """Return the size of a block's head in bytes."""
    return 2 * 8 * partitions


def checksums_of(records: Bytes, lengths: Ints) -> Ints:
    """Return the CRC-32 of each of consecutive pieces with these `lengths` in bytes."""
    checksums = np.empty(len(lengths), np.uint32)
    core.checksum_pieces(records.data, lengths=lengths.astype("<u8").data, out=checksums.data)
    return checksums.astype("<i8")


def _lengths(counts: Ints, records: Bytes) -> Ints:
    lengths: Ints = counts * (len(records) // max(1, int(counts.sum())))
    return lengths


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


_NAME: Final = re.compile(r"(\d+)-([0-9a-f]{16})-(\d+)-(\d+)-(\d+)\.run")
_FILES_KNOWN: Final = 4096
"""Files whose tables a process keeps: it reads a piece of each for every partition that it sorts."""


class DiskFullError(IoFailureError):
    """A disk of a node is full; others may have room."""

    code = "disk-full"


class RunsDamagedError(IoFailureError):
    """Intermediate files are missing or unreadable; their content can be made again."""

    code = "runs-damaged"


@dataclass(frozen=True, kw_only=True)
class RunFile:
    """Records of `slices` slices, whose numbers have this `digest`, for partitions `first` to `end` - 1."""

    path: Path
    lowest_slice: int
    digest: str
    slices: int
    first: int
    end: int

    def counts(self) -> dict[int, Ints]:
        """Return, by slice, the number of records of each partition. Raises IoFailureError."""
        slices, ends, _ = self._table()
        counts = np.diff(ends, prepend=0).reshape(-1, len(slices))
        return {number: counts[:, column] for column, number in enumerate(slices)}

    def pieces(self, partition: int) -> Iterator[tuple[int, slice]]:
        """Yield (slice, range of the file's records) of a partition, in the file's order. Raises IoFailureError."""
        slices, ends, _ = self._table()
        at = (partition - self.first) * len(slices)
        begin = int(ends[at - 1]) if at else 0
        for number, end in zip(slices, ends[at : at + len(slices)].tolist(), strict=True):
            yield number, slice(begin, end)
            begin = end

    def read(self, records: slice, into: Bytes, *, record_size: int, cached: bool = False) -> None:
        """Read some of the file's records into `into`, which has their size and covers whole pieces. Raises
        IoFailureError, also when the file's length differs from that of its records and table, as a cut at the front
        shifts the rest, and when a piece differs from what was written.
        """
        _, ends, checksums = self._table()
        whole = int(ends[-1]) * record_size + self.table_bytes
        with file_errors("read", self.path):
            if (size := self.path.stat().st_size) != whole:
                raise _changed_error(self.path, f"has {size} bytes instead of {whole}")
        with file_errors("read", self.path), open_direct(self.path, os.O_RDONLY, cached=cached) as descriptor:
            read = read_cached if cached else read_into
            done = read(descriptor, into, offset=records.start * record_size)
        if done < len(into):
            raise _short_file_error(self.path, len(into) - done)
        begins = np.concatenate([[0], ends[:-1]])
        pieces = slice(np.searchsorted(begins, records.start), np.searchsorted(ends, records.stop, side="right"))
        if (checksums_of(into, (ends - begins)[pieces] * record_size) != checksums[pieces]).any():
            raise _changed_error(self.path, "has other records than were written")

    def _table(self) -> tuple[tuple[int, ...], Ints, Ints]:
        with file_errors("read", self.path):
            return _table(self, self.path.stat().st_mtime_ns)

    @property
    def table_bytes(self) -> int:
        """Size in bytes of the table at the end."""
        return 8 * self.slices * (1 + 2 * (self.end - self.first))


@lru_cache(maxsize=_FILES_KNOWN)
def _table(run: RunFile, _written_at: int) -> tuple[tuple[int, ...], Ints, Ints]:
    """Return a run file's slices, the number of its records before the end of each piece, and its checksum."""
    size = run.table_bytes
    with run.path.open("rb") as file:
        file.seek(-size, os.SEEK_END)
        table = np.frombuffer(file.read(size), "<i8")
    if _digest(table[: run.slices]) != run.digest:
        raise _changed_error(run.path, "does not end as it should")
    counts, checksums = table[run.slices :].reshape(2, -1)
    return tuple(table[: run.slices].tolist()), np.cumsum(counts), checksums


def _digest(slices: Ints) -> str:
    return sha256(slices.tobytes()).hexdigest()[:16]


def run_files(folders: Iterable[Path]) -> list[RunFile]:
    """Return the complete run files of some folders in order of slices; none without a folder."""
    named = ((entry, _NAME.fullmatch(entry.name)) for folder in folders for entry in _entries(folder))
    files = [
        RunFile(
            path=Path(entry.path),
            lowest_slice=int(match[1]),
            digest=match[2],
            slices=int(match[3]),
            first=int(match[4]),
            end=int(match[5]),
        )
        for entry, match in named
        if match
    ]
    return sorted(files, key=lambda run: (run.lowest_slice, run.path.name))


def _entries(folder: Path) -> list[os.DirEntry[str]]:
    try:
        with os.scandir(folder) as entries:
            return list(entries)
    except FileNotFoundError:
        return []


def pieces_of(partition: int, folders: Iterable[Path], read_slices: set[int]) -> Iterator[tuple[RunFile, slice]]:
    """Yield the places of the records of `partition`, each slice's once, and add the slices to `read_slices`. A slice
    may be in several files: when a node is lost, data on its way is sent again in other parcels, and Ray repeats map
    tasks, one of which may run on the owner. Raises IoFailureError.
    """
    for run in run_files(folders):
        if run.first <= partition < run.end:
            yield from ((run, records) for records in _merge_ranges(run.pieces(partition), read_slices))


def _merge_ranges(pieces: Iterable[tuple[int, slice]], read_slices: set[int]) -> Iterator[slice]:
    """Yield the records of slices that are not in `read_slices` yet, joining adjacent ones, and add the slices."""
    begin = end = 0
    for number, records in pieces:
        if number in read_slices:
            continue
        read_slices.add(number)
        if records.start != end:
            if begin < end:
                yield slice(begin, end)
            begin = records.start
        end = records.stop
    if begin < end:
        yield slice(begin, end)


def write_run(folders: Sequence[Path], *, first: int, blocks: Mapping[int, Block], cached: bool = False) -> int:
    """Write a run file of some slices' blocks to one of the folders, through the page cache where `cached`, and return
    its size in bytes. `blocks` has each slice's block for the partitions from `first` on. Raises IoFailureError,
    leaving nothing behind.
    """
    numbers = np.array(list(blocks), "<i8")
    counts = [block.counts for block in blocks.values()]
    checksums = [block.checksums for block in blocks.values()]
    digest = _digest(numbers)
    name = f"{min(blocks):08d}-{digest}-{len(blocks)}-{first:06d}-{first + len(counts[0]):06d}.run"
    path = folders[int(digest, 16) % len(folders)] / name
    tables = (np.stack(columns, axis=1).astype("<i8") for columns in (counts, checksums))
    return write_atomically(
        path, (*_by_partition(list(blocks.values())), numbers, *tables), durable=False, cached=cached
    )


def _by_partition(blocks: Sequence[Block]) -> Iterator[Bytes]:
    """Yield the pieces of blocks, with each partition's together."""
    if len(blocks) == 1:
        yield blocks[0].records
        return
    for pieces in zip(*(_cut(block.counts, block.records) for block in blocks), strict=True):
        yield from pieces


def _cut(counts: Ints, records: Bytes) -> list[Bytes]:
    ends = np.cumsum(counts) * (len(records) // max(1, int(counts.sum())))
    return np.split(records, ends[:-1])


def write_atomically(path: Path, arrays: Iterable[NDArray[Any]], *, durable: bool, cached: bool = False) -> int:
    """Write arrays one after another to `path`, which appears atomically, and return the number of bytes.

    Files that are `cached` pass through the page cache. `durable` ones survive a power cut when this returns. Raises
    IoFailureError naming node and file.
    """
    partial = path.with_name(f".{path.name}.{uuid.uuid4().hex[:8]}.partial")
    with file_errors("write", path):
        path.parent.mkdir(parents=True, exist_ok=True)
        try:
            with open_direct(partial, os.O_WRONLY | os.O_CREAT | os.O_EXCL, cached=cached) as descriptor:
                write = write_cached if cached else write_all
                written = write(descriptor, arrays)
                if durable:
                    os.fsync(descriptor)
            partial.replace(path)
        except BaseException:
            partial.unlink(missing_ok=True)
            raise
    return written


def sync(path: Path) -> None:
    """Flush a file's written data to the disk. Raises IoFailureError."""
    with file_errors("write", path), path.open("rb") as file:
        os.fsync(file.fileno())


def read_exactly(file: FileIO, into: Bytes, path: Path | str) -> None:
    """Fill `into` from a file object. Raises IoFailureError when the file ends first."""
    view, done = raw_bytes(into), 0
    while done < len(view):
        count = file.readinto(view[done:])
        if not count:
            raise _short_file_error(path, len(view) - done)
        done += count


@contextmanager
def file_errors(doing: str, path: Path | str) -> Iterator[None]:
    """Turn an OSError of the body into an IoFailureError that names node, file and operation; a full disk is a
    DiskFullError.
    """
    try:
        yield
    except OSError as error:
        text = f"{node_name()}: cannot {doing} {path}: {error.strerror or error}"
        if error.errno in (errno.ENOSPC, errno.EDQUOT):
            raise DiskFullError(text) from error
        raise IoFailureError(text, code="io") from error


def _short_file_error(path: Path | str, missing: int) -> IoFailureError:
    return _changed_error(path, f"ends {missing} bytes too early")


def _changed_error(path: Path | str, how: str) -> IoFailureError:
    return IoFailureError(f"{node_name()}: {path} {how}: it is truncated, or was changed", code="run-truncated")


def partial_files(folders: Iterable[Path]) -> Iterator[Path]:
    """Yield the unfinished files of killed tasks."""
    for folder in folders:
        yield from folder.glob(".*.partial")
