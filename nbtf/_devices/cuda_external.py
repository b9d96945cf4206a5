"""How much memory of other libraries do tensors show? It is in no pool of nbtf's, and in no limit."""

from __future__ import annotations

import threading
from collections import deque

_MOST_UNCOUNTED = 4096


class External:
    """Memory of another library that buffers hold; its death is counted."""

    __slots__ = ("_gone", "nbytes")

    def __init__(self, nbytes: int, gone: deque[int]) -> None:
        """Stands for so many bytes."""
        self.nbytes, self._gone = nbytes, gone

    def __del__(self) -> None:
        """Tells that it is gone; on any thread, at any moment, without a lock."""
        try:
            self._gone.append(self.nbytes)
        except AttributeError:  # an interrupt came before it had one
            pass


class Externals:
    """The account of what was lent to one device."""

    def __init__(self) -> None:
        """Starts with nothing."""
        self._gone: deque[int] = deque()
        self._nbytes = 0
        self._lock = threading.Lock()

    def lent(self, nbytes: int) -> External | None:
        """Returns what keeps an array counted; None for an empty one."""
        if not nbytes:
            return None
        self._gone.append(-nbytes)
        if len(self._gone) > _MOST_UNCOUNTED:
            self.nbytes()
        return External(nbytes, self._gone)

    def nbytes(self) -> int:
        """Returns the bytes that are lent at this moment."""
        with self._lock:
            for _ in range(len(self._gone)):
                self._nbytes -= self._gone.popleft()
            return self._nbytes
