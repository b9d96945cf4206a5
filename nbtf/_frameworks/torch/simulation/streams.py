"""Streams and events of a device that finishes each op before it returns.

All streams of a device form one queue, so that no stream ever waits for another: also not for the backward of an op,
which runs on the stream of its forward (`thread_streams.py`). An event records when the queue would have reached it, in
modelled time: from the card's peak rates, as `timing` calculates it. Python's clocks measure this computer instead.
"""

from __future__ import annotations

import itertools
import sys
import threading
import warnings
from typing import Any

from nbtf._frameworks.torch.simulation.machine import Machine
from nbtf._frameworks.torch.simulation.replacing import Replacements
from nbtf._frameworks.torch.simulation.thread_streams import ThreadStreams

_CUDA = 1
"""`c10::DeviceType::CUDA`."""

_MODELLED = (
    "Times between events on simulated GPUs are modelled: how long memory and arithmetic would take at the card's peak "
    "rates. time.time() measures how long this computer took."
)


class Streams:
    """Supplies the base classes of `torch.cuda.Stream` and `torch.cuda.Event`, which a build without CUDA lacks."""

    def __init__(self, machine: Machine) -> None:
        """Stores the machine with the devices."""
        self._machine, self._numbers = machine, itertools.count(1)
        self._thread = threading.local()

    def install(self, replacements: Replacements) -> None:
        """Installs methods in the base classes, and functions in `torch._C`."""
        core = self._machine.torch._C
        for base, methods in ((core._CudaStreamBase, _StreamMethods), (core._CudaEventBase, _EventMethods)):
            for name, method in vars(methods).items():
                if callable(method) or isinstance(method, staticmethod):
                    replacements.set(base, name, method)
        replacements.set(core._CudaStreamBase, "__new__", staticmethod(self._new_stream))
        replacements.set(core._CudaEventBase, "record", _record(self._machine))
        replacements.set(core._CudaEventBase, "wait", _wait(self._machine))
        replacements.set(self._machine.torch.cuda.Event, "__repr__", _describe_event)
        replacements.set(self._machine.torch.Tensor, "record_stream", _record_stream)
        replacements.set(core, "_cuda_getCurrentStream", self._current)
        replacements.set(core, "_cuda_getCurrentRawStream", self._current_id)
        replacements.set(core, "_cuda_getDefaultStream", self._default)
        replacements.set(core, "_cuda_setStream", self._set)
        torch = self._machine.torch
        for name in ("Stream", "Event"):
            replacements.set(torch, name, _of_any_device(torch, name, getattr(torch, name), getattr(torch.cuda, name)))
        replacements.set(core, "_accelerator_getStream", torch.cuda.current_stream)
        replacements.set(core, "_accelerator_setStream", torch.cuda.set_stream)

    def _new_stream(
        self, cls: Any, priority: int = 0, stream_id: int | None = None, device_index: int | None = None, **_: Any
    ) -> Any:
        stream: Any = object.__new__(cls)
        stream.stream_id = next(self._numbers) if stream_id is None else stream_id
        stream.device_index = self._machine.current if device_index is None else device_index
        stream.device = self._machine.torch.device("cuda", stream.device_index)
        stream.device_type, stream.priority, stream.cuda_stream = _CUDA, priority, stream.stream_id
        return stream

    def _current_id(self, number: int) -> int:
        streams: ThreadStreams | None = getattr(self._thread, "streams", None)
        return 0 if streams is None else streams.current(number)

    def _current(self, number: int) -> tuple[int, int, int]:
        """Returns stream, device and device type in the form that `torch._C` uses."""
        return self._current_id(number), number, _CUDA

    def _default(self, number: int) -> tuple[int, int, int]:
        return 0, number, _CUDA

    def _set(self, stream_id: int, device_index: int, device_type: int) -> None:
        if not hasattr(self._thread, "streams"):
            self._thread.streams = ThreadStreams(self._machine.torch)
        self._thread.streams.set(device_index, stream_id)
        self._machine.current = device_index


def _of_any_device(torch: Any, name: str, of_build: Any, of_card: Any) -> Any:
    """Returns a `torch.Stream` or `torch.Event` that also creates and recognizes those of simulated devices."""

    class AnyDevice(type):
        def __instancecheck__(cls, instance: Any) -> bool:
            return isinstance(instance, of_build | of_card)

        def __call__(cls, device: Any = None, **options: Any) -> Any:
            if device is None:
                return of_card(**options)
            target = torch.device(device)
            if target.type != "cuda":
                return of_build(target, **options)
            if of_card is torch.cuda.Stream:
                return of_card(target, **options)
            return of_card(**options)

    return AnyDevice(name, (), {"__module__": "torch", "__doc__": of_build.__doc__})


def _record_stream(_tensor: Any, _stream: Any) -> None:
    """Does nothing: no op is ever pending."""


class _StreamMethods:
    """The methods of a stream: no work is ever pending."""

    stream_id: int
    device_index: int
    entered: list[Any]

    def __init__(self, *_args: Any, **_kwargs: Any) -> None:
        """Does nothing: `__new__` has read the arguments."""

    def __enter__(self) -> Any:
        """Makes this stream current in the thread, and its device the current device."""
        cuda: Any = sys.modules["torch.cuda"]
        device = cuda.current_device()
        self.entered = [*getattr(self, "entered", []), (device, cuda.current_stream(self.device_index))]
        cuda.set_stream(self)
        return self

    def __exit__(self, *_error: object) -> None:
        """Restores the previous stream and device."""
        cuda: Any = sys.modules["torch.cuda"]
        *self.entered, (device, stream) = self.entered
        cuda.set_stream(stream)
        cuda.set_device(device)

    def query(self) -> bool:
        """Returns True: all its work is done."""
        return True

    def is_capturing(self) -> bool:
        """Returns False: no CUDA graph is being captured."""
        return False

    def synchronize(self) -> None:
        """Does nothing: no work is pending."""

    @staticmethod
    def priority_range() -> tuple[int, int]:
        """Returns the lowest and the highest priority of recent cards."""
        return 0, -5

    def __eq__(self, other: Any) -> bool:
        """Compares stream and device."""
        return (self.stream_id, self.device_index) == (other.stream_id, other.device_index)

    def __hash__(self) -> int:
        """Returns a hash of stream and device."""
        return hash((self.stream_id, self.device_index))


def _record(machine: Machine) -> Any:
    def record(event: Any, stream: Any) -> None:
        """Records when the device will have finished the work requested so far."""
        event.device, event.cuda_event = stream.device, id(event)
        event.seconds = machine.timing.mark(stream.device_index, event.enable_timing)

    return record


def _wait(machine: Machine) -> Any:
    def wait(event: Any, stream: Any) -> None:
        """Makes a device start its next work only after the event."""
        if event.seconds:
            machine.timing.wait(stream.device_index, event.seconds)

    return wait


def _describe_event(event: Any) -> str:
    moment = "not recorded" if event.seconds is None else f"at {event.seconds * 1000:.6g} ms of modelled time"
    return f"<torch.cuda.Event of a simulated GPU, {moment if event.enable_timing else 'without timing'}>"


class _EventMethods:
    """The methods of an event, which records a moment in modelled time."""

    enable_timing: bool
    seconds: float | None
    device: Any
    cuda_event: int

    def __init__(self, *_args: Any, enable_timing: bool = False, **_kwargs: Any) -> None:
        """Starts without a recorded time."""
        self.enable_timing, self.seconds, self.device, self.cuda_event = enable_timing, None, None, 0

    def __new__(cls, *_args: Any, **_kwargs: Any) -> Any:
        """Creates an event."""
        return object.__new__(cls)

    def query(self) -> bool:
        """Returns True: all earlier work is done."""
        return True

    def synchronize(self) -> None:
        """Does nothing: no work is pending."""

    def elapsed_time(self, end: Any) -> float:
        """Returns the modelled milliseconds to another event on the same device, with a warning."""
        if not (self.enable_timing and end.enable_timing):
            raise ValueError("Both events must be created with argument 'enable_timing=True'.")
        if self.seconds is None or end.seconds is None:
            raise ValueError("Both events must be recorded before calculating elapsed time.")
        if self.device != end.device:
            raise RuntimeError(
                f"CUDA error: invalid resource handle\nThe events are on {self.device} and {end.device}. Elapsed time "
                "needs two events on the same device."
            )
        warnings.warn(_MODELLED, RuntimeWarning, stacklevel=3)
        return (end.seconds - self.seconds) * 1000
