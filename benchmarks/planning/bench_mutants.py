"""How many one-line changes of the planning core make a test fail.

A mutant is one operator, number or comparison of the planning core changed at random. The tests that run the changed
line are run against it, the nearest first; it is noticed when one fails. What no test notices is listed, for a person
to judge: some mutants are equal in meaning, the others are holes in the tests.

The tests are collected once. Each mutant is tried in a fork, in which the code of its function is replaced. One that
changes what a module does at import, and one that was not noticed in code that also runs then, is tried in a new
process, which imports it. The time of the tests alone is limited.

Usage: python benchmarks/planning/bench_mutants.py [--mutants 200] [--seed 1] [--part 1/2] [--json FILE];
needs pytest-cov.
"""

from __future__ import annotations

import argparse
import functools
import gc
import importlib
import importlib.abc
import importlib.util
import json
import multiprocessing
import os
import pickle
import random
import signal
import sys
import time
import types
from collections import defaultdict
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from pathlib import Path

import pytest
from mutant_tests import CORE, QUIET, TESTS, Plainly, Tests, run_all
from mutants import CHECKOUT, Mutant, mutants_of

LONGEST_S = 20.0
"""Processor seconds that the tests of one mutant may take, without importing and collecting them."""

PATIENCE_S = 30 * LONGEST_S
"""How long to wait for them on a machine with much else to do."""

MISSED, NOTICED, OUT_OF_TIME = 0, 1, 9
OUTCOMES = {MISSED: "missed", NOTICED: "noticed", OUT_OF_TIME: "out of time"}


@dataclass(frozen=True)
class Verdict:
    """`outcome` is `noticed`, `missed`, `out of time` or `not covered`."""

    mutant: Mutant
    outcome: str
    tests: int
    seconds: float


class _MutantFinder(importlib.abc.MetaPathFinder, importlib.abc.Loader):
    """Gives the mutant's code for its module, and nothing for others."""

    def __init__(self, mutant: Mutant) -> None:
        self.mutant = mutant

    def find_spec(self, name: str, path: object = None, target: object = None) -> importlib.machinery.ModuleSpec | None:
        return importlib.util.spec_from_loader(name, self) if name == self.mutant.module else None

    def exec_module(self, module: types.ModuleType) -> None:
        exec(_compiled(self.mutant), vars(module))


def _compiled(mutant: Mutant) -> types.CodeType:
    return compile(mutant.tree(), str(CHECKOUT / mutant.path), "exec", dont_inherit=True)


@dataclass(frozen=True, kw_only=True, eq=False)
class _Replaceable:
    """What a mutant changes in place: the functions there are, by file and name, and the caches that may hide it."""

    functions: dict[tuple[str, str], list[types.FunctionType]]
    caches: list[functools._lru_cache_wrapper[object]]

    @classmethod
    def there(cls) -> _Replaceable:
        """Look through all objects once: that takes longer than most mutants' tests."""
        functions: dict[tuple[str, str], list[types.FunctionType]] = defaultdict(list)
        caches = []
        for thing in gc.get_objects():
            if isinstance(thing, functools._lru_cache_wrapper) and thing.__module__.startswith(("planner", "tests")):
                caches.append(thing)
            elif isinstance(thing, types.FunctionType):
                functions[thing.__code__.co_filename, thing.__code__.co_qualname].append(thing)
        return cls(functions=functions, caches=caches)

    def replace(self, mutant: Mutant) -> None:
        """Give the mutant's code to its function wherever it is, and forget what planner and tests have cached."""
        code = _function_code(_compiled(mutant), mutant)
        for cache in self.caches:
            cache.cache_clear()
        for function in self.functions[code.co_filename, code.co_qualname]:
            function.__code__ = code


def _function_code(code: types.CodeType, mutant: Mutant) -> types.CodeType:
    inner = [constant for constant in code.co_consts if isinstance(constant, types.CodeType)]
    for function in inner:
        if function.co_qualname == mutant.function and mutant.line in {line for *_, line in _all_lines(function)}:
            return function
    return next(_function_code(part, mutant) for part in inner if mutant.function.startswith(f"{part.co_qualname}."))


def _all_lines(code: types.CodeType) -> list[tuple[int | None, ...]]:
    inner = (part for part in code.co_consts if isinstance(part, types.CodeType))
    return [*code.co_lines(), *(line for part in inner for line in _all_lines(part))]


class _Judge(Plainly):
    """A plugin of pytest: collects the tests once, and judges mutants instead of running the tests."""

    def __init__(self, mutants: Sequence[Mutant], tests: Tests) -> None:
        self.mutants, self.tests = mutants, tests
        self.verdicts: list[Verdict] = []

    def pytest_runtestloop(self, session: pytest.Session) -> bool:
        items = {item.nodeid: item for item in session.items}
        for module in {mutant.module for mutant in self.mutants if mutant.function}:
            importlib.import_module(module)  # what only a test imports could not be replaced before
        self.there = _Replaceable.there()
        gc.freeze()  # what a fork does not touch it need not copy
        for mutant in self.mutants:
            tests = self.tests.that_notice(mutant, items)
            began = time.monotonic()
            outcome = self._judge(session, mutant, [items[test] for test in tests]) if tests else "not covered"
            self.verdicts.append(Verdict(mutant, outcome, len(tests), time.monotonic() - began))
            print("." if outcome == "noticed" else f"\n{_line(self.verdicts[-1])}", end="", file=sys.stderr, flush=True)
        return True

    def _judge(self, session: pytest.Session, mutant: Mutant, items: Sequence[pytest.Item]) -> str:
        """Try in place, which is fast; anew, where that cannot be or what was made at import may hide the mutant."""
        if mutant.function:
            outcome = _outcome(_try_in_place, (self.there, session, mutant, items))
            if outcome == "noticed" or (mutant.path, mutant.line) not in self.tests.at_import:
                return outcome
        return _outcome(_try_anew, (mutant, [item.nodeid for item in items]), method="spawn")


def _outcome(function: object, arguments: tuple[object, ...], method: str = "fork") -> str:
    process = multiprocessing.get_context(method).Process(target=function, args=arguments)
    process.start()
    process.join(PATIENCE_S)
    if process.is_alive():
        process.kill()
        process.join()
    return OUTCOMES.get(process.exitcode, "out of time" if process.exitcode == -signal.SIGKILL else "noticed")


def _try_in_place(there: _Replaceable, session: pytest.Session, mutant: Mutant, items: Sequence[pytest.Item]) -> None:
    there.replace(mutant)
    session.config.pluginmanager.unregister(name="terminalreporter")
    os._exit(_run(session, items))


def _try_anew(mutant: Mutant, tests: Sequence[str]) -> None:
    """In a new process: collect the files of these tests with the mutant in place of its module, and run them."""
    os.chdir(CHECKOUT)
    _be_silent()
    sys.meta_path.insert(0, _MutantFinder(mutant))
    files = dict.fromkeys(test.partition("::")[0] for test in tests)
    os._exit(NOTICED if pytest.main([*QUIET, *files], plugins=[_Only(tests)]) else MISSED)


class _Only(Plainly):
    """A plugin of pytest: runs these tests in this order. What cannot even be collected has noticed the mutant."""

    def __init__(self, tests: Sequence[str]) -> None:
        self.tests = tests

    def pytest_runtestloop(self, session: pytest.Session) -> bool:
        items = {item.nodeid: item for item in session.items}
        if session.testsfailed or len(items.keys() & set(self.tests)) < len(self.tests):
            os._exit(NOTICED)
        os._exit(_run(session, [items[test] for test in self.tests]))


def _run(session: pytest.Session, items: Sequence[pytest.Item]) -> int:
    """Run the tests until one fails or the time is over."""
    signal.signal(signal.SIGPROF, lambda *_: os._exit(OUT_OF_TIME))
    signal.setitimer(signal.ITIMER_PROF, LONGEST_S)
    for item, following in zip(items, [*items[1:], None], strict=True):
        item.config.hook.pytest_runtest_protocol(item=item, nextitem=following)
        if session.testsfailed:
            return NOTICED
    return MISSED


def _be_silent() -> None:
    nowhere = os.open(os.devnull, os.O_WRONLY)
    os.dup2(nowhere, 1)
    os.dup2(nowhere, 2)


def main() -> None:
    """Draw mutants, judge each, and print what was missed and the share noticed."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--mutants", type=int, default=200)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--json", type=Path)
    parser.add_argument("--lines", type=Path, help="keep here which tests run which line, and take it from here")
    parser.add_argument("--part", default="1/1", help="only this part of the sample: 1/2 and 2/2 can run side by side")
    options = parser.parse_args()
    os.chdir(CHECKOUT)
    paths = sorted(path for folder in CORE for path in (CHECKOUT / "planner" / folder).glob("*.py"))
    everything = [mutant for path in paths for mutant in mutants_of(path)]
    chosen = random.Random(options.seed).sample(everything, min(options.mutants, len(everything)))
    part, parts = map(int, options.part.split("/"))
    print(f"{len(chosen)} of {len(everything)} mutants, seed {options.seed}, part {options.part}", flush=True)
    judge = _Judge(chosen[part - 1 :: parts], _tests(paths, options.lines))
    if code := pytest.main([*QUIET, *TESTS], plugins=[judge]):
        sys.exit(int(code))
    _report(judge.verdicts)
    if options.json:
        options.json.write_text(json.dumps([asdict(verdict) for verdict in judge.verdicts], indent=1), "utf-8")


def _tests(paths: Sequence[Path], file: Path | None) -> Tests:
    if file and file.exists():
        return pickle.loads(file.read_bytes())
    tests = run_all(paths)
    if file:
        file.write_bytes(pickle.dumps(tests))
    return tests


def _line(verdict: Verdict) -> str:
    mutant, seconds = verdict.mutant, verdict.seconds
    what = f"{mutant.path}:{mutant.line}: {mutant.before}  ->  {mutant.after}"
    return f"{verdict.outcome} ({verdict.tests} tests, {seconds:.0f} s): {what}"


def _report(verdicts: Sequence[Verdict]) -> None:
    for verdict in verdicts:
        if verdict.outcome != "noticed":
            print(_line(verdict))
    noticed = sum(verdict.outcome == "noticed" for verdict in verdicts)
    print(f"noticed {noticed} of {len(verdicts)} ({noticed / len(verdicts):.1%})")


if __name__ == "__main__":
    main()
