"""`planner screen`, called within the process."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from typer.testing import CliRunner

from planner.cli.app import build
from planner.errors import BadInputError

ROWS = [*(f"n{i},{700 + i}" for i in range(40)), *(f"bad{i},78" for i in range(5))]


def call(*arguments: str) -> str:
    outcome = CliRunner().invoke(build(), ["screen", *arguments])
    if outcome.exception and not isinstance(outcome.exception, SystemExit):
        raise outcome.exception
    assert outcome.exit_code == 0, outcome.output
    return outcome.stdout


@pytest.fixture
def results(tmp_path: Path) -> str:
    path = tmp_path / "nodes.csv"
    path.write_text("\n".join(["node,write_bytes_per_s", *ROWS]))
    return str(path)


def test_the_bad_nodes_are_named_and_the_rule_shown(results: str) -> None:
    shown = call(results)
    assert "keep 40 of 45 nodes" in shown
    assert all(f"bad{i}" in shown for i in range(5))
    assert "limit" in shown and "median" in shown


def test_json_has_the_verdict_and_the_spares(results: str) -> None:
    verdict = json.loads(call(results, "--spares-for", "100", "--work", "15m", "--screening", "4m", "--json"))
    assert len(verdict["kept"]) == 40 and len(verdict["dropped"]) == 5
    hours = verdict["spares"]["expected_node_hours"]
    assert verdict["spares"]["count"] == hours.index(min(hours)) > 10


def test_spares_are_told_in_words(results: str) -> None:
    assert "for 100 nodes launch" in call(results, "--spares-for", "100")


def test_of_several_rates_one_must_set_the_pace(tmp_path: Path) -> None:
    path = tmp_path / "nodes.csv"
    path.write_text("node,read,net\na,1,2\nb,1,2\nc,1,\n")
    with pytest.raises(BadInputError, match="--metric which sets the pace: read, net"):
        call(str(path), "--spares-for", "5")
    with pytest.raises(BadInputError, match="Did you mean read"):
        call(str(path), "--spares-for", "5", "--metric", "reed")
    assert "spares" in json.loads(call(str(path), "--spares-for", "5", "--metric", "net", "--json"))


def test_repeated_runs_say_what_stays_with_a_node(tmp_path: Path) -> None:
    path = tmp_path / "runs.csv"
    rows = [f"n{node},{run},{100 + 10 * node + run}" for node in range(4) for run in range(3)]
    path.write_text("\n".join(["node,run,read", *rows]))
    assert "stays with the node" in call(str(path))
    variation = json.loads(call(str(path), "--json"))["variation"]["read"]
    assert variation["across_nodes"] > 5 * variation["across_runs"] and variation["lasting_share"] > 0.9
