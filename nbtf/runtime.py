"""`tf.runtime`, nbtf's own namespace: simulated GPUs, what the runtime is doing, and a fresh start."""

from __future__ import annotations

from collections.abc import Callable, Generator
from contextlib import contextmanager
from typing import Any, NamedTuple

from nbtf._devices.base import Device
from nbtf._devices.discovery import simulated_machine
from nbtf._runtime.context import CURRENT, Context, install
from nbtf._runtime.events import Allocated as Allocated
from nbtf._runtime.events import Copied as Copied
from nbtf._runtime.events import Event as Event
from nbtf._runtime.events import OpExecuted as OpExecuted
from nbtf._runtime.events import OpPlaced as OpPlaced
from nbtf._runtime.events import OutputSpec as OutputSpec
from nbtf._runtime.events import Reason as Reason
from nbtf._runtime.events import Site
from nbtf._runtime.placement import in_words as in_words
from nbtf._runtime.recorder import Recorder as Recorder
from nbtf._runtime.recorder import Snapshot as Snapshot

__all__ = [
    "Allocated",
    "Copied",
    "DeviceInfo",
    "Event",
    "Explanation",
    "OpExecuted",
    "OpPlaced",
    "OutputSpec",
    "Reason",
    "Recorder",
    "Recording",
    "Snapshot",
    "cell_device",
    "devices",
    "explain_placement",
    "in_words",
    "memory_map",
    "observe",
    "recording",
    "restart",
    "set_default_device",
    "simulate_gpus",
    "start_recorder",
]


def __dir__() -> list[str]:
    return __all__


# Simulated GPUs


class _Sentence(str):
    """A text that has been printed already, so a notebook does not show it a second time."""

    __slots__ = ()

    def _ipython_display_(self) -> None:
        """Shows nothing more."""


def simulate_gpus(
    n: int, model: str | None = None, memory: str | float | None = None, if_missing: bool = False
) -> _Sentence:
    """Gives this process simulated GPUs: NumPy arrays with the memory, the limits and the names of real cards.

    Placement, memory accounts and error messages are those of the cards; nothing runs faster. Devices must not be
    in use yet. `CUDA_VISIBLE_DEVICES` is obeyed.

    Args:
      n: how many; 0 removes them.
      model: a known card, such as `"Tesla K20m"` or `"H100"`; Tesla V100-SXM2-16GB when None.
      memory: of each card instead of its own: a text such as `"5GiB"`, or a number of MiB.
      if_missing: uses real cards if there are at least `n`. nbtf cannot use real cards yet, so it simulates them.

    Returns:
      One sentence that says what was simulated; it is printed as well.

    Raises:
      ValueError: an unknown card, or numbers that make no sense.
      RuntimeError: the devices are in use; `tf.runtime.restart()` first.

    >>> tf.runtime.restart()
    >>> _ = tf.runtime.simulate_gpus(2, model="Tesla K20m")
    2 simulated GPUs (Tesla K20m, 5 GiB each): NumPy on this computer's CPU. No GPU is used.
    >>> tf.constant([1.0]).device
    '/job:localhost/replica:0/task:0/device:GPU:0'
    """
    machine = simulated_machine(n, model, memory)
    context = CURRENT.context
    if context.configuration.frozen:
        raise RuntimeError(
            "Simulated GPUs cannot be modified after being initialized. Call tf.runtime.restart() first, "
            "or simulate_gpus before the first op."
        )
    context.configuration.use(machine)
    sentence = _Sentence(machine.sentence())
    print(sentence)  # noqa: T201  # what is simulated must be seen
    return sentence


def restart(keep_settings: bool = False) -> None:
    """Starts the runtime afresh, as a new process would: devices can be configured again.

    Observers and the simulated machine stay; environment variables are read again. Tensors and variables from before
    can still be read; an op on one raises `FailedPreconditionError`.

    Args:
      keep_settings: keeps soft placement, the placement log, the default device and the like.
    """
    before = CURRENT.context
    install(before.successor(keep_settings))
    before.close()


def set_default_device(name: str | None) -> None:
    """Sends ops to a device when no `tf.device` is open; None goes back to TensorFlow's rule.

    Args:
      name: as for `tf.device`; it is completed from CPU:0.

    Raises:
      ValueError: not a device string.
    """
    CURRENT.context.set_default_device(name)


def cell_device(name: str) -> Callable[[], None]:
    """Makes a device the outermost `tf.device` of this thread, until the returned function is called.

    For front ends: unlike a `with` it survives what a notebook does between the parts of a cell.

    Args:
      name: as for `tf.device`.

    Returns:
      The undo; it may be called from another thread.

    Raises:
      ValueError: not a device string; nothing has changed.
    """
    return CURRENT.context.set_cell_device(name)


# What there is


class DeviceInfo(NamedTuple):
    """One device, as tables show it. Sizes are in bytes; None where there is no account, or none yet.

    `card` is the number of the card in this machine, `memory` its whole memory; several logical GPUs may share one.
    """

    name: str
    device_type: str
    simulated: bool = False
    model: str | None = None
    card: int | None = None
    bus_id: str | None = None
    uuid: str | None = None
    memory: int | None = None
    memory_limit: int | None = None
    in_use: int | None = None
    peak: int | None = None
    pool: int | None = None
    visible: bool = True

    @property
    def label(self) -> str:
        """The name with what must be known beside it: `GPU:0 (simulated Tesla K20m)`."""
        return f"{self.name} (simulated {self.model})" if self.simulated else self.name


def devices() -> list[DeviceInfo]:
    """Returns the devices there are, and their memory. A look: it fixes nothing and starts nothing.

    >>> tf.runtime.restart()
    >>> [device.name for device in tf.runtime.devices() if device.device_type == "CPU"]
    ['CPU:0']
    """
    context = CURRENT.context
    if context.machine is None:
        return _planned(context)
    return [_described(context, device) for device in context.machine.by_name.values()]


def _planned(context: Context) -> list[DeviceInfo]:
    """Returns what the devices will be if nothing more is configured."""
    configuration = context.configuration
    found: list[DeviceInfo] = []
    for device_type in ("CPU", "GPU"):
        number = 0
        for physical in configuration.used(device_type):
            for _ in configuration.logical.get(physical, [None]):
                found.append(_with_card(context, f"{device_type}:{number}", device_type, physical))
                number += 1
    return found


def _described(context: Context, device: Device) -> DeviceInfo:
    stats = None if device.memory is None else device.memory.stats()
    memory = (
        {}
        if stats is None
        else {"memory_limit": stats.limit, "in_use": stats.in_use, "peak": stats.peak, "pool": stats.pool}
    )
    return _with_card(context, device.short_name, device.type, context.made_from[device.name], **memory)


def _with_card(context: Context, name: str, device_type: str, physical: Any, **memory: Any) -> DeviceInfo:
    card = context.configuration.cards.get(physical)
    if card is None:
        return DeviceInfo(name, device_type)
    known: dict[str, Any] = {
        "simulated": card.simulated,
        "model": card.card.name,
        "card": card.machine_index,
        "bus_id": card.bus_id,
        "uuid": card.uuid,
        "memory": card.memory_bytes,
    }
    return DeviceInfo(name, device_type, **known, **memory)


def memory_map(device: str) -> Any:
    """Returns the regions a device got from its card, and the chunks in them.

    Args:
      device: a name, `"GPU:0"`.

    Returns:
      A tuple of regions with `size` and `chunks`; a chunk has `offset`, `size`, `requested` (bytes), `in_use`, and as
      `label` the op, dtype, shape and code line that it was made for.

    Raises:
      ValueError: no such device, or one whose allocator has no map.
    """
    context = CURRENT.context
    for known in () if context.machine is None else context.machine.devices:
        if device in (known.name, known.short_name):
            found = None if known.memory is None else known.memory.map()
            if found is not None:
                return found
            raise ValueError(f"{device} has no memory map: only simulated GPUs know theirs")
    raise ValueError(f"No matching devices found for '{device}'")


# What happens


def observe(observer: Callable[[Event], object]) -> Callable[[], None]:
    """Has a function told of every event, until the returned function is called.

    Events are plain data (`OpPlaced`, `OpExecuted`, `Copied`, `Allocated`) and keep no tensor alive. Ops that the
    observer runs are not reported. An observer that raises is removed, with a warning.

    >>> seen = []
    >>> stop = tf.runtime.observe(seen.append)
    >>> c = tf.add(1.0, 2.0)
    >>> stop()
    >>> [event.op for event in seen if isinstance(event, tf.runtime.OpPlaced)]
    ['_EagerConst', '_EagerConst', 'AddV2']
    """
    return CURRENT.context.observers.add(observer)


class Recording:
    """What `recording()` took down; it stays readable after the block."""

    def __init__(self, recorder: Recorder) -> None:
        """Wraps a recorder."""
        self._recorder = recorder

    def snapshot(self, last: int | None = None) -> Snapshot:
        """Returns totals and the last events."""
        return self._recorder.snapshot(last)

    @property
    def events(self) -> tuple[Event, ...]:
        """The events, the oldest first; the recorder's capacity bounds them, not the totals."""
        return self._recorder.snapshot().events

    @property
    def ops(self) -> list[tuple[str, str]]:
        """The ops that were placed, in order, each with the short name of its device."""
        return [(e.op, e.device.rpartition("device:")[2]) for e in self.events if isinstance(e, OpPlaced)]

    @property
    def copies(self) -> list[tuple[str, str, int]]:
        """The copies between devices: source, target, bytes."""
        return [
            (e.source.rpartition("device:")[2], e.target.rpartition("device:")[2], e.nbytes)
            for e in self.events
            if isinstance(e, Copied)
        ]


@contextmanager
def recording(capacity: int = 100_000) -> Generator[Recording]:
    """Records what happens in a block.

    Args:
      capacity: how many events are kept; totals count all of them.

    >>> with tf.runtime.recording() as record:
    ...     c = tf.matmul([[1.0]], [[2.0]])
    >>> record.ops[-1]
    ('MatMul', 'CPU:0')
    """
    recorder = Recorder(capacity)
    stop = start_recorder(recorder)
    try:
        yield Recording(recorder)
    finally:
        stop()


def start_recorder(recorder: Recorder) -> Callable[[], None]:
    """Has a recorder listen until the returned function is called; `explain_placement` looks into it."""
    remove = CURRENT.context.observers.add(recorder)

    def stop() -> None:
        remove()
        CURRENT.context.last_recorder = recorder  # and no more than the last: each may keep 40 MB

    return stop


# Why


class Explanation(NamedTuple):
    """Where a tensor is, and why; prints as text, and as HTML in a notebook."""

    device: str
    label: str
    shape: tuple[int, ...]
    dtype: str
    op: str | None = None
    reason: Reason | None = None
    site: Site = None

    @property
    def why(self) -> str:
        """The reason in words."""
        if self.op is None or self.reason is None:
            return "nobody recorded when it was made; use tf.runtime.recording()"
        return in_words(self.op, self.device, self.reason).partition(": ")[2]

    def _lines(self) -> list[tuple[str, str]]:
        lines = [
            ("tensor", f"{list(self.shape)} {self.dtype}"),
            ("device", self.label),
            ("made by", self.op or "unknown"),
            ("why there", self.why),
        ]
        return lines + ([("code", f"{self.site[0]}, line {self.site[1]}")] if self.site else [])

    def __str__(self) -> str:
        """Returns a line for each thing known."""
        return "\n".join(f"{key + ':':<11}{text}" for key, text in self._lines())

    def __repr__(self) -> str:
        """Returns the text."""
        return str(self)

    def _repr_html_(self) -> str:
        """Returns a small table."""
        import html  # late: it loads a table of two thousand names

        rows = "".join(
            f"<tr><th style='text-align:left'>{key}</th><td style='text-align:left'>{html.escape(text)}</td></tr>"
            for key, text in self._lines()
        )
        return f"<table>{rows}</table>"


def explain_placement(tensor: Any) -> Explanation:
    """Says where a tensor is and why the op that made it was placed there.

    Args:
      tensor: a tensor, or a variable.

    Raises:
      TypeError: something else.

    >>> with tf.runtime.recording():
    ...     c = tf.add(1.0, 2.0)
    >>> tf.runtime.explain_placement(c).why
    'no GPU'
    """
    device = getattr(tensor, "_device", None)
    if not isinstance(device, Device):
        raise TypeError(f"explain_placement takes a tensor or a variable, got {type(tensor)}")
    context = CURRENT.context
    label = next((d.label for d in devices() if d.name == device.short_name), device.short_name)
    known = (device.name, label, tuple(tensor.shape), tensor.dtype.name)
    placed = _placed(context, getattr(tensor, "_seq", 0))
    return Explanation(*known) if placed is None else Explanation(*known, placed.op, placed.reason, placed.site)


def _placed(context: Context, seq: int) -> OpPlaced | None:
    """Returns what a recorder heard of the op whose event has a number; tensors made unheard have 0."""
    listening = [observer for _, observer in context.observers.all if isinstance(observer, Recorder)]
    for recorder in filter(None, (*listening, context.last_recorder)) if seq else ():
        placed = recorder.placed_before(seq)
        if placed is not None:
            return placed
    return None
