"""Symbolic tensors, from which functional models are built: a shape, a dtype and an origin."""

from __future__ import annotations

from collections.abc import Callable
from functools import wraps
from types import FunctionType
from typing import Any, NoReturn

from nbtf import nest
from nbtf._graph.tracing import traced
from nbtf._graph.trial import host_tensor, trying, uniform_array
from nbtf._runtime.conversion import NotYetError
from nbtf._types import as_dtype
from nbtf.keras.dtypes import standardized
from nbtf.keras.generation import is_legacy, of_keras_2
from nbtf.keras.naming import auto_name
from nbtf.keras.operation import OPERATORS, History, Node, Operator, replace_symbols, symbolic_in

_NO_FUNCTION = """\
A KerasTensor cannot be used as input to a TensorFlow function. A KerasTensor is a symbolic placeholder for a shape \
and dtype, used when constructing Keras Functional models or Keras Functions. You can only use it as input to a Keras \
layer or a Keras operation (from the namespaces `keras.layers` and `keras.ops`). You are likely doing \
something like:

```
x = Input(...)
...
tf_fn(x)  # Invalid.
```

What you should do instead is wrap `tf_fn` in a layer:

```
class MyLayer(Layer):
    def call(self, x):
        return tf_fn(x)

x = MyLayer()(x)
```
"""
"""Source: Keras 3, `KerasTensor.__tf_tensor__`."""


class _SymbolicError(NotYetError):
    """Raised when the value of a symbolic tensor is needed."""

    def step(self, op: Any, inputs: Any, attrs: dict[str, Any]) -> Any:
        """Returns the symbolic results of an op that is a step of the model, such as the operator in `t + x`.

        Raises:
          ValueError: if the op is not an operator; only Keras 2 accepts any op as a step.
        """
        is_operator = len(inputs) == 2 and len({*op.tokens}) == 1 and not is_symbolic(inputs[0])
        if is_operator or is_legacy():
            return applied(Operator(f"tf.{op.type}"), *inputs, **attrs)
        raise of_keras_2(ValueError(_NO_FUNCTION)) from None


class DTypeName(str):
    """The name of a dtype with the attributes of a dtype, so that programs for either Keras generation work."""

    __slots__ = ()

    @property
    def name(self) -> str:
        """The name of the dtype."""
        return str(self)

    def __getattr__(self, name: str) -> Any:
        """Returns the attribute of the dtype."""
        return getattr(as_dtype(str(self)), name)


class KerasTensor:
    """A tensor without a value. `keras.Input` creates one, and layers compute others from it.

    Args:
      shape: shape of the tensor; use None for unknown lengths.
      dtype: dtype of the tensor.
      name: name of the tensor.
    """

    __array_priority__ = 200
    _keras_history: History | None = None
    """Where the tensor comes from; None if it only stands for a shape."""

    def __init__(
        self, shape: Any, dtype: Any = "float32", sparse: bool = False, ragged: bool = False, name: str | None = None
    ) -> None:
        self.shape: tuple[int | None, ...] = tuple(None if length is None else int(length) for length in shape)
        self.dtype: DTypeName = DTypeName(standardized(dtype))
        self.sparse: bool = sparse
        self.ragged: bool = ragged
        self.name: str = name or auto_name("keras_tensor")

    @property
    def ndim(self) -> int:
        """The number of axes."""
        return len(self.shape)

    @property
    def rank(self) -> int:
        """The number of axes."""
        return len(self.shape)

    def __repr__(self) -> str:
        return (
            f"<KerasTensor shape={self.shape}, dtype={self.dtype}, sparse={self.sparse}, ragged={self.ragged}, "
            f"name={self.name}>"
        )

    # Operations that need a value, which raise an error

    @property
    def not_yet(self) -> NotYetError:
        """The error that ops raise because the tensor has no value."""
        return _SymbolicError(_NO_FUNCTION)

    @property
    def _dtype(self) -> Any:
        return as_dtype(str(self.dtype))

    def __tf_tensor__(self, dtype: Any = None) -> Any:
        """Returns the tensor itself if another operand needs its dtype, as in `t + x`, or if Keras 2 accepts any op.

        Raises:
          ValueError: if a value is needed, or if `dtype` differs.
        """
        if dtype is None and not is_legacy():
            raise of_keras_2(ValueError(_NO_FUNCTION))
        if dtype is not None and dtype is not self._dtype:
            raise ValueError(
                f"Tensor conversion requested dtype {dtype.name} for Tensor with dtype {self.dtype}: {self!r}"
            )
        return self

    def __array__(self, dtype: Any = None, copy: bool | None = None) -> NoReturn:
        """Raises an error: the tensor has no value."""
        raise ValueError(
            "A KerasTensor is symbolic: it's a placeholder for a shape an a dtype. It doesn't have any actual "
            "numerical value. You cannot convert it to a NumPy array."
        )

    def __bool__(self) -> NoReturn:
        raise TypeError("A symbolic KerasTensor cannot be used as a boolean.")

    def __iter__(self) -> NoReturn:
        raise NotImplementedError("Iterating over a symbolic KerasTensor is not supported.")

    def __float__(self) -> NoReturn:
        """Raises an error: the tensor has no value."""
        raise TypeError("A symbolic KerasTensor cannot be converted to a Python number.")

    __int__ = __index__ = __float__

    def __len__(self) -> NoReturn:
        raise TypeError("A symbolic KerasTensor has no length; see its shape.")

    __hash__ = object.__hash__


_LENGTHS = ((2, 16), (3, 32))
"""Two lengths each for the unknown batch and for other unknown axes; results that differ between them stay unknown."""


def outputs_of(function: Callable[..., Any], args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    """Returns the symbolic results of a function for symbolic arguments.

    Traces the function; if it needs values, it is called with sample tensors instead.

    Args:
      function: a function of tensors.
      args: positional arguments, which contain symbolic tensors.
      kwargs: keyword arguments.
    """

    def call(make: Callable[..., Any]) -> tuple[Any, list[tuple[Any, ...]]]:
        def argument(tensor: KerasTensor) -> Any:
            return make(tensor.shape, as_dtype(str(tensor.dtype)))

        outputs = function(*replace_symbols(args, argument), **replace_symbols(kwargs, argument))
        return outputs, [(tuple(x.shape), as_dtype(x.dtype).name) for x in nest.flatten(outputs)]

    structure, specs = traced(call) or _tried(call, any(None in x.shape for x in symbolic_in((args, kwargs))))
    return nest.pack_sequence_as(structure, [KerasTensor(shape, dtype) for shape, dtype in specs])


def _tried(call: Callable[..., Any], has_unknown: bool) -> tuple[Any, list[tuple[Any, ...]]]:
    """Returns a function's result for sample tensors, and the known lengths of its results."""
    with trying():
        structure, specs = call(_maker(*_LENGTHS[0]))
    if has_unknown:
        with trying():
            _, other_specs = call(_maker(*_LENGTHS[1]))
        specs = [
            (tuple([n if n == m else None for n, m in zip(shape, other_shape, strict=True)]), dtype)
            for (shape, dtype), (other_shape, _) in zip(specs, other_specs, strict=True)
        ]
    return structure, specs


def _maker(batch: int, length: int) -> Callable[..., Any]:
    def make(shape: tuple[int | None, ...], dtype: Any) -> Any:
        lengths = [(length if axis else batch) if n is None else n for axis, n in enumerate(shape)]
        return host_tensor(uniform_array(dtype, lengths), dtype)

    return make


def applied(step: Operator, *args: Any, **kwargs: Any) -> Any:
    """Returns the symbolic results of an operator for symbolic tensors."""
    outputs = outputs_of(step.function, args, kwargs)
    Node(step, args, kwargs, outputs)
    return outputs


def take_symbols(namespace: dict[str, Any]) -> None:
    """Makes the public functions defined so far accept symbolic tensors: each call becomes a step of a model.

    Args:
      namespace: the module's names.
    """
    for name, function in [*namespace.items()]:
        if name[0] != "_" and isinstance(function, FunctionType) and function.__module__ == namespace["__name__"]:
            namespace[name] = _as_step(function)


def _as_step(function: Callable[..., Any]) -> Callable[..., Any]:
    operator_name = ".".join([*function.__module__.split(".")[1:3], function.__name__])  # such as `keras.losses.huber`

    @wraps(function)
    def call(*args: Any, **kwargs: Any) -> Any:
        if KerasTensor in map(type, args):
            return applied(Operator(operator_name, call, auto_name(function.__name__)), *args, **kwargs)
        return function(*args, **kwargs)

    return call


def _set_operator(name: str, operator_name: str, reflected: bool) -> None:
    def operate(self: KerasTensor, *operands: Any) -> Any:
        operands = (*operands, self) if reflected else (self, *operands)
        return applied(Operator(operator_name), *operands)

    operate.__name__ = f"__{name}__"
    setattr(KerasTensor, operate.__name__, operate)


_REFLECTED = "add sub mul truediv floordiv mod pow matmul and or xor".split()
"""The operators that Python also calls on the right operand, as `__radd__`."""

for _operator_name, _function in OPERATORS.items():
    _name = _function.__name__.strip("_")  # `operator.and_` becomes `__and__`
    _set_operator(_name, _operator_name, reflected=False)
    if _name in _REFLECTED:
        _set_operator(f"r{_name}", _operator_name, reflected=True)


def is_symbolic(value: Any) -> bool:
    """Returns whether a value is a symbolic tensor.

    >>> is_symbolic(tf.keras.Input((3,)))
    True
    """
    return isinstance(value, KerasTensor)
