"""Another job on the machines of an earlier one."""

from __future__ import annotations

from contextlib import nullcontext
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest
from approvals import Approve
from emulated_ec2 import QUICK, EmulatedEc2, choice, order
from emulated_machines import EmulatedMachines
from refusals import require
from rented_runs import PACE, RECORDS, run_words
from typer.testing import CliRunner

from planner.api.recommend import recommend
from planner.cli.app import build
from planner.clouds.order import ClusterOffer
from planner.clouds.protocol import Place
from planner.clusters.provisioning.cluster_lifecycle import ProviderSession, begin, down, up
from planner.clusters.provisioning.run_directory import RunDirectory
from planner.clusters.runs.cloud_task import CloudRun
from planner.clusters.runs.preparation import require_time
from planner.clusters.runs.reuse import EARLIER, catalog_type, run_another_job
from planner.errors import BadInputError
from planner.schemas.run_report import RunReport


@pytest.mark.soak
@pytest.mark.needs_root(why="machines are network namespaces")
def test_two_jobs_on_the_same_machines(ec2: EmulatedEc2, machines: EmulatedMachines, wheels: Path) -> None:
    """The first keeps them; the second sorts half as much, and takes them down."""
    first = ec2.planner(*run_words(wheels, "--keep"), policy=PACE, within_s=300)
    assert first.code == 0, first.text
    (run,) = ec2.runs()
    job = ("--data", f"{RECORDS * 50}B", "--model", "indy", "--memory", "500MB", "--wheelhouse", str(wheels))
    words = ("cluster", "run", run, *job, "--set", "screen-seconds=1,screen-size=20MB", "--take-down", "--yes")
    second = ec2.planner(*words, policy=PACE, within_s=300)
    assert second.code == 0, second.text
    directory = RunDirectory.open(run).path
    report = RunReport.from_json((directory / "report.json").read_text("utf-8"))
    assert report.passed and [check.records for check in report.checks] == [RECORDS // 2]
    assert (directory / EARLIER / "1" / "report.json").exists()
    assert ec2.left() == {}


def test_machines_that_end_too_soon_are_refused_or_warned_of(approve: Approve) -> None:
    plan = recommend(data="100GB", model="indy", instances=["i4i.large"], nodes=4).plan
    now, warnings = datetime(2026, 11, 23, tzinfo=UTC), list[str]()
    require_time(plan, expires_at=now + timedelta(hours=9), say=warnings.append, now=now)
    assert warnings == []
    require_time(plan, expires_at=now + timedelta(minutes=30), say=warnings.append, now=now)
    approve(warnings[0])
    assert "95 of 100" in warnings[0]
    most_s = plan.candidates[0].time_s.expected + sum(plan.candidates[0].overheads_s.values())
    require_time(plan, expires_at=now + timedelta(seconds=most_s - 1), say=str, now=now, booted=True)
    with pytest.raises(BadInputError, match="expected to take"):
        require_time(plan, expires_at=now + timedelta(seconds=most_s - 1), say=str, now=now)
    with pytest.raises(BadInputError, match="expected to take"):
        require_time(plan, expires_at=now + timedelta(minutes=1), say=warnings.append, now=now)


def test_the_catalogs_name_of_rented_machines() -> None:
    assert catalog_type("aws", choice()) == "i4i.large"
    added = choice(instance_type="n2-standard-4", local_disks=2)
    assert catalog_type("gcp", added) == "n2-standard-4+2x375GB"
    with pytest.raises(BadInputError, match="no n2-standard-4 with 3 disks"):
        catalog_type("gcp", choice(instance_type="n2-standard-4", local_disks=3))


def test_only_what_ran_can_be_used_again(ec2: EmulatedEc2) -> None:
    for words in (("cluster", "run", "r1"), ("run", "--on", "r1")):
        ended = ec2.planner(*words, "--data", "1GB", "--model", "indy")
        assert ended.code == 2 and "no run r1" in ended.text


@pytest.mark.parametrize(
    "words", ["--cloud aws", "--nodes 3", "--subnet s", "--pricing spot", "--dir x", "--rate 1Gbit", "--keep"]
)
def test_what_says_nothing_about_machines_that_are_there_is_refused(words: str) -> None:
    ended = CliRunner().invoke(build(), ["run", "--on", "r1", "--data", "1GB", *words.split()])
    require(ended.exception, "not-applicable", "run r1", field=words.split(maxsplit=1)[0])


@pytest.mark.parametrize(
    "words", ["--subnet s", "--pricing spot", "--no-public-address", "--jump b", "--reservation r"]
)
def test_options_of_rented_machines_are_not_ignored_here(words: str) -> None:
    """They used to be ignored, so that a run on this machine looked as if it had used them."""
    ended = CliRunner().invoke(build(), ["run", "--data", "1GB", *words.split()])
    require(ended.exception, "not-applicable", "this machine", field=words.split(maxsplit=1)[0])


def test_a_cluster_that_lost_a_node_is_planned_for_those_that_are_left(ec2: EmulatedEc2, approve: Approve) -> None:
    """It used to be refused permanently, and a cluster in a region without shipped prices could not be planned for."""
    told: list[str] = []
    session = ProviderSession(provider=ec2.provider(), policy=QUICK, say=told.append)
    asked = choice(nodes=3, spares=0, regions=("us-east-1", "us-west-2"))
    keyed, directory = begin(order("fewer", asked))
    cluster = up(keyed, [Place(choice=asked, region="us-west-2", zone="us-west-2a")], directory, session)
    session.provider.terminate(cluster.nodes[-1:])
    seen: list[tuple[ClusterOffer, str]] = []

    def task_for(of: ClusterOffer, region: str) -> CloudRun:
        seen.append((of, region))
        raise BadInputError("that is enough")

    with pytest.raises(BadInputError, match="that is enough"):
        run_another_job(directory, session, task_for=task_for, listening=lambda: nullcontext(lambda _: None))
    (left, region) = seen[0]
    assert (left.nodes, left.machines, region) == (2, 2, "us-east-1")
    assert left.usd_per_hour == pytest.approx(asked.usd_per_hour * 2 / 3)
    approve(told)
    down(directory, session)
    assert ec2.left() == {}
