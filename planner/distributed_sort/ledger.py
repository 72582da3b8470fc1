"""What has been done of a job, so that after a loss or a crash only what is missing is done again."""

from __future__ import annotations

import base64
import contextlib
import json
import os
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

import numpy as np

from planner.arrays import Ints
from planner.distributed_sort.dataset import FORMAT, Partition, dataset_of
from planner.distributed_sort.partitioning import Splitting
from planner.distributed_sort.text_splitting import AnySplitting, TextSplitting
from planner.errors import IoFailureError
from planner.native import Splitters


class Ledger:
    """`is_stored[s, p]`: whether the records of slice s for partition p lie with its `owner`. `records[p]`: how many
    there are so far. `done[p]`: the finished output partition and its serialized summary.
    """

    def __init__(self, *, slices: int, owner: list[str]) -> None:
        self.owner = owner
        self.is_stored = np.zeros((slices, len(owner)), np.bool_)  # billions, of 100 TB
        self.records = np.zeros(len(owner), np.int64)
        self.done: dict[int, tuple[Partition, bytes]] = {}
        self._groups = self._grouped()

    @property
    def stored_records(self) -> int:
        """The records that are stored in all."""
        return int(self.records.sum())

    def record(self, *, slice_number: int, first: int, counts: Ints) -> None:
        """Note that the records of a slice for partitions from `first` on are stored. What is noted again does not
        count: the number is the same each time.
        """
        noted = slice(first, first + len(counts))
        self.records[noted] += np.where(self.is_stored[slice_number, noted], 0, counts)
        self.is_stored[slice_number, noted] = True

    def missing_ranges(self, slice_number: int) -> list[tuple[str, int, int]]:
        """Return what of a slice is not stored, of unfinished partitions: (owner, first, end), one owner each."""
        is_missing = ~self.is_stored[slice_number]
        is_missing[list(self.done)] = False
        missing = np.flatnonzero(is_missing)
        if not len(missing):
            return []
        breaks = np.flatnonzero((np.diff(missing) > 1) | (np.diff(self._groups[missing]) != 0)) + 1
        runs = zip(missing[np.r_[0, breaks]].tolist(), missing[np.r_[breaks, 0] - 1].tolist(), strict=True)
        return [(self.owner[first], first, last + 1) for first, last in runs]

    def slices_missing(self) -> list[int]:
        """Return the slices of which anything is missing."""
        is_open = np.ones(len(self.owner), np.bool_)
        is_open[list(self.done)] = False
        missing = ~self.is_stored.all(axis=1, where=is_open)  # without a copy of it all
        return [int(number) for number in np.flatnonzero(missing)]

    def share_missing(self, owner: str) -> float:
        """Return the share of an owner's blocks that are not stored; 0 for one that owns nothing."""
        own = [partition for partition, name in enumerate(self.owner) if name == owner]
        return 1 - float(self.is_stored[:, own].mean()) if own and len(self.is_stored) else 0.0

    def forget_nodes(self, lost: frozenset[str], left: list[str]) -> None:
        """Strike out what lost nodes had; their partitions go in turn to those that are `left`."""
        self.done = {
            number: (remaining, summary)
            for number, (partition, summary) in self.done.items()
            if (remaining := partition.without_nodes(lost)).copies
        }
        orphans = [number for number, owner in enumerate(self.owner) if owner in lost]
        for turn, number in enumerate(orphans):
            self.is_stored[:, number] = False
            self.records[number] = 0
            self.owner[number] = left[turn * len(left) // len(orphans)]
        self._groups = self._grouped()

    def _grouped(self) -> Ints:
        """Return a number for the owner of each partition."""
        numbers = {name: number for number, name in enumerate(dict.fromkeys(self.owner))}
        return np.array([numbers[name] for name in self.owner], np.int64)


class Journal:
    """A ledger's essence in a file that grows line by line: how keys were split, who owns what, which partitions are
    finished. Intermediate files need no lines: nodes are asked for theirs.
    """

    def __init__(self, path: Path) -> None:
        self.path = path

    def begin(self, *, job: str, slice_records: int, splitting: AnySplitting, owner: list[str]) -> None:
        """Start a new journal. Raises IoFailureError when it cannot be written."""
        head = {
            "job": job,
            "slice_records": slice_records,
            "pieces": splitting.pieces,
            "weights": splitting.weights,
            **_splitters(splitting),
        }
        self.path.unlink(missing_ok=True)
        self._write(head)
        self.owners(owner)

    def owners(self, owner: list[str]) -> None:
        """Note who owns each partition from now on."""
        self._write({"owner": owner})

    def finished(self, number: int, partition: Partition, summary: bytes) -> None:
        """Note a finished output partition."""
        self._write({"done": number, "partition": partition.document(), "summary": base64.b64encode(summary).decode()})

    def read(self, job: str) -> tuple[int, AnySplitting, list[str], dict[int, tuple[Partition, bytes]]] | None:
        """Return slice size, splitting, owners and finished partitions of `job`; None when the file is not its, or an
        earlier version's.
        """
        lines = list(self._lines())
        if len(lines) < 2 or lines[0].get("job") != job or not {"splitters", "boundaries"} & lines[0].keys():
            return None
        head = lines[0]
        splitting = _splitting(head)
        owner = [line["owner"] for line in lines if "owner" in line][-1]
        return head["slice_records"], splitting, owner, dict(_finished(lines))

    def end(self) -> None:
        """Delete the journal of a job that needs none any more."""
        self.path.unlink(missing_ok=True)

    def _lines(self) -> Iterator[dict[str, Any]]:
        with contextlib.suppress(FileNotFoundError):
            for line in self.path.read_text(encoding="utf-8").splitlines():
                try:
                    yield json.loads(line)
                except ValueError:  # the line that was being written when the process was killed
                    continue

    def _write(self, line: dict[str, Any]) -> None:
        try:
            with self.path.open("ab+") as file:
                file.seek(-1 if file.tell() else 0, os.SEEK_END)
                torn = file.read(1) not in (b"", b"\n")
                file.write(b"\n" * torn + json.dumps(line).encode() + b"\n")
                file.flush()
                os.fsync(file.fileno())
        except OSError as error:
            raise IoFailureError(f"journal {self.path}: {error.strerror}") from error


def _splitters(splitting: AnySplitting) -> dict[str, Any]:
    if isinstance(splitting, TextSplitting):
        return {"boundaries": [[line.decode("latin-1"), is_above] for line, is_above in splitting.boundaries]}
    serialized = base64.b64encode(splitting.splitters.serialize()).decode()
    return {"splitters": serialized, "key_size": splitting.splitters.key_bytes}


def _splitting(head: dict[str, Any]) -> AnySplitting:
    pieces, weights = tuple(head["pieces"]), tuple(head["weights"])
    if "boundaries" in head:
        boundaries = tuple((line.encode("latin-1"), is_above) for line, is_above in head["boundaries"])
        return TextSplitting(boundaries=boundaries, pieces=pieces, weights=weights)
    splitters = Splitters.parse(base64.b64decode(head["splitters"]), key_bytes=head["key_size"])
    return Splitting(splitters=splitters, pieces=pieces, weights=weights)


def _finished(lines: Iterable[dict[str, Any]]) -> Iterator[tuple[int, tuple[Partition, bytes]]]:
    for line in lines:
        if "done" in line:
            dataset = dataset_of({"format": FORMAT, "layout": {}, "partitions": [line["partition"]]})
            yield line["done"], (dataset.partitions[0], base64.b64decode(line["summary"]))
