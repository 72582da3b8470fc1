"""Any input, anywhere, ends a command with a sentence and a documented exit code."""

from __future__ import annotations

import os
import pty
import subprocess
import sys
from collections.abc import Iterator, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any, Final

import pytest
import typer.main
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from spark_events import lines, small_job
from typer.testing import CliRunner

from planner.cli.app import build
from planner.cli.shell.failures import ending_of, headed
from tests.marks import quick_soak

STORED: Final = Path(__file__).resolve().parents[1] / "data" / "stored"
ENDS: Final = {0, 1, 2, 3, 4, 5, 6, 7, 130}
"""The exit codes listed in docs/how-to.md; 1 means that `sort --check` found disorder or that a package is missing."""
BEGINNINGS: Final = {
    "plan": ["--instance", "i4i.*"],
    "run": ["--cloud", "aws", "--dry-run"],
    "cluster up": ["--dry-run"],
    "bench disk": ["--size", "1MB", "--seconds", "0.1s"],
    "bench sort": ["--size", "1KB", "--repeats", "1"],
    "bench fleet": ["--cloud", "aws", "--dry-run"],
}
"""Words that keep a command from renting, and from taking minutes."""
LEFT_OUT: Final = (
    "emulate up", "emulate study", "cluster smoke", "cluster wheelhouse", "bench net", "catalog refresh",
    "cluster sweep", "serve",
)  # fmt: skip
"""Commands that would start nodes, listen, load packages, or ask clouds when given valid words."""
LONG_NAME: Final = 50
FILES: Final = (
    "none", "none/new", "folder", "binary", "empty", "text", "circle", "/dev/null", "/dev/zero", "/proc/new",
    "cut.json", "deep.json", "list.json", "plan-1.json", "app-1", "text.csv", "folder/new", "x" * 300, ".", "/",
)  # fmt: skip
VALUES: Final = (
    "", " ", "0", "1", "-1", "3", "1.5", "1e999", "nan", "9" * 30, "abc", "∞", "1KB", "1TBx", "-5GB", "100%", "2h",
    "0s", "-", "--", ",", "a,b", "=", "a=", "=1", "a=1", "1:2:3", "'", "a\nb", "%s", "{}", "[", "*", "\udcff", "s3://",
    "s3:///a", "s3://b/k", "gs://b", "file:///x", "aws", "gcp", "emulated", "i4i.*", "i4i.large", "csv", "lines",
    "1,1n", "0:4", "2026-13-45",
)  # fmt: skip


def commands() -> Iterator[tuple[str, Any]]:
    for name, command in typer.main.get_command(build()).commands.items():  # type: ignore[attr-defined]
        members = getattr(command, "commands", None)
        yield from ((f"{name} {member}", of) for member, of in members.items()) if members else [(name, command)]


COMMANDS: Final = {name: command for name, command in commands() if name not in LEFT_OUT}


@st.composite
def typed(draw: st.DrawFn) -> list[str]:
    """Draw a command with up to four of its options, their values and its arguments from lists of odd ones."""
    name = draw(st.sampled_from(sorted(COMMANDS)))
    options = [p for p in COMMANDS[name].params if p.param_type_name == "option" and p.name != "agent"]
    words = [*name.split(), *BEGINNINGS.get(name, [])]
    odd = st.sampled_from((*VALUES, *FILES))
    for option in draw(st.lists(st.sampled_from(options), max_size=4)) if options else []:
        words.append(max(option.opts, key=len))
        words += [] if getattr(option, "is_flag", False) else [draw(odd)]
    arguments = [p for p in COMMANDS[name].params if p.param_type_name == "argument"]
    files = st.sampled_from((*FILES, *FILES, *VALUES))
    return words + draw(st.lists(files, min_size=0, max_size=len(arguments) + 1)) if arguments else words


def ended(words: Sequence[str]) -> tuple[int, str]:
    """Run a command in this process, and return its exit code and stderr."""
    outcome = CliRunner().invoke(build(only=words[0]), list(words), prog_name="planner")
    if outcome.exception is None or isinstance(outcome.exception, SystemExit):
        return outcome.exit_code, outcome.stderr
    assert isinstance(outcome.exception, Exception)
    printed, code = ending_of(outcome.exception)
    return code, headed(printed)


def check(words: Sequence[str]) -> None:
    code, printed = ended(words)
    assert code in ENDS, printed
    assert "Traceback" not in printed
    require_short(printed)


def require_short(printed: str) -> None:
    """Require a short first line, unless it contains a long name given by the user."""
    first = next(iter(printed.splitlines()), "")
    assert len(first) <= 100 or max(map(len, first.split())) > LONG_NAME, first


@pytest.fixture(scope="module")
def here(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    """Work in a folder of odd files, with nothing of the user's in reach."""
    folder: Path = tmp_path_factory.mktemp("odd")
    (folder / "folder").mkdir()
    (folder / "empty").touch()
    (folder / "binary").write_bytes(bytes(range(256)) * 4)
    (folder / "circle").symlink_to("circle")
    (folder / "app-1").write_bytes(lines(small_job()))
    plan = (STORED / "plan-1.json").read_text()
    texts = {
        "text": "b 2\na 1\n", "text.csv": "a,b\n1,2\n", "cut.json": plan[: len(plan) // 2], "plan-1.json": plan,
        "deep.json": "[" * 100_000, "list.json": "[1, 2]",
    }  # fmt: skip
    for name, text in texts.items():
        (folder / name).write_text(text)
    with pytest.MonkeyPatch.context() as patch:
        for name in [name for name in os.environ if name.startswith(("AWS_", "XDG_", "PLANNER_"))]:
            patch.delenv(name)
        patch.setenv("HOME", str(folder / "home"))
        patch.setenv("AWS_EC2_METADATA_DISABLED", "true")
        patch.chdir(folder)
        yield folder


ANY: Final = settings(deadline=None, suppress_health_check=list(HealthCheck), database=None)


@settings(ANY, max_examples=60, derandomize=True)
@given(words=typed())
def test_a_few_wrong_words(here: Path, words: list[str]) -> None:
    check(words)


@quick_soak
@settings(ANY, max_examples=400)
@given(words=typed())
def test_some_wrong_words(here: Path, words: list[str]) -> None:
    check(words)


@pytest.mark.soak
@settings(ANY, max_examples=6000)
@given(words=typed())
def test_many_wrong_words(here: Path, words: list[str]) -> None:
    check(words)


LINES: Final = (
    "models",
    "plan --data 1TB --cloud aws --instance i4i.*",
    "plan --data 1TB --cloud aws --nodes abc",
    "explain-log app-1",
    "compare plan-1.json plan-1.json",
    "report plan-1.json",
    "sort text out --lines --force",
    "validate text --lines",
    "generate out --records 10 --force",
    "where --json",
    "plan --help",
    "bogus",
)
"""Commands, some of them wrong, that are run in odd surroundings."""
SURROUNDINGS: Final[dict[str, dict[str, str | None]]] = {
    "no home": {"HOME": None},
    "a home that cannot be": {"HOME": "/proc/none"},
    "C": {"LC_ALL": "C", "PYTHONUTF8": "0", "PYTHONCOERCECLOCALE": "0"},
    "German": {"LC_ALL": "de_DE.UTF-8"},
    "Turkish": {"LC_ALL": "tr_TR.UTF-8"},
    "no colour": {"NO_COLOR": "1"},
    "a dumb terminal": {"TERM": "dumb"},
    "a narrow screen": {"COLUMNS": "20"},
    "odd columns": {"COLUMNS": "many"},
}
PROGRAM: Final = (sys.executable, "-m", "planner")
WITHOUT: Final = "import sys; sys.modules[sys.argv.pop(1)] = None; from planner.cli.entry import main; sys.exit(main())"


def surroundings(name: str) -> dict[str, str]:
    changed: dict[str, str | None] = {**os.environ, **SURROUNDINGS.get(name, {})}
    return {key: value for key, value in changed.items() if value is not None}


def check_process(words: Sequence[str], **how: Any) -> None:
    done = subprocess.run(words, stderr=subprocess.PIPE, check=False, timeout=120, **how)
    printed = done.stderr.decode(errors="replace")
    assert done.returncode in ENDS, printed
    assert "Traceback" not in printed
    require_short(printed)


@pytest.mark.soak
@pytest.mark.parametrize("name", SURROUNDINGS)
@pytest.mark.parametrize("line", LINES)
def test_odd_surroundings(here: Path, line: str, name: str) -> None:
    check_process([*PROGRAM, *line.split()], env=surroundings(name), stdout=subprocess.DEVNULL)


@pytest.mark.soak
@pytest.mark.parametrize("line", LINES)
@pytest.mark.parametrize("end", [">&-", "| head -1", "| true", ">/dev/full", "2>&-", "<&-"])
def test_streams_that_end(here: Path, line: str, end: str) -> None:
    command = f"{' '.join(PROGRAM)} {line.replace('*', '.')} {end}"
    check_process(["bash", "-c", f"{command} >/dev/null; exit ${{PIPESTATUS[0]}}" if "|" in end else command])


@pytest.mark.soak
@pytest.mark.parametrize("module", ["pandas", "rich", "numpy", "pyarrow", "altair", "zstandard", "planner._sortcore"])
@pytest.mark.parametrize("line", LINES)
def test_what_is_not_installed(here: Path, line: str, module: str) -> None:
    check_process([sys.executable, "-c", WITHOUT, module, *line.split()], stdout=subprocess.DEVNULL)


@quick_soak
@pytest.mark.parametrize("line", LINES)
def test_a_terminal(here: Path, line: str) -> None:
    ours, theirs = pty.openpty()
    with subprocess.Popen([*PROGRAM, *line.split()], stdin=theirs, stdout=theirs, stderr=theirs) as process:
        os.close(theirs)
        printed = b""
        with suppress(OSError):  # Linux ends a terminal without a writer this way
            while piece := os.read(ours, 1 << 16):
                printed += piece
    os.close(ours)
    assert process.returncode in ENDS
    assert b"Traceback" not in printed
