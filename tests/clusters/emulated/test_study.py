"""The study of network variability in miniature."""

from __future__ import annotations

from pathlib import Path

import pytest
from rich.console import Console

from planner.clusters.emulated.study import HOMOGENEOUS, TABLE_2, Measured, Study, document, run_study, slowdowns
from planner.report.run import render_study

MEASURED = [
    Measured(network=HOMOGENEOUS, measured_s=(10.0, 12.0), predicted_s=(8.0, 8.0), slowest_bytes_per_s=(1e8, 1e8)),
    Measured(network="A", measured_s=(22.0, 33.0), predicted_s=(16.0, 24.0), slowest_bytes_per_s=(5e7, 3e7)),
]


def test_slowdowns_are_times_the_homogeneous_mean() -> None:
    base, cloud = slowdowns(MEASURED)
    assert (base.measured, base.predicted, base.study) == (1.0, 1.0, 1.0)
    assert (cloud.measured, cloud.least, cloud.most) == (2.5, 2.0, 3.0)
    assert (cloud.predicted, cloud.study) == (2.5, TABLE_2["Terasort"][0])


def test_the_table_names_its_source() -> None:
    console = Console(width=120, record=True)
    console.print(*render_study(MEASURED), sep="\n")
    text = console.export_text()
    assert "Terasort 1.79 (A)" in text
    assert "2.50" in text


@pytest.mark.soak
@pytest.mark.needs_root(why="makes network namespaces")
def test_the_study_in_miniature(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PLANNER_STATE", str(tmp_path / "state"))
    study = Study(
        data_bytes=60_000_000, nodes=2, rate_factor=0.05, repeats=1, directory=tmp_path, clouds=("A",), seed=3
    )  # fmt: skip
    measured = run_study(study, say=lambda _: None)
    assert [network.network for network in measured] == [HOMOGENEOUS, "A"]
    assert measured[1].slowest_bytes_per_s < measured[0].slowest_bytes_per_s
    assert measured[1].predicted_s > measured[0].predicted_s
    assert document(study, measured)["slowdowns"][1]["network"] == "A"
    assert not [path for path in tmp_path.iterdir() if path.name.startswith("planner-emu")]
