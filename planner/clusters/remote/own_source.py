"""The running installation as a source distribution, for machines that no wheel fits: they compile the sort core.

A wheel carries the sources of the sort core and its build files in `share/sortplanner` of its environment; in a
checkout they are next to the package. So any installation can make one, and the machines run the same code.
"""

from __future__ import annotations

import sysconfig
import tarfile
import tomllib
import zipfile
from collections.abc import Iterator
from importlib.metadata import distribution
from io import BytesIO
from pathlib import Path
from typing import Final

from planner.clusters.remote.own_files import BINARY, DISTRIBUTION, PACKAGE, python_files
from planner.errors import BadInputError

CARRIED: Final = (
    "pyproject.toml",
    "README.md",
    "LICENSE",
    "CITATION.cff",
    "native",
    "scripts/build_backend.py",
    "scripts/man_pages.py",
)
"""Files that a wheel needs in addition to the package to be built again."""
_TOOLS: Final = ("cmake>=3.22", "ninja>=1.11")
"""Build tools: the backend prefers the system's, but machines have none."""


def write_source(directory: Path) -> Path:
    """Write the running installation as a source distribution and return it. Raises BadInputError without sources."""
    installed = distribution(DISTRIBUTION)
    stem = f"{DISTRIBUTION}-{installed.version}"
    path = directory / f"{stem}.tar.gz"
    with tarfile.open(path, "w:gz") as archive:
        for name, source in _files():
            archive.add(source, arcname=f"{stem}/{name}", recursive=False)
        metadata = (installed.read_text("METADATA") or "").encode()
        entry = tarfile.TarInfo(f"{stem}/PKG-INFO")
        entry.size = len(metadata)
        archive.addfile(entry, BytesIO(metadata))
    return path


def is_built_from_here(wheel: Path) -> bool:
    """Return whether a wheel has exactly this code: the files of the package, and the sources of its sort core."""
    native = ((f"native/{path.relative_to(sources() / 'native')}", path) for path in (sources() / "native").rglob("*"))
    mine = {name: path for name, path in (*python_files(), *native) if path.is_file()}
    with zipfile.ZipFile(wheel) as archive:
        theirs = {name.partition(f"/share/{DISTRIBUTION}/")[2] or name: name for name in archive.namelist()}
        code = {name for name in theirs if name.startswith(("planner/", "native/")) and not name.endswith(BINARY)}
        return code == set(mine) and all(archive.read(theirs[name]) == mine[name].read_bytes() for name in code)


def build_requirements() -> list[str]:
    """Return the source distribution's build requirements, as pip takes them."""
    build = tomllib.loads((sources() / "pyproject.toml").read_text("utf-8"))["build-system"]
    return [*build["requires"], *_TOOLS]


def sources() -> Path:
    """Return the folder with the sort core's sources. Raises BadInputError where the installation has none."""
    shared = [Path(root) / "share" / DISTRIBUTION for root in (sysconfig.get_path("data"), PACKAGE.parent)]
    for place in (PACKAGE.parent, *shared):
        if all((place / name).exists() for name in CARRIED):
            return place
    raise BadInputError(
        f"the sources of the sort core are missing in {shared[0]}; reinstall the package", code="no-sources"
    )


def _files() -> Iterator[tuple[str, Path]]:
    for name in CARRIED:
        root = sources() / name
        for path in sorted(root.rglob("*")) if root.is_dir() else [root]:
            if path.is_file():
                yield str(Path(name) / path.relative_to(root)), path
    for name, path in python_files():
        shipped = name.startswith(("planner/models/", "planner/catalogs/"))
        yield (name.removeprefix("planner/") if shipped else name), path
