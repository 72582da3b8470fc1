"""Outputs of any name, with their previous permissions; any number of inputs."""

from __future__ import annotations

import os
import shutil
import stat
import subprocess
import sys
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import planner
from planner.errors import BadInputError, IoFailureError
from planner.native import Progress
from planner.sorting.records.generate import generate_file
from planner.sorting.records.local import sort_file
from planner.sorting.records.validate import validate_files
from planner.sorting.sort_job import SortJob

RECORDS = 3000


@pytest.fixture
def source(tmp_path: Path) -> Path:
    path = tmp_path / "in"
    generate_file(path, records=RECORDS)
    return path


def assert_sorted(output: Path, source: Path) -> None:
    after = validate_files([output])
    assert (after.records, after.unordered) == (RECORDS, 0)
    assert after.checksum == validate_files([source]).checksum


@pytest.mark.parametrize("spelled", ["./out", f"sub/{os.pardir}/out", "other/out", "out", "linked"])
def test_an_output_given_twice_is_refused_however_it_is_spelled(
    source: Path, spelled: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(source.parent)
    Path("sub").mkdir()
    Path("other").symlink_to(".")
    Path("linked").symlink_to("out")
    with pytest.raises(BadInputError, match="given twice"):
        sort_file(source, ["out", spelled])
    with pytest.raises(BadInputError, match="given twice"):
        sort_file(source, "out", replica=spelled)
    assert not Path("out").exists()


@pytest.mark.parametrize("exists", [True, False])
def test_a_symbolic_link_is_followed(source: Path, exists: bool) -> None:
    (source.parent / "far").mkdir()
    target, link = source.parent / "far" / "target", source.parent / "out"
    if exists:
        target.write_bytes(b"before")
    link.symlink_to("far/target")
    sort_file(source, link)
    assert link.is_symlink()
    assert_sorted(target, source)
    assert [path.name for path in target.parent.iterdir()] == ["target"]


def test_links_in_a_circle_are_named(source: Path) -> None:
    (source.parent / "out").symlink_to("loop")
    (source.parent / "loop").symlink_to("out")
    with pytest.raises(IoFailureError, match=r"out.*symbolic links"):
        sort_file(source, source.parent / "out")


def test_names_as_long_as_the_system_allows(source: Path) -> None:
    longest = source.parent / ("n" * 255)
    sort_file(source, longest)
    assert_sorted(longest, source)
    with pytest.raises(IoFailureError, match="too long"):
        sort_file(source, source.parent / ("n" * 256))


def test_names_that_are_no_utf_8(source: Path) -> None:
    strange = source.parent / os.fsdecode(b"caf\xe9")
    sort_file(source, strange)
    assert strange.stat().st_size == source.stat().st_size
    with pytest.raises(BadInputError, match="is the input") as refused:
        sort_file(strange, strange)
    assert str(strange) in str(refused.value)
    with pytest.raises(IoFailureError, match="nowhere"):
        sort_file(source.parent / os.fsdecode(b"nowhere\xe9"), source.parent / "out")


@pytest.mark.parametrize("consume_input", [False, True])
def test_parquet_with_names_that_are_no_utf_8(tmp_path: Path, consume_input: bool) -> None:
    source, output = (tmp_path / os.fsdecode(name) for name in (b"caf\xe9", b"th\xe9"))
    with source.open("wb") as file:
        pq.write_table(pa.table({"k": [2, 1]}), file)
    planner.sort(source, output, format="parquet", key="k", consume_input=consume_input)
    assert planner.find_disorder(output, format="parquet", key="k") is None
    with output.open("rb") as file:
        assert pq.read_table(file).column("k").to_pylist() == [1, 2]


def test_permissions_are_those_of_what_is_replaced(source: Path) -> None:
    output = source.parent / "out"
    mask = os.umask(0o022)
    try:
        sort_file(source, output)
        assert stat.S_IMODE(output.stat().st_mode) == 0o644
        output.chmod(0o640)
        sort_file(source, output)
    finally:
        os.umask(mask)
    assert stat.S_IMODE(output.stat().st_mode) == 0o640


MANY = """
import resource, sys
from pathlib import Path
resource.setrlimit(resource.RLIMIT_NOFILE, (64, resource.getrlimit(resource.RLIMIT_NOFILE)[1]))
from planner.sorting.sort_job import SortJob
from planner.sorting.records.local import sort_file
print(sort_file(sorted(Path(sys.argv[1]).iterdir()), sys.argv[2]).records)
"""


def test_more_inputs_than_files_may_be_open(tmp_path: Path) -> None:
    (tmp_path / "in").mkdir()
    for i in range(100):
        generate_file(tmp_path / "in" / f"{i}", records=10)
    command = [sys.executable, "-c", MANY, str(tmp_path / "in"), str(tmp_path / "out")]
    result = subprocess.run(command, capture_output=True, text=True, check=False, timeout=120)
    assert result.stdout == "1000\n", result.stderr


@pytest.mark.parametrize("memory_bytes", [None, 24_000_000])
def test_progress_ends_at_the_total(tmp_path: Path, memory_bytes: int | None) -> None:
    sources = [tmp_path / "a", tmp_path / "b"][: 1 if memory_bytes is None else 2]
    for path in sources:
        path.write_bytes(b"b" * 100 + b"a" * 100)
    progress = Progress()
    sort_file(sources, tmp_path / "out", SortJob(memory_bytes=memory_bytes, force=True), progress=progress)
    assert (tmp_path / "out").read_bytes() == b"a" * 100 * len(sources) + b"b" * 100 * len(sources)
    assert progress.bytes_done == progress.bytes_total


@pytest.mark.needs_root(why="mounts a file")
def test_a_mount_point_is_refused_before_anything_is_sorted(source: Path) -> None:
    for name in ("mounted", "out"):
        (source.parent / name).touch()
    script = f"mount --bind mounted out && ! {sys.executable} -m planner sort in out --force"
    command = ["unshare", "--mount", "sh", "-c", script]
    done = subprocess.run(command, cwd=source.parent, capture_output=True, text=True, check=True)
    assert "out is a mount point, which no file can replace; name another output" in done.stderr


@pytest.mark.parametrize("format", ["lines", "parquet"])
def test_attributes_of_what_is_replaced_are_passed_on(tmp_path: Path, format: str) -> None:
    source, out = tmp_path / "in", tmp_path / "out"
    pq.write_table(pa.table({"n": [2, 1]}), source) if format == "parquet" else source.write_text("b\na\n")
    out.write_text("before")
    os.setxattr(out, "user.origin", b"here")
    for consume_input in (False, True):
        key = "n" if format == "parquet" else None
        copy = shutil.copy(source, tmp_path / "copy")
        planner.sort(copy, out, format=format, key=key, force=True, consume_input=consume_input)  # type: ignore[arg-type]
        assert os.getxattr(out, "user.origin") == b"here"
