"""A manifest is read back as it was written, and no other file is taken for one."""

from __future__ import annotations

from pathlib import Path

import pytest
from refusals import refused

from planner.distributed_sort.dataset.dataset import Copy, Dataset, Partition, dataset_of, read_manifest, write_manifest
from planner.errors import BadInputError

PARTITION = Partition(records=5, copies=(Copy(uri="/a", node="a"), Copy(uri="/b", node="b"), Copy(uri="s3://b/c")))


def test_copies_are_those_that_nodes_reach() -> None:
    assert [copy.uri for copy in PARTITION.readable_from(["b"]).copies] == ["/b", "s3://b/c"]
    assert [copy.uri for copy in PARTITION.without_nodes(frozenset({"b"})).copies] == ["/a", "s3://b/c"]
    assert PARTITION.uri == "/a"


def test_a_dataset_sums_its_partitions_and_its_digest_tells_it_from_others() -> None:
    dataset = Dataset(partitions=(PARTITION, PARTITION))
    assert (dataset.records, dataset.bytes) == (10, 1000)
    assert dataset.digest() == Dataset(partitions=(PARTITION, PARTITION)).digest()
    assert dataset.digest() != Dataset(partitions=(PARTITION,)).digest()


def test_a_manifest_round_trips(tmp_path: Path) -> None:
    empty = Partition(records=0, copies=PARTITION.copies, first_key="ab")
    dataset = Dataset(partitions=(PARTITION, empty), job="3f9a0c77d21e")
    write_manifest(dataset, tmp_path / "m.json")
    assert read_manifest(tmp_path / "m.json") == dataset
    with pytest.raises(ValueError, match="format"):
        dataset_of({"format": "x"})


@pytest.mark.parametrize("text", ["", "{}", "[1]", '{"format": "planner-manifest-1"}'])
def test_what_is_no_manifest_is_refused(tmp_path: Path, text: str) -> None:
    (tmp_path / "m.json").write_text(text)
    with pytest.raises(BadInputError, match="not one that"):
        read_manifest(tmp_path / "m.json")


def test_a_manifest_that_is_not_there_is_named(tmp_path: Path) -> None:
    with refused("unreadable", "m.json"):
        read_manifest(tmp_path / "m.json")


def test_a_file_of_records_is_not_quoted(tmp_path: Path) -> None:
    (records := tmp_path / "in.dat").write_bytes(bytes(range(256)) * 400)
    with refused("not-utf-8") as caught:
        read_manifest(records)
    assert len(str(caught.value)) < 400
