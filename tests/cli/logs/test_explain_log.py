"""`planner explain-log`."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from approvals import Approve
from spark_events import MB, lines, small_job

from planner.cli.app import build
from planner.cli.shell.console import exit_code_of


def run(*words: str) -> int:
    app = build()
    return exit_code_of(lambda: app(list(words), standalone_mode=False))


@pytest.fixture
def log(tmp_path: Path) -> Path:
    path = tmp_path / "app-1"
    path.write_bytes(lines(small_job()) + b"noise\n")
    return path


def test_one_screen(log: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("COLUMNS", "80")
    assert run("explain-log", str(log)) == 0
    shown = capsys.readouterr().out.splitlines()
    assert len(shown) <= 24
    assert max(map(len, shown)) <= 80
    text = " ".join(" ".join(shown).split())
    assert "test (app-1, Spark 3.5.1) took 20 s: 2 executors with 8 cores on 2 hosts." in text
    assert "After the first stage began, time by what bound it: processors 15 s, ending 3 s." in text
    assert "no task waits for shuffle blocks from other nodes: 18.5 s" in text
    assert text.startswith("The log is incomplete: 16 of 16 tasks, 2 stages, 2 executors; 1 x line that is not JSON.")
    assert "processors: 67% of the task time is CPU time." in text


def test_json_has_all(log: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert run("explain-log", str(log), "--json") == 0
    document = json.loads(capsys.readouterr().out)
    assert document["sums"]["shuffle_write_bytes"] == 400 * MB
    assert [stage["bound"] for stage in document["stages"]] == ["processors", "processors"]
    assert document["losses"][0]["count"] == 1
    assert document["cluster"]["unknown"] == ["platform", "cloud", "region", "instance_type", "driver_type"]


@pytest.mark.parametrize("what", ["stages", "executors", "csv"])
def test_tables(log: Path, capsys: pytest.CaptureFixture[str], what: str) -> None:
    assert run("explain-log", str(log), "--show", what) == 0
    shown = capsys.readouterr().out.splitlines()
    assert len(shown) == 3  # a header and two rows: stages, or executors
    assert {"stages": "bound by", "executors": "cores", "csv": "spill_disk_bytes"}[what] in shown[0]


@pytest.fixture
def fleet(log: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> str:
    """Two logs and a broken one, in a folder named after a person."""
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "state"))
    folder = tmp_path / "anna"
    folder.mkdir()
    log.rename(folder / "app-1")
    (folder / "app-2").write_bytes(lines(small_job("app-2", properties={"spark.app.name": "of anna"})))
    (folder / "app-3").write_bytes(b"\x28\xb5\x2f\xfd broken")
    return str(folder)


def test_several_logs_are_a_table(fleet: str, capsys: pytest.CaptureFixture[str], approve: Approve) -> None:
    assert run("explain-log", fleet, "--processes", "1") == 0
    shown = capsys.readouterr().out
    text = " ".join(shown.split())
    assert "2 applications in 3 logs: executors held 0.1 core hours" in text
    assert "By waste" in text and "app-2" in text and "Not read" in text and "log 3" in text
    approve(text)
    assert "anna" not in shown


def test_one_of_several_is_picked_by_its_id(fleet: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert run("explain-log", fleet, "--app", "app-2", "--json") == 0
    assert json.loads(capsys.readouterr().out)["app_id"] == "app-2"
    assert run("explain-log", fleet, "--show", "stages") == 2
    assert "--app ID" in " ".join(capsys.readouterr().err.split())


def test_a_fleet_for_programs_and_as_a_page(fleet: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert run("explain-log", fleet, "--json") == 0
    document = json.loads(capsys.readouterr().out)
    assert [row["core_s"] for row in document["applications"]] == [160, 160]
    assert document["failures"][0]["log"] == "log 3"
    page = tmp_path / "fleet.html"
    assert run("explain-log", fleet, "--show", "csv", "--show-names", "--html", str(page)) == 0
    rows = capsys.readouterr().out.splitlines()
    assert len(rows) == 4 and "app-3" in rows[3] and rows[0].startswith("log,failure,app_id,")
    text = page.read_text()
    assert "2 applications in 3 logs" in text and "Core hours by application" in text and fleet in text


def test_options_of_many_logs_are_refused_for_one(log: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert run("explain-log", str(log), "--show-names") == 2
    assert "many logs" in capsys.readouterr().err


def test_what_is_no_log_is_refused(tmp_path: Path, capsys: pytest.CaptureFixture[str], approve: Approve) -> None:
    assert run("explain-log", str(tmp_path / "absent")) == 2
    approve(" ".join(capsys.readouterr().err.split()))


def test_page(log: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    page = tmp_path / "page.html"
    assert run("explain-log", str(log), "--html", str(page)) == 0
    text = page.read_text()
    assert "test took 20 s" in text and "Lost: 1 x line that is not JSON" in text and "Other clusters" not in text
    assert run("explain-log", str(log), "--html", str(page)) == 2
    assert "--force" in capsys.readouterr().err


TRACES = Path(__file__).resolve().parents[2] / "data" / "task_trace"


def test_a_trace_of_ray_says_when_tasks_ran(capsys: pytest.CaptureFixture[str]) -> None:
    path = str(TRACES / "ray-2.60.json")
    assert run("explain-log", path) == 0
    shown = " ".join(capsys.readouterr().out.split())
    assert "mapper" in shown and "Ray: 0.804 s, 3 workers on 1 node." in shown and "is unknown" in shown
    assert run("explain-log", path, "--json") == 0
    assert json.loads(capsys.readouterr().out)["stages"][0]["input_bytes"] is None
    assert run("explain-log", path, "--show", "csv") == 0
    assert capsys.readouterr().out.splitlines()[1].startswith("0,,mapper,,0.0,")


@pytest.mark.parametrize("words", [["--html", "x.html"], ["--app", "a"], ["--show", "executors"]])
def test_a_trace_has_no_executors(words: list[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    assert run("explain-log", str(TRACES / "dask-2026.8.html"), *words) == 2
    assert not list(tmp_path.iterdir())
