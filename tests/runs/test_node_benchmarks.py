"""Machines that cannot be reached while they are measured."""

from __future__ import annotations

from pathlib import Path

import pytest

from planner.errors import IoFailureError
from planner.providers.protocol import Node
from planner.runs.bootstrap import Equipped
from planner.runs.node_benchmarks import Effort, disk_documents, network_document
from planner.runs.ssh import Ssh, UnreachableError


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
    """All others are reached through the head: the connection is lost, and the preparation begins again."""
    with pytest.raises(UnreachableError, match="head cannot be reached"):
        disk_documents(ssh(tmp_path, "head", "worker"), MACHINES, Effort())
    with pytest.raises(UnreachableError, match="head cannot be reached"):
        network_document(ssh(tmp_path, "head", "worker"), MACHINES, Effort(), is_doubling=False)
