"""The GPUs of a process: created once, numbered permanently. The code that starts one sets its memory options."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Mapping, Sequence
from itertools import count
from typing import Any, NamedTuple

from nbtf._devices.backends import MemoryOptions, MemoryRequest, backend_of
from nbtf._devices.base import GPU
from nbtf._devices.cards import PhysicalGPU
from nbtf._own_name import own_name
from nbtf._runtime.configuration import Configuration, LogicalDeviceConfiguration, PhysicalDevice
from nbtf.errors import AlreadyExistsError


class LogicalGPU(NamedTuple):
    """A logical GPU to create: its physical GPU, and its share of that GPU's memory."""

    physical: PhysicalDevice
    wish: LogicalDeviceConfiguration | None = None


class GPUs:
    """The logical GPUs created so far; the list only grows.

    As in TensorFlow, a number means the same physical GPU for the life of the process. Memory options take effect only
    when a GPU is started.
    """

    def __init__(self, configuration: Configuration) -> None:
        """Starts without GPUs."""
        self.made: list[GPU] = []
        self.made_from: list[PhysicalDevice] = []
        self._configuration = configuration
        self._opened: dict[PhysicalDevice, Any] = {}
        self._options: list[MemoryOptions] = []
        self._claimed = 0
        """How many GPUs are started; a real GPU still waits for its first op."""
        self._wishes: list[LogicalDeviceConfiguration | None] = []

    def configured(self) -> list[LogicalGPU]:
        """Returns the GPUs that `tf.config` requests."""
        configuration = self._configuration
        return [
            LogicalGPU(physical, wish)
            for physical in configuration.used("GPU")
            for wish in configuration.logical.get(physical, [None])
        ]

    def of_cluster(self) -> list[LogicalGPU]:
        """Returns the GPUs of other hosts, which cannot be configured."""
        return [LogicalGPU(physical) for physical in self._configuration.remote]

    def opened(self, card: PhysicalGPU) -> Any:
        """Returns the opened form of a physical GPU; None if it is unused."""
        cards = self._configuration.cards
        for physical, shared in self._opened.items():
            if cards[physical] == card:
                self._look_at([physical])
                return shared
        return None

    def _look_at(self, cards: Collection[PhysicalDevice]) -> None:
        """Lets the logical GPUs of some physical ones map pending memory before another user reserves it."""
        for gpu, physical in zip(self.made, self.made_from, strict=True):
            if physical in cards and gpu.memory is not None:
                gpu.memory.level()

    def make(self, requested: Sequence[LogicalGPU], options: Sequence[MemoryOptions]) -> bool:
        """Creates the GPUs that do not exist yet; they have mapped no memory.

        Args:
          requested: all GPUs that the caller numbers, from 0.
          options: the memory options of each.

        Returns:
          Whether any GPU was created.

        Raises:
          AlreadyExistsError: if a number already belongs to another physical GPU.
        """
        for number, (gpu, physical) in enumerate(zip(requested, self.made_from, strict=False)):
            if gpu.physical != physical:
                raise AlreadyExistsError(_mapped_twice(number, gpu.physical, physical))
        first = len(self.made)
        new = [*zip(requested, options, strict=True)][first:]
        # All memories come before the first GPU, so that an error leaves nothing half-created.
        configuration = self._configuration
        cards = [configuration.cards[gpu.physical] for gpu, _ in new]
        numbers = self._numbers([card.task for card in cards])
        self._look_at({gpu.physical for gpu, _ in new} & self._opened.keys())
        environ = dict(configuration.environ)  # copied once: `os.environ` decodes on every access
        memories = [
            self._memory(number, card, gpu, its_options, environ)
            for number, card, (gpu, its_options) in zip(numbers, cards, new, strict=True)
        ]
        logical_gpus = Counter([gpu.physical for gpu in requested])
        cluster = configuration.cluster
        for number, card, (gpu, its_options), memory in zip(numbers, cards, new, memories, strict=True):
            device = backend_of(card).build_gpu(number, card, memory, logical_gpus[gpu.physical] == 1)
            if cluster is not None:
                device.network = cluster.network
            self.made.append(device)
            self.made_from.append(gpu.physical)
            self._wishes.append(gpu.wish)
            self._options.append(its_options)
        return bool(new)

    def start(self, options: Sequence[MemoryOptions]) -> None:
        """Lets the first GPUs map memory with the given options; those already started are unchanged."""
        new = [*zip(count(), self.made, options)][self._claimed :]
        self._claimed += len(new)
        waiting = [(at, gpu, its) for at, gpu, its in new if not gpu.started]  # an op may have started the GPU already
        for at, gpu, its_options in waiting:
            if self._options[at] != its_options:
                wish = LogicalGPU(self.made_from[at], self._wishes[at])
                gpu.use(self._memory(gpu.index, gpu.card, wish, its_options, self._configuration.environ))
                self._options[at] = its_options
        for _, gpu, _ in waiting:
            gpu.start()

    def _numbers(self, tasks: Sequence[str]) -> list[int]:
        """Returns each new GPU's number within its own process."""
        of_task = Counter([self._configuration.cards[physical].task for physical in self.made_from])
        numbers: list[int] = []
        for task in tasks:
            numbers.append(of_task[task])
            of_task[task] += 1
        return numbers

    def _memory(
        self, number: int, card: PhysicalGPU, logical: LogicalGPU, options: MemoryOptions, environ: Mapping[str, str]
    ) -> Any:
        """Returns the memory manager of a GPU."""
        physical, wish = logical
        backend = backend_of(card)
        if physical not in self._opened:
            self._opened[physical] = backend.open_card(card)
        limit = None if wish is None else wish.memory_limit
        return backend.plan_memory(card, self._opened[physical], MemoryRequest(number, options, limit, environ))


def _mapped_twice(number: int, now: PhysicalDevice, previous: PhysicalDevice) -> str:
    cards = [device.name.rpartition(":")[2] for device in (now, previous)]
    return (
        f"TensorFlow device (GPU:{number}) is being mapped to multiple devices ({cards[0]} now, and {cards[1]} "
        "previously), which is not supported. This may be the result of providing different GPU configurations "
        "(ConfigProto.gpu_options, for example different visible_device_list) when creating multiple Sessions in the "
        "same process. This is not currently supported, see https://github.com/tensorflow/tensorflow/issues/19083\n"
        f"{own_name()}.runtime.restart() resets the devices without a new process."
    )
