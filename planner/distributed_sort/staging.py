"""Bringing the input from an object store to the nodes' disks, and the output from there to the store.

Objects are cut into pieces, so that nodes and disks get equal shares whatever the objects' sizes. A piece names its
object as a second copy; if the piece's node is lost, the records are read from there.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Final

import numpy as np

from planner.arrays import Bytes
from planner.distributed_sort import object_store
from planner.distributed_sort.copies import tried_on_each_copy
from planner.distributed_sort.dataset import Copy, Dataset, Layout, Partition
from planner.distributed_sort.node_environment import JobFiles, node_name
from planner.distributed_sort.nodes import Nodes
from planner.distributed_sort.run_files import write_whole
from planner.errors import BadInputError, IoFailureError
from planner.native import core, core_errors

MANIFEST: Final = "manifest.json"
"""Lies beside the output partitions and is written last: if it exists, all of them do."""
_PIECES_PER_DISK: Final = 4
_LEAST_PIECE_BYTES: Final = 1_000_000


@dataclass(frozen=True, kw_only=True)
class Staged:
    """A partition where it has been brought to, and the requests that this took."""

    partition: Partition
    requests: int


def dataset_below(prefix: str, layout: Layout) -> Dataset:
    """Return all objects below a prefix as a dataset, in the order of their names.

    Raises BadInputError where there is none, or one that does not hold whole records, IoFailureError.
    """
    sizes = {uri: size for uri, size in object_store.listed(prefix).items() if size}
    if not sizes:
        raise BadInputError(f"{prefix}: there are no objects below it, or only empty ones")
    if torn := [f"{uri}: {size} bytes" for uri, size in sizes.items() if size % layout.record_size]:
        raise BadInputError(f"{prefix}: not all objects hold whole records of {layout.record_size} bytes", torn[:10])
    partitions = (Partition(records=size // layout.record_size, copies=(Copy(uri=uri),)) for uri, size in sizes.items())
    return Dataset(partitions=tuple(partitions), layout=layout)


def require_empty(prefix: str) -> None:
    """Raise BadInputError when there is anything below a prefix, which output could be confused with."""
    if objects := list(object_store.listed(prefix)):
        raise BadInputError(f"{prefix}: not empty; name another prefix, or remove what is there", objects[:10])


def stage_in(nodes: Nodes, source: Dataset) -> tuple[Dataset, int]:
    """Have the nodes fetch equal shares of a dataset; return it as it lies there, with its partitions' checksums, and
    the requests that this took. Raises IoFailureError.
    """
    disks = sum(nodes.facts[name].data_disks for name in nodes.names)
    loads, numbers = dict.fromkeys(nodes.names, 0), dict.fromkeys(nodes.names, 0)
    files, began = JobFiles(job="input", output="input"), []
    for piece in pieces(source, disks=disks):
        node = min(loads, key=lambda name: loads[name])
        began.append(nodes.run(node, fetch, piece, source.layout, files, numbers[node], nodes.threads(node)))
        loads[node] += piece.records
        numbers[node] += 1
    staged: list[Staged] = nodes.outcomes(began, doing="the input was brought in")
    there = Dataset(partitions=tuple(piece.partition for piece in staged), layout=source.layout)
    return there, sum(piece.requests for piece in staged)


def stage_out(nodes: Nodes, dataset: Dataset, prefix: str) -> tuple[Dataset, int]:
    """Have the nodes send a dataset's partitions below a prefix; return it as it lies there, and the requests that this
    took. A partition that cannot be sent is sent from its next copy.

    Raises IoFailureError; what was sent stays there.
    """
    copies = {number: partition.copies for number, partition in enumerate(dataset.partitions)}
    staged: list[Staged] = tried_on_each_copy(
        nodes, copies, dataset, lambda node, alone, number: nodes.run(node, send, alone, object_uri(prefix, number))
    ).complete(doing="the output was sent")
    (sizes,) = nodes.outcomes([nodes.run(nodes.names[0], object_store.listed, prefix)], doing="the output was listed")
    require_sizes(staged, sizes, record_size=dataset.layout.record_size)
    there = Dataset(partitions=tuple(piece.partition for piece in staged), layout=dataset.layout)
    return there, sum(piece.requests for piece in staged)


def require_sizes(staged: list[Staged], sizes: dict[str, int], *, record_size: int) -> None:
    """Raise IoFailureError naming objects that are not as large in the store as what was sent."""
    sent = {
        piece.partition.uri: piece.partition.copies[0].offset + piece.partition.records * record_size
        for piece in staged
    }
    wrong = [f"{uri}: {sizes.get(uri)} bytes instead of {size}" for uri, size in sent.items() if sizes.get(uri) != size]
    if wrong:
        raise IoFailureError("the store does not hold what was sent to it", wrong[:10])


def publish(nodes: Nodes, dataset: Dataset, prefix: str) -> str:
    """Write the manifest beside the output in the store and return its URI. Raises IoFailureError."""
    uri = f"{prefix.rstrip('/')}/{MANIFEST}"
    content = np.frombuffer(dataset.to_json().encode(), np.uint8)
    nodes.outcomes(
        [nodes.run(nodes.names[0], object_store.write_object, uri, content)], doing="the manifest was written"
    )
    return uri


def object_uri(prefix: str, number: int) -> str:
    """Return where an output partition goes below a prefix."""
    return f"{prefix.rstrip('/')}/part-{number:06d}"


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


def fetch(piece: Partition, layout: Layout, files: JobFiles, number: int, threads: int) -> Staged:
    """Copy a piece of an object to a disk of this node, and sum up what came."""
    path = Path(files.output_uri(number))
    checksum = requests = 0

    def parts() -> Iterator[Bytes]:
        nonlocal checksum, requests
        step = object_store.REQUEST_BYTES // layout.record_size
        for first in range(0, piece.records, step):
            part = np.empty(min(step, piece.records - first) * layout.record_size, np.uint8)
            object_store.read_range(piece.uri, part, offset=piece.copies[0].offset + first * layout.record_size)
            with core_errors():
                checksum += core.validate_records(part.data, **layout.core(), threads=threads).checksum
            requests += 1
            yield part

    write_whole(path, parts(), durable=False)
    local = replace(piece, copies=(Copy(uri=str(path), node=node_name()), *piece.copies), checksum=f"{checksum:x}")
    return Staged(partition=local, requests=requests)


def send(partition: Partition, uri: str) -> Staged:
    """Copy a partition from this node's disk to the store."""
    requests = object_store.write_file(uri, Path(partition.uri))
    there = replace(partition.copies[0], uri=uri, node="")
    return Staged(partition=replace(partition, copies=(there,)), requests=requests)
