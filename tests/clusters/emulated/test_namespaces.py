"""Names, addresses and token buckets of namespaces, and the ending of all processes in one."""

from __future__ import annotations

import secrets
import subprocess
import sys
from collections.abc import Iterator

import pytest

from planner.clusters.emulated.namespaces import Namespaces, namespaces_of, token_bucket_filter
from planner.clusters.emulated.shaping import Bucket, Cap
from planner.errors import IoFailureError


def test_every_node_has_an_address_of_its_own() -> None:
    nodes = Namespaces("abc", 201)
    addresses = [nodes.address(node) for node in range(500)]
    assert addresses[0] == "10.0.0.1" and addresses[249] == "10.0.1.0"
    assert len(set(addresses)) == 500
    assert nodes.names()[0] == "planner-emu-abc-0" and nodes.names()[-1] == "planner-emu-abc-switch"


def test_a_cap_is_a_token_bucket() -> None:
    plain = token_bucket_filter(Cap(bytes_per_s=50e6))
    assert plain == ["tbf", "rate", "400000000bit", "burst", "200000b", "latency", "20ms"]
    bucket = Bucket(size_bytes=10**7, burst_bytes_per_s=20e6)
    burst = token_bucket_filter(Cap(bytes_per_s=1e6, bucket=bucket))
    assert burst[:7] == ["tbf", "rate", "8000000bit", "burst", "10000000b", "peakrate", "160000000bit"]


@pytest.fixture
def made() -> Iterator[Namespaces]:
    namespaces = Namespaces(secrets.token_hex(3), 1)
    namespaces.create()
    try:
        yield namespaces
    finally:
        namespaces.remove()
        assert namespaces_of(namespaces.cluster_id) == []


@pytest.mark.needs_root(why="makes network namespaces")
def test_what_lives_in_a_node_is_ended_with_its_children(made: Namespaces) -> None:
    begin = "import subprocess, sys; subprocess.Popen(['sleep', '600']); print(1, flush=True); sys.stdin.read()"
    words = ["ip", "netns", "exec", made.name(0), sys.executable, "-c", begin]
    with subprocess.Popen(words, stdin=subprocess.PIPE, stdout=subprocess.PIPE) as process:
        assert process.stdout is not None
        assert process.stdout.readline() == b"1\n"
        assert len(made.pids(0)) == 2
        made.end(0)
        assert made.pids(0) == []


@pytest.mark.needs_root(why="makes network namespaces")
def test_what_the_system_says_is_told(made: Namespaces) -> None:
    with pytest.raises(IoFailureError, match=f"ip netns add {made.switch}: .*exists"):
        made.create()
