"""What a newcomer meets before any feature: quick imports, files that refer to nothing outside, preflight."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

import pytest

CHECKOUT = Path(__file__).resolve().parent.parent
PLAN = ["plan", "--data", "100TB", "--model", "indy", "--catalog", "aws-2014", "--json"]
RUN_PLAN = f"""
sys.argv = {PLAN}
from planner.cli.app import plan_main
try:
    plan_main()
except SystemExit as exit:
    assert not exit.code, exit.code
"""
RUN_SORT = """
import os, tempfile
os.chdir(tempfile.mkdtemp())
open("in", "wb").write(bytes(1000))
sys.argv = ["planner", "sort", "in", "out", "--json"]
from planner.cli.app import main
try:
    main()
except SystemExit as exit:
    assert not exit.code, exit.code
"""


def loaded_by(statements: str) -> set[str]:
    """Return the top-level modules that are in memory after a new interpreter ran `statements`."""
    code = f"import sys\n{statements}\nprint(*sys.modules, file=sys.stderr)"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False, cwd=CHECKOUT)
    assert done.returncode == 0, done.stderr
    return {name.split(".")[0] for name in done.stderr.split()}


@pytest.mark.parametrize(
    ("statements", "absent"),
    [
        pytest.param("import planner", {"pandas", "numpy", "typer", "rich"}, id="import planner"),
        pytest.param("import planner.cli.app", {"pandas", "numpy"}, id="import planner.cli.app"),
        pytest.param(RUN_PLAN, {"pandas"}, id="plan"),
        pytest.param(RUN_SORT, {"pandas", "numpy"}, id="planner sort"),
    ],
)
def test_heavy_packages_are_loaded_when_needed_and_not_before(statements: str, absent: set[str]) -> None:
    assert not loaded_by(statements) & (absent | {"ray", "boto3"})


def committed_texts() -> dict[Path, str]:
    names = subprocess.run(["git", "ls-files", "-z"], cwd=CHECKOUT, capture_output=True, text=True, check=True).stdout
    files = [CHECKOUT / name for name in names.split("\0") if name and (CHECKOUT / name).is_file()]
    return {path: content.decode() for path in files if b"\0" not in (content := path.read_bytes())}


def test_committed_files_refer_to_nothing_outside_the_checkout() -> None:
    here = re.escape(str(CHECKOUT.parent)) + r"\b" if len(CHECKOUT.parts) > 2 else r"(?!)"
    elsewhere = re.compile(rf"{here}|\b(?:pypi|pythonhosted|npmjs|debian|crates)\.\w+|\b(?:index-url|find-links)\b")
    upward = re.compile(r"(?:\.\./)+[\w.-]+")
    findings = []
    for path, text in committed_texts().items():
        for number, line in enumerate(text.splitlines(), start=1):
            found = elsewhere.findall(line) if path != Path(__file__) else []
            found += [name for name in upward.findall(line) if not (path.parent / name).exists()]
            findings += [f"{path.relative_to(CHECKOUT)}:{number}: {what}" for what in found]
    assert not findings, "\n".join(findings)


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
