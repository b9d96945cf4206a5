"""What a model is: a layer of layers, which can be trained, looked at, and asked for its parts."""

from __future__ import annotations

import inspect
import json
from collections.abc import Callable
from typing import Any

from nbtf.keras import naming
from nbtf.keras.layers.base import Layer
from nbtf.keras.layers.core import InputLayer
from nbtf.keras.symbolic import KerasTensor
from nbtf.keras.training.trainer import Trainer
from nbtf.keras.type_guards import is_dict, is_list


class Model(Trainer, Layer):  # pyright: ignore[reportIncompatibleMethodOverride]  # Trainer only names them
    """Groups layers into something that can be trained.

    `Model(inputs, outputs)` makes one of symbolic tensors, which layers made of `keras.Input`. A subclass makes its
    layers in `__init__`, and says in `call` what becomes of the inputs.

    >>> inputs = tf.keras.Input((3,))
    >>> model = tf.keras.Model(inputs, tf.keras.layers.Dense(2)(inputs))
    >>> model.output_shape
    (None, 2)
    """

    def __new__(cls, *args: Any, **kwargs: Any) -> Any:
        """Makes a functional model if it is called with inputs and outputs."""
        if cls is Model and _is_functional(args, kwargs):
            from nbtf.keras.models.functional import Functional

            return Functional.__new__(Functional, *args, **kwargs)
        return super().__new__(cls, *args, **kwargs)

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        Trainer.__init__(self)
        if _is_functional(args, kwargs):
            from nbtf.keras.models.functional import Functional

            if not isinstance(self, Functional):
                model_class: Any = type(self)
                functional_class = type(
                    model_class.__name__,
                    (model_class, Functional),
                    {"__module__": model_class.__module__, "__doc__": model_class.__doc__},
                )
                functional_class.__qualname__ = model_class.__qualname__
                object.__setattr__(self, "__class__", functional_class)
            Functional.__init__(self, *args, **kwargs)  # type: ignore[arg-type]  # it is one now
            return
        Layer.__init__(self, *args, **kwargs)

    def _refuse_masks(self) -> None:
        """Does nothing: the layers inside say what becomes of masks."""

    def __setattr__(self, name: str, value: Any) -> None:
        """Refuses a name that models need themselves."""
        if name == "layers":
            raise AttributeError(
                "`Model.layers` attribute is reserved and should not be used. Please use another name."
            )
        super().__setattr__(name, value)

    def call(self, *args: Any, **kwargs: Any) -> Any:
        """Says what becomes of the inputs; to be written by subclasses."""
        raise NotImplementedError(f"Model {type(self).__name__} does not have a `call()` method implemented.")

    # Its parts

    @property
    def layers(self) -> list[Any]:
        """The layers, in order."""
        return [layer for layer in self._layers if isinstance(layer, Layer)]

    def get_layer(self, name: str | None = None, index: int | None = None) -> Any:
        """Returns a layer by its name or its place.

        Raises:
          ValueError: there is none, in Keras' words.
        """
        layers = self.layers
        if index is not None and name is not None:
            raise ValueError(f"Provide only a layer name or a layer index. Received: index={index}, name={name}.")
        if index is not None:
            if len(layers) <= index:
                raise ValueError(
                    f"Was asked to retrieve layer at index {index} but model only has {len(layers)} layers."
                )
            return layers[index]
        if name is not None:
            for layer in layers:
                if layer.name == name:
                    return layer
            raise ValueError(f"No such layer: {name}. Existing layers are: {[layer.name for layer in layers]}.")
        raise ValueError("Provide either a layer name or layer index at `get_layer`.")

    @property
    def state_updates(self) -> list[Any]:
        """Nothing: updates happen at once."""
        return []

    def reset_states(self) -> None:
        """Has recurrent layers forget what they kept from batch to batch."""
        for layer in self._flatten_layers(include_self=False):
            if hasattr(layer, "reset_states"):
                layer.reset_states()

    # Building

    def build(self, input_shape: Any = None) -> None:
        """Makes the weights of a model that says in `call` what it does.

        Args:
          input_shape: of the inputs: a tuple, or a list or a dictionary of them.
        """
        if self.built:
            return
        if type(self).call is not Model.call and input_shape is not None:
            with naming.inside(self.path):
                self.compute_output_spec(_symbolic(input_shape, self.compute_dtype))
            object.__setattr__(self, "_build_shape", input_shape)
        self.built = True

    def _build_for(self, args: tuple[Any, ...], kwargs: dict[str, Any]) -> None:
        """Has layers be built by the call itself, unless the class says more."""
        if type(self).build is Model.build:
            first = args[0] if args else next(iter(kwargs.values()), None)
            object.__setattr__(self, "_build_shape", _shapes_of(first))  # a loaded model is built for it
            self.built: bool = True
            return
        super()._build_for(args, kwargs)

    # Text

    def summary(
        self,
        line_length: int | None = None,
        positions: Any = None,
        print_fn: Callable[..., Any] | None = None,
        expand_nested: bool = False,
        show_trainable: bool = False,
        layer_range: Any = None,
    ) -> None:
        """Prints a table of the layers, with shapes and numbers of weights.

        Args:
          line_length: in characters.
          positions: where columns end, as parts of the line.
          print_fn: takes the text; printed when None.
          expand_nested: whether layers of models inside are shown.
          show_trainable: whether a column says which layers are trainable.
          layer_range: names of the first and the last layer to show.
        """
        from nbtf.keras.models.summary import print_summary

        print_summary(self, line_length, positions, print_fn, expand_nested, show_trainable, layer_range)

    # In files

    def save(self, filepath: Any, overwrite: bool = True, **kwargs: Any) -> None:
        """Writes the model: what it is made of, its weights, and what it was compiled with.

        Args:
          filepath: `name.keras`, a zip of JSON and NumPy's `.npz`; without an ending a folder with the same files.
          overwrite: whether what is there is replaced.
          **kwargs: accepted for older programs.

        Raises:
          FileExistsError: it is there, and `overwrite` is False.
          ValueError: an ending that means another format.
        """
        from nbtf.keras.saving.models import save_model

        save_model(self, filepath, overwrite, **kwargs)

    def save_weights(self, filepath: Any, overwrite: bool = True, **kwargs: Any) -> None:
        """Writes the weights (NumPy's `.npz`, whatever the ending).

        Raises:
          FileExistsError: the file is there, and `overwrite` is False.
          ValueError: there are no weights yet.
        """
        from nbtf.keras.saving.models import save_weights

        save_weights(self, filepath, overwrite, **kwargs)

    def load_weights(self, filepath: Any, skip_mismatch: bool = False, **kwargs: Any) -> None:
        """Takes the weights of a file that `save_weights` or `save` wrote.

        Args:
          filepath: where from.
          skip_mismatch: whether weights that are missing or have another shape stay as they are.
          **kwargs: accepted for older programs.

        Raises:
          FileNotFoundError: there is no such file.
          ValueError: the weights do not belong to such a model.
        """
        from nbtf.keras.saving.models import load_weights

        load_weights(self, filepath, skip_mismatch, **kwargs)

    # How to make another

    def get_config(self) -> dict[str, Any]:
        if type(self).get_config is not Model.get_config:
            return Layer.get_config(self)
        args, kwargs = self._constructor_arguments
        if args or kwargs:
            return Layer.get_config(self) | self._own_config()
        config = Layer.get_config(self)
        del config["name"]
        return config

    @classmethod
    def from_config(cls, config: dict[str, Any], custom_objects: Any = None) -> Any:
        """Makes one from what `get_config` gave.

        Args:
          config: what `get_config` returned.
          custom_objects: classes and functions by name.
        """
        from nbtf.keras.registry import custom_object_scope

        if {"name", "layers", "input_layers", "output_layers"} <= set(config):
            from nbtf.keras.models.functional import Functional, functional_from_config

            model_class = Functional if cls is Model else cls
            with custom_object_scope(custom_objects or {}):
                return functional_from_config(model_class, config)
        with custom_object_scope(custom_objects or {}):
            return super().from_config(_accepted_config(cls, config))

    def to_json(self, **kwargs: Any) -> str:
        """Returns the config of the model, without its weights, as JSON."""
        from nbtf.keras.registry import serialized

        return json.dumps(serialized(self), **kwargs)


def _is_functional(args: tuple[Any, ...], kwargs: dict[str, Any]) -> bool:
    return len(args) == 2 or (len(args) == 1 and "outputs" in kwargs) or ("inputs" in kwargs and "outputs" in kwargs)


def _symbolic(shape: Any, dtype: str) -> Any:
    if is_dict(shape):
        entries: dict[str, Any] = shape
        return {key: _symbolic(inner, dtype) for key, inner in entries.items()}
    if len(shape) > 0 and is_list(shape[0]):
        return [_symbolic(inner, dtype) for inner in shape]
    return KerasTensor(shape, dtype)


def _accepted_config(model_class: type, config: dict[str, Any]) -> dict[str, Any]:
    """Returns a config without what every model has, where the class takes no such arguments."""
    parameters = inspect.signature(model_class.__init__).parameters.values()
    if any(parameter.kind is parameter.VAR_KEYWORD for parameter in parameters):
        return config
    names = {parameter.name for parameter in parameters}
    return {key: value for key, value in config.items() if key in names or key not in ("name", "trainable", "dtype")}


def _shapes_of(value: Any) -> Any:
    """Returns the shapes of inputs, of a batch of any size."""
    if is_dict(value):
        entries: dict[str, Any] = value
        return {key: _shapes_of(inner) for key, inner in entries.items()}
    if is_list(value):
        return [_shapes_of(inner) for inner in value]
    shape = getattr(value, "shape", None)
    return None if shape is None else (None, *tuple(shape)[1:])


def is_input(operation: Any) -> bool:
    """Tells whether an operation is where data come in."""
    return isinstance(operation, InputLayer)
