"""`tf.name_scope`: a block that prefixes the names of new variables."""

from __future__ import annotations

from typing import Any

from nbtf._runtime.blocks import current_scope, leaving
from nbtf._runtime.changes import ChangingBlock
from nbtf._runtime.context import open_graph
from nbtf._runtime.lanes import with_open_lane
from nbtf._runtime.scopes import EMPTY, SCOPE


class name_scope(ChangingBlock):  # noqa: N801  # TensorFlow's name
    """Prefixes the names of variables created in a block.

    Blocks nest, and the same block can be opened repeatedly. Ops that run eagerly have no names.

    Args:
      name: the prefix. One ending with `/` replaces the outer blocks' prefixes, and an empty one removes them all.

    Raises:
      ValueError: if `name` is not a string.

    >>> with tf.name_scope("encoder"):
    ...     v = tf.Variable(1.0, name="w")
    >>> v.name
    'encoder/w:0'
    """

    __slots__ = ("_name",)

    def __init__(self, name: str) -> None:
        """Stores the name."""
        if not isinstance(name, str):  # pyright: ignore[reportUnnecessaryIsInstance]  # callers are not checked
            raise ValueError("name for name_scope must be a string.")
        self._exit = None
        self._name = name

    @property
    def name(self) -> str:
        """The name as it was given."""
        return self._name

    def __enter__(self) -> str:
        """Opens the block; returns the whole prefix."""
        outer = (SCOPE() and current_scope()) or EMPTY
        name = self._name
        graph = open_graph()
        if hasattr(graph, "name_scope"):
            return self.begin(graph.name_scope(name).plan())
        full_name = name if not name or name[-1] == "/" else f"{outer.names}{name}/"
        self.enter(with_open_lane(outer.with_(names=full_name)))
        return full_name

    @leaving
    def __exit__(self, *error: Any) -> None:
        """Closes the block, even after an error."""
        self.leave("Exiting name scope without proper scope nesting")
