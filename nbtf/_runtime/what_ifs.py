"""What would have happened to a program's memory with other settings? The result of a replay, for every allocator."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Literal, NamedTuple, TypeAlias

from nbtf._displayed import Displayed, preformatted

SCHEMA = "nbtf-what-if/1"

Cause: TypeAlias = Literal["full", "fragmentation"]
"""`fragmentation` if enough memory was free but not contiguous, otherwise `full`."""


class Note(NamedTuple):
    """One thing that limits an answer: its name in the texts about replays, and the numbers of its sentence.

    `size` is a number of bytes.
    """

    name: str
    values: dict[str, int]


def is_line(file: str, line: int, name: str) -> bool:
    """Returns whether a name such as `train.py:41` or `/home/ann/train.py:41 in step` means a line of a file.

    >>> is_line("/home/ann/train.py", 41, "train.py:41"), is_line("/home/ann/train.py", 41, "rain.py:41")
    (True, False)
    """
    text, location = name.partition(" in ")[0].strip().replace("\\", "/"), f"{file}:{line}".replace("\\", "/")
    return location == text or location.endswith(f"/{text}")


class RefusedRequest(NamedTuple):
    """A request that does not fit, in bytes.

    Attributes:
      event: number of the event; -1 for memory from before the first event.
      requested: bytes that the program requested.
      line: the line that requested them, such as `train.py:41 in step`; empty if unknown.
      cause: `fragmentation` if enough memory was free but not contiguous, otherwise `full`.
      free: bytes that the allocator could still have had from the card.
      unallocated: bytes that were reserved but not in use.
      largest_free: bytes of the largest free block.

    >>> tf.runtime.restart()
    >>> _ = tf.runtime.simulate_gpus(1, memory="64MiB")
    1 simulated GPU (Tesla V100-SXM2-16GB, 64 MiB): NumPy on this computer's CPU. No GPU is used.
    >>> with tf.runtime.recording() as record:
    ...     x = tf.zeros([2**22])
    >>> refusal = record.what_if(card="10MiB").refusal
    >>> refusal.requested >> 20, refusal.cause
    (16, 'full')
    """

    event: int
    requested: int
    line: str
    cause: Cause
    free: int
    unallocated: int
    largest_free: int


@dataclass(frozen=True, slots=True)
class WhatIf(Displayed):
    """The memory that a recorded program needs with other settings, found by a replay; sizes are in bytes.

    A program ends where a request is refused that was granted when it was recorded. The replay stops there, and the
    figures describe what happened before.

    Attributes:
      device: the device, such as `GPU:0`.
      allocator: the library whose rules apply, `PyTorch` or `TensorFlow`.
      settings: the settings, in the library's format; empty for its defaults.
      as_recorded: whether nothing was changed.
      card: memory of the card, or the limit of the allocator; None if it is unknown and therefore unlimited.
      without: the line whose allocations were left out; empty for none.
      first_event: number of the first event that was replayed.
      events: number of events that were replayed.
      stopped: whether the replay ended at a refused request.
      peak_allocated: the most memory in use.
      peak_reserved: the most memory reserved.
      peak_event: of the events after which the most memory was reserved, the one with the most in use; -1 for the
        beginning.
      unallocated: bytes reserved but not in use after that event.
      largest_free: bytes of the largest free block after that event.
      retries: requests that succeeded or failed only after the cache was released; None if these are not counted.
      released: segments, or ranges of pages, released to the card.
      refused: number of refused requests.
      refusal: the first refused request; None if all requests fit.
      notes: what limits the answer.

    >>> tf.runtime.restart()
    >>> _ = tf.runtime.simulate_gpus(1, memory="64MiB")
    1 simulated GPU (Tesla V100-SXM2-16GB, 64 MiB): NumPy on this computer's CPU. No GPU is used.
    >>> with tf.runtime.recording() as record:
    ...     x = tf.zeros([2**22])
    >>> result = record.what_if("allow_growth:True", card="40MiB")
    >>> bool(result), result.peak_allocated >> 20, result.card >> 20
    (True, 16, 40)
    """

    device: str
    allocator: str
    settings: str
    as_recorded: bool
    card: int | None
    without: str
    first_event: int
    events: int
    stopped: bool
    peak_allocated: int
    peak_reserved: int
    peak_event: int
    unallocated: int
    largest_free: int
    retries: int | None
    released: int
    refused: int
    refusal: RefusedRequest | None
    notes: Sequence[Note] = ()

    def __bool__(self) -> bool:
        """Returns whether all requests fit that were granted when the program was recorded."""
        return not self.stopped

    @property
    def fragmentation(self) -> float:
        """The part of the peak of reserved memory that was not in use, from 0 to 1.

        >>> tf.runtime.restart()
        >>> _ = tf.runtime.simulate_gpus(1, memory="64MiB")
        1 simulated GPU (Tesla V100-SXM2-16GB, 64 MiB): NumPy on this computer's CPU. No GPU is used.
        >>> with tf.runtime.recording() as record:
        ...     x = tf.zeros([2**22])
        >>> record.what_if("allow_growth:False").fragmentation > 0.7
        True
        """
        return self.unallocated / self.peak_reserved if self.peak_reserved else 0.0

    def as_json(self) -> dict[str, Any]:
        """Returns the result as plain data in the format `nbtf-what-if/1`, which is the same in every language.

        >>> tf.runtime.restart()
        >>> _ = tf.runtime.simulate_gpus(1, memory="64MiB")
        1 simulated GPU (Tesla V100-SXM2-16GB, 64 MiB): NumPy on this computer's CPU. No GPU is used.
        >>> with tf.runtime.recording() as record:
        ...     x = tf.zeros([2**22])
        >>> data = record.what_if().as_json()
        >>> data["schema"], data["settings"]
        ('nbtf-what-if/1', 'allow_growth:False')
        """
        refusal = None if self.refusal is None else self.refusal._asdict()
        fields = {name: getattr(self, name) for name in self.__slots__}
        return {"schema": SCHEMA} | fields | {"refusal": refusal, "notes": [note._asdict() for note in self.notes]}

    def __str__(self) -> str:
        """Returns the result as text, in the language that `NBTF_LANG` requests, otherwise in English."""
        return sys.modules["nbtf"]._in_words(self)  # an indirect call, because the runtime must not import the views

    def _repr_html_(self) -> str:
        """Returns the text as HTML."""
        return preformatted(str(self))
