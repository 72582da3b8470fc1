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


def run(*command: str, timeout_s: float = 600, **environment: str) -> subprocess.CompletedProcess[str]:
    """Run a command and show everything it said if it fails."""
    done = subprocess.run(
        command, capture_output=True, text=True, timeout=timeout_s, check=False, env=os.environ | environment
    )
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


@pytest.mark.soak
@pytest.mark.parametrize("build", ["plain"], indirect=True)
def test_millions_of_random_cases(build: Path) -> None:
    said = run(
        str(build / "sortcore_tests"), "_as_the_standard_library_does", timeout_s=3600, SORTCORE_TEST_EFFORT="100"
    )
    cases = int(said.stdout.split(" random cases")[0].split()[-1])
    assert cases > 2_000_000
    assert " 0 failed" in said.stdout


@pytest.mark.soak
@pytest.mark.parametrize("target", FUZZ_TARGETS)
def test_fuzz_for_long(build: Path, target: str) -> None:
    assert "inputs" in run(str(build / target), "120").stdout


@pytest.mark.parametrize("target", FUZZ_TARGETS)
def test_fuzz(build: Path, target: str) -> None:
    assert "inputs" in run(str(build / target)).stdout
