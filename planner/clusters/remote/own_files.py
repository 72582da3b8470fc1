"""The files of the running installation, as copied to machines, and the digests that identify them."""

from __future__ import annotations

import hashlib
import zipfile
from collections.abc import Iterable, Iterator
from importlib.util import find_spec
from pathlib import Path
from typing import Final

from planner.config import paths
from planner.errors import BadInputError

DISTRIBUTION: Final = "sortplanner"
PACKAGE: Final = Path(__file__).resolve().parents[2]
BINARY: Final = (".pyc", ".so", ".pyd", ".dylib")


def python_files() -> Iterator[tuple[str, Path]]:
    """Yield each file of the package except the extension, with its name in a wheel."""
    roots = {"planner": PACKAGE, "planner/models": paths.models_directory()}
    roots["planner/catalogs"] = paths.catalogs_directory()
    seen = set()
    for prefix, root in roots.items():
        for path in sorted(root.rglob("*")):
            if path.is_file() and path.suffix not in BINARY and path not in seen:
                seen.add(path)
                yield f"{prefix}/{path.relative_to(root)}", path


def own_files() -> Iterator[tuple[str, Path]]:
    """Yield each file of the package, the extension first. Raises BadInputError without an extension."""
    yield f"planner/{extension().name}", extension()
    yield from python_files()


def extension() -> Path:
    """Return the compiled sort core. Raises BadInputError where there is none."""
    if (path := extension_if_built()) is None:
        raise BadInputError(
            "the compiled sort core is missing here, so it cannot be taken along; run `make setup`", code="no-sort-core"
        )
    return path


def extension_if_built() -> Path | None:
    """Return the compiled sort core, None in an installation that only plans."""
    spec = find_spec("planner._sortcore")
    return None if spec is None or spec.origin is None else Path(spec.origin)


def code_digest() -> str:
    """Return the digest of the running code, facts and extension included: equal to that of the wheel it came from."""
    return _digest_of((name, source.read_bytes()) for name, source in own_files())


def python_digest() -> str:
    """Return the digest of the running code without the extension, the same on every processor."""
    return _digest_of((name, source.read_bytes()) for name, source in python_files())


def code_in(wheel: Path) -> str:
    """Return the `code_digest` of an installation of the wheel."""
    with zipfile.ZipFile(wheel) as content:
        names = [name for name in content.namelist() if name.startswith("planner/") and not name.endswith("/")]
        return _digest_of((name, content.read(name)) for name in names)


def _digest_of(files: Iterable[tuple[str, bytes]]) -> str:
    lines = sorted(f"{name} {hashlib.sha256(content).hexdigest()}\n" for name, content in files)
    return hashlib.sha256("".join(lines).encode()).hexdigest()
