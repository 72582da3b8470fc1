"""`planner bench`: tables for people, JSON for programs, and progress that adds up."""

from __future__ import annotations

import json
import threading
from pathlib import Path

import pytest
from command_line import invoked
from refusals import refused

from planner.cli.measure.bench import TOKEN_VARIABLE
from planner.errors import BadInputError, IoFailureError
from planner.measurement.instruments.agent import Agent

SMALL = ["--seconds", "0.2", "--repeats", "1", "--queue-depth", "1", "--size", "20.48MB"]


def test_disk_shows_each_mode_and_the_file_system(tmp_path: Path) -> None:
    outcome = invoked("bench", "disk", "--dir", str(tmp_path), "--mode", "all", *SMALL)
    assert [line.split()[0] for line in outcome.stdout.splitlines()] == ["mode", "mixed", "read", "write"]
    assert "free" in outcome.stderr


def test_small_io_takes_one_directory_only(tmp_path: Path) -> None:
    with pytest.raises(BadInputError, match="one --dir"):
        invoked("bench", "disk", "--suite", "small-io", "--dir", str(tmp_path), "--dir", str(tmp_path))


def test_small_io_measures_one_way_and_repeats(tmp_path: Path) -> None:
    words = ("--dir", str(tmp_path), "--seconds", "0.02", "--size", "9MB", "--json")
    document = json.loads(
        invoked("bench", "disk", "--suite", "small-io", "--mode", "read", "--repeats", "2", *words).stdout
    )
    assert {run["operation"] for run in document["runs"]} == {"read4K", "read4M"} and document["repeats"] == 2
    assert all([run["threads"] for run in document["runs"]].count(threads) % 2 == 0 for threads in (1, 64))


def test_small_io_takes_no_depth(tmp_path: Path) -> None:
    with pytest.raises(BadInputError, match="--queue-depth"):
        invoked("bench", "disk", "--suite", "small-io", "--dir", str(tmp_path), "--queue-depth", "2")
    assert not list(tmp_path.iterdir())


def test_small_io_stripes_nothing(tmp_path: Path) -> None:
    with refused("one-folder", field="--suite"):
        invoked("bench", "disk", "--suite", "small-io", "--dir", str(tmp_path), "--layout", "raid0")


def test_small_io_shows_all_runs_and_marks_the_recommended(tmp_path: Path) -> None:
    outcome = invoked(
        "bench", "disk", "--suite", "small-io", "--dir", str(tmp_path), "--seconds", "0.05", "--size", "41MB"
    )
    rows = outcome.stdout.splitlines()[1:]
    assert len(rows) == 42
    assert sum("*" in row.split()[1] for row in rows) == 5


def test_sort_prints_the_rate_per_vcpu() -> None:
    told = json.loads(invoked("bench", "sort", "--size", "1MB", "--threads", "1", "--repeats", "1", "--json").stdout)
    assert told["bytes_per_s_per_vcpu"] > 0
    assert "per vCPU" in invoked("bench", "sort", "--size", "1MB", "--repeats", "1").stdout


def test_net_shows_the_slowest_node(tmp_path: Path) -> None:
    (tmp_path / "token").write_text("known to both\n")
    agents = [Agent(host="127.0.0.1", port=0, token="known to both") for _ in range(2)]
    for agent in agents:
        threading.Thread(target=agent.serve, daemon=True).start()
    nodes = [word for agent in agents for word in ("--node", f"127.0.0.1:{agent.port}")]
    times = ["--seconds", "0.2", "--warm-up", "0"]
    outcome = invoked("bench", "net", *nodes, "--token-file", str(tmp_path / "token"), *times)
    assert outcome.stdout.splitlines()[1].split()[0] == "2"
    assert outcome.stdout.splitlines()[1].split()[-1] in nodes
    for agent in agents:
        agent.close()


def test_net_asks_for_the_token(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.delenv(TOKEN_VARIABLE, raising=False)
    with pytest.raises(BadInputError, match=TOKEN_VARIABLE):
        invoked("bench", "net", "--node", "a:1", "--node", "b:1")
    with refused("unreadable", "none"):
        invoked("bench", "net", "--node", "a:1", "--node", "b:1", "--token-file", str(tmp_path / "none"))


def test_an_agent_whose_address_is_taken_says_so(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(TOKEN_VARIABLE, "known to both")
    taken = Agent(host="127.0.0.1", port=0, token="known to both")
    with pytest.raises(IoFailureError, match="cannot listen"):
        invoked("bench", "net", "--agent", "--listen", f"127.0.0.1:{taken.port}")
    taken.close()
