"""How is the machine set up: simulated GPUs, a fresh start, kernels compiled in advance?"""

from __future__ import annotations

import sys
from collections.abc import Sequence
from time import perf_counter

from nbtf._counts import counted
from nbtf._devices import backends, discovery
from nbtf._devices.discovery import sentence_of
from nbtf._devices.first_use import Compiling
from nbtf._devices.lent import LENT
from nbtf._devices.links import DEFAULT_NETWORK
from nbtf._devices.machines import Simulated, simulated_cluster, simulated_machine
from nbtf._own_name import own_name
from nbtf._runtime.cluster import disconnect
from nbtf._runtime.context import CURRENT, install
from nbtf._runtime.device import placed
from nbtf._runtime.inventory import matching_device
from nbtf._runtime.placement import CALLED


class _Sentence(str):
    """A string that has already been printed, so a notebook does not show it a second time."""

    __slots__ = ()

    def _ipython_display_(self) -> None:
        """Shows nothing more."""


def simulate_gpus(
    n: int,
    model: str | None = None,
    memory: str | float | None = None,
    if_missing: bool = False,
    frameworks: str | Sequence[str] | None = None,
) -> _Sentence:
    """Gives this process simulated GPUs: NumPy arrays with the memory, limits and names of real cards.

    Placement, memory accounts and error messages are those of the cards; nothing runs faster. Call it before the
    devices are in use; later calls must request the current machine. `CUDA_VISIBLE_DEVICES` is respected.

    Processes that this one starts later, such as workers of `multiprocessing`, get the same machine through
    `NBTF_SIMULATED_GPUS` unless they call this function themselves. A fork server keeps the machine that was set when
    it started.

    Args:
      n: number of GPUs; 0 removes them.
      model: a known card, such as `"Tesla K20m"` or `"H100"`; None for a Tesla V100-SXM2-16GB.
      memory: memory of each card, as a string such as `"5GiB"` or a number of MiB; None for the model's own.
      if_missing: uses real cards if there are at least `n`; `model` and `memory` are then ignored.
      frameworks: other libraries that get the same GPUs, imported or not: `"torch"`, whose `cuda:k` is then `GPU:k`;
        None uses the value of `NBTF_SIMULATE`.

    Returns:
      A sentence that describes the simulated or real cards; it is also printed.

    Raises:
      ValueError: if the card is unknown, or a number is invalid.
      RuntimeError: if the devices are in use; call `tf.runtime.restart()` first.
      NotImplementedError: if the GPUs of this build of PyTorch cannot be simulated.

    >>> tf.runtime.restart()
    >>> _ = tf.runtime.simulate_gpus(2, model="Tesla K20m")
    2 simulated GPUs (Tesla K20m, 5 GiB each): NumPy on this computer's CPU. No GPU is used.
    >>> tf.constant([1.0]).device
    '/job:localhost/replica:0/task:0/device:GPU:0'
    """
    from nbtf._frameworks import simulating  # imported late: `import nbtf` does not need it

    machine = simulated_machine(n, model, memory)
    configuration = CURRENT.context.configuration
    if frameworks is None:
        libraries = simulating.libraries_from_environment(configuration.environ)
    else:
        libraries = simulating.simulated_libraries(frameworks)
    cards = discovery.real_cards(configuration.environ) if if_missing and n else ()
    has_enough_cards = len(cards) >= n and cards
    _use(simulated_machine(0) if has_enough_cards else machine, "simulate_gpus")
    simulating.share_simulated_gpus(() if has_enough_cards else libraries, configuration)
    text = sentence_of(cards) if has_enough_cards else machine.sentence()
    if libraries and n and not has_enough_cards:
        text += f" {simulating.names_of_devices(libraries, n)}"
    return _printed_sentence(text)


def simulate_cluster(
    hosts: int, gpus: int, model: str | None = None, link: str = DEFAULT_NETWORK, memory: str | float | None = None
) -> _Sentence:
    """Gives this process a cluster of simulated hosts, with tasks, GPU memory and modelled times between hosts.

    The hosts are the tasks of the job `worker`: `/job:worker/replica:0/task:1/device:GPU:0` is the first card of the
    second host. Each host also has a CPU. This process remains `/job:localhost`, as after TensorFlow's
    `tf.config.experimental_connect_to_cluster`: it has a CPU and no GPU, ops run there unless another device is
    requested, and `tf.config.list_physical_devices` lists nothing else. No process or thread is started.

    Within a host, cards are linked by NVLink if their model has it, otherwise by the bus. Copies between hosts take the
    time of `link` and are marked `modelled`, because their times are calculated, not measured.

    Args:
      hosts: number of hosts.
      gpus: number of GPUs per host.
      model: a known card, such as `"H100"`; None for a Tesla V100-SXM2-16GB.
      link: the network speed of one host in one direction: `"100Gb/s"` (bits), `"12.5GB/s"` (bytes), `"25Gb/s 50us"`
        with a latency, or a name such as `"InfiniBand NDR"`.
      memory: memory of each card, as a string such as `"5GiB"` or a number of MiB; None for the model's own.

    Returns:
      A sentence that describes the simulated cluster; it is also printed.

    Raises:
      ValueError: if the card or the link is unknown, or a number is invalid.
      RuntimeError: if the devices are in use; call `tf.runtime.restart()` first.

    >>> tf.runtime.restart()
    >>> sentence = tf.runtime.simulate_cluster(hosts=2, gpus=2, model="H100", link="100Gb/s")
    2 simulated hosts, 4 simulated GPUs (NVIDIA H100 80GB HBM3, 79.6 GiB each), 100Gb/s between hosts: ...
    >>> with tf.device("/job:worker/task:1/GPU:0"):
    ...     x = tf.ones([2])
    >>> x.device
    '/job:worker/replica:0/task:1/device:GPU:0'
    >>> tf.runtime.restart()
    >>> _ = tf.runtime.simulate_gpus(0)
    No simulated GPUs.
    """
    from nbtf._frameworks.simulating import share_simulated_gpus  # imported late

    cluster = simulated_cluster(hosts, gpus, model, link, memory)
    _use(cluster, "simulate_cluster")
    share_simulated_gpus((), CURRENT.context.configuration)  # other libraries cannot use several hosts
    return _printed_sentence(cluster.sentence())


def _use(machine: Simulated, function: str) -> None:
    """Sets the machine before first use; afterwards the same machine must be given, because a cell may run again."""
    configuration = CURRENT.context.configuration
    if not configuration.frozen:
        configuration.use(machine)
        backends.load("simulated")
    elif configuration.machine != machine:
        raise RuntimeError(
            f"Simulated GPUs cannot be modified after being initialized. Call {own_name()}.runtime.restart() first, "
            f"or {function} before the first op."
        )


def _printed_sentence(text: str) -> _Sentence:
    sentence = _Sentence(text)
    is_script = sys.stdout is sys.__stdout__ and not getattr(sys, "ps1", sys.flags.interactive)
    stream = sys.stderr if is_script else sys.stdout  # another program may read what a script prints
    print(sentence, file=stream)  # users must see what is simulated
    return sentence


def restart(keep_settings: bool = False) -> None:
    """Restarts the runtime, as in a new process: devices can be configured again.

    Observers, the device of the running cell and the simulated machine are kept; environment variables are read again.
    Existing tensors and variables can still be read, but using one in an op raises `FailedPreconditionError`. Sessions
    with tasks of a cluster end: their tensors are lost, and reading one raises `AbortedError`.

    Args:
      keep_settings: keeps soft placement, the placement log, the default device and similar settings.

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
    disconnect(previous)
    previous.close()
    for _, taker in CURRENT.context.observers.note_takers:
        taker.begin_machine()
    for card in LENT:  # memory that another library holds there is not freed by a restart
        card.memory.tell_beginning()


def warmup(device: str | None = None, ops: str | Sequence[str] = "core") -> _Sentence:
    """Runs common ops once, so that a real GPU compiles their kernels before a cell has to wait for them.

    CuPy compiles a kernel when an op is first used with some dtypes and ranks, and stores it in a folder for later
    processes.

    Args:
      device: the device to warm up; None for the device that ops run on by default.
      ops: `"core"`, or some of its groups: `elementwise`, `reductions`, `products`, `parts`, `casts`, `random`,
        `variables`.

    Returns:
      A sentence with the result; it is also printed.

    Raises:
      TypeError: if `ops` does not consist of names.
      ValueError: if the device or a group does not exist.

    >>> _ = tf.runtime.warmup("CPU:0")
    CPU:0 compiles no kernels: there is nothing to warm up.
    """
    from nbtf._ops.warming import chosen

    groups = chosen(ops)
    machine = CURRENT.context.devices
    target = machine.first if device is None else matching_device(device, machine.devices)
    first_use = target.first_use
    if first_use is None:
        suffix = " (simulated)" if target.simulated else ""
        sentence = _Sentence(f"{target.short_name}{suffix} compiles no kernels: there is nothing to warm up.")
    else:
        count_before, started = len(first_use.seen), perf_counter()
        with placed(target.name, CALLED), first_use.expected():
            for group in groups.values():
                group()
            target.synchronize()
        new, seconds = len(first_use.seen) - count_before, perf_counter() - started
        sentence = _Sentence(
            f"{target.short_name}: {counted(new, 'op variant')} used for the first time, {seconds:.1f} s."
        )
    print(sentence)  # noqa: T201  # the user has waited for it
    return sentence


def compiling() -> list[Compiling]:
    """Returns the GPUs that are compiling kernels right now: device, op and seconds so far.

    Meant for views, which run in a different thread from the one that waits.

    >>> tf.runtime.compiling()
    []
    """
    compilations = [gpu.first_use.now() for gpu in CURRENT.context.gpus.made if gpu.first_use is not None]
    return [compilation for compilation in compilations if compilation is not None]
