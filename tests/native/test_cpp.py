"""Builds the C++ tests, plain and under sanitizers, beside the checkout and runs them."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
VARIANTS = {"plain": "", "address": "address,undefined", "thread": "thread"}
FUZZ_TARGETS = sorted(path.stem for path in Path(__file__).parent.glob("fuzz_*.cpp"))


def run(*command: str, timeout_s: float = 600) -> subprocess.CompletedProcess[str]:
    """Run a command and show everything it said if it fails."""
    done = subprocess.run(command, capture_output=True, text=True, timeout=timeout_s, check=False)
    assert done.returncode == 0, f"{' '.join(command)}\n{done.stdout}\n{done.stderr}"
    return done


def tool(name: str) -> str:
    """Return the path of a build tool: the environment's own, else the system's."""
    beside = Path(sys.executable).parent / name
    found = str(beside) if beside.exists() else shutil.which(name)
    if found is None:
        pytest.fail(f"{name} is needed to build the C++ tests: python -m pip install {name}")
    return found


@pytest.fixture(scope="module", params=VARIANTS)
def build(request: pytest.FixtureRequest) -> Path:
    """Build one variant, again only as far as sources changed; returns its directory."""
    directory = ROOT / "build" / "cpp-tests" / request.param
    run(
        tool("cmake"), "-G", "Ninja", "-S", str(ROOT / "native"), "-B", str(directory), "-DSORTCORE_TESTS=ON",
        f"-DCMAKE_MAKE_PROGRAM={tool('ninja')}", f"-DSORTCORE_SANITIZE={VARIANTS[request.param]}",
    )  # fmt: skip
    run(tool("cmake"), "--build", str(directory), "--parallel", str(os.cpu_count()))
    return directory / "tests"


def test_cpp(build: Path) -> None:
    assert " 0 failed" in run(str(build / "sortcore_tests")).stdout


@pytest.mark.parametrize("target", FUZZ_TARGETS)
def test_fuzz(build: Path, target: str) -> None:
    assert "inputs" in run(str(build / target)).stdout
