"""A refresh in a separate process, interrupted or killed while the cloud keeps it waiting."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import threading
from pathlib import Path
from typing import Any

import pytest
from ec2_pages import ec2
from servers import Answer, ReceivedRequest, served
from test_aws import FEW, SHIPPED, listed, paged

COMMAND = [sys.executable, "-c", "from planner.cli.app import main; main()", "catalog", "refresh", "--cloud", "aws"]


def environment(tmp_path: Path, specs: str, prices: str) -> dict[str, str]:
    settings = tmp_path / "settings.toml"
    settings.write_text(f'[aws]\nspecs_url = "{specs}"\nprices_url = "{prices}"\n')
    keys = {"AWS_ACCESS_KEY_ID": "test", "AWS_SECRET_ACCESS_KEY": "test"}
    mine = {"PLANNER_CATALOGS": str(tmp_path / "catalogs"), "PLANNER_SETTINGS": str(settings)}
    return {**os.environ, **keys, **mine}


def run_until_asked(tmp_path: Path, stop: signal.Signals) -> tuple[int, str]:
    """Start the command, send it a signal once it has requested prices, and return its exit code and stderr."""
    received, go_on = threading.Event(), threading.Event()

    def waiting(_: ReceivedRequest) -> Answer:
        received.set()
        go_on.wait(120)
        return Answer({"PriceList": []})

    with served(ec2(FEW)) as specs, served(waiting) as prices:
        env: dict[str, Any] = environment(tmp_path, specs.url, prices.url)
        with subprocess.Popen(COMMAND, env=env, stderr=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as process:
            assert received.wait(60)
            process.send_signal(stop)
            _, errors = process.communicate(timeout=60)
        go_on.set()
    return process.returncode, errors


@pytest.mark.parametrize(("stop", "code"), [(signal.SIGINT, 130), (signal.SIGKILL, -9)])
def test_a_refresh_that_is_stopped_leaves_nothing(tmp_path: Path, stop: signal.Signals, code: int) -> None:
    ended, errors = run_until_asked(tmp_path, stop)
    assert ended == code
    assert "Traceback" not in errors
    if code == 130:
        assert "interrupted; nothing half done was left behind" in errors
    assert not (tmp_path / "catalogs").exists()


def test_what_a_killed_refresh_left_is_removed_by_the_next(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    dead = subprocess.Popen([sys.executable, "-c", ""])
    dead.wait()
    left = tmp_path / "catalogs" / "aws" / f".partial-{dead.pid}-0"
    other = tmp_path / "catalogs" / "aws" / f".partial-{os.getppid()}-0"
    for directory in (left, other):
        directory.mkdir(parents=True)
    with served(ec2(FEW)) as specs, served(paged(listed(SHIPPED))) as prices:
        env = environment(tmp_path, specs.url, prices.url)
        subprocess.run(COMMAND, env=env, check=True, capture_output=True)
    assert not left.exists()
    assert other.exists()
