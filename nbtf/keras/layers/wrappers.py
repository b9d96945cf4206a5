"""Layers that wrap another layer, to run it in both directions or at each step of a sequence."""

from __future__ import annotations

from typing import Any

from nbtf._ops.arrays.broadcasting import reshape
from nbtf._ops.arrays.joining import concat
from nbtf._ops.arrays.slicing import reverse
from nbtf._ops.math.arithmetic import add, multiply
from nbtf.keras.layers.base import Layer
from nbtf.keras.registry import deserialized, serialized


class Wrapper(Layer):
    """Base class of layers that wrap another layer.

    Args:
      layer: layer to wrap.
    """

    def __init__(self, layer: Any, **kwargs: Any) -> None:
        """Stores the wrapped layer.

        Raises:
          ValueError: if `layer` is not a layer.
        """
        if not isinstance(layer, Layer):
            raise ValueError(f"Layer {layer} supplied to Wrapper isn't a supported layer type.")
        super().__init__(**kwargs)
        self.layer: Any = layer

    def get_config(self) -> dict[str, Any]:
        return {**super().get_config(), "layer": serialized(self.layer)}

    @classmethod
    def from_config(cls, config: dict[str, Any], custom_objects: Any = None) -> Any:
        arguments = {
            name: deserialized(value, custom_objects) if name.endswith("layer") else value
            for name, value in config.items()
        }
        return cls(arguments.pop("layer"), **arguments)


class TimeDistributed(Wrapper):
    """Applies a layer to each step of sequences.

    Args:
      layer: layer to apply.

    >>> tf.keras.layers.TimeDistributed(tf.keras.layers.Dense(4))(tf.zeros((2, 5, 3))).shape
    TensorShape([2, 5, 4])
    """

    supports_masking = True

    def build(self, input_shape: Any) -> None:
        """Builds the layer for one step."""
        if len(input_shape) < 3:
            raise ValueError(
                "`TimeDistributed` Layer should be passed an `input_shape` with at least 3 dimensions, received: "
                f"{input_shape}"
            )
        if not self.layer.built:
            self.layer.build((input_shape[0], *input_shape[2:]))

    def call(self, inputs: Any, training: Any = None, mask: Any = None) -> Any:
        """Applies the layer to all steps of all examples at once."""
        shape = inputs._array.shape
        options = {"training": training} if self.layer._facts.has_training else {}
        results = self.layer(reshape(inputs, (shape[0] * shape[1], *shape[2:])), **options)
        return reshape(results, (*shape[:2], *results._array.shape[1:]))

    def compute_output_shape(self, input_shape: Any) -> Any:
        step_shape = self.layer.compute_output_shape((input_shape[0], *input_shape[2:]))
        return (*input_shape[:2], *step_shape[1:])


_MODES = ("sum", "mul", "ave", "concat", None)


class Bidirectional(Wrapper):
    """Runs a recurrent layer over sequences in both directions.

    Args:
      layer: recurrent layer for the forward direction.
      merge_mode: how to combine both results: `"concat"`, `"sum"`, `"mul"` or `"ave"`; None returns both in a list.
      weights: values of all weights.
      backward_layer: layer for the backward direction; by default a copy of `layer`.

    Raises:
      ValueError: if the mode is unknown.

    >>> tf.keras.layers.Bidirectional(tf.keras.layers.LSTM(4))(tf.zeros((2, 5, 3))).shape
    TensorShape([2, 8])
    """

    supports_masking = True

    def __init__(
        self,
        layer: Any,
        merge_mode: str | None = "concat",
        weights: Any = None,
        backward_layer: Any = None,
        **kwargs: Any,
    ) -> None:
        super().__init__(layer, **kwargs)
        if merge_mode not in _MODES:
            raise ValueError(f"Invalid merge mode. Received: {merge_mode}. Expected one of {set(_MODES)}.")
        if not hasattr(layer, "go_backwards"):
            raise ValueError(f"`layer` needs to have a `go_backwards` attribute, as recurrent layers have: {layer}")
        config = layer.get_config()
        del self.layer
        self.__dict__["_like"] = layer
        layer_class: Any = layer.__class__
        self.forward_layer: Any = layer_class.from_config({**config, "name": f"forward_{_plain(layer.name)}"})
        if backward_layer is None:
            back = {
                **layer.get_config(),
                "go_backwards": not layer.go_backwards,
                "name": f"backward_{_plain(layer.name)}",
            }
            self.backward_layer: Any = layer_class.from_config(back)
        else:
            self.backward_layer = backward_layer
        self.merge_mode = merge_mode
        self.return_sequences: Any = layer.return_sequences
        self.return_state: Any = layer.return_state
        self.__dict__["_first_weights"] = weights

    _internal = Wrapper._internal | {"_like", "_first_weights"}
    _first_weights: Any

    def build(self, input_shape: Any) -> None:
        for layer in (self.forward_layer, self.backward_layer):
            if not layer.built:
                layer.build(input_shape)
        self.built = True
        if self._first_weights is not None:
            self.set_weights(self._first_weights)

    def call(self, sequences: Any, initial_state: Any = None, mask: Any = None, training: Any = None) -> Any:
        """Processes the sequences in both directions."""
        first, second = dict[str, Any](), dict[str, Any]()
        if initial_state is not None:
            half = len(initial_state) // 2
            first, second = {"initial_state": initial_state[:half]}, {"initial_state": initial_state[half:]}
        forward = self.forward_layer(sequences, mask=mask, training=training, **first)
        back = self.backward_layer(sequences, mask=mask, training=training, **second)
        states: list[Any] = []
        if self.return_state:
            states = [*forward[1:], *back[1:]]
            forward, back = forward[0], back[0]
        if self.return_sequences:
            back = reverse(back, [1])
        merged = self._merged(forward, back)
        return [merged, *states] if states else merged

    def _merged(self, forward: Any, backward: Any) -> Any:
        if self.merge_mode == "concat":
            return concat([forward, backward], -1)
        if self.merge_mode == "mul":
            return multiply(forward, backward)
        if self.merge_mode is None:
            return [forward, backward]
        total = add(forward, backward)
        return total if self.merge_mode == "sum" else total / 2

    def compute_output_shape(self, sequences_shape: Any, initial_state_shape: Any = None) -> Any:
        forward_shapes = self.forward_layer.compute_output_shape(sequences_shape)
        states: list[Any] = forward_shapes[1:] * 2 if self.return_state else []
        shape = forward_shapes[0] if self.return_state else forward_shapes
        if self.merge_mode is None:
            return [shape, shape, *states]
        if self.merge_mode == "concat":
            shape = (*shape[:-1], 2 * shape[-1])
        return [shape, *states] if states else shape

    def compute_mask(self, inputs: Any, previous_mask: Any = None) -> Any:
        """Returns the mask of the results if there is a result of every step."""
        return previous_mask if self.return_sequences and not self.return_state else None

    def reset_states(self) -> None:
        """Resets the states kept from the previous batch."""
        self.forward_layer.reset_states()
        self.backward_layer.reset_states()

    def get_config(self) -> dict[str, Any]:
        config = Layer.get_config(self)
        config.update(merge_mode=self.merge_mode, layer=serialized(self.forward_layer))
        return {**config, "backward_layer": serialized(self.backward_layer)}


def _plain(name: str) -> str:
    """Returns the name of a layer without the prefix of a direction."""
    return name.removeprefix("forward_").removeprefix("backward_")
