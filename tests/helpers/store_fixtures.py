"""Fixture: an empty bucket of an S3 server on this machine, named in the environment."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from urllib.request import Request, urlopen

import pytest

SERVER = Path(__file__).parents[1] / "emulators" / "s3_server.py"


@pytest.fixture
def bucket(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[str]:
    """Yield the bucket's address."""
    words = [sys.executable, str(SERVER), "127.0.0.1", "0", "1000", str(tmp_path / "faults")]
    with subprocess.Popen(words, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL) as server:
        assert server.stdout is not None
        port = int(server.stdout.readline())
        endpoint, name = f"http://127.0.0.1:{port}", f"bucket-{port}"  # clients of buckets are kept by name
        urlopen(Request(f"{endpoint}/{name}", method="PUT")).close()
        settings = {"ENDPOINT_URL": endpoint, "ACCESS_KEY_ID": "a", "SECRET_ACCESS_KEY": "b", "REGION": "us-east-1",
                    "ALLOW_HTTP": "true"}  # fmt: skip
        for setting, value in settings.items():
            monkeypatch.setenv(f"AWS_{setting}", value)
        yield f"s3://{name}"
        server.kill()
