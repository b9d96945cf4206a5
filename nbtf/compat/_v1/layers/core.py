"""Basic layers: dense, dropout and flatten."""

from __future__ import annotations

import math
from typing import Any

import nbtf
from nbtf._types import bool_
from nbtf.compat._v1._surface import neural
from nbtf.compat._v1._variables.initializers import Zeros
from nbtf.compat._v1.layers.base import Layer, call_layer


class Dense(Layer):
    """A fully connected layer that computes `activation(inputs @ kernel + bias)`.

    Args:
      units: number of outputs.
      activation: activation function; None for none.
      use_bias: whether to add a bias.
      kernel_initializer: by default that of the scope, or Glorot's uniform initializer.
      bias_initializer: by default zeros.
      kernel_regularizer: function that computes a loss from the kernel.
      bias_regularizer: function that computes a loss from the bias.
      activity_regularizer: function that computes a loss from the output.
      kernel_constraint: function that optimizers apply to the kernel.
      bias_constraint: function that optimizers apply to the bias.
      trainable: whether the variables are trainable.
    """

    def __init__(
        self,
        units: int,
        activation: Any = None,
        use_bias: bool = True,
        kernel_initializer: Any = None,
        bias_initializer: Any = None,
        kernel_regularizer: Any = None,
        bias_regularizer: Any = None,
        activity_regularizer: Any = None,
        kernel_constraint: Any = None,
        bias_constraint: Any = None,
        trainable: bool = True,
        name: str | None = None,
        **options: Any,
    ) -> None:
        super().__init__(trainable, name, activity_regularizer=activity_regularizer, **options)
        self.units: int = int(units)
        self.activation: Any = activation
        self.use_bias: bool = use_bias
        self._of_kernel = (kernel_initializer, kernel_regularizer, kernel_constraint)
        self._of_bias = (bias_initializer or Zeros(), bias_regularizer, bias_constraint)
        self.kernel: Any = None
        self.bias: Any = None

    def build(self, tensor: Any) -> None:
        width = tensor.shape.dims[-1] if tensor.shape.dims else None
        if width is None:
            raise ValueError("The last dimension of the inputs to `Dense` should be defined. Found `None`.")
        self.kernel = self.add_weight("kernel", [width, self.units], tensor.dtype, *self._of_kernel)
        if self.use_bias:
            self.bias = self.add_weight("bias", [self.units], tensor.dtype, *self._of_bias)

    def call(self, tensor: Any, **arguments: Any) -> Any:
        has_outer_axes = tensor.shape.rank > 2
        rows = nbtf.reshape(tensor, [-1, tensor.shape[-1]]) if has_outer_axes else tensor
        product: Any = nbtf.matmul(rows, self.kernel)
        if has_outer_axes:
            lengths = tensor.shape.as_list()[:-1]
            is_known = lengths.count(None) < 2
            front: Any = [-1 if n is None else n for n in lengths] if is_known else nbtf.shape(tensor)[:-1]
            full_shape = [*front, self.units] if is_known else nbtf.concat([front, [self.units]], 0)
            product = nbtf.reshape(product, full_shape)
            product.set_shape([*lengths, self.units])
        if self.use_bias:
            product = nbtf.nn.bias_add(product, self.bias)
        return product if self.activation is None else self.activation(product)


def dense(
    inputs: Any,
    units: int,
    activation: Any = None,
    use_bias: bool = True,
    kernel_initializer: Any = None,
    bias_initializer: Any = None,
    kernel_regularizer: Any = None,
    bias_regularizer: Any = None,
    activity_regularizer: Any = None,
    kernel_constraint: Any = None,
    bias_constraint: Any = None,
    trainable: bool = True,
    name: str | None = None,
    reuse: bool | None = None,
) -> Any:
    """Returns `activation(inputs @ kernel + bias)`; the variables are `dense/kernel` and `dense/bias`.

    The arguments are those of `Dense`.

    Args:
      inputs: a tensor with shape `[..., in]`.
      reuse: whether to use existing variables.

    >>> import nbtf.compat.v1 as tf1
    >>> with tf1.Graph().as_default():
    ...     y = tf1.layers.dense(tf1.placeholder(tf1.float32, [None, 3]), 2, tf1.nn.relu)
    ...     print(y.name, [v.name for v in tf1.trainable_variables()])
    dense/Relu:0 ['dense/kernel:0', 'dense/bias:0']
    """
    return call_layer(Dense, **locals())


class Dropout(Layer):
    """Sets random elements to 0 during training.

    Args:
      rate: fraction of elements to drop.
      noise_shape: shape of the random mask; by default that of the input.
      seed: seed of the op; None uses only the graph's seed.
    """

    def __init__(
        self, rate: Any = 0.5, noise_shape: Any = None, seed: int | None = None, name: str | None = None, **options: Any
    ) -> None:
        super().__init__(name=name, **options)
        self.rate: Any = rate
        self.noise_shape: Any = noise_shape
        self.seed: int | None = seed

    def call(self, tensor: Any, **arguments: Any) -> Any:
        """Returns the output; `training` is a bool or a Boolean tensor."""
        training = arguments.get("training", False)

        def dropped() -> Any:
            return neural.dropout(tensor, rate=self.rate, noise_shape=self.noise_shape, seed=self.seed)

        return choose_by(training, dropped, lambda: nbtf.identity(tensor))


def choose_by(training: Any, yes: Any, no: Any) -> Any:
    """Returns the result of one of two functions; if a tensor decides, both are called.

    Args:
      training: a bool, a number, or a tensor of one.
      yes: function called if `training` is true.
      no: function called otherwise.
    """
    if isinstance(training, bool | int):
        return yes() if training else no()
    return nbtf.where(nbtf.reshape(nbtf.cast(training, bool_), []), yes(), no())


def dropout(
    inputs: Any,
    rate: Any = 0.5,
    noise_shape: Any = None,
    seed: int | None = None,
    training: Any = False,
    name: str | None = None,
) -> Any:
    """Returns the inputs; during training, random elements are set to 0 and the others are scaled up.

    The arguments are those of `Dropout`.

    Args:
      inputs: floats.
      training: whether to drop elements: a bool or a Boolean tensor, such as a placeholder.
    """
    return call_layer(Dropout, **locals())


class Flatten(Layer):
    """Flattens all axes except the first.

    Args:
      data_format: `"channels_last"`, or `"channels_first"`, which first moves the channels to the end.
    """

    def __init__(self, data_format: str = "channels_last", name: str | None = None, **options: Any) -> None:
        super().__init__(name=name, **options)
        self.data_format = data_format

    def call(self, tensor: Any, **arguments: Any) -> Any:
        rank = tensor.shape.rank
        if self.data_format == "channels_first" and rank is not None and rank > 2:
            tensor = nbtf.transpose(tensor, [0, *range(2, rank), 1])
        batch, *lengths = tensor.shape.as_list()
        if None not in lengths:
            flattened: Any = nbtf.reshape(tensor, [-1 if batch is None else batch, math.prod(lengths)])
            return flattened
        flattened = nbtf.reshape(tensor, nbtf.stack([nbtf.shape(tensor)[0], -1]))
        flattened.set_shape([batch, None])
        return flattened


def flatten(inputs: Any, name: str | None = None, data_format: str = "channels_last") -> Any:
    """Returns the inputs with all axes except the first flattened.

    The arguments are those of `Flatten`.
    """
    return call_layer(Flatten, **locals())
