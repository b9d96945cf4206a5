"""Makes rows of the log from the ops that TensorFlow has run: device, reason, copies, results and code line."""

from __future__ import annotations

import re
import sys
from collections.abc import Sequence
from math import nan, prod
from time import time
from typing import Any

from nbtf._devices.sites import CallSite
from nbtf._frameworks.devices import LibraryDType, LibraryOp
from nbtf._frameworks.tensorflow.calls import FunctionCalls
from nbtf._frameworks.tensorflow.constants import ConstantCache
from nbtf._frameworks.tensorflow.devices import DEVICES, device_type
from nbtf._frameworks.tensorflow.functions import inside_of
from nbtf._frameworks.tensorflow.internals import Internals
from nbtf._frameworks.tensorflow.kernels import KernelRegistry
from nbtf._frameworks.tensorflow.origins import Origins
from nbtf._frameworks.tensorflow.quiet import quiet
from nbtf._frameworks.tensorflow.reasons import Reasons
from nbtf._record.listeners import Observers
from nbtf._record.rows import LateOpSubject, Row, next_number, note_of_copy
from nbtf._runtime.context import CURRENT

_REMEMBERED = 4096
_RESOURCE = 20
"""The number of the dtype `resource`. Source: `types.proto`."""
_HANDLES = frozenset({_RESOURCE, 21})
"""Numbers of dtypes whose tensors are handles, which are never copied: resource and variant."""
_ON_HOST = frozenset({3, 7})
"""Numbers of the dtypes int32 and string, whose tensors TensorFlow keeps on CPU:0 for ops on every CPU."""
_DEVICE_IN_ERROR = re.compile(r"_device_(/job:[^}\s]+)")
_FUNCTION = "__"
"""How the names of functions begin: `__inference_step_75`."""
_NUMBERS = 10_000
_CONSTANT, _READ = "_EagerConst", "ReadVariableOp"


class Call:
    """An op that runs, or has run: what TensorFlow was called with, and when."""

    __slots__ = ("attributes", "began_at", "first", "inputs", "last_id", "op_type", "requested", "seconds")

    def __init__(
        self,
        op_type: str,
        requested: str,
        inputs: Any,
        attributes: Sequence[Any],
        last_id: int,
        first: int,
        began_at: float,
        seconds: float,
    ) -> None:
        """Stores them; tensors with a number above `last_id` were created in the call."""
        self.op_type, self.requested, self.inputs, self.attributes = op_type, requested, inputs, attributes
        self.last_id, self.first, self.began_at, self.seconds = last_id, first, began_at, seconds


class Notes:
    """Writes a row for each op of TensorFlow."""

    def __init__(self, names: Internals) -> None:
        """Stores TensorFlow's private modules."""
        self._names = names
        self._tensor = names.ops.EagerTensor
        self._variable = names.variables.BaseResourceVariable
        self._next_id = names.pywrap.TFE_Py_UID
        self.origins = Origins(names.pywrap.TFE_Py_TapeSetIsEmpty, names.ops.get_default_graph)
        self._subjects: dict[Any, LateOpSubject] = {}
        self._dtypes: dict[int, LibraryDType] = {}
        self._copied = Copied()
        self._constants = ConstantCache(names)
        self._reasons: Reasons | None = None
        self._machine: object = None
        self._functions: FunctionCalls | None = None
        self._is_collecting = False
        self._due = 0
        """The event number after which collected graphs are taken over."""
        self.opaque: dict[str, str] = {}
        """Why the nodes of a called function are unknown, by the function's name."""
        self.opaque_calls = 0
        """The number of calls of such functions since the program began."""

    def begin(self) -> None:
        """Starts anew, because TensorFlow's devices may have changed."""
        self._subjects.clear()
        self._constants.begin()
        self._reasons = None

    def prepare(self, op_type: str = "", attributes: Sequence[Any] = ()) -> Sequence[Any]:
        """Collects the graphs of functions from now on, once TensorFlow has started its devices for the program.

        Returns:
          The attributes with which to run an op; those of a function may have to change for its graphs to be reported.
        """
        context = self._names.context.context()
        if not self._is_collecting and context._context_handle is not None:
            if self._functions is None or self._functions.context is not context:
                inside = inside_of(sys.modules["tensorflow"], context, self._reasons_now())
                self._functions = FunctionCalls(context, inside, self.origins.of_node)
            self._functions.begin()
            self._is_collecting = True
        if self._functions is not None and self._is_collecting and op_type.startswith(_FUNCTION):
            return self._functions.attributes_of(op_type, attributes)
        return attributes

    def end(self) -> None:
        """Releases what was kept."""
        self._copied = Copied()
        if self._functions is not None:
            self._is_collecting = False
            self._functions.end()  # what it knows is of use to the next watch

    def take(self, observers: Observers, call: Call, raw: Sequence[Any], result: Any, caller: Any) -> None:
        """Records an op that has ended.

        Args:
          observers: the observers.
          call: the call.
          raw: the program's arguments, whose conversion TensorFlow has not recorded; empty if it was done before.
          result: the results.
          caller: frame of the caller.
        """
        self._see_machine()
        tensor = self._tensor
        inputs = [each for each in call.inputs if each.__class__ is tensor]
        dtypes = tuple([each._datatype_enum() for each in inputs])
        follows = inputs[dtypes.index(_RESOURCE)].device if _RESOURCE in dtypes else ""
        if result.__class__ is tensor:
            device, outputs = result.device, (result._shape_tuple(), result._datatype_enum())
        else:
            device = result[0].device if result else follows
            outputs = _shapes_and_dtypes(result or ())
        replica = self.origins.replica() if call.requested else None
        call_site = self.origins.of(caller, replica)
        rows: list[Row] = []
        if raw and (fresh := [at for at, each in enumerate(inputs) if each._id > call.last_id]):
            rows += self._rows_of_conversions(fresh, inputs, raw, call, call_site)
            call.first = next_number()
        key = call.op_type, device, call.requested, follows, replica, dtypes, outputs
        subject = self._subjects.get(key) or self._new_subject(key, call)
        target = subject.device.name
        for at, each in enumerate(inputs):
            if each.backing_device != target:
                rows += self._rows_of_copy(at, each, target, call, call_site)
        rows.append((subject, next_number(), time(), call_site, call.first, call.began_at, call.seconds, None))
        if call.op_type.startswith(_FUNCTION):
            rows += self._rows_inside(call, inputs, call_site)
        for row in rows:
            observers.take(row)
        if call.first > self._due and self._functions is not None:
            self._due = call.first + _NUMBERS
            self._functions.collect()

    def _see_machine(self) -> None:
        """Forgets subjects if the names of devices may have changed."""
        if CURRENT.context.machine is not self._machine:
            self._machine = CURRENT.context.machine
            self._subjects.clear()

    def _rows_inside(self, call: Call, inputs: Sequence[Any], call_site: CallSite) -> Sequence[Row]:
        """Returns the rows of what a function has run; notes that it is unknown otherwise."""
        rows: Sequence[Row] = ()
        unknown = "TensorFlow had not started its devices."
        if self._functions is not None:
            with quiet():
                rows, unknown = self._functions.rows_of(call.op_type, inputs, call.requested, call_site)
        if unknown:
            self.opaque_calls += 1
            self.opaque[call.op_type] = unknown
        return rows

    def take_constant(
        self, observers: Observers, value: Any, dtype: Any, tensor: Any, began_at: float, caller: Any
    ) -> None:
        """Records a constant that the program has created of a value, unless TensorFlow has taken it from its cache."""
        requested = self._names.context.context().device_name or ""
        number = None if dtype is None else self._names.dtypes.as_dtype(dtype).as_datatype_enum
        if self._constants.is_new(value, number, requested):
            replica = self.origins.replica() if requested else None
            call_site = self.origins.of(caller, replica)
            observers.take(self._row_of(_CONSTANT, requested, "", tensor, began_at, call_site))

    def take_failure(
        self, observers: Observers, call: Call, error: BaseException, is_fallback: bool, caller: Any
    ) -> None:
        """Records an op that raised an error, and what TensorFlow had converted for it.

        Without a device in the error, TensorFlow had not placed the op. After a fallback the op runs again.
        """
        call_site = self.origins.of(caller, self.origins.replica() if call.requested else None)
        created = self._next_id() - call.last_id - 1
        for _, source in self._sources(call.inputs, created + len(call.inputs)):
            if created > 0 and not isinstance(source, self._tensor):
                created -= 1
                op_type = _READ if isinstance(source, self._variable) else _CONSTANT
                device = source.handle.device if op_type is _READ else call.requested
                self._take_bare(observers, op_type, device, call, next_number(), call_site, has_failed=False)
        match = _DEVICE_IN_ERROR.search(str(error))
        if not is_fallback and (match is not None or call.op_type.startswith(_FUNCTION)):
            device = match[1] if match is not None else call.requested
            self._take_bare(observers, call.op_type, device, call, next_number(), call_site, has_failed=True)

    def _take_bare(
        self,
        observers: Observers,
        op_type: str,
        device: str,
        call: Call,
        first: int,
        call_site: CallSite,
        has_failed: bool,
    ) -> None:
        """Records an op whose results are unknown."""
        name = device or self._device_names()[0]
        attributes = _attributes(call.attributes)
        requested, replica = call.requested, call_site[2].replica
        reason = self._reasons_now().of(op_type, attributes, name, requested=requested, replica=replica)
        library_device: Any = DEVICES.of(name)
        op: Any = LibraryOp(op_type)
        subject = LateOpSubject(op, library_device, reason, None if has_failed else library_device)
        seconds = nan if has_failed else 0.0
        observers.take((subject, next_number(), time(), call_site, first, call.began_at, seconds, None))

    def _rows_of_conversions(
        self, fresh: Sequence[int], inputs: Sequence[Any], raw: Sequence[Any], call: Call, call_site: CallSite
    ) -> list[Row]:
        """Returns the rows of inputs that TensorFlow itself has converted: constants, and variables that it read."""
        rows: list[Row] = []
        dtypes: list[int | None] = [
            each._datatype_enum() if each.__class__ is self._tensor else None for each in raw[3:]
        ]
        for at, (number, source) in enumerate(self._sources(raw[3:], len(inputs))):
            if at not in fresh:
                continue
            tensor = inputs[at]
            if isinstance(source, self._variable):
                handle = source.handle.device
                rows.append(self._row_of(_READ, call.requested, handle, tensor, call.began_at, call_site))
            else:
                requested_dtype = self._constants.requested_dtype(call.op_type, number, dtypes)
                if self._constants.is_new(source, requested_dtype, call.requested):
                    rows.append(self._row_of(_CONSTANT, call.requested, "", tensor, call.began_at, call_site))
            dtypes[number] = tensor._datatype_enum()
        return rows

    def _sources(self, arguments: Sequence[Any], count: int) -> list[tuple[int, Any]]:
        """Returns number and value of the argument behind each input; a list of tensors is several inputs."""
        sources: list[tuple[int, Any]] = []
        for number, each in enumerate(arguments):
            if each.__class__ in (list, tuple) and any(isinstance(inner, self._tensor) for inner in each):
                sources += [(number, inner) for inner in each]
            else:
                sources.append((number, each))
            if len(sources) >= count:
                break
        return sources

    def _row_of(
        self, op_type: str, requested: str, follows: str, tensor: Any, began_at: float, call_site: CallSite
    ) -> Row:
        dtype = tensor._datatype_enum()
        replica = call_site[2].replica
        key = op_type, tensor.device, requested, follows, replica, (dtype,), (tensor._shape_tuple(), dtype)
        first = next_number()
        call = Call(op_type, requested, (), ("T", dtype, "dtype", dtype), 0, first, began_at, 0.0)
        subject = self._subjects.get(key) or self._new_subject(key, call)
        return subject, next_number(), time(), call_site, first, began_at, 0.0, None

    def _new_subject(self, key: tuple[Any, ...], call: Call) -> LateOpSubject:
        if len(self._subjects) >= _REMEMBERED:
            self._subjects.clear()
        op_type, device, requested, follows, replica, _, (shapes, dtypes) = key
        attributes = _attributes(call.attributes)
        name = device or self._expected(op_type, attributes, requested)
        reason = self._reasons_now().of(
            op_type, attributes, name, requested=requested, replica=replica, follows=follows
        )
        op: Any = LibraryOp(op_type)
        library_device: Any = DEVICES.of(name)
        if dtypes.__class__ is tuple:
            outputs: Any = shapes, tuple([self._dtype(each) for each in dtypes])
        else:
            outputs = shapes, self._dtype(dtypes)
        subject = self._subjects[key] = LateOpSubject(op, library_device, reason, library_device, *outputs)
        return subject

    def _expected(self, op_type: str, attributes: dict[str, Any], requested: str) -> str:
        """Returns the device of an op without results and resources: the requested one if it has a kernel there."""
        types = self._reasons_now().registry.device_types(op_type, attributes)
        candidates = [requested] if requested else []
        candidates += self._device_names()
        return next((each for each in candidates if device_type(each) in types), candidates[-1])

    def _device_names(self) -> list[str]:
        """Returns TensorFlow's logical devices, GPUs first."""
        names = [device.name for device in self._names.context.context()._logical_devices or ()]
        full = [f"/job:localhost/replica:0/task:0{name}" if name.startswith("/device") else name for name in names]
        return sorted(full, key=lambda name: device_type(name) == "CPU")

    def _reasons_now(self) -> Reasons:
        if self._reasons is None:
            registry = KernelRegistry(self._names.kernels.get_registered_kernels_for_op, self._names.op_defs.get)
            self._reasons = Reasons(registry, self._device_names(), lambda number: self._dtype(number).name)
        return self._reasons

    def _dtype(self, number: int) -> LibraryDType:
        dtype = self._dtypes.get(number)
        if dtype is None:
            library_dtype = self._names.dtypes.as_dtype(number)
            itemsize = 0 if number in _HANDLES else library_dtype.size
            dtype = self._dtypes[number] = LibraryDType(library_dtype.name, itemsize or 0)
        return dtype

    def _rows_of_copy(self, at: int, tensor: Any, target: str, call: Call, call_site: CallSite) -> list[Row]:
        """Returns the row of an input that TensorFlow has copied to the op's device, unless it stays where it is."""
        source, dtype = tensor.backing_device, tensor._datatype_enum()
        if dtype in _HANDLES or source is None or call.op_type.startswith(_FUNCTION):
            return []  # a function reads its arguments where they are
        if device_type(source) == device_type(target) == "CPU" and dtype in _ON_HOST:
            return []
        if device_type(source) == "CPU" and device_type(target) != "CPU":
            registry = self._reasons_now().registry
            if at in registry.host_inputs(call.op_type, device_type(target), _attributes(call.attributes)):
                return []
        if not self._copied.is_new(tensor._id, target):
            return []
        nbytes = prod(tensor._shape_tuple()) * self._dtype(dtype).itemsize
        start: Any = DEVICES.of(source)
        end: Any = DEVICES.of(target)
        return [note_of_copy(start, end, "move", nbytes, 0.0, call_site)]


def _shapes_and_dtypes(results: Sequence[Any]) -> tuple[tuple[Any, ...], tuple[int, ...]]:
    return tuple([each._shape_tuple() for each in results]), tuple([each._datatype_enum() for each in results])


def _attributes(pairs: Sequence[Any]) -> dict[str, Any]:
    """Returns attributes by name, from names and values in turn."""
    return {str(name): value for name, value in zip(pairs[::2], pairs[1::2], strict=False)}


class Copied:
    """The latest copies. TensorFlow keeps a copy beside the tensor, so that the next op on that device copies nothing.

    In two generations, so that a loop does not fill memory.
    """

    __slots__ = ("_newer", "_older")

    _GENERATION = 100_000

    def __init__(self) -> None:
        """Starts without copies."""
        self._newer: set[tuple[int, str]] = set()
        self._older: set[tuple[int, str]] = set()

    def is_new(self, tensor: int, device: str) -> bool:
        """Returns whether a tensor, given by its number, is copied to a device for the first time; keeps the copy."""
        key = tensor, device
        if key in self._newer or key in self._older:
            return False
        self._newer.add(key)
        if len(self._newer) > self._GENERATION:
            self._older, self._newer = self._newer, set()
        return True
