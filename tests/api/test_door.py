"""Every public function refuses wrong arguments at its door: before anything is opened, created or asked."""

from __future__ import annotations

import functools
import importlib.util
import inspect
import re
import subprocess
import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Annotated, Any, Literal, get_args, get_origin

import pytest
from typer.testing import CliRunner

import planner
from planner.api.measure import INSTRUMENTS as INSTRUMENTS_BY_NAME
from planner.cli.app import build
from planner.cli.measure import bench
from planner.cli.shell.declared_options import DeclaredOptions
from planner.cli.sort import generate as generate_command
from planner.cli.sort import sort as sort_command
from planner.cli.sort import validate as validate_command
from planner.schemas.door import Argument, Foreign, Without, arguments_of, option_of

CHECKOUT = Path(__file__).resolve().parents[2]
FUNCTIONS = [name for name in planner.__all__ if inspect.isfunction(getattr(planner, name))]
CHECKED_CLASSES = ["Effort", "NodeLimit", "OwnPrice", "RentalOptions", "Shaping", "Work"]
METHODS = {
    "Recommendation": "at_sizes chart compare export own plot_by_nodes plot_sensitivities reliefs sensitivities "
    "simulate to_frame to_html why_not",
    "Profile": "mixture next_run",
    "Receipt": "month to_html",
    "Plan": "from_json",
    "RunReport": "from_json",
    "Simulation": "from_plan_json",
}
"""The methods of public classes that take arguments, but for those that hand them on, as `what_if` does."""
BY_NAME = [f"{of_class}.{method}" for of_class, methods in METHODS.items() for method in methods.split()]
INSTRUMENTS = [
    f"measure {words}"
    for words in ("disk directories=['.']", "small-io directory='.'", "net agents=[] token=''", "sort")
]


def called(name: str) -> tuple[Callable[..., Any], dict[str, Any]]:
    """Return a public function, or an instrument of `measure`, with arguments that are right in kind."""
    if name in BY_NAME:
        of_class, _, method = name.partition(".")
        return getattr(an_object(of_class), method), hints_of(getattr(getattr(planner, of_class), method))
    name, _, words = name.partition(" ")
    if words:
        what, *rest = words.split(" ")
        given = eval(f"dict({','.join(rest)})")
        return lambda **more: planner.measure(what, **given | more), hints_of(INSTRUMENTS_BY_NAME[what])
    function = getattr(planner, name)
    return function, hints_of(function)


@functools.cache
def an_object(name: str) -> Any:
    """Return an object of a public class, or the class where it needs none."""
    if name == "Recommendation":
        return planner.recommend("1TB", instance="i4i.4xlarge", nodes=8)
    if name == "Profile":
        run = {"instance_type": "m5.xlarge", "nodes": 2, "data_gb": 10, "runtime_s": 500}
        return planner.calibrate([run, {**run, "nodes": 4, "runtime_s": 270}], model="spark")
    if name == "Receipt":
        return planner.Receipt(rows=())
    return getattr(planner, name)


def hints_of(function: Callable[..., Any]) -> dict[str, Any]:
    return {name: argument.hint for name, argument in arguments_of(function).items()}


def members(hint: Any) -> Iterator[Any]:
    if get_origin(hint) in (None, Literal, Annotated) or not get_args(hint):
        yield hint
    else:
        yield hint
        for inner in get_args(hint):
            yield from members(inner)


def wrong_values(hint: Any) -> Iterator[tuple[Any, str]]:
    """Yield values that an argument of this type does not take, each with the error's code."""
    parts = list(members(hint))
    yield (3 + 4j, "wrong-type")
    yield (b"bytes", "wrong-type")
    if Foreign not in parts:
        yield (object, "wrong-type") if Callable not in {get_origin(part) for part in parts} else (3 + 4j, "wrong-type")
    takes_texts = str in parts
    if not takes_texts:
        words = any(get_origin(part) is Literal for part in parts)
        yield ("no such word", "unknown-word" if words else "wrong-type")
    is_list = any(get_origin(part) is Sequence for part in parts)
    for part in parts:
        if get_origin(part) is Annotated and float not in parts and not is_list:
            bounds = part.__metadata__[0]
            yield (bounds.least - 1, "out-of-range")
            yield (float("nan"), "wrong-type")
            if bounds.most < float("inf"):
                yield (int(bounds.most) + 1, "out-of-range")


CASES = [
    pytest.param(name, argument, list(wrong_values(hint)), id=f"{name}-{argument}")
    for name in [*FUNCTIONS, *CHECKED_CLASSES, *INSTRUMENTS, *BY_NAME]
    for argument, hint in called(name)[1].items()
    if Any not in members(hint)
]


@pytest.mark.parametrize(("name", "argument", "values"), CASES)
def test_each_argument_wrong_by_type_by_word_and_by_range(
    name: str, argument: str, values: list[tuple[Any, str]], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    function, hints = called(name)
    required = {
        other: _some(hints[other])
        for other, parameter in inspect.signature(function).parameters.items()
        if parameter.default is parameter.empty and other in hints and other != argument
    }
    for value, code in values:
        with pytest.raises(planner.BadInputError) as refused:
            function(**required | {argument: value})
        assert (refused.value.field, refused.value.code) == (argument, code)
    assert list(tmp_path.iterdir()) == []


def _some(hint: Any) -> Any:
    """Return a value of a type, for the arguments that are not tried."""
    for part in members(hint):
        if part is str:
            return "1GB"
        if get_origin(part) is Literal:
            return get_args(part)[0]
        if get_origin(part) is Annotated:
            return 1
        if part in (planner.Plan, planner.Recommendation):
            return planner.recommend("1TB", instance="i4i.4xlarge", nodes=8)
        if part is planner.RentalOptions:
            return planner.RentalOptions(cloud="aws")
    return [] if hint is not Any else {"a": [1]}


@pytest.mark.parametrize("name", [*FUNCTIONS, *CHECKED_CLASSES])
def test_unknown_and_missing_arguments_are_named(name: str) -> None:
    function = getattr(planner, name)
    if "asked" not in inspect.signature(inspect.unwrap(function)).parameters:
        needed = [p for p in inspect.signature(function).parameters.values() if p.default is p.empty]
        if any(p.kind is not p.VAR_KEYWORD for p in needed):
            with pytest.raises(planner.BadInputError) as missing:
                function()
            assert (missing.value.field, missing.value.code) == (needed[0].name, "missing-argument")
    if any(p.kind is p.VAR_KEYWORD for p in inspect.signature(function).parameters.values()):
        return
    with pytest.raises(planner.BadInputError) as unknown:
        function(no_such_argument=1)
    assert (unknown.value.field, unknown.value.code) == ("no_such_argument", "unknown-argument")


def test_arguments_of_a_plan_are_named() -> None:
    for asked, field in (({"deadlin": "1h"}, "deadlin"), ({"instance": 5}, "instance"), ({"nodes": 2.5}, "nodes")):
        for function in (planner.recommend, lambda data, **asked: planner.recommend_each([data], **asked)):
            with pytest.raises(planner.BadInputError) as refused:
                function("1TB", **asked)
            assert refused.value.field == field


def test_names_are_looked_up_before_anything_is_asked() -> None:
    def confirm(order: object) -> bool:
        raise AssertionError("asked for money before the name was read")

    with pytest.raises(planner.BadInputError) as refused:
        planner.run("1MB", cloud="emulatd", confirm=confirm)  # type: ignore[arg-type]
    assert (refused.value.field, refused.value.code) == ("cloud", "unknown-word")


MIXTURES: list[tuple[Callable[[], object], str, str]] = [
    (lambda: planner.recommend(model="indy"), "data", "plan --model indy"),
    (lambda: planner.recommend("1TB", cloud="aws", catalog="aws"), "cloud", "plan 1TB --cloud aws --catalog aws"),
    (
        lambda: planner.recommend("1TB", network="unlimited", assume="network=1GB/s"),
        "network",
        "plan 1TB --set network=unlimited --assume network=1GB/s",
    ),
    (
        lambda: planner.sort("a", "b", consume_input=True, limit=1),
        "consume_input",
        "sort a b --consume-input --limit 1",
    ),
    (lambda: planner.sort("a", "there", format="csv", key="x"), "force", "sort a there --format csv --key x"),
    (lambda: planner.sort("a", "b", key="9", format="csv"), "key", "sort a b --key 9 --format csv"),
    (lambda: planner.run("1MB", rate="4Mbit"), "rate", "run --data 1MB --rate 4Mbit"),
    (lambda: planner.run("1MB", cloud="aws", jump="x"), "jump", "run --data 1MB --cloud aws --jump x"),
    (lambda: planner.run("3B"), "data", "run --data 3B"),
]


@pytest.mark.parametrize(("call", "field", "command"), MIXTURES)
def test_an_error_names_arguments_in_python_and_options_in_a_shell(
    call: Callable[[], object], field: str, command: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    for name in ("a", "there"):
        Path(name).write_text("x,y\n1,2\n")
    with pytest.raises(planner.BadInputError) as refused:
        call()
    text = str(refused.value)
    assert refused.value.field == field and field in text and "--" not in text
    done = subprocess.run(
        [sys.executable, "-m", "planner", *command.split()], capture_output=True, text=True, check=False
    )
    assert done.returncode == 2
    assert re.search(f"--(set )?{field.replace('_', '-')}", done.stderr)
    assert "`" not in done.stderr.replace("`plan`", "")


TAKEN = ["sort", "find_disorder", "validate", "generate", *INSTRUMENTS]
"""Functions whose options are derived from what they declare."""
COMMANDS: dict[str, tuple[type[DeclaredOptions], str]] = {
    "sort": (sort_command.SortOptions, "sort in out"),
    "validate": (validate_command.ValidateOptions, "validate in"),
    "generate": (generate_command.GenerateOptions, "generate out"),
    "bench disk": (bench.DiskOptions, "bench disk --dir ."),
    "bench net": (bench.NetOptions, "bench net --node a:1 --node b:1"),
    "bench sort": (bench.SortOptions, "bench sort"),
}


def mixtures(declared: Mapping[str, Argument]) -> Iterator[dict[str, Any]]:
    """Yield arguments that must not be given together, or not without another."""
    for name, argument in declared.items():
        for rule in argument.rules:
            for other, _, word in (text.partition("=") for text in rule.others):
                if isinstance(rule, Without):
                    if other in declared:
                        yield {name: right_value(argument), other: word or right_value(declared[other])}
                elif not word:
                    yield {name: right_value(argument)}
                elif other in declared:
                    wrong = {"records", "lines", "csv", "parquet"} - {text.partition("=")[2] for text in rule.others}
                    yield from ({name: right_value(argument), other: each} for each in sorted(wrong))


def right_value(argument: Argument) -> Any:
    """Return a value that an argument takes, and that is not its default."""
    for part in members(argument.hint):
        if get_origin(part) is Annotated:
            return part.__metadata__[0].least + 1
        if get_origin(part) is Literal:
            return next(word for word in get_args(part) if word != argument.default)
        if part is bool:
            return True
        if get_origin(part) is Sequence:
            return ["x"]
    return "x"


@pytest.mark.parametrize("name", TAKEN)
def test_arguments_that_exclude_each_other_are_refused_at_the_door(
    name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    what, _, words = name.partition(" ")
    function: Any = INSTRUMENTS_BY_NAME[words.split()[0]] if words else getattr(planner, what)
    declared = arguments_of(function)
    required = {n: _some(of.hint) for n, of in declared.items() if of.default is inspect.Parameter.empty}
    for given in mixtures(declared):
        with pytest.raises(planner.BadInputError) as refused:
            function(**required | given)
        assert refused.value.code == "contradiction" and refused.value.field in given, given
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize(
    ("function", "given", "field"),
    [
        (planner.recommend, {"zones": 2, "nodes": 1}, "zones"),
        (planner.recommend, {"capacity": "i4i.*=4", "paper": True}, "capacity"),
        (planner.recommend, {"discount": "15%", "pricing": "spot"}, "discount"),
        (planner.recommend, {"own_price": {"i4i.*": 1}, "pricing": ["spot"]}, "own_price"),
        (planner.recommend, {"cloud": "aws", "catalog": "gcp"}, "cloud"),
        (planner.run, {"cloud": "aws", "threads": 2}, "threads"),
        (planner.run, {"cloud": "emulated", "threads": 2}, "threads"),
        (planner.run, {"cloud": "gcp", "directory": "."}, "directory"),
        (planner.run, {"cloud": "emulated", "seed": 3}, "seed"),
        (planner.run, {"cloud": "emulated", "rate_factor": 2.0}, "rate_factor"),
        (planner.run, {"cloud": "emulated", "rate": "1Gbit", "distribution": "A"}, "rate"),
        (planner.run, {"cloud": "emulated", "max_cost": 3}, "max_cost"),
        (planner.run, {"rate": "1Gbit"}, "rate"),
        (planner.run, {"skew": True}, "skew"),
    ],
    ids=lambda part: getattr(part, "__name__", str(part)),
)
def test_arguments_of_other_requests_and_places_are_refused(
    function: Callable[..., Any], given: dict[str, Any], field: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    with pytest.raises(planner.BadInputError) as refused:
        function("1MB", **given)
    assert refused.value.field == field and refused.value.code in (
        "contradiction", "not-applicable", "missing-companion"
    )  # fmt: skip
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize(
    ("given", "field"),
    [
        ({"cloud": "gcp"}, ""),
        ({"cloud": "aws", "pricing": "spot"}, "pricing"),
        ({"cloud": "aws", "region": "mars-1"}, "region"),
        ({"cloud": "aws", "ssh_from": "home"}, "ssh_from"),
        ({"cloud": "aws", "ssh_from": "0.0.0.0/0"}, "ssh_from"),
        ({"cloud": "aws", "tag": ["a"]}, "tag"),
        ({"cloud": "aws", "tag": {"planner-run": "x"}}, "tag"),
        ({"cloud": "aws", "max_hours": "soon"}, "max_hours"),
        ({"cloud": "aws", "jump": "host"}, "jump"),
        ({"cloud": "aws", "no_public_address": True}, "no_public_address"),
        ({"cloud": "aws", "reservation": "cr-1", "pricing": "spot"}, "reservation"),
    ],
    ids=str,
)
def test_what_cannot_be_rented_is_refused_before_a_cloud_is_asked(
    given: dict[str, Any], field: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("planner.api.clusters.session_with_access", lambda *_, **__: pytest.fail("a cloud was asked"))
    with pytest.raises(planner.PlannerError) as refused:
        planner.up(planner.recommend("1TB", instance="i4i.4xlarge", nodes=8), **given)
    assert refused.value.field == field and refused.value.code


def typed(declared: Mapping[str, Argument], given: Mapping[str, Any]) -> list[str]:
    """Return the options for arguments."""
    words = []
    for name, value in given.items():
        option = option_of(name, declared[name])
        unit = getattr(next(iter(getattr(declared[name].hint, "__metadata__", ())), None), "unit", "")
        for each in value if isinstance(value, list) else [value]:
            words += (
                [option] if each is True else [option, f"{each}B" if unit == "bytes" or "_bytes" in name else str(each)]
            )
    return words


def wrong_words(argument: Argument) -> Iterator[str]:
    """Yield words that an option does not take."""
    parts = list(members(argument.hint))
    if bool in parts:
        return
    yield ""
    if str not in parts:
        yield "no such word"
    for part in parts:
        if get_origin(part) is Annotated:
            yield str(part.__metadata__[0].least - 1)
            if part.__metadata__[0].most < float("inf"):
                yield str(int(part.__metadata__[0].most) + 1)


@pytest.mark.parametrize("command", COMMANDS)
def test_each_option_wrong_by_word_by_range_and_by_mixture(
    command: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The files do not exist: an error that names the option came before they were looked for."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv(bench.TOKEN_VARIABLE, "known to both")
    declared, words = COMMANDS[command][0].declared, COMMANDS[command][1].split()
    declared = {name: argument for name, argument in declared.items() if argument.help}
    tried = [typed(declared, given) for given in mixtures(declared)]
    tried += [[option_of(n, of), word] for n, of in declared.items() for word in wrong_words(of)]
    app = build(only=words[0])
    for options in tried:
        ended = CliRunner().invoke(app, [*words, *options])
        said = str(ended.exception) + ended.output
        assert (getattr(ended.exception, "exit_code", None) or ended.exit_code) == 2, (options, said)
        assert any(option in said for option in options if option.startswith("-")), (options, said)
    assert tried and list(tmp_path.iterdir()) == []


MISTAKES = """\
import planner

answer = planner.recommned("1TB")
answer = planner.recommend("1TB", dedline="1h")
planner.sort("in.csv", "out.csv", format="CSV")
planner.sort("in.csv", "out.csv", memory_bytes="1GB")
print(planner.recommend("1TB").best.node)
planner.run("1MB", cloud="emulatd")
planner.recommend("1TB", nodes=[3])
"""
RIGHT = """\
import planner

answer: planner.Recommendation = planner.recommend("1TB", deadline="1h", nodes=8)
result: planner.SortResult = planner.sort("in.csv", "out.csv", format="csv", memory_bytes=10**9)
plan: planner.Plan = answer.plan
try:
    report = planner.run("1MB")
except planner.errors.BadInputError as error:
    print(error.field, error.code)
print(planner.measure("sort", data_bytes=10**6).bytes_per_s_per_vcpu)
"""


@pytest.mark.parametrize("checker", ["mypy --strict", "basedpyright --level error"])  # the latter is pyright
def test_a_type_checker_finds_the_mistakes_of_a_script(checker: str, tmp_path: Path) -> None:
    wrong, right = tmp_path / "wrong.py", tmp_path / "right.py"
    wrong.write_text(MISTAKES)
    right.write_text(RIGHT)
    words = [sys.executable, "-m", *checker.split(), str(wrong), str(right)]
    ended = subprocess.run(words, cwd=CHECKOUT, capture_output=True, text=True, check=False)
    found = re.findall(r"(\w+\.py):(\d+):.*error", ended.stdout)
    assert {(file, int(line)) for file, line in found} == {("wrong.py", n) for n in range(3, 10)}


def test_the_shipped_argument_types_are_those_of_the_request() -> None:
    path = CHECKOUT / "scripts" / "write_request_arguments.py"
    spec = importlib.util.spec_from_file_location("write_request_arguments", path)
    assert spec is not None and spec.loader is not None
    script = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(script)
    for file, text in script.files().items():
        assert file.read_text(encoding="utf-8") == text, f"run: python {path.name}"
