"""Decompressing input on a node: once for each file, whole or not at all, and always the same text."""

from __future__ import annotations

import gzip
import os
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
import zstandard
from refusals import refused, require

from planner.distributed_sort import staging
from planner.distributed_sort.dataset.dataset import Copy, Layout, Partition, TextFormat
from planner.distributed_sort.dataset.partition_reader import copy_here, naming_file, nodes_with, read_records
from planner.distributed_sort.dataset.readable_input import (
    DecompressedTexts,
    decompress,
    has_decompressed_copy,
    or_error,
    size_in_name,
)
from planner.distributed_sort.node_files.node_environment import JobFiles
from planner.distributed_sort.node_tasks.node_tasks import clean
from planner.errors import BadInputError, IoFailureError

FILES = JobFiles(job="j", output="out")
LINES = Layout.of_text(TextFormat())
TEXT = b"k,t\n" + b"1,x\n" * 100_000


def compressed(path: Path, content: bytes, form: str = "gz") -> Partition:
    path.write_bytes(content)
    copy = Copy(uri=str(path), offset=4, compression=form)
    return Partition(records=77, copies=(copy,), is_estimated=True)


@pytest.mark.parametrize("form", ["gz", "zst"])
def test_a_file_of_several_members_becomes_text_on_a_scratch_disk(this_node: Path, form: str) -> None:
    pack = {"gz": gzip.compress, "zst": zstandard.compress}[form]
    source = compressed(this_node / "in", pack(TEXT[:1000]) + pack(TEXT[1000:]), form)
    assert not has_decompressed_copy(source) and nodes_with(source) == [""]
    done = decompress(source, FILES, 1, LINES)
    partition = done.partition
    assert done.read_bytes == (this_node / "in").stat().st_size
    assert (partition.records, partition.is_estimated) == (len(TEXT) - 4, False)
    assert has_decompressed_copy(partition) and nodes_with(partition) == ["node-1"]
    assert copy_here(partition).uri.startswith(str(this_node / "disk2"))
    layout = Layout.of_text(TextFormat())
    assert read_records(partition, layout, first=4, records=8).tobytes() == b"1,x\n1,x\n"
    (this_node / "in").write_bytes(b"")
    again = decompress(source, FILES, 1, LINES)
    assert (again.partition, again.read_bytes) == (partition, 0), "it is not done twice"
    clean(FILES)
    assert not list(this_node.rglob("input-*"))


def test_a_lost_text_is_made_again_and_must_be_the_same(this_node: Path) -> None:
    source = compressed(this_node / "in", gzip.compress(TEXT))
    lost = decompress(source, FILES, 0, LINES).partition.without_nodes(frozenset({"node-1"}))
    assert lost.copies == source.copies
    with refused("no-recipe", kind=IoFailureError):
        copy_here(lost)
    clean(FILES)
    assert decompress(lost, FILES, 0, LINES).partition.records == lost.records
    clean(FILES)
    (this_node / "in").write_bytes(gzip.compress(TEXT + b"2,y\n"))
    with pytest.raises(IoFailureError, match="holds 400004 bytes instead of 400000: it was changed"):
        decompress(lost, FILES, 0, LINES)


def test_a_text_that_became_bad_is_made_again(this_node: Path) -> None:
    source = compressed(this_node / "in", gzip.compress(TEXT))
    bad = Path(decompress(source, FILES, 0, LINES).partition.uri)
    bad.write_bytes(TEXT[:1000])
    again = decompress(source, FILES, 0, LINES, is_suspected=True)
    assert again.read_bytes and again.partition.records == len(TEXT) - 4
    assert again.partition.uri != str(bad), "who still reads the old one is known by it"
    assert decompress(source, FILES, 0, LINES, is_suspected=True).partition == again.partition


def test_what_is_wrong_with_the_text_is_told_of_the_compressed_file(this_node: Path) -> None:
    partition = decompress(compressed(this_node / "in", gzip.compress(TEXT)), FILES, 0, LINES).partition
    with pytest.raises(BadInputError, match=f"^{this_node}/in: row 7"), naming_file(partition):
        raise BadInputError("row 7")


def test_damage_is_told_by_node_and_file_and_leaves_nothing(this_node: Path) -> None:
    source = compressed(this_node / "in", gzip.compress(TEXT) + gzip.compress(TEXT)[:50])
    error = or_error(source, decompress, FILES, 0, LINES)
    require(error, "broken-compression", f"node-1: {this_node}/in: ", "gzip")
    assert not [path for path in this_node.rglob("*input-*") if path.is_file()]


def test_objects_are_staged_as_text(this_node: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    source = compressed(this_node / "in", gzip.compress(TEXT))
    monkeypatch.setattr(staging.object_store, "size_of", lambda uri: Path(uri).stat().st_size)
    staged = staging.fetch_object(source, Layout.of_text(TextFormat()), JobFiles(job="input", output="input"), 3)
    assert Path(staged.partition.uri).read_bytes() == TEXT
    assert staged.bytes == (this_node / "in").stat().st_size and staged.requests == 1
    assert staged.partition.copies[1:] == source.copies


def texts_in(folder: Path) -> DecompressedTexts:
    return DecompressedTexts([folder / "disk0", folder / "disk1"], 2)


def written(texts: DecompressedTexts) -> Path:
    return texts.write([np.full(3000, 65, np.uint8), np.full(2, 66, np.uint8)])


def test_a_text_is_found_again_by_its_number_and_length(tmp_path: Path) -> None:
    texts = texts_in(tmp_path)
    assert texts.find_complete() is None
    path = written(texts)
    assert path.parent.name == "disk0" and path.read_bytes() == b"A" * 3000 + b"BB"
    assert size_in_name(path) == 3002
    assert texts.find_complete() == texts.find_complete(is_read_through=True) == path
    assert DecompressedTexts([path.parent], 3).find_complete() is None


def cut(path: Path) -> None:
    os.truncate(path, 100)


def made_unreadable(path: Path) -> None:
    path.unlink()
    path.mkdir()


@pytest.mark.parametrize("fault", [cut, Path.unlink, made_unreadable])
def test_what_is_not_whole_is_not_used_again(tmp_path: Path, fault: Callable[[Path], None]) -> None:
    texts = texts_in(tmp_path)
    bad = written(texts)
    fault(bad)
    assert texts.find_complete() is None
    again = written(texts)
    assert again.name != bad.name, "tasks may still read the old one"
    assert texts.find_complete(is_read_through=True) == again
    assert (again.parent.name == "disk1") == bad.is_dir(), "what cannot be deleted makes its disk suspect"


def test_an_unreadable_text_of_the_right_length_is_found_by_reading_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    texts = texts_in(tmp_path)
    path = written(texts)

    def fail(*_: object) -> None:
        raise OSError(5, "Input/output error")

    with monkeypatch.context() as patch:
        patch.setattr("planner.distributed_sort.dataset.readable_input.read_exactly", fail)
        assert texts.find_complete() == path
        assert texts.find_complete(is_read_through=True) is None
    assert not path.exists()
