"""Generates mutants: copies of a file with one small mistake each."""

from __future__ import annotations

import ast
import copy
from collections.abc import Iterator
from dataclasses import dataclass

_COMPARISONS: dict[type[ast.cmpop], type[ast.cmpop]] = {
    ast.Lt: ast.LtE,
    ast.LtE: ast.Lt,
    ast.Gt: ast.GtE,
    ast.GtE: ast.Gt,
    ast.Eq: ast.NotEq,
    ast.NotEq: ast.Eq,
    ast.Is: ast.IsNot,
    ast.IsNot: ast.Is,
    ast.In: ast.NotIn,
    ast.NotIn: ast.In,
}
_ARITHMETIC: dict[type[ast.operator], type[ast.operator]] = {
    ast.Add: ast.Sub,
    ast.Sub: ast.Add,
    ast.Mult: ast.Add,
    ast.Div: ast.Mult,
    ast.FloorDiv: ast.Mult,
    ast.Mod: ast.Add,
    ast.LShift: ast.RShift,
    ast.RShift: ast.LShift,
}


@dataclass(frozen=True, slots=True)
class Mutant:
    """One mistake: the line, what stands there, and what the mutant has instead.

    `lines` are those of the statement; `at_import` says that it runs when the module is imported.
    """

    line: int
    before: str
    after: str
    number: int
    changed: ast.AST
    lines: range
    at_import: bool

    def applied_to(self, source: str) -> ast.Module:
        """Returns the whole file with the mistake; all other code keeps its line numbers."""
        tree = ast.parse(source)
        _replace(tree, self.number, self.changed)
        return ast.fix_missing_locations(tree)


def mutants_of(source: str) -> list[Mutant]:
    """Returns all mutants of a file, in the order of its lines."""
    tree = ast.parse(source)
    statements = dict(_statements(tree, True))
    mutants = [
        Mutant(getattr(node, "lineno", 0), ast.unparse(node), ast.unparse(changed), number, changed, *statements[node])
        for number, node in enumerate(ast.walk(tree))
        if node in statements
        for changed in _changes(node)
    ]
    return sorted(mutants, key=lambda mutant: mutant.line)


def _statements(
    node: ast.AST, at_import: bool, lines: range = range(0)
) -> Iterator[tuple[ast.AST, tuple[range, bool]]]:
    """Yields every node below, with the lines of its statement (or its header, if it has a body) and when it runs."""
    for field, value in ast.iter_fields(node):
        if isinstance(node, ast.keyword) and node.arg in ("strict", "frozen", "slots"):  # they say what never happens
            continue
        inside = isinstance(node, ast.FunctionDef) and field == "body"
        for child in value if isinstance(value, list) else [value]:
            if isinstance(child, ast.stmt):
                body = getattr(child, "body", None)
                end = max(child.lineno, body[0].lineno - 1) if body else child.end_lineno or child.lineno
                covered = range(child.lineno, end + 1)
            else:
                covered = lines
            if isinstance(child, ast.AST):
                yield child, (covered, at_import and not inside)
                yield from _statements(child, at_import and not inside, covered)


def _changes(node: ast.AST) -> Iterator[ast.AST]:
    """Yields replacements for a node: a wrong comparison, number, truth value or arithmetic, or nothing."""
    match node:
        case ast.Compare(ops=[operator, *_]) if type(operator) in _COMPARISONS:
            yield ast.Compare(node.left, [_COMPARISONS[type(operator)](), *node.ops[1:]], node.comparators)
        case ast.BinOp(op=operator) if type(operator) in _ARITHMETIC:
            yield ast.BinOp(node.left, _ARITHMETIC[type(operator)](), node.right)
        case ast.BoolOp(op=operator):
            yield ast.BoolOp(ast.Or() if isinstance(operator, ast.And) else ast.And(), node.values)
        case ast.UnaryOp(op=ast.Not(), operand=operand):
            yield copy.copy(operand)
        case ast.Constant(value=bool() as truth):
            yield ast.Constant(not truth)
        case ast.Constant(value=int() | float() as number):
            yield ast.Constant(number + 1)
        case ast.Return(value=ast.expr() as value) if not (isinstance(value, ast.Constant) and not value.value):
            yield ast.Return(ast.Constant(None))
        case ast.Expr(value=ast.Call()) | ast.AugAssign():
            yield ast.Pass()
        case _:
            pass


def _replace(tree: ast.AST, number: int, changed: ast.AST) -> None:
    """Replaces the `number`-th node in the order of `ast.walk`."""
    target = next(node for count, node in enumerate(ast.walk(tree)) if count == number)
    ast.copy_location(changed, target)
    for parent in ast.walk(tree):
        for field, value in ast.iter_fields(parent):
            if value is target:
                setattr(parent, field, changed)
                return
            if isinstance(value, list) and any(item is target for item in value):
                value[:] = [changed if item is target else item for item in value]
                return
