"""The library that makes system calls fail, preloaded by tests of several steps."""

from __future__ import annotations

import shutil
import subprocess
from pathlib import Path

import pytest


@pytest.fixture(scope="session")
def shim(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return the built library; fault_shim.c lists its calls, and the variables that select the failing ones."""
    library = tmp_path_factory.mktemp("shim") / "fault_shim.so"
    compiler = shutil.which("cc") or shutil.which("gcc") or "cc"
    source = Path(__file__).with_name("fault_shim.c")
    subprocess.run([compiler, "-shared", "-fPIC", "-O1", "-o", library, source, "-ldl"], check=True)
    return library
