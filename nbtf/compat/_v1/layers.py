"""`tf.compat.v1.layers`: layers as functions that create their variables in a scope named after them."""

from __future__ import annotations

import math as _math
from collections.abc import Callable, Generator
from contextlib import contextmanager as _contextmanager
from typing import Any, NoReturn

import nbtf
from nbtf._graph.tensor import GraphTensor
from nbtf._missing import of_tensorflow_1 as _missing
from nbtf._public import public_names as _public_names
from nbtf._runtime.conversion import as_tensor
from nbtf.compat._v1._graph.defaults import building
from nbtf.compat._v1._graph.process import process
from nbtf.compat._v1._surface import neural
from nbtf.compat._v1._surface.control import cond
from nbtf.compat._v1._surface.removed import without_arguments
from nbtf.compat._v1._variables.initializers import Zeros
from nbtf.compat._v1._variables.keys import GraphKeys
from nbtf.compat._v1._variables.scopes import get_variable, variable_scope
from nbtf.keras.generation import is_legacy, of_keras_2


def __dir__() -> list[str]:
    return _public_names(__name__)


def __getattr__(name: str) -> NoReturn:
    raise _missing(f"layers.{name}")


@_contextmanager
def _opened(inputs: Any, default: str, name: str | None, reuse: bool | None = None) -> Generator[Any]:
    """Opens the variable scope of a layer, and yields its input as a tensor.

    Raises:
      AttributeError: if the program uses TensorFlow 2, whose Keras 3 has no such layers.
      RuntimeError: if ops run eagerly.
    """
    if not (process().is_tensorflow_1 or is_legacy()):
        raise of_keras_2(AttributeError(f"`{default}` is not available with Keras 3."))
    graph = inputs.graph if isinstance(inputs, GraphTensor) else building()
    if graph is None:
        raise RuntimeError("`tf.layers` builds graphs, but ops run eagerly here. Use `tf.keras.layers`.")
    with graph.inside(), variable_scope(name or (default if reuse else None), default_name=default, reuse=reuse):
        yield as_tensor(inputs)


def _weight(name: str, shape: list[int], options: dict[str, Any], initializer: Any = None, **arguments: Any) -> Any:
    """Returns a variable in the layer's scope; takes its initializer, regularizer and constraint out of the options."""
    chosen = {key: options.pop(f"{name}_{key}", None) for key in ("initializer", "regularizer", "constraint")}
    chosen["initializer"] = chosen["initializer"] or initializer
    return get_variable(name, shape, **chosen, **arguments)


def _finished(layer: str, result: Any, activation: Callable[[Any], Any] | None, options: dict[str, Any]) -> Any:
    """Returns the output of a layer; raises `TypeError` for options that no part of it has taken."""
    regularizer = options.pop("activity_regularizer", None)
    if any([value is not None for value in options.values()]):
        raise TypeError(f"{layer} does not support these arguments: {', '.join(sorted(options))}.")
    output = result if activation is None else activation(result)
    loss = None if regularizer is None else regularizer(output)
    if loss is not None:
        output.graph.add_to_collection(GraphKeys.REGULARIZATION_LOSSES, loss)
    return output


def dense(
    inputs: Any,
    units: int,
    activation: Any = None,
    use_bias: bool = True,
    *,
    trainable: bool = True,
    name: str | None = None,
    reuse: bool | None = None,
    **options: Any,
) -> Any:
    """Returns `activation(inputs @ kernel + bias)`; the variables are `dense/kernel` and `dense/bias`.

    Args:
      inputs: tensor whose last axis has a known length.
      units: length of the output's last axis.
      activation: activation function; None for none.
      use_bias: whether to add a bias.
      trainable: whether the variables are trainable.
      reuse: whether to use existing variables.
      **options: `kernel_initializer`, `kernel_regularizer`, `kernel_constraint`, the same for `bias`, and
        `activity_regularizer`.
    """
    with _opened(inputs, "dense", name, reuse) as tensor:
        lengths: list[Any] = tensor.shape.as_list() if tensor.shape.dims else [None]
        if lengths[-1] is None:
            raise ValueError("The last dimension of the inputs to `Dense` should be defined. Found `None`.")
        settings = {"dtype": tensor.dtype, "trainable": trainable}
        kernel = _weight("kernel", [lengths[-1], units], options, **settings)
        rows = nbtf.reshape(tensor, [-1, lengths[-1]]) if len(lengths) > 2 else tensor
        product: Any = nbtf.matmul(rows, kernel)
        if len(lengths) > 2:
            product = nbtf.reshape(product, nbtf.concat([nbtf.shape(tensor)[:-1], [units]], 0))
            product.set_shape([*lengths[:-1], units])
        if use_bias:
            product = nbtf.nn.bias_add(product, _weight("bias", [units], options, Zeros(), **settings))
        return _finished("dense", product, activation, options)


# Images


def _pair(value: Any) -> list[int]:
    return [int(length) for length in value] if isinstance(value, list | tuple) else [int(value)] * 2  # pyright: ignore[reportUnknownVariableType, reportUnknownArgumentType]


def _order(data_format: str) -> str:
    """Returns the name that ops have for a data format."""
    if data_format not in ("channels_last", "channels_first"):
        raise ValueError(
            f"The `data_format` argument must be one of `channels_first`, `channels_last`. Received: {data_format}"
        )
    return "NCHW" if data_format == "channels_first" else "NHWC"


def _per_axis(value: Any, order: str) -> list[int]:
    return [1, 1, *_pair(value)] if order == "NCHW" else [1, *_pair(value), 1]


def conv2d(
    inputs: Any,
    filters: int,
    kernel_size: Any,
    strides: Any = (1, 1),
    padding: str = "valid",
    data_format: str = "channels_last",
    dilation_rate: Any = (1, 1),
    activation: Any = None,
    use_bias: bool = True,
    *,
    trainable: bool = True,
    name: str | None = None,
    reuse: bool | None = None,
    **options: Any,
) -> Any:
    """Returns convolved images; the variables are `conv2d/kernel` and `conv2d/bias`.

    Args:
      inputs: images with shape `[batch, rows, columns, channels]`.
      filters: number of output channels.
      kernel_size: rows and columns of a filter.
      strides: step between filter positions, in elements.
      padding: `"valid"` or `"same"`.
      data_format: `"channels_last"` or `"channels_first"`.
      dilation_rate: spacing of the filter elements.
      activation: activation function; None for none.
      use_bias: whether to add a bias.
      trainable: whether the variables are trainable.
      reuse: whether to use existing variables.
      **options: as for `dense`.
    """
    with _opened(inputs, "conv2d", name, reuse) as tensor:
        order = _order(data_format)
        channels = tensor.shape.dims[1 if order == "NCHW" else -1] if tensor.shape.dims else None
        if channels is None:
            raise ValueError("The channel dimension of the inputs should be defined. Found `None`.")
        settings = {"dtype": tensor.dtype, "trainable": trainable}
        kernel = _weight("kernel", [*_pair(kernel_size), channels, filters], options, **settings)
        steps, gaps = _per_axis(strides, order), _per_axis(dilation_rate, order)
        convolved: Any = nbtf.nn.conv2d(tensor, kernel, steps, padding.upper(), order, gaps)  # pyright: ignore[reportArgumentType]
        if use_bias:
            bias = _weight("bias", [filters], options, Zeros(), **settings)
            convolved = nbtf.nn.bias_add(convolved, bias, order)
        return _finished("conv2d", convolved, activation, options)


def max_pooling2d(
    inputs: Any,
    pool_size: Any,
    strides: Any,
    padding: str = "valid",
    data_format: str = "channels_last",
    name: str | None = None,
) -> Any:
    """Returns the largest element in each window.

    Args:
      inputs: images with shape `[batch, rows, columns, channels]`.
      pool_size: rows and columns of a window.
      strides: step between windows, in elements.
      padding: `"valid"` or `"same"`.
      data_format: `"channels_last"` or `"channels_first"`.
    """
    with _opened(inputs, "max_pooling2d", name) as tensor:
        order = _order(data_format)
        return nbtf.nn.max_pool2d(
            tensor, _per_axis(pool_size, order), _per_axis(strides, order), padding.upper(), order
        )  # pyright: ignore[reportArgumentType]


@without_arguments("layers.flatten")
def flatten(inputs: Any, name: str | None = None) -> Any:
    """Returns the inputs with all axes except the first flattened."""
    with _opened(inputs, "flatten", name) as tensor:
        batch, *lengths = tensor.shape.as_list()
        if None not in lengths:
            return nbtf.reshape(tensor, [-1 if batch is None else batch, _math.prod(lengths)])
        flattened: Any = nbtf.reshape(tensor, nbtf.stack([nbtf.shape(tensor)[0], -1]))
        flattened.set_shape([batch, None])
        return flattened


# Layers that train differently


def _choose(training: Any, yes: Callable[[], Any], no: Callable[[], Any]) -> Any:
    """Returns the result of one of two functions, chosen by a bool, a number, or a tensor of one."""
    if isinstance(training, bool | int):
        return yes() if training else no()
    return cond(nbtf.cast(training, nbtf.bool), yes, no)


def dropout(
    inputs: Any,
    rate: Any = 0.5,
    noise_shape: Any = None,
    seed: int | None = None,
    training: Any = False,
    name: str | None = None,
) -> Any:
    """Sets random elements to 0 in training, and scales up the others to preserve the expected sum.

    Args:
      inputs: floats.
      rate: fraction of elements to drop.
      noise_shape: shape of the random mask, which is broadcast to the inputs' shape.
      seed: seed of the op.
      training: whether to drop elements: a bool or a Boolean tensor.
    """
    with _opened(inputs, "dropout", name) as tensor:
        dropped = lambda: neural.dropout(tensor, noise_shape=noise_shape, seed=seed, rate=rate)  # noqa: E731
        return _choose(training, dropped, lambda: nbtf.identity(tensor))
