"""What a layer of TensorFlow 1 is: variables in a scope of its name, made by the first call."""

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
    """Is called with a tensor; the first call makes the variables, further ones use them again.

    Args:
      trainable: whether the variables are trained.
      name: the scope; by default after the class, with a number if it is taken.
      reuse: whether variables of that name are there already.
      activity_regularizer: makes a loss of the result.
      **unknown: refused, with a clear message.

    Raises:
      AttributeError: the program is one of TensorFlow 2, whose Keras 3 has no such layers.
      TypeError: there is an argument that layers do not take.
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
            raise TypeError(f"{type(self).__name__} takes no {', '.join(sorted(unknown))} here.")
        self.trainable = trainable
        self._name, self._reuse, self._activity_regularizer = name, reuse, activity_regularizer
        self._scope: VariableScope | None = None
        self._variables: list[Any] = []

    @property
    def name(self) -> str:
        """The name it was given, or that of its scope."""
        if self._name is not None:
            return self._name
        return _base_name(type(self)) if self._scope is None else self._scope.name.rpartition("/")[2]

    @property
    def scope_name(self) -> str:
        """What stands in front of the names of its variables, once it was called."""
        return "" if self._scope is None else self._scope.name

    @property
    def variables(self) -> list[Any]:
        """Its variables."""
        return list(self._variables)

    weights = variables

    @property
    def trainable_variables(self) -> list[Any]:
        """Those that are trained."""
        return [variable for variable in self._variables if variable.trainable]

    trainable_weights = trainable_variables

    @property
    def built(self) -> bool:
        """Whether the variables are there."""
        return self._scope is not None

    def __call__(self, inputs: Any, **arguments: Any) -> Any:
        """Returns the result for a tensor.

        Raises:
          RuntimeError: ops run at once, where layers of `tf.keras` do it.
        """
        graph = inputs.graph if isinstance(inputs, GraphTensor) else building()
        if graph is None:
            raise RuntimeError("tf.layers build graphs, and ops run at once here: use tf.keras.layers.")
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
        """Makes the variables for a first tensor."""

    def call(self, tensor: Any, **arguments: Any) -> Any:
        """Returns the result."""
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
        """Returns a variable in the layer's scope, new or found.

        Args:
          name: its name in the scope.
          shape: of the value.
          dtype: of the value.
          initializer: what makes the first value.
          regularizer: makes a loss of it.
          constraint: is applied by optimizers.
          trainable: whether it is trained, if the layer is.
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
    """Returns `max_pooling2d` for `MaxPooling2D`."""
    name = re.sub(r"(.)([A-Z][a-z0-9]+)", r"\1_\2", layer_class.__name__)
    return re.sub(r"([a-z])([A-Z])", r"\1_\2", name).lower().replace("pooling2_d", "pooling2d")


def _check_available(name: str) -> None:
    """Refuses layers of TensorFlow 1 to programs of TensorFlow 2: those that have not imported it, or switch it on."""
    if not (process().is_tensorflow_1 or is_legacy()):
        raise of_keras_2(AttributeError(f"`{name}` is not available with Keras 3."))


def call_layer(layer_class: Callable[..., Layer], inputs: Any, **settings: Any) -> Any:
    """Returns what a new layer makes of inputs: what each function of `tf.layers` does with its arguments.

    Args:
      layer_class: the class of the layer.
      inputs: what the layer is called with.
      **settings: what it is made with, and `training`, which it is called with.
    """
    _check_available(_base_name(layer_class))
    arguments = {"training": settings.pop("training")} if "training" in settings else {}
    return layer_class(**settings)(inputs, **arguments)
