"""A sweep selects runs by everything tagged with them, not by one resource."""

from __future__ import annotations

import stat
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest
from refusals import refused

from planner.clouds.protocol import Resource
from planner.clusters.provisioning.cluster_lifecycle import has_expired, make_key
from planner.errors import IoFailureError

NOW = datetime(2026, 11, 23, 12, tzinfo=UTC)


@pytest.mark.parametrize(
    ("hours", "is_expired"),
    [
        ((-1.0, -2.0), True),
        ((-1.0, 1.0), False),
        ((None, 1.0), False),
        ((None, -1.0), True),
        ((None, None), True),
        ((), True),
    ],
)
def test_a_run_has_expired_when_nothing_of_it_may_live_on(hours: tuple[float | None, ...], is_expired: bool) -> None:
    """A resource with a lost or unreadable expiry tag used to make its live run count as expired."""
    resources = [
        Resource(kind="vpc", id="v", region="r", run="r1", expires_at=None if h is None else NOW + timedelta(hours=h))
        for h in hours
    ]
    assert has_expired(resources, now=NOW) is is_expired


def test_the_private_half_is_its_owners_alone(tmp_path: Path) -> None:
    path = tmp_path / "key" / "id_ed25519"
    public = make_key(path, comment="planner-r1")
    assert public.startswith("ssh-ed25519 ") and public.endswith(" planner-r1")
    assert stat.S_IMODE(path.stat().st_mode) == 0o600
    assert stat.S_IMODE(path.parent.stat().st_mode) == 0o700


def test_a_folder_that_cannot_be_made_is_named(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    with refused("no-ssh-key", kind=IoFailureError):
        make_key(tmp_path / "file" / "id_ed25519")
