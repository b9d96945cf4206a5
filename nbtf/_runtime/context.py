"""Devices and settings of the process: configured, then frozen. All state that outlives a `with` is here."""

from __future__ import annotations

import os
import sys
import threading
from collections.abc import Callable, Generator, Mapping, Sequence
from contextlib import contextmanager
from time import time
from typing import TYPE_CHECKING, Any, Protocol

from nbtf._devices.backends import MemoryOptions
from nbtf._devices.base import Buffer, Device, Runnable
from nbtf._devices.cpu import CPU
from nbtf._devices.journal import Box
from nbtf._devices.lent import LENT
from nbtf._devices.machines import Simulated
from nbtf._devices.names import LOCAL_TASK, full_name, split_task, without_cuda
from nbtf._devices.sites import find_call_site
from nbtf._locks import new_lock
from nbtf._runtime.blocks import current_scope
from nbtf._runtime.configuration import Configuration, LogicalDevice, PhysicalDevice
from nbtf._runtime.constants import Constants
from nbtf._runtime.events import Reason
from nbtf._runtime.gpus import GPUs, LogicalGPU
from nbtf._runtime.log_styles import CURRENT_STYLE
from nbtf._runtime.notes import next_number, note_of_failure
from nbtf._runtime.observers import Observers
from nbtf._runtime.phases import part_of
from nbtf._runtime.pieces import journal_of
from nbtf._runtime.placement import Machine, Placeable, place_op
from nbtf._runtime.recorder import Recorder
from nbtf._runtime.scopes import ANYWHERE, EMPTY, HERE, SCOPE, Request, Scope, merged
from nbtf._runtime.subjects import Begun, events_of_begin
from nbtf._types import DType
from nbtf.errors import NotFoundError

if TYPE_CHECKING:
    from nbtf._runtime.seeds import Seeds


def in_order(device: Device) -> tuple[bool, str, int, str, int]:
    """Returns what devices are sorted by: those of this process first, then task by task; CPUs before GPUs."""
    job, number = split_task(device.task)
    return device.task != LOCAL_TASK, job, number, device.type, device.index


_new_scope = Scope.__new__

_REMEMBERED = 4096
"""Decisions kept at most; a loop over made-up device names must not fill the memory."""


class Begins(Runnable, Protocol):
    """An op, as far as telling of its begin goes."""

    host_inputs: Mapping[str, tuple[DType | None, DType | None]]

    def is_given_values(self, inputs: Sequence[Any]) -> bool: ...


class Settings:
    """What can be changed at any time."""

    soft_placement: bool = True
    device_policy: str = "silent"
    functions_eager: bool = False
    default_device: Request | None = None
    inter_op_threads: int = 0
    intra_op_threads: int = 0
    placement_log_style: str = CURRENT_STYLE
    check_numerics: bool = False
    filters_tracebacks: bool = True
    tensor_float_32: bool = True
    jit: str = ""
    optimizer_options: tuple[tuple[str, bool], ...] = ()


class Context:
    """One process worth of devices. Tests and `tf.runtime.restart` replace it.

    `log` prints the placement of each op, given its type and device; it is no observer, since it makes no events.
    `watched` says whether there is a log or an observer. `last_recorder` has stopped listening; it can still be asked
    why a tensor is where it is.
    """

    # One for all contexts: one that is being replaced must not open a lane after the next one has settled.
    _lock = new_lock()

    def __init__(
        self,
        machine: Simulated | None = None,
        environ: Mapping[str, str] | None = None,
        settings: Settings | None = None,
    ) -> None:
        """Makes a context that nobody has used yet.

        Args:
          machine: the simulated GPUs; None lets the environment decide.
          environ: where settings are read from; `os.environ` by default.
          settings: soft placement and the like; defaults if not given.
        """
        self.configuration = Configuration(os.environ if environ is None else environ, machine)
        self.settings = settings or Settings()
        self.observers = Observers(self.settle, self.deliver)
        self.gpus = GPUs(self.configuration)
        self.machine: Machine | None = None
        self.log: Callable[[str, str], object] | None = None
        self.watched = False
        self.last_recorder: Recorder | None = None
        self.made_from: dict[str, PhysicalDevice] = {}
        self._more_cpus: dict[str, Device] = {}  # that only sessions have
        self.joined: tuple[Device, ...] = ()  # of other tasks; see `cluster.py`
        self.replacements = 0  # of devices of strategies: what was traced before has the variables of those before
        self.cluster: Any = None  # that they are of, as `_cluster.controller` knows it
        self.default_graph: Callable[[], Any] | None = None  # of programs that switched eager execution off
        self.summaries: Any = None  # where notes for TensorBoard go outside of blocks
        self.constants = Constants()
        self.seeds: Seeds | None = None  # made by the first random op: `import nbtf` does without it
        self._cells: dict[int, Request] = {}
        self._opened_cells: list[tuple[int, Request]] = []
        # What was decided since the last change, for the common case; `settle` forgets it.
        self._placed: dict[Any, tuple[Device, Reason]] = {}
        self._scopes: dict[str | None, Scope] = {}
        self.recorded_ops: dict[Any, Any] = {}  # see `recorded_lane.py`

    # What placement looks at

    @property
    def devices(self) -> Machine:
        """The logical devices; the first call freezes the configuration."""
        return self.machine or self.freeze()

    @property
    def host(self) -> Device:
        """CPU:0: where Python values come from and host-memory tensors live."""
        return self.devices.host

    def place_op(
        self, op: Placeable, dtypes: tuple[DType, ...], pinned_to: Device | None, scope: Scope | None
    ) -> tuple[Device, Reason]:
        """Chooses the device of an op in a scope."""
        request, replica = (None, None) if scope is None else (scope.request, scope.replica)
        if scope is not None and scope.placed is not None:
            return scope.placed
        placed = self._placed  # before the machine is read: what is stale goes into a dictionary nobody reads
        cell = self._cells.get(threading.get_ident()) if self._cells else None
        key = (op, dtypes, pinned_to, "" if request is None else request.name, replica, cell)
        placement = placed.get(key)
        if placement is None:
            if len(placed) > _REMEMBERED:
                placed.clear()
            machine = (self.machine or self.freeze())._replace(cell=cell)
            placement = placed[key] = place_op(op, dtypes, pinned_to, request, replica, machine)
        return placement

    def freeze(self) -> Machine:
        """Makes the devices, and has all GPUs map memory. From now on `tf.config` refuses to change them."""
        with self._lock:
            if self.machine is None:
                gpus = self.gpus.configured()
                self._make(gpus, [self._memory_options()] * len(gpus))
                self.gpus.start([self._memory_options()] * len(self.gpus.made))  # as TensorFlow does, used or not
        return self.devices

    def session_gpus(self, requested_gpus: Sequence[LogicalGPU], count: int, options: MemoryOptions) -> list[Device]:
        """Returns the GPUs of a session; those that nobody used before start with its options.

        Args:
          requested_gpus: the GPUs that it numbers.
          count: how many of them it uses.
          options: how their memory is taken; what it leaves open is as in `tf.config`.

        Raises:
          AlreadyExistsError: it numbers them in another way than the process does already.
        """
        with self._lock:
            default_options = self._memory_options()
            options = options._replace(
                fraction=options.fraction or default_options.fraction, growth=options.growth or default_options.growth
            )
            used = min(count, len(requested_gpus))
            each = [options] * used + [default_options] * (len(requested_gpus) - used)
            if self.machine is None:
                self._make(requested_gpus, each)
            elif self.gpus.make(requested_gpus, each):
                self._use(self._own_cpus())
            self.gpus.start(each[:used])
            return [*self.gpus.made[:used]]

    def _memory_options(self) -> MemoryOptions:
        return MemoryOptions(self.configuration.fraction, self.configuration.agreed_growth())

    def _make(self, gpus: Sequence[LogicalGPU], options: Sequence[MemoryOptions]) -> None:
        """Makes the devices for the first time."""
        cpus = self._cpus()
        of_cluster = self.gpus.of_cluster()
        self.gpus.make([*gpus, *of_cluster], [*options, *[self._memory_options()] * len(of_cluster)])
        self.configuration.frozen = True
        self._announce()
        self._use(cpus)

    def admit(self, devices: Sequence[Device]) -> None:
        """Places ops on devices of other tasks, too: on these alone."""
        with self._lock:
            cpus = self._own_cpus()  # before those that leave look like them
            self.joined = tuple(devices)
            self._use(cpus)

    def _own_cpus(self) -> list[Device]:
        """Returns the CPUs that this context has made."""
        return [
            device for device in self.devices.by_name.values() if device.type == "CPU" and device not in self.joined
        ]

    def _use(self, cpus: list[Device]) -> None:
        """Places ops on these CPUs and the GPUs that were made; what nobody asks for runs in this process."""
        gpus = self.gpus.made
        self.made_from |= {gpu.name: physical for gpu, physical in zip(gpus, self.gpus.made_from, strict=True)}
        joined = sorted(self.joined, key=lambda device: device.type == "CPU")
        ordered = sorted((*gpus, *cpus, *joined), key=lambda device: device.task != LOCAL_TASK)
        by_name = {device.name: device for device in sorted((*cpus, *gpus, *joined), key=in_order)}
        self.machine = Machine(tuple(ordered), by_name, cpus[0])
        self.settle()

    def _cpus(self) -> list[Device]:
        devices: list[Device] = []
        for physical in self.configuration.used("CPU"):
            for _ in self.configuration.logical.get(physical, [None]):
                devices.append(CPU(len(devices)))
                self.made_from[devices[-1].name] = physical
        if not devices:
            raise NotFoundError("No CPU devices are available in this process")
        cluster = self.configuration.cluster
        if cluster is not None:
            for task in cluster.tasks:
                devices.append(CPU(0, task))
                self.made_from[devices[-1].name] = self.made_from[devices[0].name]
            for cpu in devices:
                cpu.network = cluster.network
        return devices

    def session_cpus(self, count: int) -> list[Device]:
        """Returns the first CPUs; of those that only sessions have, no others hear."""
        cpus: list[Device] = []
        for index in range(count):
            name = full_name("CPU", index)
            device = self.devices.by_name.get(name) or self._more_cpus.get(name)
            if device is None:
                device = self._more_cpus[name] = CPU(index)
                self.made_from[name] = self.made_from[self.host.name]
            cpus.append(device)
        return cpus

    def every_device(self) -> list[Device]:
        """Returns all devices that were made, those of sessions included, CPUs first."""
        devices = [*self.devices.by_name.values(), *self._more_cpus.values()]
        return sorted(dict.fromkeys(devices), key=in_order)

    def has(self, device: Device) -> bool:
        """Tells whether a device is of this context, and not from before a restart."""
        name = device.name
        return self.devices.by_name.get(name) is device or self._more_cpus.get(name) is device

    def _announce(self) -> None:
        """GPUs that only the environment asked for say once what they are."""
        processes = sys.modules.get("multiprocessing")
        is_worker = processes is not None and processes.parent_process() is not None
        if is_worker:
            return  # what it works for has said so
        configuration = self.configuration
        if configuration.machine_from_environment and configuration.machine and not configuration.is_announced:
            print(f"nbtf: {configuration.machine.sentence()}", file=sys.stderr)  # noqa: T201  # the announcement

    # What listeners and scopes change

    def settle(self) -> None:
        """Decides whose express lane is open; the last line of every setter."""
        with self._lock:
            machine = self.machine
            if machine is not None:
                default = self.settings.default_device
                self.machine = machine._replace(soft=self.settings.soft_placement, default=default)
            self._placed, self._scopes, self.recorded_ops = {}, {}, {}
            self.watched = bool(self.observers.all) or self.log is not None
            lent = LENT if CURRENT.context is self else ()
            libraries = [
                *[(gpu, "") for gpu in (*self.gpus.made, *self.joined)],
                *[(card, card.library) for card in lent],
            ]
            for card, library in libraries:
                card.keep_journal(journal_of(card, library) if self.observers.all else None)
            listening = self.watched or self.settings.check_numerics
            quiet = not listening and not self._cells and self.settings.default_device is None
            if CURRENT.context is self:
                first = machine.first if machine is not None and quiet else None
                HERE.device = first if first is not None and first.type == "CPU" else None
                devices = machine.by_name.values() if machine is not None and quiet else ()
                HERE.elsewhere = frozenset([device for device in devices if device.lane and device is not HERE.device])
                HERE.first = first if first is HERE.device or first in HERE.elsewhere else None
                HERE.recorded = self._recorded_lanes()
                HERE.watched = self.watched

    def _recorded_lanes(self) -> frozenset[Device]:
        """Returns the devices whose ops need not take the road: nobody but recorders listens."""
        observers, machine = self.observers, self.machine
        if machine is None or not observers.takers or observers.functions or self.log or self.settings.check_numerics:
            return frozenset()
        return frozenset([device for device in machine.devices if device.records_in_lane])

    @property
    def has_cells(self) -> bool:
        """Whether a cell has a device of its own."""
        return bool(self._cells)

    def deliver(self, boxes: Sequence[Box]) -> None:
        """Has all GPUs say what has happened to their memory until now."""
        for card in (*self.gpus.made, *self.joined, *LENT):
            card.hand_over(boxes)

    def set_log(self, log: Callable[[str, str], object] | None) -> None:
        """Has a function called with type and device of each op that is placed, or no longer."""
        with self._lock:
            self.log = log
            self.settle()

    def begin(
        self,
        op: Begins,
        device: Device,
        reason: Reason,
        scope: Scope | None,
        attrs: Mapping[str, Any],
        frames: int,
        inputs: Sequence[Any] = (),
    ) -> Begun | None:
        """Tells the log, and whoever listens, where an op will run; an observer's own ops are not told.

        Args:
          op: the op.
          device: where it will run.
          reason: why there.
          scope: what is open.
          attrs: its attributes; of those that stand in host memory TensorFlow makes constants.
          frames: how many of the callers are of the package.
          inputs: its inputs as they were given.

        Returns:
          What the note of the op starts with; None when nobody listens.
        """
        observers = self.observers
        if (observers.functions and observers.telling) or (scope is not None and scope.silent):
            return None
        node = None if scope is None else scope.node  # a graph has nodes for its constants, and a log of its own
        constants: list[int] | None = None
        try:
            if node is None and not (reason.kind == "explicit scope" and device is self.host):
                constants = self.count_constants(op, device, scope, attrs, inputs)
            if self.log is not None and node is None:
                for _ in constants or ():
                    self.log("_EagerConst", device.name)
                self.log(op.type, device.name)
            if not observers.takers:
                return None
            call_site = find_call_site(part_of(scope), frames)
            start = call_site, next_number(), time(), constants
            if observers.functions:
                observers.tell(events_of_begin(op, device, reason, start))
        except BaseException:
            if constants is not None:
                self.constants.forget(constants)
            raise
        return start

    def count_constants(
        self, op: Begins, device: Device, scope: Scope | None, attrs: Mapping[str, Any], inputs: Sequence[Any]
    ) -> list[int] | None:
        """Returns a number of an event for each constant that TensorFlow makes of attributes now; None for none."""
        if not op.host_inputs:
            return None
        slow, events = op.is_given_values(inputs), list[int]()
        try:
            for attr, dtypes in op.host_inputs.items():
                value = attrs[attr]
                if isinstance(value, Buffer):
                    continue
                events.append(next_number())
                key = self.constants.key(value, dtypes[slow], device, scope)
                if key is not None and self.constants.claim(key, events[-1]) != events[-1]:
                    events.pop()
        except BaseException:
            self.constants.forget(events)
            raise
        return events or None

    def give_up(self, op: Runnable, device: Device, reason: Reason, start: Begun | None) -> None:
        """Notes that an op that began has failed."""
        if start is not None:
            self.observers.take(note_of_failure(op, device, reason, start))

    def change(self, **settings: object) -> None:
        """Changes settings by name."""
        with self._lock:
            for name, value in settings.items():
                setattr(self.settings, name, value)
            self.settle()

    def device_scope(self, name: str | None) -> Scope:
        """Returns the scope of `tf.device(name)` inside what is open now."""
        outer = SCOPE()
        if outer is not None or self._cells:
            return self._inner_scope(name, current_scope() or EMPTY)
        scopes = self._scopes
        remembered = scopes.get(name)
        if remembered is None:
            if len(scopes) > _REMEMBERED:
                scopes.clear()
            remembered = scopes[name] = self._inner_scope(name, EMPTY)
        scope = _new_scope(Scope)  # each block has its own; written out, since calls would take longer
        scope.request, scope.lane = remembered.request, remembered.lane
        scope.tape = scope.strategy = scope.replica = scope.graph = scope.outer = scope.owner = None
        scope.tapes = scope.creators = ()
        scope.names = ""
        return scope

    def _inner_scope(self, name: str | None, outer: Scope) -> Scope:
        if name is None:
            request = ANYWHERE
        else:
            request = merged(name, outer.request or self._cells.get(threading.get_ident()))
        scope = outer.with_(request=request) if outer is not EMPTY else Scope(request)
        if HERE.first is not None and scope.plain:
            scope.lane = self.lane_of(request)
        return scope

    def lane_of(self, request: Request | None) -> Device | None:
        """Returns the device whose lane may serve plain ops under a request, if any."""
        machine = self.devices
        if request is None or request.name is None:
            return HERE.first
        device = machine.by_name.get(request.name)
        return device if device is HERE.device or device in HERE.elsewhere else None

    def set_cell_device(self, name: str) -> Callable[[], None]:
        """Makes a device the outermost scope of this thread; returns the undo, which works from any thread."""
        cell = (threading.get_ident(), merged(without_cuda(name), None))
        with self._lock:
            self._use_cells([*self._opened_cells, cell])

        def undo() -> None:
            with self._lock:
                for context in {self, CURRENT.context}:  # a restart in the cell handed it on
                    context._use_cells(
                        [opened_cell for opened_cell in context._opened_cells if opened_cell is not cell]
                    )

        return undo

    def _use_cells(self, opened: list[tuple[int, Request]]) -> None:
        """Takes the cell devices that are open; the last one of a thread counts."""
        self._opened_cells, self._cells = opened, dict(opened)
        self.settle()

    def set_default_device(self, name: str | None) -> None:
        """Sends ops to a device when nothing else is asked for."""
        self.change(default_device=None if name is None else merged(without_cuda(name), None))

    def list_logical(self, device_type: str | None = None) -> list[LogicalDevice]:
        """Returns the logical devices, CPUs first."""
        return [
            LogicalDevice(device.name.removeprefix(LOCAL_TASK), device.type)
            for device in self.devices.by_name.values()
            if device_type is None or device.type == device_type
        ]

    def successor(self, keep_settings: bool) -> Context:
        """Returns a fresh context with the same observers, cell devices and simulated machine."""
        configuration = self.configuration
        machine = None if configuration.machine_from_environment else configuration.machine
        fresh = Context(machine, configuration.environ, self.settings if keep_settings else None)
        fresh.configuration.shares_simulated_gpus = configuration.shares_simulated_gpus
        fresh.observers = self.observers
        fresh.observers.belong_to(fresh.settle, fresh.deliver)
        fresh.last_recorder = self.last_recorder
        fresh._use_cells(self._opened_cells)
        if keep_settings:
            fresh.log = self.log
        return fresh

    def close(self) -> None:
        """Ends this context: its tensors can still be read, ops on them say that they are from before."""
        if self.machine is not None:
            for device in self.machine.devices:
                device.close()
        for card in LENT:
            card.memory.tell_end()
        self.deliver(self.observers.boxes)


class _Current:
    """The one context in use."""

    __slots__ = ("context",)

    context: Context


CURRENT = _Current()
CURRENT.context = Context()


def open_graph() -> Any:
    """Returns the graph of the innermost open block, or the default one; None where ops run at once."""
    scope = SCOPE() and current_scope()
    if scope is not None and (scope.graph is not None or scope.at_once):
        return None if getattr(scope.graph, "runs_at_once", False) else scope.graph
    default = CURRENT.context.default_graph
    return None if default is None else default()


def install(context: Context) -> None:
    """Makes a context the one in use."""
    with Context._lock:
        CURRENT.context = context
        HERE.device, HERE.first = None, None
        HERE.elsewhere = HERE.recorded = frozenset()
        context.settle()


@contextmanager
def use_context(context: Context) -> Generator[Context]:
    """Uses another context inside a `with`; what was in use before comes back afterwards."""
    previous = CURRENT.context
    install(context)
    try:
        yield context
    finally:
        install(previous)
