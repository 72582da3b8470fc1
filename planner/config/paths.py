"""Paths of data: the shipped `models/` and `catalogs/`, in a checkout, an editable install and a wheel alike, and the
user's own. The TOML files of cost models and engines: the shipped ones by name, others by path.

A wheel has both directories inside the package; a checkout (and so an editable install) has them next to it.
"""

from __future__ import annotations

import os
from functools import cache
from pathlib import Path
from typing import Final

from planner.errors import BadInputError, nearest

StrPath = str | os.PathLike[str]
"""A path, as text or as a path object."""

_CALLED: Final = {
    **dict.fromkeys(("amazon", "ec2"), "aws"),
    **dict.fromkeys(("gce", "google", "googlecloud"), "gcp"),
    **dict.fromkeys(("microsoft",), "azure"),
    **dict.fromkeys(("oracle", "oraclecloud"), "oci"),
    **dict.fromkeys(("graysort", "sort", "terasort"), "daytona"),
    **dict.fromkeys(("ebs", "volumes"), "cloudsort"),
    **dict.fromkeys(("gcs", "objects", "s3"), "object-store"),
    **dict.fromkeys(("dask", "flink", "hadoop", "spark"), "framework"),
}
"""Clouds and models by their other names."""


def models_directory() -> Path:
    """Return the directory of the shipped cost models. Raises BadInputError if the installation lacks it."""
    return _shipped("models")


def catalogs_directory() -> Path:
    """Return the directory of the shipped catalogs. Raises BadInputError if the installation lacks it."""
    return _shipped("catalogs")


def user_directory(what: str) -> Path:
    """Return the directory of a user's own data (`what` is measurements or profiles): $PLANNER_MEASUREMENTS and the
    like, else planner/<what> in $XDG_DATA_HOME or ~/.local/share. It need not exist.
    """
    if chosen := os.environ.get(f"PLANNER_{what.upper()}"):
        return Path(chosen)
    return _path_of_user("XDG_DATA_HOME", ".local/share") / what


def state_directory(what: str) -> Path:
    """Return the directory of the planner's own state (`what` is bugs or emulated): planner/<what> in $XDG_STATE_HOME
    or ~/.local/state. It need not exist.
    """
    return _path_of_user("XDG_STATE_HOME", ".local/state") / what


def cache_directory() -> Path:
    """Return the directory of what the planner can make again: $PLANNER_CACHE, else planner in $XDG_CACHE_HOME or
    ~/.cache. It need not exist.
    """
    chosen = os.environ.get("PLANNER_CACHE")
    return Path(chosen) if chosen else _path_of_user("XDG_CACHE_HOME", ".cache")


def settings_file() -> Path:
    """Return the path of the user's settings: planner/settings.toml in $XDG_CONFIG_HOME or ~/.config."""
    return _path_of_user("XDG_CONFIG_HOME", ".config") / "settings.toml"


def _path_of_user(variable: str, below_home: str) -> Path:
    """Return the planner's folder in the directory that `variable` names, else below the user's home.

    Raises BadInputError if the home is unknown, as for a container user without a name.
    """
    if chosen := os.environ.get(variable):
        return Path(chosen) / "planner"
    try:
        return Path.home() / below_home / "planner"
    except RuntimeError:
        raise BadInputError(
            f"your home folder is unknown: set HOME, or {variable}, to a folder of yours", code="no-home"
        ) from None


def pick(name: str, paths: dict[str, Path], *, what: str) -> Path:
    """Return the path of the catalog or model (`what`) called `name`.

    Raises BadInputError with the nearest names if there is none.
    """
    if name in paths:
        return paths[name]
    called = _CALLED.get(name.casefold(), "")
    near = f" Did you mean {called}?" if called in paths else nearest(name, list(paths))
    hint = near or f" Known: {', '.join(sorted(paths)) or 'none'}."
    raise BadInputError(f"unknown {what} {name!r}.{hint}", field=what, code="unknown-name")


@cache
def _shipped(directory: str) -> Path:
    package = Path(__file__).resolve().parents[1]
    places = (package / directory, package.parent / directory)
    for place in places:
        if place.is_dir():
            return place
    raise BadInputError(
        f"the shipped {directory} are missing; looked for {' and '.join(map(str, places))}. Reinstall the package.",
        code="not-installed",
    )


def model_names() -> tuple[str, ...]:
    """Return the names of the shipped models, sorted."""
    return tuple(sorted(_shipped_files()))


def read_model_file(name: str) -> tuple[Path, str]:
    """Return the path and the text of the model called `name`, or of the file at that path.

    Raises BadInputError for an unknown name (with the nearest ones), a missing file, and one that is not UTF-8.
    """
    return _read(name, _shipped_files(), what="model")


def engine_names() -> tuple[str, ...]:
    """Return the names of the measured engines, sorted, without the papers'."""
    return tuple(sorted(_engines()))


def read_engine_file(name: str) -> tuple[Path, str]:
    """Return the path and the text of the engine called `name`, or of the file at that path.

    Raises BadInputError as `read_model_file` does.
    """
    return _read(name, _engines(), what="engine")


def _read(name: str, shipped: dict[str, Path], *, what: str) -> tuple[Path, str]:
    path = Path(name) if name.endswith(".toml") else pick(name, shipped, what=what)
    if not path.is_file():
        raise BadInputError(
            f"{what} {name}: there is no such file; the {what}s shipped are {', '.join(sorted(shipped))}",
            code="no-such-file",
        )
    try:
        return path, path.read_text("utf-8-sig")
    except UnicodeDecodeError as error:
        raise BadInputError(f"{what} {path} is not TOML: {error}", code="not-toml") from error


def _shipped_files() -> dict[str, Path]:
    return {path.stem: path for path in models_directory().glob("*.toml")}


def _engines() -> dict[str, Path]:
    return {path.stem: path for path in (models_directory() / "engines").glob("*.toml")}
