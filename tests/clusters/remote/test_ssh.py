"""Connections to a run's machines: OpenSSH's own reading of the run's configuration."""

from __future__ import annotations

import subprocess
from pathlib import Path

import pytest

from planner.clouds.protocol import Node
from planner.clusters.remote.ssh import Ssh


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
