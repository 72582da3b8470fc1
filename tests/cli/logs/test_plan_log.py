"""`planner plan-log`."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from approvals import Approve
from spark_events import CODECS, lines, small_job
from typer.testing import CliRunner

from planner.cli.app import build
from planner.cli.shell.console import exit_code_of

ON = ("--ran-on", "m5.xlarge x 2", "--instance", "m5.*,m7g.*")


def run(*words: str) -> int:
    app = build()
    return exit_code_of(lambda: app(["plan-log", *words], standalone_mode=False))


@pytest.fixture
def log(tmp_path: Path) -> str:
    path = tmp_path / "app-1.zstd"
    path.write_bytes(CODECS["zstd"](lines(small_job(tasks=80))))
    return str(path)


def test_one_screen(
    log: str, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch, approve: Approve
) -> None:
    monkeypatch.setenv("COLUMNS", "80")
    assert run(log, *ON) == 0
    shown = capsys.readouterr().out.splitlines()
    assert len(shown) <= 24
    assert max(map(len, shown)) <= 80
    text = " ".join(" ".join(shown).split())
    assert "test ran on 2 x m5.xlarge (aws) for 2 min 35 s, $0.017." in text  # 2 + 10 x 10 + 10 x 5 + 3
    assert "Move to" in text
    approve(text)
    assert "executor.cores=8" in text


def test_json(log: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    out = tmp_path / "plan.json"
    assert run(log, *ON, "--json", "--out", str(out)) == 0
    document = json.loads(capsys.readouterr().out)
    assert document == json.loads(out.read_text())
    assert document["logged"]["time_s"] == pytest.approx(155)
    assert document["best"]["time_low_s"] < document["best"]["time_s"] < document["best"]["time_high_s"]
    assert document["configuration"]["spark.executor.cores"]


def test_a_trace_foretells_no_cluster(tmp_path: Path, capsys: pytest.CaptureFixture[str], approve: Approve) -> None:
    path = tmp_path / "timeline.json"
    path.write_text("[]", "utf-8")
    assert run(str(path)) == 2
    approve(" ".join(capsys.readouterr().err.split()))


def test_what_is_left_out_is_listed(log: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert run(log, *ON, "--rejected") == 0
    assert "not asked for" in capsys.readouterr().out


def test_no_cluster_in_time_is_infeasible(log: str, capsys: pytest.CaptureFixture[str], approve: Approve) -> None:
    assert run(log, *ON, "--deadline", "2s") == 3
    shown = capsys.readouterr()
    approve(" ".join(shown.out.split()))
    approve(shown.err)


def test_a_confidence_that_no_cluster_has_is_not_called_slowness(capsys: pytest.CaptureFixture[str]) -> None:
    log = Path(__file__).parents[2] / "data" / "spark" / "causes" / "cpu.gz"
    assert run(str(log), "--ran-on", "4 x m5.xlarge", "--confidence", "0.99") == 3
    shown = capsys.readouterr()
    assert "as surely as asked" in shown.out and "as surely as asked" in shown.err


def test_what_the_log_does_not_tell_is_asked_for(
    log: str, capsys: pytest.CaptureFixture[str], approve: Approve
) -> None:
    assert run(log) == 2
    approve(capsys.readouterr().err)


def test_options_of_a_sort_are_refused(log: str) -> None:
    refused = CliRunner().invoke(build(), ["plan-log", log, *ON, "--data", "1TB"])
    assert refused.exit_code == 2 and "No such option: --data" in refused.output


def test_a_cluster_too_small_for_the_log_is_doubted(
    log: str, capsys: pytest.CaptureFixture[str], approve: Approve
) -> None:
    assert run(log, "--ran-on", "m5.xlarge x 1", "--instance", "m5.*") == 0
    shown = " ".join(capsys.readouterr().out.split())
    approve(shown)


def test_forms_that_a_logged_application_has_not_are_refused(log: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert run(log, *ON, "--to", "emr", "--rejected") == 2
    assert "leave out --json and --rejected" in " ".join(capsys.readouterr().err.split())


def test_a_file_is_not_written_over(log: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    out = tmp_path / "plan.json"
    out.write_text("mine")
    assert run(log, *ON, "--out", str(out)) == 2
    assert "--force" in capsys.readouterr().err and out.read_text() == "mine"


def test_page(log: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    page = tmp_path / "page.html"
    assert run(log, *ON, "--html", str(page)) == 0
    assert "Time and cost of other clusters" in page.read_text()
    assert run(log, *ON, "--html", str(page)) == 2
    assert "--force" in capsys.readouterr().err


def test_runs_of_one_job_count_together(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    for name, tasks in (("app-1", 8), ("app-2", 8), ("app-3", 80)):
        (tmp_path / name).write_bytes(lines(small_job(name, tasks=tasks)))
    told = ("--ran-on", "m5.xlarge x 2", "--ran-on", "app-2=m6i.xlarge x 2", "--instance", "m5.*", "--json")
    (tmp_path / "app-3").rename(tmp_path / "0-app-3")
    assert run(str(tmp_path), *told) == 0
    document = json.loads(capsys.readouterr().out)
    assert (document["app_id"], document["runs"]) == ("app-3", 1)
    assert [line.partition(":")[0] for line in document["unused_runs"]] == ["app-1", "app-2"]
    (tmp_path / "0-app-3").unlink()
    assert run(str(tmp_path), *told) == 0
    document = json.loads(capsys.readouterr().out)
    assert (document["runs"], document["unused_runs"]) == (2, [])
    assert run(str(tmp_path), *told, "--app", "app-2") == 0
    document = json.loads(capsys.readouterr().out)
    assert (document["runs"], document["logged"]["instance_type"]) == (1, "m6i.xlarge")


def test_what_the_log_ran_on_is_read_from_a_file(log: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    nodes = [{"InstanceType": "m5.xlarge", "Status": {"State": "RUNNING"}}] * 2
    gone = {"InstanceType": "r5.xlarge", "Status": {"State": "TERMINATED"}}
    file = tmp_path / "instances.json"
    file.write_text(json.dumps({"Instances": [*nodes, gone]}), "utf-8")
    assert run(log, *ON, "--json") == 0
    expected = json.loads(capsys.readouterr().out)
    assert run(log, "--ran-on", str(file), *ON[2:], "--json") == 0
    out, err = capsys.readouterr()
    assert json.loads(out) == expected
    assert "2 x m5.xlarge" in err and "not counted: 1 x r5.xlarge (terminated)" in " ".join(err.split())


def test_a_file_that_is_not_there_is_named(log: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert run(log, "--ran-on", f"app-1={tmp_path / 'none.json'}") == 2
    assert "no such file" in " ".join(capsys.readouterr().err.split())
