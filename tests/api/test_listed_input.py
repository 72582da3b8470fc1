"""What listing the input tells a plan."""

from __future__ import annotations

import gzip
from pathlib import Path

import pyarrow
import pyarrow.parquet
import pytest

import planner
from planner.api.listed_input import list_input
from planner.errors import BadInputError


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


def test_compressed_lines_are_looked_into(tmp_path: Path) -> None:
    text = b"".join(b"%08d the same words again\n" % number for number in range(20_000))
    (tmp_path / "a.txt.gz").write_bytes(gzip.compress(text))
    found = list_input(str(tmp_path / "a.txt.gz"))
    assert found.format == "lines"
    codec, _, ratio = (found.compression or "").partition("=")
    assert codec == "gzip"
    assert float(ratio) * found.stored_bytes == pytest.approx(len(text), rel=0.3)


def test_a_plan_needs_no_amount_where_its_input_can_be_listed(tmp_path: Path) -> None:
    (tmp_path / "a.csv").write_bytes(b"a,b\n" * 1000)
    (tmp_path / "b.csv").write_bytes(b"a,b\n" * 500)
    plan = planner.recommend(input=str(tmp_path), instance="i4i.4xlarge", nodes=2).plan
    request = plan.request
    assert (request.data_bytes, request.files, request.format, request.compression) == (6000, 2, "csv", "none")
    assert request.input == tmp_path.as_uri()
    assert plan.best is not None and "stage in" in plan.best.overheads_s
    assert any("stage in: how fast data gets from here to aws is unknown" in text for text in plan.best.warnings)


def test_an_input_that_is_not_there_is_named(tmp_path: Path) -> None:
    with pytest.raises(BadInputError, match="no such file or directory"):
        planner.recommend(input=str(tmp_path / "none"))
