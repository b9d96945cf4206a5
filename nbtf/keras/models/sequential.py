"""Sequential models: layers applied one after another."""

from __future__ import annotations

from typing import Any

from nbtf._runtime.tensor import Tensor
from nbtf.keras import naming
from nbtf.keras.layers.base import Layer
from nbtf.keras.layers.core import InputLayer
from nbtf.keras.layers.tracking import changed
from nbtf.keras.models.functional import Functional, fitted
from nbtf.keras.models.model import Model
from nbtf.keras.registry import deserialized, serialized
from nbtf.keras.symbolic import KerasTensor
from nbtf.keras.type_guards import is_list


class Sequential(Model):
    """A model that applies layers one after another.

    The weights are created on the first call, or immediately if the first layer is a `keras.Input` or was given an
    `input_shape`.

    Args:
      layers: layers of the model.
      trainable: whether gradients change the weights; true by default.
      name: name of the model.

    >>> model = tf.keras.Sequential([tf.keras.layers.Dense(2, name="a"), tf.keras.layers.Dense(1, name="b")])
    >>> model.weights
    []
    >>> model([[1.0, 2.0, 3.0]]).shape
    TensorShape([1, 1])
    >>> [weight.path.split("/", 1)[1] for weight in model.weights]
    ['a/kernel', 'a/bias', 'b/kernel', 'b/bias']
    """

    def __init__(self, layers: Any = None, trainable: bool = True, name: str | None = None, **kwargs: Any) -> None:
        super().__init__(trainable=trainable, name=name, **kwargs)
        self.autocast = False
        self._functional: Any = None
        self._sequence: list[Any] = []
        if layers:
            for layer in layers if is_list(layers) else [layers]:
                self._append(layer)
            self._rebuild()

    # Layers

    @property
    def layers(self) -> list[Any]:
        """The layers, without the input layer."""
        return [layer for layer in self._sequence if not isinstance(layer, InputLayer)]

    def add(self, layer: Any, rebuild: bool = True) -> None:
        """Adds a layer at the end.

        Raises:
          ValueError: if `layer` is not a layer or has the name of another layer.
        """
        self._append(layer)
        if rebuild:
            self._rebuild()

    def _append(self, layer: Any) -> None:
        origin = layer._keras_history if isinstance(layer, KerasTensor) else None
        if origin is not None and isinstance(origin.operation, InputLayer):
            layer = origin.operation
        if not isinstance(layer, Layer):
            if callable(layer) and not isinstance(layer, type):
                from nbtf.keras.layers.core import Lambda

                layer = Lambda(layer)
            else:
                raise ValueError(
                    f"Only instances of `keras.Layer` can be added to a Sequential model. Received: {layer} (of type "
                    f"{type(layer)})"
                )
        if any(existing.name == layer.name for existing in self._sequence):
            raise ValueError(
                f"All layers added to a Sequential model should have unique names. Name '{layer.name}' is already the "
                "name of a layer in this model. Update the `name` argument to pass a unique name."
            )
        if isinstance(layer, InputLayer) and self._sequence:
            raise ValueError(
                f"Sequential model '{self._name}' has already been configured to use input shape "
                f"{self._sequence[0]}. You cannot add a different Input layer to it."
            )
        shape = getattr(layer, "_input_shape_given", None)
        if not self._sequence and shape is not None and not isinstance(layer, InputLayer):
            self._sequence.append(InputLayer(batch_shape=shape, dtype=_input_dtype(layer)))
        self._sequence.append(layer)

    def pop(self, rebuild: bool = True) -> Any:
        """Removes and returns the last layer."""
        layer = self._sequence.pop()
        self.built, self._functional = False, None
        if rebuild:
            self._rebuild()
        return layer

    # Building

    def _rebuild(self) -> None:
        self.built, self._functional = False, None
        self._all_built = False
        if len(self._sequence) > 1 and isinstance(self._sequence[0], InputLayer):
            self.build(self._sequence[0].batch_shape)

    def build(self, input_shape: Any = None) -> None:
        """Creates the weights.

        Args:
          input_shape: shape including the batch; use None for any length.

        Raises:
          ValueError: if the model has no layers.
        """
        if not self._sequence:
            raise ValueError(
                f"Sequential model {self._name} cannot be built because it has no layers. Call `model.add(layer)`."
            )
        shape = tuple(input_shape)
        if not isinstance(self._sequence[0], InputLayer):
            dtype = _input_dtype(self._sequence[0])
            self._sequence.insert(0, InputLayer(batch_shape=shape, dtype=dtype))
        x = inputs = self._sequence[0].output
        with naming.inside(self.path):
            for layer in self._sequence[1:]:
                x = layer(x)
        self._functional = Functional(inputs, x)
        self.built = True
        changed()

    def _build_for(self, args: tuple[Any, ...], kwargs: dict[str, Any]) -> None:
        first = args[0] if args else next(iter(kwargs.values()))
        if not self._sequence or not hasattr(first, "shape"):
            self.built: bool = True
            return
        shape = tuple(first.shape)
        if isinstance(self._sequence[0], InputLayer):
            shape = self._sequence[0].batch_shape
        elif len(shape) > 0:
            shape = (None, *shape[1:])
        self.build(shape)

    # Calling

    def call(self, inputs: Any, training: Any = None, mask: Any = None) -> Any:
        x = inputs
        layers = self._sequence
        if self._functional is not None:
            first = layers[1] if len(layers) > 1 else layers[0]
            if first.autocast and isinstance(x, Tensor):
                symbol = self._functional._inputs[0]
                x = fitted(x, symbol) if len(x._array.shape) != len(symbol.shape) or not x._dtype.is_floating else x
        for layer in layers:
            if not isinstance(layer, InputLayer):
                x = layer(x)
        return x

    def compute_output_spec(self, *args: Any, **kwargs: Any) -> Any:
        """Returns symbolic results for symbolic inputs."""
        x = args[0] if args else next(iter(kwargs.values()))
        for layer in self.layers:
            if not layer.built:
                layer._build_for((x,), {})
            x = layer.compute_output_spec(x)
        return x if x is not (args[0] if args else None) else KerasTensor(x.shape, x.dtype)

    def compute_output_shape(self, input_shape: Any) -> Any:
        """Returns the shape of the results for given input shapes."""
        return self.compute_output_spec(KerasTensor(input_shape, self.compute_dtype)).shape

    # Inputs and outputs

    def _require_functional(self, attribute: str) -> Any:
        if self._functional is None:
            raise AttributeError(f"Sequential model '{self._name}' has no defined {attribute} yet.")
        return self._functional

    @property
    def inputs(self) -> Any:
        """A list with the symbolic input."""
        return self._require_functional("inputs").inputs

    @property
    def outputs(self) -> Any:
        """A list with the symbolic output."""
        return self._require_functional("outputs").outputs

    @property
    def input(self) -> Any:
        """The symbolic input."""
        if self._functional is None:
            raise AttributeError(f"The layer {self._name} has never been called and thus has no defined input.")
        return self._functional.input

    @property
    def output(self) -> Any:
        """The symbolic output."""
        if self._functional is None:
            raise AttributeError(f"The layer {self._name} has never been called and thus has no defined output.")
        return self._functional.output

    @property
    def input_shape(self) -> Any:
        """The shape of the input."""
        return self._require_functional("input shape").input_shape

    @property
    def output_shape(self) -> Any:
        """The shape of the output."""
        return self._require_functional("output shape").output_shape

    @property
    def input_names(self) -> list[str]:
        """A list with the name of the input."""
        return self._require_functional("inputs").input_names

    @property
    def output_names(self) -> list[str]:
        """A list with the name of the output."""
        return self._require_functional("outputs").output_names

    # Creating the model again

    def get_config(self) -> dict[str, Any]:
        config: dict[str, Any] = {
            "name": self._name,
            "trainable": self._trainable,
            "dtype": serialized(self._policy),
            "layers": [serialized(member) for member in self._sequence],
        }
        if self._functional is not None:
            config["build_input_shape"] = self._sequence[0].batch_shape
        return config

    @classmethod
    def from_config(cls, config: dict[str, Any], custom_objects: Any = None) -> Any:
        model = cls(name=config.get("name"))
        for layer in config["layers"]:
            model.add(deserialized(layer, custom_objects), rebuild=False)
        model._rebuild()
        if not model.built and config.get("build_input_shape") is not None:
            model.build(config["build_input_shape"])
        if config.get("trainable") is False:
            model.trainable = False
        return model


def _input_dtype(layer: Any) -> str:
    """Returns the dtype of the input that a layer expects."""
    input_dtype = getattr(layer, "_takes", None)
    return layer.compute_dtype if input_dtype is None else input_dtype
