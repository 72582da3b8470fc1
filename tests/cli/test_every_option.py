"""Every option of every command changes what a user sees, or is refused with where it applies; see the examples."""

from __future__ import annotations

import os
import re
import shlex
import shutil
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

import pytest
import typer.main
from spark_events import lines, small_job
from typer.testing import CliRunner

from planner.cli.app import build
from planner.cli.plan.request_options import RequestOptions
from planner.errors import BadInputError, PlannerError
from tests.marks import QUICK_SOAK

TESTS = Path(__file__).resolve().parents[1]
EXAMPLES = Path(__file__).with_name("option_examples.txt")
SLOW = ("plan", "run", "cluster up", "catalog check", "report", "scale", "bench disk")
"""Commands whose examples take a second or more."""
QUESTIONS = ("why-not", "own", "sizes", "most-data", "simulate", "export")
"""Commands over the request of `plan`, whose options are shown there."""
CLOCKED = re.compile(r"(?:under )?(?:\d[\d.]* (ms|s|[KMG]?B/s)\b|\d+(\.\d+)?e-\d+|\d+\.\d{4,})")
"""Values that depend on a clock: seconds, and rates."""


@dataclass(frozen=True, kw_only=True)
class Example:
    """The words of a command `without` an option and with `more`. Only the latter prints `text`; `shown_by` names the
    test that replaces the example.
    """

    command: str
    without: tuple[str, ...]
    more: tuple[str, ...]
    text: str
    shown_by: str

    @property
    def options(self) -> list[str]:
        """The options that it shows; a setting counts as the option behind it."""
        pairs = zip(("", *self.more), self.more, strict=False)
        words = [f"--{word.partition('=')[0]}" if before == "--set" else word for before, word in pairs]
        shown = [word for word in words if word.startswith("-") and word != "--set"]
        return shown if self.shown_by else shown[:1]


def read_examples() -> Iterator[Example]:
    command, begin = "", ()
    for line in filter(None, map(str.strip, EXAMPLES.read_text(encoding="utf-8").splitlines())):
        if line.startswith("["):
            command, _, words = line[1:].partition("]")
            begin = tuple(shlex.split(words))
        elif not line.startswith("#"):
            rest, _, shown_by = line.partition(" @ ")
            rest, _, text = rest.partition(" => ")
            *before, more = rest.split(" | ")
            without = (*command.split(), *begin, *shlex.split(" ".join(before)))
            given = tuple(shlex.split(more))
            yield Example(command=command, without=without, more=given, text=text, shown_by=shown_by)


EVERY = list(read_examples())


def commands() -> dict[str, Any]:
    """Return every command by its name, with its group's name first."""
    found = {}
    for name, command in typer.main.get_command(build()).commands.items():  # type: ignore[attr-defined]
        members = getattr(command, "commands", None)
        found |= {f"{name} {member}": of for member, of in members.items()} if members else {name: command}
    return found


@cache
def options_with_one_value(command: str) -> frozenset[str]:
    """Return the options of a command that take one value, and are refused if given twice."""
    options = [of for of in commands()[command].params if of.param_type_name == "option"]
    return frozenset(name for of in options if not of.multiple and not of.is_flag for name in of.opts)


def last_values(command: str, words: Sequence[str]) -> tuple[str, ...]:
    """Return a command's words; an option that takes one value keeps the last, as an example replaces that before."""
    left = list(words)
    for option in options_with_one_value(command):
        while left.count(option) > 1:
            at = left.index(option)
            del left[at : at + 2]
    return tuple(left)


def test_every_option_of_every_command_has_an_example() -> None:
    there = {
        (name, max(parameter.opts, key=len))
        for name, command in commands().items()
        for parameter in command.params
        if parameter.param_type_name == "option"
        and parameter.name != "set"
        and (name not in QUESTIONS or parameter.name not in RequestOptions.__signature__.parameters)
    }
    shown = {(example.command, option) for example in EVERY for option in example.options}
    assert shown == there, f"{EXAMPLES.name} has no example, or one of what is not there"


@pytest.mark.parametrize("command", QUESTIONS)
def test_a_question_takes_the_request_of_a_plan(command: str) -> None:
    taken = {parameter.name for parameter in commands()[command].params}
    assert set(RequestOptions.__signature__.parameters) <= taken


@pytest.mark.parametrize("example", [e for e in EVERY if e.shown_by], ids=lambda e: f"{e.command} {e.more[0]}")
def test_what_stands_for_an_example_speaks_of_the_option(example: Example) -> None:
    text = (TESTS.parent / example.shown_by).read_text(encoding="utf-8")
    for option in example.options:
        name = option.lstrip("-").replace("-", "_")
        assert re.search(rf"(?<![\w-]){option}(?![\w-])|\b{name}\b|(?<![\w-]){option[2:]}=", text), (
            f"{example.shown_by}: {option}"
        )


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return a folder with the files named in the examples."""
    folder: Path = tmp_path_factory.mktemp("files")
    (folder / "folder").mkdir()
    (folder / "app-1").write_bytes(lines(small_job()))
    (folder / "logs").mkdir()
    for app in ("app-1", "app-2"):
        events = small_job(app)
        (folder / "logs" / app).write_bytes(
            lines([*events[:2], {**events[2], "App Name": "nightly load"}, *events[3:]])
        )
    for stored in ("plan-1.json", "plan-2.json"):
        shutil.copy(TESTS / "data" / "stored" / stored, folder)
    shutil.copy(TESTS / "measurement" / "ingest" / "data" / "fio_read.json", folder / "fio.json")
    nodes = [f"n{number},{700 + number}\n" for number in range(40)] + ["slow,78\n"]
    machines = (
        "type,vcpu,mem_gib,ghz,ebs_mbps,net_base_gbps,price_usd_h\nm,8,32,2.4,1000,1,0.4\nbig,{},64,2.4,2000,2,\n"
    )
    texts = {
        "there": "1\n", "lines": "b 2\na 1\nb 1\n", "sorted": "a 1\nb 1\nc 2\n",
        "nodes.csv": "".join(["node,write_bytes_per_s\n", *nodes]),
        "runs.csv": "instance_type,nodes,data_gb,runtime_s\nm,2,20,1020\nm,4,20,520\nm,8,20,270\n",
        "machines.csv": machines.format(16), "machines2.csv": machines.format(32),
        "query.csv": "type,n,data_gb\nbig,3,40\n",
    }  # fmt: skip
    for name, text in texts.items():
        (folder / name).write_text(text)
    return folder


@dataclass(frozen=True)
class End:
    """The end of a command: its exit code, all its output, and the files then present."""

    code: int
    said: str
    files: dict[Path, bytes]


@pytest.fixture
def end(folder: Path, monkeypatch: pytest.MonkeyPatch) -> Callable[[Sequence[str]], End]:
    """Return a function that runs words in a fresh copy of the files, with none of the user's settings in reach."""
    here = folder.parent / "here"
    for name in [name for name in os.environ if name.startswith(("AWS_", "XDG_", "PLANNER_"))]:
        monkeypatch.delenv(name)
    usual = {"HOME": str(here), "AWS_EC2_METADATA_DISABLED": "true", "COLUMNS": "200"}
    usual["PLANNER_CACHE"] = str(folder.parent / "cache")  # only the first run of a process fills it
    for name, value in usual.items():
        monkeypatch.setenv(name, value)

    def end(words: Sequence[str]) -> End:
        shutil.rmtree(here, ignore_errors=True)
        shutil.copytree(folder, here)
        monkeypatch.chdir(here)
        if "mine" in words:
            learn = ["calibrate", "runs.csv", "--instances", "machines.csv", "--name", "mine"]
            CliRunner().invoke(build(only="calibrate"), learn)
        outcome = CliRunner().invoke(build(only=words[0]), list(words))
        error = outcome.exception
        if error is not None and not isinstance(error, PlannerError | SystemExit):
            raise error
        said = f"{outcome.stdout}\n{outcome.stderr}\n{error if isinstance(error, PlannerError) else ''}"
        said = CLOCKED.sub("#", said)
        files = {path: path.read_bytes() for path in here.rglob("*") if path.is_file()}
        return End(getattr(error, "exit_code", outcome.exit_code), said, files)

    return end


@pytest.fixture(scope="module")
def without() -> dict[tuple[str, ...], list[End]]:
    """Return a cache of the ends without an option, two for the same words, which many options share."""
    return {}


def marked(example: Example) -> Any:
    marks = QUICK_SOAK if example.command in SLOW else ()
    return pytest.param(example, marks=marks, id=shlex.join((example.command, *example.more)))


@pytest.mark.parametrize("example", [marked(example) for example in EVERY if not example.shown_by])
def test_an_option_is_obeyed_or_refused(
    example: Example, end: Callable[[Sequence[str]], End], without: dict[tuple[str, ...], list[End]]
) -> None:
    if example.without not in without:
        usual_words = last_values(example.command, example.without)
        without[example.without] = [end(usual_words) for _ in range(1 if example.text else 2)]
    words = last_values(example.command, (*example.without, *example.more))
    usual, obeyed = without[example.without], end(words)
    if example.text:
        assert example.text in obeyed.said and example.text not in usual[0].said, obeyed.said
        return
    assert obeyed.code != BadInputError.exit_code, obeyed.said
    assert usual[0] == usual[-1] != obeyed, "the option changes nothing, or each run of the words without it differs"
