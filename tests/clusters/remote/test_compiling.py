"""The sort core compiled on a cluster's head, by the scripts that machines run, from the code that runs here."""

from __future__ import annotations

import shlex
import subprocess
import sys
import sysconfig
from pathlib import Path

import pytest

from planner.clouds.calls.retry import RetryPolicy
from planner.clouds.protocol import Node
from planner.clusters.remote import bootstrap, compiling
from planner.clusters.remote.own_source import build_requirements, write_source
from planner.clusters.remote.ssh import HEAD, Ssh
from planner.clusters.remote.wheelhouse import Wheelhouse, pack, requirements
from planner.errors import IoFailureError
from tests.emulators.emulated_machines import write_wheel

NODE = Node(id="h", region="r", zone="z", head=True, state="running", instance_type="t", private_address="127.0.0.1")


class Here(Ssh):
    """Runs scripts on this machine, in a separate home."""

    home = Path()

    def run(self, node: str, script: str, *, within_s: float) -> str:
        done = subprocess.run(["sh", "-s"], input=script, capture_output=True, text=True, check=False, cwd=self.home)
        if done.returncode:
            raise IoFailureError(f"{node}: {done.stderr}")
        return done.stdout

    def run_with_proxy(self, node: str, script: str, *, port: int, within_s: float) -> str:
        return self.run(node, script, within_s=within_s)

    def put(self, node: str, source: Path, *, to: str, within_s: float) -> None:
        (self.home / to).parent.mkdir(parents=True, exist_ok=True)
        (self.home / to).write_bytes(source.read_bytes())


@pytest.fixture
def head(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Here:
    """A head whose Python is the base interpreter of this environment."""
    (tmp_path / "bin").mkdir()
    (tmp_path / "bin" / "python3").symlink_to(sys._base_executable)  # type: ignore[attr-defined]
    monkeypatch.setenv("PATH", f"{tmp_path / 'bin'}:/usr/local/bin:/usr/bin:/bin")
    monkeypatch.setattr(bootstrap, "DISKS_DIRECTORY", shlex.quote(str(tmp_path)))
    monkeypatch.setattr(bootstrap, "IMAGE_VENV", "/nowhere")
    (tmp_path / "disk0").mkdir()
    (tmp_path / "home").mkdir()
    local = Here([NODE], directory=tmp_path, key=tmp_path / "key")
    local.home = tmp_path / "home"
    return local


def wheelhouse_of_source(directory: Path) -> Wheelhouse:
    """Return the planner's source with stand-ins for all else, which point at this environment's packages."""
    import ensurepip

    import cmake
    import ninja

    directory.mkdir()
    (bundled,) = (Path(ensurepip.__file__).parent / "_bundled").glob("pip-*.whl")
    (directory / bundled.name).write_bytes(bundled.read_bytes())
    version = f"cp{sys.version_info.major}{sys.version_info.minor}"
    tag = f"{version}-{version}-manylinux_2_17_{sysconfig.get_platform().removeprefix('linux-')}"
    programs = {"cmake": f"CMAKE_BIN_DIR = {cmake.CMAKE_BIN_DIR!r}\n", "ninja": f"BIN_DIR = {ninja.BIN_DIR!r}\n"}
    for requirement in [*requirements(), *build_requirements()]:
        name = requirement.split(">")[0].replace("-", "_")
        info = f"{name}-99.dist-info"
        files = {
            f"{name}_of_the_tests.pth": f"{sysconfig.get_path('purelib')}\n",
            f"{info}/METADATA": f"Metadata-Version: 2.1\nName: {name}\nVersion: 99\n",
            **({f"{name}/__init__.py": programs[name]} if name in programs else {}),
            f"{info}/WHEEL": f"Wheel-Version: 1.0\nGenerator: tests\nRoot-Is-Purelib: false\nTag: {tag}\n",
        }
        write_wheel(directory / f"{name}-99-{tag}.whl", info, files)
    write_source(directory)
    return pack(directory, directory.parent / "source.tar")


@pytest.mark.soak
def test_a_bare_machine_compiles_installs_and_sorts(
    head: Here, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """With bootstrap's scripts, without a network, in a separate environment; without optimisation, for speed."""
    monkeypatch.setenv("SKBUILD_CMAKE_BUILD_TYPE", "Debug")
    monkeypatch.setenv("SKBUILD_CMAKE_DEFINE", "CMAKE_UNITY_BUILD=ON")
    lines: list[str] = []
    software = wheelhouse_of_source(tmp_path / "wheels")
    assert software.is_source
    bootstrap.equip(head, [NODE], software, policy=RetryPolicy(), say=lines.append)
    assert any("compiling the sort core on the head" in line for line in lines)
    planner = tmp_path / "home" / bootstrap.PLANNER
    for words in ("generate --records 10000 in.dat", "sort in.dat out.dat", "validate out.dat"):
        done = subprocess.run([planner, *words.split()], cwd=tmp_path, capture_output=True, text=True, check=False)
        assert done.returncode == 0, done.stderr
    code = "from planner.native import core; print(core.__file__)"
    python = tmp_path / "home" / bootstrap.PYTHON
    shown = subprocess.run([python, "-P", "-c", code], cwd=tmp_path, check=True, capture_output=True, text=True).stdout
    assert Path(shown.strip()).is_relative_to(tmp_path), "not the core of this checkout"
    again = compiling.compile_on_head(head, software)
    assert again == (tmp_path / "home/planner/share" / f"compiled.{software.sha256}").read_text().strip()


def software(tmp_path: Path, **changed: str) -> Wheelhouse:
    facts = {"sha256": "0" * 64, "python": "3.12", "code": ""} | changed
    return Wheelhouse(path=tmp_path / "source.tar", is_source=True, **facts)


def test_what_is_compiled_is_not_compiled_again(head: Here, tmp_path: Path) -> None:
    share = tmp_path / "home/planner/share"
    share.mkdir(parents=True)
    (share / "wheels.tar").touch()
    (share / f"compiled.{'0' * 64}").write_text("digest\n")
    assert compiling.compile_on_head(head, software(tmp_path)) == "digest"


def test_another_python_is_named(head: Here, tmp_path: Path) -> None:
    head.put(HEAD, Path(__file__), to=compiling.SOURCE, within_s=1)
    with pytest.raises(IoFailureError, match=r"the image has Python 3\.\d+, the wheels are for 3\.99"):
        compiling.compile_on_head(head, software(tmp_path, python="3.99"))


def test_sources_that_were_changed_on_the_way_are_refused(head: Here, tmp_path: Path) -> None:
    head.put(HEAD, Path(__file__), to=compiling.SOURCE, within_s=1)
    running = f"{sys.version_info.major}.{sys.version_info.minor}"
    with pytest.raises(IoFailureError, match="the sources that arrived are not those that were sent"):
        compiling.compile_on_head(head, software(tmp_path, python=running))


def test_a_machine_without_a_compiler_asks_apt_through_the_proxy_for_it(
    head: Here, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    tools = tmp_path / "tools"
    tools.mkdir()
    for name in ("sh", "python3", "env", "rm", "mkdir", "cat"):
        (tools / name).symlink_to(Path("/bin") / name if name != "python3" else tmp_path / "bin" / name)
    (tools / "sudo").write_text(f'#!/bin/sh\nprintf "%s\\n" "$*" >>{shlex.quote(str(tmp_path / "asked"))}\n')
    (tools / "sudo").chmod(0o755)
    monkeypatch.setenv("PATH", str(tools))
    head.put(HEAD, Path(__file__), to=compiling.SOURCE, within_s=1)
    with pytest.raises(IoFailureError, match="wheels are for"):
        compiling.compile_on_head(head, software(tmp_path, python="3.99"))
    update, install = (tmp_path / "asked").read_text().splitlines()
    assert update.endswith("update") and install.endswith("g++ libc6-dev python3-dev")
    assert "Acquire::http::Proxy=socks5h://127.0.0.1:8378" in install


def test_the_proxy_serves_web_servers_alone(tmp_path: Path) -> None:
    """As parsed from the command line by OpenSSH; -G prints the settings it would use."""
    asked: list[list[str]] = []

    class Noting(Ssh):
        def _output_of(self, node: str, words: list[str], *_: object, **__: object) -> str:
            asked.append(words)
            return ""

    Noting([NODE], directory=tmp_path, key=tmp_path / "key").run_with_proxy(HEAD, "true", port=8378, within_s=1)
    done = subprocess.run(["ssh", "-G", *asked[0][1:]], capture_output=True, text=True, check=True)
    assert "permitremoteopen *:80 *:443" in done.stdout
    assert "remoteforward [127.0.0.1]:8378 [socks]:0" in done.stdout


@pytest.mark.parametrize(("vcpus", "seconds"), [(1.0, 390.0), (4.0, 165.0), (8.0, 127.5), (96.0, 127.5)])
def test_more_processors_compile_faster_up_to_eight(vcpus: float, seconds: float) -> None:
    assert compiling.compiling_s(vcpus) == seconds
