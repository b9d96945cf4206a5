"""How much memory of other libraries do tensors share? It belongs to no pool or limit of nbtf."""

from __future__ import annotations

from weakref import ref


class External:
    """Memory of another library that buffers hold."""

    __slots__ = ("__weakref__", "nbytes")

    def __init__(self, nbytes: int) -> None:
        """Represents this number of bytes."""
        self.nbytes = nbytes


class Externals:
    """The account of external memory on one device, as long as it is in use."""

    def __init__(self) -> None:
        """Starts empty."""
        self._alive: set[ref[External]] = set()

    def lent(self, nbytes: int) -> External | None:
        """Returns the object that keeps an array counted while it lives; None for an empty array."""
        if not nbytes:
            return None
        external = External(nbytes)
        self._alive.add(ref(external, self._alive.discard))  # a C callback: no Python frame runs when the object dies
        return external

    def nbytes(self) -> int:
        """Returns the bytes of external memory in use."""
        return sum([external.nbytes for death in self._alive.copy() if (external := death()) is not None])
