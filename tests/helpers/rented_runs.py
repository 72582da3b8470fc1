"""Arguments of `planner run --cloud aws` for the tests: two nodes and a spare that sort 20 MB."""

from __future__ import annotations

import os
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

from emulated_cloud import QUICK

PACE = replace(QUICK, poll_s=0.2)
RECORDS = 200_000


def run_words(wheels: Path, *more: str, source: tuple[str, ...] = ("--data", f"{RECORDS * 100}B")) -> tuple[str, ...]:
    """Two nodes and a spare, unless `more` has another number or model."""
    usual = {"--model": "daytona", "--nodes": "2"}
    return (
        *("run", "--cloud", "aws", *source, "--instance", "i4i.large"),
        *(word for option, value in usual.items() if option not in more for word in (option, value)),
        *("--ssh-from", "203.0.113.7/32", "--wheelhouse", str(wheels), "--memory", "500MB", "--yes"),
        *("--set", "screen-seconds=1,screen-size=20MB", *more),
    )


def signalling(number: int, word: str) -> Callable[[int, str], bool]:
    """Send a signal to the process once its output has a line that begins with a word."""

    def look(process: int, output: str) -> bool:
        if not any(line.startswith(word) for line in output.splitlines()):
            return False
        os.kill(process, number)
        return True

    return look
