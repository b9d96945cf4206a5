"""A variable scope: a name in front of variables, and what they take where a call says nothing."""

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
    """What `tf.get_variable` takes from the open `variable_scope` blocks: a name in front, and defaults.

    Args:
      reuse: True to find variables, False to make them, `tf.AUTO_REUSE` for either.
      name: what stands in front of names.
      initializer: what makes first values where a call says nothing.
      regularizer: what makes losses of variables, likewise.
      caching_device: accepted and kept.
      partitioner: kept; partitioned variables cannot be made.
      custom_getter: what is called instead of making a variable.
      name_scope: the name scope that was opened with it.
      dtype: the dtype of variables.
      use_resource: which kind of variables is made.
      constraint: what optimizers apply to values.
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

    name: str = reads("_name", "What stands in front of the names of variables.")
    original_name_scope: str = reads("_name_scope", "The name scope that was opened with it, with the last `/`.")
    reuse: Any = reads("_reuse", "Whether variables are found or made.")
    initializer: Any = reads("_initializer", "What makes first values.")
    dtype: DType = reads("_dtype", "The dtype of variables.")
    use_resource: bool | None = reads("_use_resource", "Which kind of variables is made; None where it does not say.")
    regularizer: Any = reads("_regularizer", "What makes losses of variables.")
    caching_device: Any = reads("_caching_device", "What was asked for; it has no effect.")
    partitioner: Any = reads("_partitioner", "What was asked for.")
    custom_getter: Getter | None = reads("_custom_getter", "What is called instead of making a variable.")
    constraint: Any = reads("_constraint", "What optimizers apply to values.")

    def reuse_variables(self) -> None:
        """Finds variables from now on, and makes none."""
        self._reuse = True

    def set_initializer(self, initializer: Any) -> None:
        """Sets what makes first values."""
        self._initializer = initializer

    def set_dtype(self, dtype: DTypeLike) -> None:
        """Sets the dtype of variables."""
        self._dtype = as_dtype(dtype)

    def set_use_resource(self, use_resource: bool | None) -> None:
        """Sets which kind of variables is made."""
        self._use_resource = use_resource

    def set_regularizer(self, regularizer: Any) -> None:
        """Sets what makes losses of variables."""
        self._regularizer = regularizer

    def set_caching_device(self, caching_device: Any) -> None:
        """Takes it; it has no effect."""
        self._caching_device = caching_device

    def set_partitioner(self, partitioner: Any) -> None:
        """Takes it; partitioned variables cannot be made."""
        self._partitioner = partitioner

    def set_custom_getter(self, custom_getter: Getter | None) -> None:
        """Sets what is called instead of making a variable."""
        self._custom_getter = custom_getter

    def get_collection(self, name: str) -> list[Any]:
        """Returns what a collection has of this scope."""
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
        """Returns a variable whose name stands below this scope; see `tf.get_variable`."""
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
        with get_default_graph().name_scope(None):  # names of variables know nothing of name scopes
            return var_store.get_variable(full_name, **arguments)


def _check_dtype(initializer: Any, dtype: Any) -> None:
    if dtype is None or initializer is None or callable(initializer):
        return
    initializer_dtype = getattr(initializer, "dtype", None)
    known_dtype = as_dtype(initializer_dtype) if initializer_dtype is not None else host_array(initializer, None)[1]
    if known_dtype != as_dtype(dtype):
        raise ValueError(f"Initializer type '{known_dtype}' and explicit dtype '{as_dtype(dtype)}' don't match.")
