"""The CPU: NumPy."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import partial
from typing import Any

import numpy as np

from nbtf._devices.base import Buffer, Device, Label, Spec, buffer_of
from nbtf._devices.freed_memory import keep_freed_memory
from nbtf._devices.names import LOCAL_TASK, full_name
from nbtf._devices.sites import CallSite, Site


class CPU(Device):
    """One logical CPU. All logical CPUs share the same cores and the same memory, as in TensorFlow.

    Its memory is not accounted, since NumPy and the operating system manage it. glibc keeps some of the freed memory.
    """

    type = "CPU"
    xp = np
    on_host = True

    def __init__(self, index: int, task: str = LOCAL_TASK) -> None:
        """Creates `CPU:index` of a process."""
        self.index, self.task = index, task
        self.name = full_name("CPU", index, task)
        self.constants = {}
        keep_freed_memory()

    def put(self, array: np.ndarray[Any, Any], label: Label | None = None) -> Buffer:
        """Copies a host array in."""
        return buffer_of(array.copy())

    def get(self, buffer: Buffer) -> np.ndarray[Any, Any]:
        """Copies a buffer out."""
        return buffer._array.copy()

    def copy_from(self, source: Device, buffer: Buffer, label: Label | None = None) -> Buffer:
        """Copies a buffer of another device to this one; CPUs share the array, which never changes."""
        return buffer_of(buffer._array if source.on_host else source.get(buffer))

    def run(
        self,
        op: Any,
        buffers: Sequence[Any],
        attrs: Mapping[str, Any],
        specs: Sequence[Spec] | None = None,
        site: Site | CallSite = None,
    ) -> list[Buffer]:
        """Runs a kernel with NumPy; like TensorFlow, it does not warn of overflow or division by zero.

        NumPy's warnings in kernels are switched off per module (see _ops/express.py). `errstate` costs as much as a
        small op, so it is used only if the user has turned these warnings into errors.
        """
        arrays = [b._array if b.__class__ is not list else [buffer._array for buffer in b] for b in buffers]
        try:
            results = getattr(np, op.function)(*arrays) if op.function else op.kernel(np, *arrays, **attrs)
        except (FloatingPointError, RuntimeWarning):
            with np.errstate(all="ignore"):
                results = op.kernel(np, *arrays, **attrs)
        if results.__class__ is np.ndarray:
            buffer = Buffer()  # `buffer_of` inlined for the most common case
            buffer._array = results
            return [buffer]
        if results.__class__ is tuple or results.__class__ is list:
            return [buffer_of(np.asarray(array)) for array in results]
        return [buffer_of(np.asarray(results))]

    def synchronize(self) -> None:
        """Does nothing: NumPy has finished when it returns."""

    def close(self) -> None:
        """Does nothing: a CPU has nothing to release."""


def bound(op: Any) -> Callable[..., Any]:
    """Returns an op's function, which takes NumPy arrays and attributes by position."""
    return getattr(np, op.function) if op.function else partial(op.kernel, np)
