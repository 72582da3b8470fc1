"""The record of a job's finished work, so that only the missing part is done again after a loss or a crash."""

from __future__ import annotations

import base64
import contextlib
import fcntl
import json
import os
from collections.abc import Collection, Iterable, Iterator, Mapping
from dataclasses import asdict, dataclass
from itertools import pairwise
from pathlib import Path
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from planner.arrays import Ints
from planner.distributed_sort.content.base import Splitting
from planner.distributed_sort.content.content import splitting_of
from planner.distributed_sort.dataset.dataset import FORMAT, Partition, dataset_of
from planner.distributed_sort.node_files.node_environment import JobFiles
from planner.errors import BadInputError, IoFailureError
from planner.sort_policy.placement import reassign_partitions


@dataclass(frozen=True, kw_only=True)
class LedgerRows:
    """Some rows of a ledger, for another one: groups by their first partition, and the new records of each."""

    begins: Ints
    records: Ints
    rows: Ints
    is_stored: NDArray[np.uint8]


class Ledger:
    """The slices stored by the owner of each partition, in bits: a row for eight slices, a column for each group.

    A group is consecutive partitions of one owner, whose records came together. `done[p]` is the finished output
    partition and its serialized summary. In a ledger of `own` slices only, others are never missing.
    """

    def __init__(self, *, slices: int, owner: list[str], own: Collection[int] | None = None) -> None:
        self.owner = owner
        self.done: dict[int, tuple[Partition, bytes]] = {}
        self._slices = slices
        self._begins = np.zeros(1, np.int64)
        """The first partition of each group."""
        self._records = np.zeros(1, np.int64)
        self._is_stored = np.zeros((-(-slices // 8), 1), np.uint8)
        self._others = np.zeros(-(-slices // 8) * 8, np.uint8)
        if own is not None:
            self._others[:] = 1
            self._others[list(own)] = 0
        self._others = np.packbits(self._others, bitorder="little")
        self._changed_rows = set[int]()
        self._whole: list[tuple[str, int, int]] = []
        """The missing ranges of a slice without stored data, for any division into groups; empty until needed."""
        self._divide_groups(_changes(owner))

    @property
    def size_bytes(self) -> int:
        """Memory of the ledger except for finished partitions."""
        return self._is_stored.nbytes + self._records.nbytes + self._begins.nbytes

    @property
    def stored_records(self) -> int:
        """Number of stored records; where a group was divided, its partitions count equally."""
        return int(self._records.sum())

    def record(self, slices: Mapping[int, int], *, first: int, end: int) -> None:
        """Note the numbers of stored records of some slices for partitions `first` to `end` - 1. Repeated notes do not
        count: the number is the same each time.
        """
        begin = self._at(first)
        groups = range(begin, self._at(end))
        numbers, records = np.array(list(slices), np.int64), np.array(list(slices.values()), np.int64)
        rows, bits = numbers >> 3, (1 << (numbers & 7)).astype(np.uint8)
        self._changed_rows.update(rows.tolist())
        lengths = [end - first] if len(groups) == 1 else self._lengths()[groups.start : groups.stop].tolist()
        for group, length in zip(groups, lengths, strict=True):
            is_new = self._is_stored[rows, group] & bits == 0
            self._records[group] += (records[is_new] * length // (end - first)).sum()
            np.bitwise_or.at(self._is_stored[:, group], rows, bits)

    def missing_ranges(self, slice_number: int) -> list[tuple[str, int, int]]:
        """Return the missing parts of a slice, for unfinished partitions: (owner, first, end), one owner each."""
        groups, begins, ends = self._unfinished_ranges()
        is_missing = ~self._is_stored[slice_number >> 3, groups] >> (slice_number & 7) & 1
        if self.done or not is_missing.all():
            return self._ranges(begins, ends, np.flatnonzero(is_missing))
        self._whole = self._whole or self._ranges(begins, ends, np.arange(len(begins)))
        return list(self._whole)

    def _ranges(self, begins: Ints, ends: Ints, groups: Ints) -> list[tuple[str, int, int]]:
        """Return some groups as ranges, joining adjacent ones of one owner."""
        ranges = list[tuple[str, int, int]]()
        for at in groups.tolist():
            owner, first, end = self.owner[begins[at]], int(begins[at]), int(ends[at])
            if ranges and ranges[-1][0] == owner and ranges[-1][2] == first:
                first = ranges.pop()[1]
            ranges.append((owner, first, end))
        return ranges

    def is_missing(self, slice_number: int) -> bool:
        """Return whether an unfinished partition lacks any part of a slice."""
        groups, _, _ = self._unfinished_ranges()
        return bool((~self._is_stored[slice_number >> 3, groups] >> (slice_number & 7) & 1).any())

    def missing_slices(self) -> list[int]:
        """Return the slices with missing parts."""
        groups, _, _ = self._unfinished_ranges()
        stored = np.bitwise_and.reduce(self._is_stored[:, groups], axis=1, initial=255) | self._others
        is_stored = np.unpackbits(stored, count=self._slices, bitorder="little")
        return [int(number) for number in np.flatnonzero(is_stored == 0)]

    def complete_partitions(self) -> list[int]:
        """Return the partitions with every slice stored."""
        stored = np.bitwise_or(self._is_stored, self._others[:, None])
        counts = np.unpackbits(stored, axis=0, count=self._slices, bitorder="little").sum(axis=0)
        return np.flatnonzero(np.repeat(counts == self._slices, self._lengths())).tolist()

    def rows_of(self, slices: Ints) -> LedgerRows:
        """Return the stored parts of some slices, and of those in the same rows, none of them as new."""
        rows = np.unique(slices >> 3)
        rows = rows[self._is_stored[rows].any(axis=1)]
        records = np.zeros_like(self._records)
        return LedgerRows(begins=self._begins, records=records, rows=rows, is_stored=self._is_stored[rows])

    def take_changes(self) -> LedgerRows:
        """Return the parts stored since the last call; the count of records restarts here."""
        rows = np.array(sorted(self._changed_rows), np.int64)
        changes = LedgerRows(begins=self._begins, records=self._records, rows=rows, is_stored=self._is_stored[rows])
        self._changed_rows, self._records = set(), np.zeros_like(self._records)
        return changes

    def merge(self, changes: LedgerRows) -> None:
        """Add the stored parts of another ledger with the same partitions and owners."""
        self._divide_groups(changes.begins)
        groups = np.searchsorted(changes.begins, self._begins, side="right") - 1
        self._is_stored[changes.rows] |= changes.is_stored[:, groups]
        lengths = np.diff(changes.begins, append=len(self.owner))[groups]
        self._records += changes.records[groups] * self._lengths() // np.maximum(1, lengths)

    def share_missing(self, owner: str) -> float:
        """Return the share of an owner's blocks that are not stored; 0 for a node that owns nothing."""
        own = np.array([self.owner[begin] == owner for begin in self._begins.tolist()], np.bool_)
        wanted = int(self._lengths()[own].sum()) * self._slices
        if not wanted:
            return 0.0
        stored = np.unpackbits(self._is_stored[:, own], axis=0, count=self._slices, bitorder="little").sum(axis=0)
        return 1 - float((stored * self._lengths()[own]).sum()) / wanted

    def forget_nodes(self, lost: frozenset[str], left: list[str]) -> None:
        """Remove the entries of lost nodes; their partitions go in turn to those that are `left`."""
        self.done = {
            number: (remaining, summary)
            for number, (partition, summary) in self.done.items()
            if (remaining := partition.without_nodes(lost)).copies
        }
        orphans = [number for number, owner in enumerate(self.owner) if owner in lost]
        for number, new_owner in zip(orphans, reassign_partitions(len(orphans), left), strict=True):
            self.owner[number] = new_owner
        self._whole = []
        self._divide_groups(_changes(self.owner))
        self._clear_groups(np.isin(self._begins, orphans))

    def forget_records(self, owner: str) -> None:
        """Remove an owner's unfinished entries; it stays the owner."""
        self._clear_groups(np.array([self.owner[begin] == owner for begin in self._begins.tolist()], np.bool_))

    def _clear_groups(self, groups: NDArray[np.bool_]) -> None:
        self._whole = []
        self._is_stored[:, groups] = 0
        self._records[groups] = 0

    def _lengths(self) -> Ints:
        return np.diff(self._begins, append=len(self.owner))

    def _at(self, partition: int) -> int:
        """Return the group that begins with a partition, dividing the group that holds it if necessary."""
        at = int(self._begins.searchsorted(partition))
        if partition < len(self.owner) and (at == len(self._begins) or self._begins[at] != partition):
            self._divide_groups([partition])
        return at

    def _divide_groups(self, partitions: Iterable[int]) -> None:
        """Divide groups so that each of these partitions begins one."""
        begins = np.union1d(self._begins, np.fromiter(partitions, np.int64))
        if len(begins) == len(self._begins):
            return
        whole = np.searchsorted(self._begins, begins, side="right") - 1
        records, lengths = self._records[whole], self._lengths()[whole]
        self._begins, self._is_stored = begins, self._is_stored[:, whole]
        self._records = records * self._lengths() // np.maximum(1, lengths)

    def _unfinished_ranges(self) -> tuple[Any, Ints, Ints]:
        """Return the unfinished partitions as ranges, each within a group: their groups, beginnings and ends."""
        if not self.done:
            return slice(None), self._begins, self._begins + self._lengths()
        is_open = np.ones(len(self.owner), np.bool_)
        is_open[list(self.done)] = False
        numbers, groups = np.flatnonzero(is_open), np.repeat(np.arange(len(self._begins)), self._lengths())[is_open]
        breaks = np.flatnonzero((np.diff(numbers) > 1) | (np.diff(groups) != 0)) + 1
        first = np.r_[0, breaks][: len(numbers)]
        last = np.r_[breaks, len(numbers)][: len(numbers)] - 1
        return groups[first], numbers[first], numbers[last] + 1


def _changes(owner: list[str]) -> list[int]:
    """Return the partitions before which the owner changes."""
    return [number for number, (before, name) in enumerate(pairwise(owner), start=1) if before != name]


Progress = tuple[int, Splitting, list[str], dict[int, tuple[Partition, bytes]]]
"""Slice size, splitting, owners and finished partitions of a job."""


@dataclass(frozen=True, kw_only=True)
class EarlierJob:
    """An earlier job in a journal: its files, its input, and its progress; None before keys were split."""

    files: JobFiles
    identity: dict[str, Any]
    progress: Progress | None


_BEGINNING: Final = b'{"'


class Journal:
    """A job in a file that grows line by line: its id and its input, and from its ledger the splitting of keys, the
    owners, and the finished partitions. Intermediate files need no lines: nodes report theirs.
    """

    def __init__(self, path: Path) -> None:
        self.path = path

    @contextlib.contextmanager
    def hold(self) -> Iterator[None]:
        """Keep other processes from running this journal's job while the body runs. Raises BadInputError while another
        process runs it, IoFailureError.
        """
        while (descriptor := self._lock()) is None:
            pass  # its holder has just ended
        try:
            yield
        finally:
            if not os.fstat(descriptor).st_size:
                self.end()
            os.close(descriptor)

    def _lock(self) -> int | None:
        """Return a descriptor that locks the file; None when it has been deleted meanwhile."""
        try:
            descriptor = os.open(self.path, os.O_RDWR | os.O_CREAT, 0o666)
            fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError as error:
            os.close(descriptor)
            raise BadInputError(
                f"another sort to this output is running: it holds {self.path}",
                ["wait until it ends, or name another output"],
                code="locked",
            ) from error
        except OSError as error:
            raise IoFailureError(f"journal {self.path}: {error.strerror}", code="io") from error
        is_named = False
        with contextlib.suppress(FileNotFoundError):
            is_named = os.path.samestat(os.fstat(descriptor), self.path.stat())
        if is_named and os.pread(descriptor, len(_BEGINNING), 0) in (b"", _BEGINNING):
            return descriptor
        os.close(descriptor)
        if is_named:
            raise BadInputError(
                f"{self.path.name} is no journal of a sort, and was not changed",
                [f"remove {self.path}, or name another output"],
                code="not-a-journal",
            )
        return None

    def open_job(self, files: JobFiles, identity: dict[str, Any]) -> None:
        """Start a new journal, before the job writes anything. Raises IoFailureError when it cannot be written."""
        with contextlib.suppress(FileNotFoundError):
            os.truncate(self.path, 0)
        self._write({"files": asdict(files), "identity": identity})

    def begin(self, *, slice_records: int, splitting: Splitting, owner: list[str]) -> None:
        """Note the division of the job. Raises IoFailureError."""
        self._write({"slice_records": slice_records, **splitting.document()})
        self.record_owners(owner)

    def record_replaced(self, manifests: list[str | None]) -> None:
        """Note the manifests that publishing is about to replace, None for a place without one."""
        self._write({"replaced": manifests})

    def replaced(self) -> list[str | None] | None:
        """Return the manifests that publishing began to replace; None where it has not begun."""
        return next((line["replaced"] for line in self._lines() if "replaced" in line), None)

    def record_owners(self, owner: list[str]) -> None:
        """Note the new owner of each partition."""
        self._write({"owner": owner})

    def record_finished(self, number: int, partition: Partition, summary: bytes) -> None:
        """Note a finished output partition. A line lost in a power cut only costs sorting it again, so the driver need
        not wait for the disk, which is busy with output.
        """
        line = {"done": number, "partition": partition.document(), "summary": base64.b64encode(summary).decode()}
        self._write(line, durable=False)

    def read(self) -> EarlierJob | None:
        """Return the job; None without a journal. Raises BadInputError for a file that is none."""
        if not (lines := list(self._lines())):
            return None
        try:
            files, identity = JobFiles(**lines[0]["files"]), lines[0]["identity"]
            return EarlierJob(files=files, identity=identity, progress=_parse_progress(lines))
        except (KeyError, TypeError, ValueError) as error:
            advice = "sort with the version of the planner that began, or delete the file and begin anew"
            raise BadInputError(
                f"{self.path}: not a journal of this planner ({error!r})", [advice], code="damaged-journal"
            ) from error

    def end(self) -> None:
        """Delete the journal of a job that no longer needs one."""
        self.path.unlink(missing_ok=True)

    def _lines(self) -> Iterator[dict[str, Any]]:
        with contextlib.suppress(FileNotFoundError):
            for line in self.path.read_text(encoding="utf-8").splitlines():
                try:
                    yield json.loads(line)
                except ValueError:  # the line being written when the process was killed
                    continue

    def _write(self, line: dict[str, Any], *, durable: bool = True) -> None:
        try:
            with self.path.open("ab+") as file:
                file.seek(-1 if file.tell() else 0, os.SEEK_END)
                torn = file.read(1) not in (b"", b"\n")
                file.write(b"\n" * torn + json.dumps(line).encode() + b"\n")
                file.flush()
                if durable:
                    os.fsync(file.fileno())
        except OSError as error:
            raise IoFailureError(f"journal {self.path}: {error.strerror}", code="io") from error


def _parse_progress(lines: list[dict[str, Any]]) -> Progress | None:
    owners = [line["owner"] for line in lines if "owner" in line]
    if not owners:
        return None
    return lines[1]["slice_records"], splitting_of(lines[1]), owners[-1], dict(_parse_finished(lines))


def _parse_finished(lines: Iterable[dict[str, Any]]) -> Iterator[tuple[int, tuple[Partition, bytes]]]:
    for line in lines:
        if "done" in line:
            dataset = dataset_of({"format": FORMAT, "layout": {}, "partitions": [line["partition"]]})
            yield line["done"], (dataset.partitions[0], base64.b64decode(line["summary"]))
