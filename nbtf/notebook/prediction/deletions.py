"""Finds names that hold memory at a program's peak although nothing uses them later, and where to delete them."""

from __future__ import annotations

import ast
import sys
from collections.abc import Iterator, Mapping, Sequence
from types import FrameType
from typing import Any, NamedTuple, cast

from IPython.core.inputtransformer2 import TransformerManager

from nbtf._frameworks.saved_tensors import saved_tensors
from nbtf.notebook.prediction.changes import Change
from nbtf.notebook.prediction.program import UNLIMITED, Cell, Peak, Program, blank_lines, frames_of_cells, number_of

_MOST = 4
"""Number of names to try, those that hold the most first."""
_SHARE = 0.01
"""Names that hold less than this share of the peak are not tried."""

_LOOPS = ast.For, ast.While
_OTHER_SCOPES = ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef, ast.Lambda


class Holder(NamedTuple):
    """A name that holds memory at the peak, with its bytes and the line that is running in its frame."""

    name: str
    nbytes: int
    cell: int
    line: int
    function: str
    """The function whose local name it is; empty for a name of the notebook."""


def deletions(torch: Any, program: Program, peak: Peak) -> list[Change]:
    """Returns changes that delete a name before the peak, if no later code reads it."""
    holders: list[Holder] = []

    def look(number: int) -> None:
        if number == peak.number:
            for frame in frames_of_cells(sys._getframe(1)):
                holders.extend(_holders(torch, frame))

    program.run(total=UNLIMITED, look=look)
    large = [holder for holder in holders if holder.nbytes >= _SHARE * peak.allocated]
    possible = [_deletion(program.cells, holder) for holder in sorted(large, key=lambda holder: -holder.nbytes)]
    return [change for change in possible if change is not None][:_MOST]


def _holders(torch: Any, frame: FrameType) -> Iterator[Holder]:
    """Yields the names of a frame that lead to device memory, even through lists and autograd graphs."""
    code, is_notebook = frame.f_code, frame.f_locals is frame.f_globals
    if not is_notebook and code.co_name.startswith("<"):
        return  # a comprehension
    number = number_of(code.co_filename)
    for name, value in [*frame.f_locals.items()]:
        if not name.startswith("_"):
            storages = {s.data_ptr(): s.nbytes() for s in _storages(torch, value)}
            yield Holder(name, sum(storages.values()), number, frame.f_lineno, "" if is_notebook else code.co_name)


def _storages(torch: Any, value: Any) -> Iterator[Any]:
    if isinstance(value, torch.Tensor):
        for tensor in (value, *saved_tensors(torch, value).tensors):
            if tensor.is_cuda:
                yield tensor.untyped_storage()
    elif isinstance(value, list | tuple):
        for element in value:  # pyright: ignore[reportUnknownVariableType]
            yield from _storages(torch, element)
    elif isinstance(value, dict):
        for element in value.values():  # pyright: ignore[reportUnknownVariableType]
            yield from _storages(torch, element)


# Where a name can be deleted


class _Step(NamedTuple):
    """A running statement: its block, and its index in the block."""

    block: Sequence[ast.stmt]
    number: int

    @property
    def statement(self) -> ast.stmt:
        return self.block[self.number]


def _deletion(cells: Sequence[Cell], holder: Holder) -> Change | None:
    """Returns the change that deletes a name before the running line, or at the end of a loop around it."""
    trees = {cell.number: tree for cell in cells if (tree := _parsed(cell)) is not None}
    tree = trees.get(holder.cell)
    if tree is None or _is_read_elsewhere(trees, holder):
        return None
    scope = tree.body if not holder.function else _body_of(tree, holder)
    path = [*_path(scope, holder.line)]
    cell = next(cell for cell in cells if cell.number == holder.cell)
    for depth, step in enumerate(path):
        unread = [step.statement, *_following(path[: depth + 1])]
        is_made_later = depth < len(path) - 1 and _stores([step.statement], holder.name)
        if not is_made_later and _is_made_before(path[: depth + 1], holder.name) and not _reads(unread, holder.name):
            return _change(cells, cell, holder.name, step.statement.lineno, step.statement, "before")
    for depth, step in enumerate(path):
        loop, unread = step.statement, _following(path[: depth + 1])
        if isinstance(loop, _LOOPS) and not _reads(unread, holder.name) and _is_made_anew(loop, holder.name):
            end = loop.body[-1].end_lineno or loop.body[-1].lineno
            return _change(cells, cell, holder.name, end + 1, loop.body[0], "at the end of the loop of", loop.lineno)
    return None


def _parsed(cell: Cell) -> ast.Module | None:
    """Returns the syntax tree of a cell, with the line numbers of its execution; None if it is not Python."""
    try:
        return ast.parse(TransformerManager().transform_cell("\n".join(_lines(cell))))
    except SyntaxError:
        return None


def _lines(cell: Cell) -> list[str]:
    return cell.source.splitlines()[blank_lines(cell.source) :]


def _is_read_elsewhere(trees: Mapping[int, ast.Module], holder: Holder) -> bool:
    """Returns whether later cells or functions read a notebook's name, or inner functions read a local name."""
    name = holder.name
    if holder.function:
        inner = [node for node in ast.walk(trees[holder.cell]) if isinstance(node, _OTHER_SCOPES)]
        inside = [each for node in inner for each in ast.walk(node) if each is not node]
        return _reads([node for node in inside if isinstance(node, _OTHER_SCOPES)], name)
    later_cells = [tree for number, tree in trees.items() if number > holder.cell]
    scopes = [node for tree in trees.values() for node in ast.walk(tree) if isinstance(node, _OTHER_SCOPES)]
    return _reads([*later_cells, *scopes], name)


def _body_of(tree: ast.Module, holder: Holder) -> Sequence[ast.stmt]:
    """Returns the body of the innermost function with the holder's name around the line."""
    functions = [
        node
        for node in ast.walk(tree)
        if isinstance(node, ast.FunctionDef)
        and node.name == holder.function
        and node.lineno <= holder.line <= (node.end_lineno or 0)
    ]
    return functions[-1].body if functions else []


def _path(block: Sequence[ast.stmt], line: int) -> Iterator[_Step]:
    """Yields the statements around a line, outermost first."""
    around = [
        _Step(block, number)
        for number, each in enumerate(block)
        if each.lineno <= line <= (each.end_lineno or each.lineno)
    ]
    if len(around) != 1:
        return  # several statements on one line: it is unknown which of them is running
    yield around[0]
    statement = around[0].statement
    if not isinstance(statement, _OTHER_SCOPES):
        for _, field in ast.iter_fields(statement):
            children = cast("list[Any]", field) if isinstance(field, list) else []
            bodies = [child.body for child in children if isinstance(child, ast.ExceptHandler | ast.match_case)]
            for body in (*bodies, [child for child in children if isinstance(child, ast.stmt)]):
                yield from _path(body, line)


def _following(path: Sequence[_Step]) -> list[ast.stmt]:
    """Returns the statements that follow each statement of a path."""
    return [statement for step in path for statement in step.block[step.number + 1 :]]


def _is_made_before(path: Sequence[_Step], name: str) -> bool:
    """Returns whether a name already has its value when the last statement begins, in every iteration of a loop."""
    loops = [depth for depth, step in enumerate(path[:-1]) if isinstance(step.statement, _LOOPS)]
    if not loops:
        return True
    loop: Any = path[loops[-1]].statement
    targets = [loop.target] if isinstance(loop, ast.For) else []
    inside = [statement for step in path[loops[-1] + 1 :] for statement in step.block[: step.number]]
    return _stores([*targets, *inside], name)


def _reads(nodes: Sequence[ast.AST], name: str) -> bool:
    return any(_names(nodes, name, ast.Load | ast.Del))


def _stores(nodes: Sequence[ast.AST], name: str) -> bool:
    return any(_names(nodes, name, ast.Store))


def _names(nodes: Sequence[ast.AST], name: str, context: Any) -> Iterator[bool]:
    """Yields True for each use of a name in the given context; `global` and `nonlocal` count as any use."""
    for root in nodes:
        for node in ast.walk(root):
            if isinstance(node, ast.Name) and node.id == name:
                yield isinstance(node.ctx, context)
            elif isinstance(node, ast.Global | ast.Nonlocal):
                yield name in node.names
            elif isinstance(node, ast.AugAssign) and isinstance(node.target, ast.Name):
                yield node.target.id == name


def _is_made_anew(loop: ast.For | ast.While, name: str) -> bool:
    """Returns whether each iteration assigns a name before reading it."""
    if isinstance(loop, ast.For) and _stores([loop.target], name):
        return True
    test = [loop.test] if isinstance(loop, ast.While) else []
    for statement in loop.body:
        if _reads([*test, statement], name):
            return False
        if _stores([statement], name):
            return True
    return False


def _change(
    cells: Sequence[Cell], cell: Cell, name: str, at: int, like: ast.stmt, position: str, named_line: int | None = None
) -> Change | None:
    """Returns the change that deletes a name on a new line, indented like a statement; None if no line fits."""
    lines = _lines(cell)
    indentation = lines[like.lineno - 1][: like.col_offset]
    if indentation.strip():
        return None  # several statements on one line
    changed = [*lines[: at - 1], f"{indentation}del {name}", *lines[at - 1 :]]
    blank = blank_lines(cell.source)
    source = "\n".join([*cell.source.splitlines()[:blank], *changed])
    title = f"{name} freed {position} cell {cell.number}, line {(named_line or at) + blank}"
    return Change(title, f"del {name}", [each._replace(source=source) if each is cell else each for each in cells])
