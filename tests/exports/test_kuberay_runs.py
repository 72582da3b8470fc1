"""KubeRay's file is run: a Ray cluster is started as the RayJob describes it, and its entrypoint sorts.

The test stands in for the operator: it makes a token and hands it to all pods, completes `ray start` from a container's
limits (ray-operator/controllers/ray/common/pod.go), and gives the job the cluster's address.
"""

from __future__ import annotations

import os
import re
import secrets
import shlex
import socket
import subprocess
import sys
import time
from collections.abc import Iterator, Mapping
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import Any

import pytest
import yaml

from planner.exports.platform import export_plan
from tests.exports.ray_runs import free_port, plan_of_lines, require_sorted, run, write_lines

BIN = Path(sys.executable).parent
OBJECT_STORE_BYTES = 100_000_000


def wait_for(port: int) -> None:
    """Return when something listens at a port; fail after two minutes."""
    for _ in range(240):
        with socket.socket() as probe:
            if probe.connect_ex(("127.0.0.1", port)) == 0:
                return
        time.sleep(0.5)
    pytest.fail(f"nothing listens at {port}")


def token(cluster: Mapping[str, Any]) -> dict[str, str]:
    """Return the variables by which the operator makes Ray require a token, if the cluster wants one."""
    assert cluster["authOptions"] == {"mode": "token"}
    assert tuple(map(int, cluster["rayVersion"].split("."))) >= (2, 52, 0), "the operator refuses tokens below"
    return {"RAY_AUTH_MODE": "token", "RAY_AUTH_TOKEN": secrets.token_hex(32)}


def environment(pod: Mapping[str, Any], *, name: str, disk: Path, secret: Mapping[str, str]) -> dict[str, str]:
    """Return the variables of a pod's container, with its node's name and its disk replaced by this machine's."""
    (container,) = pod["containers"]
    (mount,) = container["volumeMounts"]
    made = dict(os.environ) | {"PATH": f"{BIN}{os.pathsep}{os.environ['PATH']}"} | secret
    for variable in container["env"]:
        value = variable.get("value", name)  # `valueFrom` is the node's name alone
        made[variable["name"]] = str(disk) if value == mount["mountPath"] else value
    return made


@contextmanager
def node(group: Mapping[str, Any], *words: str, name: str, disk: Path, secret: Mapping[str, str]) -> Iterator[None]:
    """A node of Ray as `ray start` makes it from the parameters and the limits of its group."""
    disk.mkdir()
    pod = group["template"]["spec"]
    limit = re.fullmatch(r"(\d+)Gi", pod["containers"][0]["resources"]["limits"]["memory"])
    assert limit is not None
    given = [f"--{option}={value}" for option, value in group["rayStartParams"].items()]
    given += [f"--memory={int(limit[1]) << 30}", f"--object-store-memory={OBJECT_STORE_BYTES}"]
    command = [str(BIN / "ray"), "start", "--node-ip-address=127.0.0.1", *words, *given, "--block"]
    with (disk.parent / f"{name}.log").open("wb") as log:
        variables = environment(pod, name=name, disk=disk, secret=secret)
        process = subprocess.Popen(command, env=variables, stdout=log, stderr=log)
    try:
        yield
    finally:
        process.terminate()
        process.wait(120)


ALL_ALIVE = """
import sys, time, ray
ray.init(sys.argv[1], log_to_driver=False)
while sum(node["Alive"] for node in ray.nodes()) < int(sys.argv[2]):
    time.sleep(0.5)
"""
"""Ends when all nodes have joined; KubeRay submits a job no sooner."""


@pytest.mark.soak
def test_a_cluster_as_the_file_describes_it_sorts(tmp_path: Path) -> None:
    text, disks = write_lines(tmp_path / "in.txt"), tmp_path / "disks"
    disks.mkdir()
    job = yaml.safe_load(export_plan(plan_of_lines(), "kuberay").text)["spec"]
    cluster = job["rayClusterSpec"]
    head, (workers,) = cluster["headGroupSpec"], cluster["workerGroupSpecs"]
    port, secret = free_port(), token(cluster)
    address = f"127.0.0.1:{port}"
    with ExitStack() as nodes:
        as_head = ("--head", f"--port={port}", "--include-dashboard=false")
        nodes.enter_context(node(head, *as_head, name="head", disk=disks / "head", secret=secret))
        wait_for(port)
        there = environment(head["template"]["spec"], name="head", disk=disks / "head", secret=secret)
        there["RAY_ADDRESS"] = address
        for number in range(workers["replicas"]):  # two at a time on one machine can exceed Ray's time to start
            name = f"worker-{number}"
            joins = f"--address={address}"
            nodes.enter_context(node(workers, joins, name=name, disk=disks / name, secret=secret))
            run([sys.executable, "-c", ALL_ALIVE, address, str(2 + number)], cwd=tmp_path, env=there)
        typed = job["entrypoint"].replace("REPLACE_INPUT", shlex.quote(str(text)))
        assert "REPLACE" not in typed
        run(["bash", "-c", typed], cwd=tmp_path, env=there)
        require_sorted(tmp_path / "sorted.json", text)
        strangers = there | {"RAY_AUTH_TOKEN": "0" * 64}
        refused = subprocess.run(["bash", "-c", typed], check=False, cwd=tmp_path, env=strangers, capture_output=True)
        assert refused.returncode != 0, "a stranger's token must not do"
