"""Chooses which functions to convert, and converts them so that they keep the variables around them."""

from __future__ import annotations

import ast
import linecache
import sys
from collections.abc import Callable
from functools import lru_cache, partial
from itertools import pairwise
from types import CellType, CodeType, FunctionType, MethodType, SimpleNamespace
from typing import Any, cast
from weakref import WeakKeyDictionary

from nbtf._graph.autograph import operators
from nbtf._graph.autograph.builtins import OVERLOADS
from nbtf._graph.autograph.rewriting import OPERATORS, rewrite
from nbtf._graph.autograph.user_code import in_user_code
from nbtf._runtime.logger import get_logger
from nbtf._runtime.scopes import SCOPE

_LEFT_ALONE = frozenset(
    {*sys.stdlib_module_names, "nbtf", "numpy", "keras", "matplotlib", "pandas", "PIL", "absl", "IPython", "pytest"}
) - {"__main__"}
"""Modules whose functions are not converted."""

_SPECIAL = 0x20 | 0x80 | 0x100 | 0x200
"""Code flags of generators and coroutines."""

_converted_codes: WeakKeyDictionary[CodeType, CodeType | None] = WeakKeyDictionary()
"""The converted code of each function; None if it could not be converted."""


def convert(function: Callable[..., Any]) -> Callable[..., Any]:
    """Returns a function that may branch and loop over symbolic tensors.

    Args:
      function: a Python function, a method, a `functools.partial`, or a callable object.

    Returns:
      An equivalent function whose errors name the lines of the user's code. The functions that it calls are converted
      when they are called. A function that cannot be converted is called unchanged.
    """
    if getattr(function, "__autograph_do_not_convert__", False):
        return function  # as in TensorFlow, its errors stay as they are
    return in_user_code(converted(function), function)


def converted(function: Any) -> Any:
    """Returns the converted form of a callable that is about to be called, or the callable itself if there is none."""
    if isinstance(function, FunctionType):
        return _converted_function(function)
    if isinstance(function, MethodType):
        inner = converted(function.__func__)
        return function if inner is function.__func__ else MethodType(inner, function.__self__)
    if isinstance(function, partial):
        return partial(converted(function.func), *function.args, **function.keywords)
    call: Any = None if isinstance(function, type) else getattr(cast("Any", type(function)), "__call__", None)  # noqa: B004
    if isinstance(call, FunctionType):
        inner = _converted_function(call)
        return function if inner is call else MethodType(inner, function)
    return function


def _called(function: Any) -> Any:
    """Returns the function that converted code calls in place of another."""
    try:
        overload = OVERLOADS.get(function)
    except TypeError:  # cannot be hashed
        overload = None
    return overload or converted(function)


_OPERATORS = CellType(SimpleNamespace(**vars(operators), converted=_called))
"""The variable of converted functions through which they branch, loop and call."""


def converted_in_graphs(function: Callable[..., Any]) -> Callable[..., Any]:
    """Returns a function that runs converted while a graph is built, and unconverted otherwise."""
    scope = SCOPE()
    return function if scope is None or scope.graph is None else converted(function)


def is_convertible(function: FunctionType) -> bool:
    """Returns whether a function should be converted: it is the user's and has branches or loops."""
    code = function.__code__
    if OPERATORS in code.co_freevars or code.co_flags & _SPECIAL or code.co_filename == "<string>":
        return False
    if "__autograph_do_not_convert__" in function.__dict__:
        return False
    return (function.__module__ or "").partition(".")[0] not in _LEFT_ALONE


def _converted_function(function: FunctionType) -> FunctionType:
    if not is_convertible(function):
        return function
    original = function.__code__
    if original not in _converted_codes:
        _converted_codes[original] = _converted_code(function)
    code = _converted_codes[original]
    if code is None:
        return function
    cells = dict(zip(original.co_freevars, function.__closure__ or (), strict=True))
    cells[OPERATORS] = _OPERATORS
    closure = tuple([cells[name] for name in code.co_freevars])
    result = FunctionType(code, function.__globals__, function.__name__, function.__defaults__, closure)
    result.__kwdefaults__ = function.__kwdefaults__
    result.__qualname__, result.__module__ = function.__qualname__, function.__module__
    result.__dict__.update(function.__dict__)
    return result


def _converted_code(function: FunctionType) -> CodeType | None:
    """Returns the code of a converted function; None, with a warning, if it cannot be converted."""
    try:
        return _compile(rewrite(find_source(function)), function)
    except (OSError, SyntaxError, ValueError, NotImplementedError, RecursionError) as error:
        get_logger().warning(
            "AutoGraph could not transform %r and will run it as-is.\nCause: %s\n"
            "To silence this warning, decorate the function with @tf.autograph.experimental.do_not_convert",
            function,
            error,
        )
        return None


def find_source(function: FunctionType) -> ast.FunctionDef | ast.Lambda:
    """Returns the syntax tree of a function, with the line numbers of its file.

    Raises:
      OSError: if its source cannot be found or has changed.
    """
    code = function.__code__
    linecache.checkcache(code.co_filename)
    lines = linecache.getlines(code.co_filename, function.__globals__)
    if not lines:
        raise OSError(f"Unable to locate the source code of {function!r}.")
    parameters = code.co_varnames[: code.co_argcount + code.co_kwonlyargcount]
    fitting: list[Any] = [node for node in ast.walk(_parse("".join(lines))) if _fits(node, code, parameters)]
    if not fitting:
        raise OSError(f"The source code of {function!r} has changed.")
    node = min(fitting, key=_extent)
    fresh = _copied(node)
    if isinstance(fresh, ast.FunctionDef):
        fresh.decorator_list = []
    return fresh


def _copied(node: Any) -> Any:
    """Returns a copy of a tree that contains only what Python itself put there.

    All trees share their operator nodes, and IPython's tracebacks attach the tree that they inspected last to them.
    """
    if isinstance(node, list):
        return [_copied(item) for item in cast("list[Any]", node)]
    if not isinstance(node, ast.AST):
        return node
    return ast.copy_location(type(node)(**{name: _copied(value) for name, value in ast.iter_fields(node)}), node)


@lru_cache(maxsize=32)
def _parse(text: str) -> ast.Module:
    return ast.parse(text)


def _fits(node: ast.AST, code: CodeType, parameters: tuple[str, ...]) -> bool:
    """Returns whether a node is the source of a code object: same name, parameters and position."""
    if isinstance(node, ast.FunctionDef):
        first = min([node.lineno, *[item.lineno for item in node.decorator_list]])
        if node.name != code.co_name or first != code.co_firstlineno:
            return False
    elif not isinstance(node, ast.Lambda) or code.co_name != "<lambda>" or not _surrounds(node.body, code):
        return False
    arguments = node.args
    names = [item.arg for item in [*arguments.posonlyargs, *arguments.args, *arguments.kwonlyargs]]
    return tuple(names) == parameters


def _surrounds(body: ast.expr, code: CodeType) -> bool:
    """Returns whether the instructions of a code object lie within an expression."""
    begin, end = (body.lineno, body.col_offset), (body.end_lineno or 0, body.end_col_offset or 0)
    positions = [
        (line, column) for line, _, column, end_column in code.co_positions() if line and column and end_column
    ]
    return bool(positions) and all([begin <= position <= end for position in positions])


def _extent(node: Any) -> tuple[int, int]:
    return node.end_lineno - node.lineno, node.end_col_offset - node.col_offset


def _compile(node: ast.FunctionDef | ast.Lambda, function: FunctionType) -> CodeType:
    """Compiles a function inside a class and an outer function, which give it its variables."""
    code = function.__code__
    if isinstance(node, ast.Lambda):
        inner: ast.stmt = ast.Expr(node)
    else:
        node.name = _NAME  # the function's own name may be a variable of the outer function
        inner = node
    owner = _class_around(code)
    names = [name for name in (OPERATORS, *code.co_freevars) if name != "__class__"]
    if owner:  # private names are mangled with that class name
        inner = ast.ClassDef(owner, [], [], [inner], [], **_type_parameters())
    parameters = [ast.arg(name) for name in names]
    arguments = ast.arguments(posonlyargs=[], args=parameters, kwonlyargs=[], kw_defaults=[], defaults=[])
    factory = ast.FunctionDef("ag__factory", arguments, [inner], [], **_type_parameters())
    module = ast.fix_missing_locations(ast.Module([factory], []))
    compiled = compile(module, code.co_filename, "exec", dont_inherit=True, flags=code.co_flags & _FUTURE)
    converted_code = _find_code(compiled, "<lambda>" if isinstance(node, ast.Lambda) else _NAME, owner)
    return converted_code.replace(co_name=code.co_name, co_qualname=code.co_qualname)


def _class_around(code: CodeType) -> str:
    """Returns a class name that gives a function its private names; an empty one if it is in no class.

    Mangling strips leading underscores from the class name. With two more of them, no name in the function can refer to
    the class that encloses it only while it is compiled: the program's class of that name is still found.
    """
    path = code.co_qualname.split(".")
    classes = [name for name, inner in pairwise(path) if "<locals>" not in (name, inner)]
    return f"__{classes[-1]}" if classes else ""


_NAME = "ag__function"
"""The function's name while it is compiled."""

_FUTURE = 0x1000000
"""The flag of `from __future__ import annotations`."""


def _type_parameters() -> dict[str, Any]:
    return {"type_params": []} if sys.version_info >= (3, 12) else {}


def _find_code(code: CodeType, name: str, owner: str) -> CodeType:
    """Returns the code of a function inside the factory, and inside the class."""
    for constant in code.co_consts:
        if isinstance(constant, CodeType):
            if constant.co_name == name:
                return constant
            if constant.co_name in ("ag__factory", owner):
                return _find_code(constant, name, owner)
    raise ValueError(f"no {name} in {code}")
