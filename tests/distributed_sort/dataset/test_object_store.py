"""Ranges of objects: from obstore's store in memory, and from a server that counts."""

from __future__ import annotations

import re
import sys
import threading
from collections.abc import Iterator
from datetime import timedelta
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import ClassVar

import numpy as np
import pytest
from obstore.store import MemoryStore, S3Store
from refusals import refused

from planner.distributed_sort.content.content import content_of
from planner.distributed_sort.dataset import object_store
from planner.distributed_sort.dataset.dataset import Copy, Layout, Partition, TextFormat
from planner.distributed_sort.dataset.object_store import read_ranges
from planner.distributed_sort.dataset.partition_reader import read_windows
from planner.errors import IoFailureError, PlannerError

CONTENT = bytes(range(200))


@pytest.fixture
def store(monkeypatch: pytest.MonkeyPatch) -> None:
    local = MemoryStore()
    monkeypatch.setattr(object_store, "_store", lambda _: local)
    object_store.write_object("s3://bucket/in", np.frombuffer(CONTENT, np.uint8))


@pytest.mark.usefixtures("store")
def test_ranges_come_in_the_order_they_are_asked_in() -> None:
    ranges = read_ranges("s3://bucket/in", starts=[150, 0, 7, 7], length=10)
    assert [content.tobytes() for content in ranges] == [CONTENT[start : start + 10] for start in (150, 0, 7, 7)]


@pytest.mark.usefixtures("store")
def test_windows_of_an_object_are_as_those_of_a_file() -> None:
    partition = Partition(records=19, copies=(Copy(uri="s3://bucket/in", offset=5),))
    windows = read_windows(partition, Layout(record_size=10, key_size=2), starts=[0, 18], records=1)
    assert [window.tobytes() for window in windows] == [CONTENT[5:15], CONTENT[185:195]]


@pytest.mark.usefixtures("store")
@pytest.mark.parametrize("start", [191, 195])
def test_an_object_that_ends_too_early_is_named(start: int) -> None:
    with pytest.raises(IoFailureError, match="s3://bucket/in"):
        read_ranges("s3://bucket/in", starts=[0, start], length=10)


@pytest.mark.usefixtures("store")
def test_an_object_that_is_not_there_is_named() -> None:
    with pytest.raises(IoFailureError, match="cannot read s3://bucket/absent"):
        read_ranges("s3://bucket/absent", starts=[0], length=10)


class CountingServer(ThreadingHTTPServer):
    """Answers any request with the requested range of its object, and counts the bytes."""

    def __init__(self, content: bytes) -> None:
        super().__init__(("127.0.0.1", 0), _Ranges)
        self.content = content
        self.sent_bytes: list[int] = []


class _Ranges(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    server: CountingServer

    def do_GET(self) -> None:
        content, (first, last) = self.server.content, map(int, re.findall(r"\d+", self.headers["Range"]))
        body = content[first : last + 1]
        self.server.sent_bytes.append(len(body))
        self.send_response(206)
        self.send_header("Content-Length", str(len(body)))
        self.send_header("Content-Range", f"bytes {first}-{first + len(body) - 1}/{len(content)}")
        self.send_header("ETag", '"1"')
        self.send_header("Last-Modified", "Wed, 25 Nov 2026 10:00:00 GMT")
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *_: object) -> None:
        """Be silent."""


@pytest.fixture
def server(monkeypatch: pytest.MonkeyPatch) -> Iterator[CountingServer]:
    lines = b"".join(b"%099d\n" % number for number in range(200_000))
    with CountingServer(lines) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        address = f"http://127.0.0.1:{server.server_port}"
        local = S3Store(
            "counted",
            config={"access_key_id": "t", "secret_access_key": "t", "region": "r", "endpoint": address},
            client_options={"allow_http": True},
        )
        monkeypatch.setattr(object_store, "_store", lambda _: local)
        yield server
        server.shutdown()


@pytest.mark.parametrize("layout", [Layout(), Layout.of_text(TextFormat())])
def test_a_sample_takes_a_small_part_of_an_object(server: CountingServer, layout: Layout) -> None:
    whole = len(server.content)
    partition = Partition(records=whole // layout.record_size, copies=(Copy(uri="s3://counted/in"),))
    content_of(layout).sample(partition, 400)
    assert 6 <= len(server.sent_bytes) <= 60
    assert 40_000 <= sum(server.sent_bytes) < 0.1 * whole


class _Busy(BaseHTTPRequestHandler):
    """Refuses the first `left` requests, then takes any object in one request."""

    protocol_version = "HTTP/1.1"
    left = 99
    requests: ClassVar[list[str]] = []

    def do_PUT(self) -> None:
        self.rfile.read(int(self.headers["Content-Length"]))
        self.requests.append(self.path)
        type(self).left -= 1
        self.send_response(503 if self.left >= 0 else 200)
        self.send_header("ETag", '"1"')
        self.send_header("Content-Length", "0")
        self.end_headers()

    do_POST = do_PUT

    def log_message(self, *_: object) -> None:
        """Be silent."""


def test_a_store_that_is_busy_is_waited_for_and_no_parts_are_left(monkeypatch: pytest.MonkeyPatch) -> None:
    with ThreadingHTTPServer(("127.0.0.1", 0), _Busy) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        for name, value in {
            "AWS_ENDPOINT_URL": f"http://127.0.0.1:{server.server_port}", "AWS_ALLOW_HTTP": "true",
            "AWS_ACCESS_KEY_ID": "t", "AWS_SECRET_ACCESS_KEY": "t", "AWS_REGION": "us-east-1",
        }.items():  # fmt: skip
            monkeypatch.setenv(name, value)
        at_once = {"init_backoff": timedelta(milliseconds=1), "max_backoff": timedelta(milliseconds=2), "base": 2}
        monkeypatch.setitem(object_store.RETRIES, "backoff", at_once)
        assert object_store.write_object("s3://busy-for-a-while/out", np.zeros(9_000_000, np.uint8)) == 9_000_000
        server.shutdown()
    assert len(_Busy.requests) == 100 and not any("uploads" in path for path in _Busy.requests)


def test_addresses_of_hadoop_are_known_by_this_programs_own_uri(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("AZURE_STORAGE_ACCOUNT_NAME", "mine")
    known = {
        "s3a://b/k": "s3://b/k",
        "abfss://c@mine.dfs.core.windows.net/a/b": "az://c/a/b",
        "wasbs://c@mine.blob.core.windows.net/": "az://c/",
        "s3://b/k": "s3://b/k",
        "/a/b@c": "/a/b@c",
    }
    assert {address: object_store.planner_uri(address) for address in known} == known


LISTING = b"""<?xml version="1.0"?><ListBucketResult><Name>b</Name><IsTruncated>false</IsTruncated><Contents>
<Key>out/</Key><LastModified>2026-11-02T10:00:00.000Z</LastModified><ETag>"e"</ETag><Size>0</Size></Contents></ListBucketResult>"""
NO_BUCKET = b"""<?xml version="1.0"?>
<Error><Code>NoSuchBucket</Code><Message>The specified bucket does not exist</Message></Error>"""


class AnsweringServer(ThreadingHTTPServer):
    """Answers any request with the given status and content."""

    def __init__(self, status: int, content: bytes) -> None:
        super().__init__(("127.0.0.1", 0), _Answer)
        self.status, self.content = status, content


class _Answer(BaseHTTPRequestHandler):
    server: AnsweringServer

    def do_GET(self) -> None:
        self.send_response(self.server.status)
        self.send_header("Content-Length", str(len(self.server.content)))
        self.end_headers()
        self.wfile.write(self.server.content)

    def log_message(self, *_: object) -> None:
        """Log nothing."""


def answering(monkeypatch: pytest.MonkeyPatch, status: int, content: bytes) -> AnsweringServer:
    """Replace every bucket's store by a server with this answer."""
    server = AnsweringServer(status, content)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    url = f"http://127.0.0.1:{server.server_port}"
    store = S3Store("b", endpoint=url, allow_http=True, region="r", access_key_id="a", secret_access_key="s")
    monkeypatch.setattr(object_store, "_store", lambda _: store)
    return server


def test_the_mark_of_a_folder_is_no_object_below_it(monkeypatch: pytest.MonkeyPatch) -> None:
    """Consoles mark a folder by an empty object whose name ends with a slash."""
    with answering(monkeypatch, 200, LISTING) as server:
        assert object_store.list_files("s3://b/out") == {}
        server.shutdown()


def test_the_store_says_why_in_its_own_words(monkeypatch: pytest.MonkeyPatch) -> None:
    with answering(monkeypatch, 404, NO_BUCKET) as server:
        with refused("store-failed", "s3://b/in: NoSuchBucket", kind=IoFailureError):
            object_store.list_files("s3://b/in")
        server.shutdown()


def test_a_package_that_is_absent_is_named_with_the_machine(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PLANNER_NODE_NAME", "my-laptop")
    monkeypatch.setitem(sys.modules, "obstore", None)
    with refused("missing-package", "my-laptop", "obstore", kind=PlannerError):
        object_store.list_files("s3://bucket/in")
