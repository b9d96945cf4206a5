"""What is asked of an array library beside nbtf, such as PyTorch?"""

from __future__ import annotations

import sys
from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from functools import wraps
from typing import Any, ClassVar, NamedTuple, ParamSpec, Self, TypeVar

from nbtf._frameworks.saved_tensors import SavedTensors
from nbtf._runtime.holding import Holding

P = ParamSpec("P")
T = TypeVar("T")
F = TypeVar("F")

UNCOUNTED = -1
"""`Holding.sharers` of a piece of memory of which its library does not tell how many share it."""


class Pool(NamedTuple):
    """What a library's allocator has on one card; in bytes.

    `device` is the card's name for that library: `cuda:0`. `in_use` is what arrays have of what was `taken` from the
    card. `peak` is the most that ever was in use since somebody reset it; None where the library does not tell.
    `returns` is the line that gives the card what no array uses.
    """

    device: str
    reserved: int
    in_use: int
    peak: int | None
    returns: str | None


class Card(NamedTuple):
    """A card as a library tells of it. `uuid` is as NVML spells it, `total` in bytes."""

    number: int
    model: str
    uuid: str | None
    total: int | None


class Arrays(NamedTuple):
    """The arrays of a library: their class, what tells which memory one holds, and how one is written in few words.

    `gradient` returns the array that another one keeps where Python cannot see it; None where it keeps none.
    `is_pythons` tells whether arrays that share a piece of memory are held by Python's references alone, beside so many
    others each. `saved` returns what an array keeps for its backward pass, `shards` the pieces beside the first of one
    with parts on several cards.
    """

    library: str
    type: type
    holding: Callable[[Any], Holding | None]
    describe: Callable[[Any], str]
    gradient: Callable[[Any], Any] = lambda array: None
    is_pythons: Callable[[Sequence[Any], int], bool] = lambda arrays, held_elsewhere: False
    saved: Callable[[Any], SavedTensors] = lambda array: SavedTensors(0, [])
    shards: Callable[[Any], Sequence[Holding]] = lambda array: ()

    def pieces(self, array: Any) -> list[Holding]:
        """Returns all pieces of memory that an array holds; the first stands for it."""
        first = self.holding(array)
        return [] if first is None else [first, *self.shards(array)]


class Activity(ABC):
    """Listens to what a library does between `start` and `stop`, on the thread that started it and those that join."""

    complete = True
    """Whether it has heard all threads of its block from their beginning on, and the others that it can hear."""

    @abstractmethod
    def start(self) -> None:
        """Begins."""

    @abstractmethod
    def stop(self) -> None:
        """Ends."""

    def join(self) -> None:
        """Listens to this thread, too, which has just begun; it must not raise."""
        return

    @property
    def recorder(self) -> str:
        """What has the library's ops recorded in a program; empty where nothing does."""
        return ""

    @abstractmethod
    def work(self) -> str | None:
        """Says what the library did, or may have done, that no recorder takes down; None for nothing."""

    @abstractmethod
    def unmeasured(self) -> str | None:
        """Says why the memory of that work cannot be asked for; None where it can, or where there was no work."""

    def peaks(self) -> dict[str, int] | None:
        """Returns the most that was in use on each card after an allocation meanwhile; None where nobody saw them."""
        return None


class Listening(ABC):
    """Has a library's ops recorded between `start` and `stop`, on the thread that started it and those that join."""

    @abstractmethod
    def start(self) -> None:
        """Begins."""

    @abstractmethod
    def stop(self) -> None:
        """Ends, also what an interrupt has begun in part."""

    @abstractmethod
    def join(self) -> None:
        """Listens to this thread, too, which has just begun; it must not raise."""

    @abstractmethod
    def renew(self) -> None:
        """Repairs what an interrupt may have cut short, on the thread that started it."""


class Framework(ABC):
    """A library that this process has imported. No method starts a device, and none raises for what it cannot tell."""

    name: ClassVar[str]
    """As its users write it: `PyTorch`."""
    module_name: ClassVar[str]
    """What they import."""
    recorded: ClassVar[str] = ""
    """What its `listening` has recorded, in words; empty where it has none."""
    tells_ops: ClassVar[bool] = False
    """Whether its ops are among that."""

    def __init__(self, module: Any) -> None:
        """Takes the module of the library."""
        self._module = module

    @classmethod
    def imported(cls) -> Self | None:
        """Returns the library if somebody has imported it."""
        module = sys.modules.get(cls.module_name)
        return None if module is None else cls(module)

    @abstractmethod
    def cards(self) -> list[Card]:
        """Returns the cards that it has begun to use."""

    @abstractmethod
    def pools(self) -> list[Pool]:
        """Returns what its allocator has on the cards that it has begun to use."""

    @abstractmethod
    def arrays(self) -> Arrays | None:
        """Returns what its arrays are; None while it is half imported."""

    @abstractmethod
    def activity(self) -> Activity:
        """Returns what listens to its work."""

    def listening(self) -> Listening | None:
        """Returns what has its ops recorded; None where it tells nobody which ops run."""
        return None

    @abstractmethod
    def full_card(self, error: BaseException) -> str | None:
        """Returns the card whose memory an error of this library says is full, such as `cuda:0`; None for others."""


def cautious(fallback: Callable[[], F]) -> Callable[[Callable[P, T]], Callable[P, T | F]]:
    """Has a look at a library return a fallback where the library raises.

    Whatever it is, a half-finished import or a lost card: nobody has asked the library to work.
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
    """Returns the piece of a card's memory at an address; None for an empty one."""
    return Holding(f"cuda:{ordinal}", 0, address, nbytes, nbytes, sharers) if address and nbytes else None


def describe(array: Any) -> str:
    """Returns shape and dtype of an array that writes them as NumPy does: `[2, 3] float32`."""
    return f"{list(array.shape)} {array.dtype}"
