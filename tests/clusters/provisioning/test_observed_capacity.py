"""A cloud's capacity as observed in the journals of earlier runs."""

from __future__ import annotations

from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest
from typer.testing import CliRunner

from planner.cli.app import build
from planner.clouds.order import Order
from planner.clusters.provisioning.observed_capacity import SEEN_DAYS, observed_limits
from planner.clusters.provisioning.run_directory import JOURNAL, RunDirectory
from planner.schemas.plan import NodeLimit, Plan

Note = Callable[..., RunDirectory]


@pytest.fixture
def journal(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Note:
    """Return the start of a run's journal in a separate directory."""
    monkeypatch.setenv("PLANNER_RUNS", str(tmp_path))

    def begin(run: str) -> RunDirectory:
        order = Order(
            run=run,
            owner="me",
            cloud="aws",
            expires_at=datetime.now(UTC),
            choices=(),
            ssh_from="192.0.2.1/32",
            ssh_public_key="",
        )
        return RunDirectory.create(order)

    return begin


def refuse(directory: RunDirectory, machines: int, *, capacity: bool = True) -> None:
    place = {"region": "us-east-1", "instance_type": "i4i.8xlarge"}
    directory.note("refused", place="there", why="none left", capacity=capacity, machines=machines, **place)


def refused_on(directory: RunDirectory) -> str:
    (day,) = {f"{event.at:%Y-%m-%d}" for event in directory.events() if event.what == "refused"}
    return day


def give(directory: RunDirectory, machines: int) -> None:
    names = [f"i-{number}" for number in range(machines)]
    directory.note("up", nodes=names, region="us-east-1", instance_type="i4i.8xlarge")


def test_fewer_than_the_least_that_was_refused(journal: Note) -> None:
    refuse(journal("r1"), 80)
    least = journal("r2")
    refuse(least, 60)
    refuse(journal("r3"), 70)
    (limit,) = observed_limits()
    assert (limit.nodes, limit.cloud, limit.instance, limit.region) == (59, "aws", "i4i.8xlarge", "us-east-1")
    assert limit.note == f"60 were refused on {refused_on(least)}"


@pytest.mark.parametrize(("given", "limited"), [(60, False), (59, True)])
def test_what_was_given_since_counts(journal: Note, given: int, limited: bool) -> None:
    refuse(journal("r1"), 60)
    give(journal("r2"), given)
    assert bool(observed_limits()) == limited


def test_what_is_no_lack_of_capacity_or_long_ago_says_nothing(journal: Note) -> None:
    refuse(journal("r1"), 60, capacity=False)
    assert observed_limits() == []
    refuse(journal("r2"), 60)
    assert observed_limits(now=datetime.now(UTC) + timedelta(days=SEEN_DAYS, minutes=5)) == []


def test_a_journal_that_cannot_be_read_is_passed_over(journal: Note, tmp_path: Path) -> None:
    refuse(journal("r1"), 60)
    (tmp_path / "r0").mkdir()
    (tmp_path / "r0" / JOURNAL).write_text("not json\n")
    assert len(observed_limits()) == 1


def test_plans_keep_to_it_and_say_so_and_may_be_told_better(journal: Note) -> None:
    full = journal("r1")
    refuse(full, 9)
    asked = ["plan", "--data", "100TB", "--model", "indy", "--instance", "i4i.8xlarge", "--objective", "time"]
    told = CliRunner().invoke(build(), [*asked, "--max-nodes", "100", "--json", "--set", "capacity=i4i.*=50"])
    best = Plan.from_json(told.stdout).best
    assert best is not None
    assert best.nodes + best.spares <= 50
    seen = CliRunner().invoke(build(), [*asked, "--json"])
    plan = Plan.from_json(seen.stdout)
    assert plan.best is None
    note = f"9 were refused on {refused_on(full)}"
    assert plan.request.node_limits == (
        NodeLimit(nodes=8, cloud="aws", instance="i4i.8xlarge", region="us-east-1", note=note),
    )
    assert any("at most 8 x i4i.8xlarge in us-east-1" in warning for warning in plan.warnings)
