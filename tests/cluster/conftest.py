"""One EC2 for all tests of clusters; each begins with an empty account."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).parent.parent / "emulators"))
from ec2_bed import Ec2Bed, ec2_bed


@pytest.fixture(scope="session")
def _ec2(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Ec2Bed]:
    with ec2_bed(tmp_path_factory.mktemp("ec2")) as bed:
        yield bed


@pytest.fixture
def ec2(_ec2: Ec2Bed, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Ec2Bed:
    """An empty account, and a directory for runs."""
    _ec2.home = tmp_path / "runs"
    _ec2.world()
    for name, value in _ec2.environment().items():
        monkeypatch.setenv(name, value)
    return _ec2
