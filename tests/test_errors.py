"""Errors carry their exit code, their kind of fault, and every finding."""

from __future__ import annotations

import ast
import importlib
import pickle
import re
from collections.abc import Iterator
from pathlib import Path

import pytest

import planner
from planner import errors
from planner.errors import BadInputError, Finding, PlannerError, bad_input

PACKAGE = Path(planner.__file__).parent
CODE = re.compile(r"[a-z0-9]+(-[a-z0-9]+)*")


def kinds_of(kind: type[PlannerError]) -> Iterator[type[PlannerError]]:
    """Yield a class of errors of this package and those that inherit from it."""
    if kind.__module__.startswith("planner."):
        yield kind
    for under in kind.__subclasses__():
        yield from kinds_of(under)


@pytest.fixture(scope="module")
def kinds() -> dict[str, type[PlannerError]]:
    """Every class of errors that the package declares, by name."""
    for path in PACKAGE.rglob("*.py"):
        if re.search(r"^class _?\w+Error\(", path.read_text(encoding="utf-8"), re.MULTILINE):
            importlib.import_module(".".join(path.relative_to(PACKAGE.parent).with_suffix("").parts))
    return {kind.__name__: kind for kind in kinds_of(PlannerError)}


def made_errors(kinds: dict[str, type[PlannerError]]) -> Iterator[tuple[str, ast.Call, str]]:
    """Yield every call in the package that makes an error: where it is, the call, and its class."""
    for path in PACKAGE.rglob("*.py"):
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            if isinstance(node, ast.Call):
                name = ast.unparse(node.func).rpartition(".")[2]
                if name in kinds:
                    yield f"{path.relative_to(PACKAGE.parent)}:{node.lineno}", node, name


def test_exit_codes_are_the_contract() -> None:
    codes = {error.__name__: error.exit_code for error in errors.PlannerError.__subclasses__()}
    assert codes == {
        "BadInputError": 2,
        "InfeasibleError": 3,
        "ProviderRefusedError": 4,
        "ValidationFailedError": 5,
        "IoFailureError": 6,
        "LeftBehindError": 7,
        "InterruptedRunError": 130,
    }


def test_every_error_has_a_code(kinds: dict[str, type[PlannerError]]) -> None:
    made = list(made_errors(kinds))
    without = [
        where
        for where, call, name in made
        if not kinds[name].code and not any(keyword.arg == "code" for keyword in call.keywords)
    ]
    assert len(made) > 900 and without == []


def test_codes_are_words_in_kebab_case(kinds: dict[str, type[PlannerError]]) -> None:
    stated = [
        (where, keyword.value.value)
        for where, call, _ in made_errors(kinds)
        for keyword in call.keywords
        if keyword.arg == "code" and isinstance(keyword.value, ast.Constant)
    ]
    stated += [(name, kind.code) for name, kind in kinds.items() if kind.code]
    assert [(where, code) for where, code in stated if not CODE.fullmatch(code)] == []


def test_errors_cross_processes_whole(kinds: dict[str, type[PlannerError]]) -> None:
    for kind in kinds.values():
        error = kind("no such file")
        error.field, error.code, error.details = "data", "no-such-file", ("look in ~",)
        other = pickle.loads(pickle.dumps(error))
        assert type(other) is kind and vars(other) == vars(error) and str(other) == str(error)


def test_reworded_error_is_the_same_fault() -> None:
    first = BadInputError("no file", ["look in ~"], field="data", code="no-such-file")
    again = first.reworded("row 3: no file", "or write one")
    assert again.as_values() == {
        "message": "row 3: no file",
        "details": ["look in ~", "or write one"],
        "field": "data",
        "code": "no-such-file",
    }
    assert first.message == "no file" and type(again) is BadInputError and again.args == ("row 3: no file",)


def test_field_of_a_message_that_begins_with_an_option_is_the_option() -> None:
    error = BadInputError("--data 3XB: unknown unit", code="unknown-unit")
    assert error.field == "--data" and str(error) == "--data 3XB: unknown unit"
    assert BadInputError("unknown unit", code="unknown-unit").reworded("--data: unknown unit").field == "--data"


def test_problems_of_a_file_have_the_field_and_code_of_the_first() -> None:
    problems = [Finding(field="aws.role", code="wrong-type", text="a text"), Finding(field="b", code="x", text="y")]
    error = bad_input("settings", problems)
    assert (error.field, error.code) == ("aws.role", "wrong-type")
    assert bad_input("table", ["row 3: no number"]).code == "malformed"


def test_details_follow_the_message_line_by_line() -> None:
    error = errors.BadInputError("two things", ["one", "two"])
    assert str(error) == "two things\n  one\n  two"


def test_nearest_offers_close_names_only() -> None:
    assert errors.nearest("dayton", ["indy", "daytona"]) == " Did you mean daytona?"
    assert errors.nearest("I4I.large", ["i4i.large"]) == " Did you mean i4i.large?"
    assert errors.nearest("zzz", ["indy", "daytona"]) == ""
