"""Capacity of uncapped links is measured on the nodes themselves; the payload rate under a cap is known."""

from __future__ import annotations

from pathlib import Path

import pytest
from refusals import refused

from planner.clusters.emulated.cluster import emulated_cluster
from planner.clusters.emulated.network_trial import measure_links, payload_bytes_per_s
from planner.clusters.emulated.shaping import Shaping
from planner.errors import IoFailureError

pytestmark = pytest.mark.xdist_group("root")


@pytest.fixture(autouse=True)
def _state(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PLANNER_STATE", str(tmp_path / "state"))
    monkeypatch.setattr("planner.clusters.emulated.network_trial._SECONDS", 0.3)
    monkeypatch.setattr("planner.clusters.emulated.network_trial._REPEATS", 1)


def test_headers_take_less_than_one_percent_of_a_cap() -> None:
    assert payload_bytes_per_s(50e6) == pytest.approx(50e6 * 8948 / 9014)


@pytest.mark.needs_root(why="makes network namespaces")
@pytest.mark.parametrize("workers", [1, 2])
def test_links_without_caps_carry_something(tmp_path: Path, workers: int) -> None:
    with emulated_cluster(workers=workers, shaping=Shaping(), directory=tmp_path) as nodes:
        assert measure_links(nodes) > 0


@pytest.mark.needs_root(why="makes network namespaces")
def test_no_link_carries_more_than_its_cap(tmp_path: Path) -> None:
    caps = Shaping(rates_bytes_per_s=(20e6, 5e6))
    with emulated_cluster(workers=2, shaping=caps, directory=tmp_path) as nodes:
        assert 0 < measure_links(nodes) < 1.2 * payload_bytes_per_s(5e6), "a bucket of a tick's worth goes at once"


@pytest.mark.needs_root(why="makes network namespaces")
def test_an_instrument_that_does_not_start_is_told(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(
        "planner.clusters.emulated.network_trial._BENCH", ("sh", "-c", "echo no such instrument >&2; exit 1")
    )
    with (
        emulated_cluster(workers=1, shaping=Shaping(), directory=tmp_path) as nodes,
        refused("not-started", "NetBench", "node-1", kind=IoFailureError) as caught,
    ):
        measure_links(nodes)
    assert caught.value.details == ("no such instrument",)
