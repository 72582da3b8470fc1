"""The TOML files of cost models: the shipped ones by name, any other by path."""

from __future__ import annotations

import tomllib
from pathlib import Path
from typing import Any

from planner.config import paths
from planner.errors import BadInputError


def model_names() -> tuple[str, ...]:
    """Return the names of the models shipped, sorted."""
    return tuple(sorted(_shipped()))


def read_model_file(name: str) -> tuple[Path, dict[str, Any]]:
    """Return the path and the parsed TOML of the model called `name`, or of the file at that path.

    Raises BadInputError for an unknown name (with the nearest ones), a missing file, and a file that is not TOML.
    """
    path = Path(name) if name.endswith(".toml") else paths.pick(name, _shipped(), what="model")
    if not path.is_file():
        raise BadInputError(f"model {name}: there is no such file; the models shipped are {', '.join(model_names())}")
    try:
        return path, tomllib.loads(path.read_text("utf-8"))
    except (tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
        raise BadInputError(f"model {path} is not TOML: {error}") from error


def _shipped() -> dict[str, Path]:
    return {path.stem: path for path in paths.models_directory().glob("*.toml")}
