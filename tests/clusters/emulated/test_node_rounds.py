"""A fleet of emulated nodes is measured in random order, and the node behind a narrow link is found."""

from __future__ import annotations

import json
from collections import Counter
from pathlib import Path

import pytest
from command_line import call

from planner.clusters.emulated.node_rounds import DISK, NETWORK, SMALL_IO, plan_steps
from planner.errors import BadInputError


def test_every_round_has_every_instrument_on_every_node_in_another_order() -> None:
    steps = plan_steps(nodes=3, repeats=2, seed=7)
    assert [step.round for step in steps] == [1] * 7 + [2] * 7
    for number in (1, 2):
        of_round = [(step.instrument, step.node) for step in steps if step.round == number]
        assert Counter(of_round) == Counter([(i, n) for i in (DISK, SMALL_IO) for n in (1, 2, 3)] + [(NETWORK, 0)])
    first, second = ([(s.instrument, s.node) for s in steps if s.round == number] for number in (1, 2))
    assert first != second and steps == plan_steps(nodes=3, repeats=2, seed=7)


def test_a_lone_node_has_no_network() -> None:
    assert {step.instrument for step in plan_steps(nodes=1, repeats=1, seed=1)} == {DISK, SMALL_IO}


def test_what_cannot_be_measured_says_why(tmp_path: Path) -> None:
    with pytest.raises(BadInputError, match="say where: --local"):
        call("bench", "fleet", "--out", str(tmp_path / "new"))
    (tmp_path / "old.json").write_text("{}")
    with pytest.raises(BadInputError, match="is not empty"):
        call("bench", "fleet", "--local", "--out", str(tmp_path))
    assert not (tmp_path / "new").exists()


@pytest.mark.soak
@pytest.mark.quick
@pytest.mark.needs_root(why="makes network namespaces")
def test_the_node_behind_a_narrow_link_is_found(tmp_path: Path) -> None:
    plain = json.loads(
        call(
            "bench",
            "fleet",
            *("--local", "--out", str(tmp_path / "out"), "--dir", str(tmp_path), "--rate", "400Mbit,400Mbit,40Mbit"),
            *("--repeats", "1", "--seconds", "0.5", "--size", "20MB", "--json"),
        )
    )
    assert len(plain["files"]) == 7 and all(Path(path).exists() for path in plain["files"])
    network = plain["runs"]["network_bytes_per_s"]
    assert set(network) == {"node-1", "node-2", "node-3"}
    assert max(network["node-3"]) < 0.5 * min(network["node-1"])
    assert "node-3" in [drop["node"] for drop in plain["dropped"]]
    assert not [name for name in plain["runs"] if "latency" in name]
