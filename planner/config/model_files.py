"""The TOML files of cost models and of engines: the shipped ones by name, any other by path."""

from __future__ import annotations

import tomllib
from pathlib import Path
from typing import Any

from planner.config import paths
from planner.errors import BadInputError


def model_names() -> tuple[str, ...]:
    """Return the names of the models shipped, sorted."""
    return tuple(sorted(_shipped_files()))


def read_model_file(name: str) -> tuple[Path, dict[str, Any]]:
    """Return the path and the parsed TOML of the model called `name`, or of the file at that path.

    Raises BadInputError for an unknown name (with the nearest ones), a missing file, and a file that is not TOML.
    """
    return _read(name, _shipped_files(), what="model")


def engine_names() -> tuple[str, ...]:
    """Return the names of the engines that were measured, sorted; the papers' is none of them."""
    return tuple(sorted(_engines()))


def read_engine_file(name: str) -> tuple[Path, dict[str, Any]]:
    """Return the path and the parsed TOML of the engine called `name`, or of the file at that path.

    Raises BadInputError as `read_model_file` does.
    """
    return _read(name, _engines(), what="engine")


def _read(name: str, shipped: dict[str, Path], *, what: str) -> tuple[Path, dict[str, Any]]:
    path = Path(name) if name.endswith(".toml") else paths.pick(name, shipped, what=what)
    if not path.is_file():
        raise BadInputError(
            f"{what} {name}: there is no such file; the {what}s shipped are {', '.join(sorted(shipped))}"
        )
    try:
        return path, tomllib.loads(path.read_text("utf-8"))
    except (tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
        raise BadInputError(f"{what} {path} is not TOML: {error}") from error


def _shipped_files() -> dict[str, Path]:
    return {path.stem: path for path in paths.models_directory().glob("*.toml")}


def _engines() -> dict[str, Path]:
    return {path.stem: path for path in (paths.models_directory() / "engines").glob("*.toml")}
