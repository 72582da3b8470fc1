"""Stored files are listed, and cleared only where nothing is lost."""

from __future__ import annotations

import json
import os
from pathlib import Path

import pytest
from emulated_ec2 import choice, order
from refusals import refused
from typer.testing import CliRunner

from planner.api import stored
from planner.cli.app import build
from planner.clouds.protocol import Resource
from planner.clusters.provisioning.run_directory import JOURNAL, RunDirectory, known_runs
from planner.errors import BadInputError


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    for variable in ("XDG_DATA_HOME", "XDG_STATE_HOME", "XDG_CONFIG_HOME", "XDG_CACHE_HOME"):
        monkeypatch.setenv(variable, str(tmp_path / variable))
    for kind in ("RUNS", "CATALOGS", "MEASUREMENTS", "PROFILES", "STATE", "SETTINGS", "CACHE"):
        monkeypatch.delenv(f"PLANNER_{kind}", raising=False)
    return tmp_path


def call(*words: str) -> str:
    outcome = CliRunner().invoke(build(only="where"), ["where", *words], catch_exceptions=False, input="")
    assert outcome.exit_code == 0, outcome.output
    return outcome.stdout


def begun(run: str) -> RunDirectory:
    directory = RunDirectory.create(order(run, choice()))
    directory.intend("vpc", name="network", region="us-east-1")
    directory.made(Resource(kind="vpc", id="vpc-1", region="us-east-1", run=run))
    return directory


def test_nothing_is_kept_at_first_and_each_kind_has_its_place(folder: Path) -> None:
    listed = json.loads(call("--json"))
    assert [each["kind"] for each in listed["kept"]] == list(stored.kinds())
    assert {each["files"] for each in listed["kept"]} == {0} and {each["since"] for each in listed["kept"]} == {None}
    assert all(each["place"].startswith(str(folder)) for each in listed["kept"])


def test_files_are_counted_with_their_bytes_and_the_day_of_the_oldest(folder: Path) -> None:
    profiles = folder / "XDG_DATA_HOME" / "planner" / "profiles"
    profiles.mkdir(parents=True)
    (profiles / "a.json").write_bytes(b"x" * 700)
    (profiles / "b.json").write_bytes(b"x" * 300)
    os.utime(profiles / "a.json", (1_700_000_000, 1_700_000_000))
    (of_profiles,) = stored.stored_files("profiles")
    assert (of_profiles.files, of_profiles.bytes) == (2, 1000)
    row = next(line for line in call().splitlines() if line.startswith("profiles"))
    assert "1 KB" in row and "2023-11-14" in row


def test_runs_that_may_still_bill_stay(folder: Path) -> None:
    begun("r-up").note("up", nodes=["i-1"])
    begun("r-ended").note("down", removed=1)
    RunDirectory.create(order("r-refused", choice()))
    unreadable = RunDirectory.create(order("r-torn", choice()))
    (unreadable.path / JOURNAL).write_text('{"at": "2026-')
    with begun("r-at-work").lock():
        assert "r-up" in call() and "may still cost money" in " ".join(call().split())
        call("--clear", "runs", "--yes")
    assert set(known_runs()) == {"r-up", "r-torn", "r-at-work"}


def test_an_ended_run_at_which_a_process_is_at_work_stays() -> None:
    directory = begun("r1")
    directory.note("down", removed=1)
    with directory.lock():
        stored.clear("runs")
    assert known_runs() == ("r1",)
    stored.clear("runs")
    assert known_runs() == ()


def test_bugs_are_cleared_and_other_files_of_the_folder_stay(folder: Path) -> None:
    bugs = folder / "XDG_STATE_HOME" / "planner" / "bugs"
    bugs.mkdir(parents=True)
    for name in ("bug-1.txt", "bug-2.txt", "mine.txt"):
        (bugs / name).write_text("text")
    assert call("--clear", "bugs", "--yes") == "2 files removed, 8 B\n"
    assert [path.name for path in bugs.iterdir()] == ["mine.txt"]


def test_nothing_is_removed_where_nobody_can_answer(folder: Path) -> None:
    begun("r1").note("down", removed=1)
    with refused("not-confirmed", "--yes"):
        call("--clear", "runs")
    assert known_runs() == ("r1",)


@pytest.mark.parametrize("kind", ["settings", "measurements", "profiles", "emulated"])
def test_what_nothing_makes_again_is_not_cleared(kind: str) -> None:
    with pytest.raises(BadInputError, match=f"{kind} are not cleared: "):
        call("--clear", kind, "--yes")


def test_an_unknown_kind_is_refused_with_the_nearest() -> None:
    with refused("unknown-word", "prices, runs, fleets, cache, bugs, all", "mean runs"):
        call("--clear", "run")


@pytest.mark.parametrize("words", ["all", "bugs,runs"])
def test_several_kinds_are_cleared_at_once(folder: Path, words: str) -> None:
    begun("r1").note("down", removed=1)
    bugs = folder / "XDG_STATE_HOME" / "planner" / "bugs"
    bugs.mkdir(parents=True)
    (bugs / "bug-1.txt").write_text("text")
    printed = call("--clear", words, "--yes")
    assert "bugs: 1 file removed, 4 B\n" in printed and "runs: " in printed
    assert known_runs() == () and not list(bugs.iterdir())


def test_one_refused_kind_keeps_the_others(folder: Path) -> None:
    begun("r1").note("down", removed=1)
    with refused("not-cleared"):
        call("--clear", "runs,profiles", "--yes")
    assert known_runs() == ("r1",)


def test_locks_are_not_counted(folder: Path) -> None:
    profiles = folder / "XDG_DATA_HOME" / "planner" / "profiles"
    profiles.mkdir(parents=True)
    for name in ("a.json", ".lock"):
        (profiles / name).write_text("{}")
    assert stored.stored_files("profiles")[0].files == 1
