"""A small sort for the platforms whose files are run here: its plan, its input, and a check of the output's order."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from random import Random
from socket import create_server
from subprocess import run as run_process

import planner
from planner.schemas.plan import Plan

LINES = 200_000


def plan_of_lines() -> Plan:
    """Return a plan of two nodes that sort lines on Ray."""
    plan = planner.recommend("10MB", instance="i4i.large", nodes=2, engine="ray", model="indy").plan
    return replace(plan, request=replace(plan.request, format="lines"))


def write_lines(path: Path) -> Path:
    drawn = Random(1)
    path.write_text("".join(f"{drawn.getrandbits(200):x}\n" for _ in range(LINES)), "ascii")
    return path


def require_sorted(manifest: Path, text: Path) -> None:
    """Fail unless a manifest's partitions, read in order, are the sorted lines of a text."""
    said = json.loads(manifest.read_text("utf-8"))
    first_copies = [partition["copies"][0] for partition in said["partitions"]]
    assert len({copy["node"] for copy in first_copies}) == 2, "both nodes hold a part"
    found = b"".join(Path(copy["uri"]).read_bytes() for copy in first_copies)
    assert found == b"".join(sorted(text.read_bytes().splitlines(keepends=True)))


def free_port() -> int:
    with create_server(("127.0.0.1", 0)) as server:
        return int(server.getsockname()[1])


def run(words: list[str], *, cwd: Path, env: Mapping[str, str] | None = None, seconds: float = 600) -> str:
    """Return a command's standard output; it must succeed."""
    done = run_process(words, check=False, cwd=cwd, env=env, capture_output=True, text=True, timeout=seconds)
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout
