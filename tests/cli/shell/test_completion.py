"""Completion in a real shell: types of the named clouds, clouds, models, profiles, runs."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest
from emulated_ec2 import choice, order

from planner.clusters.provisioning.run_directory import RunDirectory


def offered(*words: str, folder: Path) -> list[str]:
    """Return bash's suggestions after Tab at the end of the last word."""
    program = words[0]
    bin_folder = folder / "bin"
    bin_folder.mkdir(exist_ok=True)
    entry = {"plan": "plan_main", "planner": "main"}[program]
    script = bin_folder / program
    script.write_text(
        f"#!{sys.executable}\nimport sys\nsys.argv[0] = {program!r}\nfrom planner.cli.app import {entry}\n{entry}()\n"
    )
    script.chmod(0o755)
    typed = " ".join(f"'{word}'" for word in words)
    commands = f"""
        eval "$(_{program.upper()}_COMPLETE=source_bash {program})"
        COMP_WORDS=({typed}); COMP_CWORD={len(words) - 1}
        _{program}_completion {program}
        printf '%s\\n' "${{COMPREPLY[@]}}"
    """
    environment = os.environ | {"PATH": f"{bin_folder}{os.pathsep}{os.environ['PATH']}", "XDG_DATA_HOME": str(folder)}
    done = subprocess.run(
        ["bash", "-c", commands], capture_output=True, text=True, check=True, env=environment, cwd=folder
    )
    assert "Traceback" not in done.stderr, done.stderr
    return done.stdout.split()


@pytest.mark.parametrize(
    ("words", "some"),
    [
        (("plan", "--instance", "i4i.met"), ["i4i.metal"]),
        (("plan", "--cloud", "gcp", "--instance", "c3-standard-8"), ["c3-standard-8", "c3-standard-8-lssd"]),
        (("plan", "--instance", "n2-standard-12"), ["n2-standard-128"]),
        (("planner", "why-not", "Standard_L8s"), ["Standard_L8s", "Standard_L8s_v2"]),
        (("planner", "why-not", "--cloud", "gcp", "c3-standard-8"), ["c3-standard-8", "c3-standard-8-lssd"]),
        (("planner", "own", "20xm5d.12"), ["20xm5d.12xlarge"]),
        (("planner", "own", "bi"), ["bin/"]),
        (("plan", "--cloud", "az"), ["azure"]),
        (("plan", "--model", "obj"), ["object-store"]),
        (("planner", "run", "--cloud", "em"), ["emulated"]),
        (("planner", "schema", "run"), ["run-report"]),
        (("planner", "where", "--clear", "p"), ["prices"]),
    ],
)
def test_bash_offers(words: tuple[str, ...], some: list[str], tmp_path: Path) -> None:
    assert offered(*words, folder=tmp_path)[: len(some)] == some


def test_bash_offers_runs_and_profiles(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("XDG_DATA_HOME", str(tmp_path))
    for run in ("r1", "r2"):
        RunDirectory.create(order(run, choice()))
    profiles = tmp_path / "planner" / "profiles"
    profiles.mkdir()
    (profiles / "mine.json").write_text("{}")
    assert offered("planner", "cluster", "down", "r", folder=tmp_path) == ["r2", "r1"]
    assert offered("plan", "--profile", "m", folder=tmp_path) == ["mine"]
