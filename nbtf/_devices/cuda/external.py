"""How much memory of other libraries do tensors show? It is in no pool of nbtf's, and in no limit."""

from __future__ import annotations

from weakref import ref


class External:
    """Memory of another library that buffers hold."""

    __slots__ = ("__weakref__", "nbytes")

    def __init__(self, nbytes: int) -> None:
        """Stands for so many bytes."""
        self.nbytes = nbytes


class Externals:
    """The account of what was lent to one device: what is still alive of it."""

    def __init__(self) -> None:
        """Starts with nothing."""
        self._alive: set[ref[External]] = set()

    def lent(self, nbytes: int) -> External | None:
        """Returns what keeps an array counted; None for an empty one."""
        if not nbytes:
            return None
        external = External(nbytes)
        self._alive.add(ref(external, self._alive.discard))  # no frame of Python's runs when it dies
        return external

    def nbytes(self) -> int:
        """Returns the bytes that are lent at this moment."""
        return sum([external.nbytes for death in self._alive.copy() if (external := death()) is not None])
