"""Commands on a node never import what lies in the directory they are started in."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

import planner
from planner.cloud_calls.retry import RetryPolicy
from planner.errors import IoFailureError
from planner.providers.protocol import Node
from planner.runs import bootstrap, wheelhouse
from planner.runs.bootstrap import SAFE_PATH
from planner.runs.ssh import UnreachableError, environment_script

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
    command = (
        f"{sys.executable} -S -c 'import sys; sys.path.append(\"{root}\"); import planner.units as it; print(it)'\n"
    )
    assert "the decoy was imported" in run(command).stderr
    assert str(Path(root) / "planner") in run(environment_script(SAFE_PATH) + command).stdout


def test_the_setup_script_exports_it_before_it_starts_python() -> None:
    for script in (bootstrap._SETUP, bootstrap._START_RELAY):
        assert script.index("export PYTHONSAFEPATH=1") < script.index("python3")


@pytest.mark.usefixtures("decoys")
def test_wheels_are_fetched_by_the_real_pip(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    fetched: list[list[str]] = []
    real_run = subprocess.run

    def without_network(command: list[str], **options: bool) -> subprocess.CompletedProcess[str]:
        fetched.append(command)
        return real_run([*command[:4], "--version"], **options)  # type: ignore[call-overload, no-any-return]

    monkeypatch.setattr(subprocess, "run", without_network)
    monkeypatch.setattr(wheelhouse, "_check_fit", lambda **_: None)
    wheelhouse.make_wheels(tmp_path / "wheels")
    assert fetched[0][1:4] == ["-P", "-m", "pip"]
    assert list((tmp_path / "wheels").glob("sortplanner-*.whl"))


class Answers:
    """An SSH whose machine answers what it is told, call by call."""

    def __init__(self, *answers: str | IoFailureError) -> None:
        self.answers = list(answers)

    def run(self, node: str, script: str, *, within_s: float) -> str:
        answer = self.answers.pop(0)
        if isinstance(answer, IoFailureError):
            raise answer
        return answer


def equipped(ssh: Answers) -> bootstrap.Equipped:
    node = Node(id="n", region="r", zone="z", head=False, state="running", instance_type="t")
    return bootstrap._equipped(ssh, node, "", policy=RetryPolicy(poll_s=0.01, join_s=60.0))  # type: ignore[arg-type]


READY = "disk /mnt/planner/disk0\nvcpus 2\nmemory_kib 1000\n"


def test_a_set_up_that_fails_is_tried_twice_more() -> None:
    failing, away = IoFailureError("dpkg is locked"), UnreachableError("not yet")
    assert equipped(Answers(away, failing, away, away, failing, READY)).vcpus == 2
    with pytest.raises(IoFailureError, match="dpkg is locked"):
        equipped(Answers(failing, failing, failing, READY))
