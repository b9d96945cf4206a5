"""How is CuPy's memory recorded? By hooks of its pool; CuPy does not expose kernels and copies."""

from __future__ import annotations

import sys
from collections import deque
from collections.abc import Callable
from contextlib import suppress
from functools import cache
from time import time
from typing import Any

from nbtf._devices.names import full_name
from nbtf._devices.sites import Site
from nbtf._frameworks.base import Listening, cautious
from nbtf._locks import drain
from nbtf._record.events import Allocated, Freed
from nbtf._record.rows import next_number, note_of_event
from nbtf._runtime.context import CURRENT
from nbtf._runtime.inventory import devices

_LIBRARY = "CuPy"

_PIECES: dict[int, tuple[int, Allocated]] = {}
"""Allocations seen by hooks and not yet freed, by address, each with CuPy's number of its card."""


class CuPyListening(Listening):
    """Records each allocation and release of CuPy pools on the observed threads."""

    def __init__(self, cupy: Any) -> None:
        """Stores CuPy's module."""
        self._cupy = cupy
        self._hook: Any = None

    def start(self) -> None:
        """Starts recording.

        Raises:
          RuntimeError: if this release of CuPy has no hooks.
        """
        base = getattr(self._cupy.cuda, "MemoryHook", None)
        if base is None:
            raise RuntimeError("This release of CuPy cannot be watched: it has no cupy.cuda.MemoryHook.")
        self._hook = _hook_class(base)(self._cupy)
        self._hook.__enter__()

    def stop(self) -> None:
        """Stops on the thread that called `start`; hooks on other threads stay and do nothing."""
        hook, self._hook = self._hook, None
        if hook is not None:
            hook.tell_freed()
            hook.is_on = False
            with suppress(KeyError):
                hook.__exit__(None, None, None)

    @cautious(lambda: None)
    def join(self) -> None:
        """Adds a hook to this thread; the hook ends with the thread."""
        if self._hook is not None:
            _hook_class(self._cupy.cuda.MemoryHook)(self._cupy, self._hook).__enter__()

    def renew(self) -> None:
        """Does nothing, because an interrupt removes no hook."""


@cache
def _hook_class(base: type[Any]) -> Callable[..., Any]:
    """Returns a class of memory hooks that writes notes. It is created here because its base class is CuPy's."""

    class RecordingHook(base):
        """Writes a note of each allocation of the default pool and, with the next one, of the releases before it.

        Releases happen in finalizers, at any moment, so no note is written there.
        """

        def __init__(self, cupy: Any, first: Any = None) -> None:
            self.name = f"nbtf: memory, {id(self)}"  # nested hooks need different names
            self.is_on, self._first = True, first
            self._cupy, self._pool = cupy, cupy.get_default_memory_pool()
            self._used_before = 0
            self._freed = deque[tuple[int, Allocated]]()

        def malloc_preprocess(self, **event: Any) -> None:
            """Reads the default pool's use: if it does not grow, the allocation is from another pool."""
            self._used_before = int(self._pool.used_bytes())

        def malloc_postprocess(self, **event: Any) -> None:
            """Receives the address of an allocation."""
            used = int(self._pool.used_bytes())
            if used == self._used_before or not self._tells():
                return
            self.tell_freed()
            use = used, int(self._pool.total_bytes())
            site = _site(self._cupy)
            piece = Allocated(
                _card(event["device_id"]), event["size"], *use, next_number(), time(), site, library=_LIBRARY
            )
            _PIECES[event["mem_ptr"]] = event["device_id"], piece
            CURRENT.context.observers.take(note_of_event(piece))

        def free_postprocess(self, **event: Any) -> None:
            """Receives the address of a released allocation."""
            numbered_piece = _PIECES.pop(event["mem_ptr"], None)
            if numbered_piece is not None:
                self._freed.append(numbered_piece)

        def tell_freed(self) -> None:
            """Writes notes of the releases since the last call."""
            for number, piece in drain(self._freed) if self._tells() else ():
                with self._cupy.cuda.Device(number):
                    use = int(self._pool.used_bytes()), int(self._pool.total_bytes())
                back = Freed(piece.device, piece.nbytes, *use, next_number(), time(), piece.site, library=_LIBRARY)
                CURRENT.context.observers.take(note_of_event(back))

        def _tells(self) -> bool:
            return (self._first or self).is_on and CURRENT.context.observers.listening

    return RecordingHook


def _site(cupy: Any) -> Site:
    """Returns the line of the nearest caller outside nbtf and CuPy."""
    packages = {__name__.partition(".")[0], "cupyx"}
    frame: Any = sys._getframe(1)
    while frame is not None:
        module = str(frame.f_globals.get("__name__", ""))
        if module.partition(".")[0] not in packages and not f"{module}.".startswith(f"{cupy.__name__}."):
            return frame.f_code.co_filename, frame.f_lineno
        frame = frame.f_back
    return None


def _card(number: int) -> str:
    """Returns the full name of a card: nbtf's name if nbtf uses the card, otherwise CuPy's."""
    for device in devices():
        if device.cuda == number and not device.simulated:
            return full_name("GPU", int(device.name.rpartition(":")[2]))
    return full_name("cuda", number)
