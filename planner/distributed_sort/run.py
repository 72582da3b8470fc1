"""A whole run on a cluster: bring or generate the input, sort it, read the output back, and send it to the store."""

from __future__ import annotations

import json
import secrets
import time
from collections.abc import Callable, Mapping
from contextlib import suppress
from dataclasses import asdict, dataclass, field, fields, replace
from pathlib import Path
from typing import Any, Final, TypeVar

from planner.distributed_sort import staging
from planner.distributed_sort.dataset.copies import (
    Validation,
    copy_summaries,
    drop_changed_copies,
    keep_intact_copies,
    run_on_any,
    validate_first_copies,
    validation_of,
)
from planner.distributed_sort.dataset.dataset import Dataset, Partition, dataset_of
from planner.distributed_sort.dataset.object_store import is_object
from planner.distributed_sort.job.job import SortRequest
from planner.distributed_sort.job.ledger import Journal
from planner.distributed_sort.job.nodes import Nodes
from planner.distributed_sort.job.stopwatch import Stopwatch
from planner.distributed_sort.job.waiting import Emit
from planner.distributed_sort.node_files.node_environment import JobFiles, free_space, job_of_part
from planner.distributed_sort.node_tasks import node_tasks
from planner.distributed_sort.publishing import Manifest, ManifestPlace
from planner.distributed_sort.sort import sort_dataset
from planner.distributed_sort.staging import INPUT, StagingResult, generate, place_of
from planner.errors import BadInputError, IoFailureError, PlannerError, ProviderRefusedError, UnfinishedError

OUTPUT: Final = "output"
_RUN: Final = "run-"
"""Prefix of the ids of runs."""
_LOOK_EVERY_S: Final = 2.0
Result = TypeVar("Result")


@dataclass(frozen=True, kw_only=True)
class _NodeLosses:
    """Retries of steps that fail because some of `wanted` nodes are lost; new nodes get `replaced_within_s` to join."""

    ray: Any
    emit: Emit
    wanted: int
    replaced_within_s: float

    def retry_on_node_loss(
        self, nodes: Nodes, action: Callable[[Nodes], Result], *, rollback: Callable[[Nodes], None]
    ) -> tuple[Nodes, Result]:
        """Run an action, repeatedly if it fails with nodes lost meanwhile; `rollback` frees the space of the last
        attempt. Return the nodes of the successful attempt, and its result.
        """
        while True:
            try:
                return nodes, action(nodes)
            except PlannerError as error:
                if not _find_lost(nodes):
                    raise
                nodes = self.recover(nodes, error, rollback=rollback)

    def recover(self, nodes: Nodes, error: PlannerError, *, rollback: Callable[[Nodes], None]) -> Nodes:
        """Report the reason of a repetition, free the space of the last attempt, and return the nodes for the next."""
        self.emit({"event": "again", "lost": sorted(nodes.lost), "reason": str(error)})
        left = self.wait_for_nodes()
        rollback(left)
        return left

    def wait_for_nodes(self) -> Nodes:
        """Return the present nodes, once they are as many as at first, or the time to join is over."""
        end_s = time.monotonic() + self.replaced_within_s
        while time.monotonic() < end_s and self._count_alive() < self.wanted:
            time.sleep(_LOOK_EVERY_S)
        return Nodes(self.ray, emit=self.emit)

    def _count_alive(self) -> int:
        return sum(node["Alive"] and node["Resources"].get("CPU", 0) > 0 for node in self.ray.nodes())


def _find_lost(nodes: Nodes) -> frozenset[str]:
    """Return the nodes lost by now, possibly all of them."""
    with suppress(IoFailureError):
        nodes.detect_losses(at_once=True)
    return nodes.lost - nodes.excluded


@dataclass(frozen=True, kw_only=True)
class RunResult:
    """Seconds of each step, the content of each copy of the output, and the sort's report.

    A correct copy holds the `records` and the `checksum` of the input. The number of lines of text is only known for
    the output. If one of equal keys is kept (`is_unique`), the input determines neither, and both are those of the
    sort's output; then no two keys may be equal.

    `staged` has the amounts moved by `stage in` and `stage out`. `dataset` is the output's manifest, and `manifest` the
    manifest's URI in the object store: '' when the output stays on the nodes.
    """

    steps_s: dict[str, float]
    records: int
    checksum: str
    is_unique: bool
    validations: tuple[Validation, ...]
    sort: dict[str, Any]
    staged: dict[str, StagingResult]
    dataset: dict[str, Any]
    manifest: str


@dataclass(frozen=True, kw_only=True)
class RunRequest:
    """The request for a run. The input is `source`, or without one `records` test records.

    `output` is a prefix in an object store, or a folder that all nodes reach: '' leaves the output on the nodes.
    `in_place` sorts directly from the store and to it; otherwise objects are staged in before the sort and the output
    is staged out after it. Files that all nodes reach are sorted where they lie. `rates`, `on_volume`, `in_memory` and
    `memory_bytes` are those of a SortRequest. Lost nodes are replaced within `replaced_within_s`, if it is not 0.
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
    replaced_within_s: float = 0.0


@dataclass(kw_only=True)
class _Steps(Stopwatch):
    """A stopwatch that also reports each step as it begins."""

    emit: Emit

    def measure(self, name: str, call: Callable[[], Result]) -> Result:
        self.emit({"event": "step", "name": name})
        return super().measure(name, call)


def run(request: RunRequest, *, ray: Any, journal: Path, emit: Emit) -> RunResult:
    """Do the run. As soon as the sort is done, an event `sorted` has all the data that `finish` needs to continue from
    there. Output is not sent to the store unless every partition has a correct copy.

    Steps that fail because a node is lost are repeated, with the remaining and the new nodes: the input from its
    beginning; all from the sort on only where its output is lost. New nodes get `replaced_within_s` to join before
    that. Raises the errors of `sort_dataset`, and IoFailureError.
    """
    steps = _Steps(emit=emit)
    nodes = steps.measure("connect", lambda: Nodes(ray, emit=emit))
    if request.output:
        require_writable = place_of(request.output).require_writable
        run_on_any(nodes, require_writable, request.output, doing="the place of the output was tried")
    job = f"{_RUN}{secrets.token_hex(6)}"
    nodes.run_on_all(free_earlier_runs, JobFiles(job=f"{_RUN}*", output=OUTPUT, on_volume=request.on_volume))
    staged: dict[str, StagingResult] = {}
    losses = _NodeLosses(ray=ray, emit=emit, wanted=len(nodes.names), replaced_within_s=request.replaced_within_s)
    nodes, (source, checksum) = losses.retry_on_node_loss(
        nodes,
        lambda alive: _prepare_input(request, alive, steps, staged),
        rollback=_make_rollback(request, job=INPUT, output=INPUT),
    )
    if lost_nodes := _find_lost(nodes):  # their part of the input is read from its source
        emit({"event": "lost", "nodes": sorted(lost_nodes), "left": nodes.names})
        nodes = losses.wait_for_nodes()
    rollback = _make_rollback(request, job=job, output=OUTPUT)
    while True:
        nodes, output = losses.retry_on_node_loss(
            nodes,
            lambda alive: _sort_source(
                request, alive, steps, job=job, source=source, checksum=checksum, ray=ray, journal=journal
            ),
            rollback=rollback,
        )
        emit({"event": "sorted", "staged": {name: asdict(moved) for name, moved in staged.items()}} | output.document())
        nodes = Nodes(ray, emit=emit)
        if len(nodes.names) < request.copies:
            nodes = losses.wait_for_nodes()
        try:
            return _validate_and_store(request, nodes, steps, staged, output)
        except PlannerError as error:
            _find_lost(nodes)
            if not _is_lost(request, output.dataset, nodes):
                raise
            nodes = losses.recover(nodes, error, rollback=rollback)


def finish(request: RunRequest, event: dict[str, Any], *, ray: Any, emit: Emit) -> RunResult:
    """Do the steps after the sort of a run, from its `sorted` event, with the remaining output. Raises
    IoFailureError.
    """
    request = replace(request, replaced_within_s=0.0)
    steps = _Steps(emit=emit, seconds=dict(event["steps_s"]))
    staged = {name: StagingResult(**moved) for name, moved in event["staged"].items()}
    return _validate_and_store(request, Nodes(ray, emit=emit), steps, staged, _Output.of(event))


@dataclass(frozen=True, kw_only=True)
class _Output:
    """The output of a sort: `records` and `checksum` as in RunResult, the sort's report, seconds so far."""

    dataset: Dataset
    records: int
    checksum: str
    sort: dict[str, Any]
    steps_s: dict[str, float]

    def document(self) -> dict[str, Any]:
        """Return the output as JSON-able values."""
        return vars(self) | {"dataset": json.loads(self.dataset.to_json())}

    def is_met_by(self, copy: Validation) -> bool:
        """Return whether a copy of the output, read back, is correct."""
        is_distinct = not (self.dataset.layout.is_unique and copy.duplicates)
        return copy.sorted and is_distinct and (copy.records, copy.checksum) == (self.records, self.checksum)

    @classmethod
    def of(cls, document: dict[str, Any]) -> _Output:
        """Return the output from the values of `document`, among others."""
        values = {item.name: document[item.name] for item in fields(cls)}
        return cls(**values | {"dataset": dataset_of(document["dataset"])})


def _is_lost(request: RunRequest, dataset: Dataset, nodes: Nodes) -> bool:
    """Return whether copies of the output were lost with their nodes: all of a partition's; where lost nodes are
    replaced and the output is to stay on them, one of those that the present number of nodes can keep.
    """
    stays = request.replaced_within_s and not request.output
    return any(
        len(partition.readable_from(nodes.names).copies) < (min(request.copies, len(nodes.names)) if stays else 1)
        for partition in dataset.partitions
    )


def free_earlier_runs(own: JobFiles) -> None:
    """Delete the files of earlier runs on this node: their input, their output and their intermediate files."""
    node_tasks.undo(replace(own, job=INPUT, output=INPUT))
    parts = (path.name for folder in own.output_folders() if folder.is_dir() for path in folder.iterdir())
    jobs = {job for name in parts if (job := job_of_part(name)).startswith(_RUN)}
    for job in jobs:
        node_tasks.undo(replace(own, job=job))
    free_space(left for folder in own.run_folders() for left in folder.parent.glob(folder.name))


def _make_rollback(request: RunRequest, *, job: str, output: str) -> Callable[[Nodes], None]:
    """Return a function that frees the space of an attempt: on the nodes' disks, and in the store that output was sent
    to.
    """

    def roll_back(nodes: Nodes) -> None:
        nodes.run_on_all(node_tasks.undo, JobFiles(job=job, output=output, on_volume=request.on_volume))
        if output == OUTPUT and request.output:
            _delete_sent(request, nodes, job)

    return roll_back


def _delete_sent(request: RunRequest, nodes: Nodes, job: str) -> None:
    delete_partitions = place_of(request.output).delete_partitions
    run_on_any(nodes, delete_partitions, request.output, job, doing="what had been sent was deleted")


def _sort_source(
    request: RunRequest,
    nodes: Nodes,
    steps: _Steps,
    *,
    job: str,
    source: Dataset,
    checksum: str,
    ray: Any,
    journal: Path,
) -> _Output:
    is_unique, is_text = source.layout.is_unique, source.layout.text is not None
    sort_request = _sort_request(request, source, nodes, job=job, sums_input=not checksum and not is_unique)
    try:
        dataset, report = steps.measure(
            "sort", lambda: sort_dataset(sort_request, ray=ray, journal=journal, emit=steps.emit)
        )
    except (UnfinishedError, ProviderRefusedError):
        Journal(journal).end()  # the next attempt, or run, has files of its own, and frees these
        raise
    return _Output(
        dataset=dataset,
        records=report.records if is_unique or is_text else source.records,
        checksum=report.checksum if is_unique else checksum or report.input_checksum,
        sort=asdict(report),
        steps_s=dict(steps.seconds),
    )


def _validate_and_store(
    request: RunRequest, nodes: Nodes, steps: _Steps, staged: dict[str, StagingResult], output: _Output
) -> RunResult:
    """Read the output back, and send it to the store."""
    copies = range(request.copies)
    read = steps.measure("validate", lambda: [copy_summaries(nodes, output.dataset, copy=copy) for copy in copies])
    read = drop_changed_copies(read, output.dataset)
    validations = tuple(validation_of(summaries, output.dataset) for summaries in read)
    dataset, first = keep_intact_copies(output.dataset, read)
    if request.replaced_within_s and _is_lost(request, output.dataset, nodes):
        raise IoFailureError(
            f"copies of the output were lost with {', '.join(sorted(nodes.lost)) or 'their nodes'}", code="copies-lost"
        )
    manifest = ""
    if request.output and output.is_met_by(first):
        dataset, manifest = _store_output(request, nodes, steps, dataset, staged)
    return RunResult(
        steps_s=steps.seconds,
        records=output.records,
        checksum=output.checksum,
        is_unique=output.dataset.layout.is_unique,
        validations=validations,
        sort=output.sort,
        staged=staged,
        dataset=json.loads(dataset.to_json()),
        manifest=manifest,
    )


def _sort_request(request: RunRequest, source: Dataset, nodes: Nodes, *, job: str, sums_input: bool) -> SortRequest:
    return SortRequest(
        source=source,
        output=request.output if request.in_place and request.output else OUTPUT,
        copies=request.copies,
        memory_bytes=request.memory_bytes,
        rates={name: rate for name, rate in request.rates.items() if name in nodes.names},
        on_volume=request.on_volume,
        in_memory=request.in_memory,
        sums_input=sums_input,
        job=job,
    )


def _prepare_input(
    request: RunRequest, nodes: Nodes, steps: _Steps, staged: dict[str, StagingResult]
) -> tuple[Dataset, str]:
    """Return the dataset to sort and its checksum, '' if the sort is to compute it; `staged` gets the amounts moved."""
    source = request.source
    if source is not None and (request.in_place or not _is_in_store(source)):
        return source, ""
    if source is not None:
        local, staged["stage in"] = steps.measure("stage in", lambda: staging.stage_in(nodes, source))
        return local, _total(local.partitions)
    made = steps.measure(
        "generate", lambda: generate(nodes, records=request.records, skew=request.skew, on_volume=request.on_volume)
    )
    return made, steps.measure("checksum of the input", lambda: validate_first_copies(nodes, made)).checksum


def _is_in_store(source: Dataset) -> bool:
    return any(is_object(copy.uri) for partition in source.partitions for copy in partition.copies)


def _store_output(
    request: RunRequest, nodes: Nodes, steps: _Steps, dataset: Dataset, staged: dict[str, StagingResult]
) -> tuple[Dataset, str]:
    """Send the output to the store, unless it was sorted in place; return it there, and the URI of its manifest."""
    if not request.in_place:
        local = dataset
        dataset, staged["stage out"] = steps.measure(
            "stage out", lambda: staging.stage_out(nodes, local, request.output)
        )
    place = ManifestPlace.below(request.output, nodes)
    try:
        place.put(Manifest.of(dataset))
    except BadInputError:
        _delete_sent(request, nodes, dataset.job)
        raise
    return dataset, place.uri


def _total(partitions: tuple[Partition, ...]) -> str:
    """Return the checksum of all partitions, '' where some are unknown."""
    if not all(partition.checksum for partition in partitions):
        return ""
    return f"{sum(int(partition.checksum, 16) for partition in partitions):x}"
