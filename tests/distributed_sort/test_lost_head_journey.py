"""The head is lost with all of Ray's state: an error states the remedy, and a new cluster on the same nodes goes on."""

from __future__ import annotations

import os
import signal
from pathlib import Path
from typing import Any

import pytest

from planner.clusters.emulated.cluster import HEAD
from planner.clusters.emulated.ray import emulated_ray, start_ray
from planner.clusters.emulated.shaping import Shaping
from planner.errors import IoFailureError

STORE_BYTES = 80_000_000
RECORDS = 600_000
REDUCE = "sort and reduce"


@pytest.mark.soak
@pytest.mark.quick
@pytest.mark.needs_root(why="ends the processes of network namespaces")
def test_a_lost_head_costs_at_most_the_running_phase(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PLANNER_STATE", str(tmp_path / "state"))
    monkeypatch.setenv("RAY_gcs_rpc_server_reconnect_timeout_s", "5")  # otherwise Ray's driver waits for a minute
    shaping = Shaping()
    with emulated_ray(workers=2, shaping=shaping, directory=tmp_path, store_bytes=STORE_BYTES) as cluster:
        nodes = cluster.nodes

        def lose_head(event: dict[str, Any]) -> None:
            if event["event"] == "progress" and event["phase"] == REDUCE:
                for pid in nodes.pids(HEAD):
                    os.kill(pid, signal.SIGKILL)

        with cluster.session() as session:
            source = session.do({"do": "generate", "records": RECORDS}, lambda _: None)
            request = {"source": source["dataset"], "output": "output", "copies": 2}
            order = {"do": "sort", "request": request, "journal": str(tmp_path / "journal")}
            with pytest.raises(IoFailureError, match=r"(?s)head.* is lost.* run the same command again"):
                session.do(order, lose_head)
        for node in range(nodes.workers + 1):
            nodes.end(node)
        with start_ray(nodes, store_bytes=STORE_BYTES).session() as session:
            done = session.do(order, lambda _: None)
    report = done["report"]
    assert (report["sorted"], report["checksum"]) == (True, source["checksum"])
    assert report["resumed"]
    assert report["moved_bytes"]["input_read"] == 0, "the first phase is not done again"
    assert all(len(partition["copies"]) == 2 for partition in done["dataset"]["partitions"])
