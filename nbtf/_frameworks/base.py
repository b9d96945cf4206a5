"""The interface of another array library, such as PyTorch, for nbtf."""

from __future__ import annotations

import sys
from abc import ABC, abstractmethod
from collections.abc import Callable, Collection, Mapping, Sequence
from functools import wraps
from typing import Any, ClassVar, NamedTuple, ParamSpec, Self, TypeVar

from nbtf._frameworks.saved_tensors import SavedTensors
from nbtf._runtime.holding import Holding

P = ParamSpec("P")
T = TypeVar("T")
F = TypeVar("F")

UNCOUNTED = -1
"""Value of `Holding.sharers` if the library does not report how many arrays share a piece of memory."""


class Pool(NamedTuple):
    """The memory of a library's allocator on one card, in bytes.

    `device` is the library's name of the card, such as `cuda:0`. `in_use` is the part of `reserved` that arrays use.
    `peak` is the highest use since it was last reset; None if the library does not report it. `returns` is the line of
    code that frees unused memory.
    """

    device: str
    reserved: int
    in_use: int
    peak: int | None
    returns: str | None


class Blocks(NamedTuple):
    """The blocks of a library's allocator on one card, in bytes.

    `sizes` are the sizes of blocks in use, by the addresses that arrays report: an array's size is rounded up to its
    block. `releasable` is what `Pool.returns` frees: memory next to a block in use stays reserved.
    """

    sizes: Mapping[int, int]
    releasable: int


class Card(NamedTuple):
    """A card as a library reports it. `uuid` is spelled as in NVML, `total` is in bytes."""

    number: int
    model: str
    uuid: str | None
    total: int | None


class Kept(NamedTuple):
    """Memory that a library keeps where Python cannot see it: the ids of the objects that keep it, and its pieces."""

    keepers: list[int]
    holdings: list[Holding]


class Arrays(NamedTuple):
    """The arrays of a library: their class, and functions that return an array's memory and short description.

    `gradient` returns an array's gradient if Python's garbage collector cannot see it, None without one. `is_pythons`
    returns whether only Python references, apart from a given number, keep alive arrays that share memory. `saved`
    returns what an array keeps for its backward pass. `shards` returns the further pieces of an array with parts on
    several cards. `taped` returns what tapes keep for backward passes, given the pieces that are listed already,
    each by device, region and offset. `is_variable` returns whether an array is a variable's. `variables` are other
    classes that `holding` accepts.
    """

    library: str
    type: type
    holding: Callable[[Any], Holding | None]
    describe: Callable[[Any], str]
    gradient: Callable[[Any], Any] = lambda array: None
    is_pythons: Callable[[Sequence[Any], int], bool] = lambda arrays, held_elsewhere: False
    saved: Callable[[Any], SavedTensors] = lambda array: SavedTensors(0, [])
    shards: Callable[[Any], Sequence[Holding]] = lambda array: ()
    taped: Callable[[Collection[tuple[str, int, int]]], Kept | None] = lambda listed: None
    is_variable: Callable[[Any], bool] = lambda array: False
    variables: tuple[type, ...] = ()

    def pieces(self, array: Any) -> list[Holding]:
        """Returns all pieces of memory that an array holds; the first one represents the array."""
        first = self.holding(array)
        return [] if first is None else [first, *self.shards(array)]


class Activity(ABC):
    """Observes a library's work between `start` and `stop`, on the thread that started it and threads that join."""

    complete = True
    """Whether all observable work was observed, including threads of the block from their beginning."""

    @abstractmethod
    def start(self) -> None:
        """Begins."""

    @abstractmethod
    def stop(self) -> None:
        """Ends."""

    def join(self) -> None:
        """Observes the current thread as well, which has just started; must not raise."""
        return

    @property
    def recorder(self) -> str:
        """The expression that records the library's ops in a program; empty if there is none."""
        return ""

    @abstractmethod
    def work(self) -> str | None:
        """Returns a description of work that was not recorded, certain or possible; None for no work."""

    @abstractmethod
    def unmeasured(self) -> str | None:
        """Returns why the memory of that work is unknown; None if it is known, or without work."""

    def peaks(self) -> dict[str, int] | None:
        """Returns the highest use on each card after an allocation during the block; None if unknown."""
        return None


class Listening(ABC):
    """Records a library's ops between `start` and `stop`, on the thread that started it and threads that join."""

    @abstractmethod
    def start(self) -> None:
        """Begins."""

    @abstractmethod
    def stop(self) -> None:
        """Stops recording, including what an interrupted `start` has begun."""

    @abstractmethod
    def join(self) -> None:
        """Records the current thread as well, which has just started; must not raise."""

    @abstractmethod
    def renew(self) -> None:
        """Repairs the effects of an interrupt, on the thread that called `start`."""


class Framework(ABC):
    """A library that this process has imported. No method starts a device or raises for unknown values."""

    name: ClassVar[str]
    """The name that its users write: `PyTorch`."""
    module_name: ClassVar[str]
    """The name of its module."""
    recorded: ClassVar[str] = ""
    """Description of what `listening` records; empty if it records nothing."""
    tells_ops: ClassVar[bool] = False
    """Whether `listening` records ops."""

    def __init__(self, module: Any) -> None:
        """Stores the imported module of the library."""
        self._module = module

    @classmethod
    def imported(cls) -> Self | None:
        """Returns the library if it has been imported, otherwise None."""
        module = sys.modules.get(cls.module_name)
        return None if module is None else cls(module)

    @abstractmethod
    def cards(self) -> list[Card]:
        """Returns the cards that the library has started to use."""

    @abstractmethod
    def pools(self) -> list[Pool]:
        """Returns the pools of its allocator on the cards that it has started to use."""

    def blocks(self, pool: Pool) -> Blocks:
        """Returns the blocks of a pool; without sizes, and with all unused memory releasable, if they are unknown."""
        return Blocks({}, pool.reserved - pool.in_use)

    @abstractmethod
    def arrays(self) -> Arrays | None:
        """Returns the description of its arrays; None while its import is unfinished."""

    @abstractmethod
    def activity(self) -> Activity:
        """Returns an observer of its work."""

    def listening(self) -> Listening | None:
        """Returns the object that records its ops; None if the library exposes none."""
        return None

    @abstractmethod
    def full_card(self, error: BaseException) -> str | None:
        """Returns the card that an out-of-memory error of this library names, such as `cuda:0`; None otherwise."""


def cautious(fallback: Callable[[], F]) -> Callable[[Callable[P, T]], Callable[P, T | F]]:
    """Makes a function return a fallback if the library raises an error.

    The cause does not matter, such as an unfinished import or a lost card: the user did not ask the library for work.
    """

    def decorate(look: Callable[P, T]) -> Callable[P, T | F]:
        @wraps(look)
        def cautious_look(*args: P.args, **kwargs: P.kwargs) -> T | F:
            try:
                return look(*args, **kwargs)
            except Exception:
                return fallback()

        return cautious_look

    return decorate


def piece(ordinal: int, address: int, nbytes: int, sharers: int = UNCOUNTED) -> Holding | None:
    """Returns the piece of a card's memory at an address; None for an empty piece."""
    return Holding(f"cuda:{ordinal}", 0, address, nbytes, nbytes, sharers) if address and nbytes else None


def describe(array: Any) -> str:
    """Returns shape and dtype of an array with NumPy's attributes, such as `[2, 3] float32`."""
    return f"{list(array.shape)} {array.dtype}"
