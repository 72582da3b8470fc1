"""A missing optional package is named, with the extra that installs it."""

from __future__ import annotations

import json
import shlex
import sys
import tomllib
from pathlib import Path

import pytest

from planner.errors import PlannerError
from planner.extras import install_command, optional


def test_a_package_that_is_there_is_returned() -> None:
    assert optional("json", extra="plots", purpose="a chart") is json


def test_a_package_that_is_absent_is_named_with_its_extra() -> None:
    words = r"a chart needs the package nosuch, which is not installed: pip install 'sortplanner\[plots\]'"
    with pytest.raises(PlannerError, match=words):
        optional("nosuch.part", extra="plots", purpose="a chart")


@pytest.mark.parametrize(
    ("file", "command"),
    [
        ("", "pip install 'sortplanner[{extra}]'"),
        ("pipx_metadata.json", "pipx inject sortplanner {packages}"),
        ("uv-receipt.toml", "uv tool install --force {with_packages} WHEEL"),
    ],
)
def test_the_advice_fits_the_environment(
    file: str, command: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """pipx and uv keep a file in the environments that they make; there `pip` is another environment's."""
    monkeypatch.setattr(sys, "prefix", str(tmp_path))
    if file:
        (tmp_path / file).touch()
    project = tomllib.loads((Path(__file__).parents[1] / "pyproject.toml").read_text())["project"]
    extras = project["optional-dependencies"]
    for extra, inner in (("arrow", ()), ("notebooks", extras["plots"])):
        own = [name for name in extras[extra] if not name.startswith("sortplanner[")]
        packages = [shlex.quote(name.replace(" ", "")) for name in (*inner, *own)]
        with_packages = " ".join(f"--with {name}" for name in packages)
        expected = command.format(extra=extra, packages=" ".join(packages), with_packages=with_packages)
        assert install_command(extra) == expected
