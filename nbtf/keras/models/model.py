"""The base class of models: layers of layers that can be trained, summarized and saved."""

from __future__ import annotations

import inspect
import json
from collections.abc import Callable
from typing import Any, ClassVar

from nbtf.keras import naming
from nbtf.keras.border import check_arguments
from nbtf.keras.layers.base import Layer
from nbtf.keras.models.functional_config import functional_from_config
from nbtf.keras.models.summary import print_summary
from nbtf.keras.registry import custom_object_scope, serialized
from nbtf.keras.symbolic import KerasTensor
from nbtf.keras.training.trainer import Trainer
from nbtf.keras.type_guards import is_dict, is_list


class Model(Trainer, Layer):  # pyright: ignore[reportIncompatibleMethodOverride]  # Trainer only declares them
    """Groups layers into an object that can be trained.

    `Model(inputs, outputs)` creates a functional model from symbolic tensors, which layers compute from `keras.Input`.
    A subclass creates its layers in `__init__` and defines `call`.

    >>> inputs = tf.keras.Input((3,))
    >>> model = tf.keras.Model(inputs, tf.keras.layers.Dense(2)(inputs))
    >>> model.output_shape
    (None, 2)
    """

    _functional_class: ClassVar[type[Model]]
    """The class of models of symbolic tensors, which sets this attribute."""

    def __new__(cls, *args: Any, **kwargs: Any) -> Any:
        """Creates a functional model if called with inputs and outputs."""
        if cls is Model and _is_functional(args, kwargs):
            return cls._functional_class.__new__(cls._functional_class, *args, **kwargs)
        return super().__new__(cls, *args, **kwargs)

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        Trainer.__init__(self)
        if _is_functional(args, kwargs):
            functional_base = self._functional_class
            if not isinstance(self, functional_base):
                model_class: Any = type(self)
                functional_class = type(
                    model_class.__name__,
                    (model_class, functional_base),
                    {"__module__": model_class.__module__, "__doc__": model_class.__doc__},
                )
                functional_class.__qualname__ = model_class.__qualname__
                object.__setattr__(self, "__class__", functional_class)
            functional_base.__init__(self, *args, **kwargs)
            return
        Layer.__init__(self, *args, **kwargs)

    def _refuse_masks(self) -> None:
        """Does nothing: the nested layers handle masks."""

    def __setattr__(self, name: str, value: Any) -> None:
        """Sets an attribute; raises an error for a reserved name."""
        if name == "layers":
            raise AttributeError(
                "`Model.layers` attribute is reserved and should not be used. Please use another name."
            )
        super().__setattr__(name, value)

    def call(self, *args: Any, **kwargs: Any) -> Any:
        """Computes the model's results; subclasses override it."""
        raise NotImplementedError(f"Model {type(self).__name__} does not have a `call()` method implemented.")

    # Layers

    @property
    def layers(self) -> list[Any]:
        """The layers in order."""
        return [layer for layer in self._layers if isinstance(layer, Layer)]

    def get_layer(self, name: str | None = None, index: int | None = None) -> Any:
        """Returns a layer by its name or its index.

        Raises:
          ValueError: if the layer does not exist.
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

    def reset_states(self) -> None:
        """Resets the states that recurrent layers keep between batches."""
        for layer in self._flatten_layers(include_self=False):
            if hasattr(layer, "reset_states"):
                layer.reset_states()

    # Building

    def build(self, input_shape: Any = None) -> None:
        """Creates the weights of a model that defines `call`.

        Args:
          input_shape: shape of the inputs: a tuple, or a list or a dictionary of tuples.
        """
        if self.built:
            return
        if type(self).call is not Model.call and input_shape is not None:
            with naming.inside(self.path):
                self.compute_output_spec(_symbolic(input_shape, self.compute_dtype))
            object.__setattr__(self, "_build_shape", input_shape)
        self.built = True

    def _build_for(self, args: tuple[Any, ...], kwargs: dict[str, Any]) -> None:
        """Lets the call itself build the layers, unless the class overrides `build`."""
        if type(self).build is Model.build:
            first = args[0] if args else next(iter(kwargs.values()), None)
            object.__setattr__(self, "_build_shape", _shapes_of(first))  # for building a loaded model
            self.built: bool = True
            return
        super()._build_for(args, kwargs)

    # Summary

    def summary(
        self,
        line_length: int | None = None,
        print_fn: Callable[..., Any] | None = None,
        expand_nested: bool = False,
        show_trainable: bool = False,
        **beyond: Any,
    ) -> None:
        """Prints a table of the layers with shapes and numbers of weights.

        Args:
          line_length: width of the table in characters.
          print_fn: function that receives the text; by default it is printed.
          expand_nested: whether to show the layers of nested models; false by default.
          show_trainable: whether to add a column that shows which layers are trainable; false by default.
          **beyond: raises an error: the real Keras has further arguments.
        """
        check_arguments("summary", beyond)
        print_summary(self, line_length, print_fn, expand_nested, show_trainable)

    # Saving and loading

    def save(self, filepath: Any, overwrite: bool = True, **kwargs: Any) -> None:
        """Saves the model: its architecture, its weights and its `compile` arguments.

        Args:
          filepath: `name.keras`, a zip of JSON and NumPy's `.npz`; without an extension, a folder with the same files.
          overwrite: whether to replace an existing file; true by default.
          **kwargs: ignored, for older programs.

        Raises:
          FileExistsError: if the file exists and `overwrite` is False.
          ValueError: if the extension belongs to another format.
        """
        from nbtf.keras.saving.models import save_model

        save_model(self, filepath, overwrite, **kwargs)

    def save_weights(self, filepath: Any, overwrite: bool = True, **kwargs: Any) -> None:
        """Saves the weights (in NumPy's `.npz` format for any extension).

        Raises:
          FileExistsError: if the file exists and `overwrite` is False.
          ValueError: if the model has no weights yet.
        """
        from nbtf.keras.saving.models import save_weights

        save_weights(self, filepath, overwrite, **kwargs)

    def load_weights(self, filepath: Any, skip_mismatch: bool = False, **kwargs: Any) -> None:
        """Loads weights from a file written by `save_weights` or `save`.

        Args:
          filepath: path of the file.
          skip_mismatch: whether weights that are missing or have another shape stay unchanged; false by default.
          **kwargs: ignored, for older programs.

        Raises:
          FileNotFoundError: if the file does not exist.
          ValueError: if the weights do not match the model.
        """
        from nbtf.keras.saving.models import load_weights

        load_weights(self, filepath, skip_mismatch, **kwargs)

    # Creating the model again

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
        """Creates a model from the result of `get_config`.

        Args:
          config: result of `get_config`.
          custom_objects: classes and functions by name.
        """
        if {"name", "layers", "input_layers", "output_layers"} <= set(config):
            model_class = cls._functional_class if cls is Model else cls
            with custom_object_scope(custom_objects or {}):
                return functional_from_config(model_class, config)
        with custom_object_scope(custom_objects or {}):
            return super().from_config(_accepted_config(cls, config))

    def to_json(self, **kwargs: Any) -> str:
        """Returns the config of the model, without its weights, as JSON."""
        return json.dumps(serialized(self), **kwargs)


def _is_functional(args: tuple[Any, ...], kwargs: dict[str, Any]) -> bool:
    return len(args) == 2 or (len(args) == 1 and "outputs" in kwargs) or ("inputs" in kwargs and "outputs" in kwargs)


def _symbolic(shape: Any, dtype: str) -> Any:
    if is_dict(shape):
        return {key: _symbolic(inner, dtype) for key, inner in shape.items()}
    if len(shape) > 0 and is_list(shape[0]):
        return [_symbolic(inner, dtype) for inner in shape]
    return KerasTensor(shape, dtype)


def _accepted_config(model_class: type, config: dict[str, Any]) -> dict[str, Any]:
    """Returns a config without the arguments that every model has, if the class does not accept them."""
    parameters = inspect.signature(model_class.__init__).parameters.values()
    if any(parameter.kind is parameter.VAR_KEYWORD for parameter in parameters):
        return config
    names = {parameter.name for parameter in parameters}
    return {key: value for key, value in config.items() if key in names or key not in ("name", "trainable", "dtype")}


def _shapes_of(value: Any) -> Any:
    """Returns the shapes of inputs with an unknown batch size."""
    if is_dict(value):
        return {key: _shapes_of(inner) for key, inner in value.items()}
    if is_list(value):
        return [_shapes_of(inner) for inner in value]
    shape = getattr(value, "shape", None)
    return None if shape is None else (None, *tuple(shape)[1:])
