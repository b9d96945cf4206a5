"""Reconstructs the chunks of a device's memory after each event."""

from __future__ import annotations

from collections.abc import Iterable
from typing import NamedTuple

from nbtf._devices.bfc.chunks import bin_of
from nbtf._devices.bfc.report import ChunkView, RegionView
from nbtf._record.events import Allocated, Event, Freed


class _Piece(NamedTuple):
    """A piece of memory in use."""

    size: int
    requested: int
    label: object


class MemoryReplay:
    """The regions and chunks of one device, updated event by event.

    Adjacent free chunks are always merged, so the pieces in use and the regions describe the memory completely. A
    region becomes known with the first piece in it. When the pool shrinks, all idle regions are removed.

    >>> _ = tf.runtime.simulate_gpus(1, memory="1GiB")
    1 simulated GPU (Tesla V100-SXM2-16GB, 1 GiB): NumPy on this computer's CPU. No GPU is used.
    >>> with tf.runtime.recording() as record:
    ...     x = tf.fill([1000], 1.0)
    >>> replay = tf.runtime.MemoryReplay("/job:localhost/replica:0/task:0/device:GPU:0", record.regions_before())
    >>> [type(event).__name__ for event in record.events if replay.take(event)]
    ['Allocated', 'Allocated', 'Allocated', 'Freed']
    """

    def __init__(self, device: str, regions: Iterable[RegionView] = ()) -> None:
        """Starts with a device's regions.

        Args:
          device: full name of the device.
          regions: its regions, as returned by `memory_map`.

        Raises:
          TypeError: if `device` is not a string, or `regions` are not regions.
        """
        if not isinstance(device, str):  # pyright: ignore[reportUnnecessaryIsInstance]  # from a user
            raise TypeError(f"device must be a device's full name, got {device!r}")
        self._device = device
        self._pieces: dict[int, dict[int, _Piece]] = {}
        self._sizes: dict[int, int] = {}
        for region in regions:
            if not isinstance(region, RegionView):  # pyright: ignore[reportUnnecessaryIsInstance]  # from a user
                raise TypeError(f"regions must come from tf.runtime.memory_map, got {region!r}")
            self._sizes[region.region] = region.size
            self._pieces[region.region] = {
                chunk.offset: _Piece(chunk.size, chunk.requested, chunk.label)
                for chunk in region.chunks
                if chunk.in_use
            }

    def take(self, event: Event) -> bool:
        """Applies one event; returns whether it changed this device's memory, as far as that is known.

        Memory from before the replay that is not in the initial regions is freed without effect.

        >>> _ = tf.runtime.simulate_gpus(1, memory="1GiB")
        1 simulated GPU (Tesla V100-SXM2-16GB, 1 GiB): NumPy on this computer's CPU. No GPU is used.
        >>> with tf.runtime.recording() as record:
        ...     x = tf.fill([1000], 1.0)
        >>> replay = tf.runtime.MemoryReplay("/job:localhost/replica:0/task:0/device:GPU:0")
        >>> any([replay.take(event) for event in record.events])
        True
        """
        if not isinstance(event, Allocated | Freed) or event.device != self._device or event.region < 0:
            return False
        pool = event.pool
        if isinstance(event, Freed):
            self._drop_idle(pool)
            if self._pieces.get(event.region, {}).pop(event.offset, None) is None:
                return False
        else:
            if event.region not in self._sizes:
                self._drop_idle(pool - event.region_size)
                self._sizes[event.region], self._pieces[event.region] = event.region_size, {}
            elif event.region_size > self._sizes[event.region]:  # PyTorch's expandable segments grow
                self._sizes[event.region] = event.region_size
            self._pieces[event.region][event.offset] = _Piece(event.size, event.nbytes, event.label)
        self._drop_idle(pool)
        return True

    def _drop_idle(self, pool: int) -> None:
        """Removes the idle regions if the pool is smaller than all regions together."""
        if sum(self._sizes.values()) > pool:
            for number in [number for number, pieces in self._pieces.items() if not pieces]:
                del self._sizes[number], self._pieces[number]

    @property
    def region_sizes(self) -> dict[int, int]:
        """The size in bytes of each region, by its number.

        >>> _ = tf.runtime.simulate_gpus(1, memory="1GiB")
        1 simulated GPU (Tesla V100-SXM2-16GB, 1 GiB): NumPy on this computer's CPU. No GPU is used.
        >>> with tf.runtime.recording() as record:
        ...     x = tf.fill([1000], 1.0)
        >>> replay = tf.runtime.MemoryReplay("/job:localhost/replica:0/task:0/device:GPU:0")
        >>> changes = [replay.take(event) for event in record.events]
        >>> replay.region_sizes
        {0: 837812224}
        """
        return dict(self._sizes)

    def regions(self) -> tuple[RegionView, ...]:
        """Returns regions and chunks in the form of `memory_map`.

        >>> _ = tf.runtime.simulate_gpus(1, memory="1GiB")
        1 simulated GPU (Tesla V100-SXM2-16GB, 1 GiB): NumPy on this computer's CPU. No GPU is used.
        >>> with tf.runtime.recording() as record:
        ...     x = tf.fill([1000], 1.0)
        >>> replay = tf.runtime.MemoryReplay("/job:localhost/replica:0/task:0/device:GPU:0")
        >>> changes = [replay.take(event) for event in record.events]
        >>> [[chunk.size for chunk in region.chunks if chunk.in_use] for region in replay.regions()]
        [[1280, 4096]]
        """
        return tuple(
            RegionView(number, size, tuple(_tiled(size, self._pieces[number])))
            for number, size in sorted(self._sizes.items())
        )


def _tiled(size: int, pieces: dict[int, _Piece]) -> list[ChunkView]:
    """Returns the chunks of a region, sorted by address."""
    chunks: list[ChunkView] = []
    end = 0
    for offset, piece in sorted(pieces.items()):
        if offset > end:
            chunks.append(_hole(end, offset - end))
        chunks.append(ChunkView(offset, piece.size, True, piece.requested, piece.label, None))
        end = offset + piece.size
    return [*chunks, _hole(end, size - end)] if end < size else chunks


def _hole(offset: int, size: int) -> ChunkView:
    return ChunkView(offset, size, False, 0, None, bin_of(size))
