"""A user's command on rented machines: on all, on the head, and where machines do not answer properly."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path
from typing import cast

import pytest
from emulated_ec2 import EmulatedEc2
from emulated_machines import EmulatedMachines
from refusals import refused
from rented_runs import PACE

from planner.clouds.calls.retry import RetryPolicy
from planner.clouds.protocol import Node, Provider
from planner.clusters.remote.ssh import Outcome, Ssh, UnreachableError
from planner.clusters.runs.remote_command import run_on, shell_line
from planner.errors import IoFailureError, PlannerError
from tests.marks import quick_soak

HEAD_FIRST = ("h", "a", "b")


class Consoles:
    """Shows the host keys of all machines except the `mute` ones."""

    def __init__(self, *mute: str) -> None:
        self.mute = mute

    def host_keys(self, node: Node) -> tuple[str, ...]:
        return () if node.id in self.mute else ("ssh-ed25519 AAAA",)


class Shells(Ssh):
    """Machines that are local shells and know their name; those in `away` do not answer."""

    away: tuple[str, ...] = ()

    def command(self, node: str, *words: str, options: Sequence[str] = ()) -> list[str]:
        return ["sh", "-c", "exit 255"] if node in self.away else ["env", f"NODE={node}", "sh", "-s"]

    def keep_connection(self) -> None:
        """Do nothing: there is no connection."""


def answers(
    directory: Path, line: str, *, mute: tuple[str, ...] = (), away: tuple[str, ...] = (), within_s: float = 60.0
) -> dict[str, Outcome | PlannerError]:
    nodes = [
        Node(id=name, region="r", zone="z", head=name == "h", state="running", instance_type="t") for name in HEAD_FIRST
    ]
    answered: dict[str, Outcome | PlannerError] = {}
    with Shells(nodes, directory=directory, key=directory / "key") as ssh:
        ssh.away = away
        run_on(
            ssh, nodes, line, cast("Provider", Consoles(*mute)), policy=RetryPolicy(poll_s=0.01, join_s=0.05),
            within_s=within_s, hear=lambda node, answer: answered.update({node.id: answer}),
        )  # fmt: skip
    return answered


def test_every_machine_answers_with_its_code_and_both_streams(tmp_path: Path) -> None:
    answered = answers(tmp_path, 'echo "$NODE"; echo no >&2; cat; [ "$NODE" != b ] || exit 3')
    assert answered == {
        name: Outcome(code=3 if name == "b" else 0, output=f"{name}\n", complaint="no\n") for name in HEAD_FIRST
    }, "and `cat` finds nothing to read"


def test_a_machine_without_a_key_on_its_console_is_not_spoken_to(tmp_path: Path) -> None:
    answered = answers(tmp_path, f"touch '{tmp_path}'/$NODE", mute=("a",))
    assert isinstance(answered["a"], IoFailureError) and not (tmp_path / "a").exists()
    assert (tmp_path / "b").exists() and answered["b"] == Outcome(code=0, output="", complaint="")
    (tmp_path / "other").mkdir()
    with refused("no-host-key", kind=IoFailureError):
        answers(tmp_path / "other", "true", mute=("h",))


def test_machines_that_do_not_answer_or_take_too_long_are_named(tmp_path: Path) -> None:
    away = answers(tmp_path, "true", away=("b",))["b"]
    assert isinstance(away, UnreachableError) and "b cannot be reached" in str(away)
    broken = answers(tmp_path, '[ "$NODE" != b ] || exit 255')["b"]
    assert isinstance(broken, UnreachableError) and "b cannot be reached, or the command ended with 255" in str(broken)
    late = answers(tmp_path, '[ "$NODE" != a ] || exec sleep 60', within_s=0.5)["a"]
    assert isinstance(late, IoFailureError) and "no answer within 0.5 s" in str(late)


def test_one_word_is_a_line_of_shell_and_several_are_a_command() -> None:
    assert shell_line(["df -h | tail"]) == "df -h | tail"
    assert shell_line(["echo", "a b", "$HOME"]) == "echo 'a b' '$HOME'"


@quick_soak
@pytest.mark.needs_root(why="machines are network namespaces")
def test_on_the_machines_of_a_cluster(ec2: EmulatedEc2, machines: EmulatedMachines) -> None:
    """On all machines, on the head alone, and with the exit code of the command; nothing is left."""
    up = ec2.planner(*ec2.up, policy=PACE, within_s=200)
    assert up.code == 0, up.text
    (run,) = ec2.runs()
    nodes = [node for node in ec2.provider().nodes(run, region=ec2.region) if node.state == "running"]
    everywhere = ec2.planner("cluster", "exec", run, "--", "hostname -I", policy=PACE, within_s=200)
    assert everywhere.code == 0, everywhere.text
    assert {tuple(line.split()[:2]) for line in everywhere.text.splitlines()} == {
        (f"{node.id}:", node.private_address) for node in nodes
    }
    head = ec2.planner("cluster", "exec", run, "--head", "--json", "--", "exit 3", policy=PACE, within_s=200)
    assert head.code == 3, head.text
    (answer,) = json.loads(head.text)["machines"]
    assert answer["head"] is True and (answer["exit_code"], answer["output"], answer["error"]) == (3, "", None)
    assert ec2.planner("cluster", "down", run).code == 0 and ec2.left() == {}
