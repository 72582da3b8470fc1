"""All that a bare machine needs to run the planner, in one file: wheels for its Python and processor, pip included.

The machines of a run reach nothing but each other, so what is installed there is brought along. Third-party wheels are
fetched by pip for the machines' platform. The planner's own is made anew from the running installation, extension and
all, so that the machines run the very same code. Where that runs on another system or processor than the machines, and
came from a package index, pip fetches the wheel of the same version.
"""

from __future__ import annotations

import base64
import hashlib
import platform
import re
import subprocess
import sys
import tarfile
import zipfile
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from importlib.metadata import distribution
from importlib.util import find_spec
from pathlib import Path
from typing import Final

from planner.config import paths
from planner.errors import BadInputError, IoFailureError

DISTRIBUTION: Final = "sortplanner"
STOCK_PYTHON: Final = "3.12"
"""What the stock image, Ubuntu 24.04, comes with."""
_MANYLINUX: Final = ("_2_39", "_2_35", "_2_34", "_2_31", "_2_28", "_2_27", "_2_24", "_2_17", "2014")
"""Newest first: what the stock image's C library is good for. pip takes 2014 for another platform than 2_17, which it
is another name of, and Ray's wheels are called by it.
"""
_LINUX_NAMES: Final = {"arm64": "aarch64", "AMD64": "x86_64"}
"""What Linux calls a processor that other systems call otherwise."""
_EXTRAS: Final = ('extra == "ray"', 'extra == "objects"', 'extra == "arrow"', 'extra == "zstd"')
_NO_PIP: Final = "pip is missing beside this interpreter; install it, or name a directory of wheels with --wheelhouse"


@dataclass(frozen=True, kw_only=True)
class Wheelhouse:
    """A tar file of wheels, for one `python` (3.12). `code` is the digest of the planner's own code in it."""

    path: Path
    sha256: str
    python: str
    code: str


def make_wheels(directory: Path, *, python: str = STOCK_PYTHON, architecture: str = "x86_64") -> None:
    """Fill a directory with wheels for Linux on `architecture` with this `python`.

    Raises BadInputError for a file in the directory's place, when this installation's extension does not fit and no
    wheel that does can be fetched, or when it needs newer libraries; IoFailureError with what pip said.
    """
    if directory.is_file():
        raise BadInputError(f"{directory} is a file; name a directory that can be made")
    architecture = _LINUX_NAMES.get(architecture, architecture)
    fits = _fits(python=python, architecture=architecture)
    if not (fits or came_from_index()):
        raise _misfit_error(python=python, architecture=architecture)
    if fits and (newer := newer_than_stock(_extension())):
        raise BadInputError(
            f"the sort core that was built here needs {', '.join(newer)}, newer than the stock image's; make "
            "the wheels on Ubuntu 24.04 or older (`planner cluster wheelhouse DIR`) and name the directory with "
            "--wheelhouse"
        )
    if find_spec("pip") is None:
        raise IoFailureError(_NO_PIP)
    try:
        directory.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise IoFailureError(f"{directory}: {error.strerror}; name a directory that can be made") from error
    if fits:
        write_own_wheel(directory)
    else:
        fetch_own_wheel(directory, python=python, architecture=architecture)
    if complaint := _download_wheels(directory, ["pip", *requirements()], python=python, architecture=architecture):
        raise IoFailureError(f"pip cannot fetch wheels for Python {python}", complaint)


def fetch_own_wheel(directory: Path, *, python: str, architecture: str) -> None:
    """Have pip fetch the planner's wheel of this version for the machines. Raises BadInputError where there is none."""
    wanted = ["--no-deps", f"{DISTRIBUTION}=={distribution(DISTRIBUTION).version}"]
    if complaint := _download_wheels(directory, wanted, python=python, architecture=architecture):
        raise _misfit_error(python=python, architecture=architecture, details=complaint)


def came_from_index() -> bool:
    """Say whether pip installed the planner by its name alone. Of another installation, the index need not have it, and
    what it has under that name may be somebody else's.
    """
    return distribution(DISTRIBUTION).read_text("direct_url.json") is None


def _misfit_error(*, python: str, architecture: str, details: Sequence[str] = ()) -> BadInputError:
    running = f"{sys.version_info.major}.{sys.version_info.minor}"
    return BadInputError(
        f"the machines run Python {python} on Linux {architecture}, this is Python {running} on {sys.platform} "
        f"{platform.machine()}, and there is no wheel of {DISTRIBUTION} for them; make the wheels where these agree "
        "(`planner cluster wheelhouse DIR`) and name the directory with --wheelhouse",
        details,
    )


def _download_wheels(directory: Path, words: list[str], *, python: str, architecture: str) -> list[str]:
    """Have pip download wheels for the machines, and return what it complains about: nothing when all is well."""
    platforms = [f"--platform=manylinux{version}_{architecture}" for version in _MANYLINUX]
    target = [f"--python-version={python}", "--implementation=cp", "--only-binary=:all:", *platforms]
    command = [sys.executable, "-P", "-m", "pip", "--disable-pip-version-check", "download", "--quiet", *target]
    done = subprocess.run([*command, f"--dest={directory}", *words], capture_output=True, text=True, check=False)
    return (done.stderr.strip().splitlines()[-6:] or ["no reason given"]) if done.returncode else []


def requirements() -> list[str]:
    """Return what the planner, its cluster sort, tables and object stores need, as pip takes it."""
    needed = []
    for line in distribution(DISTRIBUTION).requires or []:
        requirement, _, marker = line.partition(";")
        if not marker or marker.replace("'", '"').strip() in _EXTRAS:
            needed.append(requirement.strip())
    return needed


def require_tables(directory: Path) -> None:
    """Raise BadInputError where a directory of wheels lacks what Parquet is read with."""
    if not any(directory.glob("pyarrow-*.whl")):
        raise BadInputError(
            f"{directory}: there is no wheel of pyarrow, by which machines read Parquet; make the wheels anew "
            "(`planner cluster wheelhouse DIR`)"
        )


def pack(directory: Path, target: Path) -> Wheelhouse:
    """Put a directory of wheels into one tar file. Raises BadInputError when the planner's own, or pip, is missing."""
    wheels = sorted(directory.glob("*.whl"))
    own = [wheel for wheel in wheels if wheel.name.startswith(f"{DISTRIBUTION}-")]
    if len(own) != 1 or not any(wheel.name.startswith("pip-") for wheel in wheels):
        raise BadInputError(
            f"{directory}: a wheelhouse has one wheel of {DISTRIBUTION}, one of pip, and what they need; "
            "`planner cluster wheelhouse` makes one"
        )
    with tarfile.open(target, "w") as tar:
        for wheel in wheels:
            tar.add(wheel, arcname=wheel.name)
    with target.open("rb") as content:
        digest = hashlib.file_digest(content, "sha256").hexdigest()
    return Wheelhouse(path=target, sha256=digest, python=_python_of(own[0]), code=_code_in(own[0]))


def code_digest() -> str:
    """Return the digest of the code that runs here, facts and extension included: as of the wheel it came from."""
    return _digest_of((name, source.read_bytes()) for name, source in _own_files())


def _code_in(wheel: Path) -> str:
    with zipfile.ZipFile(wheel) as content:
        names = [name for name in content.namelist() if name.startswith("planner/") and not name.endswith("/")]
        return _digest_of((name, content.read(name)) for name in names)


def _digest_of(files: Iterable[tuple[str, bytes]]) -> str:
    lines = sorted(f"{name} {hashlib.sha256(content).hexdigest()}\n" for name, content in files)
    return hashlib.sha256("".join(lines).encode()).hexdigest()


def write_own_wheel(directory: Path) -> Path:
    """Write the running installation as a wheel and return it."""
    installed = distribution(DISTRIBUTION)
    info = f"{DISTRIBUTION}-{installed.version}.dist-info"
    tag = _own_tag()
    path = directory / f"{DISTRIBUTION}-{installed.version}-{tag}.whl"
    head = f"Wheel-Version: 1.0\nGenerator: {DISTRIBUTION}\nRoot-Is-Purelib: false\nTag: {tag}\n"
    metadata = {
        "METADATA": installed.read_text("METADATA") or "",
        "entry_points.txt": installed.read_text("entry_points.txt") or "",
        "WHEEL": head,
    }
    record = []
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as wheel:
        contents = {name: source.read_bytes() for name, source in _own_files()}
        for name, content in (contents | {f"{info}/{name}": text.encode() for name, text in metadata.items()}).items():
            digest = base64.urlsafe_b64encode(hashlib.sha256(content).digest()).rstrip(b"=").decode()
            record.append(f"{name},sha256={digest},{len(content)}")
            wheel.writestr(name, content)
        wheel.writestr(f"{info}/RECORD", "\n".join([*record, f"{info}/RECORD,,", ""]))
    return path


def _own_files() -> Iterator[tuple[str, Path]]:
    """Yield each file of the package with its name in a wheel."""
    package = Path(__file__).resolve().parents[2]
    yield f"planner/{_extension().name}", _extension()
    roots = {"planner": package, "planner/models": paths.models_directory()}
    roots["planner/catalogs"] = paths.catalogs_directory()
    seen = set()
    for prefix, root in roots.items():
        for path in sorted(root.rglob("*")):
            if path.is_file() and path.suffix not in (".pyc", ".so") and path not in seen:
                seen.add(path)
                yield f"{prefix}/{path.relative_to(root)}", path


def _extension() -> Path:
    extension = find_spec("planner._sortcore")
    if extension is None or extension.origin is None:
        raise BadInputError("the compiled sort core is missing here, so it cannot be taken along; run `make setup`")
    return Path(extension.origin)


def _own_tag() -> str:
    version = f"cp{sys.version_info.major}{sys.version_info.minor}"
    return f"{version}-{version}-linux_{platform.machine()}"


def _fits(*, python: str, architecture: str) -> bool:
    """Say whether this installation's extension works on such machines."""
    running = f"{sys.version_info.major}.{sys.version_info.minor}"
    return (sys.platform, running, platform.machine()) == ("linux", python, architecture)


def _python_of(wheel: Path) -> str:
    """Return the version of Python in a wheel's name: 3.12 of cp312. Raises BadInputError for other names."""
    words = wheel.stem.split("-")
    tag = words[2] if len(words) == 5 else ""
    if not tag.startswith("cp3") or not tag[3:].isdigit():
        raise BadInputError(f"{wheel}: expected the wheel of one version of Python, such as cp312")
    return f"3.{tag[3:]}"


STOCK: Final = {"GLIBC_2.": 39, "GLIBCXX_3.4.": 33}
"""The newest symbol versions of Ubuntu 24.04's libc6 2.39 and libstdc++6 14 (GCC's ABI Policy and Guidelines)."""


def newer_than_stock(extension: Path) -> list[str]:
    """Return the newest symbol version of each library that the stock image lacks; none when the extension runs there.

    An ELF file names all that it needs in its string table.
    """
    content = extension.read_bytes()
    needed = {
        prefix: max((int(number) for number in re.findall(re.escape(prefix.encode()) + rb"(\d+)", content)), default=0)
        for prefix in STOCK
    }
    return [f"{prefix}{number}" for prefix, number in needed.items() if number > STOCK[prefix]]
