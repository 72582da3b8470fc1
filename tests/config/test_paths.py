"""The shipped data is found next to the package in a checkout and inside it in a wheel."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest
from refusals import refused

import planner
from planner.config import paths
from planner.errors import BadInputError

CHECKOUT = Path(__file__).resolve().parents[2]


def test_a_checkout_has_both_directories_at_its_top() -> None:
    assert paths.models_directory() == CHECKOUT / "models"
    assert paths.catalogs_directory() == CHECKOUT / "catalogs"


def installed_copy(directory: Path, *, with_data: bool) -> Path:
    """Lay the module out as in a wheel."""
    package = directory / "planner"
    package.mkdir()
    (package / "config").mkdir()
    for name in ("config/paths.py", "errors.py"):
        (package / name).write_bytes((CHECKOUT / "planner" / name).read_bytes())
    for folder in (package, package / "config"):
        (folder / "__init__.py").touch()
    if with_data:
        (package / "catalogs").mkdir()
    return directory


def asked(directory: Path) -> subprocess.CompletedProcess[str]:
    code = "from planner.config.paths import catalogs_directory; print(catalogs_directory())"
    bare = [sys.executable, "-S", "-c", code]  # without the editable install, which would come first
    return subprocess.run(bare, cwd=directory, capture_output=True, text=True, check=False)


def test_a_wheel_has_them_inside_the_package(tmp_path: Path) -> None:
    assert asked(installed_copy(tmp_path, with_data=True)).stdout.strip() == str(tmp_path / "planner" / "catalogs")


def test_an_installation_without_data_says_where_it_looked(tmp_path: Path) -> None:
    answer = asked(installed_copy(tmp_path, with_data=False))
    assert "BadInputError: the shipped catalogs are missing" in answer.stderr
    assert str(tmp_path / "planner" / "catalogs") in answer.stderr


def test_an_unknown_name_offers_the_nearest() -> None:
    catalogs = {"aws": Path("a"), "aws-2014": Path("b")}
    assert paths.pick("aws", catalogs, what="catalog") == Path("a")
    with refused("unknown-name", "'aws-2015'", "aws-2014", field="catalog"):
        paths.pick("aws-2015", catalogs, what="catalog")
    with pytest.raises(BadInputError, match="Known: aws, aws-2014"):
        paths.pick("zzz", catalogs, what="catalog")


@pytest.mark.parametrize(("name", "model"), [("TeraSort", "daytona"), ("s3", "object-store"), ("spark", "framework")])
def test_a_model_by_another_name_is_offered(name: str, model: str) -> None:
    with refused("unknown-name", f"Did you mean {model}?", field="model"):
        planner.recommend("1TB", model=name)


@pytest.mark.parametrize("data", ["measurements", "profiles"])
def test_a_users_own_data_lies_where_they_say_or_in_the_usual_place(
    data: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv(f"PLANNER_{data.upper()}", str(tmp_path / "mine"))
    assert paths.user_directory(data) == tmp_path / "mine"
    monkeypatch.delenv(f"PLANNER_{data.upper()}")
    monkeypatch.setenv("XDG_DATA_HOME", str(tmp_path))
    assert paths.user_directory(data) == tmp_path / "planner" / data
    monkeypatch.delenv("XDG_DATA_HOME")
    assert paths.user_directory(data) == Path.home() / ".local" / "share" / "planner" / data
