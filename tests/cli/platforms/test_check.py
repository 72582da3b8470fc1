"""`planner check` in a pipeline: exit codes, the comment, and the files of GitHub and pre-commit that call it."""

from __future__ import annotations

import json
import os
import re
import subprocess
from pathlib import Path
from typing import Any

import pytest
import yaml
from approvals import Approve
from servers import Answer, served
from typer.testing import CliRunner, Result

from planner.cli.app import build
from planner.errors import BadInputError, InfeasibleError

CHECKOUT = Path(__file__).parents[3]
PLANS = CHECKOUT / "tests" / "data" / "stored"
PLAN = str(PLANS / "plan-1.json")


def run(*words: str) -> Result:
    return CliRunner().invoke(build(only="check"), ["check", *words])


def test_a_plan_within_its_limits_ends_with_0(approve: Approve) -> None:
    done = run(PLAN, "--max-cost", "1000", "--deadline", "30h")
    assert done.exit_code == 0
    approve(done.stdout)


def test_a_plan_beyond_them_ends_with_3_and_says_each(tmp_path: Path) -> None:
    policy = tmp_path / "limits.toml"
    policy.write_text('max_cost = 1\nclouds = ["gcp"]\n')
    done = run(PLAN, "--policy", str(policy), "--json")
    assert isinstance(done.exception, InfeasibleError) and done.exception.exit_code == 3
    (row,) = json.loads(done.stdout)["plans"]
    assert not row["keeps"] and [breach["limit"] for breach in row["breaches"]] == ["max_cost", "clouds"]


def test_the_comment_is_a_table_with_the_change(approve: Approve) -> None:
    other = str(PLANS / "plan-2.json")
    done = run(PLAN, "--max-cost", "1000", "--baseline", other, "--markdown")
    approve(done.stdout)
    for figure in (r"cost \| \$[\d.]+", r"whole run \| [\w. ]+", r"job \| [\w. ]+"):
        assert re.search(rf"^\| {figure} \| [+-][\d.]+% \|$", done.stdout, re.M)


def _changed(document: Any, at: tuple[str | int, ...], value: Any) -> Any:
    """Return parsed JSON with the value at a path replaced, or taken out where it is None."""
    if not at:
        return value
    made = document.copy()
    if value is None and len(at) == 1:
        del made[at[0]]
    else:
        made[at[0]] = _changed(document[at[0]], at[1:], value)
    return made


CHANGES: dict[str, tuple[tuple[str | int, ...], Any]] = {
    "negative total": (("cost_usd", "total"), -5),
    "smaller total": (("cost_usd", "total"), 4.0),
    "total without its 95%": (("cost_usd", "total_p95"), 1.0),
    "missing total": (("cost_usd", "total"), None),
    "no number": (("cost_usd", "total"), float("nan")),
    "infinite": (("cost_usd", "total_p95"), float("inf")),
    "beyond any number": (("cost_usd", "total_p95"), 10**400),
    "cheaper line": (("bill", 0, "usd"), 0.1),
    "negative line": (("bill", 0, "usd"), -1.0),
    "unpriced line": (("bill", 0, "usd"), float("nan")),
    "shorter phase": (("phases", 0, "time_s"), 1.0),
    "shorter job": (("time_s", "expected"), 60.0),
    "shorter step": (("overheads_s", "validate"), 1.0),
    "negative step": (("overheads_s", "boot"), -1e4),
    "no nodes": (("nodes",), 0),
    "more nodes": (("nodes",), 10),
    "fewer spares": (("spares",), -1),
    "dearer machines": (("price_usd_per_hour",), 1e3),
}


@pytest.mark.parametrize("change", CHANGES)
@pytest.mark.parametrize("places", ["best", "candidates", "both"])
def test_a_plan_that_contradicts_itself_passes_no_gate(tmp_path: Path, change: str, places: str) -> None:
    """Through each command that reads plans; a changed `best` differs from the first candidate, too."""
    at, value = CHANGES[change]
    document = json.loads(Path(PLAN).read_text())
    for place in {"best": [("best",)], "candidates": [("candidates", 0)]}.get(places, [("best",), ("candidates", 0)]):
        document = _changed(document, (*place, *at), value)
    path = tmp_path / "changed.json"
    path.write_text(json.dumps(document))
    for words in (
        ["check", str(path), "--max-cost", "1000"],
        ["check", PLAN, "--max-cost", "1000", "--baseline", str(path)],
        ["compare", PLAN, str(path)],
        ["report", str(path)],
        ["export", str(path), "--to", "ray"],
        ["cluster", "up", str(path), "--dry-run"],
    ):
        done = CliRunner().invoke(build(only=words[0]), words)
        assert isinstance(done.exception, BadInputError) and done.exception.exit_code == 2, words
        assert str(path) in str(done.exception)


@pytest.mark.parametrize("words", [(PLAN,), (PLAN, "--max-cost", "1", "--json", "--markdown")])
def test_what_says_nothing_is_refused(words: tuple[str, ...]) -> None:
    assert getattr(run(*words).exception, "exit_code", 0) == 2


def test_the_files_for_pipelines_call_commands_that_exist() -> None:
    action = yaml.safe_load((CHECKOUT / "action.yml").read_text())
    (calls,) = [step["run"] for step in action["runs"]["steps"] if step.get("id") == "check"]
    (hook,) = yaml.safe_load((CHECKOUT / ".pre-commit-hooks.yaml").read_text())
    help_text = run("--help").stdout
    options = set(re.findall(r"--[a-z-]+", calls.partition("planner check")[2]))
    assert options and all(option in help_text for option in options)
    assert hook["entry"] == "planner check"


def test_the_action_comments_on_the_pull_request(tmp_path: Path) -> None:
    """The step's script sends the comment to the API that the runner names; a plan that could not be read has none."""
    step = yaml.safe_load((CHECKOUT / "action.yml").read_text())["runs"]["steps"][-1]
    comment, empty = tmp_path / "plan.md", tmp_path / "empty.md"
    comment.write_text('**4 x "a"**\n| cost | 5 |\n')
    empty.touch()
    with served(lambda _: Answer({}, status=201)) as api:
        for file in (comment, empty):
            given = {"TOKEN": "secret", "COMMENT": str(file), "NUMBER": "7", "GITHUB_REPOSITORY": "me/plans"}
            words = ["bash", "-eo", "pipefail", "-c", step["run"]]
            subprocess.run(words, check=True, env={**os.environ, **given, "GITHUB_API_URL": api.url})
    assert set(step["env"]) == {"TOKEN", "COMMENT", "NUMBER"} and step["if"].startswith("failure()")
    (asked,) = api.asked
    assert (asked.path, asked.body) == ("/repos/me/plans/issues/7/comments", {"body": comment.read_text()})
    assert asked.headers["Authorization"] == "Bearer secret"


def test_the_most_that_a_run_may_cost_is_written_as_everywhere() -> None:
    for limit in ("$1000", "1000"):
        assert run(PLAN, "--max-cost", limit).exit_code == 0
