"""Stage 12: do tensors share memory on the card with CuPy, PyTorch and JAX?"""

from __future__ import annotations

import gc
import importlib
from typing import Any

import numpy as np

import nbtf as tf
from nbtf.experimental.dlpack import from_dlpack
from tests.gpu.stages import cards
from tests.gpu.stages.record import Record


def run(record: Record) -> None:
    """Runs the stage."""
    with cards.context() as context:
        _cupy(record, context)
        for name, look in () if record.fake else (("torch", _torch), ("jax", _jax)):
            try:
                library = importlib.import_module(name)
                look(record, library)
            except Exception as error:
                record.note(f"{name} was left out: {type(error).__name__}: {str(error)[:200]}")


def _address(tensor: Any) -> int:
    return tensor._array.data.ptr


def _cupy(record: Record, context: Any) -> None:
    cp, gpu = cards.cupy(), context.devices.first
    x = tf.ones([1000]) * 2.0
    there = cp.from_dlpack(x)
    record.check("CuPy's array uses a tensor's memory", there.data.ptr == _address(x))
    theirs = cp.asarray(np.arange(1000, dtype=np.float32))
    shown = from_dlpack(theirs)
    record.check("a tensor uses a CuPy array's memory", _address(shown) == theirs.data.ptr)
    record.check("this memory counts as external", gpu.memory.stats().external == 4000, gpu.memory.stats())
    record.check("ops accept such a tensor", float(tf.reduce_sum(shown + shown)) == 999000.0)
    record.check("the interface gives the address", x.__cuda_array_interface__["data"][0] == _address(x))
    address = _address(x)
    del x
    gc.collect()
    record.check("memory lives as long as CuPy's array", there.data.ptr == address and float(there[999]) == 2.0)
    del shown
    gc.collect()
    record.check("no memory is external at the end", gpu.memory.stats().external == 0, gpu.memory.stats())


def _torch(record: Record, torch: Any) -> None:
    x = tf.ones([1000]) * 2.0
    there = torch.from_dlpack(x)
    record.check("PyTorch's tensor uses our tensor's memory", there.data_ptr() == _address(x))
    theirs = torch.arange(1000.0, device="cuda")
    record.check("a tensor uses a PyTorch tensor's memory", _address(from_dlpack(theirs)) == theirs.data_ptr())
    record.check("a constant is a copy", _address(tf.constant(theirs)) != theirs.data_ptr())
    wrong, side = 0, torch.cuda.Stream()
    for number in range(record.size(200, 50, 1)):
        late = tf.matmul(tf.fill([512, 512], float(number)), tf.ones([512, 512]))
        with torch.cuda.stream(side):
            wrong += float(torch.from_dlpack(late).sum()) != 512.0**3 * number
    record.check("PyTorch's own stream waits for the tensor", wrong == 0, wrong)


def _jax(record: Record, jax: Any) -> None:
    if jax.default_backend() != "gpu":
        record.note(f"JAX was left out: its backend is {jax.default_backend()}.")
        return
    x = tf.ones([1000]) * 2.0
    there = jax.dlpack.from_dlpack(x)
    record.check("JAX's array uses a tensor's memory", there.unsafe_buffer_pointer() == _address(x))
    theirs = jax.numpy.arange(1000.0)
    record.check("a tensor uses a JAX array's memory", _address(from_dlpack(theirs)) == theirs.unsafe_buffer_pointer())
