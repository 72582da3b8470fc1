"""Builds the C++ tests, plain and under sanitizers, in the checkout's build folder and runs them.

A build takes a minute and a half of one processor, so all of them belong to the soak, most to its quick part.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest

ROOT = Path(__file__).resolve().parents[2]
VARIANTS = {"plain": "", "address": "address,undefined", "thread": "thread"}
ARM64 = (
    "-DCMAKE_SYSTEM_NAME=Linux", "-DCMAKE_SYSTEM_PROCESSOR=aarch64", "-DCMAKE_CXX_COMPILER=aarch64-linux-gnu-g++",
    "-DCMAKE_EXE_LINKER_FLAGS=-static",
)  # fmt: skip
FUZZ_TARGETS = sorted(path.stem for path in Path(__file__).parent.glob("fuzz_*.cpp"))


def run(*command: str, timeout_s: float = 600, **environment: str) -> subprocess.CompletedProcess[str]:
    """Run a command and show its output if it fails."""
    done = subprocess.run(
        command, capture_output=True, text=True, timeout=timeout_s, check=False, env=os.environ | environment
    )
    assert done.returncode == 0, f"{' '.join(command)}\n{done.stdout}\n{done.stderr}"
    return done


def tool(name: str) -> str:
    """Return the path of a build tool: the environment's own, else the system's."""
    beside = Path(sys.executable).parent / name
    path = str(beside) if beside.exists() else shutil.which(name)
    if path is None:
        pytest.fail(f"{name} is needed to build the C++ tests: python -m pip install {name}")
    return path


def build(variant: str, *targets: str, options: Sequence[str] = ()) -> Path:
    """Build programs of one variant, only as far as sources changed; return their directory.

    With `options` they may be for another machine.

    Whole folders are compiled at once, as much of the time goes into reading headers.
    """
    directory = ROOT / "build" / "cpp-tests" / variant
    run(
        tool("cmake"), "-G", "Ninja", "-S", str(ROOT / "native"), "-B", str(directory), "-DSORTCORE_TESTS=ON",
        "-DCMAKE_UNITY_BUILD=ON", f"-DCMAKE_MAKE_PROGRAM={tool('ninja')}",
        f"-DSORTCORE_SANITIZE={VARIANTS.get(variant, '')}", *options,
    )  # fmt: skip
    run(tool("cmake"), "--build", str(directory), "--parallel", str(os.cpu_count()), "--target", *targets)
    return directory / "tests"


def quick_of(*quick: str) -> list[Any]:
    """Return all variants, with a mark on those that continuous integration runs."""
    return [pytest.param(name, marks=pytest.mark.quick if name in quick else ()) for name in VARIANTS]


@pytest.mark.soak
@pytest.mark.parametrize("variant", VARIANTS)
def test_ten_times_the_random_cases(variant: str) -> None:
    program = build(variant, "sortcore_tests") / "sortcore_tests"
    assert " 0 failed" in run(str(program), timeout_s=1800, SORTCORE_TEST_EFFORT="10").stdout


@pytest.mark.soak
@pytest.mark.quick
@pytest.mark.parametrize("variant", ["address", "thread"])
def test_random_cases(variant: str) -> None:
    program = build(variant, "sortcore_tests") / "sortcore_tests"
    assert " 0 failed" in run(str(program), timeout_s=1800).stdout


@pytest.mark.soak
@pytest.mark.parametrize("target", FUZZ_TARGETS)
@pytest.mark.parametrize("variant", quick_of("address"))
def test_fuzz_for_a_while(variant: str, target: str) -> None:
    assert "inputs" in run(str(build(variant, target) / target), "15").stdout


@pytest.mark.soak
def test_on_arm64() -> None:
    """Needs the packages g++-aarch64-linux-gnu and qemu-user; a wheel for arm64 is built, and this machine is not."""
    emulator = shutil.which("qemu-aarch64")
    if emulator is None or shutil.which("aarch64-linux-gnu-g++") is None:
        pytest.skip("no qemu-aarch64 or aarch64-linux-gnu-g++ (packages qemu-user, g++-aarch64-linux-gnu)")
    program = build("arm64", "sortcore_tests", options=ARM64) / "sortcore_tests"
    assert " 0 failed" in run(emulator, str(program), timeout_s=1800).stdout


@pytest.mark.soak
def test_millions_of_random_cases() -> None:
    program = build("plain", "sortcore_tests") / "sortcore_tests"
    output = run(str(program), "_as_the_standard_library_does", timeout_s=3600, SORTCORE_TEST_EFFORT="100").stdout
    assert int(output.split(" random cases")[0].split()[-1]) > 2_000_000
    assert " 0 failed" in output


@pytest.mark.soak
def test_a_hundred_thousand_passages_through_little_memory() -> None:
    program = build("plain", "sortcore_tests") / "sortcore_tests"
    output = run(str(program), "_pass_through_", timeout_s=3600, SORTCORE_TEST_EFFORT="400").stdout
    assert int(output.split(" random cases")[0].split()[-1]) > 100_000
    assert " 0 failed" in output


@pytest.mark.soak
@pytest.mark.parametrize("target", FUZZ_TARGETS)
@pytest.mark.parametrize("variant", VARIANTS)
def test_fuzz_for_long(variant: str, target: str) -> None:
    assert "inputs" in run(str(build(variant, target) / target), "120").stdout
