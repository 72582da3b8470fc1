"""A sorted rewrite keeps every row of random tables, for every reader, and leaves the versions before it."""

from __future__ import annotations

import math
import random
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from pyiceberg.table.sorting import NullOrder

from tests.tables.made_tables import FORMATS, KEYS, SMALL, Made, make, rows

LEAST = 340 << 20


def random_table(seed: int, kind: str, folder: Path) -> Made:
    """Return a table of some appends, of which the later may have a further column, perhaps with deletes."""
    of = random.Random(seed)
    count = of.randrange(2, 6)
    evolves = of.randrange(count) if of.random() < 0.5 else count
    tables = [rows(seed * 100 + i, of.choice([0, 1, 700, 1500]) or 1, evolved=i > evolves) for i in range(count)]
    made = make(kind, folder, tables, by=of.choice(["region", None]))
    if kind != "parquet" and of.random() < 0.4:
        made.delete("id > 0" if of.random() < 0.5 else "flag = true")
    return made


def require_sorted_and_same(made: Made, key: str) -> None:
    before, by_duckdb = made.library_rows(), made.duckdb_rows()
    opened = made.open()
    version = opened.snapshot.version
    done = opened.sort(sort_by=key, memory_bytes=LEAST, target_file_bytes=SMALL, every_file=True)
    assert made.library_rows() == before
    assert made.duckdb_rows() == by_duckdb
    again = made.open()
    assert again.check(sort_by=key).is_sorted
    assert {group.reason for group in again.groups(key, target_bytes=SMALL)} <= {"small"}  # ends of two groups
    assert sum(group.rows for group in done.groups) <= len(before)
    again.sort(sort_by=key, memory_bytes=LEAST, target_file_bytes=SMALL)
    assert again.groups(key, target_bytes=SMALL) == []
    assert made.library_rows() == before
    if made.kind != "parquet":
        assert made.library_rows(version) == before


@pytest.mark.parametrize("kind", FORMATS)
@pytest.mark.parametrize("seed", range(3))
def test_random_tables_keep_their_rows_and_are_sorted(kind: str, seed: int, tmp_path: Path) -> None:
    made = random_table(seed, kind, tmp_path)
    require_sorted_and_same(made, random.Random(seed).choice(KEYS))


@pytest.mark.soak
@pytest.mark.parametrize("kind", FORMATS)
@pytest.mark.parametrize("seed", range(100, 170))
def test_many_random_tables_keep_their_rows_and_are_sorted(kind: str, seed: int, tmp_path: Path) -> None:
    made = random_table(seed, kind, tmp_path)
    for key in random.Random(seed).sample(KEYS, 2):
        require_sorted_and_same(made, key)


@pytest.mark.parametrize("kind", FORMATS)
@pytest.mark.parametrize("key", ["amount:desc", "amount", "day:desc,id"])
def test_numbers_that_metadata_does_not_tell_are_sorted_among_files(kind: str, key: str, tmp_path: Path) -> None:
    """NaN comes after what is infinite: no statistics have the one, and those of Delta neither."""
    many, one = rows(1, 300), rows(2, 1)
    place = many.schema.names.index("amount")
    amounts = [math.nan, *(float(number) for number in range(299))]
    many = many.set_column(place, "amount", pa.array(amounts, many.schema.field(place).type))
    one = one.set_column(place, "amount", pa.array([math.inf], many.schema.field(place).type))
    require_sorted_and_same(make(kind, tmp_path, [many, one], by=None), key)


@pytest.mark.parametrize("kind", FORMATS)
def test_new_files_have_page_indexes_statistics_and_their_order(kind: str, tmp_path: Path) -> None:
    made = make(kind, tmp_path, [rows(seed, 900) for seed in range(3)], by=None)
    made.open().sort(sort_by="at:desc", memory_bytes=LEAST, target_file_bytes=SMALL)
    for path in tmp_path.rglob("part-*-????????????????.parquet"):
        footer = pq.read_metadata(path)
        column = footer.row_group(0).column(footer.schema.names.index("at"))
        assert column.has_offset_index and column.has_column_index and column.statistics.has_min_max
        assert footer.row_group(0).sorting_columns[0].descending


def test_field_ids_and_the_declared_order_of_iceberg_are_kept(tmp_path: Path) -> None:
    made = make("iceberg", tmp_path, [rows(seed, 900) for seed in range(3)])
    with made.iceberg().update_sort_order() as order:
        order.desc("at", transform_of("identity"), NullOrder.NULLS_FIRST)
    had = {path: ids_of(path) for path in tmp_path.rglob("*.parquet")}
    opened = made.open()
    assert opened.snapshot.order == ("at:desc:first",)
    opened.sort(memory_bytes=LEAST, target_file_bytes=SMALL)
    new = [task.file for task in made.iceberg().scan().plan_files()]
    assert {file.sort_order_id for file in new} == {made.iceberg().sort_order().order_id}
    assert {ids_of(Path(file.file_path.removeprefix("file://"))) for file in new} == set(had.values())
    assert made.iceberg().current_snapshot().summary.operation.value == "replace"


def transform_of(name: str) -> object:
    from pyiceberg.transforms import parse_transform

    return parse_transform(name)


def ids_of(path: Path) -> str:
    schema = pq.read_schema(path)
    return str([(field.name, field.metadata, str(field.type)) for field in schema])


def test_only_the_named_partition_is_rewritten(tmp_path: Path) -> None:
    made = make("delta", tmp_path, [rows(seed, 600) for seed in range(3)])
    before = {file.path for file in made.open().files if file.place != "region=eu"}
    done = made.open().sort(sort_by="id", where="region=eu", memory_bytes=LEAST)
    assert [group.partition for group in done.groups] == ["region=eu"]
    assert before <= {file.path for file in made.open().files}


def test_a_limit_of_bytes_is_kept_and_a_later_call_does_the_rest(tmp_path: Path) -> None:
    made = make("delta", tmp_path, [rows(seed, 900) for seed in range(6)], by=None)
    opened = made.open()
    limit = opened.bytes // 2
    first = opened.sort(sort_by="id", max_bytes=limit, memory_bytes=LEAST, target_file_bytes=SMALL)
    assert sum(group.bytes_before for group in first.groups) <= limit
    assert 1 < opened.overlap_by("id").depth <= 6
    opened.sort(sort_by="id", memory_bytes=LEAST, target_file_bytes=SMALL)
    assert opened.overlap_by("id").depth == 1


def test_small_neighbours_become_one_file(tmp_path: Path) -> None:
    tables = [rows(1, 3000).sort_by("id").slice(i * 300, 300) for i in range(9)]  # the nulls, at the end, left out
    made = make("delta", tmp_path, tables, by=None)
    (group,) = made.open().sort(sort_by="id", memory_bytes=LEAST).groups
    assert (group.reason, group.files_before, group.files_after) == ("small", 9, 1)
