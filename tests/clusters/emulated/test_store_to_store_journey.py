"""`planner run --cloud emulated` from an object store and back: nodes reach it through a relay, and nothing is left."""

from __future__ import annotations

import csv
import gzip
import io
import json
import os
import subprocess
import sys
import urllib.request
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from refusals import refused

from planner.api.input_dataset import input_dataset
from planner.clusters.emulated import namespaces
from planner.clusters.emulated.cluster import HEAD, emulated_cluster
from planner.clusters.emulated.relay import relay_url
from planner.clusters.emulated.shaping import Shaping
from planner.distributed_sort.dataset import object_store
from planner.errors import BadInputError
from planner.native import core
from planner.sorting.sort_job import InputFormat

pytestmark = pytest.mark.xdist_group("root")  # namespaces and Ray, like the tests that need root
SERVER = Path(__file__).parents[2] / "emulators" / "s3_server.py"
RECORDS = 60_000


@pytest.fixture
def store(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[str]:
    """An object store on this machine, with input in two objects."""
    monkeypatch.setenv("PLANNER_STATE", str(tmp_path / "state"))
    words = [sys.executable, str(SERVER), "127.0.0.1", "0", str(10**9), os.devnull]
    with subprocess.Popen(words, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True) as server:
        try:
            assert server.stdout is not None
            url = f"http://127.0.0.1:{int(server.stdout.readline())}"
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
    fetch = "import sys, urllib.request; print(urllib.request.urlopen(sys.argv[1], timeout=60).status)"
    with emulated_cluster(workers=1, shaping=Shaping(), directory=tmp_path) as nodes:
        with relay_url(nodes, store) as url:
            assert url != store
            for node in (HEAD, 1):
                words = nodes.command(node, sys.executable, "-c", fetch, f"{url}/")
                assert subprocess.run(words, capture_output=True, text=True, check=True).stdout == "200\n"
            words = nodes.command(1, sys.executable, "-c", fetch, f"{store}/")
            assert subprocess.run(words, capture_output=True, check=False).returncode != 0
        words = nodes.command(1, sys.executable, "-c", fetch, f"{url}/")
        assert subprocess.run(words, capture_output=True, check=False).returncode != 0, "it ends with its context"
        if namespaces.are_usable():
            with pytest.raises(BadInputError, match="by http only"), relay_url(nodes, "https://s3.amazonaws.com"):
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
    sizes = object_store.list_files("s3://data/out")
    content = np.empty(sizes[report["manifest"]], np.uint8)
    object_store.read_range(report["manifest"], content, offset=0)
    manifest = json.loads(content.tobytes())
    assert manifest["records"] == RECORDS
    assert sum(sizes[part["copies"][0]["uri"]] for part in manifest["partitions"]) == RECORDS * 100
    assert not list((tmp_path / "state").rglob("*.json")), "nothing of the cluster is left"


def kinds() -> dict[str, tuple[list[str], list[bytes], Callable[[list[bytes]], list[Any]], list[Any]]]:
    """Return by format: the options, two objects, a reader of the output, and the expected result."""
    numbers = [n * 7919 % 20_011 for n in range(20_000)]
    ordered = sorted(numbers, reverse=True)
    lines = [b"".join(b"%05d x\n" % n for n in half) for half in (numbers[::2], numbers[1::2])]
    packed = [lines[0], gzip.compress(lines[1])]
    rows = [b"k,t\r\n" + b"".join(b'%d,"two\nlines"\r\n' % n for n in half) for half in (numbers[::2], numbers[1::2])]
    tables = list[bytes]()
    for half in (numbers[::2], numbers[1::2]):
        sink = pa.BufferOutputStream()
        pq.write_table(pa.table({"k": half, "t": ["text"] * len(half)}), sink, row_group_size=3000)
        tables.append(sink.getvalue().to_pybytes())
    return {
        "lines": (["--format", "lines", "--key", "1,1nr"], packed, lines_in, [b"%05d x" % n for n in ordered]),
        "csv": (["--format", "csv", "--key", "k:int:desc"], rows, rows_in, [[str(n), "two\nlines"] for n in ordered]),
        "parquet": (["--format", "parquet", "--key", "k:desc"], tables, keys_in, ordered),
    }


def test_what_cannot_be_sorted_is_refused_by_name(store: str) -> None:
    object_store.write_object("s3://data/in/a.txt", np.frombuffer(b"b\na\n", np.uint8))
    object_store.write_object("s3://data/in/b.txt.gz", np.frombuffer(gzip.compress(b"c\n") + b"x", np.uint8))
    with refused("broken-compression", "s3://data/in/b.txt.gz"):
        input_dataset(InputFormat(format="lines"), "s3://data/in", say=print)
    with refused("no-such-object", "s3://data/none"):
        input_dataset(InputFormat(format="lines"), "s3://data/none", say=print)
    with refused("unknown-column", "'k'", field="--key"):
        input_dataset(InputFormat(format="csv", key=["k"]), "s3://data/in/a.txt", say=print)
    with pytest.raises(BadInputError, match=r"s3://data/in/a.txt: .*no Parquet file"):
        input_dataset(InputFormat(format="parquet", key=["k"]), "s3://data/in/a.txt", say=print)


def test_what_is_planned_for_is_told(store: str, capsys: pytest.CaptureFixture[str]) -> None:
    sink = pa.BufferOutputStream()
    pq.write_table(pa.table({"k": [7] * 100_000}), sink)
    encoded = sink.getvalue().to_pybytes()
    object_store.write_object("s3://data/in/a.parquet", np.frombuffer(encoded, np.uint8))
    source = input_dataset(InputFormat(format="parquet", key=["k"], unique=True), "s3://data/in", say=print)
    assert source.bytes == 800_000
    told = capsys.readouterr().out
    assert "100000 rows in 1 object, none of which is divided while it is staged: 800 KB as they are sorted" in told
    assert "--unique leaves less than came" in told


def lines_in(objects: list[bytes]) -> list[Any]:
    return b"".join(objects).splitlines()


def rows_in(objects: list[bytes]) -> list[Any]:
    parts = [list(csv.reader(io.StringIO(content.decode(), newline=""))) for content in objects]
    assert all(part[0] == ["k", "t"] for part in parts)
    return [row for part in parts for row in part[1:]]


def keys_in(objects: list[bytes]) -> list[Any]:
    return [key for content in objects for key in pq.read_table(pa.BufferReader(content))["k"].to_pylist()]


@pytest.mark.soak
@pytest.mark.needs_root(why="makes network namespaces")
@pytest.mark.parametrize("form", ["lines", "csv", "parquet"])
def test_what_people_have_goes_from_a_store_and_back(store: str, tmp_path: Path, form: str) -> None:
    """Objects are staged whole; other programs read the output."""
    options, objects, read, expected = kinds()[form]
    for number, content in enumerate(objects):
        object_store.write_object(f"s3://data/in/{number}", np.frombuffer(content, np.uint8))
    object_store.write_object("s3://data/in/_SUCCESS", np.zeros(1, np.uint8))
    words = [sys.executable, "-m", "planner", "run", "--cloud", "emulated", "--nodes", "2", "--model", "indy", "--json"]
    words += ["--dir", str(tmp_path), "--input", "s3://data/in", "--output", "s3://data/out", *options]
    done = subprocess.run(words, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    report = json.loads(done.stdout)
    assert report["passed"] and [check["records"] for check in report["checks"]] == [20_000]
    assert "2 objects, none of which is divided" in done.stderr
    moved = {part["name"]: part["bytes"] for part in report["staging"]}
    assert moved["stage in"] == sum(map(len, objects))
    sizes = object_store.list_files("s3://data/out")
    parts = [uri for uri in sizes if uri != report["manifest"]]
    assert moved["stage out"] == sum(sizes[uri] for uri in parts)
    held = [np.empty(sizes[uri], np.uint8) for uri in parts]
    for uri, into in zip(parts, held, strict=True):
        object_store.read_range(uri, into, offset=0)
    assert read([into.tobytes() for into in held]) == expected
    assert all(uri.endswith(".parquet") for uri in parts) == (form == "parquet")
