"""`planner receipt`."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from approvals import Approve
from spark_events import lines, moved, small_job

from planner.cli.app import build
from planner.cli.shell.console import exit_code_of

RAN_ON = ("--ran-on", "app-2=m7g.2xlarge x 1", "--ran-on", "app-3=m7g.2xlarge x 1")


def run(*words: str) -> int:
    app = build()
    return exit_code_of(lambda: app([*words], standalone_mode=False))


@pytest.fixture
def desk(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Path:
    """The current folder: three runs of a job, advice from the first, and a note; the third run took far too long."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("COLUMNS", "80")
    Path("logs").mkdir()
    for app, days, factor in (("app-1", 0, 1.0), ("app-2", 7, 0.9), ("app-3", 20, 3.0)):
        Path("logs", app).write_bytes(lines(moved(small_job(app, tasks=80), days=days, factor=factor)))
    Path("logs", "notes.txt").write_text("buy milk\n")
    words = ("--ran-on", "m5.xlarge x 2", "--instance", "m5.*,m7g.*", "--out", "advice.json")
    assert run("plan-log", "logs/app-1", *words) == 0
    capsys.readouterr()
    return tmp_path


def test_the_months_and_the_tables(desk: Path, capsys: pytest.CaptureFixture[str], approve: Approve) -> None:
    assert run("receipt", "advice.json", "logs", *RAN_ON) == 0
    shown = capsys.readouterr().out
    assert max(map(len, shown.splitlines())) <= 80
    approve(shown.replace(str(desk), "DESK"))
    assert run("receipt", "advice.json", "logs", *RAN_ON, "--month", "2023-12") == 0
    december = " ".join(capsys.readouterr().out.split())
    assert "1 run, of which 1 can be checked" in december and "app-2" not in december and "notes.txt" in december


def test_json_and_page_have_the_same_figures(desk: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert run("receipt", "advice.json", "logs", *RAN_ON, "--json", "--html", "page.html") == 0
    document = json.loads(capsys.readouterr().out)
    month = document["month"]
    assert (month["runs"], month["inside_share"], month["unused"]) == (3, 0.5, 1)
    assert [Path(file).name for file in month["wrong"]] == ["app-3"]
    saved = [row["saved_usd"] for row in document["rows"] if row["saved_usd"] is not None]
    assert month["saved_usd"] == pytest.approx(sum(saved)) and len(saved) == month["moves"] == 2
    page = Path("page.html").read_text(encoding="utf-8")
    for word in (
        "In all: 1 piece",
        "90% expected",
        "1 x m7g.2xlarge",
        "notes.txt",
        "app-3",
        "<caption>Costs, measured",
    ):
        assert word in page
    assert "<link" not in page and "src=" not in page
    assert run("receipt", "logs", "--html", "page.html") == 2


@pytest.mark.parametrize("command", [("receipt",), ("explain-log", "--show-names")])
def test_brackets_in_the_name_of_a_job_are_shown(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], command: tuple[str, ...], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("COLUMNS", "200")
    for app in ("app-1", "app-2"):
        events = small_job(app)
        (tmp_path / app).write_bytes(
            lines([{**e, "App Name": "[/x] [bold]"} if "App Name" in e else e for e in events])
        )
    assert run(command[0], str(tmp_path), *command[1:]) == 0
    assert "[/x] [bold]" in capsys.readouterr().out


def test_nothing_of_use_is_an_error_after_the_reasons(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], approve: Approve
) -> None:
    (tmp_path / "notes.txt").write_text("buy milk\n")
    assert run("receipt", str(tmp_path)) == 2
    shown = capsys.readouterr()
    assert "notes.txt" in shown.out
    approve(shown.err.replace(str(tmp_path), "FOLDER"))
