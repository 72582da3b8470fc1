"""Machines behind an emulated EC2, and the software installed on them."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from emulated_ec2 import EmulatedEc2
from emulated_machines import EmulatedMachines, emulated_machines, write_stand_in_wheels


@pytest.fixture
def machines(ec2: EmulatedEc2, tmp_path: Path) -> Iterator[EmulatedMachines]:
    with emulated_machines(ec2.machines_described, ec2.show, tmp_path / "machines") as made:
        yield made


@pytest.fixture(scope="session")
def wheels(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return write_stand_in_wheels(tmp_path_factory.mktemp("wheelhouse") / "wheels")
