"""The command `plan` as users call it: stdout, stderr and exit code, once in a separate process."""

from __future__ import annotations

import contextlib
import io
import json
import subprocess
import sys
from pathlib import Path

import pytest
from approvals import Approve

from planner.cli.entry import plan_main
from planner.schemas.plan import Plan

REPLAY = ("--paper", "--data", "100TB", "--catalog", "aws-2014")


def call(*arguments: str) -> subprocess.CompletedProcess[str]:
    """Call the entry point of `plan` in this process; starting a process takes longer than the answer."""
    stdout, stderr = io.StringIO(), io.StringIO()
    with (
        pytest.MonkeyPatch.context() as patch,
        contextlib.redirect_stdout(stdout),
        contextlib.redirect_stderr(stderr),
        pytest.raises(SystemExit) as ended,
    ):
        patch.setenv("NO_COLOR", "1")
        patch.setattr(sys, "argv", ["plan", *arguments])
        plan_main()
    code = ended.value.code
    assert code is None or isinstance(code, int)
    return subprocess.CompletedProcess(("plan", *arguments), code or 0, stdout.getvalue(), stderr.getvalue())


def test_the_papers_daytona_question_is_answered_in_a_process_of_its_own() -> None:
    command = [str(Path(sys.executable).with_name("plan")), "--data", "100TB", "--model", "daytona"]
    outcome = subprocess.run(command, capture_output=True, text=True, check=False)
    assert outcome.returncode == 0 and outcome.stderr == ""
    assert outcome.stdout == call("--data", "100TB", "--model", "daytona").stdout


def test_the_papers_daytona_question_is_answered() -> None:
    outcome = call("--data", "100TB", "--model", "daytona")
    assert outcome.returncode == 0, outcome.stderr
    assert outcome.stderr == ""
    for part in (
        "Rent ",
        "The sort of 100 TB",
        "daytona: two copies",
        "Bottleneck: ",
        "Confidence: ",
        "--show wide has",
    ):
        assert part in outcome.stdout
    wide = call("--data", "100TB", "--show", "wide").stdout
    for part in ("Rent ", "to sort 100 TB under the daytona model", "bottleneck", "Frontier", "prices as of"):
        assert part in wide


def test_json_is_one_object_with_the_contracts_fields() -> None:
    outcome = call(*REPLAY, "--model", "indy", "--instance", "i2.8xlarge", "--nodes", "178", "--json")
    document = json.loads(outcome.stdout)
    assert {"request", "catalog", "best", "candidates", "rejected"} <= set(document)
    assert document["catalog"] == {"name": "aws-2014", "prices_as_of": "2014-09-06", "refreshed": []}
    best = document["best"]
    assert round(best["time_s"]["equation"]) == 962
    assert round(best["cost_usd"]["equation"], 1) == 324.5
    assert best["disk_split"] == {"data": 4, "intermediate": 4}
    assert set(best["time_s"]) == {"equation", "expected", "p50", "p95"}
    ranges, parts = (
        {"equation", "expected", "p50", "p95"},
        {"total", "total_p95", "at_least", "requests", "charges", "unknown"},
    )
    assert set(best["cost_usd"]) == ranges | parts
    network = best["phases"][0]["resources"]["network"]
    assert set(network) == {"bytes_per_node", "bytes_per_s", "time_s", "equation_s"}
    assert best["bottleneck"] == "network" == max(best["reliefs_s"], key=lambda name: best["reliefs_s"][name])
    assert Plan.from_json(outcome.stdout).to_json() + "\n" == outcome.stdout


def test_explain_prints_the_sum() -> None:
    outcome = call(*REPLAY, "--model", "indy", "--instance", "i2.8xlarge", "--nodes", "178", "--explain")
    assert "* Phase “map and shuffle” (66% of the sort) waits 10 min 39 s for network" in outcome.stdout
    assert "network: 5.61798e+11 B / 8.79e+08 B/s = 639.1 s" in outcome.stdout
    assert "T = 639.1 + 323.2 = 962.4 s" in outcome.stdout
    assert "C = (178 x $6.82) per hour x 962.4 s / 3600 = $324.52" in outcome.stdout


def test_rejected_groups_the_reasons() -> None:
    outcome = call(*REPLAY, "--model", "indy", "--rejected")
    for reason in ("no local disks", "local disk rate unknown", "network rate unknown"):
        assert reason in outcome.stdout


def test_rejected_names_a_few_types_of_each_reason_and_all_where_wide() -> None:
    few = call(*REPLAY, "--model", "indy", "--rejected").stdout
    every = call(*REPLAY, "--model", "indy", "--rejected", "--show", "wide").stdout
    groups = json.loads(call(*REPLAY, "--model", "indy", "--json").stdout)["rejected"]
    (group,) = [group for group in groups if group["reason"] == "no local disks"]
    names = [name for alike in group["which"] for name in alike["instance_types"]]
    assert group["types"] == len(names) > len(group["examples"]) == 3
    shown, listed = few[few.index("Left out") :].replace(",", " ").split(), every.replace(",", " ").split()
    assert str(group["types"]) in shown
    assert [name for name in names if name in shown] == group["examples"]
    assert set(names) <= set(listed)
    assert "every type" in few and "every type" not in every


def test_out_writes_the_same_plan(tmp_path: Path) -> None:
    outcome = call(*REPLAY, "--model", "indy", "--json", "--out", str(tmp_path / "plan.json"))
    assert (tmp_path / "plan.json").read_text() == outcome.stdout
    assert [path.name for path in tmp_path.iterdir()] == ["plan.json"]


def test_out_without_a_place_is_refused_before_any_work(tmp_path: Path, approve: Approve) -> None:
    outcome = call(*REPLAY, "--model", "indy", "--out", str(tmp_path / "gone" / "plan.json"))
    assert outcome.returncode == 2
    approve(" ".join(outcome.stderr.split()))
    assert outcome.stdout == ""


@pytest.mark.parametrize(
    ("arguments", "code", "message"),
    [
        (("--data", "100", "--model", "indy"), 2, "no unit; write it as 100TB"),
        (("--data=-5TB", "--model", "indy"), 2, "must lie between"),
        (("--data", "9e30TB", "--model", "indy"), 2, "must lie between"),
        (("--data", "1TB", "--model", "dayton"), 2, "Did you mean daytona?"),
        (("--data", "1TB", "--model", "indy", "--instance", "i4i.4xlrge"), 2, "Did you mean i4i.4xlarge"),
        (("--data", "1TB", "--model", "indy", "--region", "mars-1"), 2, "Priced: us-east-1"),
        (("--data", "1TB", "--model", "indy", "--catalog", "awss"), 2, "Did you mean aws"),
        (("--data", "1TB", "--model", "indy", "--nodes", "0"), 2, "--nodes 0: must lie between"),
        (("--data", "1TB", "--model", "indy", "--objective", "cots"), 2, "Did you mean cost?"),
        (("--data", "1TB", "--model", "indy", "--assume", "network"), 2, "NAME=RATE"),
        (("--data", "1TB", "--model", "indy", "--assume", "network=-1MB/s"), 2, "must be positive"),
        (("--data", "1TB", "--model", "indy", "--assume", "price=0"), 2, "must be positive"),
        (("--data", "1TB", "--model", "indy", "--budget=-1"), 2, "positive amount"),
        (("--data", "1TB", "--model", "indy", "--deadline", "10"), 2, "no unit"),
        (("--data", "1TB", "--model", "indy", "--deadline", "1ms"), 3, "nothing feasible among"),
        (("--data", "1TB", "--instance", "t2.nano"), 3, "nothing feasible with t2.nano t2.nano: no local disks"),
        (("--data", "100TB", "--model", "indy", "--nodes", "3", "--instance", "i4i.4xlarge"), 3, "needs 87 nodes"),
        (("--model", "indy"), 2, "--data"),
    ],
)
def test_bad_requests_end_with_their_code_and_say_why(arguments: tuple[str, ...], code: int, message: str) -> None:
    outcome = call(*arguments)
    assert outcome.returncode == code
    assert message in " ".join(outcome.stderr.split())
    assert "Traceback" not in outcome.stderr


def test_help_begins_with_an_example() -> None:
    assert "Example: plan --data 100TB --model daytona" in call("--help").stdout


def test_the_options_of_general_jobs_and_of_filters_reach_the_plan() -> None:
    outcome = call(
        "--data", "10TB", "--model", "all", "--cloud", "aws,gcp,azure,oci", "--confidence", "0.95", "--deadline", "2h",
        "--set", "map-ratio=0.5", "--set", "reduce-ratio=0.1,compute=500MB/s", "--arch", "x86_64",
        "--exclude", "n1-*", "--max-vcpus", "5000", "--assume", "power:*=330", "--json",
    )  # fmt: skip
    assert outcome.returncode == 0, outcome.stderr
    plan = Plan.from_json(outcome.stdout)
    assert plan.request.max_vcpus == 5000
    assert plan.request.compute_bytes_per_s_per_vcpu == 5e8
    assert plan.best is not None
    assert plan.best.time_s.p95 <= 7200
    assert plan.best.energy_j is not None
    assert {"indy", "daytona", "minutesort"} <= {candidate.model for candidate in plan.candidates}
    assert all("days old" in warning for warning in plan.warnings)


def test_data_may_come_first() -> None:
    first = call("100TB", "--paper", "--catalog", "aws-2014", "--model", "indy")
    assert first.returncode == 0 and first.stdout == call(*REPLAY, "--model", "indy").stdout
