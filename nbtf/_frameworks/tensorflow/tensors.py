"""TensorFlow's tensors and variables, as memory views see them."""

from __future__ import annotations

import ctypes
import gc
import sys
from bisect import bisect_right
from collections.abc import Callable, Collection, Generator, Sequence
from contextlib import contextmanager
from typing import Any, NamedTuple

from nbtf._frameworks.base import UNCOUNTED, Arrays, Kept, cautious
from nbtf._frameworks.tensorflow.quiet import quiet
from nbtf._frameworks.tensorflow.tapes import kept_by_tapes
from nbtf._locks import computed_once
from nbtf._runtime.holding import Holding

ROUNDING = 256
"""TensorFlow allocates memory of GPUs in multiples of this number of bytes.

Source: `kMinAllocationSize` in tensorflow/core/common_runtime/bfc_allocator.h.
"""

CardOf = Callable[[str], int | None]
"""Returns the CUDA number of the card of a device, given its full name; None for a device without a card."""


def tensors_of(library: str, tf: Any, card_of: CardOf) -> Arrays:
    """Returns the description of tensors, given the name and module of TensorFlow.

    A variable's memory belongs to its resource handle, which is a tensor: functions that use the variable keep the
    handle, whether the variable exists or not.
    """
    buffers = _Buffers(tf, card_of)

    def holding(value: Any) -> Holding | None:
        return buffers.holding(_handle_of(value))

    @cautious(lambda: "")
    def describe(value: Any) -> str:
        tensor: Any = _handle_of(value)
        form: Any = _variable_form(tf, tensor) if tensor.dtype == tf.resource else (tensor.shape, tensor.dtype)
        shape, dtype = form
        return f"{shape.as_list()} {dtype.name}"

    def is_variable(tensor: Any) -> bool:
        return bool(tensor.dtype == tf.resource)

    def is_pythons(tensors: Sequence[Any], held_elsewhere: int = 0) -> bool:
        return buffers.are_pythons(tensors)

    def taped(listed: Collection[tuple[str, int, int]]) -> Kept | None:
        return kept_by_tapes(buffers.live_tensors(), buffers.holding, listed)

    return Arrays(
        library,
        tf.__internal__.EagerTensor,
        holding,
        describe,
        is_pythons=is_pythons,
        taped=taped,
        is_variable=is_variable,
        variables=_variable_classes(tf),
    )


def _variable_classes(tf: Any) -> tuple[type, ...]:
    of_keras = getattr(sys.modules.get("keras"), "Variable", None)  # missing during the import of Keras
    return (tf.Variable,) if of_keras is None else (tf.Variable, of_keras)


@cautious(lambda: None)
def _handle_of(value: Any) -> Any:
    """Returns the tensor that represents a tensor or variable; for a mirrored variable, that of this replica."""
    value = getattr(value, "_value", value) if type(value).__module__.startswith("keras.") else value
    return getattr(value, "handle", value)


@cautious(lambda: (None, None))
def _variable_form(tf: Any, handle: Any) -> tuple[Any, Any]:
    """Returns shape and dtype of the variable behind a handle; None for other resources."""
    (form,) = handle._handle_data.shape_and_type
    return tf.TensorShape(form.shape), tf.as_dtype(form.dtype)


class _Buffer(NamedTuple):
    """A piece of a card's memory that tensors share: its card, first address, end, and number of tensors."""

    card: int
    start: int
    end: int
    sharers: int

    @property
    def holding(self) -> Holding:
        """The piece as memory views see it."""
        nbytes = self.end - self.start
        return Holding(f"cuda:{self.card}", 0, self.start, -(-nbytes // ROUNDING) * ROUNDING, nbytes, self.sharers)


class _Buffers:
    """The memory of all tensors of this process at one moment.

    TensorFlow reports neither a buffer's size nor how many tensors share it. So tensors whose addresses overlap, such
    as slices, are counted as sharers of one buffer.
    """

    def __init__(self, tf: Any, card_of: CardOf) -> None:
        self._tf, self._card_of = tf, card_of
        self._tensor_class: type = tf.__internal__.EagerTensor

    def holding(self, tensor: Any) -> Holding | None:
        """Returns the piece that a tensor or handle holds; None if it holds no memory of a card."""
        buffer = self._of(tensor)
        if buffer is None:
            return None
        index = bisect_right(self._shared, (buffer.card, buffer.start, sys.maxsize)) - 1
        shared = self._shared[index] if index >= 0 else None
        if shared is not None and shared.card == buffer.card and shared.start <= buffer.start < shared.end:
            return shared.holding
        return buffer.holding  # the tensor was created after the others were counted

    @computed_once
    def _shared(self) -> list[_Buffer]:
        """All buffers, by card and address."""
        shared: list[_Buffer] = []
        for buffer in sorted(buffer for buffer in map(self._of, self.live_tensors()) if buffer is not None):
            last = shared[-1] if shared else None
            if last is not None and last.card == buffer.card and buffer.start < last.end:
                shared[-1] = last._replace(end=max(last.end, buffer.end), sharers=last.sharers + 1)
            else:
                shared.append(buffer._replace(sharers=1))
        return shared

    def live_tensors(self) -> list[Any]:
        """Returns all tensors of this process. The list keeps them alive: use it at once, and drop it."""
        return [obj for obj in gc.get_objects() if type(obj) is self._tensor_class]

    def are_pythons(self, tensors: Sequence[Any]) -> bool:
        """Returns whether only the given tensors hold the memory that they share, as far as TensorFlow reveals it."""
        holding = self.holding(tensors[0])
        return holding is not None and holding.sharers == len(tensors) and holding.device not in self._hiding

    @computed_once
    def _hiding(self) -> set[str]:
        """The cards with tensors that may hold other tensors where Python cannot see them, such as lists of tensors."""
        variants = [tensor for tensor in self.live_tensors() if tensor.dtype == self._tf.variant]
        cards = [self._card_of(tensor.backing_device) for tensor in variants]
        return {f"cuda:{card}" for card in cards if card is not None}

    @cautious(lambda: None)  # the variable may be uninitialized, the op of the tensor may have failed
    def _of(self, tensor: Any) -> _Buffer | None:
        """Returns the memory of one tensor, or of the variable behind a handle."""
        if type(tensor) is not self._tensor_class:
            return None
        if tensor.dtype != self._tf.resource:
            card = self._card_of(tensor.backing_device)
            return None if card is None else self._measured(card, tensor)
        _, dtype = _variable_form(self._tf, tensor)
        card = None if dtype is None else self._card_of(tensor.device)
        if card is None:
            return None
        with _unobserved(self._tf):
            self._tf.raw_ops.DisableCopyOnRead(resource=tensor)  # otherwise the next op may copy the value
            return self._measured(card, self._tf.raw_ops.ReadVariableOp(resource=tensor, dtype=dtype))

    def _measured(self, card: int, tensor: Any) -> _Buffer | None:
        if tensor.dtype in (self._tf.string, self._tf.variant, self._tf.resource):
            return None  # these consist of objects: asking for their address would end the process
        address, nbytes = _address(self._tf, tensor), tensor._num_elements() * tensor.dtype.size
        return _Buffer(card, address, address + nbytes, UNCOUNTED) if address and nbytes else None


_POINTER = ctypes.PYFUNCTYPE(ctypes.c_void_p, ctypes.py_object, ctypes.c_char_p)(
    ("PyCapsule_GetPointer", ctypes.pythonapi)
)


def _address(tf: Any, tensor: Any) -> int | None:
    """Returns the address of a tensor's data: the first field of the structure that DLPack exchanges."""
    capsule = tf.experimental.dlpack.to_dlpack(tensor)
    return ctypes.c_void_p.from_address(_POINTER(capsule, b"dltensor")).value


@contextmanager
def _unobserved(tf: Any) -> Generator[None]:
    """Runs ops that no tape or callback of this thread records, and no log unless it was on before the first op."""
    context = sys.modules["tensorflow.python.eager.context"].context()
    callbacks, log = [*context.op_callbacks], context.log_device_placement
    with quiet(), tf.init_scope():  # pauses tapes, and leaves the graph of a function that is being traced
        try:
            context.op_callbacks.clear()
            if log:
                context.log_device_placement = False
            yield
        finally:
            context.op_callbacks[:] = callbacks
            if log:
                context.log_device_placement = True
