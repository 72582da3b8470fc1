"""A run's own SSH key."""

from __future__ import annotations

import stat
from pathlib import Path

import pytest

from planner.clusters.provisioning.ssh_key import make_key
from planner.errors import IoFailureError


def test_the_private_half_is_its_owners_alone(tmp_path: Path) -> None:
    path = tmp_path / "key" / "id_ed25519"
    public = make_key(path, comment="planner-r1")
    assert public.startswith("ssh-ed25519 ") and public.endswith(" planner-r1")
    assert stat.S_IMODE(path.stat().st_mode) == 0o600
    assert stat.S_IMODE(path.parent.stat().st_mode) == 0o700


def test_a_folder_that_cannot_be_made_is_named(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    with pytest.raises(IoFailureError, match="cannot make an SSH key"):
        make_key(tmp_path / "file" / "id_ed25519")
