"""Rates of the links of emulated nodes: the payload of a cap or, without a cap, NetBench's measurement."""

from __future__ import annotations

import json
import os
import re
import secrets
import subprocess
import sys
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from typing import Any, Final

from planner.clusters.emulated.cluster import HEAD, EmulatedCluster
from planner.errors import IoFailureError

_BENCH: Final = (sys.executable, "-P", "-m", "planner", "bench", "net")
_TOKEN: Final = "PLANNER_BENCH_TOKEN"
_SECONDS: Final = 1.0
_REPEATS: Final = 2
_LISTENING: Final = re.compile(rb"listening on port (\d+)")
_FRAME_BYTES: Final = 9000
_HEADER_BYTES: Final = 14 + 20 + 32
"""Ethernet, IPv4, and TCP with its time stamps, in every frame that a cap counts."""


def payload_bytes_per_s(cap_bytes_per_s: float) -> float:
    """Return the payload rate of a capped link, without headers."""
    return cap_bytes_per_s * (_FRAME_BYTES + 14 - _HEADER_BYTES) / (_FRAME_BYTES + 14)


def measure_links(nodes: EmulatedCluster) -> float:
    """Return the payload in bytes/s that the slowest node exchanges with all others in each direction while all do so;
    for a lone node, the rate between two of its processes.

    Raises IoFailureError with the instrument's message.
    """
    rates = [float(run["slowest_bytes_per_s"]) for run in bench_links(nodes)["runs"]]
    return sum(rates) / len(rates)


def bench_links(nodes: EmulatedCluster) -> dict[str, Any]:
    """Return NetBench's result for all nodes, in their order. Raises IoFailureError with its message."""
    ends = [*range(1, nodes.workers + 1)] * (2 if nodes.workers == 1 else 1)
    environment = {**os.environ, _TOKEN: secrets.token_hex(32)}
    with ExitStack() as agents:
        addresses = [agents.enter_context(_agent(nodes, node, environment)) for node in ends]
        words = [*_BENCH, "--json", "--seconds", f"{_SECONDS:g}", "--warm-up", "0.5", "--repeats", str(_REPEATS)]
        words += [word for address in addresses for word in ("--node", address)]
        done = subprocess.run(nodes.command(HEAD, *words), env=environment, capture_output=True, text=True, check=False)
    if done.returncode:
        raise IoFailureError(
            "the emulated links cannot be measured", done.stderr.strip().splitlines()[-4:], code="not-measured"
        )
    document: dict[str, Any] = json.loads(done.stdout)
    return document


@contextmanager
def _agent(nodes: EmulatedCluster, node: int, environment: dict[str, str]) -> Iterator[str]:
    """Yield the address of a NetBench agent on a node; the agent ends with the context."""
    words = nodes.command(node, *_BENCH, "--agent", "--listen", f"{nodes.address(node)}:0")
    with subprocess.Popen(words, env=environment, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE) as agent:
        try:
            yield f"{nodes.address(node)}:{_port(agent, nodes.name(node))}"
        finally:
            agent.kill()


def _port(agent: subprocess.Popen[bytes], name: str) -> int:
    """Return an agent's port, once it prints it."""
    assert agent.stderr is not None
    output = []
    for line in agent.stderr:
        if listening := _LISTENING.search(line):
            return int(listening[1])
        output.append(line.decode(errors="replace").rstrip())
    raise IoFailureError(f"NetBench does not start on {name}", output[-4:], code="not-started")
