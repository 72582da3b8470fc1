"""KubeRay's file is run: a Ray cluster is started as the RayJob describes it, and its entrypoint sorts."""

from __future__ import annotations

import os
import shlex
import socket
import subprocess
import sys
import time
from collections.abc import Iterator, Mapping
from contextlib import ExitStack, contextmanager
from dataclasses import replace
from pathlib import Path
from random import Random
from typing import Any

import pytest
import yaml

import planner
from planner.exports.ray_sort import PORT
from planner.exports.registry import export_plan

BIN = Path(sys.executable).parent
OBJECT_STORE_BYTES = 100_000_000


def free_port() -> int:
    with socket.create_server(("127.0.0.1", 0)) as server:
        return int(server.getsockname()[1])


def wait_for(port: int) -> None:
    """Return when something listens at a port; fail after two minutes."""
    for _ in range(240):
        with socket.socket() as probe:
            if probe.connect_ex(("127.0.0.1", port)) == 0:
                return
        time.sleep(0.5)
    pytest.fail(f"nothing listens at {port}")


def environment(pod: Mapping[str, Any], *, name: str, disk: Path) -> dict[str, str]:
    """Return the variables of a pod's container, with its node's name and its disk where this machine has them."""
    (container,) = pod["containers"]
    (mount,) = container["volumeMounts"]
    made = dict(os.environ) | {"PATH": f"{BIN}{os.pathsep}{os.environ['PATH']}"}
    for variable in container["env"]:
        value = variable.get("value", name)  # `valueFrom` is the node's name alone
        made[variable["name"]] = str(disk) if value == mount["mountPath"] else value
    return made


@contextmanager
def node(pod: Mapping[str, Any], parameters: Mapping[str, str], *words: str, name: str, disk: Path) -> Iterator[None]:
    """A node of Ray as `ray start` makes it from the parameters of its group."""
    disk.mkdir()
    given = [f"--{option}={value}" for option, value in parameters.items()]
    command = [str(BIN / "ray"), "start", *words, *given, f"--object-store-memory={OBJECT_STORE_BYTES}", "--block"]
    with (disk.parent / f"{name}.log").open("wb") as log:
        process = subprocess.Popen(command, env=environment(pod, name=name, disk=disk), stdout=log, stderr=log)
    try:
        yield
    finally:
        process.terminate()
        process.wait(120)


def run(words: list[str], *, cwd: Path, env: Mapping[str, str] | None = None, seconds: float = 600) -> str:
    """Return what a command says; it must succeed."""
    done = subprocess.run(words, check=False, cwd=cwd, env=env, capture_output=True, text=True, timeout=seconds)
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


ALL_ALIVE = """
import sys, time, ray
ray.init(sys.argv[1], log_to_driver=False)
while sum(node["Alive"] for node in ray.nodes()) < int(sys.argv[2]):
    time.sleep(0.5)
"""
"""Ends when so many nodes have joined; KubeRay submits a job no sooner."""


@pytest.mark.soak
def test_a_cluster_as_the_file_describes_it_sorts(tmp_path: Path) -> None:
    text, disks = tmp_path / "in.txt", tmp_path / "disks"
    disks.mkdir()
    drawn = Random(1)
    text.write_text("".join(f"{drawn.getrandbits(200):x}\n" for _ in range(200_000)), "utf-8")
    plan = planner.recommend("10MB", instance="i4i.large", nodes=2, engine="ray", model="indy").plan
    plan = replace(plan, request=replace(plan.request, format="lines"))
    job = yaml.safe_load(export_plan(plan, "kuberay").text)["spec"]
    cluster = job["rayClusterSpec"]
    head, (workers,) = cluster["headGroupSpec"], cluster["workerGroupSpecs"]
    port = free_port()
    address = f"127.0.0.1:{port}"
    as_head = ("--head", f"--port={port}", "--node-ip-address=127.0.0.1", "--include-dashboard=false")
    pod = head["template"]["spec"]
    with ExitStack() as nodes:
        nodes.enter_context(node(pod, head["rayStartParams"], *as_head, name="head", disk=disks / "head"))
        wait_for(port)
        for number in range(workers["replicas"]):
            joined = node(
                workers["template"]["spec"],
                workers["rayStartParams"],
                f"--address={address}",
                name=f"worker-{number}",
                disk=disks / f"worker-{number}",
            )
            nodes.enter_context(joined)
        run([sys.executable, "-c", ALL_ALIVE, address, str(1 + workers["replicas"])], cwd=tmp_path)
        entrypoint = job["entrypoint"].replace(f"127.0.0.1:{PORT}", address)
        typed = entrypoint.replace("REPLACE_INPUT", shlex.quote(str(text)))
        assert "REPLACE" not in typed
        there = environment(pod, name="head", disk=disks / "head")
        run(["bash", "-c", typed], cwd=tmp_path, env=there, seconds=job["activeDeadlineSeconds"] + 600)
        said = run([str(BIN / "planner"), "validate", "sorted.json"], cwd=tmp_path)
        assert "200000" in said
        held = {folder.name for folder in disks.iterdir() if any(file.is_file() for file in folder.rglob("*"))}
        assert {"worker-0", "worker-1"} <= held
