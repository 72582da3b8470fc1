"""`planner cluster smoke` where no cloud can be reached."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

BY_HAND = ("--yes", "--ssh-from", "203.0.113.7/32")


@pytest.mark.parametrize(
    ("cloud", "code", "says"),
    [
        ("aws", 4, "AWS: no credentials found"),
        ("gcp", 4, "Google Cloud: no credentials found"),
        ("azure", 2, "Azure: no subscription is named"),
    ],
)
def test_without_credentials_it_says_how_to_get_them_and_writes_nothing(
    tmp_path: Path, cloud: str, code: int, says: str
) -> None:
    words = [sys.executable, "-m", "planner", "cluster", "smoke", "--cloud", cloud, *BY_HAND]
    known = {"HOME": str(tmp_path), "PATH": "/usr/bin:/bin"}
    environment = known | {"AWS_EC2_METADATA_DISABLED": "true", "NO_GCE_CHECK": "true"}
    ended = subprocess.run(words, cwd=tmp_path, env=environment, capture_output=True, text=True, check=False)
    assert ended.returncode == code, ended.stderr
    assert says in ended.stderr and not list(tmp_path.glob("smoke*"))
