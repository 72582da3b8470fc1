"""Slurm's file is run: a Slurm of two nodes on this machine takes the batch script, which sorts."""

from __future__ import annotations

import os
import secrets
import shutil
import signal
import sys
import time
from collections.abc import Iterator, Mapping
from contextlib import ExitStack, contextmanager
from pathlib import Path
from tempfile import TemporaryDirectory

import pytest

from planner.exports.platform import export_plan
from tests.exports.ray_runs import free_port, plan_of_lines, require_sorted, run, write_lines

BIN = Path(sys.executable).parent
NODES = ("127.0.0.1", "127.0.0.2")
"""Names that need no entry in a hosts file: they are addresses of this machine."""
CONFIGURATION = """
ClusterName=here
SlurmctldHost=localhost(127.0.0.1)
SlurmctldPort={controller_port}
SlurmUser={user}
SlurmdUser={user}
AuthType=auth/munge
AuthInfo=socket={folder}/munge.sock
CredType=cred/munge
StateSaveLocation={folder}/state
SlurmdSpoolDir={folder}/spool-%n
SlurmctldPidFile={folder}/controller.pid
SlurmdPidFile={folder}/node-%n.pid
SlurmctldLogFile={folder}/controller.log
SlurmdLogFile={folder}/node-%n.log
ProctrackType=proctrack/linuxproc
TaskPlugin=task/none
SelectType=select/linear
MpiDefault=none
SwitchType=switch/none
SlurmdParameters=config_overrides
ReturnToService=2
PartitionName=all Nodes=ALL Default=YES MaxTime=INFINITE State=UP
"""


@pytest.fixture
def slurm(request: pytest.FixtureRequest) -> Iterator[dict[str, str]]:
    """Return the environment that reaches a Slurm of two nodes, in a folder with a name short enough for a socket."""
    missing = [name for name in ("munged", "slurmctld", "slurmd", "sbatch") if shutil.which(name) is None]
    if missing:
        pytest.skip(f"no {missing[0]}: `apt-get install slurm-wlm munge`")
    with TemporaryDirectory(dir="/tmp", prefix="slurm-") as name, ExitStack() as daemons:
        folder = Path(name)
        (folder / "state").mkdir()
        key = folder / "munge.key"
        key.write_bytes(secrets.token_bytes(128))
        key.chmod(0o600)
        configuration = folder / "slurm.conf"
        user = run(["id", "-un"], cwd=folder).strip()
        nodes = "".join(
            f"NodeName={node} NodeHostname=localhost NodeAddr=127.0.0.1 Port={free_port()} CPUs=2 RealMemory=1000\n"
            for node in NODES
        )
        settings = CONFIGURATION.format(controller_port=free_port(), folder=folder, user=user)
        configuration.write_text(settings.replace("PartitionName", nodes + "PartitionName"))
        env = dict(os.environ) | {"SLURM_CONF": str(configuration)}
        munged = ["munged", "--force", f"--key-file={key}", f"--socket={folder}/munge.sock"]
        munged += [f"--{what}-file={folder}/munge.{what}" for what in ("pid", "log", "seed")]
        daemons.enter_context(daemon(munged, folder / "munge.pid", env=env))
        daemons.enter_context(daemon(["slurmctld", "-c"], folder / "controller.pid", env=env))
        for node in NODES:
            daemons.enter_context(daemon(["slurmd", "-N", node], folder / f"node-{node}.pid", env=env))
        wait_for_idle_nodes(folder, env)
        yield env


@contextmanager
def daemon(command: list[str], pid_file: Path, *, env: Mapping[str, str]) -> Iterator[None]:
    """A process that runs in the background until it is ended by the process id it wrote down."""
    run(command, cwd=pid_file.parent, env=env)
    for _ in range(100):
        if pid_file.exists() and pid_file.read_text().strip():
            break
        time.sleep(0.1)
    number = int(pid_file.read_text())
    try:
        yield
    finally:
        os.kill(number, signal.SIGTERM)
        for _ in range(100):
            if not Path(f"/proc/{number}").exists():
                break
            time.sleep(0.1)


def wait_for_idle_nodes(folder: Path, env: Mapping[str, str]) -> None:
    for _ in range(120):
        states = run(["sinfo", "--noheader", "--Node", "--format=%t"], cwd=folder, env=env).split()
        if states == ["idle"] * len(NODES):
            return
        time.sleep(0.5)
    pytest.fail(f"the nodes are {states}")


@pytest.mark.soak
def test_a_slurm_of_two_nodes_takes_the_script_and_sorts(slurm: dict[str, str], tmp_path: Path) -> None:
    text = write_lines(tmp_path / "in.txt")
    home = tmp_path / "home"
    tools = home / "sortplanner" / "bin"
    tools.mkdir(parents=True)
    for name in ("python", "ray", "planner"):
        (tools / name).write_text(f'#!/bin/sh\nexec {BIN / name} "$@"\n')
        (tools / name).chmod(0o755)
    script = export_plan(plan_of_lines(), "slurm").text
    commented = [line for line in script.splitlines() if line.startswith("#") and "REPLACE_" in line]
    assert any("REPLACE_INPUT: a manifest, or a file" in line for line in commented)
    typed = script.replace("REPLACE_INPUT", f"'{text}'").replace("6379", str(free_port()))
    typed = typed.replace("/scratch/$USER/$SLURM_JOB_ID", f"{tmp_path}/disks/$SLURMD_NODENAME")
    (tmp_path / "sort.sbatch").write_text(typed)
    env = slurm | {"HOME": str(home), "RAY_DEFAULT_OBJECT_STORE_MEMORY_PROPORTION": "0.01"}
    try:
        # The time limit is for the planned machines, not for this one.
        run(["sbatch", "--wait", "--time=30", "--output=job.log", "sort.sbatch"], cwd=tmp_path, env=env)
    finally:
        print((tmp_path / "job.log").read_text() if (tmp_path / "job.log").exists() else "no log")
    require_sorted(tmp_path / "sorted.json", text)
