"""`tf.summary.experimental`: the default step, and the names of summaries that programs write themselves."""

from __future__ import annotations

import re
import sys
from collections.abc import Generator, Sequence
from contextlib import contextmanager
from typing import Any

from nbtf._public import public_names as _public_names
from nbtf._runtime.context import CURRENT as _CURRENT
from nbtf._runtime.names import name_scope as _name_scope

_INVALID = re.compile(r"[^-_/.A-Za-z0-9]")
"""Characters that a name scope cannot contain. Source: TensorFlow, `summary_ops_v2.py`."""


def __dir__() -> list[str]:
    return _public_names(__name__)


def _summary() -> Any:
    return sys.modules["nbtf.summary"]  # it imports this module


def get_step() -> Any:
    """Returns the default step of summaries; None if there is none.

    >>> tf.summary.experimental.set_step(3)
    >>> tf.summary.experimental.get_step()
    3
    >>> tf.summary.experimental.set_step(None)
    """
    return _summary()._destination().step


def set_step(step: Any) -> None:
    """Sets the default step of summaries.

    Args:
      step: a number, a tensor, or None to remove it.
    """
    block, nowhere = _summary()._BLOCK, _summary()._NOWHERE
    if block.get() is not nowhere:
        block.set(block.get()._replace(step=step))
    _CURRENT.context.summaries = (_CURRENT.context.summaries or nowhere)._replace(step=step)


@contextmanager
def summary_scope(
    name: str, default_name: str = "summary", values: Sequence[Any] | None = None
) -> Generator[tuple[str, str]]:
    """Opens a name scope for the ops of a summary.

    Args:
      name: name of the summary.
      default_name: name of the scope if `name` is empty.
      values: accepted and ignored.

    Yields:
      The tag to pass to `tf.summary.write`, and the scope.

    >>> with tf.summary.experimental.summary_scope("my loss") as (tag, scope):
    ...     tag, scope
    ('my loss', 'myloss/')
    """
    name = name or default_name
    with _name_scope(_INVALID.sub("", name) or default_name) as scope:
        prefix = scope.rstrip("/").rpartition("/")[0]
        yield f"{prefix}/{name}" if prefix else name, scope
