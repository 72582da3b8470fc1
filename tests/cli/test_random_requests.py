"""Random combinations of options: each is answered or refused in words, and the output can be parsed."""

from __future__ import annotations

import json
import random
from collections.abc import Sequence
from pathlib import Path
from typing import Final

import pytest

from planner.cli.app import build
from planner.errors import PlannerError

ASKED: Final[dict[str, Sequence[str]]] = {
    "--model": ("indy", "daytona", "object-store", "cloudsort", "framework", "minutesort", "all"),
    "--cloud": ("aws", "gcp", "azure", "oci", "aws,gcp,azure,oci"),
    "--catalog": ("aws-2014", "tritonsort-2011", "gcp-2019"),
    "--instance": ("i4i.*", "*", "Standard_L*", "n2-*"),
    "--exclude": ("i8g.*",),
    "--arch": ("x86_64", "arm64"),
    "--max-vcpus": ("1000", "1"),
    "--nodes": ("1", "10", "300"),
    "--max-nodes": ("1", "50"),
    "--deadline": ("1h", "1s"),
    "--sort-deadline": ("60s", "20m"),
    "--confidence": ("95%",),
    "--budget": ("200", "0.01"),
    "--objective": ("cost", "time", "energy"),
    "--pricing": ("spot",),
    "--assume": ("network=800MB/s", "volume_read=1GB/s", "price=1.5", "power:i4i.*=300"),
    "--what-if": ("network=0.5", "price=2", "local=3", "volumes=0.3"),
    "--discount": ("15%", "aws=20%"),
    "--input": ("s3://b/in", "gs://b/in", "az://b/in"),
    "--output": ("s3://b/out", "gs://b/out"),
    "--engine": ("ideal", "local"),
    "--set": (
        "head-room=0",
        "head-room=50%",
        "evidence=measured",
        "evidence=spec",
        "network-distribution=A",
        "network=ideal",
        "network=unlimited,zones=2",
        "zones=3",
        "map-ratio=0.1,zones=2",
        "map-ratio=3",
        "previous-generations",
    ),
}
ALONE: Final = ("--paper",)
FORMS: Final = ((), ("--json",), ("--show", "table"), ("--show", "csv"), ("--explain",), ("--rejected",))
ENDS: Final = {0, 2, 3}
"""Done, refused as a usage error, and nothing feasible."""


def drawn(number: int) -> tuple[str, ...]:
    """Return the words of a request: up to six options, some of which may contradict each other."""
    of = random.Random(number)
    options = of.sample([*ASKED, *ALONE], of.randint(1, 6))
    words = [word for name in options for word in ((name,) if name in ALONE else (name, of.choice(ASKED[name])))]
    if of.random() < 0.05:
        return ("most-data", *words, *of.choice(FORMS[:2]))
    return ("plan", "--data", of.choice(("3KB", "1GB", "8TB", "1PB")), *words, *of.choice(FORMS))


def ended(words: Sequence[str]) -> int:
    try:
        build()(list(words), standalone_mode=False)
    except PlannerError as error:
        return error.exit_code
    except Exception as error:
        if any(base.__name__ == "UsageError" for base in type(error).__mro__):
            return 2
        raise
    return 0


def refuse(word: str) -> None:
    raise ValueError(f"{word} is no JSON")


def check(number: int, capsys: pytest.CaptureFixture[str]) -> None:
    words = drawn(number)
    code = ended(words)
    printed = capsys.readouterr()
    assert code in ENDS, (words, printed.err)
    assert "Traceback" not in printed.err
    if code == 0 and "--json" in words:
        json.loads(printed.out, parse_constant=refuse)
    if code == 0:
        assert printed.out.strip(), words


@pytest.fixture(autouse=True)
def _own_data(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("XDG_DATA_HOME", str(tmp_path))
    monkeypatch.setenv("COLUMNS", "80")


@pytest.mark.parametrize("number", range(8))
def test_a_few_are_answered_or_refused(number: int, capsys: pytest.CaptureFixture[str]) -> None:
    check(number, capsys)


@pytest.mark.soak
def test_a_hundred_are_answered_or_refused(capsys: pytest.CaptureFixture[str]) -> None:
    for number in range(1000, 1100):
        check(number, capsys)
