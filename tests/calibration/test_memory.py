"""Jobs that hold their data in memory, on clusters where it fits and where it does not."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from made_up_clusters import job

from planner.calibration import Profile, calibrate
from planner.calibration.history import parse_jobs

SPECS = {
    f"{cores}-{gb}": {"vcpu": cores, "mem_gib": gb, "ghz": 2.8, "ebs_mbps": 1000, "net_base_gbps": 10}
    | {"price_usd_h": 0.04 * cores + 0.005 * gb}
    for cores, gb in ((4, 16), (4, 32), (8, 8), (8, 32), (8, 64), (16, 16))
}
CLUSTERS = [("4-16", 8), ("4-16", 16), ("4-32", 4), ("8-8", 8), ("8-8", 16), ("8-32", 4), ("8-32", 8), ("8-64", 4)]


def fits(row: dict[str, Any]) -> bool:
    """Return whether 0.6 GB per GB of data fits into the cluster's usable memory."""
    return bool(0.6 * row["data_gb"] <= row["nodes"] * 0.6 * (0.72 * SPECS[row["instance_type"]]["mem_gib"] - 0.3))


def true_seconds(row: dict[str, Any]) -> float:
    """Return 20 s plus 900 core GHz s/GB, plus 20 disk reads of the data where it does not fit."""
    again = 0 if fits(row) else 20 * 0.6 * row["data_gb"] / 0.125
    return 20 + (900 * row["data_gb"] / (SPECS[row["instance_type"]]["vcpu"] * 2.8) + again) / row["nodes"]


def table(data_gb: float) -> list[dict[str, Any]]:
    rows = [job(name, nodes, data_gb) for name, nodes in CLUSTERS]
    return [{**row, "runtime_s": true_seconds(row)} for row in rows]


def spark(runs: list[dict[str, Any]]) -> Profile:
    return calibrate(runs, instances=SPECS, model="spark")


def cost_usd(row: dict[str, Any], runtime_s: float) -> float:
    return row["nodes"] * SPECS[row["instance_type"]]["price_usd_h"] * runtime_s / 3600


def regret(profile: Profile, rows: list[dict[str, Any]]) -> float:
    seen = [cost_usd(row, t) for row, t in zip(rows, profile.predict(rows)["runtime_s"], strict=True)]
    true = [cost_usd(row, row["runtime_s"]) for row in rows]
    return true[int(np.argmin(seen))] / min(true)


@pytest.mark.parametrize("seed", range(4))
def test_three_runs_that_fit_choose_no_cluster_that_might_not_for_twice_the_data(seed: int) -> None:
    fitting = [row for row in table(100.0) if fits(row)]
    picked = np.random.default_rng(seed).permutation(len(fitting))[:3]
    assert regret(spark([fitting[i] for i in picked]), table(200.0)) < 1.5


def test_runs_on_both_sides_find_the_threshold() -> None:
    rows = table(100.0) + table(200.0)
    learned, rest = spark(rows[::2]), rows[1::2]
    ranges, truth = learned.predict(rest), np.array([row["runtime_s"] for row in rest])
    assert ((ranges["lo"] < truth) & (truth < ranges["hi"])).mean() > 0.7
    assert np.median(np.abs(ranges["runtime_s"] / truth - 1)) < 0.25
    sentence = learned.explain()["memory"]["sentence"]
    assert "GB" in sentence
    assert "usable" in sentence


def test_a_job_that_never_spilled_says_that_it_may() -> None:
    """Three runs with memory to spare leave both open: a range over the cliff is wide and holds both sides."""
    roomy = [{**row, "runtime_s": true_seconds(row)} for row in (job("8-64", n, 50.0) for n in (4, 8, 16))]
    ranges = spark(roomy).predict([job("8-8", 4, 200.0), job("8-64", 12, 50.0)])
    assert ranges["hi"][0] / ranges["lo"][0] > 2 * ranges["hi"][1] / ranges["lo"][1]


@pytest.mark.parametrize(("times", "most"), [(0.5, 1.1), (1.0, 1.1), (2.0, 1.1 * 2 ** (1 / 3)), (8.0, 1.4)])
def test_more_data_than_ran_is_charged_more_for_what_may_not_fit(times: float, most: float) -> None:
    """Four clusters that held 40 GB show nothing about the smallest cluster that would hold more."""
    runs = [row for row in table(40.0) if fits(row)][:4]
    asked = [job("8-8", 8, 40.0 * times)]
    mixture = spark(runs).mixture(parse_jobs(asked, what="query", timed=False), instances=SPECS)
    expected, median = mixture.expected_s()[0], mixture.quantiles_s(0.5)[0][0]
    assert expected <= most * median * (1 + 1e-9)
    assert mixture.most_charged[0] == pytest.approx(most)
