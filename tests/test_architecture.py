"""The floors of docs/architecture.md: every module has one, imports only go down, and the lower floors stay pure."""

from __future__ import annotations

import ast
import functools
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

CHECKOUT = Path(__file__).resolve().parent.parent

FACES, HANDS, MIND, FACTS, GROUND = 4, 3, 2, 1, 0
FLOORS = {
    "planner": FACES,
    "planner.__main__": FACES,
    "planner.api": FACES,
    "planner.cli": FACES,
    "planner.report": FACES,
    "planner.measure": HANDS,
    "planner.providers": HANDS,
    "planner.cluster": HANDS,
    "planner.doctor": HANDS,
    "planner.sorting": HANDS,
    "planner.native": HANDS,
    "planner.refresh": HANDS,
    "planner.profiles": HANDS,
    "planner.calibration": MIND,
    "planner.calibrated_model": MIND,
    "planner.around": MIND,
    "planner.bill": MIND,
    "planner.burst_credit": MIND,
    "planner.caveats": MIND,
    "planner.candidates": MIND,
    "planner.capacity": MIND,
    "planner.charges": MIND,
    "planner.cloud_truth": MIND,
    "planner.constraints": MIND,
    "planner.cost_effectiveness": MIND,
    "planner.energy": MIND,
    "planner.estimate": MIND,
    "planner.feasibility": MIND,
    "planner.interruption": MIND,
    "planner.filters": MIND,
    "planner.layout": MIND,
    "planner.market": MIND,
    "planner.measure_next": MIND,
    "planner.money": MIND,
    "planner.node_limits": MIND,
    "planner.objects": MIND,
    "planner.own_prices": MIND,
    "planner.rates": MIND,
    "planner.recommendation": MIND,
    "planner.screening": MIND,
    "planner.utilisation": MIND,
    "planner.profiled": MIND,
    "planner.scale": MIND,
    "planner.selection": MIND,
    "planner.spreads": MIND,
    "planner.spares": MIND,
    "planner.staging": MIND,
    "planner.usability": MIND,
    "planner.variability": MIND,
    "planner.durations": MIND,
    "planner.variation": MIND,
    "planner.volumes": MIND,
    "planner.work": MIND,
    "planner.catalog": FACTS,
    "planner.curves": FACTS,
    "planner.datafiles": FACTS,
    "planner.distributions": FACTS,
    "planner.extras": FACTS,
    "planner.lifecycle": FACTS,
    "planner.model": FACTS,
    "planner.plan": FACTS,
    "planner.run_report": FACTS,
    "planner.scaling_law": FACTS,
    "planner.settings": FACTS,
    "planner.tables": FACTS,
    "planner.errors": GROUND,
    "planner.units": GROUND,
}
"""A package's floor is that of all modules in it, except for `planner` itself."""

EXTENSION = "planner._sortcore"
THIRD_PARTY_OF_LOWER_FLOORS = {"numpy", "pandas"}
OUTSIDE_WORLD = {"io", "os", "pathlib", "shutil", "socket", "subprocess", "tempfile"}
CLOCK_CALLS = {"now", "today", "utcnow"}
LOUD_CALLS = {"print", "exit", "quit", "sys.exit", "os._exit", "sys.stdout.write", "sys.stderr.write"}


def with_parents(module: str) -> Iterator[str]:
    """Yield the module's name and those of the packages it lies in, `planner` left out unless it is the module."""
    words = module.split(".")
    yield from (".".join(words[:length]) for length in range(len(words), min(len(words), 2) - 1, -1))


def floor_of(module: str) -> int:
    """Return the floor of a module; one without a floor fails its own test and counts as the top here."""
    return next((FLOORS[name] for name in with_parents(module) if name in FLOORS), FACES)


@functools.cache
def modules() -> dict[str, Path]:
    """Return every module of the package by its dotted name."""
    found = {}
    for path in sorted((CHECKOUT / "planner").rglob("*.py")):
        words = path.relative_to(CHECKOUT).with_suffix("").parts
        found[".".join(words[:-1] if words[-1] == "__init__" else words)] = path
    return found


def modules_up_to(floor: int) -> list[str]:
    return [module for module in modules() if floor_of(module) <= floor]


@functools.cache
def nodes_of(module: str) -> tuple[ast.AST, ...]:
    return tuple(ast.walk(ast.parse(modules()[module].read_text(encoding="utf-8"))))


@functools.cache
def imports_of(module: str) -> frozenset[str]:
    """Return the dotted names a module imports; `from a import b` gives `a.b` if that is a module, else `a`."""
    return frozenset(name for node in nodes_of(module) for name in imported_by(node))


@functools.cache
def imports_for_types_only(module: str) -> frozenset[str]:
    """Return what a module imports under `if TYPE_CHECKING` alone."""
    guards = [
        node for node in nodes_of(module) if isinstance(node, ast.If) and ast.unparse(node.test) == "TYPE_CHECKING"
    ]
    guarded = [node for guard in guards for statement in guard.body for node in ast.walk(statement)]
    others = [node for node in nodes_of(module) if node not in guarded]
    return frozenset().union(*map(imported_by, guarded)) - set().union(*map(imported_by, others))


def imported_by(node: ast.AST) -> set[str]:
    if isinstance(node, ast.Import):
        return {alias.name for alias in node.names}
    if isinstance(node, ast.ImportFrom):
        assert node.level == 0, f"a relative import, line {node.lineno}: {ast.unparse(node)}"
        names = (f"{node.module}.{alias.name}" for alias in node.names)
        return {name if name in modules() or name == EXTENSION else str(node.module) for name in names}
    return set()


def imports_of_ours(module: str) -> list[str]:
    return sorted(imports_of(module) & modules().keys())


def calls_of(module: str) -> set[str]:
    """Return what a module calls by name, as written: `print`, `sys.exit`, `datetime.now`."""
    return {ast.unparse(node.func) for node in nodes_of(module) if isinstance(node, ast.Call)}


def test_every_module_has_a_floor() -> None:
    without = [module for module in modules() if not FLOORS.keys() & set(with_parents(module))]
    assert not without, f"give these a floor, here and in docs/architecture.md: {without}"


def test_every_package_says_that_it_is_one() -> None:
    packages = {parent for module in modules() for parent in with_parents(module)} | {"planner"}
    assert packages <= modules().keys(), f"no __init__.py in {packages - modules().keys()}"


@pytest.mark.parametrize("module", modules())
def test_imports_only_go_down(module: str) -> None:
    upward = {name: floor_of(name) for name in imports_of_ours(module) if floor_of(name) > floor_of(module)}
    assert not upward, f"{module} (floor {floor_of(module)}) imports from above: {upward}"


def test_no_import_cycles() -> None:
    finished = set()

    def visit(module: str, trail: tuple[str, ...]) -> None:
        assert module not in trail, " -> ".join((*trail[trail.index(module) :], module))
        for name in imports_of_ours(module) if module not in finished else ():
            if name not in imports_for_types_only(module):
                visit(name, (*trail, module))
        finished.add(module)

    for module in modules():
        visit(module, ())


@pytest.mark.parametrize("module", modules_up_to(MIND))
def test_lower_floors_know_no_sdk_and_no_clock(module: str) -> None:
    roots = {name.split(".")[0] for name in imports_of(module)} - {"planner"}
    foreign = roots - sys.stdlib_module_names - THIRD_PARTY_OF_LOWER_FLOORS
    assert not foreign, f"{module} imports {foreign}"
    readings = {call for call in calls_of(module) if call.rpartition(".")[2] in CLOCK_CALLS}
    assert "time" not in roots and not readings, f"{module} reads the clock: {readings or 'time'}"


@pytest.mark.parametrize("module", [name for name in modules_up_to(MIND) if floor_of(name) in {MIND, GROUND}])
def test_mind_and_ground_touch_no_files(module: str) -> None:
    touched = imports_of(module) & OUTSIDE_WORLD | calls_of(module) & {"open"}
    assert not touched, f"{module} must be pure, but uses {touched}"


@pytest.mark.parametrize("module", [name for name in modules() if name != "planner.native"])
def test_only_native_imports_the_extension(module: str) -> None:
    assert EXTENSION not in imports_of(module), f"{module} imports the extension; only planner.native may"


@pytest.mark.parametrize("module", [name for name in modules() if not name.startswith("planner.cli")])
def test_only_the_command_line_prints_and_exits(module: str) -> None:
    raised = {ast.unparse(node.exc) for node in nodes_of(module) if isinstance(node, ast.Raise) and node.exc}
    loud = calls_of(module) & LOUD_CALLS | {what for what in raised if what.startswith("SystemExit")}
    assert not loud, f"{module} prints or exits: {loud}"
