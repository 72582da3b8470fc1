"""Folders and patterns as sort inputs, columns from folder names, and columns missing from some files."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import duckdb
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from refusals import refused

import planner
from planner.errors import BadInputError


def put(path: Path, **columns: Any) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    pq.write_table(pa.table(columns), path)


def test_a_folder_stands_for_its_files(tmp_path: Path) -> None:
    for name, text in {"a.txt": "b\n", "deep/b.txt": "a\n", "_SUCCESS": "x\n", ".hidden": "y\n", "empty": ""}.items():
        (tmp_path / "in" / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / "in" / name).write_text(text)
    messages: list[str] = []
    planner.sort(tmp_path / "in", tmp_path / "out", lines=True, say=messages.append)
    assert (tmp_path / "out").read_text() == "a\nb\n"
    assert any("2 files" in text for text in messages)
    planner.sort(tmp_path / "in" / "**" / "*.txt", tmp_path / "out", lines=True, force=True)
    assert (tmp_path / "out").read_text() == "a\nb\n"
    (tmp_path / "nothing").mkdir()
    nothing = {tmp_path / "nothing": "there are no files in it", tmp_path / "in" / "*.csv": "no file fits this pattern"}
    for source, why in nothing.items():
        with pytest.raises(BadInputError, match=why):
            planner.sort(source, tmp_path / "more", lines=True)


@pytest.mark.parametrize("source", ["in", "in/*.parquet"])
def test_an_output_in_the_folder_is_no_input_unless_it_is_named(tmp_path: Path, source: str) -> None:
    """Otherwise a sort that is repeated with --force would have its rows twice: geoparquet/geoparquet-io#867."""
    put(tmp_path / "in/a.parquet", n=[2, 1])
    output = tmp_path / "in/o.parquet"
    planner.sort(tmp_path / source, output, format="parquet", key="n")
    with refused("output-among-inputs", "o.parquet"):
        planner.sort(tmp_path / source, output, format="parquet", key="n", force=True)
    assert pq.read_table(output).column("n").to_pylist() == [1, 2]
    planner.sort([tmp_path / source, output], output, format="parquet", key="n", force=True)
    assert pq.read_table(output).column("n").to_pylist() == [1, 1, 2, 2]


def test_a_name_with_the_letters_of_a_pattern_is_a_name(tmp_path: Path) -> None:
    (tmp_path / "in[1].txt").write_text("b\na\n")
    planner.sort(tmp_path / "in[1].txt", tmp_path / "out", lines=True)
    assert (tmp_path / "out").read_text() == "a\nb\n"


def test_folders_say_columns_as_duckdb_reads_them(tmp_path: Path) -> None:
    put(tmp_path / "in/year=2025/place=a%20b/1.parquet", n=[3, 1])
    put(tmp_path / "in/year=2024/place=c/2.parquet", n=[2])
    put(tmp_path / "in/year=2024/place=__HIVE_DEFAULT_PARTITION__/3.parquet", n=[0])
    planner.sort(tmp_path / "in", tmp_path / "out.parquet", format="parquet", key=["year", "n:desc"])
    found = pq.read_table(tmp_path / "out.parquet")
    source = f"read_parquet('{tmp_path}/in/**/*.parquet', hive_partitioning=true)"
    assert found.to_pylist() == [
        dict(zip(("n", "year", "place"), row, strict=True))
        for row in duckdb.sql(f"select n, year, place from {source} order by year, n desc").fetchall()
    ]
    planner.sort(
        tmp_path / "in", tmp_path / "same.parquet", format="parquet", key=["year", "n:desc"], consume_input=True
    )
    assert pq.read_table(tmp_path / "same.parquet") == found


def test_folders_of_dates_and_real_numbers_are_typed(tmp_path: Path) -> None:
    """Dates as DuckDB types them, real numbers as Spark does, where none changes when it is written again."""
    for day, share, grade, n in (("2024-01-01", "0.25", "1.5", 1), ("2023-12-31", "-3", "1.10", 2)):
        put(tmp_path / f"in/day={day}/share={share}/grade={grade}/odd={day[:4]}-02-30/1.parquet", n=[n])
    planner.sort(tmp_path / "in", tmp_path / "out.parquet", format="parquet", key=["share"])
    found = pq.read_table(tmp_path / "out.parquet")
    types = [str(field.type) for field in found.schema]
    assert dict(zip(found.schema.names, types, strict=True)) == {
        "n": "int64", "day": "date32[day]", "share": "double", "grade": "string", "odd": "string"
    }  # fmt: skip
    source = f"read_parquet('{tmp_path}/in/**/*.parquet', hive_partitioning=true)"
    assert found["day"].to_pylist() == [
        day for (day,) in duckdb.sql(f"select day from {source} order by n desc").fetchall()
    ]
    assert found["share"].to_pylist() == [-3.0, 0.25]


def test_a_column_that_folders_repeat_is_told_and_may_not_differ(tmp_path: Path) -> None:
    said = list[str]()
    for month in (1, 2):
        put(tmp_path / f"in/month=0{month}/1.parquet", n=[month, 7], month=[month, month])
    planner.sort(tmp_path / "in", tmp_path / "out.parquet", format="parquet", key=["n"], say=said.append)
    assert [line for line in said if "repeat what the files' own columns hold: month" in line]
    assert pq.read_table(tmp_path / "out.parquet")["month"].to_pylist() == [1, 2, 1, 2]
    put(tmp_path / "in/month=03/1.parquet", n=[1, 2], month=[3, 4])
    with refused("folder-mismatch", "month=03/1.parquet"):
        planner.sort(tmp_path / "in", tmp_path / "other.parquet", format="parquet", key=["n"])
    pq.write_table(pa.table({"n": [1], "month": ["x"]}), tmp_path / "in/month=03/1.parquet", write_statistics=False)
    with refused("folder-mismatch", "month=03/1.parquet"):
        planner.sort(tmp_path / "in", tmp_path / "other.parquet", format="parquet", key=["n"])


@pytest.mark.parametrize("folders", [("Year=1", "year=2"), ("N=1",)])
def test_names_that_differ_by_case_alone_are_refused(tmp_path: Path, folders: tuple[str, ...]) -> None:
    for folder in folders:
        put(tmp_path / f"in/{folder}/1.parquet", n=[1])
    with refused("names-differ-by-case" if len(folders) == 1 else "partition-mismatch"):
        planner.sort(tmp_path / "in", tmp_path / "out.parquet", format="parquet", key=["n"])


def test_a_number_that_would_change_stays_text(tmp_path: Path) -> None:
    for month, n in (("10", 2), ("09", 1)):
        put(tmp_path / f"in/month={month}/1.parquet", n=[n])
    planner.sort(tmp_path / "in", tmp_path / "out.parquet", format="parquet", key=["month"])
    source = f"read_parquet('{tmp_path}/in/**/*.parquet', hive_partitioning=true)"
    expected = duckdb.sql(f"select n, month from {source} order by month").fetchall()
    assert [tuple(row.values()) for row in pq.read_table(tmp_path / "out.parquet").to_pylist()] == expected


def test_columns_that_are_missing_are_null_if_asked(tmp_path: Path) -> None:
    put(tmp_path / "in/1.parquet", a=[3, 1], b=["x", "y"])
    put(tmp_path / "in/2.parquet", c=[0.5], a=[2])
    with refused("schema-mismatch") as error:
        planner.sort(tmp_path / "in", tmp_path / "out.parquet", format="parquet", key="a")
    assert any("`union_by_name" in line for line in error.value.details)
    planner.sort(tmp_path / "in", tmp_path / "out.parquet", format="parquet", key="a", union_by_name=True)
    wanted = f"select * from read_parquet('{tmp_path}/in/*.parquet', union_by_name=true) order by a"
    found = pq.read_table(tmp_path / "out.parquet")
    assert [tuple(row.values()) for row in found.to_pylist()] == duckdb.sql(wanted).fetchall()
    with pytest.raises(BadInputError, match="applies only with `format=parquet`"):
        planner.sort(tmp_path / "in", tmp_path / "out", lines=True, union_by_name=True)
