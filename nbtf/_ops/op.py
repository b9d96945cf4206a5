"""The record of an op: kernel, result shapes and gradient; `@op` creates one."""

from __future__ import annotations

import sys
from collections.abc import Callable, Mapping, Sequence
from importlib import import_module
from typing import Any, Literal, TypeVar

from nbtf import _types
from nbtf._devices.base import Spec
from nbtf._ops.attributes import NodeForm
from nbtf._ops.dtype_rule import DtypeRule
from nbtf._ops.express import express
from nbtf._ops.in_bfloat16 import takes_bfloat16
from nbtf._ops.specs import Dims, broadcast, spec_of
from nbtf._runtime.conversion import NotYetError
from nbtf._runtime.execute import execute
from nbtf._runtime.tape import AT_LENGTH, PLAIN, Call
from nbtf._runtime.tensor import Tensor
from nbtf._types import DType

F = TypeVar("F", bound=Callable[..., Any])
Gradients = Sequence[Tensor | None]
Infer = Callable[..., "Spec | Sequence[Spec] | None"]

_PLAIN_FORM = NodeForm()

OPS: dict[str, Op] = {}
"""All ops by type; filled at import, then only read."""


class Op(DtypeRule):
    """A TensorFlow op."""

    lane: Callable[..., Any] | None = None
    """The public function with its express lane, or None."""
    towards_x: Callable[..., Any] | None = None
    towards_y: Callable[..., Any] | None = None
    """Array kernels of the gradients of the first and second input, if registered."""

    def __init__(
        self,
        type: str,
        kernel: Callable[..., Any],
        rule: str,
        names: Sequence[str],
        *,
        host: Mapping[str, Callable[[Any], Any]] | None = None,
        plain: Mapping[str, Callable[[Any], Any]] | None = None,
        asked: Mapping[str, DType | None] | None = None,
        host_outputs: bool = False,
        cpu_only: bool | frozenset[DType] = False,
        shares_memory: bool = False,
        resource: bool = False,
        only_reads: bool = False,
        data_dependent: bool = False,
        function: str | None = None,
        broadcasts: bool = False,
        infer: Infer | None = None,
        partly: Callable[..., Dims | list[Dims]] | None = None,
        form: NodeForm = _PLAIN_FORM,
        sets: Mapping[str, frozenset[DType]],
    ) -> None:
        """Creates a record; only `@op` and `ufunc` call this."""
        super().__init__(type, rule, names, sets, resource, form)
        self.origin: tuple[str, int] = ("", 0)
        """Module and line that registered the op in `OPS`."""
        self.kernel = kernel
        fixed = {attr: (dtype, dtype) for attr, dtype in (asked or {}).items()}
        self.host_inputs: Mapping[str, tuple[DType | None, DType | None]] = {
            attr: fixed.get(attr, (_types.int32, None)) for attr in host or ()
        }
        """Attributes in host memory with two dtypes: the one TensorFlow converts a number to, and the one it uses
        if `is_given_values`."""
        self.normalisers = {**(host or {}), **(plain or {})}
        self.host_outputs = host_outputs
        self.shares_memory = shares_memory
        self.updates: bool = resource and not only_reads
        """Whether the op changes the value of its variable."""
        self.data_dependent = data_dependent
        self.function = function
        self.no_gradient = self.unregistered = self.keeps_outputs = False
        self.freezes: bool = bool(self.normalisers)
        """Whether attributes may be lists or arrays, which the caller could modify later."""
        self._cpu_only = cpu_only
        self._infer: Infer | None = broadcast(self) if broadcasts else infer
        self._infer_partly = partly
        self._gradient: Callable[..., Gradients] | None = None
        self.gradients: Callable[..., Gradients] = self._refuse_gradients
        """Computes the gradient of each input, given the call and the gradient of each result."""
        self.taped: int = AT_LENGTH
        self.keeps_inputs: bool = len(self.tokens) > 1 or self.takes_lists

    # Making

    def express(self, road: F) -> F:
        """Returns a public function, the road, with the express lane in front of it."""
        lane = express(self, road)
        self.lane = self.lane or lane
        return lane

    def infer(self, infer: Infer) -> Infer:
        """Registers the function that computes the results' specs from the attributes and the inputs' specs.

        Lengths may be unknown. The function returns None instead of a spec if not even the result's rank is known.
        """
        self._infer = infer
        return infer

    def gradient(self, rule: Callable[..., Gradients]) -> Callable[..., Gradients]:
        """Registers the gradient, written with public functions, given the inputs of a call."""
        return self.gradient_keeping("inputs")(rule)

    def gradient_keeping(
        self, *values: Literal["inputs", "outputs"]
    ) -> Callable[[Callable[..., Gradients]], Callable[..., Gradients]]:
        """Registers the gradient and what tapes keep for it; ops with several inputs always keep them."""

        def register(rule: Callable[..., Gradients]) -> Callable[..., Gradients]:
            self._gradient = self.gradients = rule
            self.keeps_inputs |= "inputs" in values
            self.keeps_outputs = "outputs" in values
            letters = {*self.tokens, *self.results}
            one_kind = len(letters) == 1 and letters <= self.sets.keys()
            self.taped = PLAIN if one_kind and not self.many and not self.resource else AT_LENGTH
            return rule

        return register

    def backward(self, *kernels: F) -> F:
        """Registers array kernels of the gradient for unobserved runs, one for each of the 1 or 2 inputs.

        Results are bit-identical to those of the gradient's ops. A kernel takes `(xp, grad, stored, attrs)` for one
        input, where `stored` is the result if tapes keep it, otherwise the input; for two inputs, `(xp, grad, x, y,
        attrs)`. If a kernel raises an error, the ops run instead.
        """
        if self.taped is not PLAIN or len(kernels) != len(self.tokens):
            raise TypeError(f"{self.type}: backward kernels are for gradients of one or two inputs of one dtype")
        self.towards_x, self.towards_y = (*kernels, None)[:2]
        return kernels[0]

    # Using

    def __call__(self, *inputs: Any, name: str | None = None, **attrs: Any) -> Any:
        """Runs the op on the road."""
        try:
            return execute(self, inputs, attrs, name)
        except NotYetError as symbolic:
            return symbolic.step(self, inputs, attrs)

    def __repr__(self) -> str:
        return f"<op {self.type}: {' '.join(self.tokens)} -> {' '.join(self.results)}>"

    def __reduce__(self) -> Any:
        """Pickles the op by name: every process has the same table.

        Raises:
          TypeError: if the op is not in the table.
        """
        if OPS.get(self.type) is not self:
            raise TypeError(f"The op {self.type} is not in the table of ops, so it cannot be pickled.")
        return find_op, (self.type,)

    @property
    def has_gradient(self) -> bool:
        """Whether the op has a gradient."""
        return self._gradient is not None

    def _refuse_gradients(self, call: Call, *grads: Tensor | None) -> Gradients:
        raise LookupError(f"gradient registry has no entry for: {self.type}")

    def has_kernel(self, device_type: str, dtypes: Sequence[DType]) -> bool:
        """Returns whether the op has a kernel for a device type and inputs of these dtypes."""
        if device_type == "CPU" or self._cpu_only is False:
            return True
        if self._cpu_only is True:
            return False
        return self._cpu_only.isdisjoint(dtypes)

    def extends_to(self, dtype: DType, allowed: frozenset[DType]) -> bool:
        """Returns whether the op supports bfloat16 although its dtype set lacks it."""
        return takes_bfloat16(self, dtype, allowed)

    def normalised(self, attrs: dict[str, Any]) -> dict[str, Any]:
        """Returns the attributes in the form that kernels, `infer` and gradients expect."""
        if not self.normalisers:
            return attrs
        plain = attrs.copy()
        for name, normalise in self.normalisers.items():
            try:
                plain[name] = normalise(attrs[name])
            except _UNREADABLE as error:
                raise TypeError(f"{self.type}: invalid `{name}` {attrs[name]!r}: {error}") from error
        return plain

    def specs(self, inputs: Sequence[Any], attrs: Mapping[str, Any]) -> list[Spec] | None:
        """Returns the results' specs without running the op; None if they depend on data."""
        if self.data_dependent or self._infer is None:
            return None
        results = self._infer(*[spec_of(value) for value in inputs], **attrs)
        return [results] if isinstance(results, Spec) else list(results or ())

    def shapes(self, inputs: Sequence[Any], attrs: Mapping[str, Any], undecided: bool = False) -> list[Dims]:
        """Returns what is known about the results' shapes, including shapes that depend on data.

        Args:
          inputs: specs, as lists where the op takes lists; a spec's `shape` is None if its rank is unknown.
          attrs: the attributes; `UNKNOWN` for one known only at run time, None for an unknown length in a list.
          undecided: whether an attribute is unknown; False by default.
        """
        if not undecided and self._infer is not None and _are_ranked(inputs):
            results = self._infer(*inputs, **attrs)
            return [None if spec is None else spec.shape for spec in _listed(results)]
        shapes = None if self._infer_partly is None else self._infer_partly(*inputs, **attrs)
        return shapes if isinstance(shapes, list) else [shapes] * len(self.results)


def _listed(results: Any) -> Sequence[Spec | None]:
    return [results] if results is None or isinstance(results, Spec) else results


def _are_ranked(inputs: Sequence[Any]) -> bool:
    return all([spec.shape is not None for value in inputs for spec in (value if value.__class__ is list else [value])])


_UNREADABLE = (AttributeError, IndexError, OverflowError, ZeroDivisionError)
"""Exceptions raised when an attribute of the wrong class is converted."""


def find_op(type: str) -> Op:
    """Returns the op of a type, loading op families that were not imported yet until one has it.

    Raises:
      LookupError: if no op has this type.
    """
    if type not in OPS:
        from pkgutil import walk_packages  # slow to load and rarely needed

        for family in walk_packages(import_module("nbtf._ops").__path__, "nbtf._ops."):
            import_module(family.name)
            if type in OPS:
                break
        else:
            raise LookupError(f"No op has the type {type!r:.60}.")
    return OPS[type]


def op(rule: str, **options: Any) -> Callable[[Callable[..., Any]], Op]:
    """Returns a decorator that makes an op from its kernel `(xp, inputs..., attributes...)`.

    Args:
      rule: see `DtypeRule`.
      **options: `host`: attributes that TensorFlow takes as tensors in host memory; they are int32, or have the dtype
        that `asked` gives (None: the number's own dtype). `host_outputs`: the results are
        in host memory. `cpu_only`: True, or the dtypes without a GPU kernel. `shares_memory`: the result
        shares the input's memory. `resource`: the first input is a variable, whose value changes unless the op
        `only_reads` it. `data_dependent`: the results' shape depends on values. Each letter of the rule: the
        set of its dtypes. For the results' specs, `broadcasts`: the inputs are broadcast against each other;
        `infer`: see `Op.infer`. For graphs, `partly`: the shape rule if a rank or an attribute is
        unknown; `inputs`, `index_type`, `fields`, `node_name`: the names of its host inputs, attributes and nodes;
        `misfit`, `definition`: see `NodeForm`.
    """

    def record(kernel: Callable[..., Any]) -> Op:
        names = kernel.__code__.co_varnames[1 : kernel.__code__.co_argcount]
        return _recorded(Op(kernel.__name__, kernel, rule, names, **_sorted_out(options)))

    return record


def ufunc(type: str, function: str, rule: str, names: Sequence[str] = (), **options: Any) -> Op:
    """Returns an elementwise op whose kernel is the function of this name in NumPy and CuPy."""

    def unary(xp: Any, x: Any) -> Any:
        return getattr(xp, function)(x)

    def binary(xp: Any, x: Any, y: Any) -> Any:
        return getattr(xp, function)(x, y)

    kernel = binary if len(rule.partition("->")[0].split()) == 2 else unary
    names = names or kernel.__code__.co_varnames[1:]
    return _recorded(Op(type, kernel, rule, names, function=function, broadcasts=True, **_sorted_out(options)))


def _sorted_out(options: dict[str, Any]) -> dict[str, Any]:
    sets = {key: value for key, value in options.items() if key[0].isupper()}
    form = NodeForm(**{key: value for key, value in options.items() if key in NodeForm._fields})
    return {key: value for key, value in options.items() if key not in {*sets, *form._fields}} | {
        "sets": sets,
        "form": form,
    }


def _recorded(record: Op) -> Op:
    """Registers an op; the same line of a module may register it again if its first run was interrupted."""
    caller = sys._getframe(2)
    record.origin = caller.f_globals["__name__"], caller.f_lineno
    if OPS.setdefault(record.type, record).origin != record.origin:
        raise TypeError(f"The op type {record.type} is already registered.")
    OPS[record.type] = record
    return record


def no_gradient(*records: Op) -> None:
    """Declares that gradients do not flow through these ops."""
    for record in records:
        record.no_gradient = True


def unregistered(*records: Op) -> None:
    """Declares that requesting a gradient through these ops is an error, as in TensorFlow."""
    for record in records:
        record.unregistered = True
