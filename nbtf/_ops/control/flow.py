"""Conditions and loops: Python's own in eager execution, graph nodes while a function is traced."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Callable, Mapping, Sequence
from contextlib import AbstractContextManager, nullcontext
from typing import Any

from nbtf._ops.arrays.creation import executing_eagerly
from nbtf._ops.op import no_gradient, op
from nbtf._ops.structure import assert_same_structure, map_structure
from nbtf._runtime.context import open_graph
from nbtf._runtime.conversion import as_tensor
from nbtf._runtime.tensor import Reference, Tensor
from nbtf.errors import InvalidArgumentError


def cond(
    pred: Any,
    true_fn: Callable[[], Any] | None = None,
    false_fn: Callable[[], Any] | None = None,
    name: str | None = None,
) -> Any:
    """Returns the result of one of two functions, chosen by a condition.

    Args:
      pred: the condition, a scalar.
      true_fn: function called if `pred` is true.
      false_fn: function called if `pred` is false.

    Raises:
      TypeError: if a function is missing or not callable.
      ValueError: if `pred` is not a scalar.

    >>> x = tf.constant(3)
    >>> tf.cond(x > 2, lambda: "large", lambda: "small")
    'large'
    """
    for argument, function in (("true_fn", true_fn), ("false_fn", false_fn)):
        if function is None:
            raise TypeError(f"cond(): '{argument}' argument required")
        if not callable(function):
            raise TypeError(f"'{argument}' must be callable.")
    flow = _control_flow(pred)
    if flow is not None:
        return flow.cond(pred, true_fn, false_fn)
    chosen: Any = true_fn if pred else false_fn
    return chosen()


def _control_flow(*values: Any) -> Any:
    """Returns the builder of branches and loops while a function is traced; None in eager execution."""
    flow = getattr(open_graph(), "control_flow", None)
    return flow if flow is not None and any([hasattr(value, "dtype") for value in values]) else None


def case(
    pred_fn_pairs: Any,
    default: Callable[[], Any] | None = None,
    exclusive: bool = False,
    strict: bool = False,
    name: str | None = "case",
) -> Any:
    """Returns the result of the function that belongs to the first true condition.

    Args:
      pred_fn_pairs: pairs of a bool scalar tensor and a function, or a dictionary of functions by `tensor.ref()`.
      default: function called if no condition is true.
      exclusive: whether to raise an error if several conditions are true; False by default.
      strict: accepted and ignored; results are returned unchanged.

    Raises:
      InvalidArgumentError: if no condition is true and `default` is missing, or several are true and `exclusive` is
        set.
      TypeError: if `pred_fn_pairs` does not consist of pairs of tensors and functions.

    >>> x = tf.constant(3)
    >>> tf.case([(x < 0, lambda: "below"), (x > 2, lambda: "above")], default=lambda: "between")
    'above'
    """
    pairs = checked_pairs(pred_fn_pairs, exclusive)
    if default is not None and not callable(default):
        raise TypeError("default must be callable.")
    flow = _control_flow(*[pred for pred, _ in pairs])
    if flow is not None:
        return flow.case(pairs, default, exclusive)
    holds = [bool(pred) for pred, _ in pairs]
    if exclusive and sum(holds) > 1:
        raise _refusal(several_match(["?"] * len(pairs)), holds)
    if any(holds):
        return pairs[holds.index(True)][1]()
    if default is None:
        raise _refusal(NO_MATCH, holds)
    return default()


NO_MATCH = "Input error: None of conditions evaluated as True:"


def several_match(names: Sequence[str]) -> str:
    """Returns TensorFlow's text for several true conditions although `exclusive` is set."""
    return f"Input error: exclusive=True: more than 1 conditions ({', '.join(names)}) evaluated as True:"


def _refusal(text: str, holds: Sequence[bool]) -> InvalidArgumentError:
    return InvalidArgumentError(
        f"Expected '{as_tensor(False)!s}' to be true. Summarized data: {text.encode()!r}\n{', '.join(map(str, holds))}"
    )


def checked_pairs(pairs: Any, exclusive: bool) -> Sequence[tuple[Any, Any]]:
    """Returns the pairs of `case` in a list; raises `TypeError` or `ValueError` if they are invalid."""
    if isinstance(pairs, Mapping):
        if not exclusive and not isinstance(pairs, OrderedDict):
            raise ValueError(
                "Unordered dictionaries are not supported for the 'pred_fn_pairs' argument when `exclusive=False` and "
                "eager mode is enabled."
            )
        choices: dict[Any, Any] = {**pairs}
        pairs = [(key.deref() if isinstance(key, Reference) else key, fn) for key, fn in choices.items()]
    if not isinstance(pairs, list | tuple):
        raise TypeError(f"'pred_fn_pairs' must be a list, tuple, or dict. Received: {type(pairs)}")
    listed: list[Any] = [*pairs]
    for pair in listed:
        if not isinstance(pair, tuple) or len(_plain(pair)) != 2:
            raise TypeError(f"Each entry in 'pred_fn_pairs' must be a 2-tuple. Received {pair}.")
        pred, function = _plain(pair)
        if not _is_tensor(pred):
            raise TypeError(f"pred must be a Tensor, got: {pred}")
        if not callable(function):
            raise TypeError(f"fn for pred {pred} must be callable.")
    if not listed:
        raise ValueError("'pred_fn_pairs' must have at least one pair.")
    return listed


def _is_tensor(value: Any) -> bool:
    return isinstance(value, Tensor) or hasattr(value, "consumers")


def _plain(values: Any) -> tuple[Any, ...]:
    return tuple(values)


def switch_case(
    branch_index: Any, branch_fns: Any, default: Callable[[], Any] | None = None, name: str | None = "switch_case"
) -> Any:
    """Returns the result of the function with the given index.

    Args:
      branch_index: the function's index, an int32 scalar tensor.
      branch_fns: list of functions or of pairs of index and function, or a dictionary by index.
      default: function called if the index is out of range; the last function by default.

    Raises:
      TypeError: if `branch_index` is not a tensor, or a function is not callable.
      ValueError: if the indices are not consecutive from 0.

    >>> tf.switch_case(tf.constant(1), [lambda: "zero", lambda: "one"])
    'one'
    """
    if not _is_tensor(branch_index):
        raise TypeError(f"'branch_index' must be a Tensor, got {type(branch_index)}")
    functions = _numbered(branch_fns)
    for function in (*functions, *(() if default is None else (default,))):
        if not callable(function):
            raise TypeError(f"fn {function} must be callable.")
    flow = _control_flow(branch_index)
    if flow is not None:
        return flow.switch_case(branch_index, functions if default is None else [*functions, default])
    number = int(branch_index)
    if 0 <= number < len(functions):
        return functions[number]()
    return (functions[-1] if default is None else default)()


def _numbered(branch_fns: Any) -> list[Any]:
    branches: list[Any] = [*branch_fns.items()] if isinstance(branch_fns, Mapping) else list(branch_fns)
    if not branches:
        raise ValueError("'branch_fns' must be a non-empty list, tuple or dict of functions.")
    if all(callable(function) for function in branches):
        return branches
    pairs = {key: function for key, function in branches}
    if sorted(pairs) != list(range(len(branches))):
        numbers = ",".join(map(str, sorted(pairs)))
        text = f"branch indices (keys) must form contiguous range of [0 to {len(branches)}) but found {{{numbers}}}"
        raise ValueError(text)
    return [pairs[number] for number in range(len(pairs))]


def while_loop(
    cond: Callable[..., Any],
    body: Callable[..., Any],
    loop_vars: Any,
    shape_invariants: Any = None,
    parallel_iterations: int = 10,
    back_prop: bool = True,
    swap_memory: bool = False,
    maximum_iterations: Any = None,
    name: str | None = None,
) -> Any:
    """Returns the loop variables after calling a function as long as a condition is true.

    Args:
      cond: function that takes the loop variables and returns whether to continue.
      body: function that takes the loop variables and returns their new values in a list or tuple.
      loop_vars: the initial values, in a list or tuple; may contain structures.
      shape_invariants: shapes that the variables keep in a traced function; in eager execution, shapes may change.
      parallel_iterations, back_prop, swap_memory: accepted and ignored.
      maximum_iterations: maximum number of iterations; unlimited by default.

    Returns:
      The final values.

    Raises:
      TypeError: if a function is not callable, or `body` does not return a list.
      ValueError: if `loop_vars` is empty, or `body` returns another structure.

    >>> i, total = tf.while_loop(lambda i, total: i < 4, lambda i, total: (i + 1, total + i), (tf.constant(0), 0))
    >>> i.numpy().item(), total.numpy().item()
    (4, 6)
    """
    if not callable(cond):
        raise TypeError("'cond' must be callable.")
    if not callable(body):
        raise TypeError("'body' must be callable.")
    if not loop_vars:
        raise ValueError("'loop_vars' must be provided.")
    flow = getattr(open_graph(), "control_flow", None)
    if flow is not None:
        return flow.while_loop(cond, body, loop_vars, shape_invariants, maximum_iterations)
    remaining = None if maximum_iterations is None else int(maximum_iterations)
    while (remaining is None or remaining > 0) and cond(*loop_vars):
        next_vars = body(*loop_vars)
        assert_same_structure(list(loop_vars), list(next_vars))
        loop_vars = next_vars
        remaining = None if remaining is None else remaining - 1
    return map_structure(_as_loop_var, loop_vars)


def _as_loop_var(value: Any) -> Any:
    """Returns a value as a tensor; a `TensorArray` and a composite, such as a ragged tensor, unchanged."""
    return value if any([hasattr(value, name) for name in _COMPOSITES]) else as_tensor(value)


_COMPOSITES = ("_as_flow", "_taken_apart", "flat_values", "dense_shape")
"""Attributes of values that consist of several tensors or refer to an object."""


@op("->", host_outputs=True)
def NoOp(xp: Any) -> Any:
    return []


NoOp.infer(lambda: [])
no_gradient(NoOp)


def no_op(name: str | None = None) -> Any:
    """Does nothing; the op appears in the placement log.

    >>> tf.no_op()
    """
    result = NoOp(name=name)
    return None if executing_eagerly() else result


def control_dependencies(control_inputs: Any) -> AbstractContextManager[None]:
    """Returns a context manager whose ops run after others; eager ops and those of a `tf.function` run in order anyway.

    Args:
      control_inputs: list of tensors and nodes to wait for; in eager execution, functions in the list are called.
        In a graph, None waits for nothing.

    Raises:
      TypeError: if, in a graph, an entry is neither a tensor nor a node.

    >>> v = tf.Variable(1.0)
    >>> with tf.control_dependencies([v.assign_add(1.0)]):
    ...     print(v.read_value().numpy())
    2.0
    """
    graph = open_graph()
    if graph is not None and not graph.building_function:
        return graph.control_dependencies(control_inputs)
    if graph is None:
        for control in control_inputs or ():
            if callable(control):
                control()
    return nullcontext()


def group(*inputs: Any, **kwargs: Any) -> Any:
    """Returns a node that runs all its inputs; in eager execution, they have already run.

    Args:
      *inputs: tensors, or structures of them.
      **kwargs: `name`: accepted and ignored.

    Raises:
      ValueError: if a keyword is unknown.

    >>> tf.group(tf.constant(1), tf.constant(2))
    """
    name = kwargs.pop("name", None)
    if kwargs:
        raise ValueError(f"Unknown keyword arguments: {','.join(kwargs)}.")
    together = getattr(open_graph(), "together", None)
    return None if together is None else together(inputs, name)
