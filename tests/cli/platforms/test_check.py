"""`planner check` in a pipeline: exit codes, the comment, and the files of GitHub and pre-commit that call it."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest
import yaml
from typer.testing import CliRunner, Result

from planner.cli.app import build
from planner.errors import InfeasibleError

CHECKOUT = Path(__file__).parents[3]
PLANS = CHECKOUT / "tests" / "data" / "stored"
PLAN = str(PLANS / "plan-1.json")


def run(*words: str) -> Result:
    return CliRunner().invoke(build(only="check"), ["check", *words])


def test_a_plan_within_its_limits_ends_with_0() -> None:
    done = run(PLAN, "--max-cost", "1000", "--deadline", "30h")
    assert done.exit_code == 0 and done.stdout.startswith("keeps to its limits: 1 x i2.8xlarge")


def test_a_plan_beyond_them_ends_with_3_and_says_each(tmp_path: Path) -> None:
    policy = tmp_path / "limits.toml"
    policy.write_text('max_cost = 1\nclouds = ["gcp"]\n')
    done = run(PLAN, "--policy", str(policy), "--json")
    assert isinstance(done.exception, InfeasibleError) and done.exception.exit_code == 3
    (row,) = json.loads(done.stdout)["plans"]
    assert not row["keeps"] and [breach["limit"] for breach in row["breaches"]] == ["max_cost", "clouds"]


def test_the_comment_is_a_table_with_the_change() -> None:
    other = str(PLANS / "plan-2.json")
    done = run(PLAN, "--max-cost", "1000", "--baseline", other, "--markdown")
    assert done.stdout.startswith("**1 x i2.8xlarge (aws us-east-1)** keeps to its limits")
    for figure in (r"cost \| \$[\d.]+", r"whole run \| [\w. ]+", r"job \| [\w. ]+"):
        assert re.search(rf"^\| {figure} \| [+-][\d.]+% \|$", done.stdout, re.M)


@pytest.mark.parametrize("words", [(PLAN,), (PLAN, "--max-cost", "1", "--json", "--markdown")])
def test_what_says_nothing_is_refused(words: tuple[str, ...]) -> None:
    assert getattr(run(*words).exception, "exit_code", 0) == 2


def test_the_files_for_pipelines_call_commands_that_exist() -> None:
    action = yaml.safe_load((CHECKOUT / "action.yml").read_text())
    calls = " ".join(step.get("run", "") for step in action["runs"]["steps"])
    (hook,) = yaml.safe_load((CHECKOUT / ".pre-commit-hooks.yaml").read_text())
    help_text = run("--help").stdout
    options = set(re.findall(r"--[a-z-]+", calls.partition("planner check")[2]))
    assert options and all(option in help_text for option in options)
    assert hook["entry"] == "planner check"
