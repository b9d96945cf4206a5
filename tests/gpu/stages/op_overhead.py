"""Stage 8: how much time of the host does an nbtf op need, compared with the same op in CuPy?"""

from __future__ import annotations

import importlib
from collections.abc import Callable
from typing import Any

import numpy as np

import nbtf as tf
from nbtf._devices.discovery import simulated_machine
from nbtf._runtime.context import Context, use_context
from tests.gpu.stages import cards
from tests.gpu.stages.record import Record
from tests.gpu.stages.timing import per_call

MICRO = 1e6


def run(record: Record) -> None:
    """Runs the stage."""
    raw = _of_cupy(record)
    with cards.context() as context:
        one = _of_nbtf(record, "1 GPU", lambda: cards.wait(context))
        _guard(record, context)
    with cards.context(4, 64) as context:
        four = _of_nbtf(record, "4 logical GPUs", lambda: cards.wait(context))
    for name, told, must, goal in (("1 GPU", one, 8, 4), ("4 logical GPUs", four, 10, 6)):
        if not record.fake:
            record.target(f"a + b of nbtf, {name}, minus CuPy's time", told["a + b"] - raw["a + b"], must, goal, "µs")
    _simulated(record)
    _pieces(record)
    _others(record)


def _measured(record: Record, whose: str, ops: dict[str, Callable[[], Any]], finish: Any) -> dict[str, float]:
    found: dict[str, float] = {}
    for name, op in ops.items():
        timed = per_call(op, record.size(10_000, 2_000, 5), finish, record.size(5, 3, 1))
        found[name] = timed.least * MICRO
        record.figure(f"{whose}: {name}, minimum", timed.least * MICRO, "µs")
        record.figure(f"{whose}: {name}, median", timed.middle * MICRO, "µs")
    return found


def _of_cupy(record: Record) -> dict[str, float]:
    cp = cards.cupy()
    a, b = (cp.asarray(np.ones(16, np.float32)) for _ in range(2))
    m = cp.asarray(np.ones((32, 32), np.float32))
    ops: dict[str, Callable[[], Any]] = {
        "a + b": lambda: a + b,
        "add(a, b)": lambda: cp.add(a, b),
        "a @ b, 32 by 32": lambda: m @ m,
        "matmul(a, b), 32 by 32": lambda: cp.matmul(m, m),
        "sum": lambda: a.sum(),
        "reshape": lambda: a.reshape(4, 4),
    }
    return _measured(record, "CuPy", ops, cp.cuda.runtime.deviceSynchronize)


def _of_nbtf(record: Record, whose: str, finish: Any) -> dict[str, float]:
    x, y, m = tf.ones([16]), tf.ones([16]), tf.ones([32, 32])

    def taped() -> Any:
        with tf.GradientTape() as tape:
            tape.watch(x)
            return x + y

    ops: dict[str, Callable[[], Any]] = {
        "a + b": lambda: x + y,
        "a @ b, 32 by 32": lambda: m @ m,
        "sum": lambda: tf.reduce_sum(x),
        "reshape": lambda: tf.reshape(x, [4, 4]),
        "a + b with a tape": taped,
    }
    found = _measured(record, f"nbtf, {whose}", ops, finish)
    stop = tf.runtime.observe(lambda event: None)
    found |= _measured(record, f"nbtf, {whose}", {"a + b with an observer": lambda: x + y}, finish)
    stop()
    return found


def _guard(record: Record, context: Any) -> None:
    guard = context.devices.first.open()
    inside = guard.enter()
    timed = per_call(lambda: guard.leave(guard.enter()), record.size(10_000, 2_000, 5))
    guard.leave(inside)
    if not record.fake:
        record.target("the guard, with nothing to switch", timed.least * MICRO, 1.0, 0.7, "µs")


def _simulated(record: Record) -> None:
    a, b = np.ones(16, np.float32), np.ones(16, np.float32)
    count = record.size(10_000, 2_000, 5)
    numpys = per_call(lambda: a + b, count).least * MICRO
    with use_context(Context(simulated_machine(1), environ={"NBTF_GPU": "off"})):
        x, y = tf.ones([16]), tf.ones([16])
        ours = per_call(lambda: x + y, count).least * MICRO
    if not record.fake:
        record.target("a + b on a simulated GPU, minus NumPy's time", ours - numpys, 10, 5, "µs")


def _pieces(record: Record) -> None:
    cp = cards.cupy()
    runtime, pool = cp.cuda.runtime, cp.cuda.MemoryPool()
    event, other = cp.cuda.Event(disable_timing=True), cp.cuda.Stream()
    bfc = cards.device(0, 64, alone=False, NBTF_GPU_ALLOCATOR="bfc")
    bfc.open()

    def within() -> None:
        with cp.cuda.Device(0):
            pass

    def marked() -> None:
        event.record(cp.cuda.Stream.null)
        other.wait_event(event)

    pieces: dict[str, Callable[[], Any]] = {
        "getDevice": runtime.getDevice,
        "block of Device(0)": within,
        "malloc and free of CuPy's pool": lambda: pool.malloc(512),
        "malloc and free of nbtf's BFC": lambda: bfc._memory_manager.allocate(512),
        "record and wait": marked,
    }
    _measured(record, "piece", pieces, runtime.deviceSynchronize)


def _others(record: Record) -> None:
    """Measures other libraries if they are installed and see the card."""
    if record.fake:
        return
    for name, make in (("torch", _torch), ("jax", _jax)):
        try:
            ops, finish = make(importlib.import_module(name))
        except Exception as error:
            record.note(f"{name} was left out: {type(error).__name__}: {str(error)[:100]}")
            continue
        _measured(record, name, ops, finish)


def _torch(torch: Any) -> tuple[dict[str, Callable[[], Any]], Any]:
    a, m = torch.ones(16, device="cuda"), torch.ones(32, 32, device="cuda")
    ops: dict[str, Callable[[], Any]] = {
        "a + b": lambda: a + a,
        "a @ b, 32 by 32": lambda: m @ m,
        "sum": lambda: a.sum(),
        "reshape": lambda: a.reshape(4, 4),
    }
    return ops, torch.cuda.synchronize


def _jax(jax: Any) -> tuple[dict[str, Callable[[], Any]], Any]:
    if jax.default_backend() != "gpu":
        raise RuntimeError(f"its backend is {jax.default_backend()}")
    a, m = jax.numpy.ones(16), jax.numpy.ones((32, 32))
    ops: dict[str, Callable[[], Any]] = {
        "a + b": lambda: a + a,
        "a @ b, 32 by 32": lambda: m @ m,
        "sum": lambda: a.sum(),
        "reshape": lambda: a.reshape(4, 4),
    }
    return ops, lambda: (a + a).block_until_ready()
