"""`plan FILE.toml` plans a request that `--save` wrote, and `plan FILE.json` makes a kept plan again."""

from __future__ import annotations

import json
import tomllib
from pathlib import Path
from typing import Any

import pytest
from command_line import call, invoked
from hypothesis import given
from hypothesis import strategies as st
from refusals import refused
from typer.testing import CliRunner

import planner
from planner.api.arguments.request_file import request_toml
from planner.cli.app import build
from planner.cli.plan.request_options import RequestOptions
from planner.errors import BadInputError
from planner.stores.profiles import save_profile

SMALL = ("--instance", "i4i.*", "--data", "1TB")
REQUESTS = [
    SMALL,
    (*SMALL, "--model", "indy", "--deadline", "2h", "--budget", "500", "--confidence", "95%", "--max-nodes", "40"),
    ("--cloud", "aws,gcp", "--data", "3TB", "--exclude", "i4i.*,z3-*", "--pricing", "on-demand,spot"),
    (*SMALL, "--what-if", "network=2", "--what-if", "price=0.7", "--assume", "network=800MB/s"),
    (*SMALL, "--own-price", "i4i.*=0.08/vcpu", "--discount", "aws=15%", "--set", "capacity=i4i.*=40,zones=2"),
    ("--catalog", "aws-2014", "--data", "1TB", "--paper"),
    (*SMALL, "--input", "s3://b/in", "--output", "s3://b/out", "--format", "csv", "--set", "compression=gzip=3.1"),
]
ARGUMENTS = st.dictionaries(
    st.sampled_from(["data", "model", "cloud", "nodes", "paper"]),
    st.text(max_size=20) | st.integers(-(2**60), 2**60) | st.booleans() | st.lists(st.text(max_size=8), max_size=3)
    | st.dictionaries(st.text(max_size=6), st.floats(allow_nan=False, allow_infinity=False), max_size=3),
)  # fmt: skip


def plan_of(*words: object) -> dict[str, Any]:
    document: dict[str, Any] = json.loads(call("plan", *words, "--json"))
    return document


@pytest.mark.parametrize("words", REQUESTS, ids=" ".join)
def test_a_saved_request_is_planned_as_its_options_were(words: tuple[str, ...], tmp_path: Path) -> None:
    first = plan_of(*words, "--save", tmp_path / "request.toml")
    assert plan_of(tmp_path / "request.toml") == first
    assert (
        planner.recommend(**planner.read_request(tmp_path / "request.toml")).plan.best
        == planner.Plan.from_json(json.dumps(first)).best
    )


def test_options_change_the_request_of_a_file_even_to_their_defaults(tmp_path: Path) -> None:
    file = tmp_path / "request.toml"
    call("plan", *SMALL, "--model", "indy", "--save", file)
    assert plan_of(file)["request"]["model"] == "indy"
    changed = plan_of(file, "--model", "daytona", "--set", "zones=2")["request"]
    assert (changed["model"], changed["zones"], changed["instances"]) == ("daytona", 2, ["i4i.*"])


def test_keys_may_have_hyphens_and_values_python_forms(tmp_path: Path) -> None:
    file = tmp_path / "request.toml"
    file.write_text(
        'data = 1000000000000\nsort-deadline = 7200\ncloud = ["aws"]\ninstance = "i4i.*"\n[assume]\nnetwork = "800MB/s"'
    )
    request = plan_of(file)["request"]
    assert (request["data_bytes"], request["sort_deadline_s"], request["assume"]) == (10**12, 7200, {"network": 8e8})


def test_keys_may_be_plurals_and_settings_a_table(tmp_path: Path) -> None:
    file = tmp_path / "request.toml"
    file.write_text('data = "1TB"\nclouds = ["aws"]\nregions = "us-east-1"\ninstances = ["i4i.*"]\n[set]\nzones = 2')
    request = plan_of(file)["request"]
    assert (request["catalogs"], request["regions"], request["instances"]) == (["aws"], ["us-east-1"], ["i4i.*"])
    assert request["zones"] == 2
    file.write_text('region = "us-east-1"\nregions = "us-east-2"\nprices = 1\n[request]\ndata = "1TB"')
    with pytest.raises(BadInputError) as error:
        planner.read_request(file)
    twice, prices, table = error.value.details
    assert twice == "regions: says the same as region: give one of them"
    assert "Did you mean: own_price=" in prices and "its keys stand at the top" in table


def test_a_size_with_a_blank_is_no_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    with refused("no-such-file", "a size has no blank: plan --data 3TB"):
        invoked("plan", "--data", "3", "TB")
    with refused("missing-companion", "--show csv", field="--format"):
        invoked("plan", "--data", "3TB", "--format", "csv")


@pytest.mark.parametrize(
    ("name", "hint"),
    [("r.yaml", "in TOML"), ("app.log", "planner plan-log {}"), ("t.csv", "planner sort"), ("app.zstd", "plan-log")],
)
def test_another_file_leads_to_the_command_that_takes_it(name: str, hint: str, tmp_path: Path) -> None:
    file = tmp_path / name
    file.write_text("data: 3TB\n")
    with refused("unsupported-format", hint.format(file)):
        invoked("plan", file)


def test_all_that_is_wrong_with_a_request_is_said_at_once(tmp_path: Path) -> None:
    file = tmp_path / "request.toml"
    file.write_text('data = "3XB"\ndedline = "2h"\nnodes = true\nobjective = "speed"\nassume = "network"\n')
    with pytest.raises(BadInputError) as error:
        planner.read_request(file)
    named = [detail.partition(":")[0] for detail in error.value.details]
    assert named == ["data", "dedline", "nodes", "objective", "assume"] and error.value.field == "data"


@pytest.mark.parametrize(
    ("text", "code"), [("data = ", "not-toml"), ("a = " + "[" * 100_000, "not-toml"), ('"" = 1', "unknown-argument")]
)
def test_what_is_no_request_is_refused(text: str, code: str, tmp_path: Path) -> None:
    (tmp_path / "request.toml").write_text(text)
    with pytest.raises(BadInputError) as error:
        planner.read_request(tmp_path / "request.toml")
    assert error.value.code == code


@given(arguments=ARGUMENTS)
def test_any_arguments_come_back_from_their_file(arguments: dict[str, Any]) -> None:
    assert tomllib.loads(request_toml(arguments)) == arguments


def test_a_kept_plan_is_made_again_and_says_what_changed(tmp_path: Path) -> None:
    kept = tmp_path / "plan.json"
    first = plan_of(*SMALL, "--deadline", "2h", "--out", kept)
    again = plan_of(kept)
    assert {name: again[name] for name in first} == first
    assert all(before == now for before, now in again["changes"].values())
    doubled = plan_of(kept, "--data", "2TB")
    assert doubled["request"] == first["request"] | {"data_bytes": 2 * 10**12}
    before, now = doubled["changes"]["cost_usd.total"]
    assert before == first["best"]["cost_usd"]["total"] and now == doubled["best"]["cost_usd"]["total"] > before
    assert "Nothing changed" in call("plan", kept)
    assert f"{again['best']['nodes']} x" in call("plan", kept, "--data", "2TB")


def test_a_kept_plan_of_a_profile_is_made_again_with_it(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PLANNER_PROFILES", str(tmp_path))
    run = {"instance_type": "i4i.4xlarge", "nodes": 4, "data_gb": 100, "runtime_s": 400}
    save_profile(planner.calibrate([run, run | {"nodes": 8, "runtime_s": 230}], model="spark", name="mine"))
    first = plan_of(*SMALL, "--profile", "mine", "--out", tmp_path / "plan.json")
    with refused("missing-companion", field="profile"):
        RequestOptions().on_top_of(tmp_path / "plan.json", ())
    assert plan_of(tmp_path / "plan.json", "--profile", "mine")["best"] == first["best"]


def test_a_request_of_a_kept_plan_can_be_saved(tmp_path: Path) -> None:
    kept, file = tmp_path / "plan.json", tmp_path / "request.toml"
    first = plan_of(*SMALL, "--deadline", "2h", "--own-price", "i4i.*=0.08/vcpu", "--out", kept)
    invoked("plan", kept, "--model", "indy", "--save", file)
    assert plan_of(file)["request"] == first["request"] | {"model": "indy"}


def test_a_request_is_checked_against_limits_with_the_plan_before_it(tmp_path: Path) -> None:
    kept, file = tmp_path / "plan.json", tmp_path / "request.toml"
    call("plan", *SMALL, "--out", kept)
    call("plan", *SMALL, "--data", "1TB", "--model", "indy", "--save", file)
    (row,) = json.loads(call("check", file, "--max-cost", "100", "--baseline", kept, "--json"))["plans"]
    before, now = row["changes"]["cost_usd.total"]
    assert row["keeps"] and now < before


def test_a_save_keeps_files_that_exist(tmp_path: Path) -> None:
    file = tmp_path / "request.toml"
    file.write_text("mine")
    ended = CliRunner().invoke(build(), ["plan", *SMALL, "--save", str(file)])
    assert isinstance(ended.exception, BadInputError) and file.read_text() == "mine"
