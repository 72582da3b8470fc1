"""A whole run on a cluster: bring or generate the input, sort it, read the output back, and take it to the store."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final, TypeVar

from planner.distributed_sort import object_store, staging
from planner.distributed_sort.dataset import Dataset, Partition
from planner.distributed_sort.generate import generate
from planner.distributed_sort.job import Emit, SortRequest
from planner.distributed_sort.nodes import Nodes
from planner.distributed_sort.sort import ClusterSortReport, sort_dataset
from planner.distributed_sort.validate import Validation, copy_summaries, validated, validation_of, with_sound_copies
from planner.sorting.stopwatch import Stopwatch

OUTPUT: Final = "output"
Result = TypeVar("Result")


@dataclass(frozen=True, kw_only=True)
class Moved:
    """Bytes that staging moved, and the requests to the object store that it took."""

    bytes: int
    requests: int


@dataclass(frozen=True, kw_only=True)
class RunResult:
    """Seconds of each step, the input's checksum, what each copy of the output holds, and the sort's report.

    `staged` has what `stage in` and `stage out` moved. `dataset` is the output's manifest, and `manifest` the
    manifest's URI in the object store: '' when the output stays on the nodes.
    """

    steps_s: dict[str, float]
    checksum: str
    validations: tuple[Validation, ...]
    sort: ClusterSortReport
    staged: dict[str, Moved]
    dataset: dict[str, Any]
    manifest: str


@dataclass(frozen=True, kw_only=True)
class RunRequest:
    """What to run. The input is `source`, in an object store, or without one `records` test records.

    `output` is a prefix in an object store: '' leaves the output on the nodes. `in_place` sorts straight from the store
    and to it; otherwise data is staged in before the sort and out after it. `rates`, `on_volume`, `in_memory` and
    `memory_bytes` are those of a SortRequest.
    """

    records: int
    copies: int
    source: Dataset | None = None
    output: str = ""
    in_place: bool = False
    memory_bytes: int | None = None
    skew: bool = False
    rates: Mapping[str, float] = field(default_factory=dict)
    on_volume: bool = False
    in_memory: bool = False


@dataclass(kw_only=True)
class _Steps(Stopwatch):
    """A stopwatch that also reports each step as it begins."""

    emit: Emit

    def timed(self, name: str, call: Callable[[], Result]) -> Result:
        self.emit({"event": "step", "name": name})
        return super().timed(name, call)


def run(request: RunRequest, *, ray: Any, journal: Path, emit: Emit) -> RunResult:
    """Do the run. As soon as the sort is done, an event `sorted` tells where the output lies. Output of which not every
    partition has a right copy is not taken to the store.

    Raises what `sort_dataset` raises, and IoFailureError when a node is lost before or after the sort.
    """
    steps = _Steps(emit=emit)
    nodes = steps.timed("connect", lambda: Nodes(ray))
    if request.output:
        tried = nodes.run(nodes.names[0], object_store.require_writable, request.output)
        nodes.outcomes([tried], doing="the store was tried")
    source, checksum, staged = _input(request, nodes, steps)
    sort_request = _sort_request(request, source, sums_input=not checksum)
    dataset, report = steps.timed("sort", lambda: sort_dataset(sort_request, ray=ray, journal=journal, emit=emit))
    emit({"event": "sorted", "dataset": json.loads(dataset.to_json())})
    nodes.newly_lost(at_once=True)
    copies = range(request.copies)
    read = steps.timed("validate", lambda: [copy_summaries(nodes, dataset, copy=copy) for copy in copies])
    validations = tuple(validation_of(summaries, dataset) for summaries in read)
    dataset, first = with_sound_copies(dataset, read)
    checksum = checksum or report.input_checksum
    manifest = ""
    if request.output and (first.records, first.checksum, first.sorted) == (source.records, checksum, True):
        dataset, manifest = _output(request, nodes, steps, dataset, staged)
    return RunResult(
        steps_s=steps.seconds,
        checksum=checksum,
        validations=validations,
        sort=report,
        staged=staged,
        dataset=json.loads(dataset.to_json()),
        manifest=manifest,
    )


def _sort_request(request: RunRequest, source: Dataset, *, sums_input: bool) -> SortRequest:
    return SortRequest(
        source=source,
        output=request.output if request.in_place and request.output else OUTPUT,
        copies=request.copies,
        memory_bytes=request.memory_bytes,
        rates=dict(request.rates),
        on_volume=request.on_volume,
        in_memory=request.in_memory,
        sums_input=sums_input,
    )


def _input(request: RunRequest, nodes: Nodes, steps: _Steps) -> tuple[Dataset, str, dict[str, Moved]]:
    """Return the dataset to sort, its checksum ('' if the sort is to find it), and what staging moved."""
    source = request.source
    if source is not None and request.in_place:
        return source, "", {}
    if source is not None:
        local, requests = steps.timed("stage in", lambda: staging.stage_in(nodes, source))
        return local, _total(local.partitions), {"stage in": Moved(bytes=local.bytes, requests=requests)}
    made = steps.timed(
        "generate", lambda: generate(nodes, records=request.records, skew=request.skew, on_volume=request.on_volume)
    )
    return made, steps.timed("checksum of the input", lambda: validated(nodes, made)).checksum, {}


def _output(
    request: RunRequest, nodes: Nodes, steps: _Steps, dataset: Dataset, staged: dict[str, Moved]
) -> tuple[Dataset, str]:
    """Take the output to the store, unless it was sorted in place; return it there, and the URI of its manifest."""
    if not request.in_place:
        local = dataset
        dataset, requests = steps.timed("stage out", lambda: staging.stage_out(nodes, local, request.output))
        staged["stage out"] = Moved(bytes=dataset.bytes, requests=requests)
    return dataset, staging.publish(nodes, dataset, request.output)


def _total(partitions: tuple[Partition, ...]) -> str:
    return f"{sum(int(partition.checksum, 16) for partition in partitions):x}"
