"""A run in someone's own network, whose head has no public address: all connections go through a jump machine."""

from __future__ import annotations

import os
import shutil
import subprocess
from pathlib import Path

import pytest
from emulated_ec2 import EmulatedEc2
from emulated_machines import EmulatedMachines
from rented_runs import PACE, RECORDS, run_words

from planner.clusters.provisioning.run_directory import RunDirectory
from planner.schemas.run_report import RunReport

OWN_SSH = """#!/bin/sh
# The user's own ssh, with the user's own configuration, unless another is named.
[ "$1" = -F ] && exec {ssh} "$@"
exec {ssh} -F {config} "$@"
"""
CONFIG = """Host bastion
  HostName {address}
  User ubuntu
  IdentityFile {key}
  StrictHostKeyChecking no
  UserKnownHostsFile /dev/null
"""


@pytest.mark.soak
@pytest.mark.needs_root(why="machines are network namespaces")
def test_a_whole_run_goes_through_a_jump_machine(
    ec2: EmulatedEc2, machines: EmulatedMachines, wheels: Path, tmp_path: Path
) -> None:
    key, config, programs = tmp_path / "own_key", tmp_path / "own_config", tmp_path / "programs"
    subprocess.run(["ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-f", str(key)], check=True)
    programs.mkdir()
    (programs / "ssh").write_text(OWN_SSH.format(ssh=shutil.which("ssh"), config=config), "utf-8")
    (programs / "ssh").chmod(0o755)
    subnet = ec2.make_subnet("10.8.1.0/24", zone=ec2.zones[1])
    before = ec2.left()
    ec2.extra = {"PATH": f"{programs}:{os.environ['PATH']}"}
    try:
        with machines.jump_machine("10.8.250.1", key.with_suffix(".pub").read_text("utf-8").strip()) as address:
            config.write_text(CONFIG.format(address=address, key=key), "utf-8")
            private = ("--subnet", subnet, "--no-public-address", "--jump", "bastion")
            ended = ec2.planner(*run_words(wheels, *private), policy=PACE, within_s=400)
    finally:
        ec2.extra = {}
    assert ended.code == 0, ended.text
    (run,) = ec2.runs()
    report = RunReport.from_json((RunDirectory.open(run).path / "report.json").read_text("utf-8"))
    assert report.passed and [check.records for check in report.checks] == [RECORDS] * 2
    assert ec2.left() == before
