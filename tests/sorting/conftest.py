"""The library that makes calls of the system fail, which tests of several steps preload."""

from __future__ import annotations

import shutil
import subprocess
from pathlib import Path

import pytest


@pytest.fixture(scope="session")
def shim(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """See fault_shim.c for the calls, and for the variables that say which of them fail."""
    library = tmp_path_factory.mktemp("shim") / "fault_shim.so"
    compiler = shutil.which("cc") or shutil.which("gcc") or "cc"
    source = Path(__file__).with_name("fault_shim.c")
    subprocess.run([compiler, "-shared", "-fPIC", "-O1", "-o", library, source, "-ldl"], check=True)
    return library
