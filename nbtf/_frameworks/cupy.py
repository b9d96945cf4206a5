"""CuPy's cards, memory, arrays and work."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from contextlib import suppress
from functools import cache
from typing import Any, ClassVar

from nbtf._devices.cuda.guard import context_state
from nbtf._frameworks.base import Activity, Arrays, Card, Framework, Listening, Pool, cautious, describe, piece
from nbtf._frameworks.cupy_memory import CuPyListening
from nbtf._runtime.holding import Holding


class CuPy(Framework):
    """CuPy, imported by the user or by nbtf. nbtf has its own pools; CuPy's default pool is the user's."""

    name: ClassVar[str] = "CuPy"
    module_name: ClassVar[str] = "cupy"
    recorded: ClassVar[str] = "memory, but no kernels and no copies,"

    def cards(self) -> list[Card]:
        """Returns the cards that CuPy has started to use."""
        return [self._card(int(pool.device.removeprefix("cuda:"))) for pool in self.pools()]

    def _card(self, number: int) -> Card:
        from uuid import UUID

        try:
            facts = self._module.cuda.runtime.getDeviceProperties(number)
            return Card(
                number, facts["name"].decode(), f"GPU-{UUID(bytes=facts['uuid'][:16])}", facts["totalGlobalMem"]
            )
        except Exception:  # older releases do not report a UUID
            return Card(number, "", None, None)

    @cautious(list[Pool])
    def pools(self) -> list[Pool]:
        """Returns the default pool of each card that this process has started to use."""
        numbers = range(self._module.cuda.runtime.getDeviceCount())
        pools = [self._pool(number) for number in numbers if _has_begun(self._module, number)]
        return [pool for pool in pools if pool is not None and pool.reserved]

    @cautious(lambda: None)  # entering a device may fail without a driver
    def _pool(self, number: int) -> Pool | None:
        with self._module.cuda.Device(number):
            pool = self._module.get_default_memory_pool()
            line = "cupy.get_default_memory_pool().free_all_blocks()"
            return Pool(f"cuda:{number}", int(pool.total_bytes()), int(pool.used_bytes()), None, line)

    @cautious(lambda: None)
    def arrays(self) -> Arrays | None:
        """Returns the description of its arrays."""
        return Arrays(self.name, self._module.ndarray, _holding, describe, is_pythons=_is_pythons)

    def activity(self) -> Activity:
        """Returns an observer of its pool."""
        return _Activity(self)

    def listening(self) -> Listening:
        """Returns the object that records CuPy's memory."""
        return CuPyListening(self._module)

    @cautious(lambda: None)
    def full_card(self, error: BaseException) -> str | None:
        """Returns the card that was current when CuPy's pool ran out of memory."""
        full = isinstance(error, self._module.cuda.memory.OutOfMemoryError)
        return f"cuda:{self._module.cuda.Device().id}" if full else None


@cautious(lambda: False)
def _is_pythons(arrays: Sequence[Any], held_elsewhere: int = 0) -> bool:
    """Returns whether only these arrays point into the memory that they share."""
    gauge = [object()]
    alone = sys.getrefcount(gauge[0])
    pointers = list({id(array.data): array.data for array in arrays}.values())
    memory = [pointers[0].mem]
    users = [sum([array.data is pointer for array in arrays]) for pointer in pointers]
    return sys.getrefcount(memory[0]) - alone == len(pointers) and all(
        sys.getrefcount(pointers[index]) - alone == count + held_elsewhere for index, count in enumerate(users)
    )


@cautious(lambda: None)  # the device may be lost
def _holding(array: Any) -> Holding | None:
    memory = array.data
    return piece(memory.device_id, memory.mem.ptr, memory.mem.size)


@cautious(lambda: False)
def _has_begun(cupy: Any, number: int) -> bool:
    """Returns whether this process has started to use a card. Entering a card would create a context of ~100 MiB."""
    state = context_state(number)
    if state is None and number == cupy.cuda.runtime.getDevice():
        driver = getattr(cupy.cuda, "driver", None)
        return driver is None or bool(driver.ctxGetCurrent())
    return bool(state)


class _Activity(Activity):
    """Observes allocations of the default pool on a thread; CuPy does not expose its kernels."""

    def __init__(self, library: CuPy) -> None:
        self._library, self._hook = library, _new_hook(library._module)
        self._of_threads: list[Any] = []

    def start(self) -> None:
        """Adds the hook."""
        if self._hook is not None:
            self._hook.__enter__()

    @cautious(lambda: None)
    def join(self) -> None:
        """Adds a hook to this thread; the hook ends with the thread."""
        hook: Any = _new_hook(self._library._module)
        hook.__enter__()
        self._of_threads.append(hook)

    def stop(self) -> None:
        """Removes the hook, unless another thread owns it."""
        if self._hook is not None:
            with suppress(KeyError):
                self._hook.__exit__(None, None, None)

    def work(self) -> str | None:
        """Returns whether CuPy may have worked in this process; it does not expose which kernels ran when."""
        return "CuPy may have run kernels that were not recorded" if self._library.pools() else None

    def unmeasured(self) -> None:
        """Returns None: the pool reports the memory of all work."""

    def peaks(self) -> dict[str, int] | None:
        """Returns the highest use after any allocation of the pool."""
        if self._hook is None or not self.complete:
            return None
        peaks = dict[str, int]()
        for hook in (self._hook, *self._of_threads):
            for device, peak in hook.peaks.items():
                peaks[device] = max(peaks.get(device, 0), peak)
        return peaks


@cautious(lambda: None)
def _new_hook(cupy: Any) -> Any:
    return _hook_class(cupy.cuda.MemoryHook)(cupy.get_default_memory_pool())


@cache
def _hook_class(base: type[Any]) -> type[Any]:
    """Returns the class of a memory hook that reads the pool after each allocation."""

    class PeakHook(base):
        """Tracks the highest use of the default pool, by card."""

        def __init__(self, pool: Any) -> None:
            self.name = f"nbtf: peak of the default pool, {id(self)}"  # nested hooks need different names
            self._pool, self.peaks = pool, dict[str, int]()

        def malloc_postprocess(self, **event: Any) -> None:
            """Reads the pool of the current card."""
            device = f"cuda:{event['device_id']}"
            self.peaks[device] = max(self.peaks.get(device, 0), int(self._pool.used_bytes()))

    return PeakHook
