"""Print how `planner/` is built, read from its sources, and exit with 1 where an enforced limit is broken.

Usage: python scripts/structure.py [--brief]; --brief leaves out where each retired word is.
"""

from __future__ import annotations

import ast
import functools
import gc
import sys
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from package_imports import CHECKOUT, FLOORS, circles, levels, modules, nodes_of, room_arrows, upward_imports

MOST_TOP_MODULES = 8
MOST_FUNCTION_LINES = 60
MOST_FILE_LINES = 300
LONGEST_SHOWN = 5

ENFORCED = {
    "top modules", "circles", "imports that go up", "long functions", "large files", "words", "local words",
}  # fmt: skip
"""Checks whose break exits with 1. The others are only printed."""

LARGE_FILES = {
    "planner/cost_model/block_volumes.py": "what each volume type offers, and the choice among the offers",
    "planner/schemas/plan.py": "`Request`, `Plan` and their parts: one JSON document",
    "planner/catalog/schema.py": "the columns of every catalog file: one declaration for each, no logic",
}
"""Files above MOST_FILE_LINES, each with the reason why it is one concept."""

RETIRED = {
    "around", "Lifecycle", "usability", "Usable", "profiled", "Market", "open_market", "Situation", "Crew", "_meet",
    "Pace", "Patience", "patiently", "Hands", "Wishes", "Lines", "Flight", "abandon", "cloud_truth", "Truth", "looking",
    "kept", "fleet", "said", "heard", "_DOINGS", "Kind", "Held", "LastOne",
}  # fmt: skip
"""Private words that the field's words replaced, except as `JSON_FIELDS`."""
RETIRED_IN_TESTS = {"bed", "lives", "machine_room", "warm", "watching"}
"""Names of test modules and fixtures that did not say what they provide."""
RETIRED_LOCALS = {"found", "kind", "known", "each", "one", "here"}
"""Names of variables and parameters that do not say what they hold."""
JSON_FIELDS = {
    "cloud_truth": "of a plan",
    "kept": "of `planner screen --json` (nodes) and of `planner catalog refresh --json` (prices)",
}
"""Retired words that classes may have as fields, since the JSON that users read has them."""


@dataclass(frozen=True)
class Check:
    """One property of the sources: what to print, and what breaks its limit."""

    name: str
    summary: str
    details: tuple[str, ...] = ()
    broken: bool = False


def checks() -> Iterator[Check]:
    top = sorted(name for name in modules() if name.count(".") == 1 and modules()[name].name != "__init__.py")
    yield Check("top modules", f"{len(top)} (at most {MOST_TOP_MODULES})", tuple(top), len(top) > MOST_TOP_MODULES)
    height = 1 + max(levels().values())
    yield Check("floors", f"{len(FLOORS)}; {height} levels, {len(room_arrows())} arrows between folders")
    in_circles = tuple(" -> ".join(circle) for circle in circles(for_types=False))
    yield Check("circles", f"{len(in_circles)} (none)", in_circles, bool(in_circles))
    for_types = tuple(" -> ".join(circle) for circle in circles(for_types=True))
    yield Check("circles for type checking", f"{len(for_types)} (listed, harmless)", for_types)
    upward = tuple(f"{module} imports {name}" for module, name in upward_imports())
    yield Check("imports that go up", f"{len(upward)} (none)", upward, bool(upward))
    yield long_functions()
    yield large_files()
    words = retired_words()
    yield Check("words", f"{words.total()} identifiers of the retired words (none)", listed(words), words.total() > 0)
    names = retired_locals()
    yield Check(
        "local words",
        f"{names.total()} variables that do not say what they hold (none)",
        listed(names),
        names.total() > 0,
    )


def long_functions() -> Check:
    lengths = sorted(
        (
            (1 + (node.end_lineno or node.lineno) - node.lineno, f"{module}.{node.name}")
            for module in modules()
            for node in nodes_of(module)
            if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef)
        ),
        reverse=True,
    )
    over = sum(lines > MOST_FUNCTION_LINES for lines, _ in lengths)
    summary = f"{over} above {MOST_FUNCTION_LINES} lines (none); the longest:"
    shown = lengths[: max(over, LONGEST_SHOWN)]
    return Check("long functions", summary, tuple(f"{lines:4} {name}" for lines, name in shown), over > 0)


def large_files() -> Check:
    lengths = {
        path.relative_to(CHECKOUT).as_posix(): len(path.read_text(encoding="utf-8").splitlines())
        for path in modules().values()
    }
    large = sorted((name for name in lengths if lengths[name] > MOST_FILE_LINES), key=lambda name: -lengths[name])
    details = tuple(f"{lengths[name]:4} {name}: {LARGE_FILES.get(name, 'NO REASON GIVEN')}" for name in large)
    summary = f"{len(large)} above {MOST_FILE_LINES} lines, each with the reason why it is one concept"
    return Check("large files", summary, details, not set(large) <= LARGE_FILES.keys())


@functools.cache
def sources() -> tuple[tuple[Path, ast.Module], ...]:
    """Return the Python files of `planner/` and `tests/`, relative to the checkout, with their syntax trees."""
    paths = [path for folder in ("planner", "tests") for path in sorted((CHECKOUT / folder).rglob("*.py"))]
    return tuple((path.relative_to(CHECKOUT), ast.parse(path.read_text(encoding="utf-8"))) for path in paths)


@functools.cache
def definitions() -> tuple[tuple[Path, str, ast.AST, bool], ...]:
    """Return each name that is defined: the file, the name, the syntax node, and whether it is a field of a class."""
    return tuple(
        (path, name, node, node in fields)
        for path, tree in sources()
        for fields in [class_fields(tree)]
        for name, node in defined_names(tree)
    )


def retired_words() -> Counter[str]:
    """Count the identifiers that are retired words, as "FILE: WORD"."""
    names = [(path, name) for path, name, _, is_field in definitions() if not (name in JSON_FIELDS and is_field)]
    names += [(path, path.stem) for path, _ in sources()]
    retired = {"planner": RETIRED, "tests": RETIRED | RETIRED_IN_TESTS}
    return Counter(f"{path}: {name}" for path, name in names if name in retired[path.parts[0]])


def retired_locals() -> Counter[str]:
    """Count the variables and parameters whose names say nothing, as "FILE: NAME"; fields may be called so."""
    return Counter(
        f"{path}: {name}"
        for path, name, node, is_field in definitions()
        if name in RETIRED_LOCALS and isinstance(node, ast.Name | ast.arg) and not is_field
    )


def defined_names(tree: ast.Module) -> Iterator[tuple[str, ast.AST]]:
    """Yield each name that a file defines: classes, functions, parameters, variables, import aliases."""
    for node in ast.walk(tree):
        if isinstance(node, ast.ClassDef | ast.FunctionDef | ast.AsyncFunctionDef):
            yield node.name, node
        elif isinstance(node, ast.arg):
            yield node.arg, node
        elif isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store):
            yield node.id, node
        elif isinstance(node, ast.alias) and node.asname:
            yield node.asname, node


def class_fields(tree: ast.Module) -> set[ast.AST]:
    """Return the nodes of annotated fields of classes."""
    bodies = (node.body for node in ast.walk(tree) if isinstance(node, ast.ClassDef))
    return {statement.target for body in bodies for statement in body if isinstance(statement, ast.AnnAssign)}


def listed(count: Counter[str]) -> tuple[str, ...]:
    return tuple(f"{times:4} {where}" for where, times in count.most_common())


def main() -> None:
    """Print every check; `--brief` leaves out where the words are."""
    gc.disable()  # syntax trees have millions of nodes, all of which stay: three times as quick
    broken = []
    for check in checks():
        enforced = check.name in ENFORCED
        mark = "" if not check.broken else " BROKEN" if enforced else " (over the limit, not enforced yet)"
        print(f"{check.name}: {check.summary}{mark}")
        brief = "--brief" in sys.argv[1:] and check.name.endswith("words")
        for detail in () if brief else check.details:
            print(f"    {detail}")
        if check.broken and enforced:
            broken.append(check.name)
    if broken:
        raise SystemExit(f"broken: {', '.join(broken)}")


if __name__ == "__main__":
    main()
