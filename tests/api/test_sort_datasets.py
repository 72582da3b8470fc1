"""Datasets of pyarrow are sorted as the files they consist of, or refused."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.dataset as ds
import pyarrow.parquet as pq
import pytest
from refusals import refused

import planner
from planner.distributed_sort.dataset.table_dataset import tables_of
from planner.errors import BadInputError

HIVE = {"format": "parquet", "partitioning": "hive"}


@pytest.fixture
def days(tmp_path: Path) -> Path:
    """Return a folder with three days, inside a folder whose name gives a column."""
    folder = tmp_path / "day=7" / "in"
    for number, day in enumerate(("1", "10", "__HIVE_DEFAULT_PARTITION__")):
        path = folder / f"day={day}" / "a.parquet"
        path.parent.mkdir(parents=True)
        pq.write_table(pa.table({"k": [9 - number, number], "v": ["x", "y"]}), path, row_group_size=1)
    return folder


def test_a_dataset_is_sorted_with_the_columns_of_its_folders(days: Path, tmp_path: Path) -> None:
    before = {path: path.read_bytes() for path in days.rglob("*.parquet")}
    result = planner.sort(ds.dataset(days, **HIVE), tmp_path / "out.parquet", key=["day:desc", "k"])
    assert result.tables == (str(tmp_path / "out.parquet"),)
    assert result.to_pyarrow().to_table().to_pydict() == {
        "k": [1, 8, 0, 9, 2, 7], "v": ["y", "x", "y", "x", "y", "x"], "day": [10, 10, 1, 1, None, None],
    }  # fmt: skip
    assert {path: path.read_bytes() for path in days.rglob("*.parquet")} == before


def test_a_dataset_without_partitions_has_no_columns_of_folders(days: Path, tmp_path: Path) -> None:
    result = planner.sort(ds.dataset(days), tmp_path / "out.parquet", key="k")
    assert result.to_pyarrow().to_table().to_pydict() == {"k": [0, 1, 2, 7, 8, 9], "v": list("yyyxxx")}


def test_files_named_alone_get_the_columns_that_are_asked_for(days: Path) -> None:
    files = [str(path) for path in sorted(days.rglob("*.parquet"))]
    assert tables_of(files, ["k"]).layout.table.arrow_schema().names == ["k", "v"]  # type: ignore[union-attr]
    table = tables_of(files, ["day"], columns={"day"}).layout.table
    assert table and table.arrow_schema().field("day").type == pa.int64()


def subset(days: Path) -> ds.Dataset:
    whole = ds.dataset(days)
    groups = [fragment.subset(row_group_ids=[0]) for fragment in whole.get_fragments()]
    return ds.FileSystemDataset(groups, whole.schema, whole.format, whole.filesystem)


def linked(days: Path) -> ds.Dataset:
    (days.parent / "linked").mkdir()
    (days.parent / "linked" / "month=1").symlink_to(days)
    return ds.dataset(days.parent / "linked", **HIVE)


@pytest.mark.parametrize(
    ("make", "reason"),
    [
        (lambda days: ds.dataset(days).filter(ds.field("k") > 1), "with a filter or a projection: write it to"),
        (lambda days: ds.dataset(days, schema=pa.schema([("k", pa.int64())])), "another schema than its files"),
        (lambda days: ds.dataset(days, schema=pa.schema([("k", pa.int32()), ("v", pa.string())])), "another schema"),
        (lambda days: ds.dataset(pa.table({"k": [1]})), "InMemoryDataset is not of files: write it to Parquet"),
        (lambda days: ds.dataset([ds.dataset(days), ds.dataset(days)]), "UnionDataset is not of files"),
        (lambda days: ds.dataset(days, partitioning=["date"]), "its folders do not say"),
        (lambda days: ds.dataset(days, partitioning=ds.partitioning(pa.schema([("day", pa.string())]), flavor="hive")),
         "a sort takes folders called NAME=VALUE, with integers or text"),
        (lambda days: ds.dataset([], format="parquet", schema=pa.schema([("k", pa.int64())])), "without files"),
        (lambda days: ds.dataset(days, format="csv", schema=pa.schema([("k", pa.int64())])), "of csv: name its files"),
        (subset, "has not all of its row groups"),
        (linked, "its folders do not say"),
    ],
)  # fmt: skip
def test_what_its_files_are_not_is_refused(
    make: Callable[[Path], Any], reason: str, days: Path, tmp_path: Path
) -> None:
    with pytest.raises(BadInputError, match=reason):
        planner.sort(make(days), tmp_path / "out.parquet", key="k")
    assert not (tmp_path / "out.parquet").exists()


@pytest.mark.parametrize(
    ("options", "reason"),
    [
        ({"format": "csv"}, "a Dataset is sorted as Parquet"),
        ({"consume_input": True}, "`consume_input` does not go with a Dataset"),
        ({"staging": "s3://b/x"}, "its staging are for a cluster"),
        ({"staging": "s3://b/x", "ray": "127.0.0.1:1"}, "is where a Ray Dataset is written"),
    ],
)
def test_options_that_do_not_go_with_it(options: dict[str, Any], reason: str, days: Path, tmp_path: Path) -> None:
    with pytest.raises(BadInputError, match=reason):
        planner.sort(ds.dataset(days), tmp_path / "out.parquet", key="k", **options)


@pytest.mark.parametrize("ray", [None, "127.0.0.1:1"])
def test_an_output_among_the_files_of_a_dataset_is_refused(ray: str | None, days: Path) -> None:
    output = days / "day=1" / "a.parquet"
    before = output.read_bytes()
    with refused("output-among-inputs", "a.parquet"):
        planner.sort(ds.dataset(days, **HIVE), output, key="k", force=True, ray=ray)
    assert output.read_bytes() == before


def test_text_is_no_dataset(tmp_path: Path) -> None:
    (tmp_path / "in").write_text("b\na\n")
    result = planner.sort(tmp_path / "in", tmp_path / "out", format="lines")
    for give in (result.to_pyarrow, result.to_ray):
        with pytest.raises(BadInputError, match="not of Parquet"):
            give()
