"""Every error ends a command with a sentence and an exit code; a bug leaves its details, without secrets, in a file."""

from __future__ import annotations

import stat
import subprocess
import sys
from pathlib import Path

import pytest

from planner.cli.shell.console import exit_code_of
from planner.cli.shell.failures import BUG_EXIT_CODE, details_of, ending_of, headed, write_details
from planner.errors import ProviderRefusedError


@pytest.fixture(autouse=True)
def _own_state(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "state"))


@pytest.mark.parametrize(
    ("error", "code", "sentence"),
    [
        (ProviderRefusedError("no quota"), 4, "no quota"),
        (FileNotFoundError(2, "No such file or directory", "a.json"), 2, "a.json: No such file or directory"),
        (PermissionError(13, "Permission denied", "a.json"), 6, "a.json: Permission denied; name another file"),
        (OSError(28, "No space left on device"), 6, "No space left on device; the system refused"),
        (OSError("odd"), 6, "odd"),
        (MemoryError(), 6, "not enough memory"),
        (RecursionError("maximum"), 2, "nested too deeply"),
        (UnicodeDecodeError("utf-8", b"\xff", 0, 1, "invalid start byte"), 2, "not text in UTF-8"),
        (ModuleNotFoundError("No module named 'ray'", name="ray"), 1, r"pip install 'sortplanner[ray]'"),
        (ModuleNotFoundError("No module named 'rich.x'", name="rich.x"), 1, "install sortplanner again"),
        (ModuleNotFoundError("No module named '_bz2'", name="_bz2"), 1, "this Python was built without its module bz2"),
        (ModuleNotFoundError("No module", name="planner.nowhere"), BUG_EXIT_CODE, "a bug of the planner"),
        (KeyError("nodes"), BUG_EXIT_CODE, "please report it"),
    ],
)
def test_every_error_has_a_sentence_and_a_code(error: Exception, code: int, sentence: str) -> None:
    text, ended = ending_of(error)
    assert (ended, sentence in text) == (code, True), text
    assert len(text.splitlines()[0]) <= 100


def test_a_bug_leaves_its_details_where_only_the_user_reads_them(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert exit_code_of([].pop) == BUG_EXIT_CODE
    printed = capsys.readouterr().err
    (file,) = (tmp_path / "state" / "planner" / "bugs").iterdir()
    assert str(file) in printed and "Traceback" not in printed
    assert "IndexError" in file.read_text() and "sortplanner" in file.read_text()
    assert stat.S_IMODE(file.stat().st_mode) == 0o600


def test_the_details_go_to_the_temporary_folder_where_no_other_can_be_written(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "file").touch()
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "file"))
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))
    written = write_details(KeyError("a"), ["planner"])
    assert written is not None and written.parent == tmp_path
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path / "file"))
    assert write_details(KeyError("a"), ["planner"]) is None


def test_details_leave_out_what_may_be_secret() -> None:
    words = ["planner", "bench", "net", "--token-file", "/home/me/private", "--jump=me@inside", "--data", "1TB"]
    words += ["--input", "https://me:letmein@host/a?sig=hidden"]
    text = details_of(ValueError("cannot read /home/me/private"), words)
    assert "--data 1TB" in text and "--token-file ***" in text
    for secret in ("/home/me/private", "me@inside", "letmein", "hidden"):
        assert secret not in text


WITHOUT = "import sys; sys.modules[sys.argv.pop(1)] = None; from planner.cli.entry import main; sys.exit(main())"
"""Runs the command line as if a module were not installed."""


@pytest.mark.parametrize(
    ("module", "command", "code", "sentence"),
    [
        ("planner._sortcore", "gnusort /dev/null", 2, "sort: the compiled sort core"),
        ("planner._sortcore", "sort /dev/null out", 1, "error: the compiled sort core"),
        ("planner._sortcore", "plan --input . --output s3://b/y", 1, "error: {here}: the compiled sort core"),
        ("typer", "plan 1TB", 1, "error: this needs the package typer, which is not installed"),
    ],
)
def test_what_is_not_installed_is_named(module: str, command: str, code: int, sentence: str, tmp_path: Path) -> None:
    words = [sys.executable, "-c", WITHOUT, module, *command.split()]
    ended = subprocess.run(words, cwd=tmp_path, capture_output=True, text=True, check=False)
    assert (ended.returncode, "Traceback" in ended.stderr) == (code, False)
    assert " ".join(ended.stderr.split()).startswith(sentence.format(here=tmp_path))


@pytest.mark.parametrize(
    ("line", "code"),
    [
        ("models >/dev/full", 6),
        ("models >&-", 0),
        ("models 2>&-", 0),
        ("plan 1TB --set zones=0 2>/dev/full", 2),
        ("--help | true", 0),
        ("models | true", 0),
        ("plan --help | true", 0),
        ("plan 1TB <&-", 0),
    ],
)
def test_streams_may_be_closed_or_full(line: str, code: int) -> None:
    words = ["bash", "-c", f"{sys.executable} -m planner {line}; exit ${{PIPESTATUS[0]}}"]
    ended = subprocess.run(words, capture_output=True, text=True, check=False)
    assert (ended.returncode, "Traceback" in ended.stderr) == (code, False), ended.stderr


@pytest.mark.parametrize(
    ("text", "lines"),
    [
        ("short", ["short"]),
        ("a" * 40 + "; " + "b" * 60, ["a" * 40, "  " + "b" * 60]),
        ("a" * 40 + ". B " + "c" * 60 + "\n  d", ["a" * 40 + ".", "  B " + "c" * 60, "  d"]),
        ("word " * 30, [("word " * 18).strip(), "  " + ("word " * 12).strip()]),
        ("a" * 150, ["a" * 150]),
    ],
)
def test_the_first_line_of_an_error_is_short(text: str, lines: list[str]) -> None:
    assert headed(text).split("\n") == lines
