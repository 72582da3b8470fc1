"""The sort core compiled on a cluster's head, by the scripts that machines run, from the code that runs here."""

from __future__ import annotations

import shlex
import subprocess
import sys
import sysconfig
from collections.abc import Mapping
from ipaddress import ip_address
from pathlib import Path
from types import MappingProxyType

import pytest

from planner.clouds.calls.retry import RetryPolicy
from planner.clouds.protocol import Node
from planner.clusters.remote import bootstrap, compiling
from planner.clusters.remote.own_source import build_requirements, write_source
from planner.clusters.remote.ssh import HEAD, IPAddress, Ssh
from planner.clusters.remote.wheelhouse import Wheelhouse, pack, requirements
from planner.cost_model.run_overheads import compiling_s
from planner.errors import IoFailureError
from tests.emulators.emulated_machines import write_wheel

NODE = Node(id="h", region="r", zone="z", head=True, state="running", instance_type="t", private_address="127.0.0.1")


class Here(Ssh):
    """Runs scripts on this machine, in a separate home."""

    home = Path()
    ways: Mapping[int, IPAddress] = MappingProxyType({})

    def run(self, node: str, script: str, *, within_s: float) -> str:
        done = subprocess.run(["sh", "-s"], input=script, capture_output=True, text=True, check=False, cwd=self.home)
        if done.returncode:
            raise IoFailureError(f"{node}: {done.stderr}")
        return done.stdout

    def run_with_ways(self, node: str, script: str, *, ways: Mapping[int, IPAddress], within_s: float) -> str:
        self.ways = dict(ways)
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


@pytest.fixture
def bare(head: Here, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Here:
    """A head without a compiler, whose apt has the sources in `sites` and writes what it is asked to `asked`."""
    tools = tmp_path / "tools"
    tools.mkdir()
    for name in ("sh", "python3", "env", "rm", "mkdir", "cat"):
        (tools / name).symlink_to(Path("/bin") / name if name != "python3" else tmp_path / "bin" / name)
    for name, script in (("sudo", 'printf "%s\\n" "$*" >>asked'), ("apt-get", "cat sites")):
        (tools / name).write_text(f"#!/bin/sh\ncd {shlex.quote(str(tmp_path))}\n{script}\n")
        (tools / name).chmod(0o755)
    monkeypatch.setenv("PATH", str(tools))
    head.put(HEAD, Path(__file__), to=compiling.SOURCE, within_s=1)
    return head


def test_a_machine_without_a_compiler_reaches_its_package_sites_alone(bare: Here, tmp_path: Path) -> None:
    (tmp_path / "sites").write_text(
        "http://1.1.1.1/ubuntu\nhttps://9.9.9.9/more\nhttp://8.8.8.8:80/\nhttp://1.1.1.1/x\n"
    )
    with pytest.raises(IoFailureError, match="wheels are for"):
        compiling.compile_on_head(bare, software(tmp_path, python="3.99"))
    update, install = (tmp_path / "asked").read_text().splitlines()
    assert update.endswith("update") and install.endswith("g++ libc6-dev python3-dev")
    assert bare.ways == {8378: ip_address("1.1.1.1"), 8379: ip_address("8.8.8.8")}
    assert "Acquire::http::Proxy::8.8.8.8=http://127.0.0.1:8379" in install and "9.9.9.9" not in install


@pytest.mark.parametrize(
    "site",
    [
        "http://localhost/ubuntu",  # a name that leads to the caller, as one of a hostile name server's would
        "http://127.0.0.1/ubuntu",
        "http://2130706433/ubuntu",
        "http://169.254.169.254/latest/meta-data",
        "http://168.63.129.16/machine",
        "http://10.0.0.1/",
        "http://100.100.100.200/",
        "http://0.0.0.0/",
        "http://1.1.1.1:22/",
        "http://me@1.1.1.1/",
        "http://[::1]/",
        "https://1.1.1.1/",
        "http://no-such-host.invalid/",
        "http://-oProxyCommand=x/",
    ],
)
def test_a_head_that_names_another_server_gets_no_way_to_it(bare: Here, tmp_path: Path, site: str) -> None:
    (tmp_path / "sites").write_text(f"{site}\n")
    with pytest.raises(IoFailureError) as refused:
        compiling.compile_on_head(bare, software(tmp_path))
    assert "--image" in refused.value.details[-1]
    assert not bare.ways and not (tmp_path / "asked").exists()


@pytest.mark.parametrize(
    "address", ["::1", "::ffff:127.0.0.1", "fe80::1", "fd00:ec2::254", "2002:7f00:1::", "64:ff9b::a9fe:a9fe"]
)
def test_no_address_of_ipv6_that_leads_to_a_private_one_is_public(address: str) -> None:
    assert not compiling._is_public(ip_address(address))
    assert compiling._is_public(ip_address("2606:4700:4700::1111"))


def test_each_way_leads_to_one_address(tmp_path: Path) -> None:
    """As parsed from the command line by OpenSSH, without SOCKS; -G prints the settings it would use."""
    asked: list[list[str]] = []

    class Noting(Ssh):
        def _output_of(self, node: str, words: list[str], *_: object, **__: object) -> str:
            asked.append(words)
            return ""

    ways = {8378: ip_address("1.1.1.1"), 8379: ip_address("2606:4700::1111")}
    Noting([NODE], directory=tmp_path, key=tmp_path / "key").run_with_ways(HEAD, "true", ways=ways, within_s=1)
    done = subprocess.run(["ssh", "-G", *asked[0][1:]], capture_output=True, text=True, check=True)
    forwards = [line for line in done.stdout.splitlines() if line.startswith("remoteforward")]
    assert forwards == [
        "remoteforward [127.0.0.1]:8378 [1.1.1.1]:80",
        "remoteforward [127.0.0.1]:8379 [2606:4700::1111]:80",
    ]


@pytest.mark.parametrize(("vcpus", "seconds"), [(1.0, 390.0), (4.0, 165.0), (8.0, 127.5), (96.0, 127.5)])
def test_more_processors_compile_faster_up_to_eight(vcpus: float, seconds: float) -> None:
    assert compiling_s(vcpus) == seconds
