"""Parquet files sorted out of core, compared with DuckDB and the table in memory."""

from __future__ import annotations

import decimal
import random
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from refusals import refused

from planner.errors import BadInputError, InputChangedError
from planner.native import Progress
from planner.sorting.sort_job import SortJob
from planner.sorting.tables import parquet, parquet_output, parquet_rows, table_runs
from planner.sorting.tables.parquet import ParquetReport, sort_tables
from planner.sorting.tables.table import sort_table
from tests.sorting.arrow_tables import order_of_duckdb, random_keys, random_table


def run(
    folder: Path, tables: list[Any], keys: list[str], *, row_group_size: int = 1000, **settings: Any
) -> tuple[Any, ParquetReport]:
    """Return tables sorted through files."""
    for i, table in enumerate(tables):
        pq.write_table(table, folder / f"in{i}", row_group_size=row_group_size, compression="zstd")
    inputs = tuple(str(folder / f"in{i}") for i in range(len(tables)))
    values: dict[str, Any] = {"memory_bytes": 1 << 30, "temp_dirs": (str(folder),)} | settings
    report = sort_tables(
        SortJob(inputs=inputs, output=str(folder / "out"), force=True, key=tuple(keys), **values), Progress()
    )
    assert sorted(path.name for path in folder.iterdir()) == sorted([*(f"in{i}" for i in range(len(tables))), "out"])
    return pq.read_table(folder / "out"), report


def without_nan(table: Any) -> Any:
    """Return a table without the columns whose NaN differs from itself."""
    return table.drop_columns(["real", "single"])


@pytest.fixture
def small_runs(monkeypatch: pytest.MonkeyPatch) -> None:
    """Make runs of some hundred rows, and merge them in pieces of some ten."""
    monkeypatch.setattr(parquet, "_MOST_RUN_BYTES", 15_000)
    monkeypatch.setattr(parquet_rows, "BATCH_ROWS", 50)
    monkeypatch.setattr(parquet, "_LEAST_PIECE_BYTES", 3_000)
    monkeypatch.setattr(parquet, "_PIECES", 1 << 40)
    monkeypatch.setattr(table_runs, "MOST_MERGED", 4)


@pytest.mark.usefixtures("small_runs")
def test_many_runs_as_duckdb_orders_them(tmp_path: Path) -> None:
    chance = random.Random(21)
    for _ in range(2):
        table, keys = random_table(chance, 900), random_keys(chance)
        ours, report = run(tmp_path, [table], keys)
        assert report.runs > 4  # so that runs are merged twice
        assert report.rows == 900
        assert ours.column("row").to_pylist() == order_of_duckdb(table, keys), keys
        assert without_nan(ours).equals(without_nan(sort_table(table, keys=keys)))


def test_decimals_that_are_integers_stay_so(tmp_path: Path) -> None:
    table = pa.table(
        {"price": pa.array([decimal.Decimal("2.50"), None, decimal.Decimal("-1.00")], pa.decimal128(9, 2))}
    )
    path = tmp_path / "in"
    pq.write_table(table, path, store_decimal_as_integer=True)
    job = SortJob(
        inputs=(str(path),),
        output=str(tmp_path / "out"),
        force=True,
        key=("price",),
        memory_bytes=1 << 30,
        temp_dirs=(),
    )
    sort_tables(job, Progress())
    assert pq.ParquetFile(tmp_path / "out").metadata.row_group(0).column(0).physical_type == "INT32"
    assert pq.read_table(tmp_path / "out").equals(table.take([2, 0, 1]))


def test_threads_encode_row_groups_in_order(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(parquet_output, "_LEAST_PART_BYTES", 1 << 10)
    monkeypatch.setattr(parquet_output, "_LEAST_COLUMN_BYTES", 0)
    table = pa.table({"n": range(20_000)})
    ours, _ = run(tmp_path, [table], ["n:desc"])
    assert ours.column("n").to_pylist() == list(range(19_999, -1, -1))
    metadata = pq.ParquetFile(tmp_path / "out").metadata
    assert [metadata.row_group(i).num_rows for i in range(metadata.num_row_groups)] == [1000] * 20
    assert [metadata.row_group(i).column(0).statistics.max for i in (0, 19)] == [19_999, 999]


def check_files(count: int, folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Compare `count` random tables with DuckDB, cut into files, row groups, runs and pieces of random sizes."""
    chance = random.Random(29)
    for number in range(count):
        table, keys = random_table(chance, chance.choice([0, 1, 7, 60])), random_keys(chance)
        cuts = sorted(chance.randint(0, table.num_rows) for _ in range(chance.randint(0, 2)))
        ends = zip([0, *cuts], [*cuts, table.num_rows], strict=True)
        settings: dict[str, Any] = {"limit": chance.choice([None, None, 1, 7])}
        monkeypatch.setattr(parquet, "_MOST_RUN_BYTES", chance.choice([300, 3000, 1 << 30]))
        monkeypatch.setattr(parquet_rows, "BATCH_ROWS", chance.choice([1, 3, 50]))
        monkeypatch.setattr(parquet, "_LEAST_PIECE_BYTES", chance.choice([50, 300]))
        monkeypatch.setattr(table_runs, "MOST_MERGED", chance.choice([2, 4, 32]))
        parts = [table.slice(first, end - first) for first, end in ends]
        ours, _ = run(folder, parts, keys, row_group_size=chance.choice([1, 3, 1000]), **settings)
        rows = order_of_duckdb(table, keys)[: settings["limit"]]
        assert ours.column("row").to_pylist() == rows, (number, keys, settings)
        assert ours.schema.equals(pq.read_schema(folder / "in0"), check_metadata=True), number
        for name in ("list", "pair", "color", "price", "name", "at"):
            values = table.column(name).to_pylist()
            assert ours.column(name).to_pylist() == [values[row] for row in rows], (number, name)
        for path in folder.iterdir():
            path.unlink()


@pytest.mark.parametrize("column_bytes", [0, 1 << 16])
@pytest.mark.usefixtures("small_runs")
def test_random_files_as_duckdb_has_them(column_bytes: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(parquet_output, "_LEAST_COLUMN_BYTES", column_bytes)  # so that parts are joined, or not
    check_files(3, tmp_path, monkeypatch)


@pytest.mark.soak
@pytest.mark.usefixtures("small_runs")
def test_very_many_random_files(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    check_files(3_000, tmp_path, monkeypatch)


@pytest.mark.usefixtures("small_runs")
def test_distinct_keys_and_the_first_rows_of_several_files(tmp_path: Path) -> None:
    chance = random.Random(22)
    table = random_table(chance, 500)
    parts = [table.slice(0, 200), table.slice(200)]
    ours, _ = run(tmp_path, parts, ["name:desc", "real"], unique=True)
    ordered = sort_table(table, keys=["name:desc", "real"]).select(["name", "real", "row"]).to_pylist()
    firsts: dict[Any, int] = {}
    for row in ordered:
        firsts.setdefault((row["name"], "nan" if row["real"] != row["real"] else row["real"]), row["row"])
    assert ours.column("row").to_pylist() == list(firsts.values())
    ours, report = run(tmp_path, parts, ["real:desc"], limit=100)
    assert report.rows == 100
    assert ours.column("row").to_pylist() == order_of_duckdb(table, ["real:desc"])[:100]


def test_sorted_files_are_merged(tmp_path: Path) -> None:
    table = random_table(random.Random(23), 3000)
    keys = ["color:first", "at:desc"]
    parts = [sort_table(table.slice(i, 1000), keys=keys) for i in (0, 1000, 2000)]
    ours, _ = run(tmp_path, parts, keys, merge=True)
    assert without_nan(ours).equals(without_nan(sort_table(pa.concat_tables(parts), keys=keys)))


def test_schema_metadata_and_statistics(tmp_path: Path) -> None:
    table = random_table(random.Random(24), 2500).drop_columns(["list", "pair"])
    ours, _ = run(tmp_path, [table], ["small", "name"])
    assert ours.schema.equals(table.schema, check_metadata=True)
    metadata = pq.ParquetFile(tmp_path / "out").metadata
    assert [metadata.row_group(i).num_rows for i in range(metadata.num_row_groups)] == [1000, 1000, 500]
    group = metadata.row_group(0)
    assert group.column(0).compression == "ZSTD"
    assert group.column(0).statistics.has_min_max
    assert group.sorting_columns[0] == pq.SortingColumn(0, descending=False, nulls_first=False)


def test_no_rows_and_what_is_no_parquet(tmp_path: Path) -> None:
    ours, report = run(tmp_path, [pa.table({"a": pa.array([], pa.int64())})], ["a"])
    assert (ours.num_rows, report.rows, report.runs) == (0, 0, 0)
    (tmp_path / "in0").write_bytes(b"a,b\n1,2\n")
    job = SortJob(
        inputs=(str(tmp_path / "in0"),),
        output=str(tmp_path / "new"),
        force=True,
        key=("a",),
        memory_bytes=1 << 30,
        temp_dirs=(),
    )
    with refused("not-a-table", "in0"):
        sort_tables(job, Progress())
    with refused("schema-mismatch", "in1"):
        run(tmp_path, [pa.table({"a": [1]}), pa.table({"b": [1]})], ["a"])


def test_a_row_group_without_rows_views_and_dictionaries_with_nulls(tmp_path: Path) -> None:
    color = pa.DictionaryArray.from_arrays(pa.array([0, 1], pa.int8()), pa.array(["red", None]))
    plain = pa.table({"n": [2, 1], "view": pa.array(["b", "a"], pa.string_view())})
    ours, _ = run(tmp_path, [plain.slice(0, 0), plain, plain], ["view"], unique=True)
    assert ours.to_pylist() == [{"n": 1, "view": "a"}, {"n": 2, "view": "b"}]
    full = plain.append_column("color", color)
    ours = sort_table(pa.concat_tables([full, full]), keys="n")
    assert ours.schema.equals(full.schema)
    assert ours.column("color").to_pylist() == [None, None, "red", "red"]


def test_damage_in_the_middle_leaves_what_was_there(tmp_path: Path) -> None:
    pq.write_table(pa.table({"a": [str(i) * 9 for i in range(20_000)]}), tmp_path / "in", compression="zstd")
    data = bytearray((tmp_path / "in").read_bytes())
    data[1000:3000] = bytes(2000)
    (tmp_path / "in").write_bytes(data)
    (tmp_path / "out").write_bytes(b"as before")
    job = SortJob(
        inputs=(str(tmp_path / "in"),),
        output=str(tmp_path / "out"),
        force=True,
        key=("a",),
        memory_bytes=1 << 30,
        temp_dirs=(),
    )
    with pytest.raises(BadInputError, match="in is damaged"):
        sort_tables(job, Progress())
    assert (tmp_path / "out").read_bytes() == b"as before"
    assert sorted(path.name for path in tmp_path.iterdir()) == ["in", "out"]


@pytest.mark.needs_root(why="mounts a small disk")
@pytest.mark.parametrize(
    ("place", "named"),
    [("out", "cannot write {}/out/sorted"), ("scratch", "cannot write temporary file in {}/scratch")],
)
def test_a_full_disk_is_named(place: str, named: str, tmp_path: Path) -> None:
    for name in ("out", "scratch"):
        (tmp_path / name).mkdir()
    pq.write_table(pa.table({"a": [f"{i * 7919 % 50_000:0200}" for i in range(50_000)]}), tmp_path / "in")
    sort = """if True:
        import sys
        from planner.native import Progress
        from planner.sorting.sort_job import SortJob
        from planner.sorting.tables import parquet
        parquet._MOST_RUN_BYTES = 1 << 21
        output, scratch = sys.argv[1] + "/out/sorted", sys.argv[1] + "/scratch"
        job = SortJob(inputs=("in",), output=output, key=("a",), memory_bytes=1 << 30, temp_dirs=(scratch,))
        parquet.sort_tables(job, Progress())
    """
    script = f'mount -t tmpfs -o size=100k tmpfs {place} && {sys.executable} -c "$0" "$PWD"; ls -A {place}'
    done = subprocess.run(
        ["unshare", "--mount", "sh", "-c", script, sort], cwd=tmp_path, capture_output=True, text=True, check=False
    )
    assert f"IoFailureError: {named.format(tmp_path)}" in done.stderr
    assert "No space left on device" in done.stderr
    assert done.stdout == ""


def test_a_table_without_columns_is_said_to_have_none(tmp_path: Path) -> None:
    with refused("no-columns"):
        run(tmp_path, [pa.table({})], ["k"])


@pytest.mark.parametrize("merge", [False, True])
def test_a_file_that_is_replaced_meanwhile_ends_the_sort(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, merge: bool
) -> None:
    """The new one has the same size and time; the output stays as it was."""
    path, output = tmp_path / "in0", tmp_path / "out"
    output.write_text("earlier")
    write, ahead = path.with_name("new").write_bytes, parquet.prefetch_tables

    def replace_and_go_on(groups: Any) -> Any:
        write(path.read_bytes())
        shutil.copystat(path, path.with_name("new"))
        path.with_name("new").replace(path)
        return ahead(groups)

    monkeypatch.setattr(parquet, "prefetch_tables", replace_and_go_on)
    with pytest.raises(InputChangedError, match=str(path)) as caught:
        run(tmp_path, [pa.table({"a": [1, 2, 3]})], ["a"], merge=merge)
    assert (caught.value.exit_code, output.read_text()) == (6, "earlier")


@pytest.mark.usefixtures("small_runs")
def test_rounds_merge_no_more_runs_than_they_must(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Of one run more than are merged at once only two are written again."""
    table = pa.table({"key": np.random.default_rng(5).permutation(2000), "text": ["x" * 300] * 2000})
    monkeypatch.setattr(parquet, "_LEAST_PIECE_BYTES", 10_000_000)
    monkeypatch.setattr(table_runs, "MOST_MERGED", 1000)
    _, once = run(tmp_path, [table], ["key"])
    monkeypatch.setattr(table_runs, "MOST_MERGED", once.runs - 1)
    ours, twice = run(tmp_path, [table], ["key"])
    assert ours.column("key").to_pylist() == list(range(2000))
    assert once.runs > 10 and once.spilled_bytes < twice.spilled_bytes < once.spilled_bytes * (1 + 3 / once.runs)
