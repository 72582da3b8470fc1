"""Output in a folder: files appear whole, only partitions are deleted, and errors name what cannot be written."""

from __future__ import annotations

import errno
import fcntl
import os
from pathlib import Path

import pytest
from refusals import refused

from planner.distributed_sort import staging
from planner.distributed_sort.dataset import shared_folder
from planner.distributed_sort.dataset.dataset import Copy, Partition
from planner.distributed_sort.staging import place_of
from planner.errors import BadInputError, IoFailureError


def test_a_folder_that_is_not_there_is_made_and_empty(tmp_path: Path) -> None:
    folder = tmp_path / "new" / "sörted"
    assert shared_folder.list_files(str(folder)) == {}
    shared_folder.require_writable(str(folder))
    assert shared_folder.list_files(str(folder)) == {} and folder.is_dir()
    staging.require_empty(str(folder))


def test_a_partition_gets_a_second_name_or_is_copied(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "node").write_bytes(b"sorted")
    there = tmp_path / "out" / "part-000000"
    place = place_of(str(there))
    place.require_writable(str(there.parent))
    assert place.write_file(str(there), tmp_path / "node") == 0
    assert there.samefile(tmp_path / "node")
    monkeypatch.setattr(os, "link", refuse)
    assert place.write_file(str(there), tmp_path / "node") == 0, "what was given up is replaced"
    assert there.read_bytes() == b"sorted" and not there.samefile(tmp_path / "node")
    assert place.list_files(str(there.parent)) == {str(there): 6}


def refuse(*_: object) -> None:
    raise OSError(errno.EXDEV, "Invalid cross-device link")


def test_partitions_alone_are_deleted(tmp_path: Path) -> None:
    foreign = {"notes.txt", "part-000000", "part-000000-b.csv", "part-1-a", "part-000002-a-b"}
    own = {"part-000000-a", "part-000001-a.parquet", ".part-000002-a.csv.1f.partial"}
    for name in foreign | own:
        (tmp_path / name).touch()
    shared_folder.delete_partitions(str(tmp_path), "a")
    assert {path.name for path in tmp_path.iterdir()} == foreign


def test_a_folder_that_held_a_jobs_partitions_alone_goes_with_them(tmp_path: Path) -> None:
    for name in ("of-job", "empty"):
        (tmp_path / name).mkdir()
    (tmp_path / "of-job" / "part-000000-a").touch()
    for name in ("of-job", "empty", "absent"):
        shared_folder.delete_partitions(str(tmp_path / name), "a")
    assert [path.name for path in tmp_path.iterdir()] == ["empty"], "nobody says who made it"


def test_a_folder_that_cannot_take_the_output_is_named(tmp_path: Path) -> None:
    (tmp_path / "file").write_bytes(b"x")
    with refused("is-file", "file"):
        staging.require_empty(str(tmp_path / "file"))
    with pytest.raises(BadInputError, match="not empty; name another place") as caught:
        staging.require_empty(str(tmp_path))
    assert caught.value.details == (str(tmp_path / "file"),)
    with pytest.raises(IoFailureError, match=f"cannot write {tmp_path / 'file'}/"):
        shared_folder.require_writable(str(tmp_path / "file"))


def test_what_is_sent_to_a_folder_is_a_partition_that_all_nodes_reach(tmp_path: Path) -> None:
    (tmp_path / "on-node").write_bytes(b"k,t\n1,2\n")
    partition = Partition(records=4, copies=(Copy(uri=str(tmp_path / "on-node"), node="node-1", offset=4),))
    (tmp_path / "out").mkdir()
    sent = staging.send(partition, str(tmp_path / "out" / "part-000000"))
    assert (sent.bytes, sent.requests) == (8, 0)
    assert sent.partition.copies == (Copy(uri=str(tmp_path / "out" / "part-000000"), offset=4),)


def test_a_name_may_be_as_long_as_its_file_system_has_it(tmp_path: Path) -> None:
    target = tmp_path / f"{'x' * 250}.json"
    assert shared_folder.put_if(str(target), b"1", expected_version=None)
    expected_version = shared_folder.read_version(str(target))
    assert expected_version is not None and shared_folder.put_if(
        str(target), b"2", expected_version=expected_version[1]
    )
    assert target.read_bytes() == b"2" and list(tmp_path.iterdir()) == [target]


def test_a_file_system_may_lock_no_folders(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """NFS locks only files open for writing."""

    def refuse(*_: object) -> None:
        raise OSError(errno.EBADF, "Bad file descriptor")

    monkeypatch.setattr(fcntl, "flock", refuse)
    assert shared_folder.put_if(str(tmp_path / "out.json"), b"1", expected_version=None)
    assert not shared_folder.put_if(str(tmp_path / "out.json"), b"2", expected_version=None), "the link is the one step"
