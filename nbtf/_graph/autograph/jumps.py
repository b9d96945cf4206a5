"""Turns `break`, `continue` and `return` inside branches and loops into flags, so that a block has a single exit."""

from __future__ import annotations

import ast
from collections.abc import Sequence
from typing import Any

RETURNED = "ag__returned"
"""The variable that is set by `return`."""
RESULT = "ag__result"
"""The variable that holds the returned value."""

Block = list[ast.stmt]


def lower_jumps(body: Block) -> Block:
    """Returns a function's statements without `break` and `continue`, and with one `return` at the end.

    A loop with flags lists them in `exits`: it ends when one is set. Statements after `if ...: return` move into the
    other branch; statements after other jumps are guarded by their flags.
    """
    lowers_returns = any([_has_return(statement) for statement in body if not isinstance(statement, ast.Return)])
    jumps = _Jumps(lowers_returns)
    if not lowers_returns:
        return jumps.lower(body)[0]
    lowered, flags = jumps.lower(_join_branches(body))
    start = [_assign(RETURNED, False, body[0])] if RETURNED in flags else []
    return [*start, *lowered, _at(ast.parse(f"return ag__.returned(lambda: {RESULT})").body[0], body[-1])]


def _has_return(node: ast.AST) -> bool:
    if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef | ast.Lambda):
        return False
    return isinstance(node, ast.Return) or any([_has_return(child) for child in ast.iter_child_nodes(node)])


def _join_branches(body: Sequence[ast.stmt]) -> Block:
    """Moves the statements after a branch that returns into the other branch."""
    for number, statement in enumerate(body):
        for field, block in blocks_of(statement):
            setattr(statement, field, _join_branches(block))
        following = body[number + 1 :]
        if isinstance(statement, ast.If) and following:
            ends = _returns(statement.body), _returns(statement.orelse)
            if ends == (True, False):
                statement.orelse = _join_branches([*statement.orelse, *following])
                return [*body[: number + 1]]
            if ends == (False, True):
                statement.body = _join_branches([*statement.body, *following])
                return [*body[: number + 1]]
    return [*body]


def _returns(body: Sequence[ast.stmt]) -> bool:
    """Returns whether a block returns in every case."""
    match body[-1] if body else None:
        case ast.Return():
            return True
        case ast.If() as branch:
            return _returns(branch.body) and _returns(branch.orelse)
        case ast.With() as block:
            return _returns(block.body)
        case _:
            return False


def blocks_of(node: ast.AST) -> list[tuple[str, Block]]:
    """Returns the blocks of a statement by field; none for functions and classes."""
    if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef):
        return []
    return [(field, getattr(node, field)) for field in ("body", "orelse", "finalbody") if getattr(node, field, None)]


class _Jumps:
    """Rewrites blocks, and collects the flags that each may set."""

    def __init__(self, lowers_returns: bool) -> None:
        self._lowers_returns = lowers_returns
        self._loops: list[int] = []
        self._count = 0

    def lower(self, body: Sequence[ast.stmt]) -> tuple[Block, set[str]]:
        """Returns a block without jumps, and the flags it may set."""
        lowered: Block = []
        for number, statement in enumerate(body):
            statements, flags = self._lower_statement(statement)
            lowered += statements
            if flags:
                following, flags_after = self.lower(body[number + 1 :])
                if following:
                    lowered.append(_at(ast.If(_none_of(flags), following, []), following[0]))
                return lowered, flags | flags_after
        return lowered, set()

    def _lower_statement(self, node: ast.stmt) -> tuple[Block, set[str]]:
        match node:
            case ast.Break() | ast.Continue():
                flag = self._flag("break" if isinstance(node, ast.Break) else "continue")
                return [_assign(flag, True, node)], {flag}
            case ast.Return() if self._lowers_returns:
                result = ast.Assign([ast.Name(RESULT, ast.Store())], node.value or ast.Constant(None))
                return [_at(result, node), _assign(RETURNED, True, node)], {RETURNED}
            case ast.For() | ast.While():
                return self._lower_loop(node)
            case _:
                return [node], self._lower_blocks(node)

    def _lower_blocks(self, node: Any) -> set[str]:
        flags: set[str] = set()
        for field, block in blocks_of(node):
            lowered, flags_inside = self.lower(block)
            setattr(node, field, lowered)
            flags |= flags_inside
        for clause in [*getattr(node, "handlers", ()), *getattr(node, "cases", ())]:
            flags |= self._lower_blocks(clause)
        return flags

    def _flag(self, jump: str) -> str:
        return f"ag__{jump}_{self._loops[-1]}"

    def _lower_loop(self, node: ast.For | ast.While) -> tuple[Block, set[str]]:
        self._count += 1
        self._loops.append(self._count)
        body, flags = self.lower(node.body)
        ends, skips = self._flag("break"), self._flag("continue")
        self._loops.pop()
        otherwise, flags_inside = self.lower(node.orelse)
        exits = sorted(flags - {skips})
        node.body = [_assign(skips, False, node), *body] if skips in flags else body
        node.orelse = []
        node.exits = exits  # pyright: ignore[reportAttributeAccessIssue]  # an attribute that only `rewriting` reads
        lowered: Block = [_assign(ends, False, node), node] if ends in flags else [node]
        if otherwise and exits:
            lowered.append(_at(ast.If(_none_of(exits), otherwise, []), otherwise[0]))
        else:
            lowered += otherwise
        return lowered, (flags - {ends, skips}) | flags_inside


def _assign(name: str, value: bool, origin: ast.stmt) -> ast.stmt:
    return _at(ast.Assign([ast.Name(name, ast.Store())], ast.Constant(value)), origin)


def _none_of(flags: Sequence[str] | set[str]) -> ast.expr:
    return none_of(sorted(flags))


def none_of(flags: Sequence[str]) -> ast.expr:
    """Returns an expression that tests that no flag is set."""
    tests: list[ast.expr] = [ast.UnaryOp(ast.Not(), ast.Name(flag, ast.Load())) for flag in flags]
    return tests[0] if len(tests) == 1 else ast.BoolOp(ast.And(), tests)


def _at(node: Any, origin: ast.AST) -> Any:
    """Gives a new statement the position of another one."""
    for inner in ast.walk(node):
        if "lineno" in inner._attributes and not hasattr(inner, "lineno"):
            ast.copy_location(inner, origin)
    return ast.copy_location(node, origin)
