"""Connections to a run's machines: OpenSSH's own reading of the run's configuration."""

from __future__ import annotations

import os
import socket
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import suppress
from pathlib import Path

import pytest

from planner.clouds.protocol import Node
from planner.clusters.remote.ssh import Ssh, UnreachableError
from planner.errors import IoFailureError

SERVER = str(Path(__file__).parents[2] / "emulators" / "ssh_server.py")


def node(name: str, *, head: bool = False, public: str = "") -> Node:
    return Node(
        id=name,
        region="r",
        zone="z",
        head=head,
        state="running",
        instance_type="t",
        private_address=f"10.1.0.{4 if head else 5}",
        public_address=public,
    )


def as_read(directory: Path, host: str) -> dict[str, str]:
    """Return OpenSSH's own reading of a host's settings."""
    shown = subprocess.run(
        ["ssh", "-G", "-F", str(directory / "ssh_config"), host], check=True, capture_output=True, text=True
    ).stdout
    return dict(line.partition(" ")[::2] for line in shown.splitlines())


def test_the_head_is_reached_at_its_public_address_and_others_through_it(tmp_path: Path) -> None:
    with Ssh([node("h", head=True, public="203.0.113.9"), node("n")], directory=tmp_path, key=tmp_path / "key"):
        head, other = as_read(tmp_path, "head"), as_read(tmp_path, "n")
    assert head["hostname"] == "203.0.113.9" and "proxycommand" not in head and "proxyjump" not in head
    assert (other["hostname"], other["proxyjump"]) == ("10.1.0.5", "head")


def test_a_head_without_a_public_address_is_reached_through_the_jump_host(tmp_path: Path) -> None:
    """With the caller's own ssh, hence the caller's own configuration: the run's `-F` is not passed on."""
    with Ssh([node("h", head=True), node("n")], directory=tmp_path, key=tmp_path / "key", jump="me@bastion"):
        head, other = as_read(tmp_path, "head"), as_read(tmp_path, "n")
    assert head["hostname"] == "10.1.0.4"
    assert head["proxycommand"] == "ssh -o BatchMode=yes -W '[%h]:%p' me@bastion"
    assert other["proxyjump"] == "head" and "proxycommand" not in other


@pytest.mark.parametrize("length", [20, 200])
def test_sockets_have_short_paths_whatever_the_folder_for_temporary_files(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, length: int
) -> None:
    """ssh adds 17 characters while it creates a socket, and a path of 104 is too long for some systems."""
    place = tmp_path / ("x" * length)
    place.mkdir()
    monkeypatch.setattr("tempfile.tempdir", str(place))
    with Ssh([node("h", head=True, public="203.0.113.9")], directory=tmp_path, key=tmp_path / "key"):
        assert len(as_read(tmp_path, "head")["controlpath"]) + 17 < 104


@pytest.fixture
def server(tmp_path: Path) -> Iterator[Callable[[], subprocess.Popen[bytes]]]:
    """Return a function that starts an SSH server whose logins begin in the folder `home`, at 127.66.0.1."""
    (tmp_path / "home").mkdir()
    for key in ("key", "host"):
        subprocess.run(["ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-f", tmp_path / key], check=True)
    words = [sys.executable, SERVER, "127.66.0.1", str(tmp_path / "host"), str(tmp_path / "key.pub")]
    started: list[subprocess.Popen[bytes]] = []

    def start() -> subprocess.Popen[bytes]:
        started.append(subprocess.Popen(words, cwd=tmp_path / "home"))
        for _ in range(200):
            with suppress(OSError), socket.create_connection(("127.66.0.1", 22), 1):
                break
            time.sleep(0.05)
        return started[-1]

    yield start
    for process in started:
        process.kill()
        process.wait()


@pytest.mark.soak
@pytest.mark.quick
@pytest.mark.needs_root(why="the server has port 22")
def test_a_file_goes_on_where_its_connection_was_lost(
    server: Callable[[], subprocess.Popen[bytes]], tmp_path: Path
) -> None:
    source, home = tmp_path / "wheels.tar", tmp_path / "home"
    source.write_bytes(os.urandom(1 << 20) * 200)
    first = server()
    with Ssh([node("h", head=True, public="127.66.0.1")], directory=tmp_path, key=tmp_path / "key") as ssh:
        losing = threading.Thread(target=lambda: wait_for_some(home / "share") or first.kill())
        losing.start()
        with pytest.raises(UnreachableError):
            ssh.put("head", source, to="share/wheels.tar", within_s=60)
        losing.join()
        first.wait()
        (part,) = (home / "share").iterdir()
        there = part.read_bytes()
        assert 0 < len(there) < source.stat().st_size and source.read_bytes().startswith(there)
        part.write_bytes(there[:-1] + bytes([there[-1] ^ 1]))
        server()
        with pytest.raises(IoFailureError, match="a script failed"):  # so it went on from the part, which was spoiled
            ssh.put("head", source, to="share/wheels.tar", within_s=60)
        assert list((home / "share").iterdir()) == []
        ssh.put("head", source, to="share/wheels.tar", within_s=60)
        assert (home / "share/wheels.tar").read_bytes() == source.read_bytes()
        changed = (home / "share/wheels.tar").stat().st_mtime_ns
        ssh.put("head", source, to="share/wheels.tar", within_s=60)
        assert (home / "share/wheels.tar").stat().st_mtime_ns == changed and len(list((home / "share").iterdir())) == 1


def wait_for_some(folder: Path) -> None:
    """Return once a file with some content is in a folder."""
    while not any(path.stat().st_size for path in folder.glob("*")):
        time.sleep(0.001)
