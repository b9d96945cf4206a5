"""The base class of layers, which create their weights on the first call."""

from __future__ import annotations

import warnings
from contextlib import ExitStack
from copy import deepcopy
from functools import wraps
from typing import Any, Self

from nbtf import nest
from nbtf._graph.autograph.conversion import converted_in_graphs
from nbtf._graph.trial import in_earnest
from nbtf._ops.arrays.creation import is_tensor
from nbtf._ops.arrays.shapes import shape
from nbtf._ops.math.arithmetic import cast
from nbtf._ops.math.division import divide_no_nan
from nbtf._ops.trackable import restore_parts
from nbtf._runtime.lanes import is_watched
from nbtf._runtime.phases import in_layer
from nbtf._runtime.tensor import Tensor
from nbtf._types import as_dtype
from nbtf.keras import naming, regularizers
from nbtf.keras.border import advised
from nbtf.keras.dtypes import _AUTOCAST, as_policy, reading_weights_as
from nbtf.keras.layers.calling import (
    CALL,
    Facts,
    Losses,
    as_input,
    facts_of,
    failure_of_call,
    has_symbolic,
    mask_of,
    set_mask,
)
from nbtf.keras.layers.described import Described
from nbtf.keras.layers.input_spec import check_inputs, shape_of, shapes_of
from nbtf.keras.layers.tracking import belongs, changed, tracked
from nbtf.keras.layers.weights import Weights
from nbtf.keras.operation import Node
from nbtf.keras.symbolic import KerasTensor, outputs_of
from nbtf.keras.type_guards import is_dict, is_list

_TRAINING = frozenset({"training"})
_PLAIN = frozenset({int, float, str, bool, type(None)})


class Layer(Described, Weights):
    """Base class of layers. Subclass it, create weights in `build(input_shape)` and define `call(inputs)`.

    Args:
      activity_regularizer: penalty for large results.
      trainable: whether gradients change the weights; true by default.
      dtype: a dtype or a policy, such as `"mixed_float16"`; that of `keras.config` by default.
      autocast: whether float inputs are cast to the layer's dtype; true by default.
      name: name of the layer; by default the class name with a number.
      **kwargs: `input_shape`, `batch_input_shape` or `input_dim`: the shape of a Sequential model's input.

    >>> class Twice(tf.keras.layers.Layer):
    ...     def call(self, inputs):
    ...         return 2 * inputs
    >>> Twice()([1.0, 2.0]).numpy()
    array([2., 4.], dtype=float32)
    """

    _leaf = False
    """Whether `call` calls no other layer and adds no loss; set by nbtf's own layers."""
    _merges = False
    """Whether a list is read as several inputs even if it looks like a nested list of numbers."""
    _prepared = False
    _quick = False
    _checked_shape: Any = None
    _all_built = False
    built: bool = False
    supports_masking: bool = False
    input_spec: Any = None

    def __new__(cls, *args: Any, **kwargs: Any) -> Any:
        """Creates a layer that remembers its constructor arguments."""
        layer: Any = object.__new__(cls)
        layer.__dict__["_constructor_arguments"] = (args, kwargs)
        return layer

    def __init_subclass__(cls, **kwargs: Any) -> None:
        """Wraps `build` so that it marks the layer as built and gives its weights their path."""
        super().__init_subclass__(**kwargs)
        if "build" in cls.__dict__:
            cls.build = _marking(cls.__dict__["build"])
        if "call" in cls.__dict__ and not cls.__module__.startswith("nbtf."):
            cls._leaf = False  # a subclass from elsewhere may call other layers or add losses in `call`

    def __copy__(self) -> Self:
        """Returns a deep copy, because Keras objects share no variables."""
        return deepcopy(self)

    def __init__(
        self,
        *,
        activity_regularizer: Any = None,
        trainable: bool = True,
        dtype: Any = None,
        autocast: bool = True,
        name: Any = None,
        **kwargs: Any,
    ) -> None:
        self._begin_with(kwargs)
        if kwargs:
            raise advised(
                ValueError(f"Unrecognized keyword arguments passed to {type(self).__name__}: {kwargs}"), *kwargs
            )
        if name is not None and (not isinstance(name, str) or "/" in name):
            raise ValueError(
                f"Argument `name` must be a string and cannot contain character `/`. Received: name={name} (of type "
                f"{type(name)})"
            )
        self._name = naming.auto_name(naming.snake_case(type(self).__name__)) if name is None else name
        self._policy = as_policy(dtype)
        self._compute_dtype = as_dtype(self._policy.compute_dtype)
        mixed = self._policy.compute_dtype != self._policy.variable_dtype
        self._reads_as = self._policy.compute_dtype if mixed else None
        self.autocast = autocast
        self._trainable = bool(trainable)
        self._weights: list[Any] = []
        self._losses: list[Any] = []
        self._losses_seen = Losses.count
        self._inbound_nodes: list[Node] = []
        self._path: str | None = None
        self._facts: Facts = facts_of(type(self))
        self._prepared = True
        self.activity_regularizer: Any = regularizers.get(activity_regularizer)

    def __setattr__(self, name: str, value: Any) -> None:
        """Sets an attribute and registers weights, layers and metrics in it, even within lists and dictionaries."""
        if value.__class__ not in _PLAIN and name not in self._internal:
            value = tracked(value)
        elif name in self.__dict__ and belongs(self.__dict__[name]):
            changed()
            object.__setattr__(self, "_cache", None)  # the cache would keep the old value's memory
        object.__setattr__(self, name, value)
        if self._awaiting:
            restore_parts(self)

    def __delattr__(self, name: str) -> None:
        """Deletes an attribute and unregisters its contents."""
        changed()
        object.__delattr__(self, name)
        object.__setattr__(self, "_cache", None)

    # Methods for subclasses to override

    def build(self, input_shape: Any) -> None:
        """Creates the weights.

        Args:
          input_shape: shape of the first input; use None for unknown lengths.
        """
        self.built = True

    def call(self, *args: Any, **kwargs: Any) -> Any:
        """Computes the layer's results."""
        raise NotImplementedError(f"Layer {type(self).__name__} does not have a `call` method implemented.")

    def compute_mask(self, inputs: Any, previous_mask: Any) -> Any:
        """Returns the mask of the results."""
        return previous_mask

    def compute_output_shape(self, *args: Any, **kwargs: Any) -> Any:
        """Returns the shape of the results for given input shapes."""
        args = (kwargs.pop("input_shape"),) if "input_shape" in kwargs else args
        inputs = [KerasTensor(shape, self.compute_dtype) if _is_shape(shape) else _each(shape, self) for shape in args]
        outputs = self.compute_output_spec(*inputs, **kwargs)
        return nest.map_structure(shape_of, outputs)

    def compute_output_spec(self, *args: Any, **kwargs: Any) -> Any:
        """Returns symbolic results for symbolic inputs."""
        if type(self).compute_output_shape is not Layer.compute_output_shape:
            shape = self.compute_output_shape(*[shapes_of(argument) for argument in args])
            if _is_shape(shape):
                return KerasTensor(shape, self.compute_dtype)
            return [KerasTensor(output_shape, self.compute_dtype) for output_shape in shape]
        return outputs_of(self._run, args, kwargs)

    # Calling

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        """Computes the layer's results. The first call creates the weights.

        Args:
          *args: tensors, arrays, nested lists of numbers, or symbolic tensors.
          **kwargs: `training`, `mask` and other arguments of `call`.

        Raises:
          ValueError: if an input does not fit the layer.
        """
        if self._quick and not kwargs and len(args) == 1:
            x = args[0]
            if (
                x.__class__ is Tensor
                and x._dtype is self._compute_dtype
                and x._array.shape == self._checked_shape
                and _AUTOCAST.get() is None
                and getattr(x, "_keras_mask", None) is None
            ):
                try:
                    return in_layer(self._name, self.call)(x) if is_watched() else self.call(x)
                except Exception as error:
                    raise failure_of_call(error, self, args, kwargs) from error.__cause__
        return self._call_at_length(args, kwargs)

    def _call_at_length(self, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        first: Any = args[0] if args else None
        if first.__class__ is not Tensor or len(args) != 1 or not kwargs.keys() <= _TRAINING or not self._prepared:
            self._check_call(args, kwargs)
            args, kwargs = self._read(args, kwargs)
            if has_symbolic(args, kwargs):
                return self._symbolic_call(args, kwargs)
            first = args[0] if args else next(iter(kwargs.values()), None)
        elif first._dtype is not self._compute_dtype and self.autocast:
            first = as_input(first, self._compute_dtype)
            args = (first,)
        if Losses.count != self._losses_seen and CALL.get() is None:
            self._clear_losses()
        shape = first._array.shape if first.__class__ is Tensor else None
        if self.input_spec is not None and (shape is None or shape != self._checked_shape) and not is_dict(first):
            check_inputs(self.input_spec, first, self._name)
        if not self.built:
            self._build_for(args, kwargs)
        masks = mask_of(first)
        if masks is not None and self._facts.has_mask and kwargs.get("mask") is None and len(args) < 2:
            kwargs["mask"] = masks
        try:
            run = in_layer(self._name, self._run) if is_watched() else self._run
            outputs = run(*args, **kwargs)
        except Exception as error:
            raise failure_of_call(error, self, args, kwargs) from error.__cause__
        self._accompany(first, masks, outputs)
        if shape is not None and shape != self._checked_shape:
            object.__setattr__(self, "_checked_shape", shape)
        return outputs

    def _check_call(self, args: tuple[Any, ...], kwargs: dict[str, Any]) -> None:
        """Checks that the layer was initialized and has an input."""
        if not self._prepared:
            raise RuntimeError(
                f"In layer '{type(self).__name__}', you forgot to call `super().__init__()` as the first statement in "
                "the `__init__()` method. Go add it!"
            )
        if not args and self._leaf and not kwargs.keys() & set(self._facts.names):
            raise TypeError(f"missing a required argument: '{self._facts.names[0]}'")
        if args and args[0] is None and self.input_spec is not None:
            raise ValueError(
                "Inputs to a layer should be tensors. Got 'None' (of type <class 'NoneType'>) as input for layer "
                f"'{self._name}'."
            )
        if args and isinstance(args[0], int | float | str):
            raise ValueError(
                "Only input tensors may be passed as positional arguments. The following argument value should be "
                f"passed as a keyword argument: {args[0]} (of type {type(args[0])})"
            )

    def _read(self, args: tuple[Any, ...], kwargs: dict[str, Any]) -> tuple[tuple[Any, ...], dict[str, Any]]:
        """Returns the arguments in the form in which `call` receives them."""
        compute_dtype = self._compute_dtype if self.autocast else None
        first = tuple(
            [
                as_input(argument, compute_dtype, lists=not position and not self._merges)
                for position, argument in enumerate(args)
            ]
        )
        return first, {
            name: as_input(argument, compute_dtype, lists=not args) if name != "training" else argument
            for name, argument in kwargs.items()
        }

    def _accompany(self, first: Any, masks: Any, outputs: Any) -> None:
        """Attaches masks to the results and adds penalties for large results.

        A layer that needs neither uses the quick path from now on, if possible.
        """
        if self.activity_regularizer is not None:
            self._add_activity_losses(outputs)
        if masks is not None or type(self).compute_mask is not Layer.compute_mask:
            if masks is not None and not self.supports_masking:
                self._refuse_masks()
                masks = None
            mask = self.compute_mask(first, masks)
            if mask is not None and mask_of(outputs) is None:
                set_mask(outputs, mask)
        elif self._leaf and not self._quick and self.activity_regularizer is None:
            self._quick = not (self._facts.has_training or self._facts.has_mask or self._reads_as)

    def _add_activity_losses(self, outputs: Any) -> None:
        """Adds the penalty for large results: the mean over the batch."""
        for output in nest.flatten(outputs):
            if is_tensor(output):
                loss = self.activity_regularizer(output)
                if len(output.shape):
                    loss = divide_no_nan(loss, cast(shape(output)[0], loss.dtype))
                self.add_loss(loss)

    def _run(self, *args: Any, **kwargs: Any) -> Any:
        """Runs `call` with the current `training`, the dtype of weights, and the path for new names."""
        in_training, outer = kwargs.pop("training", None), CALL.get()
        if in_training is None and self._facts.has_training and "training" in self._facts.names[: len(args)]:
            in_training = args[self._facts.names.index("training")]
        training = in_training
        if training is None:
            training = outer[0] if outer is not None else None
        if training is None:
            training = self._facts.training_default
        if self._facts.has_training and training is not None and "training" not in self._facts.names[: len(args)]:
            kwargs["training"] = training
        reads_as, call = self._reads_as, converted_in_graphs(self.call)
        if self._leaf and _AUTOCAST.get() is reads_as:
            return call(*args, **kwargs)
        try:
            CALL.set((training,))
            if self._all_built and _AUTOCAST.get() is reads_as:
                return call(*args, **kwargs)
            with ExitStack() as stack:
                stack.enter_context(naming.inside(self.path))
                stack.enter_context(reading_weights_as(reads_as))
                outputs = call(*args, **kwargs)
            self._all_built = all(layer.built for layer in self._flatten_layers())
            return outputs
        finally:
            CALL.set(outer)

    def _refuse_masks(self) -> None:
        """Warns that the layer drops a mask."""
        warnings.warn(
            f"Layer '{self._name}' (of type {type(self).__name__}) was passed an input with a mask attached to it. "
            "However, this layer does not support masking and will therefore destroy the mask information. Downstream "
            "layers will not see the mask.",
            stacklevel=5,
        )

    def _symbolic_call(self, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        """Returns symbolic results and records the call as a node."""
        if Losses.count != self._losses_seen and CALL.get() is None:
            self._clear_losses()
        if not self.built:
            self._build_for(args, kwargs)
        if self.input_spec is not None:
            check_inputs(self.input_spec, args[0] if args else next(iter(kwargs.values())), self._name)
        with naming.inside(self.path):
            outputs = self.compute_output_spec(*args, **kwargs)
        Node(self, args, kwargs, outputs)
        return outputs

    # Building

    def _build_for(self, args: tuple[Any, ...], kwargs: dict[str, Any]) -> None:
        """Builds the layer for the shapes of its arguments."""
        shapes = {
            name: shapes_of(argument)
            for name, argument in (*zip(self._facts.names, args, strict=False), *kwargs.items())
            if name not in ("training", "mask") and _has_shape(argument)
        }
        build_names = self._facts.build_names
        with in_earnest():
            if len(build_names) > 1:
                by_argument = {f"{name}_shape": shape for name, shape in shapes.items()}
                self.build(**{name: shape for name, shape in by_argument.items() if name in build_names})
            else:
                shape = self.__dict__["_build_shape"] = next(iter(shapes.values()), None)
                self.build(shape)
        self.built = True

    @property
    def path(self) -> str:
        """The full path of the layer: `sequential/dense`."""
        if self._path is None:
            self._path = naming.path_of(self._name)
        return self._path


def _marking(build: Any) -> Any:
    @wraps(build)
    def marked(self: Any, *args: Any, **kwargs: Any) -> Any:
        if args:
            self.__dict__["_build_shape"] = args[0]
        with naming.inside(self.path), reading_weights_as(None):
            build(self, *args, **kwargs)
        if not self.built:
            self.built = True
        if not self._trainable:
            self.trainable = False
        restore_parts(self)

    return marked


def _has_shape(value: Any) -> bool:
    if is_list(value):
        return len(value) > 0 and all(_has_shape(item) for item in value)
    if is_dict(value):
        return all(_has_shape(entry) for entry in value.values())
    return hasattr(value, "shape")


def _is_shape(value: Any) -> bool:
    return is_list(value) and all(length is None or isinstance(length, int) for length in value)


def _each(shapes: Any, layer: Layer) -> Any:
    return [KerasTensor(shape, layer.compute_dtype) for shape in shapes]
