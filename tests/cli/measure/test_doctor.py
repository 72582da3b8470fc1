"""`planner doctor` on this machine and on poorer ones."""

from __future__ import annotations

import json
import sys
import tomllib
from collections.abc import Callable
from datetime import date
from pathlib import Path

import pytest
from emulated_cloud import EmulatedCloud
from emulated_ec2 import EmulatedEc2
from typer.testing import CliRunner

from planner import doctor, recommend
from planner.cli.app import build
from planner.errors import BadInputError, PlannerError, ProviderRefusedError

CHECKOUT = Path(__file__).resolve().parents[3]
DAY = date(2026, 11, 21)


def examined(directory: Path, *, today: date = DAY) -> dict[str, doctor.Finding]:
    return {finding.name: finding for finding in doctor.examine(directory, today=today)}


def test_a_checkout_set_up_is_ready(tmp_path: Path) -> None:
    done = CliRunner().invoke(build(), ["doctor", "--dir", str(CHECKOUT), "--json"])
    told = json.loads(done.stdout)
    assert done.exit_code == 0 and told["ready"] is True
    states = {finding["name"]: finding["state"] for finding in told["findings"]}
    assert {states[name] for name in ("Python", "catalogs", "sort core", "disk", "extra plots")} == {"ok"}
    assert all(f["advice"] for f in told["findings"] if f["state"] not in ("ok", "optional"))


def test_extras_are_those_of_the_package() -> None:
    extras = tomllib.loads((CHECKOUT / "pyproject.toml").read_text())["project"]["optional-dependencies"]
    advised = [f.name.removeprefix("extra ") for f in examined(CHECKOUT).values() if f.name.startswith("extra ")]
    assert set(advised) == extras.keys()


def test_credentials_are_told_by_their_place_and_never_by_their_content(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for variables, _, _ in doctor._CREDENTIALS.values():
        for name in variables:
            monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("HOME", str(tmp_path))
    before = examined(tmp_path)["credentials for AWS"]
    assert (before.state, before.found, before.advice) == ("optional", "none", "aws configure")
    (tmp_path / ".aws").mkdir()
    (tmp_path / ".aws" / "credentials").write_text("aws_secret_access_key = HUSH")
    monkeypatch.setenv("AWS_ACCESS_KEY_ID", "HUSH")
    findings = examined(tmp_path)
    assert findings["credentials for AWS"].found == "present in AWS_ACCESS_KEY_ID, ~/.aws/credentials"
    assert "HUSH" not in str(findings)


@pytest.mark.parametrize(
    ("spoil", "name", "words"),
    [
        (lambda patch, path: patch.setenv("CXX", "no-such-compiler"), "C++ compiler", "none"),
        (lambda patch, path: patch.setattr(doctor, "_ROOM_BYTES", 10**18), "disk", "free in"),
        (
            lambda patch, path: patch.setattr(doctor.importlib.util, "find_spec", lambda _: None),
            "extra plots",
            "altair",
        ),
        (lambda patch, path: patch.setenv("PATH", ""), "browser", "none"),
        (lambda patch, path: patch.setenv("PLANNER_SETTINGS", str(path)), "settings", "TOML"),
    ],
)
def test_what_is_missing_is_named_with_what_to_do(
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    spoil: Callable[[pytest.MonkeyPatch, Path], None],
    name: str,
    words: str,
) -> None:
    broken = tmp_path / "settings.toml"
    broken.write_text("[")
    spoil(monkeypatch, broken)
    finding = examined(tmp_path)[name]
    assert finding.state in ("missing", "optional") and words in finding.found and finding.advice


def test_a_directory_that_is_not_there_is_bad_input(tmp_path: Path) -> None:
    done = CliRunner().invoke(build(), ["doctor", "--json", "--dir", str(tmp_path / "absent")])
    assert isinstance(done.exception, BadInputError) and "absent: no such directory" in str(done.exception)


def test_an_install_for_planning_alone_is_content(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "planner._sortcore", None)  # its import fails, as where nothing was compiled
    monkeypatch.delitem(sys.modules, "planner.native", raising=False)
    monkeypatch.delattr("planner.native", raising=False)
    monkeypatch.setattr(doctor, "_ROOM_BYTES", 10**18)
    done = CliRunner().invoke(build(), ["doctor", "--dir", str(tmp_path)])
    assert done.exit_code == 0 and "Ready to plan; sorting here needs the sort core." in done.stdout


def test_old_prices_are_told_with_how_to_renew_them() -> None:
    aws = examined(CHECKOUT, today=date(2030, 1, 1))["prices of aws"]
    assert aws.state == "old" and aws.advice == "planner catalog refresh --cloud aws --public"
    assert "prices of aws" not in examined(CHECKOUT, today=date(2026, 7, 21))


def test_a_narrow_screen_shows_every_column(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("COLUMNS", "80")
    shown = CliRunner().invoke(build(), ["doctor", "--dir", str(CHECKOUT)]).stdout
    assert "Not shown" not in shown
    assert all(heading in shown for heading in ("what", "state", "found", "needed for", "to get it"))


@pytest.mark.parametrize("below", ["a-file/home", "x" * 300], ids=["no-directory", "unreadable"])
def test_a_home_that_cannot_be_used_is_named_with_what_to_do(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, below: str
) -> None:
    (tmp_path / "a-file").touch()
    for name in ("XDG_DATA_HOME", "XDG_CONFIG_HOME", "PLANNER_SETTINGS", "PLANNER_PROFILES"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("HOME", str(tmp_path / below))
    done = CliRunner().invoke(build(), ["doctor", "--dir", str(tmp_path)])
    assert isinstance(done.exception, PlannerError) and done.exception.exit_code == 1
    places = {
        "a-file/home": (
            ".local/share/planner",
            "cannot be written; set XDG_DATA_HOME to a directory that can be written",
        ),
        "x" * 300: (".config/planner/settings.toml", "cannot be read (File name too long); set PLANNER_SETTINGS to"),
    }
    place, words = places[below]
    assert f"{tmp_path / below / place}" in str(done.exception) and words in str(done.exception)


def test_an_account_that_can_rent_is_ready_and_nothing_is_created(cloud: EmulatedCloud) -> None:
    done = CliRunner().invoke(build(), ["doctor", "--cloud", cloud.cloud, "--plan", str(cloud.plan), "--json"])
    told = json.loads(done.stdout)
    assert done.exit_code == 0 and told["ready"] is True, told
    subjects = " ".join(finding["subject"] for finding in told["account"])
    assert "credentials" in subjects and "price of" in subjects and len(told["account"]) > 5
    assert cloud.launches() == [] and cloud.left() == {}


def test_an_account_without_a_quota_is_told_so_for_a_given_plan(ec2: EmulatedEc2, tmp_path: Path) -> None:
    large = recommend("100TB", cloud="aws", instances=["i4i.32xlarge"], nodes=40).plan
    (tmp_path / "plan.json").write_text(large.to_json())
    words = ["doctor", "--cloud", "aws", "--plan", str(tmp_path / "plan.json")]
    done = CliRunner().invoke(build(), words, terminal_width=200)
    assert isinstance(done.exception, ProviderRefusedError)
    assert "finding" in done.stdout and "quota" in str(done.exception).lower()
    assert ec2.launches() == [] and ec2.left() == {}


@pytest.mark.parametrize("words", [["--region", "eu-west-1"], ["--plan", "plan.json"]])
def test_what_is_of_an_account_needs_a_cloud(words: list[str]) -> None:
    done = CliRunner().invoke(build(), ["doctor", *words])
    assert isinstance(done.exception, BadInputError) and "--cloud" in str(done.exception)
