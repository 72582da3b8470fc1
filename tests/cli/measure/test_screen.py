"""`planner screen`, called in-process."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from approvals import Approve
from command_line import call
from refusals import refused

from planner.errors import BadInputError
from tests.marks import quick_soak

ROWS = [*(f"n{i},{700 + i}" for i in range(40)), *(f"bad{i},78" for i in range(5))]


@pytest.fixture
def results(tmp_path: Path) -> str:
    path = tmp_path / "nodes.csv"
    path.write_text("\n".join(["node,write_bytes_per_s", *ROWS]))
    return str(path)


def test_the_bad_nodes_are_named_and_the_rule_shown(results: str) -> None:
    shown = call("screen", results)
    assert "keep 40 of 45 nodes" in shown
    assert all(f"bad{i}" in shown for i in range(5))
    assert "limit" in shown and "median" in shown


def test_json_has_the_verdict_and_the_spares(results: str) -> None:
    verdict = json.loads(call("screen", results, "--spares-for", "100", "--work", "15m", "--screening", "4m", "--json"))
    assert len(verdict["kept"]) == 40 and len(verdict["dropped"]) == 5
    hours = verdict["spares"]["expected_node_hours"]
    assert verdict["spares"]["count"] == hours.index(min(hours)) > 10


def test_spares_are_told_in_words(results: str) -> None:
    assert "for 100 nodes launch" in call("screen", results, "--spares-for", "100")


def test_of_several_rates_one_must_set_the_pace(tmp_path: Path) -> None:
    path = tmp_path / "nodes.csv"
    path.write_text("node,read,net\na,1,2\nb,1,2\nc,1,\n")
    with refused("several-rates", "--metric", "read, net"):
        call("screen", str(path), "--spares-for", "5")
    with refused("unknown-word", "read", field="--metric"):
        call("screen", str(path), "--spares-for", "5", "--metric", "reed")
    assert "spares" in json.loads(call("screen", str(path), "--spares-for", "5", "--metric", "net", "--json"))


def test_repeated_runs_say_what_stays_with_a_node(tmp_path: Path) -> None:
    path = tmp_path / "runs.csv"
    rows = [f"n{node},{run},{100 + 10 * node + run}" for node in range(4) for run in range(3)]
    path.write_text("\n".join(["node,run,read", *rows]))
    assert "stays with the node" in call("screen", str(path))
    variation = json.loads(call("screen", str(path), "--json"))["variation"]["read"]
    assert variation["across_nodes"] > 5 * variation["across_runs"] and variation["lasting_share"] > 0.9


@pytest.fixture
def repeated(tmp_path: Path) -> str:
    """Ten nodes, three runs: n3 is slow in each, by rate and by latency."""
    path = tmp_path / "repeated.csv"
    slow = {3: (100, 20)}
    rows = [
        f"n{node},{run},{slow.get(node, (700 + node + run, 2))[0]},{slow.get(node, (0, 2 + 0.01 * run))[1]}"
        for node in range(10)
        for run in range(3)
    ]
    path.write_text("\n".join(["node,run,write_MBps,write_p99_ms", *rows]))
    return str(path)


def test_latencies_keep_the_fast_node_and_drop_the_slow_one(repeated: str) -> None:
    study_json = json.loads(call("screen", repeated, "--json"))
    assert [drop["node"] for drop in study_json["dropped"]] == ["n3"] and len(study_json["kept"]) == 9
    assert {limit["metric"]: limit["lower_is_better"] for limit in study_json["limits"]} == {
        "write_MBps": False, "write_p99_ms": True,
    }  # fmt: skip


def test_a_metric_whose_name_does_not_tell_is_told(tmp_path: Path) -> None:
    path = tmp_path / "odd.csv"
    path.write_text("node,queue\na,1\nb,1\nc,1\nd,9\n")
    with refused("direction-unknown", "queue"):
        call("screen", str(path))
    assert "keep 4 of 4" in call("screen", str(path), "--better", "higher")
    shown = call("screen", str(path), "--better", "queue=lower")
    assert "keep 3 of 4" in shown and "at 900% of the median" in shown
    with refused("unknown-word", "queue", field="--better"):
        call("screen", str(path), "--better", "quue=lower")


def test_repeated_runs_say_whether_bad_apples_stay_bad(repeated: str, approve: Approve) -> None:
    answer = json.loads(call("screen", repeated, "--json"))["bad_apples"]["write_p99_ms"]
    assert (answer["bad"], answer["bad_again"], answer["turned_bad"], answer["stays"]) == (2, 2, 0, True)
    approve(call("screen", repeated))


def test_the_chart_has_a_line_for_each_node_and_each_run(repeated: str) -> None:
    lines = call("screen", repeated, "--chart").splitlines()
    assert sum(line.startswith("n3 ") for line in lines) == 3  # dropped, and once per metric
    assert any("write_MBps over time" in line for line in lines)
    of_rate = lines[next(n for n, line in enumerate(lines) if line.startswith("node ")) + 1 :]
    assert of_rate[0].startswith("n3") and of_rate[0].index("o") < 10 < of_rate[1].index("o")


@quick_soak
def test_the_page_has_both_charts_of_each_metric(repeated: str, tmp_path: Path) -> None:
    page = tmp_path / "page.html"
    call("screen", repeated, "--html", str(page))
    text = page.read_text()
    assert all(f'id="chart-{chart}-{number}"' in text for chart in ("nodes", "time") for number in (0, 1))
    assert "bad apples stay bad" in text and "Keep 9 of 10 nodes" in text
    with pytest.raises(BadInputError, match="--force"):
        call("screen", repeated, "--html", str(page))


def test_spares_take_latencies_as_the_rates_they_are(repeated: str) -> None:
    by = {
        name: json.loads(call("screen", repeated, "--spares-for", "20", "--metric", name, "--json"))["spares"]
        for name in ("write_MBps", "write_p99_ms")
    }
    assert all(spares["count"] > 0 and spares["expected_s"][0] > spares["expected_s"][-1] for spares in by.values())
