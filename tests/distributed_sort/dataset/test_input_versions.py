"""Errors name input files that change while they are sorted."""

from __future__ import annotations

import os
from dataclasses import replace
from pathlib import Path

import obstore
import pytest
from obstore.store import MemoryStore

from planner.distributed_sort.dataset import object_store
from planner.distributed_sort.dataset.dataset import Copy, Dataset, Layout, Partition, Recipe, TextFormat
from planner.distributed_sort.dataset.input_versions import (
    FileVersion,
    InputVersions,
    changed_objects,
    fingerprints,
    version_here,
)
from planner.distributed_sort.node_files.node_environment import NODE_NAME
from planner.errors import IoFailureError


@pytest.fixture
def path(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv(NODE_NAME, "a")
    path = tmp_path / "in"
    path.write_bytes(b"line\n")
    os.utime(path, ns=(0, 0))
    return path


TEXT = Layout(record_size=1, text=TextFormat())


def whole(path: Path) -> Partition:
    """Return the partition of a file's whole present content."""
    return Partition(records=path.stat().st_size, copies=(Copy(uri=str(path)),))


def version_of(path: Path, node: str = "") -> FileVersion:
    version = version_here(Partition(records=5, copies=(Copy(uri=str(path), node=node),)))
    assert version is not None
    return version


@pytest.mark.parametrize(
    ("content", "told"),
    [(b"line\nmore\n", "10 bytes instead of 5"), (b"l\n", "2 bytes instead of 5"), (b"enil\n", "its size is the same")],
    ids=["grown", "shrunk", "replaced"],
)
def test_a_file_that_was_changed_is_named(path: Path, content: bytes, told: str) -> None:
    versions = InputVersions()
    versions.note([version_of(path), version_of(path)])
    (path.parent / "new").write_bytes(content)
    (path.parent / "new").rename(path)
    with pytest.raises(IoFailureError, match=f"{path} was changed while it was sorted") as caught:
        versions.note([version_of(path)])
    assert caught.value.details[0].startswith(told)


def test_copies_on_nodes_are_files_of_their_own(path: Path) -> None:
    versions = InputVersions()
    versions.note([version_of(path, "a")])
    os.utime(path, ns=(1, 1))
    versions.note([version_of(path)])
    with pytest.raises(IoFailureError, match=r"^a: "):
        versions.note([version_of(path, "a")])


def test_what_is_no_file_has_no_version(path: Path) -> None:
    assert version_here(Partition(records=5, copies=(), recipe=Recipe(start=0))) is None
    assert version_here(Partition(records=5, copies=(Copy(uri="s3://bucket/in"),))) is None
    InputVersions().note([None])
    path.unlink()
    with pytest.raises(IoFailureError, match="cannot read"):
        version_of(path)


def test_text_that_grew_between_its_listing_and_its_first_read_is_named(path: Path) -> None:
    """No node saw it shorter: only the listing shows it."""
    source = Dataset(partitions=(whole(path),), layout=TEXT)
    with path.open("ab") as file:
        file.write(b"more\n")
    with pytest.raises(IoFailureError, match="was changed while it was sorted") as caught:
        InputVersions.of(source).note([version_of(path)])
    assert caught.value.details[0] == "10 bytes instead of 5"


def test_text_that_is_as_long_as_listed_is_sorted(path: Path) -> None:
    InputVersions.of(Dataset(partitions=(whole(path),), layout=TEXT)).note([version_of(path)])


def test_records_may_be_a_part_of_a_file(path: Path) -> None:
    source = Dataset(partitions=(replace(whole(path), records=3),), layout=Layout(record_size=1))
    InputVersions.of(source).note([version_of(path)])


@pytest.mark.parametrize("size", [0, 5, 4096, 100_000])
def test_a_fingerprint_is_of_the_content_too(path: Path, size: int) -> None:
    path.write_bytes(b"x" * size)
    os.utime(path, ns=(0, 0))
    before = fingerprints([str(path), str(path.with_name("absent"))])
    assert before.keys() == {str(path)}, "what cannot be read has not changed"
    assert fingerprints([str(path)]) == before
    path.write_bytes(b"x" * (size - 1) + b"y")
    os.utime(path, ns=(0, 0))
    assert fingerprints([str(path)]) != before, "same size but for the empty one, same time"
    path.write_bytes(b"x" * size)
    os.utime(path, ns=(0, 1))
    assert fingerprints([str(path)]) != before, "it was written again"


def test_objects_that_were_written_meanwhile_are_named(monkeypatch: pytest.MonkeyPatch) -> None:
    store, names = MemoryStore(), ["s3://b/same", "s3://b/other", "s3://b/gone"]
    monkeypatch.setattr(object_store, "_store", lambda _: store)
    for name in names:
        obstore.put(store, name.removeprefix("s3://b/"), b"line\n")
    before = fingerprints(names)
    obstore.put(store, "other", b"enil\n")
    obstore.delete(store, "gone")
    assert changed_objects(before) == ["s3://b/other"], "what is gone would have failed"
