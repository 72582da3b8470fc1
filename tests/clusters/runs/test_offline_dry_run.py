"""`--dry-run` contacts no one: no account, no SDK, no connection, but it prints the actions and their cost."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

GUARDED = """
import sys
FORBIDDEN = ("boto3", "botocore", "google.auth", "google.cloud", "azure", "obstore")
def guard(event, args):
    if event in ("socket.connect", "socket.getaddrinfo", "socket.sendto", "socket.gethostbyname", "subprocess.Popen"):
        raise SystemExit(f"the dry run did {event} {args}")
    if event == "import" and (args[0] in FORBIDDEN or args[0].startswith(tuple(f"{name}." for name in FORBIDDEN))):
        raise SystemExit(f"the dry run imported {args[0]}")
sys.addaudithook(guard)
from planner.cli.entry import main
sys.argv = ["planner", *sys.argv[1:]]
main()
"""
JOB = ("--data", "1TB", "--model", "indy", "--dry-run")


def guarded(home: Path, *words: str) -> subprocess.CompletedProcess[str]:
    """Run a command without an account, in a process that ends at its first attempt to connect."""
    environment = {"PATH": os.environ["PATH"], "HOME": str(home), "COLUMNS": "200"}
    command = [sys.executable, "-c", GUARDED, *words]
    return subprocess.run(command, capture_output=True, text=True, check=False, env=environment, timeout=120)


def test_the_guard_ends_what_connects(tmp_path: Path) -> None:
    done = guarded(tmp_path, "cluster", "sweep", "--cloud", "aws")
    assert done.returncode != 0 and "the dry run imported boto" in done.stderr


@pytest.mark.parametrize("cloud", ["aws", "gcp", "azure"])
def test_it_prints_machines_software_network_and_cost(cloud: str, tmp_path: Path) -> None:
    done = guarded(tmp_path, "run", "--cloud", cloud, *JOB)
    assert done.returncode == 0, done.stderr
    first, *rest = done.stdout.splitlines()
    assert first.startswith("machines: ") and "processors; software: " in first
    for expected in ("cost: $", "cap: $", "quota: ", "to be created, and removed in the end: ", "was asked nothing"):
        assert any(expected in line for line in rest), (expected, done.stdout)


def test_with_each_option_that_asks_a_cloud_otherwise(tmp_path: Path) -> None:
    options = ("--subnet", "subnet-1", "--reservation", "cr-1", "--set", "image=ami-1", "--json")
    done = guarded(tmp_path, "run", "--cloud", "aws", *JOB, *options)
    assert done.returncode == 0, done.stderr
    answer = json.loads(done.stdout)
    assert answer["software"]["architecture"] in ("x86_64", "arm64") and len(answer["requests"]) > 20


@pytest.mark.parametrize("command", ["cluster up", "bench fleet"])
def test_other_commands_that_rent(command: str, tmp_path: Path) -> None:
    words = JOB if command == "cluster up" else ("--instance", "i4i.4xlarge", "--nodes", "2", "--dry-run")
    done = guarded(tmp_path, *command.split(), "--cloud", "aws", *words)
    assert done.returncode == 0 and "was asked nothing" in done.stdout, done.stderr


def test_an_input_whose_size_nobody_states_is_asked_for(tmp_path: Path) -> None:
    words = ("--input", "s3://b/in", "--node-identity", "sorter", "--model", "indy", "--dry-run")
    done = guarded(tmp_path, "run", "--cloud", "aws", *words)
    assert done.returncode == 2 and "--data 1TB" in done.stderr
    done = guarded(tmp_path, "run", "--cloud", "aws", *words, "--data", "1TB")
    assert done.returncode == 0, done.stderr


def test_an_architecture_that_is_asked_for_is_rented(tmp_path: Path) -> None:
    for arch in ("x86_64", "arm64"):
        done = guarded(tmp_path, "run", "--cloud", "aws", *JOB, "--set", f"arch={arch}")
        assert f"machines: {arch} processors" in done.stdout, done.stderr
