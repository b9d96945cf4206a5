"""What a tape keeps of the ops it hears, so that gradients can flow back through them.

A tape is a list of entries, and a gradient a walk through it from the end. Tensors are known by their `id`. Ids are
given to other tensors when one has died; that does no harm, since the life of every tensor that counts begins with an
entry, and the walk takes away at that entry all that has arrived for the id.
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
"""What `_watch` says of a variable: a tape may hear of it at any time."""

LASTING = frozenset({int, bool, float, str, tuple, type(None)})
"""Classes of attributes that the caller cannot change any more."""

Entry = tuple[Any, Any, Any, Any]
"""Op, inputs, attributes, result.

Inputs are tensors, or the one input's id where the gradient does not look at it; the result is a tensor, its id, or a
tuple of either for an op with several. Without an op: a tensor begins here (inputs are None), or is the value of a
variable (which stands in the place of the inputs).
"""


AT_LENGTH, PLAIN = 0, 1
"""How calls of an op are heard: with more thought, or at once: one result, and one dtype for everything."""


class Call:
    """One execution of an op, as its gradient needs to know it.

    A walk back through a tape fills the same one anew for each op: a gradient must not keep it.
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
        """Takes the op and its call; `gradients_wanted` says for which inputs somebody asks, all when None."""
        self.op = op
        self.inputs = inputs
        self.attrs = attrs
        self.outputs = outputs
        self.wanted = gradients_wanted

    @property
    def output(self) -> Any:
        """The only result of an op that has one."""
        return self.outputs[0]

    def needs(self, position: int) -> bool:
        """Tells whether somebody asked for the gradient of this input."""
        return self.wanted is None or self.wanted[position]


class Tape:
    """Hears the ops that run in the scope it stands in, and keeps those that depend on what it watches.

    `token` is what `_watch` of a tensor names: the tape itself must not hang there, or it would die only by chance.
    A tensor that several tapes watch names them in a tuple. `hearing` is the token too, but None in between.
    `closed` says that its block has ended, though another that began inside it has not.
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
    """`GradientTape`, which stands above this floor and sets it."""

    def __init__(self, watches_variables: bool = True) -> None:
        """Starts with an empty list.

        Args:
          watches_variables: whether trainable variables are watched as soon as an op takes them.
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
        """Takes a call whose inputs it may watch; `result` is a tensor or a list. Its twins stand in `express.py`."""
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
        """Hears of what has lists in it, or several dtypes or results."""
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
        """Adds an entry, and watches those of the results that gradients can come back from."""
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
        """Returns a tensor as it is, of a variable its value of this moment."""
        return self.value_of(tensor) if tensor._watch is ALWAYS else tensor

    def value_of(self, variable: Any) -> Tensor:
        """Returns the value of a variable as a tensor of its own; the same one until the variable changes."""
        variable_id, array = id(variable), variable._array
        read = self.reads.get(variable_id)
        if read is not None and read._array is array:
            return read
        self.reads[variable_id] = value = Tensor()
        value._array, value._dtype, value._device = array, variable._dtype, variable._device
        if variable._allocation is not None:
            value._allocation = variable._allocation
        if self.watches_variables and variable._trainable:  # as `_accessed` says, without its frame
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
        """Tells whether a variable that an op has taken is watched from now on."""
        if self.watches_variables and variable._trainable:
            self.variables[id(variable)] = variable
            return True
        self.values.append((None, variable))  # kept all the same: its id must not be given away
        return False

    def reset(self) -> None:
        """Forgets everything, also what it watches: tensors name a token that counts no more."""
        for store in (self.entries, self.reads, self.values, self.variables):
            store.clear()
        self.token = self.hearing = ref(self, id)  # with a second argument, or it would be the same again
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
            self.reads.pop(id(variable), None)  # was the value of a variable that nobody watched

    def watches(self, tensor: Any) -> bool:
        """Tells whether gradients can flow back to a tensor, or to one of a list."""
        if tensor.__class__ is tuple:
            return any([self.watches(element) for element in tensor])
        watch = tensor._watch
        return watch is self.token or watch is self.of_variable or (watch.__class__ is tuple and self.token in watch)

    def _mark(self, tensor: Any) -> None:
        watch = tensor._watch
        tensor._watch = self.token if watch is None else self._named_in(watch)

    def _named_in(self, watch: Any) -> Any:
        """Returns what a tensor that other tapes have watched names; tapes that are gone are left out."""
        watchers = [
            watcher
            for watcher in (watch if watch.__class__ is tuple else (watch,))
            if watcher.__class__ is ref and watcher()
        ]
        if self.token in watchers:
            return tuple(watchers) if len(watchers) > 1 else self.token
        return (*watchers, self.token) if watchers else self.token


def frozen(op: Any, attrs: Mapping[str, Any]) -> Mapping[str, Any]:
    """Returns attributes that the caller cannot change any more."""
    for value in attrs.values():
        if value.__class__ not in LASTING:
            return op.normalised(dict(attrs))
    return attrs
