"""`planner calibrate` and `planner predict`, called in-process."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from approvals import Approve
from command_line import call
from spark_events import CODECS, lines, small_job

from planner.errors import BadInputError

RUNS = "instance_type,nodes,data_gb,runtime_s\n" + "".join(f"m,{n},20,{2000 / n + 20}\n" for n in (2, 4, 8))
MACHINES = "type,vcpu,mem_gib,ghz,ebs_mbps,net_base_gbps,price_usd_h\nm,8,32,2.4,1000,1,0.4\nbig,16,64,2.4,2000,2,\n"


@pytest.fixture(autouse=True)
def files(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("PLANNER_PROFILES", str(tmp_path / "profiles"))
    for name, text in {"runs": RUNS, "machines": MACHINES, "query": "type,n,data_gb\nm,6,20\nbig,6,40\n"}.items():
        (tmp_path / f"{name}.csv").write_text(text)


def learn(*more: str) -> str:
    return call("calibrate", "runs.csv", "--instances", "machines.csv", "--model", "spark", "--name", "mine", *more)


def test_calibrate_stores_a_profile_that_predict_answers_from() -> None:
    learned = json.loads(learn("--json"))
    assert learned["profile"] == "mine"
    assert learned["next_run"]["instance_type"] == "m"
    first, second = json.loads(call("predict", "query.csv", "--profile", "mine", "--json"))["predictions"]
    assert first["lo"] < 2000 / 6 + 20 < first["hi"]
    assert second["instance_type"] == "big"
    assert second["hi"] / second["lo"] > first["hi"] / first["lo"]


def test_asking_for_the_next_run_stores_no_profile(tmp_path: Path) -> None:
    asked = json.loads(learn("--next", "--json"))
    assert (asked["path"], asked["next_run"]["instance_type"]) == (None, "m")
    assert "the next run to make" in learn("--next") and not (tmp_path / "profiles").exists()


def test_the_same_in_words() -> None:
    text = learn()
    assert "3 runs on m, 2-8 nodes, 20 GB" in text
    assert "the next run to make" in text
    assert "min" in call("predict", "query.csv", "--profile", "mine")


def test_types_the_profile_does_not_know_come_from_the_catalog(tmp_path: Path) -> None:
    learn()
    (tmp_path / "query.csv").write_text("type,n,data_gb\nm5.2xlarge,6,20\n")
    assert json.loads(call("predict", "query.csv", "--profile", "mine", "--json"))["predictions"]


def test_columns_that_nothing_is_known_of_are_named(tmp_path: Path, approve: Approve) -> None:
    learn()
    (tmp_path / "query.csv").write_text("type,n,data_gb,codec,runtime_s\nm,6,20,lz4,7\n")
    warnings = json.loads(call("predict", "query.csv", "--profile", "mine", "--json"))["warnings"]
    approve(warnings)


def test_bad_rows_name_the_file_column_and_row(tmp_path: Path, approve: Approve) -> None:
    (tmp_path / "runs.csv").write_text(RUNS + "m,4,20,-3\nm,four,20,9\n")
    with pytest.raises(BadInputError, match="2 bad cells") as caught:
        learn()
    approve(caught.value.details)


def test_a_wide_range_of_a_type_that_never_ran_says_which_run_settles_it(approve: Approve) -> None:
    learn()
    Path("query.csv").write_text("type,n,data_gb\nbig,6,60\n")
    warnings = json.loads(call("predict", "query.csv", "--profile", "mine", "--json"))["warnings"]
    (told,) = [warning for warning in warnings if "never ran" in warning]
    approve(told)
    assert " x big with 20 GB would " in told


def test_logs_and_tables_are_learned_from_together(tmp_path: Path, approve: Approve) -> None:
    events = small_job(tasks=80)
    (tmp_path / "app-1").write_bytes(CODECS["zstd"](lines(events)))
    learned = json.loads(learn("app-1", "--ran-on", "m x 2", "--json"))
    assert learned["runs"] == "4 runs on m, 2-8 nodes, 8-20 GB"
    assert learned["model"] == "spark"
    approve(learned["notes"])


def test_reports_of_own_runs_need_no_catalog(tmp_path: Path) -> None:
    report = Path(__file__).parents[2] / "data" / "stored" / "run-report.json"
    learned = json.loads(call("calibrate", str(report), "--json"))
    assert (learned["profile"], learned["model"]) == ("own", "own")
    assert learned["prior"]["name"] == "this project's sort"
