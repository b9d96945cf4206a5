"""Records each PyTorch op below autograd, on the thread that runs it."""

from __future__ import annotations

import sys
from collections.abc import Callable, Generator, Iterator, Sequence
from contextlib import contextmanager
from time import perf_counter, time
from typing import Any, ClassVar, NamedTuple, cast

from nbtf._devices.sites import CallSite
from nbtf._frameworks.base import cautious
from nbtf._frameworks.devices import LibraryDType, LibraryOp
from nbtf._frameworks.torch.cards import CARDS
from nbtf._frameworks.torch.compiled_backward import BackwardCalls, tell_of_backward
from nbtf._frameworks.torch.modules import ModuleStack
from nbtf._frameworks.torch.operands import described
from nbtf._frameworks.torch.operators import (
    COMPOSITE,
    COPY,
    LIFT,
    PLAIN,
    READ,
    STEP_BEGINS,
    STEP_ENDS,
    Operator,
    operator_of,
)
from nbtf._frameworks.torch.origins import CompiledCall, Origins
from nbtf._record.events import Reason
from nbtf._record.listeners import Observers
from nbtf._record.rows import OpSubject, events_of_begin, next_number, note_of_copy, note_of_failure
from nbtf._runtime.context import CURRENT
from nbtf._runtime.placement import SEVERAL_DEVICES

_REMEMBERED = 4096
_STEP_NAME = "Optimizer.step#"
"""The name of a step in `torch.optim.Optimizer.profile_hook_step`."""


class Recording:
    """Whether ops are recorded, for the whole process."""

    def __init__(self) -> None:
        """Creates it without observers."""
        self.wanted = 0
        """The number of observers that want ops recorded."""
        self.hooks: list[Callable[[], object]] = []
        """Functions that remove the module hooks and similar."""
        self.begin_card: Callable[[], Callable[[], object]] | None = None
        """A function called at the first op on a card; it returns one that undoes it."""


RECORDING = Recording()

_REGION = Operator(LibraryOp("torch.compile"), PLAIN)


class Hearing:
    """Observes the ops of a thread as a mode of the PyTorch dispatcher; records them while `RECORDING` is wanted."""

    supports_higher_order_operators: ClassVar[bool] = True

    def __init__(self, torch: Any, can_note: bool) -> None:
        """Stores PyTorch's module, and whether this release exposes what a record needs."""
        super().__init__()
        self.users = 0
        self.heard = self.unrecorded = 0
        """The numbers of ops, and of unrecorded ops."""
        self.modules = ModuleStack()
        self.regions: list[Any] = []
        """The running calls of compiled functions; the ops inside are not recorded separately."""
        self.is_entering = False
        self.backward: BackwardCalls = BackwardCalls(torch, self.note_compiled)
        """The running backward passes of such calls."""
        self.call_site: CallSite | None = None
        """The code line of the running op."""
        self.modelled = 0.0
        """Modelled seconds on simulated cards since the last record."""
        self.origins: Any = Origins(torch, self.modules) if can_note else None
        self.torch, self._tensor = torch, torch.Tensor
        self._operators: dict[Any, Operator] = {}
        self._subjects: dict[Any, OpSubject] = {}
        self._dtypes: dict[Any, LibraryDType] = {}
        self._machine: object = None
        self._device: Any = None
        self._last_on: dict[str, int] = {}

    @classmethod
    def _should_skip_dynamo(cls) -> bool:
        return False  # otherwise each op takes twice as long

    @classmethod
    def ignore_compile_internals(cls) -> bool:
        """Lets PyTorch compile as requested, although an observer is active."""
        return True

    def device_types_since(self, op_count: int) -> set[str]:
        """Returns the device types of the ops after the first `op_count`."""
        types = {device_type for device_type, last in self._last_on.items() if last > op_count}
        return types | ({self._device.type} if self._device is not None and self.heard > op_count else set())

    def forget_interrupted(self) -> None:
        """Releases what an interrupt cut short; otherwise modules would stay alive with all their weights."""
        self.regions.clear()
        self.backward.clear()
        if self.origins is not None:
            self.origins.begin()

    def __torch_dispatch__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        """Runs and records an op."""
        kwargs = kwargs or {}
        observers = self._observers()
        if observers is None:
            return self._only_count(func, args, kwargs)
        operator = self._operators.get(func) or self._learn(func)
        if operator.action < PLAIN or self.regions:
            return self._run_aside(operator, func, args, kwargs)
        call_site, reason = self.origins.of(operator, args, kwargs, sys._getframe(1))
        if self.backward.has(self.origins):
            return self.backward.run(self.origins.compiled_call, func, args, kwargs)
        start = call_site, next_number(), time(), None
        if observers.functions:
            card = self._expected(args, kwargs)
            observers.tell(events_of_begin(cast("Any", operator.op), card, reason, start))
        self.call_site, self.modelled, started = call_site, 0.0, perf_counter()
        try:
            result = func(*args, **kwargs)
        except BaseException:
            odd = self._odd_operand(func, args, kwargs)
            reason = Reason(SEVERAL_DEVICES, odd) if odd else reason
            self._note_failure(observers, operator, reason, start, args, kwargs)
            raise
        finally:
            self.call_site = None
        seconds = perf_counter() - started
        self.heard += 1
        if result.__class__ is self._tensor:
            device = result.device
            if device != self._device:
                self._see(device)
            key = func, reason, device, result.shape, result.dtype
        else:
            key = self._key(func, reason, args, result)
        if operator.action > PLAIN:
            seconds = self._note_copy(observers, operator, args, result, key, seconds, call_site)
        key, self.modelled = (*key, self.modelled), 0.0
        subject = self._subjects.get(key) or self._new_subject(operator, key)
        observers.take((subject, next_number(), time(), call_site, start[1], start[2], seconds, None))
        return result

    def call_site_here(self) -> CallSite | None:
        """Returns the code line of an allocation: that of the running op, or of a function that consists of ops."""
        if self.call_site is not None or not RECORDING.wanted or self.origins is None:
            return self.call_site
        return self.origins.of_layer(sys._getframe(1))

    def _observers(self) -> Observers | None:
        """Returns the observers of an op; None to count it only. Ops of an observer itself are not observed."""
        context = CURRENT.context
        observers = context.observers
        if not RECORDING.wanted or not observers.takers or (observers.functions and observers.telling):
            return None
        if context.machine is not self._machine:  # device names may have changed
            self._machine = context.machine
            self._subjects.clear()
        return observers

    def _note_failure(
        self, observers: Observers, operator: Operator, reason: Reason, start: Any, args: Any, kwargs: Any
    ) -> None:
        card = self._expected(args, kwargs)
        observers.take(note_of_failure(cast("Any", operator.op), card, reason, start))

    @cautious(lambda: "")
    def _odd_operand(self, func: Any, args: Any, kwargs: Any) -> str:
        """Returns an operand that is not on the op's device, as `operands.py` describes it: `b on CPU:0`.

        Empty if there is none. Scalars on the CPU may be combined with any device.
        """
        names = [argument.name for argument in func._schema.arguments]
        named = [*zip(names, args, strict=False), *kwargs.items()]
        operands = [(name, tensor) for name, value in named for tensor in self._tensors([value])]
        operands = [(name, tensor) for name, tensor in operands if tensor.dim() or tensor.device.type != "cpu"]
        card = self._expected([tensor for _, tensor in operands], {}).name
        for name, tensor in operands:
            if CARDS.of(tensor.device).name != card:
                return described(tensor, self._tensor, name, sys._getframe(1))
        return ""

    def note_region(self, region: Any) -> None:
        """Records the call of a compiled function that has ended; its return values are the results."""
        observers = self._observers()
        if observers is None:
            self.heard += 1
            self.unrecorded += 1
            return
        seconds = perf_counter() - region.started
        self.heard += 1
        names = region.frame.f_locals
        function, result = names.get("fn"), names.get("result")
        name = getattr(function, "__qualname__", type(function).__name__)
        call_site, reason = self.origins.of_region(region.frame.f_back, region.following, name)
        begin = call_site, region.first, region.began_at, None
        if "result" not in region.frame.f_locals:  # without a result, the call raised an error
            self._note_failure(observers, _REGION, reason, begin, (), {})
            return
        results = _results(result)
        self._take_compiled(observers, reason, begin, seconds, results)
        tell_of_backward(self.torch, results)

    def note_compiled(self, call: CompiledCall, began_at: float, seconds: float, results: Any) -> None:
        """Records the backward pass of a call of a compiled function, which has ended."""
        self.heard += 1
        observers = self._observers()
        if observers is None:
            self.unrecorded += 1
            return
        begin = call.call_site, next_number(), began_at, None
        self._take_compiled(observers, call.reason, begin, seconds, _results(results))

    def _take_compiled(
        self, observers: Observers, reason: Reason, begin: Any, seconds: float, results: Sequence[Any]
    ) -> None:
        call_site, first, began_at, _ = begin
        key = _REGION, *self._key(func="", reason=reason, args=(), result=results)[1:], self.modelled
        subject = self._subjects.get(key) or self._new_subject(_REGION, key)
        observers.take((subject, next_number(), time(), call_site, first, began_at, seconds, None))

    def note_transfer(self, source: Any, target: Any, nbytes: int) -> None:
        """Records a copy that the running op makes between a simulated card and the host."""
        observers = self._observers()
        if observers is not None and self.call_site is not None:
            start, end = cast("Any", CARDS.of(source)), cast("Any", CARDS.of(target))
            copy_kind = "read" if target.type == "cpu" else "move"
            observers.take(note_of_copy(start, end, copy_kind, nbytes, 0.0, self.call_site))

    def run_whole(self, name: str, run: Callable[[], Any], tensors: Sequence[Any]) -> Any:
        """Runs a function that a card would run as one op, and records it as one op, without the ops inside."""
        whole_op = _WholeOp(name)
        self._operators.setdefault(whole_op, Operator(LibraryOp(name), PLAIN))

        def run_aside() -> Any:
            with self.aside():
                return run()

        return self.__torch_dispatch__(whole_op, (), (run_aside, tensors))

    @contextmanager
    def aside(self) -> Generator[None]:
        """Treats the ops inside as part of the surrounding op."""
        region = object()
        self.regions.append(region)
        try:
            yield
        finally:
            if region in self.regions:  # an interrupt may have cleared the list
                self.regions.remove(region)

    def _only_count(self, func: Any, args: Any, kwargs: Any) -> Any:
        result = func(*args, **kwargs)
        self.heard += 1
        self.unrecorded += 1
        device = getattr(result, "device", None)
        if device is not None and device != self._device:
            self._see(device)
        return result

    def _see(self, device: Any) -> None:
        if self._device is not None:
            self._last_on[self._device.type] = self.heard - 1
        self._device = device
        if device.type == "cuda" and RECORDING.begin_card is not None:
            begin_card, RECORDING.begin_card = RECORDING.begin_card, None
            RECORDING.hooks.append(begin_card())

    def _learn(self, func: Any) -> Operator:
        operator = self._operators[func] = operator_of(self.torch, func)
        return operator

    def _run_aside(self, operator: Operator, func: Any, args: Any, kwargs: Any) -> Any:
        """Runs calls that are not ops: optimizer steps, queries, functions of several ops, compiled functions."""
        if operator.action == COMPOSITE and not self.regions:  # inference mode does not split such a call into ops
            with self:  # pyright: ignore[reportGeneralTypeIssues]  # it is a mode
                result = func.decompose(*args, **kwargs)
            return func(*args, **kwargs) if result is NotImplemented else result
        result = func(*args, **kwargs)
        if operator.action == STEP_BEGINS:
            self.origins.marks.begin(str(args[0]).startswith(_STEP_NAME))
        elif operator.action == STEP_ENDS:
            self.origins.marks.end()
        return result

    def _expected(self, args: Any, kwargs: Any) -> Any:
        """Returns the device where an op is about to run: the requested one, or that of an input, cards first."""
        device = kwargs.get("device")
        if device is None:
            devices = [tensor.device for tensor in self._tensors(args)]
            device = next(
                (each for each in devices if each.type != "cpu"), devices[0] if devices else self.torch.device("cpu")
            )
        return CARDS.of(device)

    def _tensors(self, values: Any) -> Iterator[Any]:
        """Yields the tensors among values, including those in lists."""
        for value in values:
            if isinstance(value, self._tensor):
                yield value
            elif value.__class__ in (list, tuple):
                yield from (inner for inner in value if isinstance(inner, self._tensor))

    def _key(self, func: Any, reason: Reason, args: Any, result: Any) -> tuple[Any, ...]:
        """Returns the key of ops with equal records, for an op whose result is not a plain tensor."""
        with self.torch._C.DisableTorchFunctionSubclass():
            results = [*self._tensors([result])]
            first = next(iter(results), None)
            if first is None:
                first = next(self._tensors(args), None)
            device = self.torch.device("cpu") if first is None else first.device
            if device != self._device:
                self._see(device)
            shapes, dtypes = tuple([each.shape for each in results]), tuple([each.dtype for each in results])
        if isinstance(result, self._tensor):
            return func, reason, device, shapes[0], dtypes[0]
        return func, reason, device, shapes, dtypes

    def _new_subject(self, operator: Operator, key: tuple[Any, ...]) -> OpSubject:
        if len(self._subjects) >= _REMEMBERED:
            self._subjects.clear()
        _, reason, device, shapes, dtypes, modelled = key
        card: Any = CARDS.of(device)
        if isinstance(dtypes, tuple):
            outputs = tuple([tuple(shape) for shape in shapes]), tuple(map(_dtype, cast("tuple[Any, ...]", dtypes)))
        else:
            outputs = tuple(shapes), _dtype(dtypes)
        op: Any = operator.op._replace(seconds=modelled) if card.models_time else operator.op
        inputs = () if card.models_time else None
        subject = self._subjects[key] = OpSubject(op, card, reason, card, *outputs, inputs)
        return subject

    def _note_copy(
        self,
        observers: Observers,
        operator: Operator,
        args: Any,
        result: Any,
        key: tuple[Any, ...],
        seconds: float,
        call_site: CallSite,
    ) -> float:
        """Records an op's copies between devices; returns the remaining seconds of the op itself."""
        tensor, host = next(self._tensors(args), None), self.torch.device("cpu")
        if operator.action == LIFT:
            source, target, copy_kind = host, key[2], "upload"
        elif operator.action == READ:
            source, target, copy_kind = key[2], host, "read"
        else:
            tensor = args[1] if operator.op.type == "aten::copy_" else tensor
            source, target = cast("Any", tensor).device, key[2]
            copy_kind = "read" if target.type == "cpu" else "move"
        if source == target:
            return seconds
        tensors = {source.type: tensor, target.type: args[0] if operator.op.type == "aten::copy_" else result}
        pinned = _is_pinned(tensors.get("cpu")) if operator.action == COPY else None
        start: Any = CARDS.of(source)
        end: Any = CARDS.of(target)
        nbytes = _nbytes(tensor, operator)
        observers.take(note_of_copy(start, end, copy_kind, nbytes, seconds, call_site, pinned))
        return 0.0


class _WholeOp(NamedTuple):
    """An op, given by its name, that PyTorch itself does not define."""

    name: str

    def __call__(self, run: Callable[[], Any], tensors: Sequence[Any]) -> Any:
        """Runs it."""
        return run()


def _results(value: Any) -> list[Any]:
    """Returns the results of a function, possibly nested in lists and dictionaries, as a flat list."""
    if isinstance(value, dict):
        value = [*cast("dict[Any, Any]", value).values()]
    if isinstance(value, list | tuple):
        return [leaf for element in cast("list[Any]", value) for leaf in _results(element)]
    return [value]


@cautious(lambda: None)
def _is_pinned(tensor: Any) -> bool | None:
    return None if tensor is None else bool(tensor.is_pinned())


def _nbytes(tensor: Any, operator: Operator) -> int:
    """Returns the number of bytes of a tensor that an op copies; reading a number copies at most one item."""
    if operator.op.type == "aten::_local_scalar_dense":
        return int(tensor.element_size())
    return 1 if operator.action == READ else int(tensor.numel() * tensor.element_size())


_DTYPES: dict[Any, LibraryDType] = {}


def _dtype(dtype: Any) -> LibraryDType:
    own_dtype = _DTYPES.get(dtype)
    if own_dtype is None:
        own_dtype = _DTYPES[dtype] = LibraryDType(str(dtype).removeprefix("torch."), dtype.itemsize)
    return own_dtype
