"""`planner report` and `plan --html`."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from command_line import call
from refusals import refused
from typer.testing import CliRunner

from planner.cli.app import build
from planner.errors import BadInputError, InfeasibleError
from tests.marks import quick_soak

PLAN = ("plan", "--data", "100TB", "--model", "indy", "--catalog", "aws-2014")


@pytest.fixture
def run_file(tmp_path: Path) -> Path:
    path = tmp_path / "run.json"
    call("run", "--data", "1MB", "--model", "indy", "--dir", str(tmp_path), "--out", str(path))
    return path


def test_a_kept_run_is_shown_as_it_was_and_read_back_exactly(run_file: Path, tmp_path: Path) -> None:
    assert "Predicted by the equations, and measured" in call("report", str(run_file))
    assert json.loads(call("report", str(run_file), "--json")) == json.loads(run_file.read_text())
    page = tmp_path / "run.html"
    call("report", str(run_file), "--html", str(page))
    assert "Sorted and validated 1 MB" in page.read_text() and "planner run --data 1MB --model indy" in page.read_text()


@quick_soak
def test_a_kept_plan_gives_the_page_that_plan_html_gives(tmp_path: Path) -> None:
    plan, page, again = tmp_path / "plan.json", tmp_path / "plan.html", tmp_path / "again.html"
    call(*PLAN, "--out", str(plan), "--html", str(page))
    call("report", str(plan), "--html", str(again))
    warning = "prices of aws-2014 are of"  # `plan` warns of old prices
    lines = [[line for line in text.read_text().splitlines() if warning not in line] for text in (page, again)]
    assert lines[0] == lines[1]
    assert call("report", str(plan)).startswith("Rent ")
    assert "Candidates" in call("report", str(plan), "--wide")


def test_a_kept_plan_has_its_simulation(tmp_path: Path) -> None:
    plan = tmp_path / "plan.json"
    plan.write_text(call("simulate", *PLAN[1:], "--draws", "2", "--json"))
    assert "simulated 2 times (seed 0)" in call("report", str(plan))
    assert json.loads(call("report", str(plan), "--json")) == json.loads(plan.read_text())
    plan.write_text(plan.read_text().replace('"draws": 2', '"draws": "two"'))
    with pytest.raises(BadInputError, match=r"plan\.json: simulation: 1 problem\n  simulation\.draws"):
        call("report", str(plan))


def test_a_page_is_written_whole_or_not_at_all(tmp_path: Path) -> None:
    with refused("no-such-folder", "plan.html"):
        call(*PLAN, "--html", str(tmp_path / "absent" / "plan.html"))


@pytest.mark.parametrize("text", ["", "{}", "[1]", '{"steps_s": 3}', '{"request": {}}', "\xff"])
def test_what_is_no_report_is_refused_with_what_writes_one(tmp_path: Path, text: str) -> None:
    path = tmp_path / "bad.json"
    path.write_bytes(text.encode("latin-1"))
    with pytest.raises(BadInputError, match=r"bad\.json"):
        call("report", str(path))


def test_a_page_is_refused_with_what_writes_its_json(tmp_path: Path) -> None:
    (tmp_path / "plan.html").write_text("<!doctype html>")
    with pytest.raises(BadInputError, match="is a page; name what `plan --out` or `planner run --out` wrote"):
        call("report", str(tmp_path / "plan.html"))


def test_a_page_says_why_nothing_is_feasible(tmp_path: Path) -> None:
    page = tmp_path / "no.html"
    options = ["plan", "--data", "1TB", "--catalog", "aws-2014", "--deadline", "1s", "--html", str(page)]
    assert isinstance(CliRunner().invoke(build(), options).exception, InfeasibleError)
    text = page.read_text()
    assert "Nothing does what is asked" in text and "misses the deadline of 1 s" in text
    assert len(text) < 300_000  # without charts no charting library, which alone has 900 kB


def test_wide_shows_what_fits_of_the_candidates(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    plan = tmp_path / "plan.json"
    call("plan", "--data", "1TB", "--model", "indy", "--catalog", "aws-2014", "--out", str(plan))
    monkeypatch.setenv("COLUMNS", "80")
    shown = call("report", str(plan), "--wide")
    assert "*  m1.xlarge          5    0.35   1 h 56 min   2 h 30 min    $5.60" in shown
    assert "Not shown, as the screen is narrow: disks data:interm., equation" in " ".join(shown.split())


EMR_RUN = {
    "step.json": {
        "Step": {
            "Name": "sort",
            "Status": {"State": "COMPLETED", "Timeline": {"StartDateTime": 1000.0, "EndDateTime": 2000.0}},
        }
    },
    "cluster.json": {
        "Cluster": {
            "Status": {"State": "TERMINATED", "Timeline": {"CreationDateTime": 700.0, "ReadyDateTime": 940.0}},
            "InstanceGroups": [
                {"InstanceGroupType": "CORE", "InstanceType": "i4i.4xlarge", "RequestedInstanceCount": 8}
            ],
        }
    },
}


def test_a_run_on_a_platform_stands_beside_its_plan_and_feeds_calibration(tmp_path: Path) -> None:
    from planner import recommend
    from planner.calibration.history import parse_jobs
    from planner.stores.profiles import read_rows

    answer = recommend("1TB", instance="i4i.4xlarge", nodes=8, engine="spark")
    (tmp_path / "plan.json").write_text(answer.plan.to_json(), "utf-8")
    described = []
    for name, document in EMR_RUN.items():
        (tmp_path / name).write_text(json.dumps(document), "utf-8")
        described += ["--from-platform", str(tmp_path / name)]
    words = ["report", str(tmp_path / "plan.json"), *described]
    made = CliRunner().invoke(build(), [*words, "--json", "--runs", str(tmp_path / "runs.csv")])
    assert made.exit_code == 0, made.output
    document = json.loads(made.stdout)
    assert answer.best is not None
    assert document["time_s"]["job"] == {"predicted": answer.best.time_s.expected, "measured": 1000.0}
    assert document["time_s"]["boot and install"]["measured"] == 240.0
    assert document["machines"]["ran_on"] == {"nodes": 8, "instance_type": "i4i.4xlarge"}
    (job,) = parse_jobs(read_rows(tmp_path / "runs.csv"), what="runs.csv", timed=True)
    assert (job.instance_type, job.nodes, job.data_gb, job.runtime_s) == ("i4i.4xlarge", 8, 1000.0, 1000.0)
    text = CliRunner().invoke(build(), words).stdout
    assert "predicted" in text and "16 min 40 s" in text and "two clusters" not in text


def test_what_goes_with_a_platforms_files_and_what_does_not(tmp_path: Path) -> None:
    stored = Path(__file__).parents[2] / "data" / "stored" / "plan-1.json"
    (tmp_path / "step.json").write_text(json.dumps(EMR_RUN["step.json"]), "utf-8")
    described = ["--from-platform", str(tmp_path / "step.json")]
    for words, said in (
        (["--runs", str(tmp_path / "new.csv")], "--runs writes the run of --from-platform"),
        ([*described, "--wide"], "not with --from-platform"),
        ([*described, "--runs", str(tmp_path / "new.csv")], "no file names the machines"),
    ):
        made = CliRunner().invoke(build(), ["report", str(stored), *words])
        assert isinstance(made.exception, BadInputError) and said in str(made.exception)
    assert not (tmp_path / "new.csv").exists()
