"""Variable scopes: a name prefix for variables and default arguments, and the open scope of each graph."""

from __future__ import annotations

from typing import Any

from nbtf._runtime.attributes import reads
from nbtf._runtime.host_values import host_array
from nbtf._types import DType, DTypeLike, as_dtype, float32
from nbtf.compat._v1._graph.defaults import get_default_graph
from nbtf.compat._v1._graph.session_graph import Graph
from nbtf.compat._v1._surface.removed import without_arguments, without_attributes
from nbtf.compat._v1._variables.keys import GraphKeys
from nbtf.compat._v1._variables.store import VariableStore

DEFAULTS = ("regularizer", "initializer", "constraint", "use_resource", "reuse", "caching_device")
"""The arguments of `tf.get_variable` for which a scope has a default."""


@without_attributes("VariableScope")
class VariableScope:
    """The name prefix and default arguments that `tf.get_variable` uses inside `variable_scope` blocks.

    Args:
      reuse: True to find variables, False to create them, `tf.AUTO_REUSE` for either.
      name: prefix of variable names.
      initializer: default initializer.
      regularizer: default regularizer, which computes a loss from a variable.
      caching_device: default device for copies of variables that nodes read; None for no copies.
      name_scope: name scope that was opened together with this scope.
      dtype: default dtype of variables.
      use_resource: whether variables are resources; None for the process default.
      constraint: function that optimizers apply to values.
    """

    @without_arguments("VariableScope.__init__")
    def __init__(
        self,
        reuse: Any,
        name: str = "",
        initializer: Any = None,
        regularizer: Any = None,
        caching_device: Any = None,
        name_scope: str = "",
        dtype: DTypeLike = float32,
        use_resource: bool | None = None,
        constraint: Any = None,
    ) -> None:
        self._reuse, self._name, self._name_scope = reuse, name, name_scope
        self._initializer, self._regularizer, self._constraint = initializer, regularizer, constraint
        self._caching_device = caching_device
        self._dtype, self._use_resource = as_dtype(dtype), use_resource

    name: str = reads("_name", "The prefix of variable names.")
    original_name_scope: str = reads("_name_scope", "The name scope opened with this scope, with a trailing `/`.")
    reuse: Any = reads("_reuse", "Whether variables are found or created.")
    initializer: Any = reads("_initializer", "The default initializer.")
    dtype: DType = reads("_dtype", "The default dtype of variables.")
    use_resource: bool | None = reads("_use_resource", "Whether variables are resources; None if not specified.")
    regularizer: Any = reads("_regularizer", "The default regularizer.")
    caching_device: Any = reads("_caching_device", "The default device for copies of variables that nodes read.")
    constraint: Any = reads("_constraint", "The function that optimizers apply to values.")

    def reuse_variables(self) -> None:
        """Makes this scope find existing variables and create no more."""
        self._reuse = True

    def set_initializer(self, initializer: Any) -> None:
        """Sets the default initializer."""
        self._initializer = initializer

    def set_regularizer(self, regularizer: Any) -> None:
        """Sets the default regularizer."""
        self._regularizer = regularizer

    def set_caching_device(self, caching_device: Any) -> None:
        """Sets the default caching device."""
        self._caching_device = caching_device

    def get_collection(self, name: str) -> list[Any]:
        """Returns the values in a collection that belong to this scope."""
        return get_default_graph().get_collection(name, f"{self._name}/" if self._name else "")

    def trainable_variables(self) -> list[Any]:
        """Returns the trainable variables of this scope."""
        return self.get_collection(GraphKeys.TRAINABLE_VARIABLES)

    def global_variables(self) -> list[Any]:
        """Returns the global variables of this scope."""
        return self.get_collection(GraphKeys.GLOBAL_VARIABLES)

    def get_variable(self, var_store: VariableStore, name: Any, **arguments: Any) -> Any:
        """Returns the variable with a name inside this scope; see `tf.get_variable`."""
        _check_dtype(arguments.get("initializer"), arguments.get("dtype"))
        for key in DEFAULTS:
            if arguments.get(key) is None:
                arguments[key] = getattr(self, key)
        if arguments.get("dtype") is None:
            arguments["dtype"] = self._dtype
        full_name = f"{self._name}/{name}" if self._name else name
        with get_default_graph().name_scope(None):  # variable names do not depend on name scopes
            return var_store.get_variable(full_name, **arguments)


def _check_dtype(initializer: Any, dtype: Any) -> None:
    if dtype is None or initializer is None or callable(initializer):
        return
    initializer_dtype = getattr(initializer, "dtype", None)
    known_dtype = as_dtype(initializer_dtype) if initializer_dtype is not None else host_array(initializer, None)[1]
    if known_dtype != as_dtype(dtype):
        raise ValueError(f"Initializer type '{known_dtype}' and explicit dtype '{as_dtype(dtype)}' don't match.")


class OpenScopes:
    """The open variable scope of a graph, and how many times each name has been opened."""

    def __init__(self) -> None:
        self.current = VariableScope(False)
        self.counts: dict[str, int] = {}

    def opened(self, name: str) -> None:
        """Counts one more scope with this name."""
        self.counts[name] = self.counts.get(name, 0) + 1

    def close_below(self, name: str) -> None:
        """Resets the counts of the scopes inside one, so that their names start again."""
        for opened_name in self.counts:
            if not name or opened_name.startswith(f"{name}/"):
                self.counts[opened_name] = 0

    def unique(self, prefix: str) -> str:
        """Returns the name, with a number if the current scope has already opened a scope with that name."""
        full_name = f"{self.current.name}/{prefix}" if self.current.name else prefix
        number, counted_name, chosen = 0, full_name, prefix
        while self.counts.get(counted_name):
            number += 1
            counted_name, chosen = f"{full_name}_{number}", f"{prefix}_{number}"
        return chosen


def open_scopes(graph: Graph) -> OpenScopes:
    """Returns the state of a graph's variable scopes."""
    if graph.variable_scopes is None:
        graph.variable_scopes = OpenScopes()
    return graph.variable_scopes
