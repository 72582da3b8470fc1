"""Staging decisions: how objects are cut, where staged records are read, and that no dataset is taken for another."""

from __future__ import annotations

import gzip
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from refusals import refused

from planner.arrays import Bytes
from planner.distributed_sort import staging
from planner.distributed_sort.dataset import copies, object_store, partition_reader
from planner.distributed_sort.dataset.dataset import Copy, Dataset, FileVersion, Layout, Partition, TextFormat
from planner.errors import BadInputError, IoFailureError
from tests.distributed_sort.inline_nodes import InlineNodes

LAYOUT = Layout()


@given(st.lists(st.integers(0, 200_000), min_size=1, max_size=6), st.integers(1, 24))
def test_pieces_are_the_whole_in_order_and_none_is_large(records: list[int], disks: int) -> None:
    source = Dataset(
        partitions=tuple(
            Partition(records=count, copies=(Copy(uri=f"s3://b/{number}", offset=300),))
            for number, count in enumerate(records)
        )
    )
    cut = list(staging.pieces(source, disks=disks))
    for number, count in enumerate(records):
        own = [piece for piece in cut if piece.uri == f"s3://b/{number}"]
        ends = [piece.copies[0].offset + piece.records * 100 for piece in own]
        assert [piece.copies[0].offset for piece in own] == [300, *ends][: len(own)]
        assert sum(piece.records for piece in own) == count
    assert max((piece.records for piece in cut), default=0) <= max(10_000, sum(records) / disks / 4)


def test_staged_records_are_read_from_the_disk_and_without_it_from_the_store(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PLANNER_NODE_NAME", "node-1")
    records = np.arange(1000, dtype=np.uint16).astype(np.uint8)
    (tmp_path / "object").write_bytes(b"x" * 200 + records.tobytes())
    (tmp_path / "piece").write_bytes(records.tobytes())
    store = Copy(uri=str(tmp_path / "object"), offset=200)
    staged = Partition(records=10, copies=(store, Copy(uri=str(tmp_path / "piece"), node="node-1")))
    assert partition_reader.nodes_with(staged) == ["node-1"]
    without = staged.without_nodes(frozenset({"node-1"}))
    assert partition_reader.nodes_with(without) == [""]
    for partition in (staged, without):
        assert np.array_equal(partition_reader.read_records(partition, LAYOUT, first=3, records=5), records[300:800])
    (tmp_path / "object").unlink()
    assert len(partition_reader.read_records(staged, LAYOUT, first=0, records=10)) == 1000, (
        "the disk's copy comes first"
    )


def listing(monkeypatch: pytest.MonkeyPatch, sizes: dict[str, int]) -> None:
    monkeypatch.setattr(object_store, "list_files", lambda prefix: sizes)
    monkeypatch.setattr(object_store, "size_if_there", lambda uri: None)


def test_what_lies_below_a_prefix_is_the_input(monkeypatch: pytest.MonkeyPatch) -> None:
    listing(monkeypatch, {"s3://b/in/a": 500, "s3://b/in/marker": 0, "s3://b/in/z": 100})
    dataset = staging.dataset_below("s3://b/in", LAYOUT)
    assert [(partition.uri, partition.records) for partition in dataset.partitions] == [
        ("s3://b/in/a", 5),
        ("s3://b/in/z", 1),
    ]


@pytest.mark.parametrize(
    ("sizes", "message"),
    [({}, "no such object, and none below it"), ({"s3://b/in/a": 0}, "empty"), ({"s3://b/in/a": 150}, "whole records")],
)
def test_what_is_no_input_is_refused(monkeypatch: pytest.MonkeyPatch, sizes: dict[str, int], message: str) -> None:
    listing(monkeypatch, sizes)
    with pytest.raises(BadInputError, match=message):
        staging.dataset_below("s3://b/in", LAYOUT)


def test_output_is_not_mixed_with_what_is_there(monkeypatch: pytest.MonkeyPatch) -> None:
    listing(monkeypatch, {"s3://b/out/part-000000": 100})
    with pytest.raises(BadInputError, match="not empty") as caught:
        staging.require_empty("s3://b/out")
    assert caught.value.details == ("s3://b/out/part-000000",)


def test_an_object_that_is_short_in_the_store_is_named() -> None:
    sent = [
        staging.Staged(
            partition=Partition(records=2, copies=(Copy(uri=f"s3://b/out/part-{number:06d}"),)), bytes=200, requests=1
        )
        for number in range(2)
    ]
    sizes = {"s3://b/out/part-000000": 200, "s3://b/out/part-000001": 100}
    with refused("not-all-sent", kind=IoFailureError) as caught:
        staging.require_sizes(sent, sizes)
    assert caught.value.details == ("s3://b/out/part-000001: 100 bytes instead of 200",)


@pytest.mark.parametrize("layout", [LAYOUT, Layout.of_text(TextFormat())], ids=["records", "lines"])
def test_what_could_not_be_fetched_once_is_fetched_by_another_node(
    this_node: Path, monkeypatch: pytest.MonkeyPatch, layout: Layout
) -> None:
    nodes, vain = InlineNodes(["a", "b"], monkeypatch), ["s3://b/1"]

    version = FileVersion(size_bytes=500, modified="today", e_tag="1")

    def read_range(uri: str, into: Bytes, *, offset: int, version: FileVersion | None) -> None:
        assert version is not None
        if uri in vain:
            vain.remove(uri)
            raise IoFailureError(f"cannot read {uri}: refused")
        into[:] = offset % 251

    del this_node
    monkeypatch.setattr(copies, "PAUSES_S", (0.0,) * 4)
    monkeypatch.setattr(object_store, "read_range", read_range)
    monkeypatch.setattr(object_store, "version_of", lambda _: version)
    partitions = (Partition(records=500, copies=(Copy(uri=f"s3://b/{number}"),)) for number in range(2))
    source = Dataset(partitions=tuple(partitions), layout=layout)
    staged, moved = staging.stage_in(nodes, source)  # type: ignore[arg-type]
    assert (nodes.begun[2:], vain) == (["a", "b", "a"], []), "both are asked for versions first"
    assert [part.copies[0].node for part in staged.partitions] == ["a", "a"]
    there = [replace(part.copies[0], version=version) for part in source.partitions]
    assert [part.copies[1] for part in staged.partitions] == there
    assert all(part.copies[0].version is None for part in staged.partitions), "a file of the job's own"
    assert len({part.uri for part in staged.partitions}) == 2
    assert moved.bytes == source.bytes


def test_a_damaged_object_ends_the_run_at_once(this_node: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    nodes, packed = InlineNodes(["a", "b"], monkeypatch), this_node / "in.gz"
    packed.write_bytes(gzip.compress(b"line\n" * 1000)[:-9])
    copy = Copy(uri=str(packed), compression="gz")
    monkeypatch.setattr(object_store, "size_of", lambda _: packed.stat().st_size)
    part = Partition(records=7, copies=(copy,), is_estimated=True)
    source = Dataset(partitions=(part,), layout=Layout.of_text(TextFormat()))
    with refused("broken-compression", "in.gz"):
        staging.stage_in(nodes, source)  # type: ignore[arg-type]
    assert nodes.begun[3:] == ["a"], "both are asked for versions first"


def test_a_heading_is_brought_in_and_left_out(this_node: Path, monkeypatch: pytest.MonkeyPatch, bucket: str) -> None:
    """The partition begins behind it, in the object as on the disk."""
    del this_node
    content, layout = b"name,age\n" + bytes(range(200)) * 13, Layout.of_text(TextFormat())
    object_store.write_object(f"{bucket}/in/a", np.frombuffer(content, np.uint8))
    monkeypatch.setattr(object_store, "REQUEST_BYTES", 1000)
    part = Partition(records=len(content) - 9, copies=(Copy(uri=f"{bucket}/in/a", offset=9),))
    source = Dataset(partitions=(part,), layout=layout)
    staged, moved = staging.stage_in(InlineNodes(["a"], monkeypatch), source)  # type: ignore[arg-type]
    (local,) = staged.partitions
    assert (Path(local.uri).read_bytes(), moved.bytes, moved.requests) == (content, len(content), 3)
    for begin, count in ((0, part.records), (995, 10), (part.records - 1, 1)):
        read = partition_reader.read_records(local, layout, first=begin, records=count)
        assert read.tobytes() == content[9 + begin : 9 + begin + count]


@pytest.mark.parametrize("layout", [LAYOUT, Layout.of_text(TextFormat())], ids=["records", "lines"])
def test_every_byte_is_brought_in_and_sent(
    this_node: Path, monkeypatch: pytest.MonkeyPatch, bucket: str, layout: Layout
) -> None:
    """Objects of several requests each, of which no two bytes in a row are alike."""
    request_bytes = object_store.REQUEST_BYTES
    whole = {f"{bucket}/in/{name}": bytes(n * step % 251 for n in range(2700)) for name, step in (("a", 1), ("b", 7))}
    for uri, content in whole.items():
        object_store.write_object(uri, np.frombuffer(content, np.uint8))
    monkeypatch.setattr(object_store, "REQUEST_BYTES", 1000)
    nodes = InlineNodes(["a"], monkeypatch)
    records = 2700 // layout.record_size
    parts = tuple(Partition(records=records, copies=(Copy(uri=uri),)) for uri in whole)
    staged, moved = staging.stage_in(nodes, Dataset(partitions=parts, layout=layout))  # type: ignore[arg-type]
    assert {part.copies[1].uri: Path(part.uri).read_bytes() for part in staged.partitions} == whole
    assert (moved.bytes, moved.requests) == (5400, 6)
    monkeypatch.setattr(object_store, "REQUEST_BYTES", request_bytes)  # stores refuse small parts of an upload
    local = Dataset(
        partitions=tuple(replace(part, copies=part.copies[:1]) for part in staged.partitions), layout=layout
    )
    there, sent = staging.stage_out(nodes, local, f"{bucket}/out")  # type: ignore[arg-type]
    for part, own in zip(there.partitions, local.partitions, strict=True):
        content = np.empty(2700, np.uint8)
        object_store.read_range(part.uri, content, offset=0)
        assert content.tobytes() == Path(own.uri).read_bytes()
    assert sent.bytes == 5400 and {part.uri.rpartition("/")[0] for part in there.partitions} == {f"{bucket}/out"}
    monkeypatch.setattr(object_store, "list_files", lambda prefix: {})
    with refused("not-all-sent", kind=IoFailureError):
        staging.stage_out(nodes, local, f"{bucket}/out")  # type: ignore[arg-type]
    del this_node
