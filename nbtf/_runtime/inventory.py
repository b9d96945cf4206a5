"""The available devices, as tables show them, and the contents of their memory."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import Any, NamedTuple, Self

from nbtf._devices.base import Device, Label, Piece
from nbtf._devices.bfc.report import RegionView
from nbtf._devices.lent import LENT, LentCard
from nbtf._devices.names import full_name, short_name, without_cuda
from nbtf._displayed import Drawn
from nbtf._runtime.configuration import PhysicalDevice
from nbtf._runtime.context import CURRENT, Context
from nbtf._runtime.kept_memory import with_holders

_MOST_NAMES = 16
"""Maximum number of devices that an error message lists."""


class DeviceInfo(NamedTuple):
    """A device as tables show it. Sizes are in bytes, or None if memory is not tracked or not yet tracked.

    `card` is the number of the physical GPU in this machine and `memory` its total memory; several logical GPUs may
    share it. `in_use` is the allocator's figure, `requested` the total that tensors requested. `cuda` is the GPU's
    number in CuPy and PyTorch in this process: for real GPUs, and for simulated ones that PyTorch uses as well.
    `external` is the memory that other libraries share with tensors there; no other figure includes it. `lost` gives
    the time and reason if a cluster device was lost; such a device has no memory figures.

    >>> _ = tf.runtime.simulate_gpus(2, model="Tesla K20m")
    2 simulated GPUs (Tesla K20m, 5 GiB each): NumPy on this computer's CPU. No GPU is used.
    >>> info = tf.runtime.devices()[1]
    >>> info.name, info.model, info.simulated, info.memory
    ('GPU:0', 'Tesla K20m', True, 5368709120)
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
    requested: int | None = None
    cuda: int | None = None
    external: int = 0
    lost: str | None = None

    @property
    def naming(self) -> str | None:
        """The GPU's names in each numbering, if other libraries can use the physical GPU; None otherwise.

        In `cuda:1 = GPU:1 here = card 5 (0000:8a:00.0)`, the names are those of CuPy and PyTorch, of TensorFlow and
        nbtf, and of `nvidia-smi`. If several logical GPUs share a physical one, or some are hidden, the numbers
        differ: `GPU:1 here is on cuda:0 = card 5 (…)`.

        >>> _ = tf.runtime.simulate_gpus(1, memory="1GiB")
        1 simulated GPU (Tesla V100-SXM2-16GB, 1 GiB): NumPy on this computer's CPU. No GPU is used.
        >>> tf.runtime.devices()[1].naming is None
        True
        """
        if self.cuda is None:
            return None
        word = "simulated card" if self.simulated else "card"
        card = "" if self.card is None else f" = {word} {self.card}"
        bus_id = f" ({self.bus_id})" if self.bus_id else ""
        same_number = self.name == f"GPU:{self.cuda}"
        first = f"cuda:{self.cuda} = {self.name} here" if same_number else f"{self.name} here is on cuda:{self.cuda}"
        return f"{first}{card}{bus_id}"

    @property
    def label(self) -> str:
        """The name with a remark in parentheses: `GPU:0 (simulated Tesla K20m)`.

        >>> _ = tf.runtime.simulate_gpus(2, model="Tesla K20m")
        2 simulated GPUs (Tesla K20m, 5 GiB each): NumPy on this computer's CPU. No GPU is used.
        >>> tf.runtime.devices()[1].label
        'GPU:0 (simulated Tesla K20m)'
        """
        words = [f"simulated {self.model}"] * self.simulated + ["lost"] * (self.lost is not None)
        return f"{self.name} ({', '.join(words)})" if words else self.name


def devices() -> list[DeviceInfo]:
    """Returns the available devices and their memory. Only reads state: starts nothing and fixes no configuration.

    >>> tf.runtime.restart()
    >>> [device.name for device in tf.runtime.devices() if device.device_type == "CPU"]
    ['CPU:0']
    """
    context = CURRENT.context
    if context.machine is None:
        return _planned(context)
    return [_described(context, device) for device in context.logical_devices.all()]


def physical_devices() -> list[DeviceInfo]:
    """Returns the physical devices, numbered as in `tf.config`; `visible` is False for hidden ones.

    Only reads state: starts nothing and fixes no configuration.

    >>> tf.runtime.restart()
    >>> _ = tf.runtime.simulate_gpus(2, model="Tesla K20m")
    2 simulated GPUs (Tesla K20m, 5 GiB each): NumPy on this computer's CPU. No GPU is used.
    >>> tf.config.set_visible_devices(tf.config.list_physical_devices("GPU")[1], "GPU")
    >>> [(device.name, device.bus_id, device.visible) for device in tf.runtime.physical_devices()]
    [('CPU:0', None, True), ('GPU:0', '0000:02:00.0', False), ('GPU:1', '0000:03:00.0', True)]
    """
    context = CURRENT.context
    configuration = context.configuration
    infos: list[DeviceInfo] = []
    for physical in configuration.physical:
        name = short_name(physical.name)
        info = _with_card(context, name, physical.device_type, physical)
        in_use = configuration.visible if context.machine is None else context.logical_devices.made_from.values()
        infos.append(info._replace(visible=physical in in_use))
    return infos


def _planned(context: Context) -> list[DeviceInfo]:
    """Returns the devices that will be created if nothing more is configured."""
    configuration = context.configuration
    infos: list[DeviceInfo] = []
    for device_type in ("CPU", "GPU"):
        number = 0
        for physical in configuration.used(device_type):
            for _ in configuration.logical.get(physical, [None]):
                infos.append(_with_card(context, f"{device_type}:{number}", device_type, physical))
                number += 1
    return [*infos, *_planned_cluster(context)]


def _planned_cluster(context: Context) -> Iterator[DeviceInfo]:
    """Yields the devices that other hosts will have."""
    cluster = context.configuration.cluster
    of_task: dict[str, list[PhysicalDevice]] = {}
    for physical, card in context.configuration.remote.items():
        of_task.setdefault(card.task, []).append(physical)
    for task in () if cluster is None else cluster.tasks:
        yield DeviceInfo(short_name(full_name("CPU", 0, task)), "CPU")
        for number, physical in enumerate(of_task[task]):
            yield _with_card(context, short_name(full_name("GPU", number, task)), "GPU", physical)


def _described(context: Context, device: Device) -> DeviceInfo:
    stats = None if device.memory is None or device.loss else device.memory.stats()
    memory: dict[str, Any] = {"lost": device.loss}
    if stats is not None:
        memory |= {"memory_limit": stats.limit, "in_use": stats.in_use, "peak": stats.peak, "pool": stats.pool}
        memory |= {"requested": stats.requested, "external": stats.external}
    return _with_card(context, device.short_name, device.type, context.logical_devices.made_from[device.name], **memory)


def _with_card(context: Context, name: str, device_type: str, physical: Any, **memory: Any) -> DeviceInfo:
    card = context.configuration.cards.get(physical)
    if card is None:
        return DeviceInfo(name, device_type, **memory)
    fields: dict[str, Any] = {
        "simulated": card.simulated,
        "model": card.card.name,
        "card": card.machine_index,
        "bus_id": card.bus_id,
        "uuid": card.uuid,
        "memory": card.memory_bytes,
        "cuda": context.configuration.cuda_number(physical),
    }
    return DeviceInfo(name, device_type, **fields, **memory)


class MemoryMap(tuple[RegionView, ...], Drawn):
    """A snapshot of a device's memory regions; notebooks draw it as a map.

    `device` is its full name, and `limit` its memory limit in bytes.

    >>> _ = tf.runtime.simulate_gpus(1, memory="1GiB")
    1 simulated GPU (Tesla V100-SXM2-16GB, 1 GiB): NumPy on this computer's CPU. No GPU is used.
    >>> x = tf.zeros([1000])
    >>> memory = tf.runtime.memory_map("GPU:0")
    >>> memory.device, len(memory), memory.limit
    ('/job:localhost/replica:0/task:0/device:GPU:0', 1, 837812224)
    """

    device: str
    limit: int

    def __new__(cls, regions: Iterable[RegionView], device: str, limit: int) -> Self:
        """Stores the regions of a device."""
        self = super().__new__(cls, regions)
        self.device, self.limit = device, limit
        return self

    def __getnewargs__(self) -> tuple[tuple[RegionView, ...], str, int]:
        """Returns the arguments for making a copy."""
        return tuple(self), self.device, self.limit


def memory_map(device: str) -> MemoryMap:
    """Returns the memory regions that a device has reserved, and the chunks in them.

    Args:
      device: a name, such as `"GPU:0"`.

    Returns:
      A tuple of regions with `size` and `chunks`. A chunk has `offset`, `size` and `requested` (in bytes) and
      `in_use`. Its `label` gives the op, dtype, shape and code line it was allocated for. Its `holder` is what a
      variable keeps it as. On a simulated GPU, PyTorch segments are included, and the limit is then all of the GPU.

    Raises:
      ValueError: if the device does not exist, or its allocator has no map.

    >>> _ = tf.runtime.simulate_gpus(1, memory="1GiB")
    1 simulated GPU (Tesla V100-SXM2-16GB, 1 GiB): NumPy on this computer's CPU. No GPU is used.
    >>> x = tf.fill([1000], 1.0)
    >>> [region] = tf.runtime.memory_map("GPU:0")
    >>> [(chunk.offset, chunk.size, chunk.requested) for chunk in region.chunks if chunk.in_use]
    [(0, 1280, 1028), (1536, 4096, 4000)]
    """
    lent = _lent(device)
    if lent is not None:
        own_device = next((gpu for gpu in CURRENT.context.gpus.made if gpu.name == lent.name), None)
        own_regions = () if own_device is None or own_device.memory is None else own_device.memory.map() or ()
        regions = own_regions if own_device is None else with_holders(own_regions, own_device)
        return MemoryMap((*regions, *lent.memory.map()), lent.name, lent.memory.total)
    started_device = _started(device)
    memory = started_device.memory
    regions = None if memory is None else memory.map()
    if memory is None or regions is None:
        raise ValueError(f"{device} has no memory map. Use a simulated GPU, or a real one with NBTF_GPU_ALLOCATOR=bfc.")
    return MemoryMap(with_holders(regions, started_device), started_device.name, memory.stats().limit)


def memory_pieces(device: str) -> list[tuple[Piece, Label | None]]:
    """Returns the pieces of a device's memory in use, each with what it was allocated for.

    The list is empty for devices whose memory is not tracked.

    Args:
      device: a name, such as `"GPU:0"`.

    Returns:
      For each piece, its region, offset and size in bytes, and, if known, the op, dtype, shape and code line.

    Raises:
      ValueError: if the device does not exist.

    >>> _ = tf.runtime.simulate_gpus(1, memory="1GiB")
    1 simulated GPU (Tesla V100-SXM2-16GB, 1 GiB): NumPy on this computer's CPU. No GPU is used.
    >>> x = tf.fill([1000], 1.0)
    >>> [(piece.offset, piece.nbytes, label.op) for piece, label in tf.runtime.memory_pieces("GPU:0") if label]
    [(0, 1280, 'scratch'), (1536, 4096, 'Fill')]
    """
    memory = _started(device).memory
    if memory is None:
        return []
    read_pieces = getattr(memory, "pieces", None)
    if read_pieces is not None:
        return read_pieces()
    return [
        (Piece(region.region, chunk.offset, chunk.size, chunk.requested), chunk.label)
        for region in memory.map() or ()
        for chunk in region.chunks
        if chunk.in_use
    ]


def _lent(name: str) -> LentCard | None:
    """Returns another library's simulated GPU by nbtf's name; None if no library uses it."""
    return next((card for card in LENT if without_cuda(name) in (card.name, short_name(card.name))), None)


def lent_pieces(name: str) -> dict[int, Piece]:
    """Returns what a library has in use on a simulated GPU, keyed by the host addresses that it reports itself.

    >>> lent_pieces("GPU:0")
    {}
    """
    lent = _lent(name)
    return {} if lent is None else lent.memory.pieces_by_host()


def account_of(device: DeviceInfo) -> dict[str, int] | None:
    """Returns the memory in use on a device by nbtf and by a library that shares it; None if it is not tracked.

    The peak is the higher of the two peaks, or the current total if that is larger.

    >>> account_of(tf.runtime.devices()[0]) is None
    True
    """
    lent, own_use = _lent(device.name), device.in_use
    if own_use is None and (lent is None or not lent.memory.reserved):
        return None
    in_use, pool, peak = own_use or 0, device.pool or 0, device.peak or 0
    if lent is None:
        limit = device.memory_limit or 0
        return {"in_use": in_use, "requested": device.requested or 0, "peak": peak, "pool": pool, "limit": limit}
    stats = lent.memory.stats()
    in_use += stats["allocated_bytes.all.current"]
    return {
        "in_use": in_use,
        "requested": (device.requested or 0) + stats["requested_bytes.all.current"],
        "peak": max(peak, stats["allocated_bytes.all.peak"], in_use),
        "pool": pool + stats["reserved_bytes.all.current"],
        "limit": lent.memory.total,
    }


def _started(name: str) -> Device:
    machine = CURRENT.context.machine
    return matching_device(name, () if machine is None else machine.devices)


def matching_device(name: str, candidates: Sequence[Device]) -> Device:
    """Returns the device with a given name: in full, in short, or as CuPy and PyTorch write it.

    Raises:
      TypeError: if the name is not a string.
      ValueError: if no device has this name.
    """
    spelled = without_cuda(name)
    for candidate in candidates:
        if spelled in (candidate.name, candidate.short_name):
            return candidate
    names = ", ".join(candidate.short_name for candidate in candidates[:_MOST_NAMES]) or "none before the first op"
    unnamed = len(candidates) - _MOST_NAMES
    listed = f"{names} and {unnamed} more" if unnamed > 0 else names
    raise ValueError(f"No matching devices found for '{name}'. Available devices: {listed}.")
