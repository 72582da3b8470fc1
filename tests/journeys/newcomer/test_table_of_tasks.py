"""docs/questions.md has a row for each task tested here."""

from __future__ import annotations

import ast
import re
from pathlib import Path

HERE = Path(__file__).parent
PAGE = HERE.parents[2] / "docs" / "questions.md"
NOT_A_TASK = {"test_the_first_screen_is_a_screen", "test_each_task_is_a_row_and_a_test"}


def test_each_task_is_a_row_and_a_test() -> None:
    trees = [ast.parse(path.read_text("utf-8")) for path in sorted(HERE.glob("test_*.py"))]
    tests = [node.name for tree in trees for node in tree.body if isinstance(node, ast.FunctionDef)]
    rows = re.findall(r"`(test_\w+)` \|$", PAGE.read_text("utf-8"), re.MULTILINE)
    assert sorted(rows) == sorted({name for name in tests if name.startswith("test_")} - NOT_A_TASK)
