"""Shared helpers of the ingest tests: reading a file, changing one, and the reason for a refusal."""

from __future__ import annotations

import copy
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from planner.errors import BadInputError
from planner.measurement.ingest.ingest import read_measurements
from planner.measurement.ingest.measurement import Measurement

USER_VALUES = {"instance_type": "i4i.4xlarge", "zone": "us-east-1a"}


@pytest.fixture(scope="session")
def read() -> Callable[..., list[Measurement]]:
    """Read a file, with the user's statements about it."""

    def read(path: Path, *, job: str | None = None, files_are: str | None = None, **user: Any) -> list[Measurement]:
        values = {**USER_VALUES, **user}
        return read_measurements([path], user_values=values, mapping={}, job=job, files_are=files_are)

    return read


@pytest.fixture
def changed(tmp_path: Path) -> Callable[..., Path]:
    """Write a changed copy of a document."""

    def changed(document: dict[str, Any], change: Callable[[dict[str, Any]], Any]) -> Path:
        path, mine = tmp_path / "changed.json", copy.deepcopy(document)
        change(mine)
        path.write_text(json.dumps(mine))
        return path

    return changed


@pytest.fixture(scope="session")
def refusal(read: Callable[..., list[Measurement]]) -> Callable[..., str]:
    """Return the reason for a file's refusal, which names the file."""

    def refusal(path: Path, **options: Any) -> str:
        with pytest.raises(BadInputError) as error:
            read(path, **options)
        assert path.name in str(error.value)
        return str(error.value)

    return refusal
