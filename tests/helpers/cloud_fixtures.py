"""Fixtures: one emulated EC2, one Compute Engine and one Azure for all tests; each test begins with an empty account.

The emulators are imported when a test first needs one: every process of the suite loads this file.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
import strict_answers

if TYPE_CHECKING:
    from emulated_azure import EmulatedAzure
    from emulated_cloud import EmulatedCloud
    from emulated_ec2 import EmulatedEc2
    from emulated_gcp import EmulatedGcp


@pytest.fixture(scope="session")
def _ec2(tmp_path_factory: pytest.TempPathFactory) -> Iterator[EmulatedEc2]:
    from emulated_ec2 import emulated_ec2

    with emulated_ec2(tmp_path_factory.mktemp("ec2")) as cloud:
        yield cloud


@pytest.fixture(scope="session")
def _gcp(tmp_path_factory: pytest.TempPathFactory) -> Iterator[EmulatedGcp]:
    from emulated_gcp import emulated_gcp

    with emulated_gcp(tmp_path_factory.mktemp("gcp")) as cloud:
        yield cloud


@pytest.fixture(scope="session")
def _azure(tmp_path_factory: pytest.TempPathFactory) -> Iterator[EmulatedAzure]:
    from emulated_azure import emulated_azure

    with emulated_azure(tmp_path_factory.mktemp("azure")) as cloud:
        yield cloud


@pytest.fixture
def ec2(_ec2: EmulatedEc2, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> EmulatedEc2:
    """An empty account, and a directory for runs."""
    begin(_ec2, tmp_path, monkeypatch)
    return _ec2


@pytest.fixture
def gcp(_gcp: EmulatedGcp, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> EmulatedGcp:
    """An empty project, and a directory for runs."""
    begin(_gcp, tmp_path, monkeypatch)
    return _gcp


@pytest.fixture
def azure(_azure: EmulatedAzure, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> EmulatedAzure:
    """An empty subscription, and a directory for runs."""
    begin(_azure, tmp_path, monkeypatch)
    return _azure


@pytest.fixture(params=["ec2", "gcp", "azure"])
def cloud(request: pytest.FixtureRequest) -> EmulatedCloud:
    """Each cloud in turn."""
    cloud: EmulatedCloud = request.getfixturevalue(request.param)
    return cloud


def begin(cloud: EmulatedCloud, directory: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    strict_answers.install(monkeypatch)
    cloud.home = directory / "runs"
    cloud.world()
    for name, value in cloud.environment().items():
        monkeypatch.setenv(name, value)
