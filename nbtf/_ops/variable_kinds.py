"""How a strategy treats a variable, and who else may make one."""

from __future__ import annotations

from collections.abc import Callable
from enum import Enum
from typing import Any

from nbtf._runtime.blocks import within
from nbtf._runtime.context import CURRENT
from nbtf._runtime.scopes import HERE, Scope


class VariableSynchronization(Enum):
    """When the copies of a variable on several devices are made equal."""

    AUTO = 0
    NONE = 1
    ON_WRITE = 2
    ON_READ = 3


class VariableAggregation(Enum):
    """What becomes of the values that several replicas assign to one variable."""

    NONE = 0
    SUM = 1
    MEAN = 2
    ONLY_FIRST_REPLICA = 3

    def __str__(self) -> str:
        """Names the member as TensorFlow 2 does."""
        return f"VariableAggregationV2.{self.name}"


def variable_creator_scope(variable_creator: Callable[..., Any]) -> within:
    """Lets a function make the variables of a block.

    Args:
      variable_creator: called as `variable_creator(next_creator, **kwargs)` with the arguments of `tf.Variable`;
        `next_creator(**kwargs)` asks the next outer creator, in the end nbtf's own. What it returns is what the call
        of `tf.Variable` gives.

    >>> def untrainable(next_creator, **kwargs):
    ...     return next_creator(**{**kwargs, "trainable": False})
    >>> with tf.variable_creator_scope(untrainable):
    ...     v = tf.Variable(1.0)
    >>> v.trainable
    False
    """

    def inner(outer: Scope) -> Scope:
        scope = outer.with_(creators=(*outer.creators, variable_creator))
        if HERE.first is not None and scope.plain:
            scope.lane = CURRENT.context.lane_of(scope.request)
        return scope

    return within(inner)
