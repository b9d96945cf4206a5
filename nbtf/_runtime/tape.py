"""The record a tape keeps of ops, so that gradients can flow back through them.

A tape is a list of entries, and a gradient is a walk through it from the end. Tensors are identified by `id`. Python
may reuse an id after a tensor is freed, which is harmless: every relevant tensor begins with an entry of its own. At
that entry, the walk removes everything that has arrived for the id.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any, ClassVar
from weakref import ref

from nbtf._runtime.tensor import Tensor
from nbtf._types import COMPLEXES, FLOATS, bfloat16, variant

CONTINUOUS = FLOATS | COMPLEXES | {bfloat16, variant}
"""The dtypes that gradients flow through; a `variant` is a list of tensors."""

ALWAYS = object()
"""The `_watch` of a variable: any tape may record it at any time."""

LASTING = frozenset({int, bool, float, str, tuple, type(None)})
"""Classes of attributes that callers cannot modify."""

Entry = tuple[Any, Any, Any, Any]
"""Op, inputs, attributes, result.

Inputs are tensors, or the id of a single input that the gradient does not read. The result is a tensor, its id, or a
tuple of either for an op with several. An entry without an op marks the beginning of a tensor: either inputs are None,
or they are the variable whose value the tensor is.
"""


AT_LENGTH, PLAIN = 0, 1
"""How calls of an op are recorded: in general form, or fast if there is one result and one dtype throughout."""


class Call:
    """One call of an op, as its gradient function needs to know it.

    A backward walk reuses one object for all ops, so a gradient function must not keep it.
    """

    __slots__ = ("attrs", "inputs", "op", "outputs", "wanted")

    def __init__(
        self,
        op: Any,
        inputs: Sequence[Any],
        attrs: Mapping[str, Any],
        outputs: Sequence[Any],
        gradients_wanted: tuple[bool, ...] | None = None,
    ) -> None:
        """Stores the call; `gradients_wanted` lists the inputs that need a gradient, None for all."""
        self.op = op
        self.inputs = inputs
        self.attrs = attrs
        self.outputs = outputs
        self.wanted = gradients_wanted

    @property
    def output(self) -> Any:
        """The result of an op that has exactly one."""
        return self.outputs[0]

    def needs(self, position: int) -> bool:
        """Returns whether the gradient of this input is needed."""
        return self.wanted is None or self.wanted[position]


class Tape:
    """Records the ops in its scope that depend on watched tensors.

    `token` is the value in a tensor's `_watch`. It is not the tape itself, because a reference cycle would delay the
    tape's destruction. If several tapes watch a tensor, `_watch` is a tuple of tokens. `hearing` equals the token, or
    None while recording is paused. `closed` is whether the tape's block has ended before one that began inside it.
    """

    __slots__ = (
        "__weakref__",
        "closed",
        "entries",
        "hearing",
        "of_variable",
        "reads",
        "token",
        "values",
        "variables",
        "watches_variables",
    )

    block: ClassVar[Callable[..., Any]]
    """The class `GradientTape`, set by its own module, which is on a floor above this one."""

    def __init__(self, watches_variables: bool = True) -> None:
        """Starts with an empty list.

        Args:
          watches_variables: whether trainable variables are watched as soon as an op reads them.
        """
        self.entries: list[Entry] = []
        self.reads: dict[int, Any] = {}
        self.values: list[tuple[Any, Any]] = []
        self.variables: dict[int, Any] = {}
        self.watches_variables: bool = watches_variables
        self.token: Any = ref(self)
        self.hearing: Any = None
        self.of_variable: Any = object()
        self.closed: bool = False

    def record(self, op: Any, inputs: Sequence[Any], attrs: Mapping[str, Any], result: Any) -> None:
        """Records a call with inputs that may be watched; `result` is a tensor or list. `express.py` inlines it."""
        if op.taped is not PLAIN or self.hearing is None:
            return self._record_at_length(op, inputs, attrs, result)
        token, watched = self.token, False
        values: list[Any] = []
        for tensor in inputs:
            if (watch := tensor._watch) is not None and watch is not token:
                if watch is ALWAYS:
                    tensor = self.value_of(tensor)
                    watch = tensor._watch
                if watch is self.of_variable or (watch.__class__ is tuple and token in watch):
                    watched = True
            elif watch is token:
                watched = True
            values.append(tensor)
        if watched:
            if op.freezes:
                attrs = frozen(op, attrs)
            recorded_inputs: Any = values if op.keeps_inputs or values[0]._watch is not token else id(values[0])
            self.entries.append((op, recorded_inputs, attrs, result if op.keeps_outputs else id(result)))
            result._watch = token if result._watch is None else self._named_in(result._watch)
        return None

    def _record_at_length(self, op: Any, inputs: Sequence[Any], attrs: Mapping[str, Any], result: Any) -> None:
        """Records a call with lists, several dtypes or several results."""
        if self.hearing is None:
            return
        if op.resource and inputs[0]._watch is ALWAYS:
            if op.has_gradient:
                variable = inputs[0]
                if (id(variable) in self.variables or self._accessed(variable)) and result._dtype in CONTINUOUS:
                    self.entries.append((None, variable, None, id(result)))
                    self._mark(result)
            return
        input_values: list[Any] = [
            tuple([self._value(element) for element in tensor]) if tensor.__class__ is list else self._value(tensor)
            for tensor in inputs
        ]
        if op.no_gradient or not any([self.watches(value) for value in input_values]):
            return
        if op.freezes:
            attrs = frozen(op, attrs)
        recorded_inputs = (
            tuple(input_values) if op.keeps_inputs or input_values[0]._watch is not self.token else id(input_values[0])
        )
        self._keep(op, recorded_inputs, attrs, result)

    def _keep(self, op: Any, inputs: Any, attrs: Mapping[str, Any], result: Any) -> None:
        """Adds an entry, and watches the results that gradients can flow back from."""
        keeps_all = op.keeps_outputs
        if result.__class__ is list:
            results = [output for output in result if output._dtype in CONTINUOUS]
            recorded_outputs = tuple([output if keeps_all else id(output) for output in result])
        else:
            results = [result] if result._dtype in CONTINUOUS else []
            recorded_outputs = result if keeps_all else id(result)
        if results:
            self.entries.append((op, inputs, attrs, recorded_outputs))
            for output in results:
                self._mark(output)

    # Variables

    def _value(self, tensor: Any) -> Any:
        """Returns a tensor unchanged, or the current value of a variable."""
        return self.value_of(tensor) if tensor._watch is ALWAYS else tensor

    def value_of(self, variable: Any) -> Tensor:
        """Returns a variable's value as a separate tensor; the same one until the variable changes."""
        variable_id, array = id(variable), variable._array
        read = self.reads.get(variable_id)
        if read is not None and read._array is array:
            return read
        self.reads[variable_id] = value = Tensor()
        value._array, value._dtype, value._device = array, variable._dtype, variable._device
        if variable._allocation is not None:
            value._allocation = variable._allocation
        if self.watches_variables and variable._trainable:  # `_accessed` inlined
            self.variables[variable_id] = variable
            is_watched = True
        else:
            is_watched = variable_id in self.variables or self._accessed(variable)
        if is_watched and value._dtype in CONTINUOUS:
            self.values.append((value, variable))
            value._watch = self.of_variable
        else:
            value._watch = None
        return value

    def _accessed(self, variable: Any) -> bool:
        """Returns whether a variable that an op reads is watched from now on."""
        if self.watches_variables and variable._trainable:
            self.variables[id(variable)] = variable
            return True
        self.values.append((None, variable))  # kept alive so that its id is not reused
        return False

    def reset(self) -> None:
        """Discards everything, including what it watches: the tensors' token becomes invalid."""
        for store in (self.entries, self.reads, self.values, self.variables):
            store.clear()
        self.token = self.hearing = ref(self, id)  # with a callback, `ref` returns a new object instead of a shared one
        self.of_variable = object()

    # Watching

    def watch(self, tensor: Any) -> None:
        """Watches a tensor from now on."""
        if not self.watches(tensor):
            self.entries.append((None, None, None, id(tensor)))
            self._mark(tensor)

    def watch_variable(self, variable: Any) -> None:
        """Watches a variable from now on."""
        if self.variables.setdefault(id(variable), variable) is variable:
            self.reads.pop(id(variable), None)  # its earlier value was recorded as unwatched

    def watches(self, tensor: Any) -> bool:
        """Returns whether gradients can flow back to a tensor, or to any tensor of a list."""
        if tensor.__class__ is tuple:
            return any([self.watches(element) for element in tensor])
        watch = tensor._watch
        return watch is self.token or watch is self.of_variable or (watch.__class__ is tuple and self.token in watch)

    def _mark(self, tensor: Any) -> None:
        watch = tensor._watch
        tensor._watch = self.token if watch is None else self._named_in(watch)

    def _named_in(self, watch: Any) -> Any:
        """Returns the new `_watch` of a tensor that other tapes watch, without tapes that are gone."""
        watchers = [
            watcher
            for watcher in (watch if watch.__class__ is tuple else (watch,))
            if watcher.__class__ is ref and watcher()
        ]
        if self.token in watchers:
            return tuple(watchers) if len(watchers) > 1 else self.token
        return (*watchers, self.token) if watchers else self.token


def frozen(op: Any, attrs: Mapping[str, Any]) -> Mapping[str, Any]:
    """Returns attributes that the caller can no longer modify."""
    for value in attrs.values():
        if value.__class__ not in LASTING:
            return op.normalised(dict(attrs))
    return attrs
