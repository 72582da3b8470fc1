"""How many one-line changes of the planning core make a test fail.

A mutant is one operator, number or comparison of the planning core changed at random. The tests that run the changed
line are run against it, the nearest first; it is noticed when one fails. What no test notices is listed, for a person
to judge: some mutants are equal in meaning, the others are holes in the tests.

Usage: python benchmarks/planning/bench_mutants.py [--mutants 200] [--seed 1] [--json FILE]; needs pytest-cov.
"""

from __future__ import annotations

import argparse
import ast
import copy
import importlib.abc
import importlib.util
import json
import multiprocessing
import os
import random
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import asdict, dataclass
from pathlib import Path

CHECKOUT = Path(__file__).resolve().parent.parent.parent
CORE = ("cost_model", "planning", "statistics")
TESTS = ("tests/cost_model", "tests/planning", "tests/statistics", "tests/journeys")
LONGEST_S = 20.0
"""How long the tests of one mutant may take, the quickest first. What is not noticed by then counts as missed."""

COMPARISONS = {ast.Lt: ast.LtE, ast.LtE: ast.Lt, ast.Gt: ast.GtE, ast.GtE: ast.Gt, ast.Eq: ast.NotEq, ast.NotEq: ast.Eq}
OPERATORS = {ast.Add: ast.Sub, ast.Sub: ast.Add, ast.Mult: ast.Div, ast.Div: ast.Mult}
FUNCTIONS = {"minimum": "maximum", "maximum": "minimum", "min": "max", "max": "min", "fmax": "fmin", "fmin": "fmax"}


@dataclass(frozen=True)
class Mutant:
    """One change: `module` in dotted form, the line it is on, and the code before and after."""

    module: str
    line: int
    before: str
    after: str
    source: str


@dataclass(frozen=True)
class Verdict:
    """`outcome` is `noticed`, `missed`, `out of time` or `not covered`."""

    mutant: Mutant
    outcome: str
    tests: int
    seconds: float


def mutants_of(path: Path) -> Iterator[Mutant]:
    """Yield every mutant of a file; the nodes are numbered, so that each tree is changed in one place."""
    text = path.read_text("utf-8")
    module = ".".join(path.relative_to(CHECKOUT).with_suffix("").parts)
    for position, node in enumerate(ast.walk(ast.parse(text))):
        if not _can_change(node):
            continue
        tree = ast.parse(text)
        changed = list(ast.walk(tree))[position]
        before = ast.unparse(changed)
        after = _change(changed)
        if after != before:
            yield Mutant(module, node.lineno, before, after, ast.unparse(tree))


def _can_change(node: ast.AST) -> bool:
    if isinstance(node, ast.Compare):
        return type(node.ops[0]) in COMPARISONS
    if isinstance(node, ast.BinOp):
        return type(node.op) in OPERATORS and not isinstance(node.left, ast.Constant | ast.JoinedStr)
    if isinstance(node, ast.BoolOp | ast.IfExp):
        return True
    if isinstance(node, ast.Constant):
        return type(node.value) in (int, float) and node.value not in (0, -1)
    if isinstance(node, ast.Call):
        return _called(node) in FUNCTIONS
    return isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.Not | ast.Invert | ast.USub)


def _called(node: ast.Call) -> str:
    return node.func.attr if isinstance(node.func, ast.Attribute) else getattr(node.func, "id", "")


def _change(node: ast.AST) -> str:
    if isinstance(node, ast.Compare):
        node.ops[0] = COMPARISONS[type(node.ops[0])]()
    elif isinstance(node, ast.BinOp):
        node.op = OPERATORS[type(node.op)]()
    elif isinstance(node, ast.BoolOp):
        node.op = ast.Or() if isinstance(node.op, ast.And) else ast.And()
    elif isinstance(node, ast.IfExp):
        node.body, node.orelse = node.orelse, node.body
    elif isinstance(node, ast.Constant):
        node.value = node.value + 1 if isinstance(node.value, int) else node.value * 1.5
    elif isinstance(node, ast.Call):
        swapped = FUNCTIONS[_called(node)]
        if isinstance(node.func, ast.Attribute):
            node.func.attr = swapped
        elif isinstance(node.func, ast.Name):
            node.func.id = swapped
    elif isinstance(node, ast.UnaryOp):
        node.op = ast.UAdd() if isinstance(node.op, ast.USub) else node.op
        if not isinstance(node.op, ast.UAdd):
            return _drop(node)
    return ast.unparse(node)


def _drop(node: ast.UnaryOp) -> str:
    """Turn `not x` into `not not x`: the tree keeps its shape, the meaning turns."""
    node.operand = ast.UnaryOp(op=copy.copy(node.op), operand=node.operand)
    return ast.unparse(node)


def tests_by_line(paths: Sequence[Path]) -> dict[tuple[str, int], list[str]]:
    """Return which tests run each line of `paths`, the quickest test first, by running the tests once."""
    with tempfile.TemporaryDirectory() as folder:
        report = Path(folder) / "report.json"
        environment = os.environ | {"COVERAGE_FILE": str(Path(folder) / "data")}
        covered = [f"--cov={CHECKOUT / 'planner' / folder}" for folder in CORE]
        command = [sys.executable, "-m", "pytest", *_present(TESTS), *covered, "--cov-context=test", "-q"]
        command += ["-p", "no:cacheprovider", "--cov-report=", "--durations=0", "-vv"]
        done = subprocess.run(command, cwd=CHECKOUT, env=environment, capture_output=True, text=True, check=False)
        if done.returncode:
            sys.exit(f"the tests fail without any mutant:\n{done.stdout[-3000:]}")
        export = [sys.executable, "-m", "coverage", "json", "--show-contexts", "-o", str(report), "-q"]
        subprocess.run(export, cwd=CHECKOUT, env=environment, check=True)
        files = json.loads(report.read_text())["files"]
    seconds = _durations(done.stdout)
    lines: dict[tuple[str, int], list[str]] = {}
    for path in paths:
        name = str(path.relative_to(CHECKOUT))
        for line, contexts in files.get(name, {}).get("contexts", {}).items():
            tests = {context.rpartition("|")[0] for context in contexts if context}
            lines[name, int(line)] = sorted(tests, key=lambda test: seconds.get(test, 0.0))
    return lines


def _present(folders: Sequence[str]) -> list[str]:
    return [folder for folder in folders if (CHECKOUT / folder).exists()]


def _durations(output: str) -> dict[str, float]:
    """Return the seconds of each test's call from pytest's list of durations."""
    rows = (line.split() for line in output.splitlines() if "s call " in line)
    return {row[2]: float(row[0].removesuffix("s")) for row in rows if len(row) > 2}


class _MutantFinder(importlib.abc.MetaPathFinder, importlib.abc.Loader):
    """Gives the mutant's source for its module, and nothing for others."""

    def __init__(self, mutant: Mutant) -> None:
        self.mutant = mutant

    def find_spec(self, name: str, path: object = None, target: object = None) -> importlib.machinery.ModuleSpec | None:
        return importlib.util.spec_from_loader(name, self) if name == self.mutant.module else None

    def exec_module(self, module: object) -> None:
        exec(compile(self.mutant.source, self.mutant.module, "exec"), vars(module))


def _run_tests(mutant: Mutant, tests: Sequence[str]) -> None:
    """In a process of its own: run the tests with the mutant in place of its module; exit 0 if they pass."""
    import pytest

    os.chdir(CHECKOUT)
    silence = os.open(os.devnull, os.O_WRONLY)
    os.dup2(silence, 1)
    os.dup2(silence, 2)
    sys.meta_path.insert(0, _MutantFinder(mutant))
    os._exit(int(pytest.main(["-x", "-q", "-p", "no:cacheprovider", "-p", "no:xdist", *tests])))


def judge(mutant: Mutant, tests: Sequence[str]) -> Verdict:
    """Return whether any of `tests` notices the mutant within LONGEST_S."""
    began = time.monotonic()
    if not tests:
        return Verdict(mutant, "not covered", 0, 0.0)
    process = multiprocessing.get_context("fork").Process(target=_run_tests, args=(mutant, tests))
    process.start()
    process.join(LONGEST_S)
    hung = process.is_alive()
    if hung and process.pid:
        os.kill(process.pid, signal.SIGKILL)
        process.join()
    outcome = "out of time" if hung else "noticed" if process.exitcode else "missed"
    return Verdict(mutant, outcome, len(tests), time.monotonic() - began)


def main() -> None:
    """Draw mutants, judge each, and print what was missed and the share noticed."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--mutants", type=int, default=200)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--json", type=Path)
    options = parser.parse_args()
    paths = sorted(path for folder in CORE for path in (CHECKOUT / "planner" / folder).glob("*.py"))
    lines = tests_by_line(paths)
    everything = [mutant for path in paths for mutant in mutants_of(path)]
    chosen = random.Random(options.seed).sample(everything, min(options.mutants, len(everything)))
    print(f"{len(chosen)} of {len(everything)} mutants, seed {options.seed}", flush=True)
    with ThreadPoolExecutor(os.cpu_count()) as pool:
        verdicts = list(pool.map(lambda mutant: judge(mutant, lines.get(_place(mutant), [])), chosen))
    _report(verdicts)
    if options.json:
        options.json.write_text(json.dumps([asdict(verdict) for verdict in verdicts], indent=1), "utf-8")


def _place(mutant: Mutant) -> tuple[str, int]:
    return mutant.module.replace(".", "/") + ".py", mutant.line


def _report(verdicts: Sequence[Verdict]) -> None:
    for verdict in verdicts:
        if verdict.outcome != "noticed":
            mutant = verdict.mutant
            print(f"{verdict.outcome}: {_place(mutant)[0]}:{mutant.line}: {mutant.before}  ->  {mutant.after}")
    noticed = sum(verdict.outcome == "noticed" for verdict in verdicts)
    print(f"noticed {noticed} of {len(verdicts)} ({noticed / len(verdicts):.1%})")


if __name__ == "__main__":
    main()
