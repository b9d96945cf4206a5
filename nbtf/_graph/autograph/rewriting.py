"""Rewrites a function so that its branches, loops and calls go through `operators`.

    if test: A else: B     ->  ag__.if_stmt(test, then, otherwise, state, live)
    while test: A          ->  ag__.while_stmt(test, body, state, options)
    for x in values: A     ->  ag__.for_stmt(values, body, more, state, options)
    a and b, not a         ->  ag__.and_(lambda: a, lambda: b), ag__.not_(a)
    a if test else b       ->  ag__.if_exp(test, lambda: a, lambda: b)
    f(x)                   ->  ag__.converted(f)(x)

Blocks become inner functions, so the variables that they change are cells. `state` is a lambda that reads them; through
its closure a loop or branch saves and sets them. New statements keep the line numbers of the old ones.
"""

from __future__ import annotations

import ast
from collections.abc import Iterable, Sequence
from typing import Any, cast

from nbtf._graph.autograph.jumps import lower_jumps, none_of
from nbtf._graph.autograph.names import Branching, Liveness, names_of, parameters_of

OPERATORS = "ag__"
"""The name of the functions of `operators.py` in converted functions."""

_LEFT_ALONE = frozenset({"locals", "globals", "vars", "dir", "eval", "exec"})
"""Functions that inspect the frame of their caller."""

_BARRED = (ast.NamedExpr, ast.Await, ast.Yield, ast.YieldFrom)
"""Expressions that mean something else inside a lambda."""


def rewrite(function: ast.FunctionDef | ast.Lambda) -> ast.FunctionDef | ast.Lambda:
    """Returns a function with its control flow rewritten; the tree is changed in place."""
    rewriter = _Rewriter()
    return rewriter.rewrite_lambda(function) if isinstance(function, ast.Lambda) else rewriter.rewrite(function)


def _template(text: str, origin: ast.AST, **nodes: Any) -> Any:
    """Returns a statement parsed from a template, with nodes (or a block for an expression) in place of names."""
    tree = ast.parse(text).body
    nodes_of_tree: list[Any] = [item for statement in tree for item in ast.walk(statement)]
    for node in nodes_of_tree:
        for field, value in ast.iter_fields(node):
            setattr(node, field, _filled(value, nodes))
        if "lineno" in node._attributes:
            ast.copy_location(node, origin)
            node.end_lineno, node.end_col_offset = node.lineno, node.col_offset + 1  # a traceback shows the last line
    return tree


def _filled(value: Any, nodes: dict[str, Any]) -> Any:
    if isinstance(value, ast.Name) and value.id in nodes:
        return nodes[value.id]
    if isinstance(value, list):
        items: list[Any] = []
        for item in cast("list[Any]", value):
            block = nodes.get(item.value.id) if _is_mark(item) else None
            items += block if isinstance(block, list) else [_filled(item, nodes)]
        return items
    return value


def _is_mark(item: Any) -> bool:
    return isinstance(item, ast.Expr) and isinstance(item.value, ast.Name)


class _Rewriter(ast.NodeTransformer):
    """Rewrites one function and its inner functions."""

    def __init__(self) -> None:
        self._liveness = Liveness([])
        self._first_parameter: str | None = None
        self._globals: set[str] = set()

    # Functions

    def rewrite(self, node: ast.FunctionDef) -> ast.FunctionDef:
        """Rewrites a function with statements."""
        body = lower_jumps(node.body)
        self._liveness = Liveness(body)
        self._first_parameter = next((item.arg for item in [*node.args.posonlyargs, *node.args.args]), None)
        self._globals = {name for item in body for inner in ast.walk(item) for name in _globals_of(inner)}
        bound = names_of(*body).binds - self._liveness.declared - parameters_of(node)
        node.body = _with_docstring([*_bindings(bound, node.body[0]), *self._visit_block(body)], node)
        return node

    def rewrite_lambda(self, node: ast.Lambda) -> ast.Lambda:
        """Rewrites a lambda."""
        node.body = self.visit(node.body)
        return node

    def visit_FunctionDef(self, node: ast.FunctionDef) -> ast.FunctionDef:
        """Rewrites an inner function, which has its own names; its decorators and defaults belong to this function."""
        node.decorator_list = [self.visit(item) for item in node.decorator_list]
        if not _is_generator(node):
            _Rewriter().rewrite(node)
        return node

    def visit_AsyncFunctionDef(self, node: ast.AsyncFunctionDef) -> ast.AsyncFunctionDef:
        """Leaves a coroutine unchanged."""
        return node

    def visit_ClassDef(self, node: ast.ClassDef) -> ast.ClassDef:
        """Leaves a class unchanged; its methods are converted when they are called."""
        return node

    def _visit_block(self, body: Sequence[ast.stmt]) -> list[ast.stmt]:
        statements: list[ast.stmt] = []
        for statement in body:
            visited = self.visit(statement)
            statements += visited if isinstance(visited, list) else [visited]
        return statements

    # Branches and loops

    def visit_If(self, node: ast.If) -> list[ast.stmt]:
        """Rewrites a branch."""
        names, live = self._state(node)
        return _template(
            "def ag__then():\n PART_THEN\n"
            "def ag__otherwise():\n PART_OTHERWISE\n"
            "ag__.if_stmt(TEST, ag__then, ag__otherwise, STATE, LIVE)",
            node,
            PART_THEN=self._block(node.body, names, node),
            PART_OTHERWISE=self._block(node.orelse, names, node),
            TEST=self.visit(node.test),
            STATE=self._state_of(names, node),
            LIVE=ast.Tuple([ast.Constant(name) for name in sorted(live)], ast.Load()),
        )

    def visit_While(self, node: ast.While) -> list[ast.stmt]:
        """Rewrites a loop with a condition."""
        names, _ = self._state(node)
        options, body = _without_options(node.body)
        exits: list[str] = getattr(node, "exits", [])
        test = ast.BoolOp(ast.And(), [none_of(exits), node.test]) if exits else node.test
        test = ast.fix_missing_locations(ast.copy_location(test, node.test))
        return _template(
            "def ag__test():\n return TEST\n"
            "def ag__body():\n PART_BODY\n"
            "ag__.while_stmt(ag__test, ag__body, STATE, OPTIONS)",
            node,
            TEST=self.visit(test),
            PART_BODY=self._block(body, names, node),
            STATE=self._state_of(names, node),
            OPTIONS=self.visit(options),
        )

    def visit_For(self, node: ast.For) -> list[ast.stmt]:
        """Rewrites a loop over values."""
        names, _ = self._state(node)
        options, body = _without_options(node.body)
        item = _template("ITEM = ag__item", node, ITEM=node.target)
        exits: list[str] = getattr(node, "exits", [])
        goes_on = none_of(exits) if exits else None
        goes_on = None if goes_on is None else ast.fix_missing_locations(ast.copy_location(goes_on, node))
        return _template(
            "def ag__body(ag__item):\n PART_BODY\nag__.for_stmt(VALUES, ag__body, MORE, STATE, OPTIONS)",
            node,
            VALUES=self.visit(node.iter),
            PART_BODY=self._block([*item, *body], names, node),
            MORE=ast.Constant(None) if goes_on is None else _lambda(self.visit(goes_on)),
            STATE=self._state_of(names, node),
            OPTIONS=self.visit(options),
        )

    def _state(self, node: Branching) -> tuple[set[str], set[str]]:
        """Returns the variables that a statement changes and that are live before or after it, and those after it."""
        changes = names_of(node).binds
        live = self._liveness.live_after(node)
        return changes & (self._liveness.live_before(node) | live), changes & live

    def _state_of(self, names: set[str], node: ast.AST) -> ast.expr:
        """Returns the lambda that reads variables and the attributes and items that are set."""
        read = [ast.Name(name, ast.Load()) for name in sorted(names - self._globals)]
        nodes = [_lambda(ast.Tuple([*read], ast.Load())), *_containers(node)]
        return ast.Tuple([*nodes], ast.Load())

    def _block(self, body: Sequence[ast.stmt], names: set[str], node: ast.AST) -> list[ast.stmt]:
        """Returns the statements of a block as the body of an inner function."""
        binds = names_of(*body).binds
        global_names, shared = sorted(binds & self._globals), sorted((binds & names) - self._globals)
        declarations: list[ast.stmt] = []
        if global_names:
            declarations.append(ast.copy_location(ast.Global(global_names), node))
        if shared:
            declarations.append(ast.copy_location(ast.Nonlocal(shared), node))
        inner = _bindings(binds - names - self._globals - self._liveness.declared, node)
        block = [*declarations, *inner, *self._visit_block(body)]
        return block or [ast.copy_location(ast.Pass(), node)]

    def visit_Global(self, node: ast.Global | ast.Nonlocal) -> ast.stmt:
        """Keeps a declaration."""
        return node

    def visit_AnnAssign(self, node: ast.AnnAssign) -> ast.stmt:
        """Drops the annotation of a variable, since a block shares the variable with its function."""
        self.generic_visit(node)
        if not isinstance(node.target, ast.Name):
            return node
        plain = ast.Pass() if node.value is None else ast.Assign([node.target], node.value)
        return ast.fix_missing_locations(ast.copy_location(plain, node))

    # Expressions

    def visit_BoolOp(self, node: ast.BoolOp) -> ast.expr:
        """Rewrites `and` and `or`."""
        if _bars_lambdas(node):
            return node
        name = "and_" if isinstance(node.op, ast.And) else "or_"
        return _call(name, [_lambda(self.visit(value)) for value in node.values], node)

    def visit_UnaryOp(self, node: ast.UnaryOp) -> ast.expr:
        """Rewrites `not`."""
        operand = self.visit(node.operand)
        if isinstance(node.op, ast.Not):
            return _call("not_", [operand], node)
        node.operand = operand
        return node

    def visit_IfExp(self, node: ast.IfExp) -> ast.expr:
        """Rewrites `a if test else b`."""
        if _bars_lambdas(node.body) or _bars_lambdas(node.orelse):
            return node
        branches = [_lambda(self.visit(node.body)), _lambda(self.visit(node.orelse))]
        return _call("if_exp", [self.visit(node.test), *branches], node)

    def visit_Compare(self, node: ast.Compare) -> ast.expr:
        """Rewrites `a < b < c` if reading `b` twice is harmless."""
        middle = node.comparators[:-1]
        if not middle or not all([isinstance(item, ast.Name | ast.Constant) for item in middle]):
            self.generic_visit(node)
            return node
        left = [node.left, *middle]
        pairs = [
            ast.copy_location(ast.Compare(a, [compare], [b]), node)
            for a, compare, b in zip(left, node.ops, node.comparators, strict=True)
        ]
        return self.visit(ast.copy_location(ast.BoolOp(ast.And(), [*pairs]), node))

    def visit_Call(self, node: ast.Call) -> ast.expr:
        """Rewrites a call, so that the called function is converted as well."""
        name = node.func.id if isinstance(node.func, ast.Name) else ""
        if name == "super" and not node.args:
            names = ["__class__", self._first_parameter or "self"]
            node.args = [ast.copy_location(ast.Name(item, ast.Load()), node) for item in names]
            return node
        self.generic_visit(node)
        if name in _LEFT_ALONE:
            return node
        node.func = _call("converted", [node.func], node.func)
        return node


def _globals_of(node: ast.AST) -> Iterable[str]:
    return node.names if isinstance(node, ast.Global) else ()


def _is_generator(node: ast.FunctionDef) -> bool:
    pending: list[ast.AST] = [*node.body]
    while pending:
        item = pending.pop()
        if isinstance(item, ast.Yield | ast.YieldFrom):
            return True
        if not isinstance(item, ast.FunctionDef | ast.Lambda | ast.ClassDef | ast.GeneratorExp):
            pending += ast.iter_child_nodes(item)
    return False


def _with_docstring(body: list[ast.stmt], node: ast.FunctionDef) -> list[ast.stmt]:
    """Puts declarations first, as Python requires; a docstring after them is harmless."""
    declarations = [item for item in body if isinstance(item, ast.Global | ast.Nonlocal)]
    return [*declarations, *[item for item in body if item not in declarations]] or [
        ast.copy_location(ast.Pass(), node)
    ]


def _bindings(names: set[str], origin: ast.AST) -> list[ast.stmt]:
    """Returns a statement that makes names local to a function without assigning values."""
    if not names:
        return []
    targets = ast.Tuple([ast.Name(name, ast.Store()) for name in sorted(names)], ast.Store())
    return _template("if False:\n TARGETS = ()", origin, TARGETS=targets)


def _lambda(body: ast.expr) -> ast.Lambda:
    empty = ast.arguments(posonlyargs=[], args=[], kwonlyargs=[], kw_defaults=[], defaults=[])
    return ast.Lambda(empty, body)


def _call(name: str, arguments: Sequence[ast.expr], origin: ast.AST) -> ast.expr:
    function = ast.Attribute(ast.Name(OPERATORS, ast.Load()), name, ast.Load())
    return ast.fix_missing_locations(ast.copy_location(ast.Call(function, [*arguments], []), origin))


def _bars_lambdas(node: ast.AST) -> bool:
    return any([isinstance(item, _BARRED) for item in ast.walk(node)])


def _containers(node: ast.AST) -> list[ast.expr]:
    """Returns the readers and writers of the attributes and items that a statement sets: `a.b`, `a["k"]`."""
    rebound = names_of(node).binds
    targets: dict[str, ast.expr] = {}
    for item in ast.walk(node):
        if isinstance(item, ast.Attribute | ast.Subscript) and isinstance(item.ctx, ast.Store):
            read = _read_of(item, rebound)
            if read is not None:
                targets.setdefault(ast.unparse(item), read)
    return [targets[text] for text in sorted(targets)]


def _read_of(target: ast.Attribute | ast.Subscript, rebound: set[str]) -> ast.expr | None:
    inner: ast.expr = target.value
    while isinstance(inner, ast.Attribute):
        inner = inner.value
    if not isinstance(inner, ast.Name) or inner.id in rebound:
        return None
    title = ast.Constant(ast.unparse(target))
    if isinstance(target, ast.Attribute):
        return _call("Attribute", [title, _lambda(target.value), ast.Constant(target.attr)], target)
    if isinstance(target.slice, ast.Constant):
        return _call("Item", [title, _lambda(target.value), target.slice], target)
    return None


def _without_options(body: Sequence[ast.stmt]) -> tuple[ast.expr, list[ast.stmt]]:
    """Returns the options given by `set_loop_options` in a loop body, and the body without that call."""
    for number, statement in enumerate(body):
        call = statement.value if isinstance(statement, ast.Expr) else None
        if isinstance(call, ast.Call) and isinstance(call.func, ast.Attribute) and call.func.attr == "set_loop_options":
            for keyword in call.keywords:
                if keyword.arg == "shape_invariants" and isinstance(keyword.value, ast.List | ast.Tuple):
                    keyword.value.elts = [_named_pair(pair) for pair in keyword.value.elts]
            options = ast.copy_location(ast.Dict([], []), call)
            options.keys = [ast.copy_location(ast.Constant(keyword.arg), call) for keyword in call.keywords]
            options.values = [keyword.value for keyword in call.keywords]
            return options, [*body[:number], *body[number + 1 :]] or [ast.copy_location(ast.Pass(), call)]
    return ast.Constant(None), [*body]


def _named_pair(pair: ast.expr) -> ast.expr:
    """Returns a pair of a variable and its shape, with the variable replaced by its name."""
    if isinstance(pair, ast.Tuple) and isinstance(pair.elts[0], ast.Name):
        pair.elts[0] = ast.copy_location(ast.Constant(pair.elts[0].id), pair)
    return pair
