"""A node whose link has a tenth of the others' rate is found, told of, and left out."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from planner.cluster.emulated_ray import emulated_ray
from planner.providers.emulated.shaping import parse_shaping

STORE_BYTES = 80_000_000
RECORDS = 1_600_000


@pytest.mark.soak
@pytest.mark.needs_root(why="caps the links of network namespaces")
@pytest.mark.parametrize("avoid_slow", [True, False])
def test_a_slow_node_is_found(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, *, avoid_slow: bool) -> None:
    monkeypatch.setenv("PLANNER_STATE", str(tmp_path / "state"))
    shaping = parse_shaping(rate="100Mbit,100Mbit,10Mbit,100Mbit")
    events: list[dict[str, Any]] = []
    with (
        emulated_ray(workers=4, shaping=shaping, directory=tmp_path, store_bytes=STORE_BYTES) as cluster,
        cluster.session() as session,
    ):
        source = session.do({"do": "generate", "records": RECORDS}, lambda _: None)
        request = {"source": source["dataset"], "output": "output", "copies": 2, "avoid_slow": avoid_slow}
        done = session.do({"do": "sort", "request": request, "journal": str(tmp_path / "j")}, events.append)
        left = [path for node in range(1, 5) for path in cluster.nodes.directory(node).glob(".planner-sort-*")]
    report = done["report"]
    assert (report["sorted"], report["checksum"]) == (True, source["checksum"])
    assert list(report["slow_nodes"]) == ["node-3"] == [each["node"] for each in events if each["event"] == "slow"]
    assert report["lost_nodes"] == []
    holders = {copy["node"] for each in done["dataset"]["partitions"] for copy in each["copies"]}
    assert ("node-3" in holders) is not avoid_slow
    assert ("left out" in report["slow_nodes"]["node-3"]) is avoid_slow
    assert left == []
