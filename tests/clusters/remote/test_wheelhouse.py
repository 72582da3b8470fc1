"""Software for bare machines: the running planner as a wheel that pip installs, and its dependencies."""

from __future__ import annotations

import re
import shutil
import subprocess
import sys
import sysconfig
import tarfile
import zipfile
from hashlib import sha256
from importlib.metadata import version as metadata_version
from pathlib import Path
from platform import machine

import pytest
from packaging.requirements import Requirement
from packaging.utils import canonicalize_name
from refusals import refused

from planner.clusters.remote import wheelhouse
from planner.clusters.remote.own_files import code_digest, code_in, python_digest
from planner.clusters.remote.own_source import build_requirements, sources, write_source
from planner.clusters.remote.wheelhouse import newer_than_stock
from planner.errors import BadInputError, IoFailureError
from planner.native import core
from tests.marks import quick_soak

LOCK_TEXT = wheelhouse.LOCK.read_text("utf-8")


@pytest.fixture(autouse=True)
def _no_built_wheels(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Whatever `make wheels` has left in this checkout."""
    monkeypatch.setattr(wheelhouse, "BUILT", tmp_path / "dist")


@pytest.fixture(scope="module")
def own(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return wheelhouse.write_own_wheel(tmp_path_factory.mktemp("own"))


@quick_soak
def test_the_planners_own_wheel_is_whole_and_installs(own: Path, tmp_path: Path) -> None:
    """Installed alone, it plans, sorts and has its data; pip checks the digests during installation."""
    target = tmp_path / "site"
    pip = [sys.executable, "-m", "pip", "install", "--quiet", "--no-deps", "--no-index", "--target", str(target)]
    subprocess.run([*pip, str(own)], check=True)
    code = (
        f"import sys; sys.path[:0] = [{str(target)!r}, {sysconfig.get_path('purelib')!r}]\n"
        "import planner, planner.native as native\n"
        "from planner.config import paths\n"
        "assert planner.__file__.startswith(sys.path[0]), planner.__file__\n"
        "assert native.core.__file__.startswith(sys.path[0]), native.core.__file__\n"
        "assert str(paths.catalogs_directory()).startswith(sys.path[0])\n"
        "from planner.clusters.remote.own_files import code_digest\n"
        "print(planner.recommend(data='100TB', model='indy').best.nodes, code_digest())"
    )
    done = subprocess.run([sys.executable, "-IS", "-c", code], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    nodes, code_there = done.stdout.split()
    assert int(nodes) > 1 and code_there == code_digest()


def test_the_wheels_code_is_the_code_that_runs_here(own: Path) -> None:
    """This identifies a machine that has this wheel installed."""
    assert code_in(own) == code_digest()


def test_every_file_is_in_the_record(own: Path) -> None:
    with zipfile.ZipFile(own) as wheel:
        record = next(name for name in wheel.namelist() if name.endswith("RECORD"))
        listed = [line.split(",")[0] for line in wheel.read(record).decode().splitlines()]
    assert sorted(listed) == sorted(zipfile.ZipFile(own).namelist())
    assert any(name.startswith("planner/catalogs/") for name in listed)
    assert not [name for name in listed if "__pycache__" in name]


def test_packed_with_its_digest_and_its_python(own: Path, tmp_path: Path) -> None:
    wheels = tmp_path / "wheels"
    wheels.mkdir()
    (wheels / own.name).write_bytes(own.read_bytes())
    (wheels / "pip-26.0-py3-none-any.whl").write_bytes(b"a stand-in")
    packed = wheelhouse.pack(wheels, tmp_path / "wheels.tar")
    assert packed.sha256 == sha256(packed.path.read_bytes()).hexdigest()
    assert packed.python == f"{sys.version_info.major}.{sys.version_info.minor}"
    with tarfile.open(packed.path) as tar:
        assert sorted(tar.getnames()) == sorted([own.name, "pip-26.0-py3-none-any.whl"])


@pytest.mark.parametrize("missing", ["sortplanner", "pip"])
def test_half_a_wheelhouse_is_refused(own: Path, tmp_path: Path, missing: str) -> None:
    names = {"sortplanner": own.name, "pip": "pip-26.0-py3-none-any.whl"}
    for name in names.values():
        (tmp_path / name).write_bytes(b"")
    (tmp_path / names[missing]).unlink()
    with pytest.raises(BadInputError, match="planner cluster wheelhouse"):
        wheelhouse.pack(tmp_path, tmp_path / "wheels.tar")


def local_index(directory: Path, names: list[str], tag: str, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Let pip find only empty wheels of these names."""
    for name in names:
        write_empty_wheel(directory, name.split(">")[0].replace("-", "_"), tag)
    monkeypatch.setenv("PIP_NO_INDEX", "1")
    monkeypatch.setenv("PIP_FIND_LINKS", directory.as_uri())
    return directory


def test_for_another_processor_the_source_is_brought_and_what_builds_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """As from a checkout on x86-64 for arm64: no index has this exact code."""
    tag = "cp312-cp312-manylinux_2_28_aarch64"
    local_index(tmp_path / "index", ["pip", *wheelhouse.requirements(), *build_requirements()], tag, monkeypatch)
    assert wheelhouse.software_form(architecture="arm64") == "source"
    assert wheelhouse.make_wheels(tmp_path / "wheels", architecture="arm64") == "source"
    packed = wheelhouse.pack(tmp_path / "wheels", tmp_path / "wheels.tar")
    assert (packed.is_source, packed.python, packed.architecture) == (True, "3.12", "aarch64")
    assert packed.code == python_digest()
    assert wheelhouse.architecture_in(tmp_path / "wheels") == "arm64"
    with tarfile.open(packed.path) as tar:
        assert f"sortplanner-{metadata_version('sortplanner')}.tar.gz" in tar.getnames()


def test_a_checkouts_wheel_of_this_very_code_needs_no_compiler(
    own: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Where it was built from another line of the sort core, the source is brought."""
    tag = "cp312-cp312-manylinux_2_28_aarch64"
    local_index(tmp_path / "index", ["pip", *wheelhouse.requirements(), *build_requirements()], tag, monkeypatch)
    (tmp_path / "dist").mkdir()
    built = tmp_path / "dist" / f"sortplanner-{metadata_version('sortplanner')}-{tag}.whl"
    for change, form in (b" ", "source"), (b"", "built wheel"):
        shutil.copy(own, built)
        with zipfile.ZipFile(built, "a") as wheel:
            for path in filter(Path.is_file, (sources() / "native").rglob("*")):
                name = f"sortplanner-1.data/data/share/sortplanner/{path.relative_to(sources())}"
                wheel.writestr(name, path.read_bytes() + change)
        assert wheelhouse.software_form(architecture="arm64") == form
    assert wheelhouse.compiled_processors() <= {"x86_64"}
    assert wheelhouse.make_wheels(tmp_path / "wheels", architecture="arm64") == "built wheel"
    packed = wheelhouse.pack(tmp_path / "wheels", tmp_path / "wheels.tar")
    assert (packed.is_source, packed.architecture, packed.code) == (False, "aarch64", code_in(built))


def test_the_lock_has_all_that_machines_need_for_both_processors() -> None:
    """One hash for packages that run everywhere, and two for compiled ones."""
    blocks = re.findall(r"^([a-z0-9-]+)==(\S+)((?: \\\n +--hash=sha256:[0-9a-f]{64})+)$", LOCK_TEXT, re.MULTILINE)
    versions = {name: version for name, version, _ in blocks}
    needed = [Requirement(line) for line in ("pip", *wheelhouse.requirements(), *build_requirements())]
    lacking = [str(one) for one in needed if not one.specifier.contains(versions.get(canonicalize_name(one.name), "0"))]
    assert lacking == [] and LOCK_TEXT.count("==") == len(blocks)
    hashes = {name: listed.count("--hash") for name, _, listed in blocks}
    assert (hashes["numpy"], hashes["ray"], hashes["pip"]) == (2, 2, 1)


def test_other_wheels_than_those_in_the_lock_are_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for name, version in re.findall(r"^([a-z0-9-]+)==(\S+)", LOCK_TEXT, re.MULTILINE):
        write_empty_wheel(tmp_path / "index", name.replace("-", "_"), "py3-none-any", version=version)
    monkeypatch.setenv("PIP_INDEX_URL", (tmp_path / "index").as_uri())
    monkeypatch.setenv("PIP_FIND_LINKS", (tmp_path / "index").as_uri())
    with refused("no-wheels", kind=IoFailureError) as caught:
        wheelhouse.make_wheels(tmp_path / "wheels", architecture="x86_64")
    assert "Expected sha256" in "\n".join(caught.value.details)
    assert not list((tmp_path / "wheels").glob("numpy-*"))


def test_what_pip_cannot_fetch_is_named_with_the_processor_that_would_do(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    local_index(tmp_path / "index", [], "py3-none-any", monkeypatch)
    other = "aarch64" if machine() == "x86_64" else "x86_64"
    with refused("no-wheels", "Python 3.12", other, "--arch", kind=IoFailureError) as caught:
        wheelhouse.make_wheels(tmp_path / "wheels", architecture=other)
    assert len(caught.value.message) <= 100


def test_a_wheel_for_another_processor_is_fetched_where_this_one_came_from_an_index(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """From macOS on arm64 for Linux on aarch64, as from an index with this version; then from one without."""
    monkeypatch.setattr(wheelhouse, "is_installed_from_index", lambda: True)
    monkeypatch.setattr(wheelhouse.sys, "platform", "darwin")
    version = metadata_version("sortplanner")
    tag = "cp312-cp312-manylinux_2_28_aarch64"
    index = local_index(tmp_path / "index", ["pip", *wheelhouse.requirements()], tag, monkeypatch)
    write_empty_wheel(index, "sortplanner", tag, version=version)
    assert wheelhouse.make_wheels(tmp_path / "wheels", architecture="arm64") == "wheel of the index"
    assert (tmp_path / "wheels" / f"sortplanner-{version}-{tag}.whl").exists()
    assert wheelhouse.pack(tmp_path / "wheels", tmp_path / "wheels.tar").python == "3.12"
    local_index(
        index,
        ["pip", *wheelhouse.requirements(), *build_requirements()],
        "cp313-cp313-manylinux_2_28_aarch64",
        monkeypatch,
    )
    assert wheelhouse.make_wheels(tmp_path / "others", python="3.13", architecture="arm64") == "source"


@pytest.mark.parametrize("platform", ["manylinux2014", "manylinux_2_17", "manylinux_2_28"])
def test_wheels_are_found_by_any_name_of_their_platform(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, platform: str
) -> None:
    """Ray's wheels are tagged manylinux2014, an alias of manylinux_2_17 that pip does not recognise."""
    tag = f"{cpython()}-{cpython()}-{platform}_{machine()}"
    for name in ("pip", *(line.split(">")[0] for line in wheelhouse.requirements())):
        write_empty_wheel(tmp_path / "index", name, tag)
    monkeypatch.setenv("PIP_NO_INDEX", "1")
    monkeypatch.setenv("PIP_FIND_LINKS", (tmp_path / "index").as_uri())
    python = f"{sys.version_info.major}.{sys.version_info.minor}"
    wheelhouse.make_wheels(tmp_path / "wheels", python=python, architecture=machine())
    distributions = {path.name.split("-")[0] for path in (tmp_path / "wheels").iterdir()}
    assert distributions == {
        "pip",
        "typer",
        "rich",
        "numpy",
        "pandas",
        "tenacity",
        "jinja2",
        "ray",
        "psutil",
        "obstore",
        "zstandard",
        "pyarrow",
        "sortplanner",
    }


def cpython() -> str:
    return f"cp{sys.version_info.major}{sys.version_info.minor}"


def write_empty_wheel(directory: Path, name: str, tag: str, *, version: str = "99") -> None:
    """Write an empty wheel."""
    directory.mkdir(exist_ok=True)
    info = f"{name}-{version}.dist-info"
    with zipfile.ZipFile(directory / f"{name}-{version}-{tag}.whl", "w") as wheel:
        wheel.writestr(f"{info}/METADATA", f"Metadata-Version: 2.1\nName: {name}\nVersion: {version}\n")
        wheel.writestr(f"{info}/WHEEL", f"Wheel-Version: 1.0\nGenerator: tests\nRoot-Is-Purelib: false\nTag: {tag}\n")
        wheel.writestr(f"{info}/RECORD", "")


def test_what_is_needed_includes_ray_object_stores_and_tables() -> None:
    names = [line.split(">")[0] for line in wheelhouse.requirements()]
    plain = ["typer", "rich", "numpy", "pandas", "tenacity", "jinja2"]
    assert names == [*plain, "ray", "psutil", "obstore", "zstandard", "pyarrow"]


def test_tables_need_a_wheel_more(tmp_path: Path) -> None:
    write_empty_wheel(tmp_path / "wheels", "sortplanner", "py3-none-any")
    with refused("no-pyarrow-wheel"):
        wheelhouse.require_tables(tmp_path / "wheels")
    write_empty_wheel(tmp_path / "wheels", "pyarrow", "py3-none-any")
    wheelhouse.require_tables(tmp_path / "wheels")


def needs_of(extension: Path) -> dict[str, int]:
    """Return the dynamic linker's requirements, as read by binutils."""
    shown = subprocess.run(["objdump", "-p", str(extension)], check=True, capture_output=True, text=True).stdout
    words = [word for word in shown.split() if word.startswith(tuple(wheelhouse.STOCK))]
    return {
        prefix: max(int(word.removeprefix(prefix).partition(".")[0]) for word in words if word.startswith(prefix))
        for prefix in wheelhouse.STOCK
    }


def test_what_the_extension_needs_is_what_binutils_reads(monkeypatch: pytest.MonkeyPatch) -> None:
    assert shutil.which("objdump"), "binutils are part of any compiler's installation"
    extension = Path(core.__file__)
    needs = needs_of(extension)
    monkeypatch.setattr(wheelhouse, "STOCK", needs)
    assert newer_than_stock(extension) == []
    monkeypatch.setattr(wheelhouse, "STOCK", {prefix: number - 1 for prefix, number in needs.items()})
    assert newer_than_stock(extension) == [f"{prefix}{number}" for prefix, number in needs.items()]


def test_an_extension_that_the_machines_cannot_load_is_compiled_there(monkeypatch: pytest.MonkeyPatch) -> None:
    running = f"{sys.version_info.major}.{sys.version_info.minor}"
    monkeypatch.setattr(wheelhouse, "STOCK", needs_of(Path(core.__file__)))
    assert wheelhouse.software_form(python=running, architecture=machine()) == "own wheel"
    monkeypatch.setattr(wheelhouse, "STOCK", {"GLIBC_2.": 1})
    assert wheelhouse.software_form(python=running, architecture=machine()) == "source"


def test_an_extension_for_musl_is_not_sent_to_machines_with_glibc(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    running = f"{sys.version_info.major}.{sys.version_info.minor}"
    extension = tmp_path / f"_sortcore.cpython-{running.replace('.', '')}-{machine()}-linux-musl.so"
    extension.write_bytes(b"libc.so")
    monkeypatch.setattr(wheelhouse, "extension_if_built", lambda: extension)
    assert wheelhouse.software_form(python=running, architecture=machine()) == "source"


def test_the_source_has_all_of_the_installation_but_what_was_compiled(tmp_path: Path) -> None:
    with tarfile.open(write_source(tmp_path)) as archive:
        names = {name.partition("/")[2] for name in archive.getnames()}
    assert {"pyproject.toml", "PKG-INFO", "native/CMakeLists.txt", "scripts/build_backend.py"} <= names
    assert {"planner/cli/entry.py", "models/daytona.toml", "catalogs/aws/catalog.toml"} <= names
    assert not [name for name in names if name.endswith((".so", ".pyc"))]
