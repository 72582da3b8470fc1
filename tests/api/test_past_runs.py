"""Past runs from files of every kind, each recognised by its content."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from approvals import Approve
from refusals import refused
from spark_events import CODECS, MB, lines, small_job

from planner.api.past_runs import calibrate_files, read_past_runs
from planner.errors import BadInputError
from planner.schemas.run_report import RunReport

ON = ("m5.xlarge x 2",)
STORED = Path(__file__).parents[1] / "data" / "stored" / "run-report.json"


def kept_block(size: int) -> dict[str, Any]:
    info = {"Block Manager ID": {"Executor ID": "1"}, "Block ID": "rdd_1_0", "Memory Size": size, "Disk Size": 0}
    return {"Event": "SparkListenerBlockUpdated", "Block Updated Info": info}


def room(executor: str) -> dict[str, Any]:
    manager = {"Executor ID": executor, "Host": "a"}
    return {"Event": "SparkListenerBlockManagerAdded", "Block Manager ID": manager, "Maximum Memory": 2000 * MB}


def written(path: Path, events: list[dict[str, Any]], *, codec: str = "plain") -> Path:
    path.write_bytes(CODECS[codec](lines(events)))
    return path


def keeping(size: int, *, name: str = "app-1") -> list[dict[str, Any]]:
    job = small_job(name)
    return [*job[:-1], room("1"), room("2"), kept_block(size), job[-1]]


@pytest.mark.parametrize("codec", CODECS)
def test_a_log_is_a_run_with_what_it_shows_of_memory(tmp_path: Path, codec: str) -> None:
    past = read_past_runs([written(tmp_path / "run", keeping(60 * MB), codec=codec)], ran_on=ON)
    (row,) = past.rows
    assert row == pytest.approx(
        {
            "instance_type": "m5.xlarge",
            "nodes": 2,
            "data_gb": 0.8,  # 8 tasks read 100 MB each
            "runtime_s": 20.0,
            "cached_gb": 0.06,
            "task_memory_gb": 0.104,  # 64 MB, and 40 MB spilled
            "usable_gb": 4.0,
        }
    )
    assert past.model == "spark"
    assert past.notes == ()


def test_a_folder_has_the_runs_of_all_its_logs(tmp_path: Path, approve: Approve) -> None:
    for name in ("app-1", "app-2"):
        written(tmp_path / name, small_job(name))
    past = read_past_runs([tmp_path], ran_on=("app-2=m5.xlarge x 3", "m5.xlarge x 2"))
    assert [row["nodes"] for row in past.rows] == [2, 3]
    approve(past.notes[0])


@pytest.mark.parametrize("encoding", ["utf-8-sig", "utf-16"])
def test_a_table_and_a_report_as_windows_writes_them(tmp_path: Path, encoding: str) -> None:
    table, report = tmp_path / "runs.csv", tmp_path / "report.json"
    table.write_text("instance_type,nodes,data_gb,runtime_s\r\nm5.xlarge,4,100,900\r\n", encoding, newline="")
    report.write_text(STORED.read_text("utf-8"), encoding)
    assert read_past_runs([table]).rows[0]["nodes"] == "4"
    assert read_past_runs([report]).rows == read_past_runs([STORED]).rows


def test_a_row_that_names_its_log_takes_what_is_blank_from_there(tmp_path: Path) -> None:
    (tmp_path / "logs").mkdir()
    written(tmp_path / "logs" / "one", keeping(600 * MB))
    table = tmp_path / "runs.csv"
    table.write_text("type,n,data_gb,runtime_s,log,steps\nm5.xlarge,2,0.9,,logs/one,7\nm5.xlarge,4,0.9,12,,7\n")
    first, second = read_past_runs([table]).rows
    assert first["data_gb"] == "0.9"
    assert (first["runtime_s"], first["cached_gb"]) == pytest.approx((20.0, 0.6))
    assert second == {"type": "m5.xlarge", "n": "4", "data_gb": "0.9", "runtime_s": "12", "steps": "7"}


def test_a_log_named_in_a_row_that_is_none_names_row_and_column(tmp_path: Path) -> None:
    table = tmp_path / "runs.csv"
    table.write_text("type,n,data_gb,runtime_s,log\nm5.xlarge,2,0.9,9,gone\n")
    with pytest.raises(BadInputError, match="row 1, column log: "):
        read_past_runs([table])


def test_data_that_is_read_again_from_memory_has_no_size_of_its_own(tmp_path: Path) -> None:
    log = written(tmp_path / "run", keeping(600 * MB))
    with refused("data-unknown") as caught:
        read_past_runs([log], ran_on=ON)
    assert "column log" in caught.value.details[0]


def test_a_real_log_beside_its_row(tmp_path: Path) -> None:
    log = STORED.parents[1] / "spark" / "kept-in-memory.zstd"
    (tmp_path / "app.zstd").write_bytes(log.read_bytes())
    table = tmp_path / "runs.csv"
    table.write_text("type,n,data_gb,runtime_s,log\nm5.large,1,0.00971,,app.zstd\n")
    (row,) = read_past_runs([table]).rows
    assert (row["cached_gb"], row["usable_gb"]) == pytest.approx((0.009812624, 0.455501414))
    assert row["runtime_s"] == pytest.approx(75.566)
    with refused("data-unknown"):
        read_past_runs([log], ran_on=("m5.large x 1",))


@pytest.mark.parametrize(
    ("change", "why"),
    [
        (lambda events: events[:-2], "the log is cut"),
        (
            lambda events: [{**e, "Job Result": {"Result": "JobFailed"}} if "Job Result" in e else e for e in events],
            "failed",
        ),
        (lambda events: [e for e in events if e["Event"] != "SparkListenerTaskEnd"], "how much it read"),
    ],
)
def test_a_run_that_teaches_nothing_is_refused(tmp_path: Path, change: Any, why: str) -> None:
    with pytest.raises(BadInputError, match=why):
        read_past_runs([written(tmp_path / "run", change(small_job()))], ran_on=ON)


def test_a_log_that_lacks_tasks_does_not_say_how_much_was_read(tmp_path: Path) -> None:
    """As in a rolling log with a file missing, or one compacted by the history server."""
    tasks = [event for event in small_job() if event["Event"] == "SparkListenerTaskEnd"]
    lost = [event for event in small_job() if event not in tasks[:4]]
    log = written(tmp_path / "run", lost)
    with refused("incomplete-log", "12 of 16"):
        read_past_runs([log], ran_on=ON)
    (tmp_path / "runs.csv").write_text("type,n,data_gb,runtime_s,log\nm5.xlarge,2,0.8,,run\n")
    assert read_past_runs([tmp_path / "runs.csv"]).rows[0]["runtime_s"] == 20.0


def test_a_log_without_an_end_ends_with_its_last_job(tmp_path: Path, approve: Approve) -> None:
    past = read_past_runs([written(tmp_path / "run", small_job()[:-1])], ran_on=ON)
    assert past.rows[0]["runtime_s"] == pytest.approx(17.0)
    approve(past.notes)


def test_where_it_ran_is_asked_for(tmp_path: Path) -> None:
    with refused("machines-unknown") as caught:
        read_past_runs([written(tmp_path / "run", small_job())])
    assert "--ran-on" in caught.value.details[0]


def test_paths_are_runs_in_python_too(tmp_path: Path) -> None:
    import planner

    profile = planner.calibrate([written(tmp_path / "run", keeping(60 * MB))], ran_on=ON, name="nightly")
    assert (profile.name, profile.model) == ("nightly", "spark")
    assert profile.runs[0].memory.cached_gb == pytest.approx(0.06)
    assert profile.machines["m5.xlarge"].cores == 4


def test_reports_describe_run_and_machine() -> None:
    past = read_past_runs([STORED])
    report = RunReport.from_json(STORED.read_text(encoding="utf-8"))
    (row,) = past.rows
    assert row["data_gb"] == 0.02
    assert row["runtime_s"] == pytest.approx(sum(phase.measured_s for phase in report.phases))
    assert row["replicas"] == len(report.checks)
    machine = past.specs[row["instance_type"]]
    assert machine["vcpu"] == 2
    assert machine["nvme_r_MBps"] == pytest.approx(2204.2, rel=1e-3)
    assert past.model == "own"


def test_machines_of_one_type_are_their_median(tmp_path: Path) -> None:
    report = RunReport.from_json(STORED.read_text(encoding="utf-8"))
    paths = []
    for number, rate in enumerate((1e9, 5e9, None, 2e9)):
        paths.append(tmp_path / f"run-{number}.json")
        paths[-1].write_text(replace(report, machine={**report.machine, "read_bytes_per_s": rate}).to_json())
    past = read_past_runs(paths)
    (spec,) = past.specs.values()
    assert spec["nvme_r_MBps"] == 2000.0  # the median of the three known rates
    assert spec["nvme_w_MBps"] == pytest.approx(report.machine["write_bytes_per_s"] / 1e6)
    assert spec["net_base_gbps"] is None


def test_no_more_of_a_machine_that_is_not_rented_is_proposed_than_ran() -> None:
    import planner

    further = planner.calibrate([STORED]).next_run()
    assert (further.nodes, further.instance_type) == (1, "this-machine")


def test_a_catalog_that_no_file_needs_is_refused(tmp_path: Path) -> None:
    with refused("not-applicable", field="--catalog"):
        calibrate_files([STORED], catalog="gcp")
    (tmp_path / "runs.csv").write_text("type,n,data_gb,runtime_s\nm,2,1,9\n")
    with refused("not-applicable", "--instances", field="--catalog"):
        calibrate_files([tmp_path / "runs.csv"], instances=tmp_path / "machines.csv", catalog="gcp")


def test_a_table_may_describe_its_own_machines(tmp_path: Path) -> None:
    """A custom machine is in no catalog: the table's columns are its specification, not options of the job."""
    rows = ["instance_type,vcpu,mem_gib,nodes,data_gb,runtime_s"]
    rows += [f"mine,8,32,{nodes},{gb},{60 + 400 * gb / nodes:g}" for nodes, gb in ((4, 100), (8, 100), (8, 200))]
    (tmp_path / "runs.csv").write_text("\n".join(rows))
    profile, _ = calibrate_files([tmp_path / "runs.csv"])
    assert (profile.machines["mine"].cores, profile.machines["mine"].memory_gb) == (8, 32)
    assert not {"vcpu", "mem_gib"} & set(read_past_runs([tmp_path / "runs.csv"]).rows[0])
    (tmp_path / "bare.csv").write_text("instance_type,nodes,data_gb,runtime_s\nmine,4,100,60\nmine,8,100,40\n")
    with refused("no-specification", "--instances FILE"):
        calibrate_files([tmp_path / "bare.csv"])


def test_a_table_and_a_report_may_describe_one_type(tmp_path: Path) -> None:
    report = RunReport.from_json(STORED.read_text(encoding="utf-8"))
    name = report.plan.best.instance_type if report.plan.best else ""
    (tmp_path / "runs.csv").write_text(f"instance_type,vcpu,ghz,nodes,data_gb,runtime_s\n{name},8,3.1,1,1,60\n")
    for paths in ([tmp_path / "runs.csv", STORED], [STORED, tmp_path / "runs.csv"]):
        spec = read_past_runs(paths).specs[name]
        assert spec["ghz"] == 3.1 and "vcpu" in spec


def test_a_report_of_wrong_output_is_refused(tmp_path: Path) -> None:
    report = RunReport.from_json(STORED.read_text(encoding="utf-8"))
    bad = replace(report, checks=(replace(report.checks[0], passed=False),))
    (tmp_path / "run.json").write_text(bad.to_json())
    with refused("wrong-output"):
        read_past_runs([tmp_path / "run.json"])


def test_a_rented_report_has_the_processors_of_its_plan() -> None:
    import planner
    from planner.api.past_runs import report_spec

    plan = planner.recommend(data="1TB", model="indy", instance="i4i.4xlarge", catalogs=["aws"]).plan
    seen = {"read_bytes_per_s": 2e9, "write_bytes_per_s": 1e9, "network_bytes_per_s": None}
    spec = report_spec(RunReport(plan=plan, machine=seen, steps_s={}, phases=(), checks=()))
    assert spec["vcpu"] == 16
    assert spec["mem_gib"] == 128
    assert spec["price_usd_h"] > 0


def test_logs_and_reports_are_of_different_software(tmp_path: Path) -> None:
    with pytest.raises(BadInputError, match="of its own"):
        read_past_runs([written(tmp_path / "run", small_job()), STORED], ran_on=ON)


def test_what_is_none_of_them_says_what_they_are(tmp_path: Path) -> None:
    (tmp_path / "x.json").write_text("{}")
    with pytest.raises(BadInputError, match="no run's report, log or table"):
        read_past_runs([tmp_path / "x.json"])
