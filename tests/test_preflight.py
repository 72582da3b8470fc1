"""The preflight of `make run` names what a machine lacks, and the command that installs it."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

CHECKOUT = Path(__file__).resolve().parent.parent


def preflight(**environment: str) -> subprocess.CompletedProcess[str]:
    script = ["/bin/sh", "scripts/preflight.sh"]
    return subprocess.run(script, cwd=CHECKOUT, env=environment, capture_output=True, text=True, check=False)


@pytest.fixture
def bare_machine(tmp_path: Path) -> Path:
    """A PATH with the POSIX tools and Debian's package manager, and neither Python nor a compiler."""
    for tool in ("awk", "df", "tail", "env"):
        (tmp_path / tool).symlink_to(subprocess.check_output(["which", tool], text=True).strip())
    (tmp_path / "apt-get").write_text("#!/bin/sh\n")
    (tmp_path / "apt-get").chmod(0o755)
    return tmp_path


def test_preflight_names_what_is_missing_and_how_to_install_it_in_one_line(bare_machine: Path) -> None:
    done = preflight(PATH=str(bare_machine))
    assert (done.returncode, done.stdout) == (2, "")
    assert done.stderr == (
        "preflight: missing: Python 3.11-3.14 with its venv module and headers; a C++20 compiler."
        " Install with: sudo apt-get install python3 python3-venv python3-dev g++\n"
    )


def test_preflight_passes_over_a_python_that_does_not_run(bare_machine: Path) -> None:
    shim = bare_machine / "python3.14"
    shim.write_text("#!/bin/sh\necho 'python3.14: not switched on' >&2\nexit 127\n")
    shim.chmod(0o755)
    (bare_machine / "python3.11").symlink_to(sys.executable)
    (bare_machine / "c++").write_text("#!/bin/sh\ncat > /dev/null\n")
    (bare_machine / "c++").chmod(0o755)
    done = preflight(PATH=f"{bare_machine}:/usr/bin:/bin")
    assert done.returncode == 0, done.stderr
    chosen = subprocess.run([done.stdout.strip(), "--version"], capture_output=True, text=True, check=True)
    assert chosen.stdout.startswith("Python 3.")


def test_preflight_names_the_disk_it_looked_at(bare_machine: Path) -> None:
    (bare_machine / "df").unlink()
    (bare_machine / "df").write_text("#!/bin/sh\necho header\necho /dev/sda 9 9 1024 9% /\n")
    (bare_machine / "df").chmod(0o755)
    done = preflight(PATH=f"{bare_machine}:/usr/bin:/bin", PYTHON=sys.executable)
    assert f"5 GB of free disk in {CHECKOUT}" in done.stderr
