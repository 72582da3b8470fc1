"""`planner simulate`, and the same from Python."""

from __future__ import annotations

import json
import sys
from pathlib import Path

import pytest
from approvals import Approve
from command_line import call
from typer.testing import CliRunner

import planner
from planner.cli.app import build
from planner.cli.entry import main
from planner.errors import BadInputError, InfeasibleError
from planner.report.terminal.simulation_table import resource_text
from planner.simulation.result import Simulation
from tests.marks import quick_soak

ASKED = ["planner", "simulate", "--data", "100GB", "--instance", "i4i.4xlarge", "--nodes", "4", "--draws", "3"]
ONCE = [*ASKED[:-1], "1"]


def run(args: list[str], capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> str:
    monkeypatch.setattr(sys, "argv", args)
    monkeypatch.setenv("NO_COLOR", "1")
    with pytest.raises(SystemExit) as ended:
        main()
    assert ended.value.code in (0, None)
    return capsys.readouterr().out


def test_it_shows_every_phase_and_the_bottleneck(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    text = run(ASKED, capsys, monkeypatch)
    assert "4 x i4i.4xlarge, simulated 3 times (seed 0)" in text
    assert "map and shuffle" in text and "sort and reduce" in text
    seen = planner.recommend("100GB", instance="i4i.4xlarge", nodes=4).simulate(draws=3).breaks_first
    assert f"Bottleneck: {resource_text(seen)}." in text
    assert "spot machines" not in text


def test_one_run_has_no_range(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch, approve: Approve
) -> None:
    text = run(ONCE, capsys, monkeypatch)
    table = text[text.index("4 x i4i.4xlarge, simulated") :]
    assert "simulated once (seed 0)" in table
    assert "median" not in table
    approve(table)
    assert table.count("95 of 100") == 1, "only the equations' range"


@quick_soak
def test_json_has_what_python_gives(capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> None:
    document = json.loads(run([*ASKED, "--seed", "7", "--json"], capsys, monkeypatch))
    answer = planner.recommend("100GB", instance="i4i.4xlarge", nodes=4)
    simulation = answer.simulate(draws=3, seed=7)
    assert document["simulation"] == json.loads(json.dumps(simulation.to_dict()))
    assert document["best"]["nodes"] == simulation.nodes == 4
    assert document["simulation"]["time_s"] == {"p50": simulation.p50_s, "p95": simulation.p95_s}
    assert document["simulation"]["first_limit"] == simulation.breaks_first
    shown = document["simulation"]["timeline"]["map and shuffle"]["groups"]
    assert sum(group["nodes"] for group in shown) == 4
    assert {"start_s", "end_s", "waits_for"} == shown[0]["spans"][0].keys()
    read = Simulation.from_plan_json(json.dumps(document))
    assert read == simulation


@quick_soak
def test_the_timeline_is_drawn_to_a_file(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    picture = tmp_path / "waits.svg"
    run([*ASKED, "--lose", "node@30%", "--timeline", str(picture)], capsys, monkeypatch)
    assert "4 x i4i.4xlarge: what nodes wait for" in picture.read_text("utf-8")


def test_slow_nodes_are_shown_beside_the_rest(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch, approve: Approve
) -> None:
    text = run([*ONCE, "--slow", "network:1@2"], capsys, monkeypatch)
    approve(text)
    text = run([*ONCE, "--slow", "50%@3"], capsys, monkeypatch)
    assert "Where 2 nodes take 3 times as long, it takes" in text


def test_spot_machines_are_taken_back_now_and_then(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch, approve: Approve
) -> None:
    text = run([*ASKED, "--pricing", "spot"], capsys, monkeypatch)
    approve(text)


def test_a_profile_has_no_tasks_to_simulate() -> None:
    answer = planner.recommend("100GB", instance="i4i.4xlarge", nodes=4)
    with pytest.raises(BadInputError, match="without --profile"):
        planner.Recommendation(answer.plan, profile="mine").simulate()


def test_nothing_feasible_cannot_be_simulated() -> None:
    with pytest.raises(InfeasibleError):
        planner.recommend("1TB", instance="i4i.4xlarge", deadline="1s").simulate()


@pytest.mark.parametrize("draws", [0, 1001])
def test_the_number_of_draws_has_bounds(draws: int) -> None:
    with pytest.raises(BadInputError, match="from 1 to 1000"):
        planner.recommend("100GB", instance="i4i.4xlarge", nodes=4).simulate(draws=draws)


@pytest.mark.parametrize(
    ("words", "why"),
    [("--draws 0", "from 1 to 1000"), ("--lose node@130%", "0% to 99%"), ("--timeline waits.png", "an SVG file")],
)
def test_what_cannot_be_simulated_is_refused_before_anything_is_planned(words: str, why: str) -> None:
    ended = CliRunner().invoke(build(only="simulate"), ["simulate", "--catalog", "none", *words.split()])
    assert isinstance(ended.exception, BadInputError) and why in str(ended.exception)


def test_links_that_burst_explain_why_the_equations_take_longer() -> None:
    words = ["simulate", "--data", "1TB", "--nodes", "10", "--draws", "1"]
    bursting, steady = (call(*words, "--instance", name) for name in ("i8g.xlarge", "i8g.8xlarge"))
    assert "links begin at their burst of 10 Gbit/s; the equations count their baseline alone" in " ".join(
        bursting.split()
    )
    assert "burst" not in steady
