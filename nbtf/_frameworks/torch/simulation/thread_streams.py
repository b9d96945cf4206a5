"""Which stream of a simulated device is current in a thread, also during a backward pass?

PyTorch's autograd runs the backward of an op on the stream of its forward. The guard of simulated devices has no
streams, so the forward's stream is found by the number that autograd gives every op: the numbers at which a thread
changed its streams are kept.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Mapping
from typing import Any, NamedTuple

_CHANGES = 10_000
"""Most changes that are kept: the backward of an op before them runs on the current streams."""


class _Change(NamedTuple):
    """From which number of autograd's on the streams were current, by device."""

    first: int
    streams: Mapping[int, int]


class ThreadStreams:
    """The streams of a thread: device numbers and stream numbers; 0 is the default stream."""

    def __init__(self, torch: Any) -> None:
        """Starts on the default streams."""
        self._node, self._sequence = torch._C._current_autograd_node, torch.autograd._get_sequence_nr
        self._streams: Mapping[int, int] = {}
        self._changes: list[_Change] = []
        self._chosen: tuple[int, Mapping[int, int]] = -1, {}
        """The streams that the program itself has chosen in the backward of an op, with the op's number."""

    def current(self, device: int) -> int:
        """Returns the number of a device's current stream."""
        node = self._node() if self._changes else None
        if node is None:
            return self._streams.get(device, 0)
        number = node._sequence_nr()
        streams = self._chosen[1] if self._chosen[0] == number else self._of_forward(number)
        return streams.get(device, 0)

    def set(self, device: int, stream: int) -> None:
        """Makes a stream current; in a backward pass only until the backward of the running op ends."""
        node = self._node()
        if node is not None:
            number = node._sequence_nr()
            streams = self._chosen[1] if self._chosen[0] == number else self._of_forward(number)
            self._chosen = number, {**streams, device: stream}
            return
        if not self._changes:
            self._changes.append(_Change(0, self._streams))
        self._streams = {**self._streams, device: stream}
        change = _Change(self._sequence(), self._streams)
        if self._changes[-1].first == change.first:
            self._changes.pop()
        self._changes.append(change)
        if len(self._changes) > _CHANGES:
            del self._changes[: _CHANGES // 2]

    def _of_forward(self, number: int) -> Mapping[int, int]:
        """Returns the streams of an op's forward; those before the changes, and leaves, have the current ones."""
        at = bisect_right(self._changes, number, key=lambda change: change.first) - 1
        return self._streams if at < 0 else self._changes[at].streams
