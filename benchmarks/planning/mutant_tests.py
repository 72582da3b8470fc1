"""Which tests can notice a mutant: those that run its line, its module's own first, then the ones that take least time.

A line that runs at import, such as a constant, is run by no test. The tests of its module's own file and those that run
a line with one of the names it defines, stand for it.
"""

from __future__ import annotations

import ast
import os
import re
import subprocess
import sys
import tempfile
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from mutants import CHECKOUT, Mutant

CORE = ("cost_model", "planning", "statistics")
FOLDERS = tuple(f"planner.{name}." for name in CORE)
TESTS = (
    "tests/cost_model",
    "tests/planning",
    "tests/statistics",
    "tests/journeys/test_golden_plans.py",
    "tests/journeys/test_more_is_never_worse.py",
    "tests/journeys/test_plan_as_the_papers_printed.py",
    "tests/journeys/test_plan_beyond_the_papers.py",
    "tests/journeys/test_plan_for_a_framework.py",
)
QUIET = ("-q", "-p", "no:cacheprovider", "-p", "no:xdist", "--durations=0")

Lines = Mapping[tuple[str, int], frozenset[str]]
"""The tests that run a line of a file."""


@dataclass(frozen=True)
class Tests:
    """What the tests run, by line and by name used on a line; how many lines of the core each runs, and its seconds.

    `at_import` are lines that also run while tests are collected: what they made then may hide a mutant in place.
    """

    by_line: Lines
    at_import: frozenset[tuple[str, int]]
    by_name: Mapping[str, frozenset[str]]
    lines_of: Mapping[str, int]
    seconds_of: Mapping[str, float]

    def that_notice(self, mutant: Mutant, everything: Iterable[str]) -> list[str]:
        """Return the tests of `everything` for a mutant: of its module's own those that run the line, then the others,
        then the quickest; of those as quick the ones that run least else.
        """
        own = _own_file(mutant.path)
        if mutant.function:
            candidates = set(self.by_line.get((mutant.path, mutant.line), ()))
        else:
            candidates = {test for name in mutant.names for test in self.by_name.get(name, ())}
        tests = (test for test in everything if test in candidates or test.startswith(own))

        def place(test: str) -> tuple[float, ...]:
            own_or_not = (not test.startswith(own), test.startswith(own) and test not in candidates)
            return (*own_or_not, round(self.seconds_of.get(test, 0.0), 1), self.lines_of.get(test, 0))

        return sorted(tests, key=place)


def _own_file(path: str) -> str:
    folder, name = Path(path).parts[1:]
    return f"tests/{folder}/test_{name}::"


def run_all(paths: Sequence[Path]) -> Tests:
    """Run the tests once and return what each runs. Exit if they fail without any mutant."""
    with tempfile.TemporaryDirectory() as folder:
        data = str(Path(folder) / "data")
        covered = [f"--cov={CHECKOUT / 'planner' / name}" for name in CORE]
        command = [sys.executable, "-m", "pytest", *TESTS, *QUIET, "-p", Path(__file__).stem]
        command += [*covered, "--cov-context=test", "--cov-report="]
        environment = os.environ | {"COVERAGE_FILE": data, "PYTHONPATH": str(Path(__file__).parent)}
        done = subprocess.run(command, cwd=CHECKOUT, env=environment, capture_output=True, text=True, check=False)
        if done.returncode:
            sys.exit(f"the tests fail without any mutant:\n{done.stdout[-3000:]}")
        by_line, at_import = _by_line(data, paths)
    lines_of: dict[str, int] = defaultdict(int)
    for tests in by_line.values():
        for test in tests:
            lines_of[test] += 1
    return Tests(by_line, at_import, _by_name(by_line, paths), dict(lines_of), _seconds(done.stdout))


def pytest_runtest_setup() -> None:
    """Forget what the core has cached, so that every test runs all that it rests on: this module is a plugin, too."""
    for name, module in list(sys.modules.items()):
        if name.startswith(FOLDERS):
            for thing in vars(module).values():
                if hasattr(thing, "cache_clear"):
                    thing.cache_clear()


class Plainly:
    """A plugin of pytest: hypothesis tries the same examples each time, keeps none, and stops where one fails."""

    def pytest_collection(self) -> None:
        """Do so before the tests are read, of which each keeps the settings that it finds."""
        from hypothesis import Phase, settings

        plain = settings(settings.default, database=None, derandomize=True, phases=(Phase.explicit, Phase.generate))
        settings.register_profile("mutants", plain)
        settings.load_profile("mutants")


def _seconds(durations: str) -> dict[str, float]:
    """Return how long each test took, from pytest's table of durations, which leaves out what took no time."""
    seconds: dict[str, float] = defaultdict(float)
    for duration, test in re.findall(r"^(\d+\.\d+)s \w+ +(tests/.*)$", durations, re.MULTILINE):
        seconds[test] += float(duration)
    return dict(seconds)


def _by_line(data: str, paths: Sequence[Path]) -> tuple[Lines, frozenset[tuple[str, int]]]:
    from coverage import CoverageData

    measured = CoverageData(data)
    measured.read()
    lines, at_import = {}, set()
    for path in paths:
        for line, contexts in measured.contexts_by_lineno(str(path)).items():
            place = str(path.relative_to(CHECKOUT)), line
            lines[place] = frozenset(context.rpartition("|")[0] for context in contexts if context)
            if "" in contexts:
                at_import.add(place)
    return lines, frozenset(at_import)


def _by_name(by_line: Lines, paths: Sequence[Path]) -> dict[str, frozenset[str]]:
    """Return the tests that run a line with a name, also through a constant that is made with it."""
    tests: dict[str, set[str]] = defaultdict(set)
    through: dict[str, set[str]] = defaultdict(set)
    for path in paths:
        tree = ast.parse(path.read_text("utf-8"))
        name_of_file = str(path.relative_to(CHECKOUT))
        for name, line in _names(tree):
            tests[name] |= by_line.get((name_of_file, line), frozenset())
        for statement in tree.body:
            if isinstance(statement, ast.Assign | ast.AnnAssign | ast.ClassDef | ast.FunctionDef):
                names = {name for name, _ in _names(statement)}
                for made in names & {name for name, _ in _names(_target(statement))}:
                    for used in names - {made}:
                        through[used].add(made)
    for name, made in through.items():
        tests[name] |= {test for constant in made for test in tests.get(constant, ())}
    return {name: frozenset(those) for name, those in tests.items()}


def _target(statement: ast.stmt) -> ast.AST:
    if isinstance(statement, ast.Assign):
        return statement.targets[0]
    return statement.target if isinstance(statement, ast.AnnAssign) else ast.Pass()


def _names(tree: ast.AST) -> Iterator[tuple[str, int]]:
    for node in ast.walk(tree):
        if isinstance(node, ast.Name):
            yield node.id, node.lineno
        elif isinstance(node, ast.Attribute):
            yield node.attr, node.lineno
        elif isinstance(node, ast.FunctionDef):
            yield from ((node.name, inner.lineno) for inner in node.body)
