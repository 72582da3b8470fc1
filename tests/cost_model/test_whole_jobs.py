"""Whole jobs from store to store as bounds of rates: Exoshuffle's on S3, predicted with and without themselves."""

from __future__ import annotations

import csv
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from approvals import Approve

from planner.api.recommend import recommend
from planner.catalog import load_catalog
from planner.schemas.plan import Candidate

RECORD = {"data": "100TB", "nodes": 40, "instances": ["i4i.4xlarge"]}
"""Exoshuffle-CloudSort: 5,378 s."""


def on(catalog: str, **asked: Any) -> Candidate:
    asked = {"model": "object-store", "engine": "ideal", "head_room": 0.0, **asked}
    best = recommend(catalogs=[catalog], **asked).best
    assert best is not None
    return best


@pytest.fixture
def without(tmp_path: Path) -> Callable[..., str]:
    """Return the path of a copy of the catalog of EC2 without some rows of whole jobs."""

    def copy(*jobs: tuple[str, int]) -> str:
        shutil.copytree(load_catalog("aws").path, tmp_path / "less")
        file = tmp_path / "less" / "object_store_rates.csv"
        rows = list(csv.DictReader(file.read_text().splitlines()))
        kept = [row for row in rows if (row["instance_type"], int(row["nodes"])) not in jobs]
        assert len(rows) - len(kept) == len(jobs)
        with file.open("w", newline="") as out:
            writer = csv.DictWriter(out, list(rows[0]))
            writer.writeheader()
            writer.writerows(kept)
        return str(tmp_path / "less")

    return copy


@pytest.mark.parametrize("engine", ["ideal", "ray"])
def test_the_record_is_foreseen(engine: str, approve: Approve) -> None:
    """By stated rates alone it would take 1.7 to 1.8 times its measured time."""
    best = on("aws", engine=engine, **RECORD)
    assert best.time_s.equation == pytest.approx(5378, rel=0.01)
    assert best.time_s.expected == pytest.approx(5378, rel=0.15)
    approve(best.warnings)


def test_the_record_is_foreseen_from_the_other_job_alone(without: Callable[..., str]) -> None:
    """2 TB on 10 nodes show the type's rate for 100 TB on 40."""
    best = on(without(("i4i.4xlarge", 40)), **RECORD)
    assert best.time_s.expected == pytest.approx(5378, rel=0.15)


@pytest.mark.parametrize(
    ("data", "nodes", "ran_s"), [("8TB", 40, 458), ("4TB", 20, 418), ("8TB", 10, 1550)], ids=["40", "20", "10"]
)
def test_jobs_that_are_not_in_the_catalog_are_foreseen(data: str, nodes: int, ran_s: float) -> None:
    best = on("aws", data=data, nodes=nodes, instances=["i4i.4xlarge"])
    assert best.time_s.expected == pytest.approx(ran_s, rel=0.15)


def test_without_any_job_the_stated_rates_count(without: Callable[..., str]) -> None:
    bare = without(("i4i.4xlarge", 40), ("i4i.4xlarge", 10))
    assert on(bare, **RECORD).time_s.expected > 1.5 * 5378


def test_a_slower_job_lowers_nothing(without: Callable[..., str]) -> None:
    """20 TB on 40 x i4i.2xlarge took longer than the equations: its software may have been slow."""
    asked: dict[str, Any] = {"data": "20TB", "nodes": 40, "instances": ["i4i.2xlarge"]}
    assert on("aws", **asked).time_s == on(without(("i4i.2xlarge", 40)), **asked).time_s


@pytest.mark.parametrize(
    "asked", [{"model": "daytona"}, {"assume": {"network": 1.171875e9}}, {"paper": True}, {"network": "ideal"}], ids=str
)
def test_other_models_and_own_assumptions_know_no_whole_jobs(without: Callable[..., str], asked: Any) -> None:
    asked = {**RECORD, "data": "10TB", **asked}
    bare = without(("i4i.4xlarge", 40), ("i4i.4xlarge", 10))
    assert on("aws", **asked).time_s == on(bare, **asked).time_s


def test_a_what_if_starts_from_what_was_seen() -> None:
    as_is, all_faster = (on("aws", **RECORD, scale=scale) for scale in ({}, {"network": 2, "objects": 2}))
    assert all_faster.time_s.equation == pytest.approx(as_is.time_s.equation / 2, rel=0.01)
