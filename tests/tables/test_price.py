"""The price of a rewrite: what it touches, where, and when known queries have paid for it."""

from __future__ import annotations

from functools import partial
from pathlib import Path

import pyarrow as pa
import pytest
from refusals import refused

import planner
from planner.api.tables.price import price_of
from planner.errors import BadInputError
from planner.tables.layout import DataFile, Group, Snapshot
from planner.tables.queries import Query, read_queries, scanned
from tests.tables.made_tables import make, rows


def table_of(ends: list[tuple[int, int]], size: int = 100) -> tuple[list[DataFile], Group]:
    files = [DataFile(path=str(n), bytes=size, rows=9, bounds={"k": each}) for n, each in enumerate(ends)]
    return files, Group(id="g", files=tuple(files), depth=len(files), reason="overlap", keys=("k",))


def test_a_query_by_the_key_reads_its_share_after_the_sort() -> None:
    files, group = table_of([(0, 100)] * 10)
    found = scanned(files, [group], ["k"], [Query(column="k", low="0", high="10", per_day=3)], target_bytes=100)
    assert found.before_bytes == 3 * 1000
    assert found.after_bytes == pytest.approx(3 * (100 + 100))


def test_queries_by_other_columns_and_of_sorted_files_save_nothing() -> None:
    files, group = table_of([(0, 10), (10, 20)])
    by_key = Query(column="k", low="12", high=None, per_day=1)
    assert scanned(files, [], ["k"], [by_key], target_bytes=10).saved_bytes == 0
    assert scanned(files, [group], ["x"], [by_key], target_bytes=10).saved_bytes == 0
    other = scanned(files, [group], ["k"], [Query(column="x", low="1", high="2", per_day=1)], target_bytes=10)
    assert (other.unknown, other.before_bytes) == (1, 0)


def test_queries_are_read_from_csv_and_json_lines(tmp_path: Path) -> None:
    (tmp_path / "a.csv").write_text("column,low,high,count\nat,2026-01-01,,40\n")
    (tmp_path / "a.jsonl").write_text('{"column": "at", "low": "2026-01-01", "count": 40}\n')
    expected = [Query(column="at", low="2026-01-01", high=None, per_day=40)]
    assert read_queries(tmp_path / "a.csv") == read_queries(tmp_path / "a.jsonl") == expected


@pytest.mark.parametrize(
    "text", ["", "column,low\n,3\n", "column,count\na,-1\n", "{", '{"low": 1}\n', "column,count\na,x\n"]
)
def test_a_log_that_is_none_is_refused(text: str, tmp_path: Path) -> None:
    (tmp_path / "log").write_text(text)
    with pytest.raises(BadInputError, match="--queries"):
        read_queries(tmp_path / "log")


def test_a_price_names_places_and_a_verdict(tmp_path: Path) -> None:
    made = make("delta", tmp_path, [rows(seed, 900) for seed in range(3)], by=None)
    log = tmp_path / "log.csv"
    log.write_text("column,low,high,count\nat,2026-01-01,2026-01-02,1e9\n")
    price = made.open().price(sort_by="at", queries=log, target_file_bytes=40_000)
    assert (price.groups, price.files, price.depth) == (1, 3, 3)
    assert price.read_bytes == price.table_bytes == sum(file.bytes for file in made.open().files)
    assert [place.name for place in price.places] == ["here", "one machine", "cluster"]
    assert all(place.seconds and place.seconds_range for place in price.places)
    assert all(low <= place.seconds <= high for place in price.places for low, high in [place.seconds_range])
    assert price.is_worth_it and price.days_to_pay
    log.write_text("column,low,high,count\nat,2026-01-01,2026-01-02,1\n")
    rare = made.open().price(sort_by="at", queries=log, target_file_bytes=40_000)
    assert rare.is_worth_it is False and "not worth it" in rare.verdict


def test_a_sorted_table_is_not_worth_a_rewrite(tmp_path: Path) -> None:
    made = make("delta", tmp_path, [rows(1, 500)], by=None)
    price = planner.table(made.location).price(sort_by="id")
    assert (price.groups, price.places, price.is_worth_it) == (0, (), False)


def test_a_budget_is_kept(tmp_path: Path) -> None:
    """What a machine costs to start makes part of the data cost more than its share."""
    groups = [table_of([(0, 9)] * 2, size=50_000_000_000)[1]] * 10
    files = tuple(file for group in groups for file in group.files)
    schema = pa.schema([("k", pa.int64())])
    snapshot = Snapshot(kind="delta", location=str(tmp_path), version="0", files=files, schema=schema)
    asked = partial(price_of, snapshot, groups, ["k"], target_bytes=10**9, queries=None, usd_per_tb=5.0, is_cut=False)
    whole = asked(budget_usd=None).places[1].usd or 0.0
    taken = []
    for share in (1.0, 0.9, 0.5, 0.3):
        price = asked(budget_usd=share * whole)
        taken.append(price.groups)
        assert all((place.usd or 0.0) <= share * whole for place in price.places if place.name == "one machine")
    assert taken[0] == 10 > taken[1] >= taken[2] > 0 and taken == sorted(taken, reverse=True)


def test_queries_of_columns_that_do_not_exist_are_refused(tmp_path: Path) -> None:
    made, log = make("delta", tmp_path, [rows(seed, 300) for seed in range(3)], by=None), tmp_path / "log.csv"
    log.write_text("column,low,high,count\natt,2026-01-01,,1\nnested.x,1,2,1\n")
    with refused("unknown-column", "no column att", "Did you mean at?", field="queries"):
        made.open().price(sort_by="at", queries=log)
