"""The input in a form that nodes can read: compressed files as plain text, made again where it is lost or bad."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import replace
from typing import Any

from planner.distributed_sort.dataset.compressed_input import with_decompressed_copies
from planner.distributed_sort.dataset.dataset import Dataset
from planner.distributed_sort.dataset.unreadable_input import UnreadableCopy
from planner.distributed_sort.job.events import Emit
from planner.distributed_sort.job.nodes import Nodes
from planner.distributed_sort.node_files.node_environment import JobFiles
from planner.distributed_sort.node_tasks.input_tasks import InputTask, outcomes


class ReadableInput:
    """The readable `source`, which changes: after each step it has the copies that can be read. `read_bytes` counts the
    bytes of compressed files read so far.
    """

    def __init__(self, source: Dataset, *, files: JobFiles, nodes: Nodes, emit: Emit) -> None:
        self.source, self.read_bytes = source, 0
        self._files = files
        self._nodes = nodes
        self._emit = emit

    def decompress(self) -> None:
        """Have compressed files decompressed. Raises BadInputError where they are damaged, IoFailureError."""
        self._restore(self.source, range(len(self.source.partitions)), ())

    def outcomes(self, tasks: Sequence[InputTask], *, failed: str) -> list[Any]:
        """Return the outcomes of tasks that read the input. Raises the errors of `input_tasks.outcomes` and
        `decompress`.
        """
        return outcomes(tasks, self.source, self._nodes, self._emit, failed=failed, restore=self._restore)

    def _restore(self, source: Dataset, numbers: Collection[int], faults: Sequence[UnreadableCopy]) -> Dataset:
        """Remove unreadable copies where possible, and make missing plain text."""
        partitions, suspected = list(source.partitions), dict[int, str]()
        for fault in faults:
            if (rest := fault.remove_from(partitions[fault.partition])) is not None:
                partitions[fault.partition], suspected[fault.partition] = rest, fault.node
                self._emit({"event": "unreadable", "node": fault.node, "reason": fault.reason})
        source = replace(source, partitions=tuple(partitions))
        self.source, read_bytes = with_decompressed_copies(
            source, self._files, self._nodes, self._emit, needed=numbers, suspected=suspected
        )
        self.read_bytes += read_bytes
        return self.source
