"""All that a bare machine needs to run the planner, in one file: wheels for its Python and processor, pip included.

The machines of a run reach only each other, so all software is copied to them. pip fetches third-party wheels for the
machines' platform. The planner's own wheel is made from the running installation, including its extension, so that the
machines run the same code. If the extension does not fit the machines, a checkout's own wheel for them is taken, as
`make wheels` builds it, or pip fetches the wheel of the same version if the installation came from a package index. If
there is no such wheel, the source distribution is copied, and the head of the cluster compiles the sort core for all.
"""

from __future__ import annotations

import base64
import hashlib
import os
import platform
import re
import shutil
import subprocess
import sys
import tarfile
import zipfile
from dataclasses import dataclass
from importlib.metadata import distribution
from importlib.util import find_spec
from pathlib import Path
from typing import Final, Literal

from planner.clusters.remote.own_files import (
    DISTRIBUTION,
    PACKAGE,
    code_in,
    extension_if_built,
    own_files,
    python_digest,
)
from planner.clusters.remote.own_source import build_requirements, is_built_from_here, write_source
from planner.errors import BadInputError, IoFailureError

STOCK_PYTHON: Final = "3.12"
"""Python version of the stock image, Ubuntu 24.04."""
LOCK: Final = Path(__file__).with_name("machines.lock")
"""Versions and hashes of all wheels for the stock image's Python, on both processors."""
_MANYLINUX: Final = ("_2_39", "_2_35", "_2_34", "_2_31", "_2_28", "_2_27", "_2_24", "_2_17", "2014")
"""Platforms that the stock image's C library supports, newest first. pip treats 2014 as a platform different from its
alias 2_17, and Ray's wheels use that name.
"""
_LINUX_NAMES: Final = {"arm64": "aarch64", "AMD64": "x86_64"}
"""Linux's names of processors that other systems name differently."""
_EXTRAS: Final = ('extra == "ray"', 'extra == "objects"', 'extra == "arrow"', 'extra == "zstd"')
_NO_PIP: Final = "this interpreter has no pip; install it, or name a directory of wheels with --wheelhouse"


BUILT: Final = PACKAGE.parent / "dist"
"""Folder of a checkout in which `make wheels` leaves the wheels for machines."""
SoftwareForm = Literal["own wheel", "built wheel", "wheel of the index", "source"]
"""Form in which the planner itself gets to machines."""


@dataclass(frozen=True, kw_only=True)
class Wheelhouse:
    """A tar file of wheels, for one `python` (3.12) and `architecture` (aarch64). `code` is the digest of the planner's
    own code in it, as computed by `own_files`. With `is_source`, the planner is a source distribution, which the head
    compiles.
    """

    path: Path
    sha256: str
    python: str
    code: str
    architecture: str = ""
    is_source: bool = False


def make_wheels(directory: Path, *, python: str = STOCK_PYTHON, architecture: str = "x86_64") -> SoftwareForm:
    """Fill a directory with wheels for Linux on `architecture` with this `python`, and return the planner's own form in
    it. Third-party wheels are those of the lock file; with PIP_NO_INDEX, or another Python, whatever pip finds.

    Raises BadInputError if a file is in the directory's place; IoFailureError with pip's message.
    """
    if directory.is_file():
        raise BadInputError(f"{directory} is a file; name a directory that can be made", code="is-file")
    architecture = linux_name(architecture)
    if find_spec("pip") is None:
        raise IoFailureError(_NO_PIP, code="no-pip")
    try:
        directory.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise IoFailureError(f"{directory}: {error.strerror}; name a directory that can be made", code="io") from error
    form = _add_planner(directory, python=python, architecture=architecture)
    needed = ["pip", *requirements(), *(build_requirements() if form == "source" else ())]
    if python == STOCK_PYTHON and not os.environ.get("PIP_NO_INDEX"):  # an index must give the locked wheels or none
        needed = ["--require-hashes", f"--requirement={LOCK}"]
    if complaint := download_wheels(directory, needed, python=python, architecture=architecture):
        raise IoFailureError(_no_wheels_text(python=python, architecture=architecture), complaint, code="no-wheels")
    return form


def software_form(*, python: str = STOCK_PYTHON, architecture: str) -> SoftwareForm:
    """Return the form in which the planner will get to such machines, as far as known without asking an index."""
    if _fits(python=python, architecture=linux_name(architecture)):
        return "own wheel"
    if built_wheel(python=python, architecture=architecture):
        return "built wheel"
    return "wheel of the index" if is_installed_from_index() else "source"


def built_wheel(*, python: str, architecture: str) -> Path | None:
    """Return a checkout's wheel of exactly this code for such machines; None without one."""
    tag = f"cp{python.replace('.', '')}"
    name = f"{DISTRIBUTION}-*-{tag}-{tag}-manylinux*_{linux_name(architecture)}.whl"
    return next((wheel for wheel in sorted(BUILT.glob(name)) if is_built_from_here(wheel)), None)


def compiled_processors() -> frozenset[str]:
    """Return the processors for which no wheel of this installation's sort core is at hand: a head compiles it."""
    return frozenset(name for name in ("x86_64", "arm64") if software_form(architecture=name) == "source")


def linux_name(architecture: str) -> str:
    """Return Linux's name of a processor: aarch64 for the clouds' arm64."""
    return _LINUX_NAMES.get(architecture, architecture)


def _add_planner(directory: Path, *, python: str, architecture: str) -> SoftwareForm:
    """Put the planner itself into a directory: as the best wheel available, or else as a source distribution."""
    form = software_form(python=python, architecture=architecture)
    if form == "own wheel":
        write_own_wheel(directory)
        return form
    if built := built_wheel(python=python, architecture=architecture):
        shutil.copy2(built, directory)
        return form
    if form == "wheel of the index" and fetch_own_wheel(directory, python=python, architecture=architecture):
        return form
    write_source(directory)
    return "source"


def _no_wheels_text(*, python: str, architecture: str) -> str:
    here = f"; try --arch {cloud_name(platform.machine())}" if architecture != linux_name(platform.machine()) else ""
    return f"no wheels for Python {python} on Linux {architecture}: pip cannot fetch them{here}"


def cloud_name(architecture: str) -> str:
    """Return the clouds' name of a processor: arm64 for Linux's aarch64."""
    return "arm64" if architecture == "aarch64" else architecture


def fetch_own_wheel(directory: Path, *, python: str, architecture: str) -> bool:
    """Have pip fetch the planner's wheel of this version for the machines, and return whether there is one."""
    wanted = ["--no-deps", f"{DISTRIBUTION}=={distribution(DISTRIBUTION).version}"]
    return not download_wheels(directory, wanted, python=python, architecture=architecture)


def is_installed_from_index() -> bool:
    """Return whether pip installed the planner by its name alone. For any other installation, the index may lack this
    version, and its package of that name may be somebody else's.
    """
    return distribution(DISTRIBUTION).read_text("direct_url.json") is None


def download_wheels(directory: Path, words: list[str], *, python: str, architecture: str) -> list[str]:
    """Have pip download wheels for the machines, and return its error lines: none on success."""
    platforms = [f"--platform=manylinux{version}_{architecture}" for version in _MANYLINUX]
    target = [f"--python-version={python}", "--implementation=cp", "--only-binary=:all:", *platforms]
    command = [sys.executable, "-P", "-m", "pip", "--disable-pip-version-check", "download", "--quiet", *target]
    done = subprocess.run([*command, f"--dest={directory}", *words], capture_output=True, text=True, check=False)
    return (done.stderr.strip().splitlines()[-6:] or ["no reason given"]) if done.returncode else []


def requirements() -> list[str]:
    """Return the requirements of the planner, its cluster sort, tables and object stores, as pip takes them."""
    needed = []
    for line in distribution(DISTRIBUTION).requires or []:
        requirement, _, marker = line.partition(";")
        if not marker or marker.replace("'", '"').strip() in _EXTRAS:
            needed.append(requirement.strip())
    return needed


def require_tables(directory: Path) -> None:
    """Raise BadInputError if a directory of wheels lacks the Parquet reader."""
    if not any(directory.glob("pyarrow-*.whl")):
        raise BadInputError(
            f"{directory}: there is no wheel of pyarrow, which reads Parquet on the machines",
            ["make the wheels again: `planner cluster wheelhouse DIR`"],
            code="no-pyarrow-wheel",
        )


def pack(directory: Path, target: Path) -> Wheelhouse:
    """Put a directory of wheels into one tar file. Raises BadInputError when the planner itself, or pip, is missing."""
    wheels = sorted(directory.glob("*.whl"))
    own = [wheel for wheel in wheels if wheel.name.startswith(f"{DISTRIBUTION}-")]
    source = sorted(directory.glob(f"{DISTRIBUTION}-*.tar.gz"))
    if len(own + source) != 1 or not any(wheel.name.startswith("pip-") for wheel in wheels):
        raise BadInputError(
            f"{directory}: a wheelhouse needs {DISTRIBUTION} once, as a wheel or a source distribution, and pip",
            ["`planner cluster wheelhouse` makes one"],
            code="wheelhouse-unfit",
        )
    with tarfile.open(target, "w") as tar:
        for file in [*wheels, *source]:
            tar.add(file, arcname=file.name)
    with target.open("rb") as content:
        digest = hashlib.file_digest(content, "sha256").hexdigest()
    model = own[0] if own else _compiled_wheel(directory)
    return Wheelhouse(
        path=target,
        sha256=digest,
        python=_python_of(model),
        code=code_in(own[0]) if own else python_digest(),
        architecture=_architecture_of(model),
        is_source=not own,
    )


def architecture_in(directory: Path) -> str:
    """Return the processor of a directory of wheels, by the clouds' name; '' if no wheel names one."""
    own = sorted(directory.glob(f"{DISTRIBUTION}-*.whl"))
    return cloud_name(_architecture_of(own[0] if own else _compiled_wheel(directory)))


def _compiled_wheel(directory: Path) -> Path:
    """Return a wheel with the Python version and processor that all wheels share. Raises BadInputError without one."""
    for wheel in sorted(directory.glob("numpy-*.whl")):
        return wheel
    raise BadInputError(
        f"{directory}: it has no wheel of numpy; make the wheels again (`planner cluster wheelhouse`)",
        code="no-numpy-wheel",
    )


def _architecture_of(wheel: Path) -> str:
    """Return the processor in a wheel's name: aarch64 of manylinux_2_28_aarch64."""
    match = re.search(r"linux(?:_\d+_\d+|2014)?_(x86_64|aarch64)", wheel.stem)
    return match[1] if match else ""


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
        contents = {name: source.read_bytes() for name, source in own_files()}
        for name, content in (contents | {f"{info}/{name}": text.encode() for name, text in metadata.items()}).items():
            digest = base64.urlsafe_b64encode(hashlib.sha256(content).digest()).rstrip(b"=").decode()
            record.append(f"{name},sha256={digest},{len(content)}")
            wheel.writestr(name, content)
        wheel.writestr(f"{info}/RECORD", "\n".join([*record, f"{info}/RECORD,,", ""]))
    return path


def _own_tag() -> str:
    version = f"cp{sys.version_info.major}{sys.version_info.minor}"
    return f"{version}-{version}-linux_{platform.machine()}"


def _fits(*, python: str, architecture: str) -> bool:
    """Return whether this installation's extension works on such machines, whose C library is the stock image's."""
    running = f"{sys.version_info.major}.{sys.version_info.minor}"
    if (sys.platform, running, platform.machine()) != ("linux", python, architecture):
        return False
    core = extension_if_built()
    return core is not None and not core.name.endswith("-linux-musl.so") and not newer_than_stock(core)


def _python_of(wheel: Path) -> str:
    """Return the version of Python in a wheel's name: 3.12 of cp312. Raises BadInputError for other names."""
    words = wheel.stem.split("-")
    tag = words[2] if len(words) == 5 else ""
    if not tag.startswith("cp3") or not tag[3:].isdigit():
        raise BadInputError(f"{wheel}: expected the wheel of one version of Python, such as cp312", code="wheel-unfit")
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
