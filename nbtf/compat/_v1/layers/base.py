"""The base class of TensorFlow 1 layers, whose first call creates their variables in a scope named after them."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any

from nbtf._graph.tensor import GraphTensor
from nbtf._runtime.conversion import as_tensor
from nbtf._types import DType, float32
from nbtf.compat._v1._graph.defaults import building
from nbtf.compat._v1._graph.process import process
from nbtf.compat._v1._variables.keys import GraphKeys
from nbtf.compat._v1._variables.scopes import VariableScope, get_variable, variable_scope
from nbtf.keras.generation import is_legacy, of_keras_2


class Layer:
    """A callable layer: the first call creates its variables, later calls reuse them.

    Args:
      trainable: whether the variables are trainable.
      name: name of the variable scope; by default derived from the class, with a number if it is taken.
      reuse: whether to use existing variables with that name.
      activity_regularizer: function that computes a loss from the output.
      **unknown: unsupported arguments, which raise an error that names them.

    Raises:
      AttributeError: if the program uses TensorFlow 2, whose Keras 3 has no such layers.
      TypeError: if an argument is not supported.
    """

    def __init__(
        self,
        trainable: bool = True,
        name: str | None = None,
        reuse: bool | None = None,
        activity_regularizer: Callable[[Any], Any] | None = None,
        **unknown: Any,
    ) -> None:
        _check_available(type(self).__name__)
        if unknown:
            raise TypeError(f"{type(self).__name__} does not support these arguments: {', '.join(sorted(unknown))}.")
        self.trainable = trainable
        self._name, self._reuse, self._activity_regularizer = name, reuse, activity_regularizer
        self._scope: VariableScope | None = None
        self._variables: list[Any] = []

    @property
    def name(self) -> str:
        """The given name, or the name of its scope."""
        if self._name is not None:
            return self._name
        return _base_name(type(self)) if self._scope is None else self._scope.name.rpartition("/")[2]

    @property
    def scope_name(self) -> str:
        """The prefix of its variables' names, available after the first call."""
        return "" if self._scope is None else self._scope.name

    @property
    def variables(self) -> list[Any]:
        """Its variables."""
        return list(self._variables)

    weights = variables

    @property
    def trainable_variables(self) -> list[Any]:
        """Its trainable variables."""
        return [variable for variable in self._variables if variable.trainable]

    trainable_weights = trainable_variables

    @property
    def built(self) -> bool:
        """Whether its variables have been created."""
        return self._scope is not None

    def __call__(self, inputs: Any, **arguments: Any) -> Any:
        """Returns the layer's output for a tensor.

        Raises:
          RuntimeError: if ops run eagerly; use `tf.keras` layers instead.
        """
        graph = inputs.graph if isinstance(inputs, GraphTensor) else building()
        if graph is None:
            raise RuntimeError("`tf.layers` builds graphs, but ops run eagerly here. Use `tf.keras.layers`.")
        with graph.inside():
            tensor: Any = as_tensor(inputs)
            if self._scope is not None:
                with variable_scope(self._scope, reuse=True):
                    return self._called(tensor, arguments)
            base = _base_name(type(self))
            scope_name = self._name or (base if self._reuse else None)
            with variable_scope(scope_name, default_name=base, reuse=self._reuse) as scope:
                self.build(tensor)
                self._scope = scope
                return self._called(tensor, arguments)

    apply = __call__

    def _called(self, tensor: Any, arguments: dict[str, Any]) -> Any:
        result = self.call(tensor, **arguments)
        if self._activity_regularizer is not None:
            loss = self._activity_regularizer(result)
            if loss is not None:
                result.graph.add_to_collection(GraphKeys.REGULARIZATION_LOSSES, loss)
        return result

    def build(self, tensor: Any) -> None:
        """Creates the variables to fit the first input."""

    def call(self, tensor: Any, **arguments: Any) -> Any:
        """Returns the layer's output."""
        raise NotImplementedError

    def add_weight(
        self,
        name: str,
        shape: list[int],
        dtype: DType = float32,
        initializer: Any = None,
        regularizer: Any = None,
        constraint: Any = None,
        trainable: bool = True,
    ) -> Any:
        """Returns a variable in the layer's scope, created or found.

        Args:
          name: name inside the scope.
          shape: shape of the value.
          dtype: dtype of the value.
          initializer: initializer of the variable.
          regularizer: function that computes a loss from the variable.
          constraint: function that optimizers apply to the value.
          trainable: whether the variable is trainable if the layer is.
        """
        variable = get_variable(
            name,
            shape=shape,
            dtype=dtype,
            initializer=initializer,
            regularizer=regularizer,
            trainable=trainable and self.trainable,
            constraint=constraint,
        )
        self._variables.append(variable)
        return variable


def _base_name(layer_class: Any) -> str:
    """Returns the default scope name of a class, such as `max_pooling2d` for `MaxPooling2D`."""
    name = re.sub(r"(.)([A-Z][a-z0-9]+)", r"\1_\2", layer_class.__name__)
    return re.sub(r"([a-z])([A-Z])", r"\1_\2", name).lower().replace("pooling2_d", "pooling2d")


def _check_available(name: str) -> None:
    """Raises an error in TensorFlow 2 programs, which have neither imported TensorFlow 1 nor switched to it."""
    if not (process().is_tensorflow_1 or is_legacy()):
        raise of_keras_2(AttributeError(f"`{name}` is not available with Keras 3."))


def call_layer(layer_class: Callable[..., Layer], inputs: Any, **settings: Any) -> Any:
    """Creates a layer and returns its output; implements the functions of `tf.layers`.

    Args:
      layer_class: class of the layer.
      inputs: input of the layer.
      **settings: arguments of the layer, and `training`, an argument of its call.
    """
    _check_available(_base_name(layer_class))
    arguments = {"training": settings.pop("training")} if "training" in settings else {}
    return layer_class(**settings)(inputs, **arguments)
