"""Output at a real terminal: the step and the time left, and a sentence after Ctrl-C."""

from __future__ import annotations

import os
import pty
import signal
import subprocess
import sys
from pathlib import Path

import pytest
from refusals import refused
from typer.testing import CliRunner

import planner
from planner.cli import app, entry
from planner.cli.app import build
from tests.marks import quick_soak

PLANNER = [sys.executable, "-m", "planner"]


class Terminal:
    """A command whose stderr is a terminal, read as it is written."""

    def __init__(self, *words: str, folder: Path) -> None:
        ours, theirs = pty.openpty()
        self.process = subprocess.Popen(
            [*PLANNER, *words],
            cwd=folder,
            stderr=theirs,
            stdout=subprocess.DEVNULL,
            env=os.environ | {"COLUMNS": "100"},
        )
        os.close(theirs)
        self._from, self.said = ours, ""

    def read(self, *, until: str | None = None) -> str:
        """Return all output up to a word, or to the end."""
        while until is None or until not in self.said:
            try:
                more = os.read(self._from, 4096)
            except OSError:  # raised by Linux when the other side is closed
                more = b""
            if not more:
                break
            self.said += more.decode(errors="replace")
        return self.said

    def end(self) -> int:
        self.read()
        os.close(self._from)
        return self.process.wait()


@quick_soak
def test_a_page_says_what_is_being_done(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    plan = ("plan", "--data", "1TB", "--model", "indy", "--instance", "i4i.4xlarge", "--html", "plan.html")
    terminal = Terminal(*plan, folder=tmp_path)
    assert terminal.end() == 0
    steps = [terminal.said.find(step) for step in ("planning around", "drawing charts", "writing the page")]
    assert -1 < steps[0] < steps[1] < steps[2]
    monkeypatch.chdir(tmp_path)
    assert CliRunner().invoke(build(), [*plan, "--force"]).stderr == "written to plan.html\n"


@pytest.mark.parametrize(
    "words", [("generate", "--records", "40000000", "in.dat"), ("run", "--data", "3GB", "--model", "indy")]
)
def test_ctrl_c_leaves_a_sentence_and_no_files(words: tuple[str, ...], tmp_path: Path) -> None:
    terminal = Terminal(*words, folder=tmp_path)
    terminal.read(until="generat")
    terminal.process.send_signal(signal.SIGINT)
    assert terminal.end() == 130
    assert "interrupted" in terminal.said and "Traceback" not in terminal.said
    assert list(tmp_path.iterdir()) == []


def test_ctrl_c_in_a_sort_that_consumes_its_input_says_how_it_goes_on(tmp_path: Path) -> None:
    """Until then neither the input nor the output is whole, and no sort takes what is left of the input."""
    whole, consumed = tmp_path / "whole.dat", tmp_path / "in.dat"
    planner.generate(whole, records=3_000_000)
    consumed.write_bytes(whole.read_bytes())
    options = ("--format", "records", "--memory", "64MB", "--consume-input")
    terminal = Terminal("sort", *options, "in.dat", "out.dat", folder=tmp_path)
    while not list(tmp_path.glob(".out.dat.sorting/part-*")):
        assert terminal.process.poll() is None, terminal.said
    terminal.process.send_signal(signal.SIGINT)
    assert terminal.end() == 130
    assert "--resume" in terminal.said and "left behind" not in terminal.said
    for output in ("other.dat", "out.dat"):
        with refused("unfinished-sort", "in.dat", "planner sort --resume", field="resume"):
            planner.sort(consumed, tmp_path / output, format="records", force=True)
    planner.sort([], tmp_path / "out.dat", resume=True)
    planner.validate(tmp_path / "out.dat", input=[whole]).require()
    assert not consumed.exists()


def test_ctrl_c_while_modules_load_leaves_a_sentence(tmp_path: Path) -> None:
    (tmp_path / "typer.py").write_text("raise KeyboardInterrupt\n")
    path = os.pathsep.join([str(tmp_path), *filter(None, [os.environ.get("PYTHONPATH")])])
    ended = subprocess.run(
        [*PLANNER, "models"], check=False, capture_output=True, text=True, env=os.environ | {"PYTHONPATH": path}
    )
    assert (ended.returncode, ended.stdout) == (130, "")
    assert ended.stderr == "error: interrupted; no command was at work\n"


def test_nothing_but_the_package_loads_before_ctrl_c_is_handled() -> None:
    """In a Python that starts without the packages of the environment; `os` is loaded by every other."""
    code = f"import os, sys; sys.path.insert(0, {str(Path(entry.__file__).parents[2])!r}); before = set(sys.modules)"
    code += "; import planner.cli.entry; print(*sorted(set(sys.modules) - before))"
    ended = subprocess.run([sys.executable, "-IS", "-c", code], check=True, capture_output=True, text=True)
    assert ended.stdout.split() == ["__future__", "gc", "planner", "planner.cli", "planner.cli.entry"]


def test_ctrl_c_beside_the_command_leaves_a_sentence(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """A command's own modules are loaded after the shared ones, and Python continues after the command ends."""

    def interrupted() -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr(app, "main", interrupted)
    monkeypatch.setattr(sys, "argv", ["planner", "models"])
    with pytest.raises(SystemExit) as ended:
        entry.main()
    assert (ended.value.code, capsys.readouterr().err) == (130, "error: interrupted; no command was at work\n")


@quick_soak
def test_a_comparison_of_sizes_says_what_is_being_planned(tmp_path: Path) -> None:
    terminal = Terminal("scale", "i4i", "--data", "20TB", "--model", "indy", folder=tmp_path)
    assert terminal.end() == 0
    assert "i4i.large" in terminal.said


@pytest.mark.parametrize("words", [("models",), ("catalog", "show", "--catalog", "aws")])
def test_a_reader_that_leaves_ends_a_command_quietly(words: tuple[str, ...]) -> None:
    ours, theirs = os.pipe()
    os.close(ours)
    ended = subprocess.run(
        [*PLANNER, *words], check=False, stdout=theirs, stderr=subprocess.PIPE, text=True, env=os.environ
    )
    os.close(theirs)
    assert (ended.returncode, ended.stderr) == (0, "")
