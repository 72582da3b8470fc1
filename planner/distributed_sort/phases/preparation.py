"""The preparation of a sort: readable input, the rate of the links, sizes, owners, and splitters chosen from a
sample of the keys, which the nodes that hold them read."""

from __future__ import annotations

import math
import time
from collections.abc import Mapping
from dataclasses import replace
from statistics import median
from typing import Any, Final

from planner.distributed_sort.content.content import SAMPLE_PER_PARTITION, content_of, split
from planner.distributed_sort.content.text_content import Text, TextSplitting
from planner.distributed_sort.dataset.dataset import Dataset, Layout
from planner.distributed_sort.dataset.partition_reader import slices
from planner.distributed_sort.dataset.readable_input import InputTask, ReadableInput, find_quotes, has_decompressed_copy
from planner.distributed_sort.job.job import BytesMoved, Job, SortRequest, progress
from planner.distributed_sort.job.ledger import Journal, Ledger, Progress
from planner.distributed_sort.job.nodes import LOST, Nodes
from planner.distributed_sort.job.waiting import Emit
from planner.distributed_sort.node_files.node_environment import JobFiles, available_bytes
from planner.distributed_sort.node_tasks import node_tasks
from planner.errors import BadInputError, IoFailureError, some_of
from planner.sort_policy.placement import fits_in_cache, share_out, share_within_space
from planner.sort_policy.sizing import (
    LEAST_PARTITION_BYTES,
    LEAST_TABLE_BYTES,
    SORT_BUFFERS,
    TEXT_SORT_BUFFERS,
    Sizes,
    choose_sizes,
)
from planner.units import format_bytes

_SPACE_USED: Final = 0.95
"""Share of a node's free bytes that is used: actual shares differ slightly from the planned ones."""
PROBE_BYTES: Final = 4_000_000
"""Over 400 Mbit/s they take 80 ms, so that a connection's first milliseconds do not matter."""


def link_bytes_per_s(nodes: Nodes, files: JobFiles) -> float | None:
    """Return the median rate of the nodes' links, in bytes/s; None with fewer than two nodes, or when any is lost.

    Waiting for a processor of a busy node counts as the link's time, so that the rate is rather too low.
    """
    names = nodes.names
    if len(names) < 2:
        return None
    begun = [nodes.call(name, "begin_probe", files, PROBE_BYTES) for name in names]
    if any(nodes.wait_for(reference, nodes=names) is LOST for reference in begun):
        return None
    fetched = [
        nodes.call(name, "probe_seconds", files, nodes.address(other), PROBE_BYTES)
        for name, other in zip(names, [*names[1:], names[0]], strict=True)
    ]
    seconds = [nodes.wait_for(reference, nodes=names) for reference in fetched]
    return None if any(took is LOST or took is None for took in seconds) else PROBE_BYTES / median(seconds)


DECOMPRESS_PHASE: Final = "decompress"
SAMPLE_PHASE: Final = "sample"
_PROBES_PER_NODE: Final = 2
"""Links are measured where a node has more data than this number of measurements transfers."""


def prepare(
    request: SortRequest,
    files: JobFiles,
    nodes: Nodes,
    emit: Emit,
    *,
    journal: Journal,
    earlier: Progress | None,
    began: Mapping[str, Any],
) -> Job:
    """Make the input readable in slices, decide the splitting and owners, and return the job. `earlier` is from the
    journal of an earlier call; None without one: then the input is sampled, and partitions are shared out. Work lost
    with a node meanwhile is done again. Raises BadInputError, IoFailureError.
    """
    began_s, readable = time.monotonic(), ReadableInput(request.source, files=files, nodes=nodes, emit=emit)
    if not all(map(has_decompressed_copy, request.source.partitions)):
        emit(progress(DECOMPRESS_PHASE, request.source, records=0, nodes=len(nodes.names)))
    readable.decompress()
    decompressed_s = time.monotonic() - began_s if readable.read_bytes else 0.0
    sample_bytes = find_quotes(readable)
    sizes = _sizes(request, readable.source, files, nodes, emit)
    if earlier is not None:
        slice_records, splitting, owner, done = earlier
        store_bytes = min(nodes.store_bytes.values())
        sizes = sizes.resumed(
            slice_records=slice_records, record_size=request.source.layout.record_size, store_bytes=store_bytes
        )
    else:
        emit(progress(SAMPLE_PHASE, readable.source, records=0, nodes=len(nodes.names)))
        splitting, read_bytes = choose_splitting(readable, sizes=sizes, is_uniform=request.uniform)
        sample_bytes += read_bytes
        owner, done = share_out(splitting.weights, node_shares(request, readable.source, nodes)), {}
        journal.begin(slice_records=sizes.slice_records, splitting=splitting, owner=owner)
    source, cut = readable.source, list(slices(readable.source, sizes.slice_records))
    is_cached = fits_in_cache(
        node_bytes=source.bytes / len(nodes.names), available_bytes=available_bytes(nodes.facts.values())
    )
    job = Job(
        request=request,
        emit=emit,
        nodes=nodes,
        files=replace(files, cached=is_cached),
        source=source,
        sizes=sizes,
        slices=cut,
        splitting_reference=nodes.ray.put(splitting),
        ledger=Ledger(slices=len(cut), owner=owner),
        journal=journal,
        moved=BytesMoved(sample_read=sample_bytes, input_read=readable.read_bytes),
        **began,
    )
    job.ledger.done = done
    if readable.read_bytes:
        job.timeline.append({"phase": DECOMPRESS_PHASE, "start_s": 0.0, "end_s": decompressed_s})
    job.timeline.append({"phase": SAMPLE_PHASE, "start_s": decompressed_s, "end_s": time.monotonic() - job.began_s})
    return job


def _sizes(request: SortRequest, source: Dataset, files: JobFiles, nodes: Nodes, emit: Emit) -> Sizes:
    store_bytes = min(nodes.store_bytes.values())
    is_worth_it = source.bytes > _PROBES_PER_NODE * PROBE_BYTES * len(nodes.names)
    layout = source.layout
    link = link_bytes_per_s(nodes, files) if is_worth_it else None
    if link is not None:
        job = {"form": layout.form, "data_bytes": source.bytes, "copies": request.copies}
        on = {"nodes": len(nodes.names), "cpus": sum(nodes.cpus.values()), "link_bytes_per_s": link}
        emit({"event": "planned"} | job | on)
    least_bytes = LEAST_TABLE_BYTES if layout.table else LEAST_PARTITION_BYTES
    sizes = choose_sizes(
        data_bytes=source.bytes,
        record_size=layout.record_size,
        node_count=len(nodes.names),
        memory_bytes=request.memory_bytes or store_bytes,
        store_bytes=store_bytes,
        replicated=request.copies > 1,
        concurrency=nodes.concurrency,
        least_partition_bytes=request.least_partition_bytes or least_bytes,
        partition_bytes=request.partition_bytes,
        link_bytes_per_s=link,
        sort_buffers=TEXT_SORT_BUFFERS if layout.text or layout.table else SORT_BUFFERS,
    )
    longest = max((rows for partition in source.partitions for rows in partition.groups), default=0)
    if longest <= sizes.slice_records:
        return sizes
    return sizes.resumed(slice_records=longest, record_size=layout.record_size, store_bytes=store_bytes)


def node_shares(request: SortRequest, source: Dataset, nodes: Nodes) -> dict[str, float]:
    """Return each node's share of the partitions, in any unit: in proportion to its rate, but no more than fits on its
    disks. Raises IoFailureError when all disks together are too small.
    """
    rates, needed_bytes = _rates(request.rates, nodes.names), request.stored_bytes(source)
    space_bytes = {name: _SPACE_USED * nodes.facts[name].free_bytes for name in rates}
    if sum(space_bytes.values()) < needed_bytes:
        free = [f"{name}: {format_bytes(nodes.facts[name].free_bytes)}" for name in nodes.names]
        raise IoFailureError(
            f"the nodes' disks have not the {format_bytes(needed_bytes)} that the sort needs",
            [f"free on {some_of(free)}", "free some, add nodes, or send the output to a store with --to"],
            code="no-space",
        )
    return share_within_space(rates, space_bytes, needed_bytes=needed_bytes)


def _rates(user_rates: Mapping[str, float], names: list[str]) -> dict[str, float]:
    """Return the rate of each node; a node without one gets the mean of those given."""
    if unknown := sorted(user_rates.keys() - set(names)):
        raise BadInputError(
            f"rates of unknown nodes {', '.join(unknown)}; there are {', '.join(names)}", code="unknown-node"
        )
    mean = sum(user_rates.values()) / len(user_rates) if user_rates else 1.0
    return {name: user_rates.get(name, mean) for name in names}


_PLANNED_SHARE: Final = 3 / 4
"""Share of a sort task's memory for the size that the sample predicts."""
_MOST_TIMES: Final = 4.0
"""Largest factor by which the number of partitions grows at a time."""
_LEAST_GAIN: Final = 0.9


def choose_splitting(readable: ReadableInput, *, sizes: Sizes, is_uniform: bool) -> tuple[Any, int]:
    """Return splitters chosen from a sample of the input, and the number of bytes read for it.

    Text of short lines gets more partitions than the `sizes` have. Larger input partitions contribute more to the
    sample. Where it `is_uniform`, nothing is read, and keys are assumed to be evenly spread. Raises IoFailureError when
    a partition is unavailable.
    """
    source = readable.source
    if is_uniform and (source.layout.text or source.layout.table):
        raise BadInputError(
            "text and tables are not evenly spread over all values: sort them without --uniform", code="not-uniform"
        )
    partitions = sizes.partitions
    if is_uniform:
        return split(_even_keys(partitions, source.layout), partitions=partitions, layout=source.layout), 0
    sampled = _sample_keys(readable, key_count=SAMPLE_PER_PARTITION * partitions)
    content = content_of(source.layout)
    if isinstance(content, Text):
        most_bytes = sizes.sort_bytes * _PLANNED_SHARE / max(1, source.bytes)
        return split_to_fit(content, sampled, partitions=partitions, most_bytes=most_bytes)
    return content.split(sampled, partitions)


def split_to_fit(
    content: Text, sampled: list[list[bytes]], *, partitions: int, most_bytes: float
) -> tuple[TextSplitting, int]:
    """Split text as `Text.split` does, into more partitions where one would take more memory than `most_bytes` for each
    byte of the input, as short lines do, unless that does not help: lines that must stay together are not divided.
    """
    best, read_bytes = content.split(sampled, partitions)
    needed_bytes = content.peak_bytes_per_byte(sampled, best)
    while needed_bytes > most_bytes:
        partitions = math.ceil(partitions * min(_MOST_TIMES, needed_bytes / most_bytes))
        other, _ = content.split(sampled, partitions)
        before_bytes, needed_bytes = needed_bytes, content.peak_bytes_per_byte(sampled, other)
        if needed_bytes > _LEAST_GAIN * before_bytes:
            break
        best = other
    return best, read_bytes


def _sample_keys(readable: ReadableInput, *, key_count: int) -> list[list[bytes]]:
    """Return about `key_count` keys by partition. Raises IoFailureError when a partition is unavailable."""
    source = readable.source
    tasks = [
        InputTask(
            partition=number,
            task=node_tasks.sample,
            arguments=(source.layout, max(1, round(key_count * partition.records / source.records))),
        )
        for number, partition in enumerate(source.partitions)
        if partition.records
    ]
    return readable.outcomes(tasks, failed="keys could not be sampled")


def _even_keys(partitions: int, layout: Layout) -> bytes:
    """Return keys that are evenly spread over all values, as Indy may assume."""
    width = min(layout.key_size, 8)
    numbers = (number * 256**width // (partitions * 16) for number in range(partitions * 16))
    return b"".join(number.to_bytes(width, "big").ljust(layout.key_size, b"\0") for number in numbers)
