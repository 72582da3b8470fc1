"""A cluster whose nodes have only Ray sorts what a driver sends with its code."""

from __future__ import annotations

import json
import os
import shutil
import socket
import subprocess
import sys
import tempfile
import time
import venv
from collections.abc import Iterator
from contextlib import suppress
from importlib.metadata import distribution
from pathlib import Path
from typing import Any

import duckdb
import psutil
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
import zstandard
from packaging.requirements import Requirement

import planner
from planner.compression.snappy_frames import SnappyCompressor
from planner.distributed_sort.connection import needed_distributions, stage
from planner.distributed_sort.dataset.dataset import TextFormat
from planner.distributed_sort.dataset.text_dataset import lines_of

ROWS = 20_000
SHARED = {"bin", "__pycache__", ".."}


def required(*names: str) -> set[str]:
    """Return distributions and all their dependencies without extras."""
    found, left = set[str](), list(names)
    while left:
        if (name := left.pop()) not in found:
            found.add(name)
            needs = [Requirement(line) for line in distribution(name).requires or ()]
            left += [need.name for need in needs if need.marker is None or need.marker.evaluate({"extra": ""})]
    return found


def only_ray(folder: Path) -> Path:
    """Return the interpreter of an environment that has Ray in this version, with its client."""
    venv.create(folder, with_pip=False)
    packages = next(folder.glob("lib/python3*/site-packages"))
    for name in required("ray", "grpcio"):
        for top in {file.parts[0] for file in distribution(name).files or ()} - SHARED:
            if not (packages / top).exists():
                (packages / top).symlink_to(str(distribution(name).locate_file(top)))
    return folder / "bin" / "python"


def free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


@pytest.fixture(scope="module")
def bare_cluster(tmp_path_factory: pytest.TempPathFactory) -> Iterator[dict[str, str]]:
    """Yield the addresses of a head, in Ray's own form and for Ray's client."""
    folder = tmp_path_factory.mktemp("bare")
    sockets = tempfile.mkdtemp(prefix="ray-", dir="/tmp")  # socket names must be short
    python = only_ray(folder / "venv")
    with pytest.raises(subprocess.CalledProcessError):
        subprocess.run([python, "-c", "import numpy"], check=True, stderr=subprocess.DEVNULL)
    (folder / "node").mkdir()
    port, client = free_port(), free_port()
    words = [
        "-m", "ray.scripts.scripts", "start", "--head", "--block", f"--port={port}",
        f"--ray-client-server-port={client}",
        "--include-dashboard=false", "--num-cpus=2", "--object-store-memory=200000000",
        f"--temp-dir={sockets}",
    ]  # fmt: skip
    token = {"RAY_AUTH_MODE": "token", "RAY_AUTH_TOKEN": "5" * 64}
    environment = os.environ | token | {"PLANNER_NODE_DIRECTORY": str(folder / "node"), "PYTHONSAFEPATH": "1"}
    with (folder / "log").open("wb") as log:
        head = subprocess.Popen([python, *words], env=environment, stdout=log, stderr=log, start_new_session=True)
    try:
        until = time.monotonic() + 120
        while b"Ray runtime started" not in (folder / "log").read_bytes():
            assert head.poll() is None and time.monotonic() < until, (folder / "log").read_text()
            time.sleep(0.2)
        with pytest.MonkeyPatch.context() as patch:
            for name, value in token.items():
                patch.setenv(name, value)
            yield {"own": f"127.0.0.1:{port}", "client": f"ray://127.0.0.1:{client}"}
    finally:
        with suppress(psutil.NoSuchProcess):
            for process in psutil.Process(head.pid).children(recursive=True):
                process.kill()
        head.kill()
        head.wait()
        shutil.rmtree(sockets, ignore_errors=True)


@pytest.mark.soak
@pytest.mark.parametrize("kind", ["own", "client"])
def test_nodes_without_this_package_sort(bare_cluster: dict[str, str], tmp_path: Path, kind: str) -> None:
    """Text needs numpy there, and Parquet also Arrow; both are sent."""
    (tmp_path / "in").mkdir()
    rows = pa.table({"k": [n * 7919 % 20_011 for n in range(ROWS)], "t": ["text"] * ROWS})
    pq.write_table(rows, tmp_path / "in" / "a.parquet")
    events: list[dict[str, Any]] = []
    done = planner.sort(
        tmp_path / "in", tmp_path / f"{kind}.json", format="parquet", key="k", ray=bare_cluster[kind],
        on_event=events.append,
    )  # fmt: skip
    assert done.count == ROWS
    (shipped,) = [event["packages"] for event in events if event["event"] == "shipped"]
    assert {"sortplanner", "numpy", "pyarrow"} <= set(shipped)
    from planner.distributed_sort.dataset.dataset import read_manifest

    files = [partition.uri for partition in read_manifest(tmp_path / f"{kind}.json").partitions]
    held = duckdb.execute("select k from read_parquet(?)", [files]).fetchall()
    assert [key for (key,) in held] == sorted(rows["k"].to_pylist())


def test_an_order_needs_what_its_data_asks_for(tmp_path: Path) -> None:
    assert needed_distributions({"do": "generate", "records": 1}) == ["sortplanner", "numpy", "psutil"]
    tables = {"partitions": [], "layout": {"table": {"schema": ""}}}
    request = {"source": tables, "output": "s3://b/out"}
    assert needed_distributions({"do": "sort", "request": request})[3:] == ["pyarrow", "obstore"]
    assert needed_distributions({"do": "validate", "dataset": tables})[3:] == ["pyarrow"]
    (tmp_path / "a.zst").write_bytes(zstandard.compress(b"a line\n"))
    frames = SnappyCompressor()
    packed = frames.compress(b"a line\n") + frames.flush()
    alone = json.loads(lines_of([str(tmp_path / "a.zst")], TextFormat()).to_json())
    assert needed_distributions({"do": "validate", "dataset": alone})[3:] == ["zstandard"]
    for number in range(70):  # the number that are joined
        (tmp_path / f"{number}.sz").write_bytes(packed)
    joined = json.loads(lines_of([str(path) for path in sorted(tmp_path.glob("*.sz"))], TextFormat()).to_json())
    assert len(joined["partitions"]) < 70
    assert needed_distributions({"do": "validate", "dataset": joined})[3:] == ["cramjam"]


def test_what_is_staged_can_be_imported_from_there_alone(tmp_path: Path) -> None:
    assert stage(["sortplanner", "numpy", "psutil"], tmp_path) == {"working_dir": str(tmp_path)}
    code = """
from importlib.metadata import version
import planner.distributed_sort.node_tasks.node_tasks as tasks
print(tasks.__file__, version("sortplanner"))
"""
    alone = [sys.executable, "-P", "-S", "-c", code]
    done = subprocess.run(alone, env={"PYTHONPATH": str(tmp_path)}, capture_output=True, text=True, check=True)
    assert done.stdout.split() == [
        str(tmp_path / "planner/distributed_sort/node_tasks/node_tasks.py"),
        distribution("sortplanner").version,
    ]
