"""`planner cluster` with nothing rented: the output of a dry run, and an empty status."""

from __future__ import annotations

import json
import os
import re
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest
from approvals import Approve
from emulated_ec2 import choice, order
from refusals import refused
from typer.testing import CliRunner

from planner.cli.app import build
from planner.clusters.provisioning.run_directory import JOURNAL, RunDirectory
from planner.errors import ProviderRefusedError

UP = [
    "cluster",
    "up",
    "--data",
    "30TB",
    "--model",
    "daytona",
    "--instance",
    "i8g.8xlarge",
    "--nodes",
    "20",
    "--max-hours",
    "2h",
    "--dry-run",
]


@pytest.fixture(autouse=True)
def _without_an_account(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Remove all credentials, the developer's or another test's: with any, a dry run asks the cloud."""
    for name in [name for name in os.environ if name.startswith("AWS_")]:
        monkeypatch.delenv(name)
    monkeypatch.setenv("AWS_EC2_METADATA_DISABLED", "true")
    monkeypatch.setenv("HOME", str(tmp_path))


def printed(*words: str) -> str:
    done = CliRunner().invoke(build(), list(words), env={"COLUMNS": "80"})
    assert done.exit_code == 0, done.output
    return done.stdout


def test_a_dry_run_begins_with_the_decision_and_ends_there(approve: Approve) -> None:
    text = printed(*UP)
    lines = re.sub(r"\n  ", " ", text).splitlines()
    approve(lines[0])
    # 20 machines at $2.7456, root volumes at $2.40 a month, an address at $0.005: $54.984 an hour, $109.968
    # in the 2 h of --max-hours, less the time taken by planning
    assert lines[1].endswith("at $54.98 per hour") and lines[3].startswith("cap: $109.")
    assert lines[2].startswith("of it: sort $") and "root volumes, head $" in lines[2]
    approve(lines[4])
    approve(lines[5])
    assert "1 vpc" in lines[6] and "20 instances" in lines[6]
    assert len(lines) == 8 and max(map(len, text.splitlines())) <= 80


def test_an_address_that_was_given_is_no_placeholder() -> None:
    text = printed(*UP, "--ssh-from", "198.51.100.0/24")
    assert "198.51.100.0/24 alone" in text and "placeholder" not in text


def test_verbose_adds_the_requests() -> None:
    short, long = printed(*UP), printed(*UP, "--verbose")
    number = int(re.search(r"(\d+)\s+requests", short)[1])  # type: ignore[index]
    assert long.splitlines()[0] == short.splitlines()[0] and f"\n {number} ec2 us-east-1 " in long


def test_the_planned_bandwidth_weighting_is_in_the_requests() -> None:
    words = ["--data", "1TB", "--model", "cloudsort", "--instance", "m8g.4xlarge", "--nodes", "10"]
    text = printed("cluster", "up", "--cloud", "aws", *words, "--dry-run", "--verbose")
    assert text.count("NetworkPerformanceOptions = {'BandwidthWeighting': 'ebs-1'}") == 2, "nodes and head"


def test_a_dry_run_refuses_volumes_that_azure_makes_apart() -> None:
    """A Premium SSD v2 has its own throughput, which can only be requested for a disk made before its machine."""
    words = ["cluster", "up", "--cloud", "azure", "--data", "1TB", "--model", "cloudsort", "--dry-run"]
    with refused("storage-unfit", "premium-ssd-v2", kind=ProviderRefusedError):
        CliRunner().invoke(build(), words, catch_exceptions=False, standalone_mode=False)


def test_status_without_a_run_says_so(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path))
    monkeypatch.setenv("XDG_DATA_HOME", str(tmp_path))
    assert printed("cluster", "status").startswith("No runs: ")
    assert json.loads(printed("cluster", "status", "--json")) == {"version": 3, "runs": []}


def test_status_shows_the_month_beside_its_limit(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PLANNER_RUNS", str(tmp_path / "runs"))
    monkeypatch.setenv("PLANNER_SETTINGS", str(tmp_path / "settings.toml"))
    RunDirectory.create(order("r1", choice())).note("commitment", usd=7.5)
    assert "This month: $7.50, with what runs may still spend; no --max-cost-per-month is set" in printed(
        "cluster", "status"
    )
    (tmp_path / "settings.toml").write_text("[limits]\nmax_cost_per_month = 100\n")
    assert json.loads(printed("cluster", "status", "--json"))["month"] == {"usd": 7.5, "limit_usd": 100}


def test_a_run_ended_days_ago_is_not_up(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The journal's last word is "up", as nobody took it down: the clock knows better."""
    monkeypatch.setenv("PLANNER_RUNS", str(tmp_path / "runs"))
    began, now = datetime.now(UTC) - timedelta(days=10), datetime.now(UTC)
    for name, expires_at in (("gone", began + timedelta(hours=1)), ("there", now + timedelta(hours=1))):
        directory = RunDirectory.create(order(name, choice(), expires_at=expires_at))
        directory.note("place", node_usd_per_hour=0.5)
        directory.note("made", kind="instance", id="i-1", name="head")
        directory.note("up")
        path = directory.path / JOURNAL
        path.write_text(re.sub(r'"at": "[^"]+"', f'"at": "{began.isoformat()}"', path.read_text("utf-8")), "utf-8")
    text = " ".join(printed("cluster", "status").split())
    assert "gone aws ended $0.50 for 1.00 node-hours, its machines have ended" in text
    assert "the rest: planner cluster down gone" in text and "there aws up" in text


def test_a_run_that_cannot_be_read_hides_no_other(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, approve: Approve
) -> None:
    """A journal cut before the order was complete, or of another version, used to keep every run from being listed."""
    monkeypatch.setenv("PLANNER_RUNS", str(tmp_path / "runs"))
    RunDirectory.create(order("r1", choice()))
    cut, newer = (RunDirectory.create(order(name, choice())) for name in ("r2", "r3"))
    (cut.path / JOURNAL).write_text('{"at": "2026-11-23T12:00:00+00:00", "what": "ord')
    newer.note("order", **order("r3", choice()).to_dict(), colour="blue")
    done = CliRunner().invoke(build(), ["cluster", "status"])
    assert done.exit_code == 0 and done.stdout.startswith("r1  aws  planned")
    assert "run r2 left out: " in done.stderr and "run r3 left out: " in done.stderr
    approve(done.stderr)
