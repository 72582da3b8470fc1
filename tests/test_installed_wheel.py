"""The built distributions, installed far from the checkout, contain data files, types, extension and commands."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
import sysconfig
import tarfile
import venv
import zipfile
from pathlib import Path

import pytest

from planner.clusters.remote.own_source import CARRIED, is_built_from_here
from tests.marks import quick_soak

CHECKOUT = Path(__file__).resolve().parent.parent
FOLDERS = ("planner", "native", "models", "catalogs", "tests", "benchmarks", "notebooks", "docs", "scripts")
FILES = (("in.dat", 5), ("out.dat", 0))
"""Files that the sort read and wrote, each with the exit code of its validation."""


def build_wheel(source: Path, folder: Path, **environment: str) -> Path:
    """Build a wheel with this environment's tools and the compiler's earlier work, and return its path."""
    pip = [
        sys.executable,
        "-m",
        "pip",
        "wheel",
        "--quiet",
        "--no-build-isolation",
        "--no-deps",
        f"--wheel-dir={folder}",
    ]
    subprocess.run([*pip, str(source)], env=os.environ | environment, check=True)
    (wheel,) = folder.glob("*.whl")
    return wheel


class Installation:
    """A virtual environment with one wheel; its dependencies are borrowed from the tests' environment."""

    def __init__(self, folder: Path, wheel: Path) -> None:
        venv.create(folder, with_pip=False)
        self.folder, self.bin = folder, folder / "bin"
        self.through: tuple[str, ...] = ()
        pip = [sys.executable, "-m", "pip", "--python", str(self.bin / "python"), "install", "--quiet", "--no-deps"]
        subprocess.run([*pip, "--no-index", str(wheel)], check=True)
        (packages,) = folder.glob("lib/python*/site-packages")
        (packages / "borrowed.pth").write_text(sysconfig.get_path("purelib"))

    def run(self, *command: str, exit_code: int = 0) -> str:
        """Run a command, given whole or in words, and return its output, or its error text if it printed none."""
        name, *arguments = command[0].split() if len(command) == 1 else command
        done = subprocess.run(
            [*self.through, self.bin / name, *arguments], cwd=self.folder, capture_output=True, text=True, check=False
        )
        assert done.returncode == exit_code, done.stderr
        return done.stdout or done.stderr

    def plans(self) -> None:
        plan = json.loads(self.run("plan --data 100TB --model daytona --json"))
        assert plan["best"]["cost_usd"]["total"] > 0
        assert "indy" in self.run("planner models")
        assert "aws-2014" in self.run("planner catalog show")

    def sorts(self) -> None:
        self.run("planner generate --records 10000 in.dat")
        self.run("planner sort in.dat out.dat")
        before, after = (
            json.loads(self.run(f"planner validate {name} --json", exit_code=code)) for name, code in FILES
        )
        assert after["records"] == before["records"] == 10000
        assert after["checksum"] == before["checksum"]


@pytest.fixture(scope="module")
def wheel(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return build_wheel(CHECKOUT, tmp_path_factory.mktemp("wheel"))


@quick_soak
def test_wheel_carries_data_types_and_extension(wheel: Path) -> None:
    names = set(zipfile.ZipFile(wheel).namelist())
    for folder in ("models", "catalogs"):
        shipped = {f"planner/{path.relative_to(CHECKOUT)}" for path in (CHECKOUT / folder).rglob("*.*")}
        assert shipped
        assert shipped <= names
    assert {"planner/py.typed", "planner/_sortcore.pyi"} <= names
    manuals = {name.rpartition("/share/man/man1/")[2] for name in names if "/share/man/man1/" in name}
    assert manuals == {"plan.1", "planner.1"}
    assert any(name.startswith("planner/_sortcore.") and name.endswith(".so") for name in names)
    sources = {name.rpartition("/share/sortplanner/")[2] for name in names if "/share/sortplanner/" in name}
    native = {str(path.relative_to(CHECKOUT)) for path in (CHECKOUT / "native").rglob("*.?pp")}
    assert native and native | {name for name in CARRIED if "." in name} <= sources
    assert is_built_from_here(wheel)


@quick_soak
def test_installed_wheel_plans_and_sorts(wheel: Path, tmp_path: Path) -> None:
    installation = Installation(tmp_path, wheel)
    installation.plans()
    installation.sorts()
    where = installation.run("python", "-c", "from planner.config import paths; print(paths.catalogs_directory())")
    assert Path(where.strip()).is_relative_to(tmp_path)


@pytest.fixture(scope="module")
def source(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The source distribution, unpacked."""
    folder = tmp_path_factory.mktemp("source")
    command = [sys.executable, "-m", "build", "--no-isolation", "--sdist", f"--outdir={folder}", str(CHECKOUT)]
    subprocess.run(command, check=True, stdout=subprocess.DEVNULL)
    (archive,) = folder.glob("*.tar.gz")
    with tarfile.open(archive) as tar:
        tar.extractall(folder, filter="data")
    return folder / archive.name.removesuffix(".tar.gz")


@quick_soak
def test_source_distribution_is_complete(source: Path) -> None:
    kinds = {
        ".py",
        ".pyi",
        ".cpp",
        ".hpp",
        ".txt",
        ".toml",
        ".csv",
        ".json",
        ".md",
        ".svg",
        ".ipynb",
        ".sh",
        ".yml",
        ".cff",
    }
    ours = [path for folder in FOLDERS for path in (CHECKOUT / folder).rglob("*")] + list(CHECKOUT.glob("*"))
    wanted = {str(path.relative_to(CHECKOUT)) for path in ours if path.suffix in kinds} | {"Makefile", "LICENSE"}
    packed = {str(path.relative_to(source)) for path in source.rglob("*")}
    assert len(wanted) > 500 and wanted - packed == set()


@pytest.mark.soak
@pytest.mark.quick
def test_source_installed_without_a_compiler_plans_and_says_what_is_missing(source: Path, tmp_path: Path) -> None:
    wheel = build_wheel(source, tmp_path / "wheel", SORTPLANNER_NO_NATIVE="1")
    assert wheel.name.endswith("py3-none-any.whl")
    installation = Installation(tmp_path / "venv", wheel)
    installation.plans()
    assert "sort core" in installation.run("planner generate --records 1 in.dat", exit_code=1)


@pytest.mark.soak
def test_source_distribution_builds_the_same_wheel(source: Path, wheel: Path, tmp_path: Path) -> None:
    from_source = build_wheel(source, tmp_path / "wheel")
    assert sorted(zipfile.ZipFile(from_source).namelist()) == sorted(zipfile.ZipFile(wheel).namelist())
    Installation(tmp_path / "venv", from_source).sorts()


@pytest.mark.soak
def test_an_older_processor_runs_the_wheel(wheel: Path, tmp_path: Path) -> None:
    """A processor of 2008, without AVX: x86-64-v2, which numpy needs, too."""
    emulator = shutil.which("qemu-x86_64")
    if not emulator:
        pytest.skip("no qemu-x86_64 (package qemu-user)")
    installation = Installation(tmp_path, wheel)
    installation.through = (emulator, "-cpu", "Nehalem", str(installation.bin / "python"))
    installation.plans()
    installation.sorts()


def interpreters() -> list[str]:
    """Return the Pythons on the PATH that preflight accepts."""
    script = ["/bin/sh", str(CHECKOUT / "scripts/preflight.sh")]
    tried = [
        subprocess.run(script, env=os.environ | {"PYTHON": name}, capture_output=True, text=True, check=False)
        for name in (f"python3.{minor}" for minor in range(11, 15))
    ]
    return [done.stdout.strip() for done in tried if done.returncode == 0]


@pytest.mark.soak
def test_every_python_of_this_machine_runs_the_main_job(tmp_path: Path) -> None:
    for number, interpreter in enumerate(interpreters()):
        make = ["make", "run", f"VENV={tmp_path}/venv{number}", f"PYTHON={interpreter}"]
        subprocess.run(make, cwd=CHECKOUT, check=True)
