"""Conversion of Python values and arrays to tensors."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from math import nan
from types import MappingProxyType
from typing import Any, NamedTuple

import numpy as np

from nbtf._devices.base import Device, Label, buffer_of, label_of
from nbtf._devices.sites import CallSite, find_call_site
from nbtf._record.events import Reason
from nbtf._record.rows import Begun, next_number, note_of_copy, subject_of_op
from nbtf._runtime.blocks import current_scope
from nbtf._runtime.context import CURRENT, Context
from nbtf._runtime.copying import copied_to
from nbtf._runtime.decisions import remember, request_key
from nbtf._runtime.host_values import DEFAULT_OF, host_array, leaf_types, list_as_array
from nbtf._runtime.phases import part_of
from nbtf._runtime.reporting import begin, give_up, take_note
from nbtf._runtime.scopes import HERE, SCOPE, Scope
from nbtf._runtime.tensor import Tensor, Unpickler, tensor_of
from nbtf._types import HOST_DTYPES, DType, string


class EagerConst:
    """The op that the log shows when a value becomes a tensor."""

    type = "_EagerConst"
    kernel: Any = None
    function: str | None = None
    host_inputs: Mapping[str, Any] = MappingProxyType({})
    shares_memory = True
    """The copy to a device allocates the memory; the op itself allocates nothing."""

    def has_kernel(self, device_type: str, dtypes: Sequence[DType]) -> bool:
        """Returns True: values can be put on any device; strings and int32 stay in host memory."""
        return True

    def is_given_values(self, inputs: Sequence[Any]) -> bool:
        """Returns False: the op has no inputs."""
        return False


EAGER_CONST = EagerConst()
PLAIN = frozenset(DEFAULT_OF)
_READ_AT_ONCE = {python_type: dtype for python_type, dtype in DEFAULT_OF.items() if dtype is not string}
"""The common case of `list_as_array`: numbers of one kind, without a requested dtype."""


class NotYetError(ValueError):
    """Raised when a value does not exist yet, because it stands for a tensor of a model under construction.

    An op on such values is handed to `step`, which records it; anywhere else the value is an error.
    """

    def step(self, op: Any, inputs: Any, attrs: dict[str, Any]) -> Any:
        """Returns the placeholder for the op's results."""
        raise NotImplementedError


class Packer:
    """The function that packs a list of tensors; its op sets it, because that op is on a floor above this one."""

    pack: Callable[[Any, DType | None], Tensor]


def as_tensor(value: Any, dtype: DType | None = None) -> Tensor:
    """Returns a tensor of a value; a tensor is returned unchanged, on its own device.

    Args:
      value: a tensor, a variable, a number, a string, nested lists of these, or anything NumPy can read.
      dtype: the required dtype; None uses the value's own.

    Raises:
      ValueError: if lists are ragged or mixed, values are not numbers, or a tensor has another dtype.
      TypeError: if a Python value does not fit `dtype`.
    """
    value_type = value.__class__
    if value_type is float or value_type is int:
        return _number(value, dtype)
    if value_type is Tensor:
        if dtype is not None and value._dtype is not dtype:
            raise ValueError(
                f"Tensor conversion requested dtype {dtype.name} for Tensor with dtype {value._dtype.name}: {value!r}"
            )
        return value
    if value_type is list or value_type is tuple:
        return list_as_tensor(value, dtype)
    convert = getattr(value, "__tf_tensor__", None)
    if convert is not None:
        return convert(dtype)
    if value_type not in _ON_THE_HOST and _is_on_gpu(value):
        return _from_gpu(value, dtype)
    array, array_dtype = host_array(value, dtype)
    return constant_of(array, array_dtype, value, dtype)


Unpickler.as_tensor = as_tensor

_ON_THE_HOST = frozenset({int, float, bool, str, bytes, np.ndarray, np.float32, np.float64, np.int64})
"""Kinds of values that are known to be in host memory."""


def _is_on_gpu(value: Any) -> bool:
    """Returns whether a value is an array of another library that is stored on a real GPU."""
    if isinstance(value, type):
        return False
    if hasattr(value, "__cuda_array_interface__"):
        return True
    return hasattr(value, "__dlpack_device__") and value.__dlpack_device__()[0] in (2, 13)  # see exchange.py


def _from_gpu(value: Any, dtype: DType | None) -> Tensor:
    """Returns a copy of another library's GPU array; on the same GPU unless a scope requests another device."""
    from nbtf._runtime.exchange import copied

    buffer, array_dtype, device = copied(value)
    if dtype is not None and dtype is not array_dtype:
        raise ValueError(f"Tensor conversion requested dtype {dtype.name} for an array with dtype {array_dtype.name}")
    scope = SCOPE() and current_scope()
    target = device if scope is None else CURRENT.context.place_op(EAGER_CONST, (array_dtype,), None, scope)[0]
    return copied_to(tensor_of(buffer, array_dtype, device), target)


def list_as_tensor(value: Any, dtype: DType | None) -> Tensor:
    """Returns a tensor of nested lists, which may contain tensors."""
    types = leaf_types(value)
    if dtype is None and len(types) == 1:
        (leaf_type,) = types
        natural = _READ_AT_ONCE.get(leaf_type)
        if natural is not None:
            try:
                return constant_of(np.array(value, natural.np_dtype), natural)
            except (ArithmeticError, ValueError, RuntimeWarning):
                pass  # below, the list is read as int64 or raises a clear error
    if not types <= PLAIN and _dtype_of_tensor_in(value) is not None:
        return Packer.pack(value, dtype)
    return constant_of(*list_as_array(value, types, dtype))


def constant_of(array: np.ndarray[Any, Any], dtype: DType, value: Any = None, requested: DType | None = None) -> Tensor:
    """Returns a tensor of a host array that nothing else will change, on the device where constants go now.

    Args:
      array: the values.
      dtype: their dtype.
      value: the Python value they came from; listeners are notified of each number once per device.
      requested: the dtype the program requested.
    """
    scope = SCOPE()
    device = HERE.device
    if device is not None and (scope is None or scope.lane is device):
        tensor = Tensor()
        tensor._array = array
        tensor._dtype = dtype
        tensor._device = device
        tensor._watch = None
        return tensor
    if scope is not None:
        scope = current_scope()
        if scope is not None and scope.graph is not None:
            return scope.graph.constant(array, dtype, value, requested)
    return _placed(_decided(array, dtype, value, requested, scope), scope)


class _Number(NamedTuple):
    """What is decided about a Python number that becomes a tensor."""

    array: np.ndarray[Any, Any]
    dtype: DType
    device: Device
    reason: Reason
    key: Any
    """The key under which listeners are notified of it once."""
    label: Label
    """The purpose of its memory while nothing listens."""
    is_copied: bool
    """Whether the device copies the array; if not, the program may write into what it gets."""


def _decided(array: Any, dtype: DType, value: Any, requested: DType | None, scope: Scope | None) -> _Number:
    context = CURRENT.context
    device, reason = context.place_op(EAGER_CONST, (dtype,), None, scope)
    key = context.constants.key(value, requested, device, scope)
    label = Label(EAGER_CONST.type, dtype.name, array.shape)
    return _Number(array, dtype, device, reason, key, label, not device.on_host and dtype not in HOST_DTYPES)


def _number(value: float, requested: DType | None) -> Tensor:
    """Returns a tensor of a Python number; what is decided about it is remembered, as for an op."""
    scope = SCOPE()
    if scope is not None:
        scope = current_scope()
        if scope is not None and (scope.graph is not None or scope.placed is not None):
            return constant_of(*host_array(value, requested), value, requested)
    context = CURRENT.context
    decisions = context.decisions  # read first, so that a stale decision goes into a discarded dictionary
    key: Any = value.__class__, value or str(value), requested  # 0.0 equals -0.0, so zeros are compared as text
    if scope is not None or context.device_scopes.cells:
        key += request_key(context, scope)
    number = decisions.get(key)
    if number is None:
        number = _decided(*host_array(value, requested), value, requested, scope)
        remember(decisions, key, number)
    if number.is_copied:
        if not context.watched:
            return tensor_of(number.device.put(number.array, number.label), number.dtype, number.device)
        return _placed(number, scope)
    array = number.array.copy()
    if number.device is HERE.device:
        return tensor_of(buffer_of(array), number.dtype, number.device)
    return _placed(number._replace(array=array), scope)


def _placed(number: _Number, scope: Scope | None) -> Tensor:
    """Puts a constant where placement decides; observers record `_EagerConst`, unless the scope is plain CPU:0."""
    context, (array, dtype, device, reason, key, *_) = CURRENT.context, number
    silent = scope is not None and scope.request is not None and scope.request.name == context.host.name
    observed = context.watched and not silent and not (context.observers.functions and context.observers.telling)
    if key is None or not observed:
        return put_constant(EAGER_CONST, array, dtype, device, reason, scope, observed)
    events = [next_number()]
    try:
        first = context.constants.claim(key, events[0])
        tensor = put_constant(EAGER_CONST, array, dtype, device, reason, scope, first == events[0])
        if first == events[0]:
            context.constants.settle(key, tensor._seq)
        else:
            tensor._seq = first
    except BaseException:
        context.constants.forget(events)
        raise
    return tensor


_FRAMES = 3
"""Stack frames from `put_constant` up to the caller of `constant_of` or `as_tensor`, all of which belong to nbtf."""


def put_constant(
    op: EagerConst,
    array: np.ndarray[Any, Any],
    dtype: DType,
    device: Device,
    reason: Reason,
    scope: Scope | None,
    observed: bool,
) -> Tensor:
    """Puts a constant on a device.

    Args:
      op: the op that the event names.
      array: the values, which nothing else will change.
      dtype: their dtype.
      device: the target device.
      reason: why that device was chosen.
      scope: the open scope.
      observed: whether listeners are notified; they always are of a copy to a GPU.
    """
    context = CURRENT.context
    host = dtype in HOST_DTYPES and device is not context.host
    copied = not host and not device.on_host
    start = begin(context, op, device, reason, scope, {}, 0) if observed else None
    call_site = start[0] if start is not None else None
    if copied and not observed and context.observers.listening:
        call_site = find_call_site(part_of(scope), _FRAMES)
    try:
        tensor = _put(op, array, dtype, device, host, call_site)
    except BaseException:
        give_up(context, op, device, reason, start)
        raise
    if copied and call_site is not None:
        context.observers.take(note_of_copy(context.host, device, "upload", array.nbytes, 0.0, call_site))
    if start is not None:
        _tell(context, op, tensor, reason, start)
    return tensor


def tell_of_constant(op: EagerConst, tensor: Tensor, reason: Reason, scope: Scope | None) -> None:
    """Notifies listeners that a constant already on its device was used again."""
    context = CURRENT.context
    start = begin(context, op, tensor._device, reason, scope, {}, 0)
    if start is not None:
        _tell(context, op, tensor, reason, start)


def _put(
    op: EagerConst, array: np.ndarray[Any, Any], dtype: DType, device: Device, host: bool, call_site: CallSite | None
) -> Tensor:
    if host or device.on_host:
        tensor = Tensor()
        tensor._array = array
        tensor._dtype = dtype
        tensor._device = device
        tensor._watch = None
        if host:
            tensor._host = True
        return tensor
    return tensor_of(device.put(array, label_of(op.type, dtype.name, array.shape, call_site)), dtype, device)


def _tell(context: Context, op: EagerConst, tensor: Tensor, reason: Reason, start: Begun) -> None:
    device = tensor._device
    placed = device, (context.host if tensor._host else device), reason
    subject = subject_of_op(op, placed, (tensor,), ((), ()))
    take_note(context.observers, subject, start, (tensor,), nan if placed[1].models_time else 0.0)


def _dtype_of_tensor_in(value: Any) -> DType | None:
    """Returns the dtype of the first tensor or variable in nested lists, which the numbers adopt; None without one."""
    for item in value:
        item_type = item.__class__
        if item_type in DEFAULT_OF:
            continue
        if item_type is Tensor or hasattr(item_type, "__tf_tensor__"):
            return item.dtype
        item_dtype = _dtype_of_tensor_in(item) if item_type is list or item_type is tuple else None
        if item_dtype is not None:
            return item_dtype
    return None
