"""Fixtures: one emulated EC2, one Compute Engine and one Azure for all tests; each test begins with an empty account.

The emulators are imported when a test first asks for one: every process of the suite loads this file.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from azure_bed import AzureBed
    from bed import Bed
    from ec2_bed import Ec2Bed
    from gcp_bed import GcpBed


@pytest.fixture(scope="session")
def _ec2(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Ec2Bed]:
    from ec2_bed import ec2_bed

    with ec2_bed(tmp_path_factory.mktemp("ec2")) as bed:
        yield bed


@pytest.fixture(scope="session")
def _gcp(tmp_path_factory: pytest.TempPathFactory) -> Iterator[GcpBed]:
    from gcp_bed import gcp_bed

    with gcp_bed(tmp_path_factory.mktemp("gcp")) as bed:
        yield bed


@pytest.fixture(scope="session")
def _azure(tmp_path_factory: pytest.TempPathFactory) -> Iterator[AzureBed]:
    from azure_bed import azure_bed

    with azure_bed(tmp_path_factory.mktemp("azure")) as bed:
        yield bed


@pytest.fixture
def ec2(_ec2: Ec2Bed, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Ec2Bed:
    """An empty account, and a directory for runs."""
    begin(_ec2, tmp_path, monkeypatch)
    return _ec2


@pytest.fixture
def gcp(_gcp: GcpBed, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> GcpBed:
    """An empty project, and a directory for runs."""
    begin(_gcp, tmp_path, monkeypatch)
    return _gcp


@pytest.fixture
def azure(_azure: AzureBed, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> AzureBed:
    """An empty subscription, and a directory for runs."""
    begin(_azure, tmp_path, monkeypatch)
    return _azure


@pytest.fixture(params=["ec2", "gcp", "azure"])
def cloud(request: pytest.FixtureRequest) -> Bed:
    """Each cloud in turn."""
    bed: Bed = request.getfixturevalue(request.param)
    return bed


def begin(bed: Bed, directory: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    bed.home = directory / "runs"
    bed.world()
    for name, value in bed.environment().items():
        monkeypatch.setenv(name, value)
