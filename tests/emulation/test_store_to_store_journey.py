"""`planner run --cloud emulated` from an object store and back: nodes reach it through a relay, and nothing stays."""

from __future__ import annotations

import json
import os
import socket
import subprocess
import sys
import urllib.request
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest
from emulated_machines import wait_for

from planner.distributed_sort import object_store
from planner.emulation import namespaces
from planner.emulation.cluster import HEAD, emulated_cluster
from planner.emulation.relay import relayed
from planner.emulation.shaping import Shaping
from planner.errors import BadInputError
from planner.native import core

pytestmark = pytest.mark.xdist_group("root")  # namespaces and Ray, as the tests that need root
SERVER = Path(__file__).parents[1] / "emulators" / "s3_server.py"
RECORDS = 60_000


@pytest.fixture
def store(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[str]:
    """An object store on this machine, with input in two objects."""
    monkeypatch.setenv("PLANNER_STATE", str(tmp_path / "state"))
    with socket.create_server(("127.0.0.1", 0)) as free:
        port = free.getsockname()[1]
    words = [sys.executable, str(SERVER), "127.0.0.1", str(port), str(10**9), os.devnull]
    with subprocess.Popen(words, stderr=subprocess.DEVNULL) as server:
        try:
            url = f"http://127.0.0.1:{port}"
            wait_for(f"{url}/")
            urllib.request.urlopen(urllib.request.Request(f"{url}/data", method="PUT"), timeout=30).close()
            for name, value in {
                "AWS_ENDPOINT_URL": url, "AWS_ALLOW_HTTP": "true", "AWS_REGION": "us-east-1",
                "AWS_ACCESS_KEY_ID": "tests", "AWS_SECRET_ACCESS_KEY": "tests",
            }.items():  # fmt: skip
                monkeypatch.setenv(name, value)
            monkeypatch.delenv("AWS_ENDPOINT_URL_S3", raising=False)
            object_store._store.cache_clear()
            yield url
        finally:
            object_store._store.cache_clear()
            server.kill()


@pytest.mark.needs_root(why="makes network namespaces")
def test_nodes_reach_the_store_and_nothing_else_of_this_machine(store: str, tmp_path: Path) -> None:
    fetch = "import sys, urllib.request; print(urllib.request.urlopen(sys.argv[1], timeout=5).status)"
    with emulated_cluster(workers=1, shaping=Shaping(), directory=tmp_path) as nodes:
        with relayed(nodes, store) as url:
            assert url != store
            for node in (HEAD, 1):
                words = nodes.command(node, sys.executable, "-c", fetch, f"{url}/")
                assert subprocess.run(words, capture_output=True, text=True, check=True).stdout == "200\n"
            words = nodes.command(1, sys.executable, "-c", fetch, f"{store}/")
            assert subprocess.run(words, capture_output=True, check=False).returncode != 0
        words = nodes.command(1, sys.executable, "-c", fetch, f"{url}/")
        assert subprocess.run(words, capture_output=True, check=False).returncode != 0, "it ends with its context"
        if namespaces.usable():
            with pytest.raises(BadInputError, match="by http alone"), relayed(nodes, "https://s3.amazonaws.com"):
                pass


@pytest.mark.soak
@pytest.mark.quick
@pytest.mark.needs_root(why="makes network namespaces")
def test_from_a_store_and_back_without_caps(store: str, tmp_path: Path) -> None:
    for number in range(2):
        records = np.empty(RECORDS * 50, np.uint8)
        core.generate_records(records.data, start=number * RECORDS // 2, skewed=False, threads=1)
        object_store.write_object(f"s3://data/in/{number}", records)
    words = [sys.executable, "-m", "planner", "run", "--cloud", "emulated", "--nodes", "2", "--model", "indy", "--json"]
    words += ["--dir", str(tmp_path), "--input", "s3://data/in", "--output", "s3://data/out"]
    done = subprocess.run(words, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    report = json.loads(done.stdout)
    assert report["passed"]
    assert [part["name"] for part in report["staging"]] == ["stage in", "stage out"]
    assert all(part["predicted_s"] > 0 and part["measured_s"] > 0 for part in report["phases"])
    assert report["machine"]["network_bytes_per_s"] > 0
    sizes = object_store.listed("s3://data/out")
    content = np.empty(sizes[report["manifest"]], np.uint8)
    object_store.read_range(report["manifest"], content, offset=0)
    manifest = json.loads(content.tobytes())
    assert manifest["records"] == RECORDS
    assert sum(sizes[part["copies"][0]["uri"]] for part in manifest["partitions"]) == RECORDS * 100
    assert not list((tmp_path / "state").rglob("*.json")), "nothing of the cluster is left"
