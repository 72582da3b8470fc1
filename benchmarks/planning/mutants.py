"""One-line changes of a module: an operator, a number, a comparison or a condition turned.

Changes that mean the same by construction are not made: how often a loop that converges is repeated, how large a cache
is, by how little two numbers may differ to count as equal and on which side of that the border lies, whether unknown
numbers are added or subtracted to ask if all are known, what a type annotation says.
"""

from __future__ import annotations

import ast
import copy
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

CHECKOUT = Path(__file__).resolve().parent.parent.parent
COMPARISONS = {ast.Lt: ast.LtE, ast.LtE: ast.Lt, ast.Gt: ast.GtE, ast.GtE: ast.Gt, ast.Eq: ast.NotEq, ast.NotEq: ast.Eq}
OPERATORS = {ast.Add: ast.Sub, ast.Sub: ast.Add, ast.Mult: ast.Div, ast.Div: ast.Mult}
FUNCTIONS = {"minimum": "maximum", "maximum": "minimum", "min": "max", "max": "min", "fmax": "fmin", "fmin": "fmax"}
ROUNDING = 1e-6
"""Below this a number only says when two amounts are alike but for rounding."""

Function = ast.FunctionDef | ast.AsyncFunctionDef


@dataclass(frozen=True)
class Mutant:
    """One change of `path`: the `position` of its node in `ast.walk`, its line, and the code before and after.

    `function` is the outermost function whose body has it, dotted from the module; "" for a line that runs at import.
    `names` are what such a line defines.
    """

    path: str
    position: int
    line: int
    before: str
    after: str
    function: str
    names: tuple[str, ...]

    @property
    def module(self) -> str:
        """The module's dotted name."""
        return ".".join(Path(self.path).with_suffix("").parts)

    def tree(self) -> ast.Module:
        """Return the module's syntax tree with the change in it; its lines are those of the file."""
        tree = ast.parse((CHECKOUT / self.path).read_text("utf-8"))
        _change(list(ast.walk(tree))[self.position])
        return tree


def mutants_of(path: Path) -> Iterator[Mutant]:
    """Yield every mutant of a file."""
    tree = ast.parse(path.read_text("utf-8"))
    equal = {id(node) for root in _without_meaning(tree) for node in ast.walk(root)} | _about_rounding(tree)
    places = dict(_places(tree))
    for position, node in enumerate(ast.walk(tree)):
        if id(node) in equal or not _can_change(node):
            continue
        before, changed = ast.unparse(node), copy.deepcopy(node)
        _change(changed)
        if (after := ast.unparse(changed)) != before:
            function, names = places[id(node)]
            yield Mutant(str(path.relative_to(CHECKOUT)), position, node.lineno, before, after, function, names)


def _without_meaning(tree: ast.Module) -> Iterator[ast.AST]:
    for node in ast.walk(tree):
        if isinstance(node, Function):
            yield from (*node.decorator_list, *filter(None, [node.returns]))
        elif isinstance(node, ast.arg | ast.AnnAssign) and node.annotation:
            yield node.annotation
        elif isinstance(node, ast.For) and getattr(node.target, "id", "") == "_":
            yield node.iter
        elif isinstance(node, ast.Call) and _called(node) in ("isnan", "isfinite"):
            yield from (argument for argument in node.args if isinstance(argument, ast.BinOp))


def _about_rounding(tree: ast.Module) -> set[int]:
    """Return the ids of numbers that only allow for rounding, and of the sums, products and comparisons with them."""
    tiny = {
        name
        for statement in tree.body
        if isinstance(statement, ast.Assign | ast.AnnAssign) and _is_tiny(statement.value)
        for name in _defined(statement)
    }

    def about(node: ast.AST) -> bool:
        return any(_is_tiny(part) or getattr(part, "id", "") in tiny for part in ast.walk(node))

    exact = ast.BinOp | ast.Compare | ast.Constant
    return {id(node) for node in ast.walk(tree) if isinstance(node, exact) and about(node)}


def _is_tiny(node: ast.AST | None) -> bool:
    return isinstance(node, ast.Constant) and isinstance(node.value, float) and 0 < node.value <= ROUNDING


def _places(tree: ast.Module) -> Iterator[tuple[int, tuple[str, tuple[str, ...]]]]:
    """Yield, by a node's id, the outermost function that it runs in and the names that its statement defines."""
    for statement in tree.body:
        yield from _placed(statement, "")


def _placed(statement: ast.stmt, prefix: str) -> Iterator[tuple[int, tuple[str, tuple[str, ...]]]]:
    names = _defined(statement)
    for node in ast.walk(statement):
        yield id(node), ("", names)
    if isinstance(statement, Function):
        for node in (inner for part in statement.body for inner in ast.walk(part)):
            yield id(node), (prefix + statement.name, names)
    if isinstance(statement, ast.ClassDef):
        for part in statement.body:
            for node, (function, inner) in _placed(part, f"{prefix}{statement.name}."):
                yield node, (function, (*names, *inner))


def _defined(statement: ast.stmt) -> tuple[str, ...]:
    if isinstance(statement, Function | ast.ClassDef):
        return (statement.name,)
    targets = statement.targets if isinstance(statement, ast.Assign) else [getattr(statement, "target", None)]
    return tuple(node.id for target in targets if target for node in ast.walk(target) if isinstance(node, ast.Name))


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


def _change(node: ast.AST) -> None:
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
        _rename(node.func, FUNCTIONS[_called(node)])
    elif isinstance(node, ast.UnaryOp):
        _turn(node)


def _rename(function: ast.expr, name: str) -> None:
    if isinstance(function, ast.Attribute):
        function.attr = name
    elif isinstance(function, ast.Name):
        function.id = name


def _turn(node: ast.UnaryOp) -> None:
    """Turn `-x` into `+x`, and `not x` into `not not x`: the tree keeps its shape, the meaning turns."""
    if isinstance(node.op, ast.USub):
        node.op = ast.UAdd()
    else:
        node.operand = ast.copy_location(ast.UnaryOp(op=copy.copy(node.op), operand=node.operand), node)
