"""Amounts and formats that a plan takes from its listed input."""

from __future__ import annotations

import bz2
import gzip
import os
import socket
from pathlib import Path
from urllib.request import Request, urlopen

import numpy as np
import pyarrow
import pyarrow.parquet
import pytest
from approvals import Approve
from refusals import refused

import planner
from planner.api.listed_input import files_at, list_input
from planner.distributed_sort.dataset import object_store
from planner.errors import BadInputError, IoFailureError


def test_parquet_is_counted_by_its_rows_as_they_are_sorted(tmp_path: Path) -> None:
    table = pyarrow.table({"id": list(range(50_000)), "word": ["same"] * 50_000})
    for number in range(3):
        pyarrow.parquet.write_table(table, tmp_path / f"{number}.parquet", compression="zstd")
    found = list_input(str(tmp_path))
    assert (found.files, found.format) == (3, "parquet")
    assert found.stored_bytes == sum(path.stat().st_size for path in tmp_path.iterdir())
    codec, _, ratio = (found.compression or "").partition("=")
    assert codec == "zstd"
    assert float(ratio) * found.stored_bytes == pytest.approx(3 * table.nbytes, rel=0.1)


def test_where_the_size_is_said_the_name_shows_the_format() -> None:
    """An input of a size that the user says is not listed; plain records were planned for `*.csv.gz`."""
    request = planner.recommend("1TB", input="s3://lake/in/*.csv.gz").plan.request
    assert (request.format, request.compression) == ("csv", "gzip")
    said = planner.recommend("1TB", input="s3://lake/in/*.csv.gz", format="lines", compression="zstd").plan.request
    assert (said.format, said.compression) == ("lines", "zstd")
    for name in ("in", "in.dat", "v1.5/in/"):
        assert planner.recommend("1TB", input=f"s3://lake/{name}").plan.request.format is None


def test_compressed_lines_are_looked_into(tmp_path: Path) -> None:
    text = b"".join(b"%08d the same words again\n" % number for number in range(20_000))
    (tmp_path / "a.txt.gz").write_bytes(gzip.compress(text))
    found = list_input(str(tmp_path / "a.txt.gz"))
    assert found.format == "lines"
    codec, _, ratio = (found.compression or "").partition("=")
    assert codec == "gzip"
    assert float(ratio) * found.stored_bytes == pytest.approx(len(text), rel=0.3)


@pytest.mark.parametrize(
    ("name", "content", "expected"),
    [
        ("a.dat", b"a line\n" * 100, ("lines", "none")),
        ("a.parquet", b"a,b\n" * 100, ("lines", "none")),
        ("a.bz2", bz2.compress(b"a line\n" * 10_000), ("lines", "none=")),
        ("a.csv.zst", gzip.compress(b"a,b\n" * 10_000, mtime=0), ("csv", "gzip=")),
        ("a", b"a,b\n" * 100, ("lines", "none")),
    ],
)
def test_a_listed_input_is_what_it_holds(tmp_path: Path, name: str, content: bytes, expected: tuple[str, str]) -> None:
    (tmp_path / name).write_bytes(content)
    found = list_input(str(tmp_path))
    assert found.format == expected[0] and (found.compression or "").startswith(expected[1])


def test_listed_records_are_such_as_the_planner_generates(tmp_path: Path) -> None:
    planner.generate(tmp_path / "a.csv", records=100)
    assert list_input(str(tmp_path)).format == "records"


def test_a_listed_input_of_unknown_bytes_is_refused_by_its_name(tmp_path: Path) -> None:
    (tmp_path / "a.dat").write_bytes(bytes(range(100)))
    with pytest.raises(BadInputError, match=r"a\.dat"):
        planner.recommend(input=str(tmp_path), instance="i4i.4xlarge", nodes=2)
    request = planner.recommend(input=str(tmp_path), format="records", instance="i4i.4xlarge", nodes=2).plan.request
    assert (request.data_bytes, request.format) == (100, "records")


def test_a_plan_needs_no_amount_where_its_input_can_be_listed(tmp_path: Path, approve: Approve) -> None:
    (tmp_path / "a.csv").write_bytes(b"a,b\n" * 1000)
    (tmp_path / "b.csv").write_bytes(b"a,b\n" * 500)
    plan = planner.recommend(input=str(tmp_path), instance="i4i.4xlarge", nodes=2).plan
    request = plan.request
    assert (request.data_bytes, request.files, request.format, request.compression) == (6000, 2, "csv", "none")
    assert request.input == tmp_path.as_uri()
    assert plan.best is not None and "stage in" in plan.best.overheads_s
    approve(plan.best.warnings)


def test_an_input_that_is_not_there_is_named(tmp_path: Path) -> None:
    with refused("no-such-file"):
        planner.recommend(input=str(tmp_path / "none"))


def test_an_input_that_is_empty_is_named(tmp_path: Path) -> None:
    (tmp_path / "none.csv").touch()
    with refused("empty-file", "none.csv", field="data"):
        planner.recommend(input=str(tmp_path / "none.csv"))


def test_a_store_that_cannot_be_listed_needs_the_amount() -> None:
    with refused("unsupported-address", "s3://, gs://, az://", field="input"):
        planner.recommend(input="oci://bucket/path")


def test_a_damaged_file_is_named(tmp_path: Path) -> None:
    (tmp_path / "a.parquet").write_bytes(b"PAR1" + bytes(100))
    with pytest.raises(BadInputError, match=r"a\.parquet: .*no Parquet file, or damaged"):
        planner.recommend(input=str(tmp_path / "a.parquet"))


def test_a_storage_account_that_is_not_the_environments_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("AZURE_STORAGE_ACCOUNT_NAME", "mine")
    with pytest.raises(BadInputError, match="set AZURE_STORAGE_ACCOUNT_NAME=theirs"):
        planner.recommend(input="abfss://lake@theirs.dfs.core.windows.net/in")


def test_a_prefix_of_a_bucket_is_listed_and_its_footers_read(bucket: str, tmp_path: Path) -> None:
    table = pyarrow.table({"id": list(range(50_000)), "word": ["same"] * 50_000})
    pyarrow.parquet.write_table(table, tmp_path / "0.parquet", compression="snappy")
    for number in range(4):
        object_store.write_file(f"{bucket}/events/{number}.parquet", tmp_path / "0.parquet")
    asked = planner.recommend(input=f"{bucket}/events", instance="i4i.4xlarge", nodes=2).plan.request
    assert (asked.files, asked.format) == (4, "parquet")
    assert asked.data_bytes == 4 * (tmp_path / "0.parquet").stat().st_size
    assert (asked.compression or "").startswith("snappy=")
    assert asked.input_region == "us-east-1"


def test_a_bucket_says_its_region_and_a_plan_elsewhere_needs_its_prices(bucket: str) -> None:
    place = "<LocationConstraint>eu-north-1</LocationConstraint>"
    elsewhere = f"<CreateBucketConfiguration>{place}</CreateBucketConfiguration>"
    endpoint = os.environ["AWS_ENDPOINT_URL"]
    as_xml = {"Content-Type": "application/xml"}
    urlopen(Request(f"{endpoint}/in-sweden", method="PUT", data=elsewhere.encode(), headers=as_xml)).close()
    object_store.write_object("s3://in-sweden/a.csv", np.frombuffer(b"a,b\n1,2\n", np.uint8))
    with refused("no-price", "'eu-north-1'", field="own_price"):
        planner.recommend(input="s3://in-sweden/")


def test_files_of_a_folder_and_a_file_are_counted(tmp_path: Path) -> None:
    for name, size in (("a", 10), ("b", 20), ("empty", 0), ("_SUCCESS", 3)):
        (tmp_path / name).write_bytes(bytes(size))
    assert sorted(files_at(str(tmp_path)).values()) == [10, 20]
    assert list(files_at(str(tmp_path / "b")).values()) == [20]


def test_nothing_there_is_bad_input(tmp_path: Path) -> None:
    with pytest.raises(BadInputError, match="no such file"):
        files_at(str(tmp_path / "absent"))


def test_a_store_that_does_not_answer_is_given_up(monkeypatch: pytest.MonkeyPatch) -> None:
    with socket.create_server(("127.0.0.1", 0)) as silent:
        monkeypatch.setenv("AWS_ENDPOINT_URL", f"http://127.0.0.1:{silent.getsockname()[1]}")
        monkeypatch.setenv("AWS_ALLOW_HTTP", "true")
        monkeypatch.setenv("AWS_ACCESS_KEY_ID", "nobody")
        monkeypatch.setenv("AWS_SECRET_ACCESS_KEY", "nothing")
        with pytest.raises(IoFailureError, match="no answer within 1 s"):
            files_at("s3://bucket/prefix", patience_s=1.0)
