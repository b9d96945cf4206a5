"""A layer's weights, and the terms that it adds to the loss."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from typing import Any, NoReturn

import numpy as np

from nbtf import nest
from nbtf._graph.trial import in_earnest, is_trial
from nbtf._ops.arrays.creation import is_tensor
from nbtf._ops.trackable import Trackable
from nbtf.keras import constraints, naming, regularizers
from nbtf.keras.dtypes import DTypePolicy, standardized
from nbtf.keras.generation import is_legacy, of_keras_2
from nbtf.keras.initializers import get as initializer_of
from nbtf.keras.layers.calling import Losses
from nbtf.keras.layers.tracking import Belonging, Changes, Owned, changed, each_once, owned
from nbtf.keras.symbolic import KerasTensor
from nbtf.keras.variables import Variable


class Weights(Belonging, Trackable):
    """The part of a layer that keeps weights and collects those of nested layers."""

    _internal = frozenset(
        "_awaiting _constructor_arguments _losses _inbound_nodes _policy _facts _cache _path _checked_shape "
        "_build_shape _compute_dtype input_spec "
        "optimizer loss _functional _steps _extra activity_regularizer history".split()
    )
    """Names of attributes that are not tracked, even if they contain weights or layers."""

    _cache: Any = None
    _weights: list[Any]
    _losses: list[Any]
    _name: str
    _trainable: bool
    _policy: DTypePolicy
    _losses_seen: int
    built: bool
    path: Any

    # Creating weights

    def add_weight(self, *args: Any, **kwargs: Any) -> Variable:
        """Creates a weight.

        Args:
          *args: `shape, initializer, dtype`; or, as in Keras 2, `name, shape, dtype, initializer`.
          **kwargs: `name`: last part of the path. `shape`: a scalar by default. `initializer`: initial values; by
            default Glorot's uniform values for floats and zeros otherwise. `dtype`: the layer's by default.
            `trainable`: whether gradients change the weight. `autocast`: whether a layer with mixed precision reads the
            weight in its compute dtype. `regularizer`: penalty for large values. `constraint`: applied after each
            update. `aggregation`: how a strategy combines the values of several replicas. `synchronization`: when a
            strategy makes the copies equal.

        Returns:
          The weight.
        """
        named_first = bool(args) and (isinstance(args[0], str) or "shape" in kwargs)
        names = ("name", "shape", "dtype", "initializer") if named_first else ("shape", "initializer", "dtype")
        return self._made_weight(**dict(zip(names, args, strict=False)), **kwargs)

    def _made_weight(
        self,
        shape: Any = None,
        initializer: Any = None,
        dtype: Any = None,
        trainable: bool = True,
        autocast: bool = True,
        regularizer: Any = None,
        constraint: Any = None,
        aggregation: str | None = "none",
        overwrite_with_gradient: bool = False,
        name: str | None = None,
        synchronization: Any = "auto",
        **ignored: Any,
    ) -> Variable:
        dtype = self.variable_dtype if dtype is None else standardized(dtype)
        if initializer is None:
            initializer = "glorot_uniform" if "float" in dtype else "zeros"
        lengths = (
            () if shape is None else (shape,) if isinstance(shape, int) else tuple(int(length) for length in shape)
        )
        with in_earnest(), naming.inside(self.path):
            weight = Variable(
                initializer_of(initializer),
                lengths,
                dtype,
                trainable,
                autocast,
                getattr(aggregation, "name", aggregation),
                getattr(synchronization, "name", synchronization),
                name,
            )
        weight.regularizer, weight.constraint = regularizers.get(regularizer), constraints.get(constraint)
        weight.overwrite_with_gradient = overwrite_with_gradient
        self._weights.append(weight)
        changed()
        return weight

    def _take_rules(self, name: str, initializer: Any, regularizer: Any = None, constraint: Any = None) -> None:
        """Stores initializer, regularizer and constraint of a weight by name, for `_weight` and `get_config`."""
        setattr(self, f"{name}_initializer", initializer_of(initializer))
        setattr(self, f"{name}_regularizer", regularizers.get(regularizer))
        setattr(self, f"{name}_constraint", constraints.get(constraint))

    def _weight(self, name: str, shape: Any, rules: str | None = None, **options: Any) -> Variable:
        """Creates a weight with the initializer, regularizer and constraint stored for its name."""
        rules = name if rules is None else rules
        return self.add_weight(
            name=name,
            shape=shape,
            initializer=getattr(self, f"{rules}_initializer"),
            regularizer=getattr(self, f"{rules}_regularizer"),
            constraint=getattr(self, f"{rules}_constraint"),
            **options,
        )

    # Collecting weights

    def _owned(self) -> Owned:
        return self._collected("owned", lambda: owned(self.__dict__, self._internal))

    def _collected(self, name: str, collect: Callable[[], Any]) -> Any:
        """Returns the result of `collect`, cached until something is added or removed."""
        cache: Any = self._cache
        if cache is None or cache[0] != Changes.count:
            cache = (Changes.count, dict[str, Any]())
            object.__setattr__(self, "_cache", cache)
        collected = cache[1].get(name)
        if collected is None:
            collected = cache[1][name] = collect()
        return collected

    @property
    def _layers(self) -> list[Any]:
        return self._owned().layers

    def _flatten_layers(self, include_self: bool = True, recursive: bool = True) -> list[Any]:
        """Returns the nested layers, and by default the layer itself, without duplicates."""
        inside = self._collected("inside", lambda: each_once(self._inside()))
        if not recursive:
            inside = self._layers
        return [self, *inside] if include_self else list(inside)

    def _inside(self) -> Iterator[Any]:
        for layer in self._layers:
            yield layer
            yield from layer._flatten_layers(include_self=False)

    def _all_weights(self) -> list[Any]:
        return self._collected("weights", lambda: each_once(self._weights_in_order()))

    def _weights_in_order(self) -> Iterator[Any]:
        variables = self._owned().variables
        yield from (variable for variable in variables if _may_train(variable))
        yield from (variable for variable in variables if not _may_train(variable))
        for layer in self._layers:
            yield from layer._all_weights()

    @property
    def weights(self) -> list[Any]:
        """All weights, including those of nested layers."""
        return list(self._all_weights())

    @property
    def variables(self) -> list[Any]:
        """All weights, including those of nested layers."""
        return list(self._all_weights())

    @property
    def trainable_variables(self) -> list[Any]:
        """The weights that gradients change."""
        return [weight for weight in self._all_weights() if weight.trainable] if self._trainable else []

    trainable_weights = trainable_variables

    @property
    def non_trainable_variables(self) -> list[Any]:
        """The weights that gradients do not change."""
        return [weight for weight in self._all_weights() if not (self._trainable and weight.trainable)]

    non_trainable_weights = non_trainable_variables

    @property
    def metrics(self) -> list[Any]:
        """The metrics in the layer's attributes and in those of nested layers."""
        metrics = [*self._owned().metrics]
        for layer in self._layers:
            metrics.extend(layer.metrics)
        return each_once(iter(metrics))

    @property
    def metrics_variables(self) -> list[Any]:
        """The variables of the metrics."""
        return [variable for metric in self.metrics for variable in metric.variables]

    @property
    def submodules(self) -> tuple[Any, ...]:
        """The nested layers."""
        return tuple(self._flatten_layers(include_self=False))

    @property
    def trainable(self) -> bool:
        """Whether gradients change the weights; setting it also sets that of nested layers."""
        return self._trainable

    @trainable.setter
    def trainable(self, value: bool) -> None:
        self._trainable = bool(value)
        for variable in self._owned().variables:
            if isinstance(variable, Variable) and _may_train(variable):
                variable.__dict__["_frozen"] = not value
                variable.trainable = bool(value)
        for layer in self._layers:
            layer.trainable = value
        changed()

    # Reading and setting values

    def get_weights(self) -> list[Any]:
        """Returns the values of all weights as NumPy arrays."""
        return [np.asarray(weight.numpy()) for weight in self._all_weights()]

    def set_weights(self, weights: Any) -> None:
        """Sets the values of all weights.

        Args:
          weights: arrays in the order of `get_weights`.

        Raises:
          ValueError: if the number of arrays or a shape differs.
        """
        own_weights, values = self._all_weights(), list(weights)
        if len(own_weights) != len(values):
            raise ValueError(
                f"You called `set_weights(weights)` on layer '{self._name}' with a weight list of length "
                f"{len(values)}, but the layer was expecting {len(own_weights)} weights."
            )
        for weight, value in zip(own_weights, values, strict=True):
            if tuple(weight.shape) != tuple(np.shape(value)):
                raise ValueError(
                    f"Layer {self._name} weight shape {tuple(weight.shape)} is not compatible with provided weight "
                    f"shape {tuple(np.shape(value))}."
                )
        for weight, value in zip(own_weights, values, strict=True):
            weight.assign(value)

    def count_params(self) -> int:
        """Returns the number of elements of all weights.

        Raises:
          ValueError: if the layer is not built yet.
        """
        if not self.built:
            raise ValueError(
                f"You tried to call `count_params` on layer '{self._name}', but the layer isn't built. You can build "
                "it manually via: `layer.build(input_shape)`."
            )
        return sum(math.prod(weight.shape) for weight in self._all_weights())

    # Losses

    def add_loss(self, loss: Any) -> None:
        """Adds scalars to the loss of the model that contains the layer, until the next call.

        A symbolic call, such as one with `keras.Input`, adds nothing: each call with tensors adds its own.

        Args:
          loss: a tensor computed in `call` or `build`, or a list of them.

        Raises:
          ValueError: if `loss` contains something else, such as a Python number.
        """
        losses = nest.flatten(loss)
        for entry in losses:
            if isinstance(entry, KerasTensor) or not is_tensor(entry):
                error = ValueError(
                    "`add_loss()` can only be called from inside `build()` or `call()`, on a tensor input. Received "
                    f"invalid value: {entry}"
                )
                if not is_legacy():
                    raise of_keras_2(error)
                if not callable(entry):
                    raise error
        if not is_trial():
            Losses.count += 1
            self._losses.extend(losses)

    def _clear_losses(self) -> None:
        object.__setattr__(self, "_losses_seen", Losses.count)
        for layer in self._flatten_layers():
            layer._losses.clear()

    @property
    def losses(self) -> list[Any]:
        """The losses added in the last call, and the penalties of the weights."""
        layers = self._flatten_layers()
        all_losses = [loss() if callable(loss) else loss for layer in layers for loss in layer._losses]
        for weight in self.trainable_variables:
            regularizer = getattr(weight, "regularizer", None)
            if regularizer is not None:
                all_losses.append(regularizer(weight))
        return all_losses

    def add_metric(self, *args: Any, **kwargs: Any) -> NoReturn:
        """Raises an error: Keras 3 has no metrics of layers.

        Raises:
          NotImplementedError: always.
        """
        raise NotImplementedError(
            "Layer `add_metric()` method is deprecated. Add your metric in `Model.compile(metrics=[...])`, or "
            "create metric trackers in init() or build() when subclassing the layer or model, then call "
            "`metric.update_state()` whenever necessary."
        )

    # Dtypes

    @property
    def dtype_policy(self) -> DTypePolicy:
        """The dtypes of computation and of the weights."""
        return self._policy

    @property
    def dtype(self) -> str:
        """The dtype of the weights."""
        return self._policy.variable_dtype

    @property
    def variable_dtype(self) -> str:
        """The dtype of the weights."""
        return self._policy.variable_dtype

    @property
    def compute_dtype(self) -> str:
        """The dtype in which the layer computes."""
        return self._policy.compute_dtype

    @property
    def input_dtype(self) -> str:
        """The dtype to which float inputs are cast."""
        return self._policy.compute_dtype


def _may_train(variable: Any) -> bool:
    """Returns whether a weight is trainable unless its layer is frozen."""
    return variable.trainable or variable.__dict__.get("_frozen", False)
