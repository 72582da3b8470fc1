"""A cluster on one machine: network namespaces, joined by a bridge, their links capped in both directions by tc."""

from __future__ import annotations

import itertools
import os
import subprocess
import sys
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager

TOKEN = "a token for tests"
PORT = 7070
NETWORK = f"10.77.{os.getpid() % 256}"  # two runs of the tests at once must not route to each other
_LETTERS = itertools.cycle("abcdefghijklmnopqrstuvwxyz")  # names are free again only some time after a deletion
AGENT = [sys.executable, "-c", "from planner.cli.app import main; main()", "bench", "net", "--agent"]


def run(*words: str) -> None:
    subprocess.run(words, check=True, capture_output=True, text=True)


class Cluster:
    """Nodes with the addresses NETWORK.1, NETWORK.2, ..., each an agent in a namespace of its own."""

    def __init__(self, prefix: str) -> None:
        self.prefix = prefix
        self.agents: list[subprocess.Popen[str]] = []

    def namespace(self, node: int) -> str:
        return f"{self.prefix}-{node}"

    def address(self, node: int) -> str:
        return f"{NETWORK}.{node + 1}"

    def addresses(self) -> list[str]:
        return [f"{self.address(node)}:{PORT}" for node in range(len(self.agents))]

    def command(self, node: int, *words: str) -> list[str]:
        """Return `words` as a command in the namespace of `node`."""
        return ["ip", "netns", "exec", self.namespace(node), *words]

    def cap(self, node: int, megabit_per_s: int) -> None:
        """Limit the node's sent and received data, in bits on the wire."""
        limit = ["tbf", "rate", f"{megabit_per_s}mbit", "burst", "128kb", "latency", "50ms"]
        run(*self.command(node, "tc", "qdisc", "replace", "dev", "eth0", "root", *limit))
        run("tc", "qdisc", "replace", "dev", f"{self.prefix}v{node}", "root", *limit)

    def cut(self, node: int) -> None:
        """Take the node's link down: nothing arrives any more, and no node is notified."""
        run("ip", "link", "set", f"{self.prefix}v{node}", "down")

    def add(self, node: int, stack: ExitStack) -> None:
        name, outside = self.namespace(node), f"{self.prefix}v{node}"
        run("ip", "netns", "add", name)
        stack.callback(run, "ip", "netns", "delete", name)
        run("ip", "link", "add", outside, "type", "veth", "peer", "name", "eth0", "netns", name)
        stack.callback(run, "ip", "link", "delete", outside)
        run("ip", "link", "set", outside, "master", f"{self.prefix}br", "up")
        run("ip", "-n", name, "addr", "add", f"{self.address(node)}/24", "dev", "eth0")
        for device in ("lo", "eth0"):
            run("ip", "-n", name, "link", "set", device, "up")

    def start_agent(self, node: int, stack: ExitStack) -> None:
        environment = {**os.environ, "PLANNER_BENCH_TOKEN": TOKEN}
        listen = ["--listen", f"{self.address(node)}:{PORT}"]
        agent = subprocess.Popen(
            self.command(node, *AGENT, *listen), env=environment, stderr=subprocess.PIPE, text=True
        )
        stack.callback(_end, agent)
        self.agents.append(agent)

    def wait_until_listening(self) -> None:
        for agent in self.agents:
            assert agent.stderr is not None
            output = agent.stderr.readline()
            assert "listening" in output, output


@contextmanager
def cluster(caps_megabit_per_s: Sequence[int | None]) -> Iterator[Cluster]:
    """Yield a running cluster whose nodes' links have these caps (None: no cap); all of it is removed afterwards.

    The caller's own namespace has the address NETWORK.254 on the bridge.
    """
    made = Cluster(f"p{os.getpid() % 100000}{next(_LETTERS)}")
    bridge = f"{made.prefix}br"
    with ExitStack() as stack:
        run("ip", "link", "add", bridge, "type", "bridge")
        stack.callback(run, "ip", "link", "delete", bridge)
        run("ip", "addr", "add", f"{NETWORK}.254/24", "dev", bridge)
        run("ip", "link", "set", bridge, "up")
        for node, limit in enumerate(caps_megabit_per_s):
            made.add(node, stack)
            if limit is not None:
                made.cap(node, limit)
        for node in range(len(caps_megabit_per_s)):
            made.start_agent(node, stack)
        made.wait_until_listening()
        yield made


def _end(process: subprocess.Popen[str]) -> None:
    process.kill()
    process.wait()
    if process.stderr is not None:
        process.stderr.close()
