"""The most common layers: dense layers, embeddings, layers from functions, and inputs."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from nbtf import linalg
from nbtf._ops.arrays.gathering import gather
from nbtf._ops.arrays.identity import identity
from nbtf._ops.linalg.products import matmul
from nbtf._ops.math.arithmetic import cast
from nbtf._ops.math.comparison import not_equal
from nbtf._ops.nn.layers import bias_add
from nbtf._runtime.arguments import check_has
from nbtf._runtime.tensor import Tensor
from nbtf._types import int32, int64
from nbtf.keras import activations
from nbtf.keras.catalogue import is_public_function
from nbtf.keras.dtypes import standardized
from nbtf.keras.layers.base import Layer
from nbtf.keras.layers.described import arguments_of
from nbtf.keras.layers.input_spec import InputSpec
from nbtf.keras.layers.same_shape import SameShape
from nbtf.keras.naming import auto_name
from nbtf.keras.operation import Node
from nbtf.keras.registry import serialized
from nbtf.keras.symbolic import KerasTensor


class Dense(Layer):
    """Computes `activation(matmul(inputs, kernel) + bias)`.

    Args:
      units: number of output elements for each vector.
      activation: name or function applied to the results; None by default.
      use_bias: whether to add a bias; true by default.
      kernel_initializer: initializer of the kernel.
      bias_initializer: initializer of the bias.
      kernel_regularizer: penalty for large elements of the kernel.
      bias_regularizer: penalty for large elements of the bias.
      activity_regularizer: penalty for large results.
      kernel_constraint: constraint applied to the kernel after each update.
      bias_constraint: constraint applied to the bias after each update.

    Raises:
      ValueError: if `units` is not a positive integer.

    >>> layer = tf.keras.layers.Dense(2, kernel_initializer="ones")
    >>> layer([[1.0, 2.0, 3.0]]).numpy()
    array([[6., 6.]], dtype=float32)
    """

    _leaf = True
    supports_masking = True

    def __init__(
        self,
        units: int,
        activation: Any = None,
        use_bias: bool = True,
        kernel_initializer: Any = "glorot_uniform",
        bias_initializer: Any = "zeros",
        kernel_regularizer: Any = None,
        bias_regularizer: Any = None,
        activity_regularizer: Any = None,
        kernel_constraint: Any = None,
        bias_constraint: Any = None,
        **kwargs: Any,
    ) -> None:
        super().__init__(activity_regularizer=activity_regularizer, **kwargs)
        if not isinstance(units, int) or units <= 0:  # pyright: ignore[reportUnnecessaryIsInstance]
            raise ValueError(
                f"Received an invalid value for `units`, expected a positive integer. Received: units={units}"
            )
        self.units: int = units
        self.use_bias: bool = use_bias
        self.activation: Callable[..., Any] = activations.get(activation)
        self._take_rules("kernel", kernel_initializer, kernel_regularizer, kernel_constraint)
        self._take_rules("bias", bias_initializer, bias_regularizer, bias_constraint)
        self._activate = None if self.activation is activations.linear else self.activation
        self.kernel: Any = None
        self.bias: Any = None
        self.input_spec = InputSpec(min_ndim=2)

    _config = arguments_of(__init__, "activity_regularizer")

    def build(self, input_shape: Any) -> None:
        length = input_shape[-1]
        self.kernel = self._weight("kernel", (length, self.units))
        if self.use_bias:
            self.bias = self._weight("bias", (self.units,))
        self.input_spec: Any = InputSpec(min_ndim=2, axes={-1: length})

    def call(self, inputs: Any) -> Any:
        x = (
            inputs
            if inputs.__class__ is Tensor and inputs._dtype is self._compute_dtype
            else cast(inputs, self._compute_dtype)
        )
        if len(x._array.shape) == 2:
            x = matmul(x, self.kernel.value)
        else:
            x = linalg.tensordot(x, self.kernel.value, 1)
        if self.bias is not None:
            x = bias_add(x, self.bias.value)
        return x if self._activate is None else self._activate(x)

    def compute_output_shape(self, input_shape: Any) -> Any:
        return (*input_shape[:-1], self.units)


class Embedding(Layer):
    """Looks up a vector for each number, in the rows of a trainable table.

    Args:
      input_dim: number of rows.
      output_dim: length of the rows.
      embeddings_initializer: initializer of the table.
      embeddings_regularizer: penalty for large elements.
      embeddings_constraint: constraint applied to the table after each update.
      mask_zero: whether 0 marks padding, which later layers skip; false by default.

    >>> layer = tf.keras.layers.Embedding(10, 4)
    >>> layer([[1, 2, 3]]).shape
    TensorShape([1, 3, 4])
    """

    _leaf = True

    def __init__(
        self,
        input_dim: int,
        output_dim: int,
        embeddings_initializer: Any = "uniform",
        embeddings_regularizer: Any = None,
        embeddings_constraint: Any = None,
        mask_zero: bool = False,
        weights: Any = None,
        **kwargs: Any,
    ) -> None:
        length = kwargs.pop("input_length", None)
        if length is not None:
            kwargs["input_shape"] = (length,)
        super().__init__(**kwargs)
        self.input_dim: int = input_dim
        self.output_dim: int = output_dim
        self.mask_zero: bool = mask_zero
        self._take_rules("embeddings", embeddings_initializer, embeddings_regularizer, embeddings_constraint)
        self.supports_masking = mask_zero
        self.autocast = False
        self.embeddings: Any = None
        if weights is not None:
            self.build()
            self.set_weights(weights if isinstance(weights, list) else [weights])

    _config = arguments_of(__init__, "weights")

    def build(self, input_shape: Any = None) -> None:
        if self.built:
            return
        self.embeddings = self._weight("embeddings", (self.input_dim, self.output_dim))

    def call(self, inputs: Any) -> Any:
        if inputs._dtype is not int32 and inputs._dtype is not int64:
            inputs = cast(inputs, int32)
        rows = gather(self.embeddings.value, inputs)
        return rows if rows._dtype is self._compute_dtype else cast(rows, self._compute_dtype)

    def compute_mask(self, inputs: Any, previous_mask: Any = None) -> Any:
        """Returns where the inputs are not 0 if 0 marks padding; otherwise None."""
        return not_equal(inputs, 0) if self.mask_zero else None

    def compute_output_shape(self, input_shape: Any) -> Any:
        return (*input_shape, self.output_dim)


class Activation(SameShape):
    """Applies a function elementwise.

    Args:
      activation: name of an activation, or a function.

    >>> tf.keras.layers.Activation("relu")([-1.0, 2.0]).numpy()
    array([0., 2.], dtype=float32)
    """

    _config = ("activation",)

    def __init__(self, activation: Any, **kwargs: Any) -> None:
        super().__init__(**kwargs)
        self.activation: Callable[..., Any] = activations.get(activation)
        self.built = True

    def call(self, inputs: Any) -> Any:
        return self.activation(inputs)


class Lambda(Layer):
    """Wraps a function as a layer.

    Args:
      function: function of a tensor that returns a tensor.
      output_shape: shape of a result without the batch, or a function of the input's shape; by default inferred.
      mask: mask of the results, or a function that computes it.
      arguments: further keyword arguments of the function.

    >>> tf.keras.layers.Lambda(lambda x: x ** 2)([3.0]).numpy()
    array([9.], dtype=float32)
    """

    def __init__(
        self,
        function: Callable[..., Any],
        output_shape: Any = None,
        mask: Any = None,
        arguments: dict[str, Any] | None = None,
        **kwargs: Any,
    ) -> None:
        super().__init__(**kwargs)
        self.function: Callable[..., Any] = function
        self.mask: Any = mask
        self.arguments: dict[str, Any] = arguments or {}
        self.supports_masking: bool = mask is not None
        self._output_shape = output_shape
        self.built = True

    def call(self, inputs: Any, mask: Any = None, training: Any = None) -> Any:
        names = self.function.__code__.co_varnames if hasattr(self.function, "__code__") else ()
        options = {name: value for name, value in (("mask", mask), ("training", training)) if name in names}
        return self.function(inputs, **options, **self.arguments)

    def compute_mask(self, inputs: Any, previous_mask: Any = None) -> Any:
        """Returns the mask of the results."""
        return self.mask(inputs, previous_mask) if callable(self.mask) else self.mask

    def compute_output_spec(self, *args: Any, **kwargs: Any) -> Any:
        """Returns symbolic results for symbolic inputs."""
        shape_or_function = self._output_shape
        if shape_or_function is None:
            return super().compute_output_spec(*args, **kwargs)
        shape = args[0].shape
        output_shape = shape_or_function(shape) if callable(shape_or_function) else (shape[0], *shape_or_function)
        return KerasTensor(output_shape, self.compute_dtype)

    def get_config(self) -> dict[str, Any]:
        """Returns the constructor arguments; the function is stored by name."""
        return {**super().get_config(), "function": serialized(self.function), "arguments": dict(self.arguments)}

    @classmethod
    def from_config(cls, config: dict[str, Any]) -> Any:
        """Creates a layer from the result of `get_config`.

        Raises:
          ValueError: if the function is neither a Keras activation without arguments nor registered by the program.
        """
        function: Any = activations.deserialize(config["function"])
        if not callable(function) or (config.get("arguments") and is_public_function(function)):
            raise ValueError(
                f"A config may name an activation for a Lambda layer, without arguments, or a function in "
                f"`custom_objects`. Received: function={config['function']!r:.80}, "
                f"arguments={config.get('arguments')!r:.80}"
            )
        return super().from_config({**config, "function": function})


class InputLayer(Layer):
    """The input of a model; `keras.Input` creates such a layer.

    Args:
      shape: shape of an input without the batch.
      batch_size: number of inputs in a batch, if known.
      dtype: dtype of the input.
      batch_shape: shape including the batch.
    """

    _leaf = True
    supports_masking = True

    def __init__(
        self,
        shape: Any = None,
        batch_size: int | None = None,
        dtype: Any = None,
        sparse: Any = None,
        ragged: Any = None,
        batch_shape: Any = None,
        input_tensor: Any = None,
        optional: bool = False,
        name: str | None = None,
        **kwargs: Any,
    ) -> None:
        batch_shape = kwargs.pop("batch_input_shape", batch_shape)
        shape = kwargs.pop("input_shape", shape)
        if shape is not None and batch_shape is not None:
            raise ValueError(
                f"You cannot pass both `shape` and `batch_shape` at the same time. Received: shape={shape}, "
                f"batch_shape={batch_shape}"
            )
        if shape is None and batch_shape is None and input_tensor is None:
            raise ValueError("You must pass a `shape` argument.")
        super().__init__(name=auto_name("input_layer") if name is None else name, **kwargs)
        if input_tensor is not None:
            check_has(input_tensor, "shape", "input_tensor", "a tensor")
            shape, dtype = None, input_tensor.dtype if dtype is None else dtype
            batch_shape = input_tensor.shape
        elif batch_shape is None:
            inner_shape: Any = shape
            batch_shape = (batch_size, *((inner_shape,) if isinstance(inner_shape, int) else tuple(inner_shape)))
        full_shape: Any = batch_shape
        self.batch_shape: tuple[Any, ...] = tuple(full_shape)
        self._dtype_name = standardized(dtype)
        self.sparse: bool = bool(sparse)
        self.ragged: bool = bool(ragged)
        self.optional: bool = optional
        self.built = True
        symbolic = KerasTensor(self.batch_shape, self._dtype_name, name=name)
        Node(self, (), {}, symbolic)

    @property
    def dtype(self) -> str:
        """The dtype of the input."""
        return self._dtype_name

    def call(self, *args: Any, **kwargs: Any) -> Any:
        return identity(args[0])

    def get_config(self) -> dict[str, Any]:
        return {
            "batch_shape": self.batch_shape,
            "dtype": self._dtype_name,
            "sparse": self.sparse,
            "ragged": self.ragged,
            "name": self._name,
            "optional": self.optional,
        }


def Input(  # noqa: N802  # Keras' name for it
    shape: Any = None,
    batch_size: int | None = None,
    dtype: Any = None,
    sparse: Any = None,
    batch_shape: Any = None,
    name: str | None = None,
    tensor: Any = None,
    optional: bool = False,
    ragged: Any = None,
    **kwargs: Any,
) -> Any:
    """Returns a symbolic tensor that is an input of a functional model.

    Args:
      shape: shape of an input without the batch.
      batch_size: number of inputs in a batch, if known.
      dtype: dtype of the input; `floatx()` by default.
      sparse, ragged: ignored, for compatibility with TensorFlow.
      batch_shape: shape including the batch.
      name: name of the input.
      tensor: symbolic tensor whose shape and dtype are used.
      optional: whether the input may be None; false by default.
      **kwargs: `batch_input_shape`, as in Keras 2.

    >>> tf.keras.Input((3,), name="x")
    <KerasTensor shape=(None, 3), dtype=float32, sparse=False, ragged=False, name=x>
    """
    layer = InputLayer(
        shape, batch_size, dtype, sparse, ragged, batch_shape, tensor, optional=optional, name=name, **kwargs
    )
    return layer.output
