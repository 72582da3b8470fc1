"""Sorting a dataset on a Ray cluster: sample, shuffle, reduce, and again whatever was lost, until all is there."""

from __future__ import annotations

import hashlib
import time
from collections.abc import Iterator, Mapping
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any, Final

from planner.distributed_sort import node_tasks
from planner.distributed_sort.dataset import Dataset, Layout, Partition
from planner.distributed_sort.job import Emit, Job, SortRequest
from planner.distributed_sort.ledger import Journal, Ledger
from planner.distributed_sort.node_environment import JobFiles
from planner.distributed_sort.nodes import LOST, Crew
from planner.distributed_sort.object_store import is_object
from planner.distributed_sort.partition_reader import nodes_with
from planner.distributed_sort.partitioning import SAMPLE_PER_PARTITION, Splitting, share_out, split
from planner.distributed_sort.reduce import reduce
from planner.distributed_sort.shuffle import shuffle
from planner.distributed_sort.sizing import choose_sizes
from planner.distributed_sort.slicing import slices
from planner.errors import BadInputError, IoFailureError, PlannerError
from planner.native import core

SAMPLE_PHASE: Final = "sample"
_MOST_SAMPLINGS: Final = 10


@dataclass(frozen=True, kw_only=True)
class ClusterSortReport:
    """What a cluster sort did: seconds of each phase, bytes moved, what was lost and done again, and the output.

    `checksum` is the sum of the CRC-32 of all output records, as valsort prints it; `input_checksum` that of the input,
    '' when it was not asked for, or an earlier call has read a part.
    """

    records: int
    data_bytes: int
    nodes: tuple[str, ...]
    lost_nodes: tuple[str, ...]
    slow_nodes: dict[str, str]
    """Nodes that were much slower than the others, and whether they were left out."""
    partitions: int
    largest_partition_bytes: int
    phases_s: dict[str, float]
    timeline: tuple[dict[str, Any], ...]
    moved_bytes: dict[str, int]
    retries: int
    resumed: bool
    checksum: str
    input_checksum: str
    sorted: bool
    duplicates: int
    cpus: dict[str, float]
    """By node, the processors that it offered to tasks."""
    usage: dict[str, list[dict[str, float]]]
    """By node, what `resource_sampler` saw of it each second; seconds from the job's beginning."""

    def to_dict(self) -> dict[str, Any]:
        """Return the fields as JSON-able values."""
        return asdict(self)


def sort_dataset(
    request: SortRequest, *, ray: Any, journal: Path, emit: Emit = lambda _: None
) -> tuple[Dataset, ClusterSortReport]:
    """Sort on the cluster that `ray` is connected to; return the output and a report.

    `journal` is a file that lets a second call go on where a crashed one stopped; it is gone after success, and after
    an error, which also frees all space on the nodes. Raises BadInputError for a dataset or sizes that cannot be,
    IoFailureError naming node and file when something is lost, full or unreadable for good.
    """
    job, resumed = _prepared(request, ray=ray, journal=Journal(journal), emit=emit)
    try:
        shuffle(job)
        while not reduce(job):
            shuffle(job)
        dataset, report = _result(job, resumed=resumed)
    except PlannerError:
        job.crew.on_all(node_tasks.undo, job.files)
        job.crew.on_avoided(node_tasks.clean, job.files)
        job.journal.end()
        raise
    job.crew.on_all(node_tasks.clean, job.files)
    job.crew.on_avoided(node_tasks.clean, job.files)
    job.journal.end()
    return dataset, report


def job_name(request: SortRequest) -> str:
    """Return what a job is called on the nodes: the same for the same request, whose files it finds."""
    return hashlib.sha256(f"{request.source.digest()} {request.output} {request.copies}".encode()).hexdigest()[:12]


def _prepared(request: SortRequest, *, ray: Any, journal: Journal, emit: Emit) -> tuple[Job, bool]:
    """Return the job, with what an earlier call has done of it already noted."""
    crew = Crew(ray, directory=request.directory)
    name = job_name(request)
    if is_object(request.output) and request.copies > 1:
        raise BadInputError(f"{request.output} keeps copies of its own: ask for one, not {request.copies}")
    files = JobFiles(
        job=name,
        output=request.output,
        directory=request.directory,
        on_volume=request.on_volume,
        in_memory=request.in_memory,
    )
    store_bytes = min(crew.store_bytes.values())
    layout = request.source.layout
    sizes = choose_sizes(
        data_bytes=request.source.bytes,
        record_size=layout.record_size,
        nodes=len(crew.names),
        memory_bytes=request.memory_bytes or store_bytes,
        store_bytes=store_bytes,
        replicated=request.copies > 1,
        concurrency=crew.concurrency,
    )
    samplers, began, began_at_s = crew.watch(), time.monotonic(), time.time()
    earlier = journal.read(name)
    if earlier is None:
        crew.on_all(node_tasks.clean, files)
        began_with = {"bytes_done": 0, "bytes_total": request.source.bytes, "nodes": len(crew.names)}
        emit({"event": "progress", "phase": SAMPLE_PHASE} | began_with)
        splitting, sample_bytes = _split(request, crew, emit, partitions=sizes.partitions)
        owner = share_out(splitting.weights, _rates(request.rates, crew.names))
        journal.begin(job=name, slice_records=sizes.slice_records, splitting=splitting, owner=owner)
        done: dict[int, tuple[Partition, bytes]] = {}
    else:
        slice_records, splitting, owner, done = earlier
        sizes = sizes.going_on(slice_records=slice_records, record_size=layout.record_size, store_bytes=store_bytes)
        sample_bytes = 0
    cut = list(slices(request.source, sizes.slice_records))
    job = Job(
        request=request,
        ray=ray,
        crew=crew,
        files=files,
        sizes=sizes,
        slices=cut,
        splitting=splitting,
        splitting_reference=ray.put(splitting),
        ledger=Ledger(slices=len(cut), owner=owner),
        journal=journal,
        emit=emit,
        samplers=samplers,
        began=began,
        began_at_s=began_at_s,
    )
    job.moved.sample_read = sample_bytes
    job.timeline.append({"phase": SAMPLE_PHASE, "start_s": 0.0, "end_s": time.monotonic() - began})
    if earlier is not None:
        job.ledger.done = done
        _take_stock(job)
    job.require_inputs()
    return job, earlier is not None


def _take_stock(job: Job) -> None:
    """Note what nodes still have of an earlier call; owners and copies on nodes that have gone are struck out."""
    absent = {copy.node for partition, _ in job.ledger.done.values() for copy in partition.copies}
    gone = frozenset((set(job.ledger.owner) | absent) - set(job.crew.names) - {""})
    job.ledger.forget_nodes(gone, job.crew.names)
    for node, found in job.crew.on_all(node_tasks.inventory, job.files).items():
        for slice_number, first, counts in found.runs:
            if all(owner == node for owner in job.ledger.owner[first : first + len(counts)]):
                job.ledger.record(slice_number=slice_number, first=first, counts=counts)


def _split(request: SortRequest, crew: Crew, emit: Emit, *, partitions: int) -> tuple[Splitting, int]:
    """Sample the input, as much of each partition as it is large, and choose splitters; also return the bytes read."""
    source = request.source
    if request.uniform:
        return split(_even_keys(partitions, source.layout), partitions=partitions, layout=source.layout), 0
    keys_of = b"".join(_sampled(source, crew, emit, wanted=SAMPLE_PER_PARTITION * partitions))
    bytes_read = len(keys_of) // source.layout.key_size * source.layout.record_size
    return split(keys_of, partitions=partitions, layout=source.layout), bytes_read


def _sampled(source: Dataset, crew: Crew, emit: Emit, *, wanted: int) -> list[bytes]:
    """Return about `wanted` keys, those of each partition apart; what is lost with a node is sampled elsewhere.

    Raises IoFailureError when a partition cannot be had.
    """
    missing = {number: each for number, each in enumerate(source.partitions) if each.records}
    sampled: dict[int, bytes] = {}
    for _ in range(_MOST_SAMPLINGS):
        began = {}
        for number, partition in missing.items():
            at_hand, node = _at_hand(partition, crew, number)
            keys = max(1, round(wanted * partition.records / source.records))
            began[number] = node, crew.run(node, node_tasks.sample, at_hand, source.layout, keys)
        outcomes = {number: crew.awaited(reference, nodes=(node,)) for number, (node, reference) in began.items()}
        sampled |= {number: keys for number, keys in outcomes.items() if keys is not LOST}
        missing = {number: each for number, each in missing.items() if number not in sampled}
        if not missing:
            return [sampled[number] for number in sorted(sampled)]
        if gone := crew.newly_lost(at_once=True):
            emit({"event": "lost", "nodes": sorted(gone), "left": crew.names})
    lost = [f"{each.uri if each.copies else 'a recipe'}: {each.records} records" for each in missing.values()]
    raise IoFailureError(f"keys could not be sampled in {_MOST_SAMPLINGS} attempts", lost)


def _at_hand(partition: Partition, crew: Crew, turn: int) -> tuple[Partition, str]:
    """Return a partition with the copies that the cluster reaches, and a node to read it on. Raises IoFailureError."""
    left = partition.reached_from(crew.names)
    if not (nodes := nodes_with(left)):
        absent = ", ".join(sorted(copy.node for copy in partition.copies))
        raise IoFailureError(f"{partition.uri} lies on {absent}, which is not in the cluster")
    return left, nodes[0] or crew.names[turn % len(crew.names)]


def _even_keys(partitions: int, layout: Layout) -> bytes:
    """Return keys that are evenly spread over all values, as Indy may assume."""
    width = min(layout.key_size, 8)
    numbers = (number * 256**width // (partitions * 16) for number in range(partitions * 16))
    return b"".join(number.to_bytes(width, "big").ljust(layout.key_size, b"\0") for number in numbers)


def _rates(given: Mapping[str, float], names: list[str]) -> dict[str, float]:
    """Return the rate of each node, the mean of those given where none is."""
    if unknown := sorted(given.keys() - set(names)):
        raise BadInputError(f"rates of unknown nodes {', '.join(unknown)}; there are {', '.join(names)}")
    mean = sum(given.values()) / len(given) if given else 1.0
    return {name: given.get(name, mean) for name in names}


def _result(job: Job, *, resumed: bool) -> tuple[Dataset, ClusterSortReport]:
    """Return output and report. Raises IoFailureError when the output has not as many records as the input."""
    ordered = [job.ledger.done[number] for number in range(len(job.ledger.owner))]
    dataset = Dataset(partitions=tuple(partition for partition, _ in ordered), layout=job.request.source.layout)
    if dataset.records != job.request.source.records:
        raise IoFailureError(
            f"{dataset.records} records came out of {job.request.source.records}: the input was changed meanwhile"
        )
    whole = joined(summary for _, summary in ordered)
    return dataset, ClusterSortReport(
        records=dataset.records,
        data_bytes=dataset.bytes,
        nodes=tuple(sorted({*job.crew.names, *job.crew.lost})),
        lost_nodes=tuple(sorted(job.crew.lost - job.crew.avoided)),
        slow_nodes=dict(job.slow_nodes),
        partitions=len(dataset.partitions),
        largest_partition_bytes=max(each.records for each in dataset.partitions) * job.record_size,
        phases_s={phase: job.seconds(phase) for phase in dict.fromkeys(each["phase"] for each in job.timeline)},
        timeline=tuple(job.timeline),
        moved_bytes=asdict(job.moved),
        retries=job.retries,
        resumed=resumed,
        checksum=f"{whole.checksum:x}",
        input_checksum=_input_checksum(job),
        sorted=whole.unordered == 0,
        duplicates=whole.duplicates,
        cpus=dict(job.crew.cpus),
        usage=job.usage(),
    )


def _input_checksum(job: Job) -> str:
    known = job.request.sums_input and len(job.input_checksums) == len(job.slices)
    return f"{sum(job.input_checksums.values()):x}" if known else ""


def joined(summaries: Iterator[bytes]) -> Any:
    """Return the summary of consecutive partitions, seams included."""
    whole = core.Summary.parse(next(summaries))
    for each in summaries:
        whole.append(core.Summary.parse(each))
    return whole
