"""Describes the operand of a failed op whose device differs from that of the other operands."""

from __future__ import annotations

import ast
import linecache
import re
from collections.abc import Iterator, Sequence
from types import FrameType
from typing import Any

from nbtf._devices.names import short_name
from nbtf._devices.sites import WORDING, Site
from nbtf._frameworks.torch.cards import CARDS
from nbtf._frameworks.torch.frames import user_frame
from nbtf._frameworks.torch.tensor_names import Named, names_of
from nbtf._record.events import Event, OpExecuted
from nbtf._runtime.context import CURRENT

_EVENTS = 20_000
"""Most recorded events that are searched for the line that made a tensor."""


def described(tensor: Any, tensor_class: type[Any], argument: str, caller: FrameType | None) -> str:
    """Returns an operand with its name, its device, and the line that made it if that was recorded.

    An example is `b on CPU:0, made in line 4`.

    Args:
      tensor: the operand.
      tensor_class: `torch.Tensor`.
      argument: the op's name for the operand, for a tensor that no variable leads to.
      caller: frame from which the user's frames are searched.
    """
    names = sorted(names_of(tensor, tensor_class, caller), key=lambda named: named.variable == "self")
    device = short_name(CARDS.of(tensor.device).name)
    for named in names:  # `self` comes last: `model` says more
        site = _made_in(named)
        if site is not None:
            failed, _ = user_frame(caller)
            is_same_file = failed is not None and failed.f_code.co_filename == site[0]
            return f"{named.name} on {device}, made in {f'line {site[1]}' if is_same_file else WORDING.describe(site)}"
    return f"{names[0].name if names else argument} on {device}"


def _made_in(named: Named) -> Site:
    """Returns the last recorded line that made a tensor like this one and assigned it to its name, or to a part of it.

    The recorder knows the line of each op and the shapes of its results; the names show which result the tensor is.
    """
    device, shape = CARDS.of(named.tensor.device).name, tuple(named.tensor.shape)
    dtype = str(named.tensor.dtype).removeprefix("torch.")
    attributes = re.findall(r"\.(\w+)", named.name)
    statements, assigning = _Statements(), dict[Site, bool]()
    for event in _last_events():
        if not isinstance(event, OpExecuted) or event.site is None or event.device != device:
            continue
        if any([(each.shape, each.dtype) == (shape, dtype) for each in event.outputs]):
            if event.site not in assigning:
                assigning[event.site] = statements.assign(event.site, named.variable, attributes)
            if assigning[event.site]:
                return event.site
    return None


def _last_events() -> Iterator[Event]:
    """Yields the last recorded events, the last one first."""
    for _, recorder in CURRENT.context.observers.note_takers:
        yield from reversed(recorder.snapshot(_EVENTS).events)


class _Statements(dict[str, list[ast.stmt]]):
    """The statements of source files, outer ones before inner ones."""

    def __missing__(self, file: str) -> list[ast.stmt]:
        """Reads a file; a cell of a notebook counts as one."""
        try:
            tree = ast.parse("".join(linecache.getlines(file)))
        except SyntaxError:
            tree = ast.Module([], [])
        self[file] = [node for node in ast.walk(tree) if isinstance(node, ast.stmt)]
        return self[file]

    def assign(self, site: tuple[str, int], variable: str, attributes: Sequence[str]) -> bool:
        """Returns whether the statement in a line assigns a variable, or an attribute with one of some names."""
        file, line = site
        around = [each for each in self[file] if _has_line(each, line)]
        targets = [target for statement in around[-1:] for target in _targets(statement)]
        return any(
            [
                (isinstance(node, ast.Name) and node.id == variable)
                or (isinstance(node, ast.Attribute) and node.attr in attributes)
                for target in targets
                for node in ast.walk(target)
            ]
        )


def _has_line(statement: ast.stmt, line: int) -> bool:
    return statement.lineno <= line <= (statement.end_lineno or statement.lineno)


def _targets(statement: ast.stmt) -> list[ast.expr]:
    """Returns what a statement assigns to, other than in place."""
    named = [node.target for node in ast.walk(statement) if isinstance(node, ast.NamedExpr)]
    match statement:
        case ast.Assign(targets=targets):
            return [*targets, *named]
        case ast.AnnAssign(target=target) | ast.For(target=target):
            return [target, *named]
        case ast.With(items=items):
            return [*filter(None, [item.optional_vars for item in items]), *named]
        case _:
            return [*named]
