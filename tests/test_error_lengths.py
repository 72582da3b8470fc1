"""The first line of every error in the program's source fits in a terminal of 100 columns."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from pathlib import Path
from typing import Final

import planner
from planner import errors

PACKAGE: Final = Path(planner.__file__).parent
RAISED: Final = {name for name, value in vars(errors).items() if isinstance(value, type)} | {"bad_input"}
MOST: Final = 100
A_VALUE: Final = "x" * 8
"""Placeholder for a formatted value; a user's path may be longer, and so may the line."""


def worded(node: ast.expr) -> str | None:
    """Return the text as the source has it, or None if it is computed."""
    match node:
        case ast.Constant(value=str(text)):
            return text
        case ast.JoinedStr(values=parts):
            return "".join(str(part.value) if isinstance(part, ast.Constant) else A_VALUE for part in parts)
        case ast.IfExp(body=one, orelse=other):
            return max((worded(one) or "", worded(other) or ""), key=len)
        case ast.BinOp(left=one, op=ast.Add(), right=other):
            return (worded(one) or A_VALUE) + (worded(other) or A_VALUE)
        case _:
            return None


def first_lines(source: str) -> Iterator[tuple[int, str]]:
    """Yield the line number and first line of each error in a module."""
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id in RAISED and node.args:
            text = worded(node.args[0])
            if text is not None:
                yield node.lineno, text.split("\n")[0]


def test_first_lines_are_short() -> None:
    found = [(path.relative_to(PACKAGE), line, text) for path in sorted(PACKAGE.rglob("*.py"))
             for line, text in first_lines(path.read_text(encoding="utf-8"))]  # fmt: skip
    assert len(found) > 800
    assert [f"{path}:{line}: {text}" for path, line, text in found if len(text) > MOST] == []


def test_a_long_line_would_be_found() -> None:
    source = (
        'raise BadInputError(f"{path}: ' + "y" * MOST + '\\n  next")\nraise IoFailureError("a\\n' + "y" * 200 + '")'
    )
    assert [len(text) > MOST for _, text in first_lines(source)] == [True, False]
