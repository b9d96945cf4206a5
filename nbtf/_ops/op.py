"""What an op is: a record of kernel, dtype rule, result shapes and gradient; `@op` makes one."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any, TypeVar

from nbtf import _types
from nbtf._devices.base import Buffer, Spec
from nbtf._devices.cpu import CPU
from nbtf._ops.express import express
from nbtf._runtime.conversion import as_tensor
from nbtf._runtime.execute import execute
from nbtf._runtime.tape import Call
from nbtf._runtime.tensor import Tensor
from nbtf._types import DType
from nbtf.errors import InvalidArgumentError

F = TypeVar("F", bound=Callable[..., Any])
Gradients = Sequence[Tensor | None]
Infer = Callable[..., "Spec | Sequence[Spec]"]

OPS: dict[str, Op] = {}
"""All ops by type; filled at import, then only read."""


class Op:
    """One op of TensorFlow's.

    The rule is written `"T T -> T"`: a capital letter is any dtype of that letter's set and the same dtype wherever
    it stands; a dtype's name is that dtype; a name of an attribute is the dtype it says; `*` marks a list.
    """

    def __init__(
        self,
        type: str,
        kernel: Callable[..., Any],
        rule: str,
        names: Sequence[str],
        *,
        host: Mapping[str, Callable[[Any], Any]] | None = None,
        plain: Mapping[str, Callable[[Any], Any]] | None = None,
        host_outputs: bool = False,
        cpu_only: bool | frozenset[DType] = False,
        shares_memory: bool = False,
        resource: bool = False,
        data_dependent: bool = False,
        function: str | None = None,
        sets: Mapping[str, frozenset[DType]],
    ) -> None:
        """Makes a record; `@op` and `ufunc` are the doors."""
        self.type = type
        self.kernel = kernel
        left, _, right = rule.partition("->")
        self.tokens = tuple(left.split())
        self.results = tuple(right.split())
        self.many = len(self.results) != 1 or self.results[0].endswith("*")
        self.inputs = tuple(names[: len(self.tokens)])
        self.attrs = tuple(names[len(self.tokens) :])
        self.host_inputs = tuple(host or ())
        self._normalisers = {**(host or {}), **(plain or {})}
        self.host_outputs = host_outputs
        self.shares_memory = shares_memory
        self.resource = resource
        self.data_dependent = data_dependent
        self.function = function
        self.sets = dict(sets)
        self.no_gradient = False
        self._cpu_only = cpu_only
        self._infer: Infer | None = None
        self._gradient: Callable[..., Gradients] | None = None
        one_letter = len(set(self.tokens)) == 1 and self.tokens[0] in self.sets
        self._allowed = self.sets[self.tokens[0]] if one_letter else None
        self._same = one_letter and self.results == self.tokens[:1]

    # Making

    def express(self, road: F) -> F:
        """Puts the express lane in front of a public function whose body is the road."""
        return express(self, road)

    def infer(self, infer: Infer) -> Infer:
        """Says what the results will be, from the inputs' specs and the attributes."""
        self._infer = infer
        return infer

    def gradient(self, rule: Callable[..., Gradients]) -> Callable[..., Gradients]:
        """Says how gradients flow back, in public functions."""
        self._gradient = rule
        return rule

    # Using

    def __call__(self, *inputs: Any, name: str | None = None, **attrs: Any) -> Any:
        """Sends the op down the road."""
        return execute(self, inputs, attrs, name)

    def __repr__(self) -> str:
        """Names the op and its rule."""
        return f"<op {self.type}: {' '.join(self.tokens)} -> {' '.join(self.results)}>"

    def __reduce__(self) -> Any:
        """Pickles as its name: another process has the op too."""
        return find_op, (self.type,)

    @property
    def has_gradient(self) -> bool:
        """Whether gradients flow through it."""
        return self._gradient is not None

    def gradients(self, call: Call, *grads: Tensor | None) -> Gradients:
        """Returns the gradient of each input of a call.

        Raises:
          LookupError: the op has no gradient.
        """
        if self._gradient is None:
            raise LookupError(f"No gradient defined for operation '{self.type}' (op type: {self.type})")
        return self._gradient(call, *grads)

    def has_kernel(self, device_type: str, dtypes: Sequence[DType]) -> bool:
        """Tells whether the op can run on such a device with inputs of these dtypes."""
        if device_type == "CPU" or self._cpu_only is False:
            return True
        if self._cpu_only is True:
            return False
        return self._cpu_only.isdisjoint(dtypes)

    def convert(self, inputs: Sequence[Any]) -> Sequence[Any]:
        """Returns the inputs as tensors; values take the dtype of the tensor that shares their letter."""
        for value in inputs:
            if value.__class__ is not Tensor:
                return self._converted(inputs)
        return inputs

    def _converted(self, inputs: Sequence[Any]) -> list[Any]:
        known: dict[str, DType] = {}
        for token, value in zip(self.tokens, inputs, strict=True):
            letter = token.rstrip("*")
            if letter in self.sets and letter not in known:
                dtype = _dtype_of(value)
                if dtype is not None:
                    known[letter] = dtype
        skip = 1 if self.resource else 0
        result: list[Any] = list(inputs[:skip])
        for token, value in zip(self.tokens[skip:], inputs[skip:], strict=True):
            letter = token.rstrip("*")
            wanted = known.get(letter) if letter in self.sets else getattr(_types, _SPELLED.get(letter, letter))
            if token[-1] == "*":
                items: list[Tensor] = []
                for item in value:
                    items.append(_converted(item, wanted))
                    if letter in self.sets:  # what follows takes the dtype of the first
                        wanted = known.setdefault(letter, items[0]._dtype)
                result.append(items)
            else:
                tensor = _converted(value, wanted)
                result.append(tensor)
                known.setdefault(letter, tensor._dtype)
        return result

    def normalised(self, attrs: dict[str, Any]) -> dict[str, Any]:
        """Returns the attributes as kernels, `infer` and gradients want them, whatever spelling the caller used."""
        if not self._normalisers:
            return attrs
        plain = attrs.copy()
        for name, normalise in self._normalisers.items():
            plain[name] = normalise(attrs[name])
        return plain

    def check(self, inputs: Sequence[Any], attrs: Mapping[str, Any]) -> list[DType]:
        """Returns the inputs' dtypes after checking them against the rule, lists flattened.

        Raises:
          InvalidArgumentError: dtypes differ that must agree, or the op does not take one.
        """
        if self._allowed is not None:
            dtypes = [one._dtype for one in inputs]
            first = dtypes[0]
            if first in self._allowed and dtypes.count(first) == len(dtypes):
                return dtypes
        if not self.tokens:
            return self.output_dtypes((), attrs, 1)  # what takes nothing is placed by what it makes
        dtypes = [one._dtype for value in inputs for one in (value if value.__class__ is list else (value,))]
        bound: dict[str, DType] = {}
        for number, (token, dtype) in enumerate(zip(self._flat_tokens(inputs), dtypes, strict=True)):
            self._check_one(token, number, dtype, bound)
        return dtypes

    def _flat_tokens(self, inputs: Sequence[Any]) -> list[str]:
        return [
            token.rstrip("*")
            for token, value in zip(self.tokens, inputs, strict=True)
            for _ in range(len(value) if value.__class__ is list else 1)
        ]

    def _check_one(self, token: str, number: int, dtype: DType, bound: dict[str, DType]) -> None:
        if token in self.sets:
            if dtype not in self.sets[token] and token not in bound:
                allowed = ", ".join(sorted(known.c_name for known in self.sets[token]))
                text = f"Value for attr '{token}' of {dtype.c_name} is not in the list of allowed values: {allowed}"
                raise InvalidArgumentError(None, None, f"{text} [Op:{self.type}] name: ")
            expected = bound.setdefault(token, dtype)
        else:
            expected = getattr(_types, _SPELLED.get(token, token))
        if dtype is not expected:
            raise InvalidArgumentError(
                None,
                None,
                f"cannot compute {self.type} as input #{number}(zero-based) was expected to be a {expected.c_name} "
                f"tensor but is a {dtype.c_name} tensor [Op:{self.type}] name: ",
            )

    def output_dtypes(self, dtypes: Sequence[DType], attrs: Mapping[str, Any], count: int) -> list[DType]:
        """Returns the results' dtypes; `count` says how long the list of a `*` result is."""
        if self._same:
            return [dtypes[0]]
        bound: dict[str, DType] = {}
        for token, dtype in zip((t.rstrip("*") for t in self.tokens), dtypes, strict=False):
            bound.setdefault(token, dtype)
        found: list[DType] = []
        for token in self.results:
            one = self._output_dtype(token.rstrip("*"), bound, attrs)
            found.extend([one] * (count if token[-1] == "*" else 1))
        return found

    def _output_dtype(self, token: str, bound: Mapping[str, DType], attrs: Mapping[str, Any]) -> DType:
        if token in bound:
            return bound[token]
        if token in attrs:
            return _types.as_dtype(attrs[token])
        return getattr(_types, _SPELLED.get(token, token))

    def specs(self, inputs: Sequence[Any], attrs: Mapping[str, Any]) -> list[Spec] | None:
        """Returns the specs of the results without running, from tensors or specs; None if data decide.

        An op that says nothing is run by the CPU on stand-ins of the same shape.
        """
        if self.data_dependent:
            return None
        specs = [spec_of(value) for value in inputs]
        if self._infer is None:
            return stand_in(self, specs, attrs)
        found = self._infer(*specs, **attrs)
        return [found] if isinstance(found, Spec) else list(found)


_SPELLED = {"bool": "bool_"}


def _dtype_of(value: Any) -> DType | None:
    if value.__class__ is list or value.__class__ is tuple:
        return next((d for d in map(_dtype_of, value) if d is not None), None)
    return getattr(value, "_dtype", None)


def _converted(value: Any, wanted: DType | None) -> Tensor:
    if value.__class__ is Tensor:
        return value
    return as_tensor(value, None if isinstance(value, Buffer) else wanted)  # a variable has its dtype, for `check`


def spec_of(value: Any) -> Any:
    """Returns the spec of a tensor, a spec as it is, lists element by element."""
    if value.__class__ is list:
        return [spec_of(item) for item in value]
    return value if value.__class__ is Spec else Spec(tuple(value._array.shape), value._dtype)


def stand_in(op: Op, specs: Sequence[Any], attrs: Mapping[str, Any]) -> list[Spec]:
    """Runs a kernel on arrays that only look like the inputs; unknown lengths are tried as 2 and as 3."""
    tries = [_shapes_with(op, specs, attrs, length) for length in (2, 3)]
    dtypes = op.output_dtypes([s.dtype for s in specs if isinstance(s, Spec)], attrs, len(tries[0]))
    return [
        Spec(tuple(a if a == b else None for a, b in zip(one, other, strict=True)), dtype)
        for one, other, dtype in zip(*tries, dtypes, strict=True)
    ]


def _shapes_with(op: Op, specs: Sequence[Any], attrs: Mapping[str, Any], length: int) -> list[tuple[int, ...]]:
    xp = CPU.xp

    def fake(spec: Any) -> Any:
        if isinstance(spec, list):
            return [fake(item) for item in spec]  # pyright: ignore[reportUnknownVariableType]
        shape = tuple(length if n is None else n for n in spec.shape)
        return xp.broadcast_to(xp.ones((), spec.dtype.np_dtype), shape)

    made: Any = op.kernel(xp, *map(fake, specs), **attrs)
    arrays: list[Any] = list(made) if isinstance(made, list | tuple) else [made]  # pyright: ignore[reportUnknownArgumentType]
    return [tuple(array.shape) for array in arrays]


def find_op(type: str) -> Op:
    """Returns the op of a type."""
    return OPS[type]


def op(rule: str, **how: Any) -> Callable[[Callable[..., Any]], Op]:
    """Makes the record of an op from its kernel `(xp, inputs..., attributes...)`; the name is the op type.

    Args:
      rule: see `Op`.
      **how: `host`: attributes that TensorFlow takes as tensors in host memory; `host_outputs`: the results are
        in host memory; `cpu_only`: True, or the dtypes for which there is no GPU kernel; `shares_memory`: the result
        shows the input's memory; `resource`: the first input is a variable; `data_dependent`: the results' shape
        depends on values; and for each letter of the rule the set of its dtypes.
    """

    def record(kernel: Callable[..., Any]) -> Op:
        names = kernel.__code__.co_varnames[1 : kernel.__code__.co_argcount]
        return _recorded(Op(kernel.__name__, kernel, rule, names, **_sorted_out(how)))

    return record


def ufunc(type: str, function: str, rule: str, **how: Any) -> Op:
    """Makes the record of an elementwise op whose kernel NumPy and CuPy both have, by its name."""

    def kernel(xp: Any, *arrays: Any) -> Any:
        return getattr(xp, function)(*arrays)

    names = ("x", "y", "z")[: len(rule.partition("->")[0].split())]
    record = _recorded(Op(type, kernel, rule, names, function=function, **_sorted_out(how)))
    record.infer(broadcast(record))
    return record


def _sorted_out(how: dict[str, Any]) -> dict[str, Any]:
    sets = {key: value for key, value in how.items() if key[0].isupper()}
    return {key: value for key, value in how.items() if key not in sets} | {"sets": sets}


def _recorded(record: Op) -> Op:
    if OPS.setdefault(record.type, record) is not record:
        raise TypeError(f"there are two ops of type {record.type}")
    return record


def no_gradient(*records: Op) -> None:
    """States that gradients do not flow through these ops."""
    for record in records:
        record.no_gradient = True


def broadcast(record: Op) -> Infer:
    """Returns the rule of elementwise ops: inputs broadcast against each other."""

    def infer(*specs: Spec, **attrs: Any) -> Spec:
        shape = specs[0].shape
        for other in specs[1:]:
            if other.shape != shape:
                shape = broadcast_shapes(shape, other.shape)
        return Spec(shape, record.output_dtypes([spec.dtype for spec in specs], attrs, 1)[0])

    return infer


def broadcast_shapes(a: tuple[int | None, ...], b: tuple[int | None, ...]) -> tuple[int | None, ...]:
    """Returns the shape two shapes broadcast to, None for unknown lengths.

    Raises:
      InvalidArgumentError: they do not fit, in TensorFlow's words.
    """
    longer, shorter = (a, b) if len(a) >= len(b) else (b, a)
    padded = (1,) * (len(longer) - len(shorter)) + tuple(shorter)
    result: list[int | None] = []
    for m, n in zip(longer, padded, strict=True):
        if m == n or n == 1:
            result.append(m)
        elif m == 1 or m is None:
            result.append(n)
        elif n is None:
            result.append(m)
        else:
            raise InvalidArgumentError(None, None, f"Incompatible shapes: {bracketed(a)} vs. {bracketed(b)}")
    return tuple(result)


def bracketed(shape: Sequence[int | None]) -> str:
    """Returns a shape as TensorFlow's kernels print it: `[2,3]`."""
    return f"[{','.join('?' if n is None else str(n) for n in shape)}]"
