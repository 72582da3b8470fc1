"""The floors of docs/architecture.md: a folder says its modules' floor, and imports only go down."""

from __future__ import annotations

import ast
import sys
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).resolve().parent.parent / "scripts"))
from package_imports import EXTENSION, circles, floor_of, imports_of, modules, nodes_of, upward_imports

BASE, DATA, PLANNING = 0, 1, 2
MOST_TOP_MODULES = 8
THIRD_PARTY_OF_LOWER_FLOORS = {"numpy", "pandas"}
OUTSIDE_WORLD = {"io", "os", "pathlib", "shutil", "socket", "subprocess", "tempfile"}
CLOCK_CALLS = {"now", "today", "utcnow"}
LOUD_CALLS = {"print", "exit", "quit", "sys.exit", "os._exit", "sys.stdout.write", "sys.stderr.write"}


def modules_of(*floors: int) -> list[str]:
    return [module for module in modules() if floor_of(module) in floors]


def calls_of(module: str) -> set[str]:
    """Return what a module calls by name, as written: `print`, `sys.exit`, `datetime.now`."""
    return {ast.unparse(node.func) for node in nodes_of(module) if isinstance(node, ast.Call)}


def test_few_modules_lie_beside_the_folders() -> None:
    top = [name for name in modules() if name.count(".") == 1 and modules()[name].name != "__init__.py"]
    assert len(top) <= MOST_TOP_MODULES, f"which folder is each at home in? {top}"


def test_every_package_says_that_it_is_one() -> None:
    folders = {path.parent for path in modules().values()}
    assert not [folder for folder in folders if not (folder / "__init__.py").is_file()]


def test_imports_only_go_down() -> None:
    assert not upward_imports()


def test_no_import_circles() -> None:
    """Circles for annotations alone are listed by `scripts/structure.py` and do no harm."""
    assert not [" -> ".join(circle) for circle in circles(for_types=False)]


@pytest.mark.parametrize("module", modules_of(BASE, DATA, PLANNING))
def test_lower_floors_know_no_sdk_and_no_clock(module: str) -> None:
    roots = {name.split(".")[0] for name in imports_of(module)} - {"planner"}
    foreign = roots - sys.stdlib_module_names - THIRD_PARTY_OF_LOWER_FLOORS
    assert not foreign, f"{module} imports {foreign}"
    readings = {call for call in calls_of(module) if call.rpartition(".")[2] in CLOCK_CALLS}
    assert "time" not in roots and not readings, f"{module} reads the clock: {readings or 'time'}"


@pytest.mark.parametrize("module", modules_of(BASE, PLANNING))
def test_planning_and_base_touch_no_files(module: str) -> None:
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
