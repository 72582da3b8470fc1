"""The files that a source names."""

from __future__ import annotations

from pathlib import Path

import pytest

from planner.distributed_sort.dataset.input_files import files_of, is_manifest
from planner.errors import BadInputError


def test_directories_are_read_without_what_others_leave_there(tmp_path: Path) -> None:
    for name in ("b/2.parquet", "a/1.parquet", "_SUCCESS", "a/.1.parquet.crc", "_temporary/3.parquet", "manifest.json"):
        path = tmp_path / name
        path.parent.mkdir(exist_ok=True)
        path.write_bytes(b"12")
    (tmp_path / "a" / "0.parquet").touch()
    assert files_of(str(tmp_path)) == {str(tmp_path / "a/1.parquet"): 2, str(tmp_path / "b/2.parquet"): 2}
    assert files_of(str(tmp_path / "_SUCCESS")) == {str(tmp_path / "_SUCCESS"): 2}
    (tmp_path / "none").mkdir()
    with pytest.raises(BadInputError, match="no files"):
        files_of(str(tmp_path / "none"))


def test_manifests_are_told_by_their_beginning(tmp_path: Path) -> None:
    (tmp_path / "in.json").write_text('{"format": "planner-manifest-1"}')
    (tmp_path / "in.txt").write_text("planner-manifest-1")
    assert [is_manifest(str(tmp_path / name)) for name in ("in.json", "in.txt", ".")] == [True, False, False]
    assert not is_manifest("s3://bucket/prefix")
