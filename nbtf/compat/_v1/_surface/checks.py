"""Nodes that check values when a session runs them, such as `tf.Assert` and `tf.assert_equal`."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import nbtf
from nbtf._graph.operation import Operation
from nbtf._runtime.conversion import as_tensor
from nbtf.compat._v1._graph.defaults import building, no_op
from nbtf.compat._v1._surface.control import Values, add_node
from nbtf.compat._v1._surface.python_nodes import OnHost, summarize_elements
from nbtf.compat._v1._surface.scoping import inside, opened
from nbtf.errors import InvalidArgumentError


def Assert(  # noqa: N802  # TensorFlow's name
    condition: Any, data: Any, summarize: int | None = None, name: str | None = None
) -> Any:
    """Returns a node that fails in a session if a condition is false; see `nbtf.Assert`."""
    if building() is None:
        return nbtf.debugging.Assert(condition, data, summarize)
    count = 3 if summarize is None else summarize

    def run(values: Values) -> list[Any]:
        if not bool(values[0].numpy()):
            text = " ".join([summarize_elements(value, count) for value in values[1:]])
            raise InvalidArgumentError(f"assertion failed: {text}")
        return []

    with inside(), opened("Assert", name) as scope:
        return add_node(OnHost("Assert", run), [condition, *data], [], str(scope))


_CONDITIONS = {
    "assert_equal": "x == y",
    "assert_greater": "x > y",
    "assert_greater_equal": "x >= y",
    "assert_less": "x < y",
    "assert_less_equal": "x <= y",
    "assert_negative": "x < 0",
    "assert_non_negative": "x >= 0",
    "assert_non_positive": "x <= 0",
    "assert_none_equal": "x != y",
    "assert_positive": "x > 0",
}
"""For each check, TensorFlow 1's wording of the condition."""


def _assertion(name: str) -> Callable[..., Any]:
    """Returns a `tf.debugging` check that adds a node while a graph is built."""
    check = getattr(nbtf.debugging, name)

    def assertion(x: Any, *operands: Any, **options: Any) -> Operation | None:
        if building() is None:
            return check(x, *operands, **options)
        called, data, message = options.pop("name", None), options.pop("data", None), options.get("message")
        tensors = [x, *[operand for operand in operands if not isinstance(operand, str) and operand is not None][:1]]
        if "y" in options:
            tensors.append(options.pop("y"))
        count = len(tensors)

        def run(values: Values) -> list[Any]:
            try:
                check(*values[:count], **options)
            except InvalidArgumentError as error:
                if data is None and name not in _CONDITIONS:  # keep the check's own wording
                    raise
                lines = [summarize_elements(value, options.get("summarize") or 3) for value in values]
                if data is None:
                    pairs = zip("xy", node.inputs, lines, strict=False)
                    described = [f"[{letter} ({tensor.name}) = ] {line}" for letter, tensor, line in pairs]
                    lines = [
                        f"[{message or ''}] [Condition {_CONDITIONS[name]} did not hold element-wise:]",
                        *described,
                    ]
                else:
                    lines = lines[count:]
                raise InvalidArgumentError(f"assertion failed: {' '.join(lines)}") from error
            return []

        with inside(), opened(name, called):
            node = add_node(OnHost("Assert", run), [*tensors, *(data or ())], [], "Assert")
            return node

    return _like(check, assertion)


def _static_assertion(name: str) -> Callable[..., Any]:
    """Returns a `tf.debugging` check of ranks or dtypes, which is made while the graph is built if possible."""
    check = getattr(nbtf.debugging, name)

    def assertion(x: Any, expected: Any, message: str | None = None, name: str | None = None) -> Operation | None:
        if building() is None:
            return check(x, expected, message)
        with inside(), opened(check.__name__, name):
            tensor = as_tensor(x)
            if tensor.shape.rank is not None or check.__name__ == "assert_type":
                check(tensor, expected, message)
                return no_op("static_checks_determined_all_ok")
            record = OnHost("Assert", lambda values: check(values[0], expected, message) or [])
            return add_node(record, [tensor], [], "Assert")

    return _like(check, assertion)


def _like(check: Callable[..., Any], assertion: Callable[..., Any]) -> Callable[..., Any]:
    assertion.__name__ = assertion.__qualname__ = check.__name__
    assertion.__doc__ = check.__doc__
    return assertion


assert_equal = _assertion("assert_equal")
assert_greater = _assertion("assert_greater")
assert_greater_equal = _assertion("assert_greater_equal")
assert_less = _assertion("assert_less")
assert_less_equal = _assertion("assert_less_equal")
assert_near = _assertion("assert_near")
assert_negative = _assertion("assert_negative")
assert_non_negative = _assertion("assert_non_negative")
assert_non_positive = _assertion("assert_non_positive")
assert_none_equal = _assertion("assert_none_equal")
assert_positive = _assertion("assert_positive")

assert_rank = _static_assertion("assert_rank")
assert_rank_at_least = _static_assertion("assert_rank_at_least")
assert_rank_in = _static_assertion("assert_rank_in")
assert_type = _static_assertion("assert_type")
