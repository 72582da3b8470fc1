"""Whether bad apples stay bad, with the counts by hand."""

from __future__ import annotations

from dataclasses import replace
from math import comb

import numpy as np
import pytest

from planner.statistics.bad_apples import staying


def runs(*, bad_in: dict[str, set[int]], nodes: int = 12, rounds: int = 3) -> dict[str, list[float]]:
    """Rates of nodes that are at a tenth in some of their runs."""
    return {
        f"n{n}": [10.0 if number in bad_in.get(f"n{n}", ()) else 100.0 + n for number in range(rounds)]
        for n in range(nodes)
    }


def test_nodes_that_are_always_bad_stay_bad() -> None:
    answer = staying("write", runs(bad_in={"n1": {0, 1, 2}, "n5": {0, 1, 2}}))
    assert answer is not None and answer.stays
    # Two pairs of runs of each of 12 nodes: 4 begin with a bad run and end with one; 4 of 24 end so.
    assert (answer.bad, answer.bad_again, answer.good, answer.turned_bad) == (4, 4, 20, 0)
    assert answer.chance == pytest.approx(1 / comb(24, 4))
    assert "bad apples stay bad: 4 of 4 bad runs were followed by a bad one, 0 of 20 good ones" in answer.text
    assert "there were no good ones" in replace(answer, good=0).text


def test_nodes_that_are_bad_in_turn_do_not() -> None:
    answer = staying("write", runs(bad_in={"n1": {0}, "n5": {1}, "n7": {2}}))
    assert answer is not None and not answer.stays
    assert (answer.bad, answer.bad_again, answer.turned_bad, answer.chance) == (2, 0, 2, 1.0)
    assert "no sign" in answer.text


def test_of_latencies_the_slow_nodes_are_the_high_ones() -> None:
    times = {node: [1 / rate for rate in rates] for node, rates in runs(bad_in={"n1": {0, 1, 2}}).items()}
    of_times = staying("latency", times, lower_is_better=True)
    of_rates = staying("latency", runs(bad_in={"n1": {0, 1, 2}}))
    assert of_times == of_rates and of_times is not None and of_times.bad == 2


def test_without_a_second_run_there_is_no_answer() -> None:
    assert staying("write", runs(bad_in={}, rounds=1)) is None
    assert staying("write", runs(bad_in={}, nodes=2)) is None
    healthy = staying("write", runs(bad_in={}))
    assert healthy is not None and "no node was bad" in healthy.text and not healthy.stays


def test_chance_alone_is_seldom_called_staying() -> None:
    """Bad runs at random: of 200 studies fewer than one in ten finds a pattern (one in twenty is promised)."""
    random = np.random.default_rng(1)
    verdicts = []
    for _ in range(200):
        bad = random.random((20, 3)) < 0.15
        rates = {f"n{n}": np.where(bad[n], 10.0, 100.0).tolist() for n in range(20)}
        answer = staying("write", rates)
        verdicts.append(answer is not None and answer.stays)
    assert sum(verdicts) < 20
