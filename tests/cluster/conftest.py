"""One EC2, one Compute Engine and one Azure for all tests of clusters; each begins with an empty account."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).parent.parent / "emulators"))
from azure_bed import AzureBed, azure_bed
from bed import Bed
from ec2_bed import Ec2Bed, ec2_bed
from gcp_bed import GcpBed, gcp_bed


@pytest.fixture(scope="session")
def _ec2(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Ec2Bed]:
    with ec2_bed(tmp_path_factory.mktemp("ec2")) as bed:
        yield bed


@pytest.fixture(scope="session")
def _gcp(tmp_path_factory: pytest.TempPathFactory) -> Iterator[GcpBed]:
    with gcp_bed(tmp_path_factory.mktemp("gcp")) as bed:
        yield bed


@pytest.fixture(scope="session")
def _azure(tmp_path_factory: pytest.TempPathFactory) -> Iterator[AzureBed]:
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
    bed = request.getfixturevalue(request.param)
    assert isinstance(bed, Bed)
    return bed


def begin(bed: Bed, directory: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    bed.home = directory / "runs"
    bed.world()
    for name, value in bed.environment().items():
        monkeypatch.setenv(name, value)
