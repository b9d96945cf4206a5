"""`tf.runtime`, nbtf's own namespace: simulated GPUs, what the runtime is doing, and a fresh start."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from os import PathLike
from time import perf_counter
from typing import TYPE_CHECKING, ClassVar

from nbtf._devices import discovery
from nbtf._devices.discovery import sentence_of, simulated_machine
from nbtf._devices.first_use import Compiling as Compiling
from nbtf._devices.names import short_name as short_name
from nbtf._devices.names import without_cuda as without_cuda
from nbtf._devices.nvml import CardMonitor as CardMonitor
from nbtf._devices.nvml import CardProcess as CardProcess
from nbtf._devices.nvml import CardReading as CardReading
from nbtf._devices.processes import ProcessOwner as ProcessOwner
from nbtf._devices.processes import process_owner as process_owner
from nbtf._devices.sites import WORDING
from nbtf._ops.linalg.products import matmul
from nbtf._public import public_names as _public_names
from nbtf._runtime.blocks import end_cell as end_cell
from nbtf._runtime.changes import Change, block
from nbtf._runtime.context import CURRENT, install
from nbtf._runtime.density import Densities as Densities
from nbtf._runtime.density import Density as Density
from nbtf._runtime.device import device as _device_scope
from nbtf._runtime.events import Allocated as Allocated
from nbtf._runtime.events import Copied as Copied
from nbtf._runtime.events import Event as Event
from nbtf._runtime.events import Freed as Freed
from nbtf._runtime.events import Label as Label
from nbtf._runtime.events import OpExecuted as OpExecuted
from nbtf._runtime.events import OpPlaced as OpPlaced
from nbtf._runtime.events import OutputSpec as OutputSpec
from nbtf._runtime.events import Reason as Reason
from nbtf._runtime.events import Refused as Refused
from nbtf._runtime.events import Rule as Rule
from nbtf._runtime.events import Site as Site
from nbtf._runtime.events import Traced as Traced
from nbtf._runtime.expectations import Account, accounts, check_memory, check_placement, memory_use
from nbtf._runtime.expectations import ExpectationError as ExpectationError
from nbtf._runtime.expectations import MemoryUse as MemoryUse
from nbtf._runtime.expectations import copies_of_tensors as copies_of_tensors
from nbtf._runtime.expectations import exact as exact
from nbtf._runtime.expectations import size_in_bytes as size_in_bytes
from nbtf._runtime.explanation import Explanation as Explanation
from nbtf._runtime.explanation import explain_placement as explain_placement
from nbtf._runtime.fitting import Fit as Fit
from nbtf._runtime.fitting import fit_of_device, started_maps
from nbtf._runtime.holding import Holding as Holding
from nbtf._runtime.holding import holding as holding
from nbtf._runtime.inventory import DeviceInfo as DeviceInfo
from nbtf._runtime.inventory import MemoryMap as MemoryMap
from nbtf._runtime.inventory import devices as devices
from nbtf._runtime.inventory import memory_map as memory_map
from nbtf._runtime.inventory import memory_pieces as memory_pieces
from nbtf._runtime.inventory import physical_devices as physical_devices
from nbtf._runtime.lines import Lines as Lines
from nbtf._runtime.log_styles import STYLES
from nbtf._runtime.placement import in_words as in_words
from nbtf._runtime.recorder import Recorder as Recorder
from nbtf._runtime.recorder import Scene as Scene
from nbtf._runtime.recorder import Snapshot as Snapshot
from nbtf._runtime.replay import MemoryReplay as MemoryReplay
from nbtf._runtime.work import Fact as Fact
from nbtf._runtime.work import Work as Work

if TYPE_CHECKING:
    from nbtf._devices.bfc.report import RegionView
    from nbtf._frameworks.base import Arrays as Arrays
    from nbtf._frameworks.base import Card as Card
    from nbtf._frameworks.base import Framework
    from nbtf._runtime.gpu_use import GpuUse


version = "1.0.0"
"""The version of nbtf; `tf.__version__` is that of the TensorFlow whose behaviour it follows."""


def __dir__() -> list[str]:
    return _public_names(__name__)


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
    in use yet, but for a call that asks for the machine that is there. `CUDA_VISIBLE_DEVICES` is obeyed.

    What this process starts from then on, such as the workers of `multiprocessing`, finds the same machine, unless it
    calls this function itself: it is handed on in `NBTF_SIMULATED_GPUS`. A fork server keeps the machine of the moment
    when it started.

    Args:
      n: how many; 0 removes them.
      model: a known card, such as `"Tesla K20m"` or `"H100"`; Tesla V100-SXM2-16GB when None.
      memory: of each card instead of its own: a text such as `"5GiB"`, or a number of MiB.
      if_missing: uses real cards if there are at least `n`; `model` and `memory` are of no interest then.

    Returns:
      One sentence that says what was simulated, or which real cards are used; it is printed as well.

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
    configuration = CURRENT.context.configuration
    cards = discovery.real_cards(configuration.environ) if if_missing and n else ()
    has_enough_cards = len(cards) >= n and cards
    target_machine = simulated_machine(0) if has_enough_cards else machine
    if not configuration.frozen:
        configuration.use(target_machine)
    elif configuration.machine != target_machine:  # a cell that runs again asks for the machine that is there
        raise RuntimeError(
            "Simulated GPUs cannot be modified after being initialized. Call tf.runtime.restart() first, "
            "or simulate_gpus before the first op."
        )
    sentence = _Sentence(sentence_of(cards) if has_enough_cards else machine.sentence())
    print(sentence)  # noqa: T201  # what is simulated must be seen
    return sentence


def restart(keep_settings: bool = False) -> None:
    """Starts the runtime afresh, as a new process would: devices can be configured again.

    Observers, the device of the running cell and the simulated machine stay; environment variables are read again.
    Tensors and variables from before can still be read; an op on one raises `FailedPreconditionError`.

    Args:
      keep_settings: keeps soft placement, the placement log, the default device and the like.

    >>> _ = tf.runtime.simulate_gpus(2, model="Tesla K20m")
    2 simulated GPUs (Tesla K20m, 5 GiB each): NumPy on this computer's CPU. No GPU is used.
    >>> x = tf.constant(1.0)
    >>> tf.runtime.restart()
    >>> _ = tf.runtime.simulate_gpus(1)
    1 simulated GPU (Tesla V100-SXM2-16GB, 16 GiB): NumPy on this computer's CPU. No GPU is used.
    >>> len(tf.config.list_physical_devices("GPU"))
    1
    """
    previous = CURRENT.context
    install(previous.successor(keep_settings))
    previous.close()
    for _, taker in CURRENT.context.observers.note_takers:
        taker.begin_machine()


# Kernels of real GPUs


def warmup(device: str | None = None, ops: str | Sequence[str] = "core") -> _Sentence:
    """Runs common ops once, so that a real GPU has compiled their kernels before a cell has to wait for them.

    CuPy compiles a kernel at the first use of an op with some dtypes and ranks, and keeps it in a folder for the next
    process.

    Args:
      device: where; the device that plain ops go to when None.
      ops: `"core"`, or some of its groups: `elementwise`, `reductions`, `products`, `parts`, `casts`, `random`,
        `variables`.

    Returns:
      One sentence that says what was done; it is printed as well.

    Raises:
      ValueError: there is no such device or group.

    >>> _ = tf.runtime.warmup("CPU:0")
    CPU:0 compiles no kernels: there is nothing to warm up.
    """
    from nbtf._ops.warming import chosen

    groups = chosen(ops)
    machine = CURRENT.context.devices
    matches = [gpu for gpu in machine.devices if device and without_cuda(device) in (gpu.name, gpu.short_name)]
    if device is not None and not matches:
        raise ValueError(f"No matching devices found for '{device}'")
    target = matches[0] if matches else machine.first
    first_use = target.first_use
    if first_use is None:
        suffix = " (simulated)" if target.simulated else ""
        sentence = _Sentence(f"{target.short_name}{suffix} compiles no kernels: there is nothing to warm up.")
    else:
        count_before, started = len(first_use.seen), perf_counter()
        with _device_scope(target.name), first_use.expected():
            for group in groups.values():
                group()
            target.synchronize()
        new, seconds = len(first_use.seen) - count_before, perf_counter() - started
        sentence = _Sentence(f"{target.short_name}: {new} uses of ops were new, {seconds:.1f} s.")
    print(sentence)  # noqa: T201  # it may have taken a while
    return sentence


def compiling() -> list[Compiling]:
    """Returns the GPUs that are compiling kernels at this moment: device, op and seconds so far.

    A look, for views in another thread than the one that waits.

    >>> tf.runtime.compiling()
    []
    """
    compilations = [gpu.first_use.now() for gpu in CURRENT.context.gpus.made if gpu.first_use is not None]
    return [compilation for compilation in compilations if compilation is not None]


def set_default_device(name: str | None) -> None:
    """Sends ops to a device when no `tf.device` is open; None goes back to TensorFlow's rule.

    Args:
      name: as for `tf.device`, and `cuda:1` for `GPU:1`; it is completed from CPU:0.

    Raises:
      ValueError: not a device string.

    >>> _ = tf.runtime.simulate_gpus(2, model="Tesla K20m")
    2 simulated GPUs (Tesla K20m, 5 GiB each): NumPy on this computer's CPU. No GPU is used.
    >>> tf.runtime.set_default_device("GPU:1")
    >>> tf.constant(1.0).device
    '/job:localhost/replica:0/task:0/device:GPU:1'
    >>> tf.runtime.set_default_device(None)
    """
    CURRENT.context.set_default_device(name)


def get_default_device() -> str | None:
    """Returns the full name of the device set by `set_default_device`; None where TensorFlow's rule holds.

    >>> tf.runtime.set_default_device("CPU:0")
    >>> tf.runtime.get_default_device()
    '/job:localhost/replica:0/task:0/device:CPU:0'
    """
    request = CURRENT.context.settings.default_device
    return None if request is None else request.name


def placement_log_style(style: str | None = None) -> str | None:
    """Says how sessions print where nodes are placed; the names are those of releases that printed it so.

    The form is that of `tf.compat.v1` sessions with `log_device_placement`; it can be changed at any time. Old forms
    name a simulated card as the release would have named a real one.

    Args:
      style: `"2.21"`, the form of today. `"1.4"`: that of 1.4 to 1.15, nodes in the order in which a graph was rebuilt.
        `"1.0"`: that of 1.0 to 1.3, with devices spelled `/gpu:0`. `"0.12"`: that of 0.5 to 0.12, without op types.
        None changes nothing.

    Returns:
      The style in use where none was given, else None.

    Raises:
      ValueError: another style.

    >>> tf.runtime.placement_log_style("0.12")
    >>> tf.runtime.placement_log_style()
    '0.12'
    >>> tf.runtime.placement_log_style("2.21")
    """
    context = CURRENT.context
    if style is None:
        return context.settings.placement_log_style
    if style not in STYLES:
        raise ValueError(f"A placement log style is one of {', '.join(map(repr, STYLES))}. Got {style!r}")
    context.settings.placement_log_style = style
    return None


def cell_device(name: str) -> Callable[[], None]:
    """Makes a device the outermost `tf.device` of this thread, until the returned function is called.

    For front ends: unlike a `with` it survives what a notebook does between the parts of a cell.

    Args:
      name: a device string as for `tf.device`, or `cuda:1` for `GPU:1`.

    Returns:
      The undo; it may be called from another thread, and after a restart.

    Raises:
      TypeError: not a text.
      ValueError: not a device string; nothing has changed.

    >>> _ = tf.runtime.simulate_gpus(2, model="Tesla K20m")
    2 simulated GPUs (Tesla K20m, 5 GiB each): NumPy on this computer's CPU. No GPU is used.
    >>> undo = tf.runtime.cell_device("GPU:1")
    >>> tf.constant(1.0).device
    '/job:localhost/replica:0/task:0/device:GPU:1'
    >>> undo()
    """
    if not isinstance(name, str):  # pyright: ignore[reportUnnecessaryIsInstance]  # users do give device objects
        raise TypeError(f'cell_device takes a device string such as "GPU:1", got {name!r}')
    return CURRENT.context.set_cell_device(name)


# What happens


def observe(observer: Callable[[Event], object]) -> Callable[[], None]:
    """Has a function told of every event, until the returned function is called.

    Events are plain data (`OpPlaced`, `OpExecuted`, `Copied`, `Allocated`, `Freed`, `Refused`, `Traced`) and keep no
    tensor alive. Ops that the observer runs are not reported. An observer that raises is removed, with a warning.

    Raises:
      TypeError: not a function.

    >>> seen = []
    >>> stop = tf.runtime.observe(seen.append)
    >>> c = tf.add(1.0, 2.0)
    >>> stop()
    >>> [event.op for event in seen if isinstance(event, tf.runtime.OpPlaced)]
    ['_EagerConst', '_EagerConst', 'AddV2']
    """
    if not callable(observer):
        raise TypeError(f"observe takes a function of one event, got {observer!r}")
    return CURRENT.context.observers.add(observer)


class Recording:
    """What `recording()` took down; it stays readable after the block.

    >>> with tf.runtime.recording() as record:
    ...     c = tf.add(1.0, 2.0)
    >>> record
    Recording: 3 ops, 0 copies
    >>> record.ops
    [('_EagerConst', 'CPU:0'), ('_EagerConst', 'CPU:0'), ('AddV2', 'CPU:0')]
    """

    _page_writer: ClassVar[Callable[[Recording, str | PathLike[str]], None]]
    """Saves a page. Set from above: the runtime does not know the views."""

    def __init__(self, recorder: Recorder) -> None:
        """Wraps a recorder that listens from now on.

        Raises:
          TypeError: it is no recorder.
        """
        if not isinstance(recorder, Recorder):  # pyright: ignore[reportUnnecessaryIsInstance]  # whatever a caller has
            raise TypeError(f"Recording takes a tf.runtime.Recorder, got {recorder!r}")
        self._recorder = recorder
        from nbtf._frameworks.watching import FrameworkWatch  # late: `import nbtf` does without it

        self._before = accounts()
        self._maps = started_maps()
        self._last = recorder.snapshot(0)
        self._after: dict[str, Account] | None = None
        self.watch: FrameworkWatch = FrameworkWatch()

    def __repr__(self) -> str:
        """Returns how much was taken down; a notebook with the extension draws a timeline."""
        totals = self._recorder.snapshot(0)
        ops, copies = totals.executed, sum(totals.copies.values())
        return f"Recording: {ops:,} {'op' if ops == 1 else 'ops'}, {copies:,} {'copy' if copies == 1 else 'copies'}"

    def finish(self) -> None:
        """Notes what is in use now: `memory` stays as it is when the block is over.

        >>> _ = tf.runtime.simulate_gpus(1, memory="1GiB")
        1 simulated GPU (Tesla V100-SXM2-16GB, 1 GiB): NumPy on this computer's CPU. No GPU is used.
        >>> with tf.runtime.recording() as record:
        ...     x = tf.fill([1000], 1.0)
        >>> record.finish()
        >>> del x
        >>> record.memory[0].kept
        4096
        """
        self.watch.stop()
        self._after = accounts()

    def snapshot(self, last: int | None = None) -> Snapshot:
        """Returns totals and the last events.

        >>> with tf.runtime.recording() as record:
        ...     c = tf.add(1.0, 2.0)
        >>> record.snapshot().executed
        3
        """
        return self._recorder.snapshot(last)

    @property
    def events(self) -> Sequence[Event]:
        """The events, the oldest first, made when they are looked at; the recorder's capacity bounds them.

        >>> with tf.runtime.recording() as record:
        ...     c = tf.add(1.0, 2.0)
        >>> [type(event).__name__ for event in record.events[-2:]]
        ['OpPlaced', 'OpExecuted']
        """
        return self._recorder.snapshot().events

    @property
    def ops(self) -> list[tuple[str, str]]:
        """The ops that were placed, in order, each with the short name of its device.

        >>> with tf.runtime.recording() as record:
        ...     c = tf.add(1.0, 2.0)
        >>> record.ops
        [('_EagerConst', 'CPU:0'), ('_EagerConst', 'CPU:0'), ('AddV2', 'CPU:0')]
        """
        return [(e.op, short_name(e.device)) for e in self.events if isinstance(e, OpPlaced)]

    @property
    def copies(self) -> list[tuple[str, str, int]]:
        """The copies between devices: source, target, bytes.

        >>> _ = tf.runtime.simulate_gpus(1, memory="1GiB")
        1 simulated GPU (Tesla V100-SXM2-16GB, 1 GiB): NumPy on this computer's CPU. No GPU is used.
        >>> with tf.runtime.recording() as record:
        ...     total = float(tf.constant(1.0) + tf.fill([], 2.0))
        >>> record.copies[-1]
        ('GPU:0', 'CPU:0', 4)
        """
        return [(short_name(e.source), short_name(e.target), e.nbytes) for e in self.events if isinstance(e, Copied)]

    @property
    def traces(self) -> list[Traced]:
        """The functions that `tf.function` has traced, in order, each with what was new if it was traced before.

        >>> @tf.function
        ... def double(x):
        ...     return tf.add(x, x)
        >>> with tf.runtime.recording() as record:
        ...     results = double(tf.constant(1.0)), double(tf.constant(1))
        >>> [(trace.cause, trace.arguments) for trace in record.traces]
        [('first', ('x: float32[]',)), ('arguments', ('x: int32[]',))]
        """
        return list(self._recorder.snapshot(0).traces)

    @property
    def memory(self) -> list[MemoryUse]:
        """What happened to the memory of each GPU since the recording began, in bytes.

        Of PyTorch, CuPy and JAX, where they are imported, there is an entry for each card that they have begun to use.

        >>> _ = tf.runtime.simulate_gpus(1, memory="1GiB")
        1 simulated GPU (Tesla V100-SXM2-16GB, 1 GiB): NumPy on this computer's CPU. No GPU is used.
        >>> with tf.runtime.recording() as record:
        ...     x = tf.fill([1000], 1.0)
        >>> [(use.label, use.peak, use.kept) for use in record.memory]
        [('GPU:0 (simulated)', 5632, 4096)]
        """
        uses = memory_use(self._recorder.snapshot(0), self._before, self._after or accounts())
        return uses + self.watch.memory()

    def to_html(self, path: str | PathLike[str]) -> None:
        """Saves what was taken down as one HTML file, which opens without a kernel, a server or a network.

        It has a timeline and, of simulated GPUs, the memory step by step: what was where, and what did not fit.
        Its words are in the language that `NBTF_LANG` asks for, else in English.

        Args:
          path: the file; one that is there is replaced when the new one is complete.

        Raises:
          ValueError: nothing ran.
          OSError: the file cannot be written.

        >>> import pathlib, tempfile
        >>> with tf.runtime.recording() as record:
        ...     c = tf.matmul([[1.0]], [[2.0]])
        >>> file = pathlib.Path(tempfile.mkdtemp(), "step.html")
        >>> record.to_html(file)
        >>> file.read_text(encoding="utf-8")[:15]
        '<!doctype html>'
        """
        type(self)._page_writer(self, path)

    def fits(
        self,
        limit: int | str | None = None,
        without: Iterable[Allocated] | Mapping[Allocated, int] = (),
        device: str = "GPU:0",
    ) -> Fit:
        """Tries whether the memory that was asked for would fit: all requests go once more through the allocator.

        What was in use before the recording is laid out as it was then. Requests that were refused count too; where
        one fits now, its memory stays taken to the end.

        Args:
          limit: of the device, `"54MiB"` or a number of bytes; its own when None.
          without: pieces that are freed earlier, as the events that told of them: before the first request that was
            refused (if none was, as soon as they are there), or before the event with the number that a mapping has.
          device: a simulated GPU.

        Returns:
          What is true if all fit; with the peak, and the requests that do not fit.

        Raises:
          ValueError: there is no such simulated GPU, or not a size, or the recording has lost its first events.

        >>> tf.runtime.restart()
        >>> _ = tf.runtime.simulate_gpus(1, memory="64MiB")
        1 simulated GPU (Tesla V100-SXM2-16GB, 64 MiB): NumPy on this computer's CPU. No GPU is used.
        >>> with tf.runtime.recording() as record:
        ...     x = tf.zeros([2**22])
        ...     y = x + 1.0
        >>> bool(record.fits("40MiB")), bool(record.fits("30MiB"))
        (True, False)
        """
        snapshot = self.snapshot()
        if snapshot.cut:
            raise ValueError(
                f"The first {snapshot.cut:,} events are no longer kept: recording(capacity=...) keeps more."
            )
        if snapshot.heard != self._last.heard:
            self._last = snapshot  # it keeps what is read of it
        bytes_limit = None if limit is None else size_in_bytes(limit)
        return fit_of_device(self._last, self._maps, without_cuda(device), bytes_limit, without)

    def regions_before(self, device: str = "GPU:0") -> tuple[RegionView, ...]:
        """Returns what `memory_map` told of a simulated GPU when the recording began; nothing if it was not in use.

        Args:
          device: a name.

        >>> _ = tf.runtime.simulate_gpus(1, memory="1GiB")
        1 simulated GPU (Tesla V100-SXM2-16GB, 1 GiB): NumPy on this computer's CPU. No GPU is used.
        >>> x = tf.fill([1000], 1.0)
        >>> with tf.runtime.recording() as record:
        ...     del x
        >>> [chunk.size for region in record.regions_before() for chunk in region.chunks if chunk.in_use]
        [1280, 4096]
        """
        maps = [regions for name, (_, regions) in self._maps.items() if short_name(name) == short_name(device)]
        return tuple(maps[0]) if maps else ()

    def expect(self, *rules: str, no_copies: bool = False, without: Collection[str] = ()) -> None:
        """Checks where ops ran. What other libraries ran is not recorded, so with them in the block the check fails.

        Args:
          *rules: each `OP=DEVICE`, such as `"MatMul=GPU:1"`: all ops of that type ran there, and one did at least. The
            op may be a pattern: `"*MatMul"`.
          no_copies: whether copies of tensors between devices are wrong too. Python values that become tensors on a
            device are no copies.
          without: libraries to leave out of the check: `"torch"`, `"cupy"`, `"jax"`.

        Raises:
          ExpectationError: an `AssertionError`; its text compares what was expected with what was seen, and says why.
          ValueError: a text is no rule, or no library.

        >>> with tf.runtime.recording() as record:
        ...     c = tf.matmul([[1.0]], [[2.0]])
        >>> record.expect("MatMul=CPU:0", no_copies=True)
        """
        unrecorded = self.watch.unrecorded(without)
        check_placement(self._recorder.snapshot(), rules, no_copies, WORDING.describe, unrecorded)

    def expect_memory(
        self, at_most: int | str | None = None, kept: int | str | None = None, without: Collection[str] = ()
    ) -> None:
        """Checks what happened to the memory of the GPUs, that of PyTorch, CuPy and JAX on real ones included.

        Args:
          at_most: the highest peak of any GPU: `"512MiB"`, or a number of bytes.
          kept: how much more than before may be in use at the end; 0 when everything must be freed.
          without: libraries to leave out of the check: `"torch"`, `"cupy"`, `"jax"`.

        Raises:
          ExpectationError: an `AssertionError`; its text compares what was expected with what was seen, and names
            libraries whose memory could not be asked for.
          ValueError: not a size, or no library.

        >>> _ = tf.runtime.simulate_gpus(1, memory="1GiB")
        1 simulated GPU (Tesla V100-SXM2-16GB, 1 GiB): NumPy on this computer's CPU. No GPU is used.
        >>> with tf.runtime.recording() as record:
        ...     x = tf.fill([1000], 1.0)
        >>> record.expect_memory(at_most="1MiB")
        """
        unmeasured = self.watch.unmeasured(without)
        left_out = {library.name for library in frameworks() if library.module_name in without}
        check_memory([use for use in self.memory if use.library not in left_out], at_most, kept, unmeasured)


def frameworks() -> list[Framework]:
    """Returns the array libraries that this process has imported (PyTorch, CuPy, JAX), each with what it tells.

    A library has a `name` and tells its `cards()`, its `pools()` of memory on them in bytes, and what its `arrays()`
    are. A look: it imports nothing and starts no card.

    >>> [library.name for library in tf.runtime.frameworks() if library.module_name == "no such library"]
    []
    """
    from nbtf._frameworks import frameworks as imported  # late: `import nbtf` does without it

    return imported()


@block
def recording(capacity: int = 1_000_000) -> Change[Recording]:
    """Records what happens in a block, whatever happened before: constants of numbers are told of anew.

    Args:
      capacity: how many events are kept; totals count all of them.

    Raises:
      TypeError: `capacity` is not a whole number.
      ValueError: `capacity` is less than 0.

    >>> with tf.runtime.recording() as record:
    ...     c = tf.matmul([[1.0]], [[2.0]])
    >>> record.ops[-1]
    ('MatMul', 'CPU:0')
    """
    recorder = Recorder(capacity)
    record, observers, ends = Recording(recorder), CURRENT.context.observers, list[Callable[[], None]]()

    def write(listens: bool) -> None:
        if listens:
            observers.add_note_taker(recorder)
            ends.append(CURRENT.context.constants.begin_anew())
            record.watch.start()
            return
        try:
            for end in ends:
                end()
            record.finish()
        finally:
            observers.remove_note_taker(recorder)
            CURRENT.context.last_recorder = recorder

    return Change("tf.runtime.recording", write, False, True, record)


def start_recorder(recorder: Recorder) -> Callable[[], None]:
    """Has a recorder listen until the returned function is called; `explain_placement` looks into it.

    >>> recorder = tf.runtime.Recorder()
    >>> stop = tf.runtime.start_recorder(recorder)
    >>> c = tf.add(1.0, 2.0)
    >>> stop()
    >>> recorder.snapshot().placed
    3
    """
    remove = CURRENT.context.observers.add_note_taker(recorder)

    def stop() -> None:
        remove()
        CURRENT.context.last_recorder = recorder  # and no more than the last: each may keep 48 MB

    return stop


def is_gpu_in_use() -> GpuUse:
    """Tells whether a GPU is used, and if not, why: listed, visible, used by the last op, real, faster.

    Of the ops that were recorded the last one counts; where none was, a small product is computed. Whether a real GPU
    is faster is measured, with matrices of 1024 x 1024; a simulated one is NumPy on the CPU.

    Returns:
      What is true only where a real GPU is used, and prints as a sentence with a line for each question.

    >>> tf.runtime.restart()
    >>> _ = tf.runtime.simulate_gpus(1)
    1 simulated GPU (Tesla V100-SXM2-16GB, 16 GiB): NumPy on this computer's CPU. No GPU is used.
    >>> with tf.runtime.recording():
    ...     _ = tf.matmul([[1.0]], [[2.0]])
    >>> tf.runtime.is_gpu_in_use()
    No: MatMul ran on GPU:0, which is simulated (NumPy on this CPU)
      listed  yes  1 simulated GPU
      visible yes  this process uses 1 of them
      used    yes  MatMul ran on GPU:0: lowest-numbered GPU
      real    no   MatMul ran on GPU:0, which is simulated (NumPy on this CPU)
      faster  –    not asked
    """
    from nbtf._ops.gpu_comparison import compared_with_cpu  # late: few programs ask
    from nbtf._runtime.gpu_use import gpu_use

    return gpu_use(_small_product, compared_with_cpu)


def _small_product() -> None:
    with recording(10):
        matmul([[1.0]], [[2.0]])


def tell_code_lines(told: Callable[[Site], str]) -> Callable[[], None]:
    """Has errors and explanations tell code lines in other words, until the returned function is called.

    For front ends: a notebook calls the place `cell 4, line 2`, and not by the name of a file that nobody has made.

    Args:
      told: is given file and line, or None, and returns words.

    >>> undo = tf.runtime.tell_code_lines(lambda site: "step 3")
    >>> with tf.runtime.recording():
    ...     c = tf.add(1.0, 2.0)
    >>> str(tf.runtime.explain_placement(c)).splitlines()[-1]
    'code:      step 3'
    >>> undo()
    """
    previous = WORDING.describe
    WORDING.describe = told

    def undo() -> None:
        if WORDING.describe is told:
            WORDING.describe = previous

    return undo
