"""Check of this machine for everything the planner can use; each finding has its purpose and a remedy.

Credentials are detected by their location; their contents are never read.
"""

from __future__ import annotations

import importlib.util
import os
import shutil
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import date
from pathlib import Path
from typing import Final, Literal

from planner.catalog import catalog_names, load_catalog
from planner.catalog.checking import staleness_days
from planner.catalog.refreshed import refresh_command
from planner.config import paths
from planner.config.settings import load_settings, settings_file
from planner.errors import PlannerError
from planner.extras import install_command
from planner.schemas.request_forms import CLOUDS
from planner.units import format_bytes

State = Literal["ok", "old", "optional", "missing"]

_EXTRAS: Final = {
    "plots": (("altair", "vl_convert"), "charts and `plan --html`"),
    "notebooks": (("ipykernel", "ipywidgets"), "the notebooks"),
    "ray": (("ray", "psutil"), "sorting on a cluster"),
    "spark": (("zstandard", "cramjam", "msgspec"), "reading compressed logs of Spark, and all of them faster"),
    "serve": (("mcp", "starlette", "uvicorn"), "answering over HTTP, and as tools for agents"),
    "yaml": (("yaml",), "lists of machines in YAML"),
    "tables": (("deltalake", "pyiceberg"), "Delta and Iceberg tables"),
    "zstd": (("zstandard",), "sorting text compressed with zstd"),
    "arrow": (("pyarrow",), "sorting Parquet files and Arrow tables"),
    "objects": (("obstore",), "a cluster sort from and to object stores"),
    "aws": (("boto3",), "renting on AWS and refreshing its catalog"),
    "gcp": (
        ("google.cloud.compute_v1", "google.cloud.billing_v1"),
        "renting on Compute Engine and refreshing its catalog",
    ),
    "azure": (
        ("azure.mgmt.compute", "azure.mgmt.network", "azure.mgmt.resource", "azure.identity"),
        "renting on Azure and refreshing its catalog",
    ),
}
_CREDENTIALS: Final = {
    "AWS": (("AWS_ACCESS_KEY_ID", "AWS_PROFILE"), (".aws/credentials", ".aws/config"), "aws configure"),
    "Google Cloud": (
        ("GOOGLE_APPLICATION_CREDENTIALS",),
        (".config/gcloud/application_default_credentials.json",),
        "gcloud auth application-default login",
    ),
    "Azure": (("AZURE_CLIENT_ID",), (".azure/msal_token_cache.json", ".azure/azureProfile.json"), "az login"),
}
_ROOM_BYTES: Final = 5 * 10**9
"""Enough to set up a checkout and sort a gigabyte."""


@dataclass(frozen=True, kw_only=True)
class Finding:
    """One item of the check.

    `missing` is absent and needed by every user; `optional` is absent and needed by some; `old` means outdated prices.
    """

    name: str
    state: State
    found: str
    needed_for: str
    advice: str = ""


def examine(directory: Path, *, today: date) -> list[Finding]:
    """Return every finding about this machine, with `directory` as the disk to work on."""
    return [
        _python(),
        *_catalogs(today),
        _sort_core(),
        _compiler(),
        _free_space(directory),
        _own_data(),
        _settings(today),
        *_extras(),
        *_credentials(),
        _root(),
        _browser(),
    ]


def _python() -> Finding:
    version = ".".join(map(str, sys.version_info[:3]))
    return Finding(name="Python", state="ok", found=f"{version}, {sys.executable}", needed_for="everything")


def _catalogs(today: date) -> Iterator[Finding]:
    needed_for = "planning"
    try:
        catalogs = {name: load_catalog(name) for name in catalog_names()}
    except (PlannerError, OSError) as error:  # OSError: the user's own folder may not be read
        advice = "run `planner catalog check`; reinstall the package if the file is not yours"
        found = error.message if isinstance(error, PlannerError) else f"{error.filename}: {error.strerror}"
        yield Finding(name="catalogs", state="missing", found=found, needed_for=needed_for, advice=advice)
        return
    yield Finding(name="catalogs", state="ok", found=", ".join(catalogs), needed_for=needed_for)
    for name in CLOUDS:
        age = staleness_days(catalogs[name], today=today) if name in catalogs else None
        if age is not None:
            yield Finding(
                name=f"prices of {name}",
                state="old",
                found=f"of {catalogs[name].prices_as_of}, {age} days old",
                needed_for="today's cost",
                advice=refresh_command(name) or "plan --own-price",
            )


def _sort_core() -> Finding:
    needed_for = "sort, generate, validate, run, bench"
    try:
        from planner import native
    except PlannerError as error:
        advice = error.details[0]
        return Finding(name="sort core", state="optional", found="not built", needed_for=needed_for, advice=advice)
    return Finding(name="sort core", state="ok", found=Path(native.core.__file__).name, needed_for=needed_for)


def _first_program(names: list[str]) -> str | None:
    return next(filter(None, map(shutil.which, names)), None)


def _compiler() -> Finding:
    named = os.environ.get("CXX")
    compiler = _first_program([named] if named else ["c++", "g++", "clang++"])
    needed_for = "building the sort core from source"
    if compiler:
        return Finding(name="C++ compiler", state="ok", found=compiler, needed_for=needed_for)
    advice = "install g++ 12 or clang++ 15 or later, or a wheel, which needs none"
    return Finding(name="C++ compiler", state="optional", found="none", needed_for=needed_for, advice=advice)


def _free_space(directory: Path) -> Finding:
    needed_for = "sorting a gigabyte here"
    free = shutil.disk_usage(directory).free
    writable = os.access(directory, os.W_OK)
    enough = free >= _ROOM_BYTES and writable
    text = f"{format_bytes(free)} free in {directory.resolve()}{'' if writable else ', read-only'}"
    advice = "" if enough else f"free {format_bytes(_ROOM_BYTES)}, or work on another disk with --dir"
    return Finding(name="disk", state="ok" if enough else "optional", found=text, needed_for=needed_for, advice=advice)


def _own_data() -> Finding:
    place = paths.user_directory("profiles").parent
    above = next(folder for folder in (place, *place.parents) if os.path.exists(folder))  # noqa: PTH110  # never raises
    writable = above.is_dir() and os.access(above, os.W_OK | os.X_OK)
    return Finding(
        name="your data",
        state="ok" if writable else "missing",
        found=str(place) + ("" if writable else ", cannot be written"),
        needed_for="profiles, measurements, refreshed catalogs, state of clusters",
        advice="" if writable else "set XDG_DATA_HOME to a directory that can be written",
    )


def _settings(today: date) -> Finding:
    path, needed_for = settings_file(), "clouds, prices and defaults of your own"
    try:
        load_settings(today=today)
    except PlannerError as error:
        advice = "correct it, or move it away"
        return Finding(name="settings", state="missing", found=str(error), needed_for=needed_for, advice=advice)
    state: State = "ok" if path.exists() else "optional"
    return Finding(
        name="settings", state=state, found=str(path) if state == "ok" else f"none at {path}", needed_for=needed_for
    )


def _extras() -> Iterator[Finding]:
    for extra, (modules, needed_for) in _EXTRAS.items():
        absent = [name for name in modules if not _is_installed(name)]
        yield Finding(
            name=f"extra {extra}",
            state="optional" if absent else "ok",
            found=f"without {', '.join(absent)}" if absent else ", ".join(modules),
            needed_for=needed_for,
            advice=install_command(extra) if absent else "",
        )


def _is_installed(module: str) -> bool:
    try:
        return importlib.util.find_spec(module) is not None
    except ModuleNotFoundError:
        return False


def _credentials() -> Iterator[Finding]:
    for cloud, (variables, files, command) in _CREDENTIALS.items():
        places = [name for name in variables if os.environ.get(name)]
        places += [f"~/{name}" for name in files if os.path.exists(os.path.expanduser(f"~/{name}"))]  # noqa: PTH110, PTH111  # Path fails
        yield Finding(
            name=f"credentials for {cloud}",
            state="ok" if places else "optional",
            found=f"present in {', '.join(places)}" if places else "none",
            needed_for="renting there",
            advice="" if places else command,
        )


def _root() -> Finding:
    root = os.geteuid() == 0
    return Finding(
        name="root",
        state="ok" if root else "optional",
        found="yes" if root else "no",
        needed_for="emulated nodes with networks of their own",
        advice="" if root else "sudo, where you need it",
    )


def _browser() -> Finding:
    browser = _first_program(["chromium", "chromium-browser", "google-chrome"])
    return Finding(
        name="browser",
        state="ok" if browser else "optional",
        found=browser or "none",
        needed_for="the tests of pages, for contributors",
        advice="" if browser else "install chromium",
    )
