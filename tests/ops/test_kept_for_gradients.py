"""Does a tape keep of a call what the gradient of its op looks at, and nothing else?"""

from __future__ import annotations

from collections.abc import Callable
from types import CodeType, FunctionType
from typing import Any

import pytest

from nbtf._ops.op import OPS
from tests.ops.samples import all_samples

OPS_WITH_GRADIENTS = sorted({sample.op for sample in all_samples() if OPS[sample.op].has_gradient})


def names_mentioned(function: Callable[..., Any]) -> set[str]:
    """The names in a gradient's code, and in that of the functions which it may hand its call."""
    pending: list[Any] = [function]
    visited, names = set[Any](), set[str]()
    while pending:
        code = pending.pop()
        if isinstance(code, FunctionType):
            values = [code.__globals__.get(name) for name in code.__code__.co_names]
            pending += [value for value in values if isinstance(value, FunctionType) and takes_call(value)]
            code = code.__code__
        if code not in visited:
            visited.add(code)
            names.update(code.co_names)
            pending += [value for value in code.co_consts if isinstance(value, CodeType)]
    return names


def takes_call(function: FunctionType) -> bool:
    return "call" in function.__code__.co_varnames[: function.__code__.co_argcount]


@pytest.mark.parametrize("name", OPS_WITH_GRADIENTS)
def test_what_is_kept_is_what_the_gradient_mentions(name: str) -> None:
    op = OPS[name]
    names = names_mentioned(op.gradients)

    assert op.keeps_outputs == (not names.isdisjoint({"output", "outputs"}))
    assert op.keeps_inputs == ("inputs" in names or len(op.tokens) > 1 or op.takes_lists)


def test_most_ops_are_looked_at() -> None:
    assert len(OPS_WITH_GRADIENTS) > 100
