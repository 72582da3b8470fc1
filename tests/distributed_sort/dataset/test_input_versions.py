"""A sort reads one version of each file: errors name files that are written or replaced meanwhile."""

from __future__ import annotations

import gzip
import os
import shutil
import time
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import obstore
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from obstore.store import MemoryStore

from planner.distributed_sort.content.table_file import open_copy
from planner.distributed_sort.dataset import object_store
from planner.distributed_sort.dataset.dataset import Copy, Dataset, Layout, Part, Partition, Recipe, TextFormat
from planner.distributed_sort.dataset.file_versions import version_of, versions_of
from planner.distributed_sort.dataset.input_versions import files_of, require_unchanged, with_versions
from planner.distributed_sort.dataset.joined_files import JOINED
from planner.distributed_sort.dataset.partition_reader import read_records
from planner.distributed_sort.dataset.readable_input import decompressed_text
from planner.errors import InputChangedError
from tests.distributed_sort.inline_nodes import InlineNodes

LINES = b"line\n" * 20_000
TICK_S = 0.05
"""Longer than a kernel's time of last change stands still."""
BYTES, TEXT = Layout(record_size=1), Layout(record_size=1, text=TextFormat())


@pytest.fixture
def path(tmp_path: Path) -> Path:
    path = tmp_path / "in"
    path.write_bytes(LINES)
    time.sleep(TICK_S)
    return path


@pytest.fixture
def nodes(monkeypatch: pytest.MonkeyPatch) -> Any:
    return InlineNodes(["a", "b"], monkeypatch)


def whole(path: Path, node: str = "", layout: Layout = BYTES) -> Dataset:
    """Return a file's whole present content as a dataset."""
    copy = Copy(uri=str(path), node=node)
    return Dataset(partitions=(Partition(records=path.stat().st_size, copies=(copy,)),), layout=layout)


def replaced(path: Path, content: bytes) -> None:
    """Replace a file by one of the same times, as `cp -p`, `tar` and `rsync -a` do."""
    new = path.with_name("new")
    new.write_bytes(content)
    shutil.copystat(path, new)
    new.replace(path)


def rewritten(path: Path, content: bytes) -> None:
    """Write a file in place and set its times back."""
    times = path.stat()
    with path.open("r+b") as file:
        file.write(content)
    os.utime(path, ns=(times.st_atime_ns, times.st_mtime_ns))


def touched(path: Path, content: bytes) -> None:
    path.write_bytes(content)
    os.utime(path, ns=(7, 7))


ONE_BYTE = b"x" + LINES[1:]
CHANGES = [(replaced, LINES), (replaced, ONE_BYTE), (rewritten, ONE_BYTE), (touched, LINES), (touched, b"l\n")]


@pytest.mark.parametrize("node", ["", "a"])
@pytest.mark.parametrize(("change", "content"), CHANGES)
def test_a_changed_file_is_no_longer_read_nor_published(
    nodes: Any, path: Path, node: str, change: Callable[[Path, bytes], None], content: bytes
) -> None:
    source = with_versions(whole(path, node), nodes)
    require_unchanged(source, nodes)
    change(path, content)
    with pytest.raises(InputChangedError, match=str(path)):
        require_unchanged(source, nodes)
    with pytest.raises(InputChangedError, match=str(path)):
        nodes.wait_for(nodes.run("a", _read, source.partitions[0]), nodes=("a",))


def _read(partition: Partition) -> bytes:
    return read_records(partition, BYTES, first=0, records=4).tobytes()


@pytest.mark.parametrize("change", [Path.read_bytes, Path.unlink])
def test_what_was_only_read_or_deleted_has_not_changed(
    nodes: Any, path: Path, change: Callable[[Path], object]
) -> None:
    source = with_versions(whole(path), nodes)
    change(path)
    require_unchanged(source, nodes)


def test_a_table_is_read_in_one_version(nodes: Any, tmp_path: Path) -> None:
    path, other = tmp_path / "in.parquet", tmp_path / "other"
    for name, rows in (path, [1, 2]), (other, [3, 4]):
        pq.write_table(pa.table({"k": rows}), name)
        time.sleep(TICK_S)
    (copy,) = with_versions(whole(path), nodes).partitions[0].copies
    with open_copy(copy) as (file, _):
        assert file.read()["k"].to_pylist() == [1, 2]
    with pytest.raises(InputChangedError, match=str(path)), open_copy(copy):
        replaced(path, other.read_bytes())


@pytest.mark.parametrize("compression", ["gz", JOINED])
def test_a_file_that_is_unpacked_again_is_the_same(nodes: Any, tmp_path: Path, compression: str) -> None:
    path = tmp_path / "in"
    packed = gzip.compress if compression == "gz" else bytes
    path.write_bytes(packed(LINES))
    time.sleep(TICK_S)
    parts = () if compression == "gz" else (Part(uri=str(path), records=len(LINES)),)
    copy = Copy(uri=str(path), compression=compression, parts=parts)
    source = with_versions(Dataset(partitions=(Partition(records=len(LINES), copies=(copy,)),), layout=TEXT), nodes)
    (copy,) = source.partitions[0].copies
    assert b"".join(piece.tobytes() for piece in decompressed_text(copy, TEXT)) == LINES
    replaced(path, path.read_bytes())
    with pytest.raises(InputChangedError, match=str(path)):
        list(decompressed_text(copy, TEXT))
    with pytest.raises(InputChangedError, match=str(path)):
        require_unchanged(source, nodes)


@pytest.fixture
def own_copies(nodes: Any, path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Node b has a file of its own by the name: it is returned."""
    own = path.with_name("of-b")
    shutil.copy2(path, own)

    def version_there(uri: str) -> Any:
        return version_of(str(own) if os.environ["PLANNER_NODE_NAME"] == "b" else uri)

    monkeypatch.setattr("planner.distributed_sort.dataset.file_versions.version_of", version_there)
    return own


def test_nodes_may_have_files_of_their_own_by_one_name(nodes: Any, path: Path, own_copies: Path) -> None:
    """Inodes and times of last change differ there, which is no change; other content is one."""
    source = with_versions(whole(path), nodes)
    (version,) = files_of(source).values()
    assert version is not None and (version.status, version.inode) == ("", 0)
    require_unchanged(source, nodes)
    touched(path, LINES)
    shutil.copystat(own_copies, path)
    require_unchanged(source, nodes)
    replaced(path, ONE_BYTE)
    with pytest.raises(InputChangedError, match="content"):
        require_unchanged(source, nodes)


def test_a_file_system_may_number_a_file_again() -> None:
    """Mounts of object stores do; their times of last change are times of modification."""
    before = version_of(__file__)
    assert not before.difference(replace(before, inode=before.inode + 1))
    assert before.difference(replace(before, inode=before.inode + 1, pieces=1))


def test_earlier_versions_stay(nodes: Any, path: Path) -> None:
    """A sort after staging reads what was staged."""
    source = with_versions(whole(path), nodes)
    replaced(path, ONE_BYTE)
    with pytest.raises(InputChangedError):
        require_unchanged(with_versions(source, nodes), nodes)


def test_text_of_another_length_than_listed_is_named(nodes: Any, path: Path) -> None:
    source = whole(path, layout=TEXT)
    with path.open("ab") as file:
        file.write(b"more\n")
    with pytest.raises(InputChangedError, match="100005 bytes instead of 100000"):
        with_versions(source, nodes)
    with_versions(replace(source, layout=BYTES), nodes)  # records may be a part of a file


def test_what_is_no_file_has_no_version(nodes: Any, path: Path) -> None:
    source = Dataset(partitions=(Partition(records=5, copies=(), recipe=Recipe(start=0)),))
    assert with_versions(source, nodes) == source
    assert versions_of({str(path.with_name("absent")): None}) == {}
    assert with_versions(whole(path), nodes).digest() == whole(path).digest(), "no manifest has versions"


def test_objects_are_read_in_one_version(nodes: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    store, names = MemoryStore(), ["s3://b/same", "s3://b/other", "s3://b/gone"]
    monkeypatch.setattr(object_store, "_store", lambda _: store)
    for name in names:
        obstore.put(store, name.removeprefix("s3://b/"), b"line\n")
    copies = [Partition(records=5, copies=(Copy(uri=name),)) for name in names]
    source = with_versions(Dataset(partitions=tuple(copies), layout=TEXT), nodes)
    require_unchanged(source, nodes)
    obstore.delete(store, "gone")
    require_unchanged(source, nodes)  # what is gone would have failed
    obstore.put(store, "other", b"enil\n")
    with pytest.raises(InputChangedError, match="s3://b/other"):
        require_unchanged(source, nodes)
    same, other, _ = source.partitions
    assert read_records(same, BYTES, first=0, records=5).tobytes() == b"line\n"
    with pytest.raises(InputChangedError, match="s3://b/other"):
        read_records(other, BYTES, first=0, records=5)
    assert np.array_equal(read_records(copies[1], BYTES, first=0, records=5), np.frombuffer(b"enil\n", np.uint8))
