"""Bringing the input from an object store to the nodes' disks, or making it there, and the output from there to a store
or a folder.

Objects of fixed records are cut into pieces, so that nodes and disks get equal shares whatever the objects' sizes. Text
and table objects are moved whole, as their cuts are unknown before they are read. A piece names its object as a second
copy; if the piece's node is lost, the records are read from there.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import pairwise
from pathlib import Path
from typing import Any, Final, Protocol

import numpy as np

from planner.arrays import Bytes
from planner.compression.looks import SUFFIXES
from planner.distributed_sort.content.content import content_of
from planner.distributed_sort.dataset import object_store, shared_folder
from planner.distributed_sort.dataset.copies import retry_on_nodes, run_on_each_copy, validate_first_copies
from planner.distributed_sort.dataset.dataset import Copy, Dataset, Layout, Partition, Recipe
from planner.distributed_sort.dataset.input_files import files_of
from planner.distributed_sort.dataset.input_versions import with_versions
from planner.distributed_sort.dataset.object_store import is_object
from planner.distributed_sort.dataset.readable_input import (
    COMPRESSED_PIECE_BYTES,
    decompressed_text,
    or_error,
    stored_bytes,
    with_decompressed_copy,
)
from planner.distributed_sort.job.nodes import Nodes
from planner.distributed_sort.node_files.node_environment import JobFiles, node_name, part_name
from planner.distributed_sort.node_files.run_files import file_errors, write_atomically
from planner.distributed_sort.node_tasks import node_tasks
from planner.errors import BadInputError, IoFailureError
from planner.native import core, core_errors


class Place(Protocol):
    """Operations of both kinds of place; each call raises IoFailureError."""

    def list_files(self, prefix: str, /) -> dict[str, int]: ...
    def require_writable(self, prefix: str, /) -> None: ...
    def write_file(self, uri: str, path: Path, /) -> int: ...
    def delete_partitions(self, prefix: str, job: str, /) -> None: ...
    def read_version(self, uri: str, /) -> tuple[bytes, Any] | None: ...
    def put_if(self, uri: str, content: bytes, /, *, expected_version: Any) -> bool: ...


def place_of(uri: str) -> Place:
    """Return the kind of place of a URI or a path."""
    return object_store if object_store.is_object(uri) else shared_folder


_PIECES_PER_DISK: Final = 4
_LEAST_PIECE_BYTES: Final = 1_000_000


@dataclass(frozen=True, kw_only=True)
class Staged:
    """A staged partition, the bytes of its file that were moved, and the number of requests."""

    partition: Partition
    bytes: int
    requests: int


@dataclass(frozen=True, kw_only=True)
class StagingResult:
    """Bytes moved by staging, and its number of requests to the object store."""

    bytes: int
    requests: int


def dataset_below(source: str, layout: Layout) -> Dataset:
    """Return all objects below a prefix, or all files in a directory, as a dataset, in the order of their names.

    Raises BadInputError where there is none, or for one that is compressed or does not hold whole records;
    IoFailureError.
    """
    sizes = files_of(source)
    if packed := next((uri for uri in sizes if uri.endswith(tuple(SUFFIXES))), None):
        raise BadInputError(
            f"{packed} is compressed: a cluster takes records as they are; decompress it first", code="compressed"
        )
    if torn := [f"{uri}: {size} bytes" for uri, size in sizes.items() if size % layout.record_size]:
        raise BadInputError(
            f"{source}: not all files hold whole records of {layout.record_size} bytes",
            torn[:10],
            code="partial-records",
        )
    partitions = (Partition(records=size // layout.record_size, copies=(Copy(uri=uri),)) for uri, size in sizes.items())
    return Dataset(partitions=tuple(partitions), layout=layout)


def require_empty(place: str) -> None:
    """Raise BadInputError when a prefix or a folder holds anything that output could be confused with, or a file is in
    the folder's place.
    """
    if not is_object(place) and Path(place).exists() and not Path(place).is_dir():
        raise BadInputError(f"{place} is a file: name a directory for the output", code="is-file")
    if files := list(place_of(place).list_files(place)):
        raise BadInputError(
            f"{place}: not empty; name another place, or remove what is there", files[:10], code="not-empty"
        )


def stage_in(nodes: Nodes, source: Dataset) -> tuple[Dataset, StagingResult]:
    """Have the nodes fetch equal shares of a dataset; return it as it lies there, with the checksums of fixed records'
    partitions, and the amounts moved. Failed fetches are tried again, by another node. Raises IoFailureError, and
    InputChangedError for an object that is replaced meanwhile.
    """
    source = with_versions(source, nodes)
    disks = sum(nodes.facts[name].data_disks for name in nodes.names)
    is_whole = source.layout.text is not None or source.layout.table is not None
    whole = tuple(largest_first(source) if is_whole else pieces(source, disks=disks))
    files, numbers = JobFiles(job="input", output="input"), Counter[str]()

    def begin(node: str, tried: Partition, number: int) -> Any:
        others = (copy for copy in whole[number].copies if copy not in tried.copies)
        piece = replace(tried, copies=(*tried.copies, *others))
        numbers[node] += 1  # a node uses its disks by turns
        if is_whole:
            return nodes.run(node, or_error, piece, fetch_object, source.layout, files, numbers[node])
        return nodes.run(node, fetch, piece, source.layout, files, numbers[node], nodes.threads(node))

    dataset, turns = replace(source, partitions=whole), _balance_load(whole, len(nodes.names))
    copies = {number: piece.copies for number, piece in enumerate(whole)}
    outcomes = run_on_each_copy(nodes, copies, dataset, begin, turn=turns.__getitem__)
    staged: list[Staged | BadInputError] = outcomes.complete(doing="the input was brought in")
    return _collect([_require_staged(outcome) for outcome in staged], source.layout)


def _require_staged(outcome: Staged | BadInputError) -> Staged:
    if isinstance(outcome, BadInputError):
        raise outcome
    return outcome


def _balance_load(whole: Sequence[Partition], nodes: int) -> list[int]:
    """Return for each partition the node with the least to fetch so far."""
    loads, turns = [0] * nodes, list[int]()
    for partition in whole:
        turns.append(loads.index(min(loads)))
        loads[turns[-1]] += partition.records
    return turns


def stage_out(nodes: Nodes, dataset: Dataset, prefix: str) -> tuple[Dataset, StagingResult]:
    """Have the nodes send a job's sorted partitions below a prefix, or to a folder; return them as they lie there, and
    the amounts moved. A partition that cannot be sent is sent from its next copy.

    Raises IoFailureError; partitions already sent stay there.
    """
    copies = {number: partition.copies for number, partition in enumerate(dataset.partitions)}
    below, suffix = f"{prefix.rstrip('/')}/", content_of(dataset.layout).suffix
    staged: list[Staged] = run_on_each_copy(
        nodes,
        copies,
        dataset,
        lambda node, alone, number: nodes.run(node, send, alone, f"{below}{part_name(number, dataset.job)}{suffix}"),
    ).complete(doing="the output was sent")
    require_sizes(staged, retry_on_nodes(nodes, place_of(prefix).list_files, prefix, doing="the output was listed"))
    there, moved = _collect(staged, dataset.layout)
    return replace(there, job=dataset.job), moved


def _collect(staged: list[Staged], layout: Layout) -> tuple[Dataset, StagingResult]:
    there = Dataset(partitions=tuple(piece.partition for piece in staged), layout=layout)
    moved = StagingResult(bytes=sum(piece.bytes for piece in staged), requests=sum(piece.requests for piece in staged))
    return there, moved


def require_sizes(staged: list[Staged], sizes: dict[str, int]) -> None:
    """Raise IoFailureError naming objects whose size in the store differs from the bytes sent."""
    sent = {piece.partition.uri: piece.bytes for piece in staged}
    wrong = [f"{uri}: {sizes.get(uri)} bytes instead of {size}" for uri, size in sent.items() if sizes.get(uri) != size]
    if wrong:
        raise IoFailureError("not all is there that was sent", wrong[:10], code="not-all-sent")


def pieces(source: Dataset, *, disks: int) -> Iterator[Partition]:
    """Cut the partitions of a dataset so that `disks` disks can share them evenly."""
    enough = max(_LEAST_PIECE_BYTES, source.bytes // (disks * _PIECES_PER_DISK))
    most = max(1, enough // source.layout.record_size)
    for partition in source.partitions:
        for first in range(0, partition.records, most):
            copies = tuple(
                replace(copy, offset=copy.offset + first * source.layout.record_size) for copy in partition.copies
            )
            yield Partition(records=min(most, partition.records - first), copies=copies)


def largest_first(source: Dataset) -> list[Partition]:
    """Return the partitions of a dataset, the largest first: in this order whole ones are shared out most evenly."""
    return sorted(source.partitions, key=lambda partition: -partition.records)


def fetch(piece: Partition, layout: Layout, files: JobFiles, number: int, threads: int) -> Staged:
    """Copy a piece of an object to a disk of this node, and compute its checksum."""
    (there, *_), path = piece.copies, Path(files.output_uri(number))
    checksum = requests = 0

    def parts() -> Iterator[Bytes]:
        nonlocal checksum, requests
        step = object_store.REQUEST_BYTES // layout.record_size
        for first in range(0, piece.records, step):
            part = np.empty(min(step, piece.records - first) * layout.record_size, np.uint8)
            object_store.read_range(
                there.uri, part, offset=there.offset + first * layout.record_size, version=there.version
            )
            with core_errors():
                checksum += core.validate_records(part.data, **layout.core(), threads=threads).checksum
            requests += 1
            yield part

    write_atomically(path, parts(), durable=False)
    local = replace(piece, copies=(Copy(uri=str(path), node=node_name()), *piece.copies), checksum=f"{checksum:x}")
    return Staged(partition=local, bytes=piece.records * layout.record_size, requests=requests)


def fetch_object(partition: Partition, layout: Layout, files: JobFiles, number: int) -> Staged:
    """Copy the object of a partition to a disk of this node, including the parts that the partition leaves out:
    unchanged, or as plain text if it is compressed. Raises IoFailureError where it is shorter than before,
    BadInputError where it is damaged.
    """
    (there, *_), path = partition.copies, Path(files.output_uri(number))
    if there.compression:
        decompressed_bytes = write_atomically(path, decompressed_text(there, layout), durable=False)
        size = stored_bytes(there)
        plain = with_decompressed_copy(partition, there, path, decompressed_bytes)
        return Staged(partition=plain, bytes=size, requests=-(-size // COMPRESSED_PIECE_BYTES))
    size = object_store.size_of(there.uri) if layout.table else there.offset + partition.records
    steps = range(0, size, object_store.REQUEST_BYTES)

    def parts() -> Iterator[Bytes]:
        for first in steps:
            part = np.empty(min(object_store.REQUEST_BYTES, size - first), np.uint8)
            object_store.read_range(there.uri, part, offset=first, version=there.version)
            yield part

    write_atomically(path, parts(), durable=False)
    here_too = (Copy(uri=str(path), node=node_name(), offset=there.offset), *partition.copies)
    return Staged(partition=replace(partition, copies=here_too), bytes=size, requests=len(steps))


def send(partition: Partition, uri: str) -> Staged:
    """Copy a partition from this node's disk to its destination."""
    path = Path(partition.uri)
    with file_errors("read", path):
        size = path.stat().st_size
    requests = place_of(uri).write_file(uri, path)
    there = replace(partition.copies[0], uri=uri, node="")
    return Staged(partition=replace(partition, copies=(there,)), bytes=size, requests=requests)


INPUT: Final = "input"


def generate_with_checksum(nodes: Nodes, *, records: int) -> tuple[Dataset, str]:
    """Have all nodes write test records; return the dataset and its checksum. Raises IoFailureError."""
    dataset = generate(nodes, records=records)
    return dataset, validate_first_copies(nodes, dataset).checksum


def generate(nodes: Nodes, *, records: int, skew: bool = False, on_volume: bool = False) -> Dataset:
    """Have every node write an equal share of test records, a partition on each disk. Failures are tried again, on the
    same node and on others in turn. Raises IoFailureError.
    """
    files = JobFiles(job=INPUT, output=INPUT, on_volume=on_volume)
    cut = shares(records, {name: nodes.facts[name].data_disks for name in nodes.names})
    wanted = Dataset(
        partitions=tuple(
            Partition(
                records=end - start,
                copies=(Copy(uri="", node=name), Copy(uri="")),
                recipe=Recipe(start=start, skew=skew),
            )
            for name, start, end in cut
        )
    )

    def begin(node: str, share: Partition, number: int) -> Any:
        return nodes.run(node, node_tasks.generate, share.recipe, share.records, files, number, nodes.threads(node))

    copies = {number: share.copies for number, share in enumerate(wanted.partitions)}
    made = run_on_each_copy(nodes, copies, wanted, begin)
    return Dataset(partitions=tuple(made.complete(doing="data was generated")))


def shares(records: int, disks: Mapping[str, int]) -> list[tuple[str, int, int]]:
    """Return node, first record and end of each partition: nodes get equal shares, and so do the disks of a node."""
    cut = []
    for turn, (name, count) in enumerate(disks.items()):
        edges = [records * (turn * count + disk) // (len(disks) * count) for disk in range(count + 1)]
        cut += [(name, start, end) for start, end in pairwise(edges)]
    return cut
