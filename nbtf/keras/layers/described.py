"""The description of a layer: its name, its config, and its inputs and outputs."""

from __future__ import annotations

import inspect
from typing import Any

from nbtf.keras.dtypes import DTypePolicy
from nbtf.keras.layers.input_spec import shapes_of
from nbtf.keras.operation import Node
from nbtf.keras.registry import deserialized, serialized
from nbtf.keras.type_guards import is_dict, is_list

_OBJECT = """
Object {name} was created by passing
non-serializable argument values in `__init__()`,
and therefore the object must override `get_config()` in
order to be serializable. Please implement `get_config()`.

Example:

class CustomLayer(keras.layers.Layer):
    def __init__(self, arg1, arg2, **kwargs):
        super().__init__(**kwargs)
        self.arg1 = arg1
        self.arg2 = arg2

    def get_config(self):
        config = super().get_config()
        config.update({{
            "arg1": self.arg1,
            "arg2": self.arg2,
        }})
        return config
"""


def arguments_of(init: Any, *without: str) -> tuple[str, ...]:
    """Returns the names of the arguments of a class's own `__init__`, which its config contains.

    Args:
      init: the method.
      *without: names to leave out, such as arguments that all layers have.
    """
    names = init.__code__.co_varnames[1 : init.__code__.co_argcount]
    return tuple([name for name in names if name not in without])


class Described:
    """The part of a layer that has a name, a config, inputs and outputs."""

    _constructor_arguments: tuple[tuple[Any, ...], dict[str, Any]]
    _name: str
    _trainable: bool
    _policy: DTypePolicy
    _inbound_nodes: list[Node]
    _config: tuple[str, ...] = ()
    """The attributes that define how one of nbtf's own layers was created; named like the arguments."""
    activity_regularizer: Any
    built: bool

    @property
    def name(self) -> str:
        """The name of the layer."""
        return self._name

    def __repr__(self) -> str:
        return f"<{type(self).__name__} name={self._name}, built={self.built}>"

    # Creating the layer again

    def get_config(self) -> dict[str, Any]:
        """Returns the arguments common to all layers, and the constructor arguments if the class defines no other.

        Raises:
          NotImplementedError: if an argument cannot be converted to plain data.
        """
        unsaid = not self._config and type(self).get_config is Described.get_config
        config: dict[str, Any] = self._own_config() if unsaid else {"name": self._name}
        config.update(trainable=self._trainable, dtype=serialized(self._policy))
        for name in self._config:
            value: Any = getattr(self, name)
            config[name] = value if isinstance(value, tuple) else serialized(value)
        if self.activity_regularizer is not None:
            config["activity_regularizer"] = serialized(self.activity_regularizer)
        return config

    def _own_config(self) -> dict[str, Any]:
        """Returns the constructor arguments of a class that does not override `get_config`."""
        args, kwargs = self._constructor_arguments
        bound = inspect.signature(type(self).__init__).bind(self, *args, **kwargs)
        arguments = dict(list(bound.arguments.items())[1:])
        for parameter in inspect.signature(type(self).__init__).parameters.values():
            if parameter.kind is parameter.VAR_KEYWORD:
                arguments.update(arguments.pop(parameter.name, {}))
        config = {key: _plain(value) for key, value in arguments.items()}
        if any(value is _NOT_PLAIN for value in config.values()):
            raise NotImplementedError(_OBJECT.format(name=type(self).__name__))
        if arguments and ("name" in arguments or "name" in inspect.signature(type(self).__init__).parameters):
            config = {"name": self._name, **config}
        return config

    @classmethod
    def from_config(cls, config: dict[str, Any]) -> Any:
        """Creates a layer from the result of `get_config`."""
        return cls(**{key: value if key == "dtype" else _build_argument(value) for key, value in config.items()})

    # The first input of a Sequential model

    def _begin_with(self, kwargs: dict[str, Any]) -> None:
        """Removes the input shape from a layer's arguments, where Keras 2 allowed it."""
        shape = None
        if "input_dim" in kwargs:
            shape = (None, kwargs.pop("input_dim"))
        if "input_shape" in kwargs:
            shape = (kwargs.pop("batch_size", None), *_as_tuple(kwargs.pop("input_shape")))
        for name in ("batch_input_shape", "batch_shape"):
            if name in kwargs:
                shape = tuple(kwargs.pop(name))
        object.__setattr__(self, "_input_shape_given", shape)

    # Inputs and outputs

    def _node(self, attribute: str) -> Node:
        if not self._inbound_nodes:
            raise AttributeError(f"The layer {self._name} has never been called and thus has no defined {attribute}.")
        return self._inbound_nodes[0]

    @property
    def input(self) -> Any:
        """The symbolic tensor or tensors with which the layer was called."""
        tensors = self._node("input").input_tensors
        return tensors[0] if len(tensors) == 1 else tensors

    @property
    def output(self) -> Any:
        """The symbolic tensor or tensors that the layer returned."""
        return self._node("output").outputs

    @property
    def input_shape(self) -> Any:
        """The shape of `input`."""
        return shapes_of(self.input)

    @property
    def output_shape(self) -> Any:
        """The shape of `output`."""
        return shapes_of(self.output)


_NOT_PLAIN = object()


def _plain(value: Any) -> Any:
    """Returns an argument as plain data, or raises an error if that is impossible."""
    plain: Any = serialized(value)
    if is_dict(plain) or plain is None or isinstance(plain, str | int | float | bool):
        return plain
    if is_list(plain):
        return _NOT_PLAIN if any(_plain(item) is _NOT_PLAIN for item in plain) else plain
    return _NOT_PLAIN


def _build_argument(value: Any) -> Any:
    """Returns an argument converted from its form in a config."""
    if is_dict(value) and "class_name" in value:
        return deserialized(value)
    return value


def _as_tuple(shape: Any) -> tuple[Any, ...]:
    return (shape,) if isinstance(shape, int) or shape is None else tuple(shape)
