"""Every module has a test file of its own name, or `tests/journeys.toml` names the journeys that cover it."""

from __future__ import annotations

import sys
import tomllib
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent.parent / "scripts"))
from package_imports import CHECKOUT, modules

TABLE = CHECKOUT / "tests" / "journeys.toml"
JOURNEYS: dict[str, list[str]] = tomllib.loads(TABLE.read_text(encoding="utf-8"))
MODULES = sorted(name for name, path in modules().items() if path.name != "__init__.py")


def own_test(module: str) -> Path:
    """Return where a module's own test file would be: `planner.a.b` has tests/a/test_b.py."""
    _, *folders, name = module.split(".")
    return CHECKOUT.joinpath("tests", *folders, f"test_{name}.py")


def test_a_module_has_its_own_test_or_a_journey() -> None:
    untested = [module for module in MODULES if module not in JOURNEYS and not own_test(module).is_file()]
    assert not untested, "write tests of their own, or name their journeys in tests/journeys.toml"


def test_the_table_names_only_modules_without_a_test_of_their_own() -> None:
    assert not sorted(JOURNEYS.keys() - set(MODULES)), "no such modules"
    assert not [module for module in JOURNEYS if own_test(module).is_file()], "these have tests of their own"


def test_the_journeys_exist() -> None:
    assert not [module for module, journeys in JOURNEYS.items() if not journeys]
    missing = {name for journeys in JOURNEYS.values() for name in journeys if not (CHECKOUT / name).is_file()}
    assert not missing


def test_the_table_is_sorted() -> None:
    assert list(JOURNEYS) == sorted(JOURNEYS)
    assert all(journeys == sorted(set(journeys)) for journeys in JOURNEYS.values())


def test_own_test_mirrors_the_folders() -> None:
    assert own_test("planner.units") == CHECKOUT / "tests" / "test_units.py"
    assert own_test("planner.report.page.drawing") == CHECKOUT / "tests" / "report" / "page" / "test_drawing.py"
