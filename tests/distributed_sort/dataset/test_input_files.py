"""The files named by a source."""

from __future__ import annotations

import errno
import os
from pathlib import Path
from urllib.parse import quote
from urllib.request import Request, urlopen

import obstore
import pytest
from obstore.store import MemoryStore
from refusals import refused

import planner
from planner.config.user_files import require_no_table_log
from planner.distributed_sort.dataset import object_store
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


@pytest.mark.parametrize(
    ("log", "kind"),
    [
        ("_delta_log/00000000000000000000.json", "Delta"),
        (".hoodie/hoodie.properties", "Hudi"),
        ("metadata/v2.metadata.json", "Iceberg"),
        ("metadata/00001-6f.gz.metadata.json", "Iceberg"),
    ],
)
def test_a_table_whose_log_says_which_rows_count_is_refused(  # derekwisong/datui#237
    tmp_path: Path, objects: MemoryStore, log: str, kind: str
) -> None:
    for name in (log, "data/1.parquet"):
        (tmp_path / "lake" / "table" / name).parent.mkdir(parents=True)
        (tmp_path / "lake" / "table" / name).write_bytes(b"12")
        obstore.put(objects, f"lake/table/{name}", b"12")
    file = tmp_path / "lake/table/data/1.parquet"
    for source in (tmp_path / "lake" / "table", file.parent, tmp_path / "lake", "s3://bucket/lake"):
        with refused("is-table", "lake", kind) as caught:
            files_of(str(source))
        assert caught.value.details
    assert list(files_of(str(file))) == [str(file)]


@pytest.mark.parametrize(
    ("path", "table"),
    [
        ("_delta_log/0.json", "."),
        ("lake/t/_delta_log/", "lake/t"),
        ("s3://bucket/lake/t/metadata/v2.metadata.json", "s3://bucket/lake/t"),
        ("lake/metadata/day/v2.metadata.json", None),
        ("lake/my_delta_log/0.json", None),
        ("lake/metadata/1.parquet", None),
    ],
)
def test_logs_of_tables_are_known_by_their_place(path: str, table: str | None) -> None:
    if table is None:
        require_no_table_log(path)
        return
    with refused("is-table", f"{table} is"):
        require_no_table_log(path)


def test_manifests_are_told_by_their_beginning(tmp_path: Path) -> None:
    (tmp_path / "in.json").write_text('{"format": "planner-manifest-1"}')
    (tmp_path / "in.txt").write_text("planner-manifest-1")
    assert [is_manifest(str(tmp_path / name)) for name in ("in.json", "in.txt", ".")] == [True, False, False]
    assert not is_manifest("s3://bucket/prefix")


def test_links_are_followed_and_lead_to_each_file_once(tmp_path: Path) -> None:
    for name in ("in/day=1/a.csv", "elsewhere/b.csv"):
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_text("1\n")
    for name, place in {"day=2": "../elsewhere", "latest": "day=1", "day=1/up": ".."}.items():
        (tmp_path / "in" / name).symlink_to(place)
    assert list(files_of(str(tmp_path / "in"))) == [
        str(tmp_path / "in" / name) for name in ("day=1/a.csv", "day=2/b.csv")
    ]


def test_a_link_that_leads_nowhere_is_named(tmp_path: Path) -> None:
    (tmp_path / "a.csv").write_text("1\n")
    (tmp_path / "b.csv").symlink_to("/nowhere/b.csv")
    with pytest.raises(BadInputError, match=r"b\.csv: No such file") as caught:
        files_of(str(tmp_path))
    assert caught.value.details


def test_a_folder_that_cannot_be_listed_is_named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "closed").mkdir()
    (tmp_path / "a.csv").write_text("1\n")
    scandir = os.scandir

    def refusing(folder: Path) -> object:
        if Path(folder).name == "closed":
            raise PermissionError(errno.EACCES, "Permission denied", str(folder))
        return scandir(folder)

    monkeypatch.setattr(os, "scandir", refusing)  # root may list every folder
    with pytest.raises(BadInputError, match="closed: Permission denied"):
        files_of(str(tmp_path))


@pytest.fixture
def objects(monkeypatch: pytest.MonkeyPatch) -> MemoryStore:
    store = MemoryStore()
    monkeypatch.setattr(object_store, "_store", lambda _: store)
    return store


def test_an_object_with_the_name_of_a_prefix_is_not_left_out(objects: MemoryStore) -> None:
    obstore.put(objects, "in/1.csv", b"1\n")
    assert files_of("s3://bucket/in") == {"s3://bucket/in/1.csv": 2}
    obstore.put(objects, "in", b"")
    assert files_of("s3://bucket/in") == {"s3://bucket/in/1.csv": 2}, "what is empty marks a folder"
    obstore.put(objects, "in", b"2\n")
    with refused("ambiguous-place"):
        files_of("s3://bucket/in")


@pytest.mark.parametrize("odd", ["in/a//b.csv", "in/./x.csv", "in/t\tab.csv"])
def test_an_object_that_the_stores_library_cannot_name_is_told(bucket: str, odd: str) -> None:
    address = f"{os.environ['AWS_ENDPOINT_URL']}/{bucket.removeprefix('s3://')}"
    signed = {"Authorization": "AWS4-HMAC-SHA256 Credential=a/20260101/us-east-1/s3/aws4_request",
              "Content-Type": "application/octet-stream"}  # fmt: skip
    for name in ("in/fine.csv", "other/fine.csv", odd):
        urlopen(Request(f"{address}/{quote(name)}", data=b"1\n", headers=signed, method="PUT")).close()
    with refused("odd-name", repr(f"{bucket}/{odd}"), "rename it"):
        files_of(f"{bucket}/in")
    assert files_of(f"{bucket}/in/fine.csv") == {f"{bucket}/in/fine.csv": 2}
    assert files_of(f"{bucket}/other/") == {f"{bucket}/other/fine.csv": 2}


@pytest.mark.parametrize("place", ["s3://b/out//", "s3://b/a//out", "s3://b//out", "s3a://b/../out", "s3://b/o\nut"])
def test_a_place_whose_name_would_be_changed_is_refused(tmp_path: Path, place: str) -> None:
    (tmp_path / "in.csv").write_text("a\n1\n")
    asked = {"ray": "127.0.0.1:1", "format": "csv", "key": "a"}
    for inputs, output, to in ((tmp_path / "in.csv", place, None), (place, "out.json", None),
                               (tmp_path / "in.csv", "out.json", place)):  # fmt: skip
        with refused("odd-name", repr(place)):
            planner.sort(inputs, output, to=to, **asked)  # type: ignore[arg-type]
