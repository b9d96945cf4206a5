"""The variables that `tf.get_variable` has created in a graph, by name."""

from __future__ import annotations

from collections.abc import Callable
from enum import Enum
from functools import partial
from inspect import Parameter, isclass, signature
from typing import Any

from nbtf._devices.sites import NOWHERE, WORDING, CallSite, find_call_site, site_of
from nbtf._ops.variables.creation import VariableAggregation, VariableSynchronization
from nbtf._shapes import TensorShape
from nbtf._types import DType, as_dtype, string
from nbtf.compat._v1._graph.defaults import building
from nbtf.compat._v1._graph.session_graph import Graph
from nbtf.compat._v1._variables.initializers import GlorotUniform, Zeros
from nbtf.compat._v1._variables.keys import GraphKeys
from nbtf.compat._v1._variables.variable_classes import Variable


class _ReuseMode(Enum):
    """How a scope treats existing names."""

    AUTO_REUSE = 1

    def __str__(self) -> str:
        return f"_ReuseMode.{self.name}"


AUTO_REUSE = _ReuseMode.AUTO_REUSE
"""For `reuse`: a variable is created if it does not exist, and found otherwise."""


class VariableStore:
    """The variables of one graph by name."""

    def __init__(self) -> None:
        self._made: dict[str, Any] = {}
        self._places: dict[str, CallSite] = {}

    def get_variable(
        self,
        name: str,
        shape: Any = None,
        dtype: Any = None,
        initializer: Any = None,
        regularizer: Callable[[Any], Any] | None = None,
        reuse: Any = None,
        trainable: bool | None = None,
        collections: Any = None,
        caching_device: Any = None,
        partitioner: Any = None,
        validate_shape: bool = True,
        use_resource: bool | None = None,
        custom_getter: Any = None,
        constraint: Callable[[Any], Any] | None = None,
        synchronization: VariableSynchronization = VariableSynchronization.AUTO,
        aggregation: VariableAggregation = VariableAggregation.NONE,
    ) -> Any:
        """Returns the variable with a name, found or created; see `tf.get_variable`.

        Args:
          name: full name of the variable.
          shape, dtype, initializer, regularizer, trainable, collections, caching_device, partitioner, validate_shape,
            use_resource, custom_getter, constraint, synchronization, aggregation: as for `tf.get_variable`.
          reuse: whether the variable is found or created.
        """
        check_supported(partitioner, custom_getter)
        variable_dtype = as_dtype("float32" if dtype is None else dtype)
        known_shape = None if shape is None else TensorShape(shape)
        if known_shape is not None and initializer is not None and not callable(initializer):
            raise ValueError("If initializer is a constant, do not specify shape.")
        if name in self._made:
            return self._find_shared(name, known_shape, variable_dtype, reuse)
        if reuse is True and building() is not None:
            raise ValueError(
                f"Variable {name} does not exist, or was not created with tf.get_variable(). "
                "Did you mean to set reuse=tf.AUTO_REUSE in VarScope?"
            )
        value, kind_of_value = _first_value(name, known_shape, variable_dtype, initializer)
        variable: Any = Variable(
            initial_value=value,
            name=name,
            trainable=trainable,
            collections=collections,
            validate_shape=validate_shape,
            caching_device=caching_device,
            dtype=kind_of_value,
            constraint=constraint,
            use_resource=use_resource,
            synchronization=synchronization,
            aggregation=aggregation,
        )
        if building() is None:  # as in TensorFlow, names do not share eager variables
            return variable
        self._made[name], self._places[name] = variable, find_call_site(NOWHERE)
        if regularizer is not None:
            _regularize(variable, name, regularizer)
        return variable

    def _find_shared(self, name: str, shape: TensorShape | None, dtype: DType, reuse: Any) -> Any:
        shared = self._made[name]
        if reuse is False:
            raise ValueError(
                f"Variable {name} already exists, disallowed. "
                "Did you mean to set reuse=True or reuse=tf.AUTO_REUSE in VarScope? "
                f"Originally defined at: {WORDING.describe(site_of(self._places[name]))}"
            )
        text = f"Trying to share variable {name}, but specified"
        if shape is not None and not shape.is_compatible_with(shared.shape):
            raise ValueError(f"{text} shape {shape} and found shape {shared.shape}.")
        if not dtype.is_compatible_with(shared.dtype):
            raise ValueError(f"{text} dtype {dtype.name} and found dtype {shared.dtype.name}.")
        return shared


def check_supported(partitioner: Any, custom_getter: Any) -> None:
    """Raises `NotImplementedError` for arguments of variables and scopes that are not supported."""
    for name, value in (("partitioner", partitioner), ("custom_getter", custom_getter)):
        if value is not None:
            raise NotImplementedError(f"nbtf does not support `{name}`. Create the variable without it.")


def store_of(graph: Graph) -> VariableStore:
    """Returns a graph's variables by name."""
    if graph.variable_store is None:
        graph.variable_store = VariableStore()
    return graph.variable_store


def _first_value(name: str, shape: TensorShape | None, dtype: DType, initializer: Any) -> tuple[Any, DType | None]:
    """Returns the initial value, or the function that makes it, and the dtype to use."""
    if initializer is None:
        initializer = _default_initializer(name, shape, dtype)
    if not callable(initializer):
        return initializer, None
    if isclass(initializer):
        initializer = initializer()
    parameters = signature(initializer).parameters
    if shape is not None and shape.is_fully_defined():
        options = {"partition_info": None} if "partition_info" in parameters else {}
        return partial(initializer, shape.as_list(), dtype=dtype, **options), dtype
    if all([parameter.default is not Parameter.empty for parameter in parameters.values()]):
        return initializer, None
    raise ValueError(
        "The initializer passed is not valid. It should be a callable with no arguments and the shape should not be "
        "provided or an instance of `tf.keras.initializers.*' and `shape` should be fully defined."
    )


def _default_initializer(name: str, shape: TensorShape | None, dtype: DType) -> Any:
    if shape is None:
        raise ValueError(f"Variable {name} did not get an initializer, so its `shape` argument must be specified.")
    if dtype.is_floating:
        return GlorotUniform()
    if dtype.is_integer or dtype.is_bool or dtype is string:
        return Zeros()
    raise ValueError(f"An initializer for variable {name} of {dtype} is required")


def _regularize(variable: Any, name: str, regularizer: Callable[[Any], Any]) -> None:
    """Adds a regularizer's loss for a variable to the graph's collection of regularization losses."""
    graph = variable.graph
    with graph.colocate_with(variable.op), graph.name_scope(f"{name}/Regularizer/"), graph.inside():
        loss = regularizer(variable)
    if loss is not None:
        graph.add_to_collection(GraphKeys.REGULARIZATION_LOSSES, loss)
