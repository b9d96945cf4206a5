"""Nodes that check values when a session runs them, such as `tf.Assert` and `tf.assert_equal`."""

from __future__ import annotations

import operator
from collections.abc import Callable, Sequence
from typing import Any

import nbtf
from nbtf._graph.operation import Operation
from nbtf._graph.static import constant_value
from nbtf._graph.tensor import GraphTensor
from nbtf._runtime.conversion import as_tensor
from nbtf._shapes import TensorShape
from nbtf._types import DTypeLike, as_dtype, int32
from nbtf.compat._v1._graph.defaults import building, no_op
from nbtf.compat._v1._graph.deferred import Deferred
from nbtf.compat._v1._surface.control import add_node
from nbtf.compat._v1._surface.python_nodes import OnHost, Values, summarize_elements
from nbtf.compat._v1._surface.scoping import inside, opened
from nbtf.errors import InvalidArgumentError


def Assert(  # noqa: N802  # TensorFlow's name
    condition: Any, data: Any, summarize: int | None = None, name: str | None = None
) -> Any:
    """Returns a node that fails in a session if a condition is false; see `nbtf.Assert`."""
    if building() is None:
        return nbtf.debugging.Assert(condition, data, summarize)
    values_to_show = [*data]
    count = 3 if summarize is None else summarize

    def run(values: Values) -> list[Any]:
        if not bool(values[0].numpy()):
            text = " ".join([summarize_elements(value, count) for value in values[1:]])
            raise InvalidArgumentError(f"assertion failed: {text}")
        return []

    with inside(), opened("Assert", name) as scope:
        return add_node(OnHost("Assert", run), [condition, *values_to_show], [], str(scope))


_CONDITIONS: dict[str, tuple[str, Callable[[Any, Any], Any]]] = {
    "assert_equal": ("x == y", operator.eq),
    "assert_greater": ("x > y", operator.gt),
    "assert_greater_equal": ("x >= y", operator.ge),
    "assert_less": ("x < y", operator.lt),
    "assert_less_equal": ("x <= y", operator.le),
    "assert_negative": ("x < 0", operator.lt),
    "assert_non_negative": ("x >= 0", operator.ge),
    "assert_non_positive": ("x <= 0", operator.le),
    "assert_none_equal": ("x != y", operator.ne),
    "assert_positive": ("x > 0", operator.gt),
}
"""For each check, TensorFlow 1's wording of the condition and the function that compares values."""


def _heads(name: str, inputs: Sequence[GraphTensor], message: str | None) -> list[str]:
    """Returns the parts of a check's error text: its beginning, and the headings of the input values."""
    if name not in _CONDITIONS:
        return []
    first = f"[{message or ''}] [Condition {_CONDITIONS[name][0]} did not hold element-wise:]"
    return [first, *[f"[{letter} ({tensor.name}) = ]" for letter, tensor in zip("xy", inputs, strict=False)]]


def _check_now(name: str, inputs: Sequence[GraphTensor], message: str | None) -> None:
    """Raises an error while the graph is built if constants alone show that a condition is false."""
    constants = [constant_value(tensor) for tensor in inputs]
    if name not in _CONDITIONS or any([constant is None for constant in constants]):
        return
    condition, holds = _CONDITIONS[name]
    if not holds(constants[0], constants[1] if len(constants) > 1 else 0).all():
        values = [
            f"{letter} ({tensor.name}) = \n{value}"
            for letter, tensor, value in zip("xy", inputs, constants, strict=False)
        ]
        text = "\n".join([message or "", f"Condition {condition} did not hold element-wise:", *values])
        raise InvalidArgumentError(text)


def _paired(heads: Sequence[str], shows: Sequence[str]) -> list[str]:
    first, *names = heads
    return [first, *[f"{head} {value}" for head, value in zip(names, shows, strict=True)]]


def _assertion(name: str) -> Callable[..., Any]:
    """Returns a `tf.debugging` check that adds a node while a graph is built."""
    check = getattr(nbtf.debugging, name)

    def assertion(x: Any, *operands: Any, **options: Any) -> Operation | None:
        if building() is None:
            return check(x, *operands, **options)
        called, data = options.pop("name", None), options.pop("data", None)
        tensors = [x, *[operand for operand in operands if not isinstance(operand, str) and operand is not None][:1]]
        if "y" in options:
            tensors.append(options.pop("y"))

        count = len(tensors)

        def run(values: Values) -> list[Any]:
            try:
                check(*values[:count], **options)
            except InvalidArgumentError as error:
                heads = _heads(name, node.inputs[:count], options.get("message"))
                if data is None and not heads:  # keep the check's own wording
                    raise
                shows = [summarize_elements(value, options.get("summarize") or 3) for value in values]
                lines = _paired(heads, shows) if data is None else shows[count:]
                raise InvalidArgumentError(f"assertion failed: {' '.join(lines)}") from error
            return []

        with inside(), opened(name, called):
            node = add_node(OnHost("Assert", run), [*tensors, *(data or ())], [], "Assert")
            _check_now(name, node.inputs[:count], options.get("message"))
            return node

    assertion.__name__ = assertion.__qualname__ = name
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


def _static_assertion(name: str) -> Callable[..., Any]:
    """Returns a `tf.debugging` check of ranks or dtypes, which is made while the graph is built if possible."""
    check = getattr(nbtf.debugging, name)

    def assertion(x: Any, expected: Any, message: str | None = None, name: str | None = None) -> Operation | None:
        if building() is None:
            return check(x, expected, message)
        with inside(), opened(assertion.__name__, name):
            tensor = as_tensor(x)
            if tensor.shape.rank is not None or assertion.__name__ == "assert_type":
                check(tensor, expected, message)
                return no_op("static_checks_determined_all_ok")
            return add_node(
                OnHost("Assert", lambda values: check(values[0], expected, message) or []), [tensor], [], "Assert"
            )

    assertion.__name__ = assertion.__qualname__ = name
    assertion.__doc__ = check.__doc__
    return assertion


assert_rank = _static_assertion("assert_rank")
assert_rank_at_least = _static_assertion("assert_rank_at_least")
assert_rank_in = _static_assertion("assert_rank_in")
assert_type = _static_assertion("assert_type")


def confusion_matrix(
    labels: Any,
    predictions: Any,
    num_classes: int | None = None,
    dtype: DTypeLike = int32,
    name: str | None = None,
    weights: Any = None,
) -> Any:
    """Counts how often each class was predicted as each other class; see `nbtf.math.confusion_matrix`."""
    if building() is None:
        return nbtf.math.confusion_matrix(labels, predictions, num_classes, weights, dtype)
    inputs = [labels, predictions, *([] if weights is None else [weights])]

    def run(values: Values) -> list[Any]:
        counted = values[2] if len(values) > 2 else None
        return [nbtf.math.confusion_matrix(values[0], values[1], num_classes, counted, dtype)]

    with inside(), opened("confusion_matrix", name):
        shapes_and_dtypes = [(TensorShape([num_classes, num_classes]), as_dtype(dtype))]
        return add_node(Deferred("ConfusionMatrix", run), inputs, shapes_and_dtypes, "SparseTensorDenseAdd").outputs[0]


def add_check_numerics_ops() -> Operation:
    """Returns a node that fails if any float tensor in the graph so far is NaN or infinite."""
    from nbtf.compat._v1._graph.defaults import get_default_graph
    from nbtf.compat._v1._graph.grouping import group

    graph = get_default_graph()
    checks: list[Any] = []
    with graph.inside():
        for node in graph.get_operations():
            for tensor in node.outputs:
                if tensor._dtype.is_floating and tensor._link is None:
                    message = f"{node.name}:{tensor.value_index}"
                    checks.append(nbtf.debugging.check_numerics(_symbolic(tensor), message))
    all_checks = group(*checks)
    assert all_checks is not None  # not None, because a graph is being built
    return all_checks


def _symbolic(tensor: GraphTensor) -> Any:
    return tensor
