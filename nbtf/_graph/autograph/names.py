"""Finds the names that a piece of a function reads and binds, and those that are read afterwards."""

from __future__ import annotations

import ast
from collections import Counter
from collections.abc import Iterable, Sequence

Scope = ast.FunctionDef | ast.AsyncFunctionDef | ast.Lambda
Branching = ast.If | ast.While | ast.For

_COMPREHENSIONS = (ast.ListComp, ast.SetComp, ast.DictComp, ast.GeneratorExp)


class _Names(ast.NodeVisitor):
    """Collects the names of one scope, and of scopes inside it the names that they use from outside."""

    def __init__(self) -> None:
        self.reads: set[str] = set()
        self.binds: set[str] = set()
        self.declared: set[str] = set()
        """Names declared `global` or `nonlocal`."""
        self.captures: Counter[str] = Counter()
        """Names that inner functions read later."""

    def visit(self, node: ast.AST) -> None:
        """Collects the names of a node."""
        match node:
            case ast.Name():
                (self.reads if isinstance(node.ctx, ast.Load) else self.binds).add(node.id)
                return
            case ast.Global() | ast.Nonlocal():
                self.declared.update(node.names)
            case ast.FunctionDef() | ast.AsyncFunctionDef() | ast.ClassDef():
                self.binds.add(node.name)
                return self._visit_scope(node)
            case ast.Lambda() | ast.ListComp() | ast.SetComp() | ast.DictComp() | ast.GeneratorExp():
                return self._visit_scope(node)
            case ast.AugAssign(target=ast.Name(id=name)):
                self.reads.add(name)
            case ast.alias():
                self.binds.add(node.asname or node.name.partition(".")[0])
            case ast.ExceptHandler(name=str(name)) | ast.MatchAs(name=str(name)) | ast.MatchStar(name=str(name)):
                self.binds.add(name)
            case ast.MatchMapping(rest=str(name)):
                self.binds.add(name)
            case _:
                pass
        self.generic_visit(node)

    def _visit_scope(self, node: ast.AST) -> None:
        """Collects the names that an inner scope uses from outside."""
        inner = _Names()
        for child in ast.iter_child_nodes(node):
            inner.visit(child)
        parameters = parameters_of(node) if isinstance(node, Scope) else set[str]()
        free = (inner.reads | inner.declared) - ((inner.binds | parameters) - inner.declared)
        self.reads |= free
        if isinstance(node, _COMPREHENSIONS):
            walruses = [item.target.id for item in ast.walk(node) if isinstance(item, ast.NamedExpr)]
            self.binds.update(walruses)
        else:
            self.captures.update(free)


def names_of(*nodes: ast.AST | None) -> _Names:
    """Returns the names in pieces of a function."""
    names = _Names()
    for node in nodes:
        if node is not None:
            names.visit(node)
    return names


def reads_of(*nodes: ast.AST | None) -> set[str]:
    """Returns the names that pieces of a function read."""
    return names_of(*nodes).reads


def parameters_of(node: Scope) -> set[str]:
    """Returns the names of a function's parameters."""
    return {item.arg for item in ast.walk(node.args) if isinstance(item, ast.arg)}


class Liveness:
    """Determines, from the end of a function to its start, which names are read after each branch and loop."""

    def __init__(self, body: Sequence[ast.stmt]) -> None:
        """Analyses a function's statements."""
        names = names_of(*body)
        self.declared = names.declared
        self._captures = names.captures
        self._read_by_handlers: set[str] = set()
        self._after: dict[int, set[str]] = {}
        self._before: dict[int, set[str]] = {}
        self._walk(body, set())

    def live_after(self, node: Branching) -> set[str]:
        """Returns the names that may be read after a branch or loop, including those that functions outside it read."""
        outside = self._captures - names_of(node).captures
        return self._after[id(node)] | {*outside} | self.declared

    def live_before(self, node: Branching) -> set[str]:
        """Returns the names whose earlier values may be read in or after a branch or loop."""
        return self._before[id(node)]

    def _walk(self, body: Iterable[ast.stmt], live: set[str]) -> set[str]:
        """Returns the names that are live before statements, given those that are live after them."""
        for statement in reversed([*body]):
            self._after[id(statement)] = live
            live = self._through(statement, live) | self._read_by_handlers
            self._before[id(statement)] = live
        return live

    def _through(self, node: ast.stmt, live: set[str]) -> set[str]:
        match node:
            case ast.If():
                return reads_of(node.test) | self._walk(node.body, live) | self._walk(node.orelse, live)
            case ast.While():
                return self._loop(node, live | reads_of(node.test), set())
            case ast.For() | ast.AsyncFor():
                return self._loop(node, live, names_of(node.target).binds) | reads_of(node.iter, node.target)
            case ast.With() | ast.AsyncWith():
                live = self._walk(node.body, live)
                return (live - names_of(*node.items).binds) | reads_of(*node.items)
            case ast.Try() | ast.TryStar():
                return self._through_try(node, live)
            case ast.Match():
                inner = [self._walk(case.body, live) for case in node.cases]
                return live.union(*inner) | reads_of(node.subject, *[case.guard for case in node.cases])
            case ast.Return() | ast.Raise():
                return reads_of(node)
            case _:
                names = names_of(node)
                return (live - names.binds) | names.reads

    def _loop(self, node: ast.For | ast.AsyncFor | ast.While, live: set[str], target: set[str]) -> set[str]:
        live = live | {*getattr(node, "exits", ())}
        live_at_start: set[str] = set()
        for _ in range(2):
            live_at_start = self._walk(node.body, live | live_at_start) - target
        return live | live_at_start

    def _through_try(self, node: ast.Try | ast.TryStar, live: set[str]) -> set[str]:
        live = self._walk(node.finalbody, live)
        handlers = [reads_of(handler.type) | self._walk(handler.body, live) for handler in node.handlers]
        outer = self._read_by_handlers
        self._read_by_handlers = outer.union(live, *handlers)
        live = self._walk(node.body, self._walk(node.orelse, live))
        self._read_by_handlers = outer
        return live
