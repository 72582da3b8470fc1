"""A node whose link has a tenth of the others' rate is noticed during the sort, reported, and left out."""

from __future__ import annotations

from pathlib import Path

import pytest

from planner.clusters.emulated.ray import emulated_ray
from planner.clusters.emulated.shaping import Shaping

RECORDS = 2_000_000
RATE_BYTES_PER_S = 10e6


@pytest.mark.soak
@pytest.mark.needs_root(why="caps the links of network namespaces")
def test_a_slow_node_is_left_out(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PLANNER_STATE", str(tmp_path / "state"))
    shaping = Shaping(rates_bytes_per_s=(*[RATE_BYTES_PER_S] * 4, RATE_BYTES_PER_S / 10))
    events = []
    with (
        emulated_ray(workers=5, shaping=shaping, directory=tmp_path, store_bytes=100_000_000) as cluster,
        cluster.session() as session,
    ):
        source = session.do({"do": "generate", "records": RECORDS}, lambda _: None)
        request = {"source": source["dataset"], "output": "output"}
        order = {"do": "sort", "request": request, "journal": str(tmp_path / "journal")}
        done = session.do(order, events.append)
    report = done["report"]
    assert (report["sorted"], report["checksum"]) == (True, source["checksum"])
    assert [event["node"] for event in events if event["event"] == "slow"] == ["node-5"]
    assert report["slow_nodes"]["node-5"].endswith("left out")
    assert report["lost_nodes"] == []
    assert "node-5" not in {copy["node"] for event in done["dataset"]["partitions"] for copy in event["copies"]}
