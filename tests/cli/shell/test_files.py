"""Files named on the command line: those that must exist, and those not replaced without being asked."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest
from approvals import Approve
from refusals import require
from typer.testing import CliRunner

from planner.cli.app import build
from planner.config.user_files import MOST_VALUES
from planner.errors import BadInputError

READERS = (
    "sort {} out",
    "sort --lines {} out",
    "sort {} out --ray 127.0.0.1:1",
    "validate {}",
    "validate --summaries {}",
    "ingest {}",
    "screen {}",
    "calibrate {}",
    "predict {} --profile none",
    "report {}",
    "compare {} {}",
    "cluster up {} --dry-run",
    "plan --data 1TB --model {}.toml",
    "plan --data 1TB --catalog ./{}",
    "catalog check ./{}",
    "run --data 1MB --model indy --dir {}/x",
    "doctor --dir {}/x",
    "explain-log {}",
    "plan-log {}",
    "plan --data 1TB --engine {}.toml",
    "sort there out --temp-dir {}/x",
    "bench disk --dir {}/x",
    "emulate up --dir {}/x",
    "emulate study --dir {}/x",
)


def refusal(command: str) -> str:
    """Run a command that must be refused, and return the message."""
    error = CliRunner().invoke(build(), command.split()).exception
    code = getattr(error, "exit_code", getattr(error, "code", None))
    assert code == BadInputError.exit_code, f"{command}: {error!r}"
    return str(error)


@pytest.fixture(autouse=True)
def _in_a_folder_of_its_own(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("XDG_DATA_HOME", str(tmp_path / "home"))
    (tmp_path / "folder").mkdir()
    (tmp_path / "there").write_text("1\n")


TOO_LONG = pytest.param("x" * 256, id="too-long")


@pytest.mark.parametrize("reader", READERS)
@pytest.mark.parametrize("name", ["absent", "folder"])
def test_what_cannot_be_read_is_bad_input(reader: str, name: str) -> None:
    refusal(reader.replace("{}", name))


@pytest.mark.parametrize("reader", [reader for reader in READERS if reader.startswith(("sort", "validate"))])
@pytest.mark.parametrize("name", [TOO_LONG, "circle"])
def test_what_cannot_be_looked_up_is_bad_input(reader: str, name: str) -> None:
    Path("circle").symlink_to("circle")
    refusal(reader.replace("{}", name))


@pytest.mark.parametrize("reader", READERS)
def test_what_has_no_end_is_refused_before_it_fills_the_memory(reader: str) -> None:
    refusal(reader.replace("./{}", "{}").replace("{}", "/dev/zero"))


@pytest.mark.parametrize(
    "reader", [reader for reader in READERS if reader.split()[0] in ("ingest", "compare", "report")]
)
def test_a_pipe_is_read_up_to_what_a_file_may_hold(reader: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("planner.config.user_files.MOST_BYTES", 1 << 20)
    os.mkfifo("pipe")
    with subprocess.Popen(["sh", "-c", "cat /dev/zero > pipe"], stderr=subprocess.DEVNULL):
        ended = CliRunner().invoke(build(), reader.replace("{}", "pipe").split())
        require(ended.exception, "too-long", "pipe: ", "1 MiB")


@pytest.mark.parametrize(
    "reader", [each for each in READERS if each.split()[0] in ("ingest", "screen", "compare", "report")]
)
def test_a_file_is_read_up_to_what_the_memory_may_hold(reader: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Parsed, a hundred MB of `{},` take some GB."""
    Path("long").write_bytes(bytes(1 << 21))
    with monkeypatch.context() as patch:
        patch.setattr("planner.config.user_files.MOST_BYTES", 1 << 20)
        exception = CliRunner().invoke(build(), reader.replace("{}", "long").split()).exception
    require(exception, "too-long", "long: ", "1 MiB")
    Path("dense").write_text("[" + "{}," * MOST_VALUES + "{},{}]")
    exception = CliRunner().invoke(build(), reader.replace("{}", "dense").split()).exception
    require(exception, "too-long", "dense: ", "4,000,000 values")


def test_standard_output_has_many_names_and_nothing_to_replace() -> None:
    Path("there").write_text("2\n1\n")
    for name in ("/dev/stdout", "/proc/self/fd/1", "-"):
        command = f"{sys.executable} -m planner sort --lines there {name} >> both; echo >> both"
        subprocess.run(["sh", "-c", command], check=True)
    assert Path("both").read_text() == "1\n2\n\n" * 3


@pytest.mark.parametrize("options", ["--lines", "--record-size 2 --key-size 1", "--lines --unique"])
def test_devices_and_pipes_are_written_as_they_are(options: str) -> None:
    Path("there").write_text("2\n1\n")
    os.mkfifo("pipe")
    with subprocess.Popen(["cat", "pipe"], stdout=subprocess.PIPE) as reader:
        for output in ("/dev/null", "pipe"):
            assert CliRunner().invoke(build(), f"sort {options} there {output}".split()).exception is None
        assert reader.communicate()[0] == b"1\n2\n"
    assert not Path("/dev/null").is_file()


@pytest.mark.parametrize(
    "writer",
    [
        "generate {} --records 1",
        "sort --lines there {}",
        "sort --record-size 2 --key-size 1 there new --more-output {}",
        "validate --summary {} there",
        "plan --data 1TB --out {}",
        "plan --data 1TB --html {}",
        "run --data 1MB --out {}",
        "report there --html {}",
    ],
)
@pytest.mark.parametrize("name", ["absent/new", "folder", TOO_LONG])
def test_what_has_no_place_to_be_written_is_bad_input(writer: str, name: str) -> None:
    assert refusal(writer.replace("{}", name)).startswith(name)
    assert sorted(path.name for path in Path().iterdir()) == ["folder", "there"]


@pytest.mark.parametrize("reader", ["ingest", "screen", "calibrate", "report", "cluster up --dry-run"])
def test_an_empty_file_is_bad_input(reader: str) -> None:
    Path("empty").touch()
    refusal(f"{reader} empty")


@pytest.mark.parametrize(
    "writer",
    [
        "generate there --records 1",
        "sort --lines folder/in there",
        "sort --record-size 2 --key-size 1 folder/in new --more-output there",
        "validate --summary there folder/in",
        "plan --data 1TB --out there",
        "plan --data 1TB --html there",
        "run --data 1MB --model indy --out there",
        "report folder/in --html there",
    ],
)
def test_a_file_that_exists_is_kept(writer: str, approve: Approve) -> None:
    Path("folder", "in").write_text("2\n")
    approve(refusal(writer))
    assert Path("there").read_text() == "1\n"


@pytest.mark.parametrize(
    "command",
    [
        "run --data 1MB --rate 5Mbit",
        "run --data 1MB --nodes 3",
        "run --data 1MB --dry-run",
        "run --data 1MB --cloud emulated --max-cost 5",
        "run --data 1TB --cloud aws --set redraw=5s --dry-run",
        "run --data 1TB --cloud aws --wheelhouse absent --dry-run",
        "run --data 1MB --threads 0",
        "plan --data 1TB --set option=io=s3",
        "cluster wheelhouse there",
    ],
)
def test_what_would_be_ignored_or_cannot_be_is_bad_input(command: str) -> None:
    refusal(command)


def test_force_replaces_a_file() -> None:
    done = CliRunner().invoke(build(), ["generate", "there", "--records", "1", "--force"])
    assert done.exit_code == 0 and Path("there").stat().st_size == 100
