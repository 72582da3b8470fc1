"""Columns as keys: text views within other types (as in Polars), ordered categories, very long texts."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any, Final

import pandas
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import planner
from planner.errors import BadInputError
from planner.native import Progress
from planner.sorting.sort_job import SortJob
from planner.sorting.tables import table_keys
from planner.sorting.tables.parquet import find_disorder, sort_tables
from planner.sorting.tables.table import sort_table
from planner.sorting.tables.table_keys import ColumnKey, dictionary_without_views, key_columns, without_views

NESTED = {
    "list": (pa.list_(pa.string_view()), [["b", None], None, []]),
    "large list": (pa.large_list(pa.struct([("x", pa.binary_view())])), [[{"x": b"b"}], None, [None]]),
    "pair": (pa.list_(pa.string_view(), 2), [["a", "b"], None, [None, "c"]]),
    "map": (pa.map_(pa.string_view(), pa.string_view()), [[("a", "b" * 20)], None, []]),
    "struct": (pa.struct([("x", pa.string_view()), ("y", pa.int8())]), [{"x": "a", "y": 1}, None, {"x": None, "y": 2}]),
    "dictionary": (pa.dictionary(pa.int8(), pa.string_view()), ["b", None, "a"]),
}


def column(name: str) -> pa.Array:
    """Return the values, cast from texts: pyarrow makes no views from Python values."""
    view, values = NESTED[name]
    if name != "dictionary":
        return pa.array(values, without_views(view)).cast(view)
    words = pa.array(["a", "b"], pa.string_view())
    return pa.DictionaryArray.from_arrays(pa.array([1, None, 0], pa.int8()), words)


@pytest.mark.parametrize("name", NESTED)
def test_they_are_moved_with_their_rows(name: str) -> None:
    view, values = NESTED[name]
    ours = sort_table(pa.table({"row": [1, 2, 0], "of": column(name)}), keys="row")
    assert ours.schema.field("of").type == view
    assert ours.column("of").to_pylist() == [values[2], values[0], values[1]]


def test_dictionaries_of_views_are_keys() -> None:
    table = pa.table({"of": pa.chunked_array([column("dictionary"), column("dictionary").slice(1)]), "row": range(5)})
    assert sort_table(table, keys="of").column("row").to_pylist() == [2, 4, 0, 1, 3]
    assert sort_table(table, keys="of:desc:first").column("row").to_pylist() == [1, 3, 0, 2, 4]


def test_what_has_no_views_stays_as_it_is() -> None:
    plain = pa.chunked_array([pa.array(["a", "b"]).dictionary_encode()])
    assert dictionary_without_views(plain) is plain
    for value_type in (pa.list_(pa.field("item", pa.int8(), nullable=False)), pa.map_(pa.string(), pa.int8())):
        assert without_views(value_type) == value_type


def pandas_categories() -> Any:
    values = pandas.Categorical(["high", "low", None, "mid"], categories=["low", "mid", "high"], ordered=True)
    return pa.Table.from_pandas(pandas.DataFrame({"a": values}))


def polars_categories() -> Any:
    """Return an Enum as Polars writes it to Parquet: the dictionary lists the values in order of appearance."""
    field = pa.field(
        "a", pa.dictionary(pa.int8(), pa.string(), ordered=True), metadata={"_PL_ENUM_VALUES2": "3;low3;mid4;high"}
    )
    values = pa.DictionaryArray.from_arrays(pa.array([0, 1, None, 2], pa.int8()), ["high", "low", "mid"], ordered=True)
    return pa.table([values], schema=pa.schema([field]))


@pytest.mark.parametrize("make", [pandas_categories, polars_categories])
def test_ordered_categories_have_their_order(make: Callable[[], Any], tmp_path: Path) -> None:
    table = pa.table(make())
    assert sort_table(table, keys="a").column("a").to_pylist() == ["low", "mid", "high", None]
    assert sort_table(table, keys="a:desc:first").column("a").to_pylist() == [None, "high", "mid", "low"]
    for number in range(3):  # their dictionaries may differ
        pq.write_table(table.slice(number), tmp_path / f"in{number}", row_group_size=1)
    inputs = tuple(str(tmp_path / f"in{number}") for number in range(3))
    job = SortJob(
        inputs=inputs,
        output=str(tmp_path / "out"),
        force=True,
        key=("a",),
        memory_bytes=1 << 30,
        temp_dirs=(str(tmp_path),),
    )
    sort_tables(job, Progress())
    out = pq.read_table(tmp_path / "out").column("a").to_pylist()
    assert out == ["low"] * 2 + ["mid"] * 3 + ["high"] + [None] * 3
    assert find_disorder(SortJob(inputs=(job.output,), format="parquet", key=["a"]), Progress()) is None
    assert not pq.ParquetFile(job.output).metadata.row_group(0).sorting_columns


def test_texts_longer_than_short_offsets_count_are_sorted(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(table_keys, "_MOST_SHORT_BYTES", 10)
    table = pa.table({"s": pa.chunked_array([["b" * 20, None], ["a" * 20]])})
    (rank, values) = key_columns(table, [ColumnKey(0)])
    assert (rank.values.to_pylist(), values.values.type) == ([0, 1, 0], pa.large_binary())
    assert sort_table(table, keys="s").column("s").to_pylist() == ["a" * 20, "b" * 20, None]


NATURAL = [
    "",
    "-",
    "1a",
    "01a",
    "1b",
    "2",
    "10",
    "a",
    "a1",
    "a01",
    "a2",
    "a10",
    "chr2",
    "chr02",
    "chr10",
    "chr10x",
    "\u00e9",
]
"""In order: numbers by value, equal numbers by their zeros, other bytes as they are."""


def test_natural_order_takes_numbers_by_value(tmp_path: Path) -> None:
    mixed = [*reversed(NATURAL), None]
    for values in (
        pa.array(mixed),
        pa.array(mixed).cast(pa.large_string()).slice(3),
        pa.array(mixed).dictionary_encode(),
    ):
        expected = [text for text in NATURAL if text in values.to_pylist()]
        table = pa.table({"s": values})
        assert sort_table(table, keys="s:natural").column("s").to_pylist() == [*expected, None]
        assert sort_table(table, keys="s:desc:natural").column("s").to_pylist() == [*reversed(expected), None]
    with pytest.raises(BadInputError, match="no text"):
        sort_table(pa.table({"n": [1]}), keys="n:natural")
    (tmp_path / "in.csv").write_text("s,n\n" + "".join(f"{text},{i}\n" for i, text in enumerate(reversed(NATURAL))))
    planner.sort(tmp_path / "in.csv", tmp_path / "out.csv", key="s:natural:first")
    assert [line.split(",")[0] for line in (tmp_path / "out.csv").read_text().splitlines()[1:]] == NATURAL
    padded = [text.encode().ljust(8) for text in NATURAL if text and "0" not in text.removesuffix("10")]
    (tmp_path / "in").write_bytes(b"".join(reversed(padded)))
    planner.sort(tmp_path / "in", tmp_path / "out", record_size=8, key="0:8:natural")
    assert (tmp_path / "out").read_bytes() == b"".join(padded)


def categories_file(path: Path, *groups: list[str]) -> str:
    """Write a Parquet file whose row groups have these categories, each with a row for each of them."""
    field = pa.field("c", pa.dictionary(pa.int32(), pa.string(), ordered=True))
    schema = pa.schema([field, ("k", pa.int64())])
    with pq.ParquetWriter(path, schema) as writer:
        for names in groups:
            places = pa.array(range(len(names)), pa.int32())
            values = pa.DictionaryArray.from_arrays(places, names, ordered=True)
            writer.write_table(pa.table([values, range(len(names))], schema=schema))
    return str(path)


TWO_ORDERS: Final = pytest.mark.parametrize(
    ("one", "other", "expected"),
    [
        (["low", "high"], ["low", "mid", "high"], ["low", "mid", "high"]),
        (["mid", "high"], ["low", "mid"], ["low", "mid", "high"]),
        (["low", "high"], ["high", "low"], None),
        (["low", "high"], ["low", "mid"], None),
        (["a"], ["b"], None),
    ],
)


@TWO_ORDERS
@pytest.mark.parametrize("key", ["k", "c"])
@pytest.mark.parametrize("files", [1, 2])
def test_ordered_categories_of_several_dictionaries_get_no_invented_order(
    one: list[str], other: list[str], expected: list[str] | None, key: str, files: int, tmp_path: Path
) -> None:
    groups = [[one, other]] if files == 1 else [[one], [other]]
    paths = [categories_file(tmp_path / f"in{number}", *each) for number, each in enumerate(groups)]
    table = pa.concat_tables(pq.read_table(path) for path in paths)
    job = SortJob(
        inputs=tuple(paths),
        output=str(tmp_path / "out"),
        force=True,
        key=(key,),
        memory_bytes=1 << 30,
        temp_dirs=(str(tmp_path),),
    )
    if expected is None:
        with pytest.raises(BadInputError):
            sort_tables(job, Progress())
        assert not (tmp_path / "out").exists()
        if files == 2:  # pyarrow itself unites the dictionaries of one file
            with pytest.raises(BadInputError):
                sort_table(table, keys=key)
        return
    sort_tables(job, Progress())
    for made in (pq.read_table(job.output), *([sort_table(table, keys=key)] if files == 2 else [])):
        column = made.column("c")
        assert column.type.ordered and column.unify_dictionaries().chunk(0).dictionary.to_pylist() == expected
        assert sorted(column.to_pylist()) == sorted(one + other)
        if key == "c":
            assert column.to_pylist() == sorted(one + other, key=expected.index)


def arrow_file(path: Path, table: Any) -> Path:
    with pa.ipc.new_file(path, table.schema) as writer:
        writer.write_table(table)
    return path


@TWO_ORDERS
@pytest.mark.parametrize("key", ["k", "c:desc"])
def test_ordered_categories_of_arrow_files_keep_their_order(
    one: list[str], other: list[str], expected: list[str] | None, key: str, tmp_path: Path
) -> None:
    """Not all categories have rows, and those that have are not in order."""
    paths, output = [], tmp_path / "out.arrow"
    for number, names in enumerate((one, other)):
        last = pa.DictionaryArray.from_arrays(pa.array([len(names) - 1, 0], pa.int8()), names, ordered=True)
        paths.append(arrow_file(tmp_path / f"in{number}", pa.table({"c": last, "k": [number + 2, number]})))
    if expected is None:
        with pytest.raises(BadInputError, match="no common order"):
            planner.sort(paths, output, key=key)
        return
    planner.sort(paths, output, key=key)
    column = pa.ipc.open_file(output).read_all().column("c")
    assert column.type.ordered and column.chunk(0).dictionary.to_pylist() == expected
    values = [one[0], other[0], one[-1], other[-1]]
    assert column.to_pylist() == (values if key == "k" else sorted(values, key=expected.index, reverse=True))


def test_ordered_categories_of_arrow_files_are_texts(tmp_path: Path) -> None:
    numbers = pa.DictionaryArray.from_arrays(pa.array([0, 1, 2], pa.int8()), [30, 10, 20], ordered=True)
    path = arrow_file(tmp_path / "in", pa.table({"c": numbers}))
    with pytest.raises(BadInputError, match="no text"):
        planner.sort(path, tmp_path / "out.arrow", key="c")


def in_list(codes: Any) -> Any:
    return pa.ListArray.from_arrays(list(range(len(codes) + 1)), codes)


def in_struct(codes: Any) -> Any:
    return pa.StructArray.from_arrays([in_list(codes)], ["inner"])


@pytest.mark.parametrize("within", [in_list, in_struct])
@pytest.mark.parametrize(("other", "is_refused"), [(["low", "mid", "high"], True), (["low", "high"], False)])
def test_ordered_categories_within_values_get_no_invented_order(
    within: Callable[[Any], Any], other: list[str], is_refused: bool, tmp_path: Path
) -> None:
    paths = []
    for number, categories in enumerate((["low", "high"], other)):
        codes = pa.DictionaryArray.from_arrays(pa.array([0, 1], pa.int8()), categories, ordered=True)
        paths.append(tmp_path / f"in{number}")
        pq.write_table(pa.table({"k": [number + 2, number], "c": within(codes)}), paths[-1])
    table, output = pa.concat_tables(pq.read_table(path) for path in paths), tmp_path / "out"
    if is_refused:
        with pytest.raises(BadInputError, match="'c"):
            planner.sort(paths, output, format="parquet", key="k")
        with pytest.raises(BadInputError, match="'c"):
            sort_table(table, keys="k")
        assert not output.exists()
    else:
        planner.sort(paths, output, format="parquet", key="k")
        assert pq.read_table(output).equals(sort_table(table, keys="k"))
        assert pq.read_table(output).schema.field("c").type == table.schema.field("c").type
