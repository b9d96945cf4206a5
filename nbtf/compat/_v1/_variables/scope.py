"""Variable scopes: a name prefix for variables, and default arguments."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from nbtf._runtime.attributes import reads
from nbtf._runtime.host_values import host_array
from nbtf._types import DType, DTypeLike, as_dtype, float32
from nbtf.compat._v1._graph.defaults import get_default_graph
from nbtf.compat._v1._variables.keys import GraphKeys
from nbtf.compat._v1._variables.store import VariableStore

Getter = Callable[..., Any]


class VariableScope:
    """The name prefix and default arguments that `tf.get_variable` uses inside `variable_scope` blocks.

    Args:
      reuse: True to find variables, False to create them, `tf.AUTO_REUSE` for either.
      name: prefix of variable names.
      initializer: default initializer.
      regularizer: default regularizer, which computes a loss from a variable.
      caching_device: kept, without effect.
      partitioner: kept; partitioned variables cannot be created.
      custom_getter: function called instead of creating a variable.
      name_scope: name scope that was opened together with this scope.
      dtype: default dtype of variables.
      use_resource: whether variables are resources; None for the process default.
      constraint: function that optimizers apply to values.
    """

    def __init__(
        self,
        reuse: Any,
        name: str = "",
        initializer: Any = None,
        regularizer: Any = None,
        caching_device: Any = None,
        partitioner: Any = None,
        custom_getter: Getter | None = None,
        name_scope: str = "",
        dtype: DTypeLike = float32,
        use_resource: bool | None = None,
        constraint: Any = None,
    ) -> None:
        self._reuse, self._name, self._name_scope = reuse, name, name_scope
        self._initializer, self._regularizer, self._constraint = initializer, regularizer, constraint
        self._caching_device, self._partitioner, self._custom_getter = caching_device, partitioner, custom_getter
        self._dtype, self._use_resource = as_dtype(dtype), use_resource

    name: str = reads("_name", "The prefix of variable names.")
    original_name_scope: str = reads("_name_scope", "The name scope opened with this scope, with a trailing `/`.")
    reuse: Any = reads("_reuse", "Whether variables are found or created.")
    initializer: Any = reads("_initializer", "The default initializer.")
    dtype: DType = reads("_dtype", "The default dtype of variables.")
    use_resource: bool | None = reads("_use_resource", "Whether variables are resources; None if not specified.")
    regularizer: Any = reads("_regularizer", "The default regularizer.")
    caching_device: Any = reads("_caching_device", "The requested caching device, which has no effect.")
    partitioner: Any = reads("_partitioner", "The requested partitioner.")
    custom_getter: Getter | None = reads("_custom_getter", "The function called instead of creating a variable.")
    constraint: Any = reads("_constraint", "The function that optimizers apply to values.")

    def reuse_variables(self) -> None:
        """Makes this scope find existing variables and create no more."""
        self._reuse = True

    def set_initializer(self, initializer: Any) -> None:
        """Sets the default initializer."""
        self._initializer = initializer

    def set_dtype(self, dtype: DTypeLike) -> None:
        """Sets the default dtype of variables."""
        self._dtype = as_dtype(dtype)

    def set_use_resource(self, use_resource: bool | None) -> None:
        """Sets whether variables are resources."""
        self._use_resource = use_resource

    def set_regularizer(self, regularizer: Any) -> None:
        """Sets the default regularizer."""
        self._regularizer = regularizer

    def set_caching_device(self, caching_device: Any) -> None:
        """Sets the caching device, which has no effect."""
        self._caching_device = caching_device

    def set_partitioner(self, partitioner: Any) -> None:
        """Sets the partitioner; partitioned variables cannot be created."""
        self._partitioner = partitioner

    def set_custom_getter(self, custom_getter: Getter | None) -> None:
        """Sets the function that is called instead of creating a variable."""
        self._custom_getter = custom_getter

    def get_collection(self, name: str) -> list[Any]:
        """Returns the values in a collection that belong to this scope."""
        return get_default_graph().get_collection(name, f"{self._name}/" if self._name else "")

    def trainable_variables(self) -> list[Any]:
        """Returns the trainable variables of this scope."""
        return self.get_collection(GraphKeys.TRAINABLE_VARIABLES)

    def global_variables(self) -> list[Any]:
        """Returns the global variables of this scope."""
        return self.get_collection(GraphKeys.GLOBAL_VARIABLES)

    def local_variables(self) -> list[Any]:
        """Returns the local variables of this scope."""
        return self.get_collection(GraphKeys.LOCAL_VARIABLES)

    def get_variable(self, var_store: VariableStore, name: Any, **arguments: Any) -> Any:
        """Returns the variable with a name inside this scope; see `tf.get_variable`."""
        defaults = {
            "regularizer": self._regularizer,
            "partitioner": self._partitioner,
            "custom_getter": self._custom_getter,
            "initializer": self._initializer,
            "constraint": self._constraint,
            "use_resource": self._use_resource,
            "caching_device": self._caching_device,
            "reuse": self._reuse,
        }
        _check_dtype(arguments.get("initializer"), arguments.get("dtype"))
        arguments.update({key: value for key, value in defaults.items() if arguments.get(key) is None})
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
