"""`tf.case` and `tf.switch_case`, which choose between several functions through nested conditions."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

import nbtf
from nbtf._graph.control_flow import first_true
from nbtf._ops.control.flow import checked_pairs
from nbtf.compat._v1._graph.defaults import building, get_default_graph
from nbtf.compat._v1._surface.checks import Assert
from nbtf.compat._v1._surface.control import cond
from nbtf.compat._v1._surface.scoping import inside, opened, tensor_called


def case(
    pred_fn_pairs: Any,
    default: Callable[[], Any] | None = None,
    exclusive: bool = False,
    strict: bool = False,
    name: str = "case",
) -> Any:
    """Returns the result of the function whose condition is the first true one; see `nbtf.case`.

    A session raises `InvalidArgumentError` if no condition is true and no default is given. With `exclusive`, it also
    raises the error if several conditions are true.
    """
    if building() is None:
        return nbtf.case(pred_fn_pairs, default, exclusive)
    pairs = [*checked_pairs(pred_fn_pairs, exclusive=True)]
    with opened("case", name):
        choose = partial(cond, strict=strict)
        chosen, checks = first_true(pairs, default, exclusive, choose, Assert)
        with get_default_graph().control_dependencies(checks):
            return chosen()


def switch_case(
    branch_index: Any, branch_fns: Any, default: Callable[[], Any] | None = None, name: str | None = None
) -> Any:
    """Returns the result of the function that an index selects; see `nbtf.switch_case`."""
    if building() is None:
        return nbtf.switch_case(branch_index, branch_fns, default)
    branches: list[Any] = [*(branch_fns.items() if isinstance(branch_fns, dict) else branch_fns)]
    numbered = [(number, branch) if callable(branch) else branch for number, branch in enumerate(branches)]
    with inside():
        index: Any = tensor_called("branch_index", branch_index)
        pairs: list[Any] = [(nbtf.equal(index, number), function) for number, function in numbered]
        return case(pairs, numbered[-1][1] if default is None else default, name=name or "switch_case")
