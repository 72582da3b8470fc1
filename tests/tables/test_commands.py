"""`planner table` and its commands, on this machine and in a store."""

from __future__ import annotations

import json
import os
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest
from deltalake import DeltaTable, write_deltalake
from typer.testing import CliRunner

from planner.cli.app import build
from tests.tables.made_tables import Made, make, rows

pytest_plugins = ["store_fixtures"]


def run(*words: str, code: int = 0) -> str:
    done = CliRunner().invoke(build(), ["table", *words])
    found = getattr(done.exception, "exit_code", done.exit_code)
    assert found == code, f"{done.output}{done.exception!r}"
    return done.stdout


def values(*words: str, code: int = 0) -> Mapping[str, Any]:
    found: Mapping[str, Any] = json.loads(run(*words, "--json", code=code))
    return found


@pytest.fixture
def made(tmp_path: Path) -> Made:
    return make("delta", tmp_path, [rows(seed, 300) for seed in range(3)])


def test_a_look_needs_no_name_and_has_depth_ranges_and_json(made: Made) -> None:
    text = run(made.location, "--sort-by", "id")
    assert text == run("look", made.location, "--sort-by", "id")
    assert "Delta table, version 2: 9 files, 900 rows" in text
    assert "one key can be in 3 files" in text and "Key ranges of the files of region=" in text and "|---" in text
    asked = f"planner table price {made.location} --sort-by id"
    assert " ".join(text.split()).endswith(f"{asked} says what a sorted rewrite costs.")
    found = values(made.location, "--sort-by", "day")
    assert (found["depth"], found["overlap_by"], len(found["partitions"])) == (3, ["day"], 3)
    assert {part["small_files"] for part in found["partitions"]} == {3}


def test_a_price_takes_its_options(made: Made, tmp_path: Path) -> None:
    (tmp_path / "day.csv").write_text("column,low,high,count\nday,2026-01-02,2026-01-03,100\n")
    words = ("price", made.location, "--sort-by", "day", "--queries", str(tmp_path / "day.csv"))
    assert "one machine" in run(*words) and "1 query a day" in run(*words)
    whole = values(*words, "--usd-per-tb", "10")
    cheap = values(*words, "--usd-per-tb", "5")
    assert whole["saved_usd_per_day"] == pytest.approx(2 * cheap["saved_usd_per_day"])
    assert values(*words, "--where", "region=eu")["groups"] == 1
    assert values(*words, "--budget", "0")["groups"] == 0
    assert values(*words, "--max-bytes", "1B")["groups"] == 0
    assert values(*words, "--target-file-size", "1B")["groups"] == 3


def test_a_sort_takes_its_options_and_a_check_sees_the_result(made: Made, tmp_path: Path) -> None:
    (tmp_path / "scratch").mkdir()
    assert "depth" in values("check", made.location, "--sort-by", "id", code=5)
    words = ("--memory", "340MiB", "--threads", "1", "--temp-dir", str(tmp_path / "scratch"))
    assert values("sort", made.location, "--sort-by", "id", "--max-bytes", "1B", *words)["groups"] == []
    part = values("sort", made.location, "--sort-by", "id", "--where", "region=eu", "--target-file-size", "4kB", *words)
    assert [group["partition"] for group in part["groups"]] == ["region=eu"]
    assert part["groups"][0]["files_after"] > 1
    assert values("check", made.location, "--sort-by", "id", "--where", "region=eu")["sorted"]
    assert "checksums of all columns agree" in run("sort", made.location, "--sort-by", "id", *words)
    assert "nothing was written" in run("sort", made.location, *words)
    assert values("check", made.location) | {"version": 3} == {
        "version": 3, "sort_by": ["id"], "sorted": True, "depth": 1, "overlapping_files": 0, "files_without_bounds": 0,
        "unsorted_file": None, "unsorted_row": None,
    }  # fmt: skip
    assert not list((tmp_path / "scratch").iterdir())


def test_files_that_overlap_none_are_sorted_when_asked(tmp_path: Path) -> None:
    made = make("delta", tmp_path, [rows(1, 300)], by=None)
    assert values("sort", made.location, "--sort-by", "id")["groups"] == []
    assert values("check", made.location, "--sort-by", "id", code=5)["unsorted_row"]
    assert values("sort", made.location, "--sort-by", "id", "--every-file")["groups"][0]["reason"] == "unsorted"
    assert values("check", made.location, "--sort-by", "id")["sorted"]


def test_a_table_of_a_catalog_goes_by_its_name(tmp_path: Path) -> None:
    made = make("iceberg", tmp_path, [rows(seed, 200) for seed in range(3)])
    of_catalog = [
        f"--catalog={key}={value}" if key != "name" else f"--catalog={value}"
        for key, value in made.options["catalog"].items()
    ]
    before = made.library_rows()
    assert values("shop.orders", "--sort-by", "id", *of_catalog)["depth"] == 3
    assert values("price", "shop.orders", "--sort-by", "id", *of_catalog)["groups"] == 3
    run("sort", "shop.orders", "--sort-by", "id", *of_catalog)
    assert values("check", "shop.orders", "--sort-by", "id", *of_catalog)["sorted"]
    assert made.library_rows() == before


def test_tables_in_s3_are_sorted_there(bucket: str, tmp_path: Path) -> None:
    location = f"{bucket}/events"
    for seed in range(3):
        write_deltalake(location, rows(seed, 200).drop_columns("pairs"), mode="append", partition_by=["region"])
    storage = [f"--storage={key}={os.environ[key]}" for key in ("AWS_ENDPOINT_URL", "AWS_ALLOW_HTTP")]
    before = sorted(DeltaTable(location).to_pyarrow_table()["id"].to_pylist(), key=repr)
    assert values(location, "--sort-by", "id", *storage)["depth"] == 3
    run("sort", location, "--sort-by", "id", *storage)
    assert values("check", location, "--sort-by", "id", *storage)["sorted"]
    assert values("price", location, "--sort-by", "id", *storage)["groups"] == 0
    assert sorted(DeltaTable(location).to_pyarrow_table()["id"].to_pylist(), key=repr) == before


def test_an_iceberg_table_in_s3_is_sorted_there(bucket: str, tmp_path: Path) -> None:
    from pyiceberg.catalog import load_catalog

    store = {
        "s3.endpoint": os.environ["AWS_ENDPOINT_URL"],
        "s3.access-key-id": "a",
        "s3.secret-access-key": "b",
        "s3.region": "us-east-1",
    }
    properties = {"name": "far", "uri": f"sqlite:///{tmp_path}/far.db", "warehouse": bucket, **store}
    catalog = load_catalog(**properties)
    catalog.create_namespace("shop")
    table = catalog.create_table("shop.orders", schema=rows(0, 1).schema)
    for seed in range(3):
        table.append(rows(seed, 200))
    made = Made("iceberg", "shop.orders", {"catalog": properties})
    before, opened = made.library_rows(), made.open()
    opened.sort(sort_by="id")
    assert opened.check(sort_by="id").is_sorted
    assert made.library_rows() == before


def test_a_folder_in_s3_is_looked_at_and_not_rewritten(bucket: str) -> None:
    import pyarrow.fs
    import pyarrow.parquet as pq

    files, root = pyarrow.fs.FileSystem.from_uri(f"{bucket}/plain")
    for seed in range(2):
        with files.open_output_stream(f"{root}/{seed}.parquet") as file:
            pq.write_table(rows(seed, 100), file)
    assert values(f"{bucket}/plain", "--sort-by", "id")["depth"] == 2
    done = CliRunner().invoke(build(), ["table", "sort", f"{bucket}/plain", "--sort-by", "id"])
    assert "Delta or Iceberg" in str(done.exception)
