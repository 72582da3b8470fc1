"""Commands on a node never import modules from the directory they start in."""

from __future__ import annotations

import shlex
import subprocess
import sys
from dataclasses import replace
from pathlib import Path
from typing import cast

import pytest
from refusals import require

import planner
from planner.clouds.calls.retry import RetryPolicy
from planner.clouds.protocol import Node, Provider
from planner.clusters.remote import bootstrap, wheelhouse
from planner.clusters.remote.bootstrap import SAFE_PATH
from planner.clusters.remote.own_files import code_digest
from planner.clusters.remote.ssh import Ssh, UnreachableError, environment_script
from planner.errors import IoFailureError

DECOY = "raise SystemExit('the decoy was imported')\n"


@pytest.fixture
def decoys(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A working directory with packages that must not be imported."""
    for name in ("planner", "pip", "http", "venv"):
        (tmp_path / name).mkdir()
        (tmp_path / name / "__init__.py").write_text(DECOY)
        (tmp_path / name / "__main__.py").write_text(DECOY)
    monkeypatch.chdir(tmp_path)
    monkeypatch.delenv("PYTHONSAFEPATH", raising=False)
    return tmp_path


def run(script: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(["sh", "-s"], input=script, capture_output=True, text=True, check=False)


@pytest.mark.usefixtures("decoys")
def test_the_environment_of_nodes_passes_over_a_decoy() -> None:
    # -S and a path at the end stand in for a wheel: an editable installation finds `planner` before any directory.
    root = str(Path(planner.__file__).parent.parent)
    code = f"import sys; sys.path.append({root!r}); import planner.units as it; print(it)"
    command = shlex.join([sys.executable, "-S", "-c", code]) + "\n"
    assert "the decoy was imported" in run(command).stderr
    assert str(Path(root) / "planner") in run(environment_script(SAFE_PATH) + command).stdout


def test_the_setup_script_exports_it_before_it_starts_python() -> None:
    setup = bootstrap._BEGIN_SETUP + bootstrap._INSTALL
    for script in (setup, bootstrap._START_RELAY, bootstrap._TELL_CODE.replace("/python", "/python3")):
        assert script.index("export PYTHONSAFEPATH=1") < script.index("python3")


@pytest.mark.usefixtures("decoys")
def test_wheels_are_fetched_by_the_real_pip(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    fetched: list[list[str]] = []
    real_run = subprocess.run

    def without_network(command: list[str], **options: bool) -> subprocess.CompletedProcess[str]:
        fetched.append(command)
        return real_run([*command[:4], "--version"], **options)  # type: ignore[call-overload, no-any-return]

    monkeypatch.setattr(subprocess, "run", without_network)
    monkeypatch.setattr(wheelhouse, "_fits", lambda **_: True)
    wheelhouse.make_wheels(tmp_path / "wheels")
    assert fetched[0][1:4] == ["-P", "-m", "pip"]
    assert list((tmp_path / "wheels").glob("sortplanner-*.whl"))


class Answers:
    """An SSH connection with scripted answers, one per call."""

    def __init__(self, *answers: str | IoFailureError) -> None:
        self.answers = list(answers)

    def run(self, node: str, script: str, *, within_s: float) -> str:
        answer = self.answers.pop(0)
        if isinstance(answer, IoFailureError):
            raise answer
        return answer


def equipped(ssh: Answers) -> bootstrap.Equipped:
    node = Node(id="n", region="r", zone="z", head=False, state="running", instance_type="t")
    return bootstrap._equip_node(ssh, node, "", policy=RetryPolicy(poll_s=0.01, join_s=60.0))  # type: ignore[arg-type]


READY = "disk /mnt/planner/disk0\nvcpus 2\nmemory_kib 1000\n"


def test_a_set_up_that_fails_is_tried_twice_more() -> None:
    failing, away = IoFailureError("dpkg is locked"), UnreachableError("not yet")
    assert equipped(Answers(away, failing, away, away, failing, READY)).vcpus == 2
    with pytest.raises(IoFailureError, match="dpkg is locked"):
        equipped(Answers(failing, failing, failing, READY))


class Consoles:
    """A provider whose consoles show keys from the second look on, except those of `mute` machines."""

    def __init__(self, mute: set[str]) -> None:
        self.mute = mute
        self.asked: list[str] = []

    def host_keys(self, node: Node) -> tuple[str, ...]:
        self.asked.append(node.id)
        return ("ssh-ed25519 AAAA",) if self.asked.count(node.id) > 1 and node.id not in self.mute else ()


def test_machines_are_verified_by_their_consoles_or_named(tmp_path: Path) -> None:
    policy = RetryPolicy(poll_s=0.01, join_s=1.5)
    nodes = [
        Node(id=name, region="r", zone="z", head=name == "a", state="running", instance_type="t") for name in "abc"
    ]
    with Ssh(nodes, directory=tmp_path, key=tmp_path / "key") as ssh:
        failed = bootstrap.verify_host_keys(ssh, nodes, cast("Provider", Consoles({"b"})), policy=policy)
        assert list(failed) == ["b"]
        require(failed["b"], "no-host-key", "b")
        assert ssh.verified_nodes == {"a", "c"}
        config = (tmp_path / "ssh_config").read_text("utf-8")
    assert config.count("StrictHostKeyChecking yes") == 2
    with (tmp_path / "known_hosts").open("a") as file:
        file.write("b ssh-ed25519 PINNED\n")
    with Ssh(nodes, directory=tmp_path, key=tmp_path / "key") as ssh:
        assert ssh.verified_nodes == {"a", "c"}, "another process trusts what was verified, not what ssh has pinned"
        consoles = Consoles(set())
        assert bootstrap.verify_host_keys(ssh, nodes, cast("Provider", consoles), policy=RetryPolicy(poll_s=0.01)) == {}
        assert set(consoles.asked) == {"b"}


class Here(Ssh):
    """Runs scripts on this machine, in a separate directory, and records copied files."""

    home = Path()
    copied: tuple[str, ...] = ()

    def run(self, node: str, script: str, *, within_s: float) -> str:
        done = subprocess.run(["sh", "-s"], input=script, capture_output=True, text=True, check=False, cwd=self.home)
        if done.returncode:
            raise IoFailureError(done.stderr)
        return done.stdout

    def put(self, node: str, source: Path, *, to: str, within_s: float) -> None:
        self.copied += (to,)


def image_with(venv: Path, interpreter: str) -> None:
    (venv / "bin").mkdir(parents=True)
    (venv / "bin" / "python").write_text(f'#!/bin/sh\nexec {shlex.quote(interpreter)} "$@"\n')
    (venv / "bin" / "python").chmod(0o755)


def test_an_image_that_has_this_very_planner_is_brought_nothing(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    head = Node(id="h", region="r", zone="z", head=True, state="running", instance_type="t")
    monkeypatch.setattr(bootstrap, "IMAGE_VENV", shlex.quote(str(tmp_path / "opt")))
    monkeypatch.setattr(bootstrap, "DISKS_DIRECTORY", shlex.quote(str(tmp_path)))
    (tmp_path / "disk0").mkdir()
    local, lines = Here([head], directory=tmp_path, key=tmp_path / "key"), list[str]()
    local.home = tmp_path
    same = wheelhouse.Wheelhouse(path=tmp_path / "none", sha256="", python="3.12", code=code_digest())
    assert not bootstrap.has_software(local, same), "there is no such environment"
    image_with(tmp_path / "opt", sys.executable)
    ready = bootstrap.equip(local, [head], same, policy=RetryPolicy(), say=lines.append).ready
    assert [machine.disks for machine in ready] == [(str(tmp_path / "disk0"),)]
    assert local.copied == () and "no software is brought" in lines[0]
    assert (tmp_path / "planner" / "venv").resolve() == tmp_path / "opt"
    assert not bootstrap.has_software(local, replace(same, code="another's")), "another version is no such planner"


def test_an_image_with_an_older_planner_does_not_count(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """An image whose planner cannot even report its code."""
    monkeypatch.setattr(bootstrap, "IMAGE_VENV", shlex.quote(str(tmp_path / "opt")))
    image_with(tmp_path / "opt", "false")
    local = Here([], directory=tmp_path, key=tmp_path / "key")
    local.home = tmp_path
    assert not bootstrap.has_software(local, wheelhouse.Wheelhouse(path=tmp_path, sha256="", python="3.12", code="c"))
