"""Machines that cannot be reached while they are measured."""

from __future__ import annotations

import json
import socket
import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import pytest
from refusals import refused

from planner.clouds.protocol import Node
from planner.clusters.remote.bootstrap import Equipped
from planner.clusters.remote.ssh import Ssh, UnreachableError
from planner.clusters.runs import node_benchmarks
from planner.clusters.runs.node_benchmarks import Effort, disk_documents, measure, network_document
from planner.errors import IoFailureError


class PartlySilent(Ssh):
    """Some machines cannot be reached; others answer with a document."""

    silent: frozenset[str] = frozenset()

    def run(self, node: str, script: str, *, within_s: float) -> str:
        if node in self.silent:
            raise UnreachableError(f"{node} cannot be reached")
        return "{}"


def machine(name: str, *, head: bool = False) -> Equipped:
    node = Node(id=name, region="r", zone="r-a", head=head, state="running", instance_type="t")
    return Equipped(node=node, vcpus=2, memory_bytes=1, disks=("/mnt/a",))


MACHINES = (machine("head", head=True), machine("worker"))


def ssh(tmp_path: Path, *silent: str) -> Ssh:
    made = PartlySilent([machine.node for machine in MACHINES], directory=tmp_path, key=tmp_path / "key")
    made.silent = frozenset(silent)
    return made


def test_a_machine_that_is_not_reached_is_told_and_left_out(tmp_path: Path) -> None:
    outcomes = disk_documents(ssh(tmp_path, "worker"), MACHINES, Effort())
    assert outcomes["head"] == {}
    assert isinstance(outcomes["worker"], IoFailureError)


def test_without_the_head_no_machine_is_called_slow_or_failed(tmp_path: Path) -> None:
    """All others are reached through the head: the connection is lost, and the preparation starts again."""
    with refused("unreachable", kind=UnreachableError):
        disk_documents(ssh(tmp_path, "head", "worker"), MACHINES, Effort())
    with refused("unreachable", kind=UnreachableError):
        network_document(ssh(tmp_path, "head", "worker"), MACHINES, Effort(), is_doubling=False, say=print)


class BusyForAWhile(Ssh):
    """Machines that cannot reach each other in the first `failures` measurements of their network."""

    failures = 0
    lengths: tuple[str, ...] = ()

    def run(self, node: str, script: str, *, within_s: float) -> str:
        rate = {"read_bytes_per_s": 1.0, "write_bytes_per_s": 2.0}
        if "bench disk" in script:
            return json.dumps({"rates": [rate | {"mode": mode} for mode in ("read", "write", "mixed")]})
        if "bench net --json" not in script:
            return ""
        self.lengths += (script.split("--seconds ")[1].split(maxsplit=1)[0],)
        if len(self.lengths) <= self.failures:
            raise IoFailureError("head: a script failed (6)", ["some nodes do not reach each other"])
        per_node = [{"address": f"10.0.0.{number}:7070", "bytes_per_s": 3.0} for number in (1, 2)]
        return json.dumps({"runs": [{"per_node": per_node}]})


def addressed() -> list[Equipped]:
    return [
        replace(machine, node=replace(machine.node, private_address=f"10.0.0.{number}"))
        for number, machine in enumerate(MACHINES, 1)
    ]


def test_a_network_that_could_not_be_measured_is_measured_once_more_for_longer(tmp_path: Path) -> None:
    ways, lines = BusyForAWhile([machine.node for machine in MACHINES], directory=tmp_path, key=tmp_path / "key"), []
    ways.failures = 1
    rates = measure(ways, addressed(), effort=Effort(seconds=5), results_directory=tmp_path / "m", say=lines.append)
    assert rates.rates["network"] == {"head": 3.0, "worker": 3.0} and ways.lengths == ("5", "20")
    assert any("do not reach each other" in text and "once more" in text for text in lines)
    ways.failures = 4
    with pytest.raises(IoFailureError, match="a script failed"):
        measure(ways, addressed(), effort=Effort(seconds=5), results_directory=tmp_path / "m", say=lines.append)
    assert len(ways.lengths) == 4


def test_a_round_of_instruments_measures_the_network_once_more_too(tmp_path: Path) -> None:
    """Observed: a link of 10 Mbit/s carried nothing to one of three peers in 2.5 s, and the slow machine was kept."""
    ways, lines = BusyForAWhile([machine.node for machine in MACHINES], directory=tmp_path, key=tmp_path / "key"), []
    ways.failures = 1
    document, names, _ = network_document(ways, addressed(), Effort(seconds=0.5), is_doubling=True, say=lines.append)
    assert len(document["runs"]) == 1 and sorted(names.values()) == ["head", "worker"]
    assert ways.lengths == ("0.5", "2") and "once more" in lines[0]


AGENT = """#!/bin/sh
'''exec' "{python}" "$0" "$@"
'''
import socket, sys, time
address, port = sys.argv[sys.argv.index("--listen") + 1].rsplit(":", 1)
with socket.create_server((address, int(port))):
    print("listening", flush=True)
    time.sleep(60)
"""


def test_an_agent_that_a_killed_caller_left_makes_way_for_a_new_one(tmp_path: Path) -> None:
    """Observed when a caller was killed while the network was measured: `attach` found the agents' port in use."""
    program = tmp_path / "planner" / "venv" / "bin" / "planner"
    program.parent.mkdir(parents=True)
    program.write_text(AGENT.format(python=sys.executable))
    program.chmod(0o755)
    with socket.create_server(("127.0.0.1", 0)) as free:
        port = free.getsockname()[1]
    start = node_benchmarks._START_AGENT.format(environment="", seconds=60, address="127.0.0.1", port=port)
    processes = []
    try:
        for _ in range(2):
            subprocess.run(["sh", "-s"], input=start, text=True, check=True, cwd=tmp_path)
            processes.append(int((tmp_path / "planner" / "agent.pid").read_text()))
    finally:
        subprocess.run(["sh", "-s"], input=node_benchmarks._END_AGENT, text=True, check=True, cwd=tmp_path)
    assert len(set(processes)) == 2
