"""The imports of `planner/`, read from its sources; the architecture test, the report and the drawing share them."""

from __future__ import annotations

import ast
import functools
from collections.abc import Iterator
from pathlib import Path

CHECKOUT = Path(__file__).resolve().parent.parent
EXTENSION = "planner._sortcore"

FLOORS = {
    "interface": ("cli", "report", "api"),
    "effects": (
        "clusters", "clouds", "distributed_sort", "sorting", "compression", "measurement", "spark", "stores", "native",
        "doctor",
    ),
    "planning": ("planning", "cost_model", "calibration", "statistics", "simulation", "sort_policy"),
    "data": ("catalog", "config", "schemas"),
    "base": ("arrays", "errors", "units", "extras"),
}  # fmt: skip
"""The rooms of each floor, top floor first. A room is a folder of `planner/` or a module beside the folders."""


@functools.cache
def modules() -> dict[str, Path]:
    """Return every module of the package by its dotted name, packages included."""
    paths = sorted((CHECKOUT / "planner").rglob("*.py"))
    return {_dotted(path.relative_to(CHECKOUT)): path for path in paths}


def _dotted(path: Path) -> str:
    words = path.with_suffix("").parts
    return ".".join(words[:-1] if words[-1] == "__init__" else words)


def room_of(module: str) -> str:
    """Return the folder or top module of a module: `api` for the package itself, `cli` for `__main__`."""
    words = module.split(".")
    room = words[1] if len(words) > 1 else "api"
    return "cli" if room == "__main__" else room


def floor_of(module: str) -> int:
    """Return 4 for the interface down to 0 for the base; raises KeyError for a room that FLOORS does not name."""
    room = room_of(module)
    for height, rooms in enumerate(reversed(FLOORS.values())):
        if room in rooms:
            return height
    raise KeyError(f"planner/{room}: name it in FLOORS, {__file__}")


@functools.cache
def nodes_of(module: str) -> tuple[ast.AST, ...]:
    """Return all syntax nodes of a module."""
    return tuple(ast.walk(ast.parse(modules()[module].read_text(encoding="utf-8"))))


@functools.cache
def imports_of(module: str) -> frozenset[str]:
    """Return the dotted names a module imports; `from a import b` gives `a.b` if that is a module, else `a`."""
    return frozenset(name for node in nodes_of(module) for name in _imported_by(node))


@functools.cache
def imports_for_types_only(module: str) -> frozenset[str]:
    """Return what a module imports under `if TYPE_CHECKING` alone."""
    guards = [
        node for node in nodes_of(module) if isinstance(node, ast.If) and ast.unparse(node.test) == "TYPE_CHECKING"
    ]
    guarded = [node for guard in guards for statement in guard.body for node in ast.walk(statement)]
    others = [node for node in nodes_of(module) if node not in guarded]
    return frozenset().union(*map(_imported_by, guarded)) - set().union(*map(_imported_by, others))


def imports_within(module: str, *, for_types: bool = True) -> list[str]:
    """Return the modules of the package that a module imports, with or without those for annotations alone."""
    left_out = frozenset() if for_types else imports_for_types_only(module)
    return sorted((imports_of(module) & modules().keys()) - left_out)


def _imported_by(node: ast.AST) -> set[str]:
    if isinstance(node, ast.Import):
        return {alias.name for alias in node.names}
    if isinstance(node, ast.ImportFrom):
        if node.level:
            raise ValueError(f"a relative import, line {node.lineno}: {ast.unparse(node)}")
        names = (f"{node.module}.{alias.name}" for alias in node.names)
        return {name if name in modules() or name == EXTENSION else str(node.module) for name in names}
    return set()


def upward_imports() -> list[tuple[str, str]]:
    """Return each import of a module from a higher floor as (module, imported)."""
    return [
        (module, name) for module in modules() for name in imports_within(module) if floor_of(name) > floor_of(module)
    ]


def circles(*, for_types: bool) -> list[tuple[str, ...]]:
    """Return each circle of imports once, as the modules along it."""
    circle_of: dict[frozenset[str], tuple[str, ...]] = {}
    finished: set[str] = set()

    def visit(module: str, trail: tuple[str, ...]) -> None:
        if module in trail:
            circle = trail[trail.index(module) :]
            circle_of.setdefault(frozenset(circle), circle)
            return
        for name in imports_within(module, for_types=for_types) if module not in finished else ():
            visit(name, (*trail, module))
        finished.add(module)

    for module in modules():
        visit(module, ())
    return list(circle_of.values())


def room_arrows(*, for_types: bool = True) -> dict[tuple[str, str], int]:
    """Return how many imports go from each room to each other one, with or without those for annotations alone."""
    arrows: dict[tuple[str, str], int] = {}
    for module in modules():
        for name in imports_within(module, for_types=for_types):
            pair = (room_of(module), room_of(name))
            if pair[0] != pair[1]:
                arrows[pair] = arrows.get(pair, 0) + 1
    return arrows


def levels() -> dict[str, int]:
    """Return each room's level: 0 for one that imports no other, else one above the highest it imports.

    Rooms of one floor that import each other share a level.
    """
    below: dict[str, set[str]] = {room_of(module): set() for module in modules()}
    for start, end in room_arrows():
        below[start].add(end)
    reach = {room: set(_reachable(room, below)) for room in below}

    @functools.cache
    def level(room: str) -> int:
        lower = [other for other in reach[room] if room not in reach[other]]
        return 1 + max((level(other) for other in lower), default=-1)

    return {room: level(room) for room in below}


def _reachable(room: str, below: dict[str, set[str]]) -> Iterator[str]:
    seen, waiting = {room}, [room]
    while waiting:
        for other in below[waiting.pop()] - seen:
            seen.add(other)
            waiting.append(other)
            yield other
