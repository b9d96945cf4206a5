"""`tf.case` and `tf.switch_case`, which choose between several functions through nested conditions."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from typing import Any

import nbtf
from nbtf._ops.control.flow import NO_MATCH, checked_pairs, several_match
from nbtf._runtime.conversion import as_tensor
from nbtf._types import int32
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
        checks = _checks([pred for pred, _ in pairs], default is None, exclusive)
        chosen: Callable[[], Any] = pairs.pop()[1] if default is None else default
        for pred, function in reversed(pairs):
            chosen = partial(cond, pred, function, chosen, strict)
        with get_default_graph().control_dependencies(checks):
            return chosen()


def _checks(conditions: Sequence[Any], needs_match: bool, exclusive: bool) -> list[Any]:
    """Returns the nodes that fail if too few or too many conditions are true."""
    if not needs_match and not exclusive:
        return []
    holds = nbtf.stack([as_tensor(condition) for condition in conditions])
    checks: list[Any] = []
    if exclusive:
        text = several_match([condition.name for condition in conditions])
        count = nbtf.reduce_sum(nbtf.cast(holds, int32))
        checks.append(Assert(nbtf.less(count, 2), [text, holds], len(conditions)))
    if needs_match:
        checks.append(Assert(nbtf.reduce_any(holds), [NO_MATCH, holds], len(conditions)))
    return checks


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
