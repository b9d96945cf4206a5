"""What does PyTorch tell of its cards, its memory, its tensors and its work?"""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import nullcontext
from functools import cache, cached_property
from typing import Any, ClassVar
from weakref import WeakSet

from nbtf._frameworks.base import Activity, Arrays, Card, Framework, Pool, cautious, piece, plural
from nbtf._frameworks.saved_tensors import SavedTensors, saved_tensors
from nbtf._runtime.holding import Holding

DEVICE_TYPES = ("cuda",)
"""Where tensors are that take memory of a card."""

_HOST_TYPES = frozenset({"cpu", "meta"})


class PyTorch(Framework):
    """PyTorch, as far as this process has imported it."""

    name: ClassVar[str] = "PyTorch"
    module_name: ClassVar[str] = "torch"

    @cautious(list[Card])
    def cards(self) -> list[Card]:
        """Returns the cards that it has begun to use."""
        return [self._card(number) for number in self._ordinals()]

    def _card(self, number: int) -> Card:
        properties = self._module.cuda.get_device_properties(number)
        uuid = getattr(properties, "uuid", None)  # older releases do not tell it
        total = getattr(properties, "total_memory", None)
        return Card(number, getattr(properties, "name", ""), None if uuid is None else f"GPU-{uuid}", total)

    def _ordinals(self) -> range:
        cuda = self._module.cuda
        return range(cuda.device_count()) if cuda.is_initialized() else range(0)

    @cautious(list[Pool])
    def pools(self) -> list[Pool]:
        """Returns what its caching allocator has on each card."""
        cuda = self._module.cuda
        return [
            Pool(
                f"cuda:{number}",
                int(cuda.memory_reserved(number)),
                int(cuda.memory_allocated(number)),
                _peak(cuda, number),
                "torch.cuda.empty_cache()",
            )
            for number in self._ordinals()
        ]

    @cautious(lambda: None)
    def arrays(self) -> Arrays | None:
        """Returns what its tensors are."""
        return _arrays(self._module)

    def activity(self) -> Activity:
        """Returns what counts its ops."""
        return _Activity(self)

    @property
    def has_cards(self) -> bool:
        """Whether it could use a card here; asking starts none."""
        try:
            return self._module.cuda.is_initialized() or self._module.cuda.device_count() > 0
        except Exception:  # half imported
            return False

    @cautious(lambda: None)
    def full_card(self, error: BaseException) -> str | None:
        """Returns the card that a `torch.OutOfMemoryError` names."""
        if not isinstance(error, self._module.cuda.OutOfMemoryError):
            return None
        words = str(error).partition("GPU ")[2].split()
        number = words[0].strip(".") if words else ""
        return f"cuda:{number}" if number.isdigit() else f"cuda:{self._module.cuda.current_device()}"


def _peak(cuda: Any, number: int) -> int | None:
    look = getattr(cuda, "max_memory_allocated", None)
    return None if look is None else int(look(number))


# Tensors


def _arrays(torch: Any) -> Arrays:
    # Classes that users derive may run code of theirs for each attribute; here nothing of it runs.
    plain: Any = getattr(torch._C, "DisableTorchFunctionSubclass", nullcontext)

    @cautious(lambda: None)  # tensors without memory, of which there are many kinds, complain in as many ways
    def holding(tensor: Any) -> Holding | None:
        with plain():
            if tensor.device.type not in DEVICE_TYPES:
                return None
            storage = tensor.untyped_storage()
            return piece(tensor.device.index or 0, storage.data_ptr(), storage.nbytes())

    def describe(tensor: Any) -> str:
        with plain():
            return f"{list(tensor.shape)} {str(tensor.dtype).removeprefix('torch.')}"

    def gradient(tensor: Any) -> Any:
        with plain():
            return tensor.grad if tensor.is_leaf else None  # of others PyTorch warns

    @cautious(lambda: False)  # older releases do not count
    def is_pythons(tensors: Sequence[Any], held_elsewhere: int = 0) -> bool:
        with plain():
            bases = [tensor._base for tensor in tensors]
            hidden = {id(base): base for base in bases if base is not None and not _contains(tensors, base)}
            alive = [*tensors, *hidden.values()]
            views = [sum([base is tensor for base in bases]) for tensor in alive]
            # Beside those, the Python object of a tensor is one user of it, and this look one of their storage.
            users = torch._C._storage_Use_Count(tensors[0].untyped_storage()._cdata) - 1
            return users == len(alive) and all(
                tensor._use_count() == 1 + count + held_elsewhere for tensor, count in zip(alive, views, strict=True)
            )

    @cautious(lambda: SavedTensors(0, []))
    def saved(tensor: Any) -> SavedTensors:
        with plain():
            return saved_tensors(torch, tensor)

    return Arrays(PyTorch.name, torch.Tensor, holding, describe, gradient, is_pythons, saved)


def _contains(tensors: Sequence[Any], tensor: Any) -> bool:
    """Says whether a tensor is one of some; a tensor's own comparison would compare values."""
    return any([each is tensor for each in tensors])


# Work


_OF_THREADS: WeakSet[Any] = WeakSet()
"""The modes of threads that began in a block. Some threads go on after it, and then count for the next blocks."""


class _Activity(Activity):
    """Counts ops by modes of PyTorch's dispatcher: of each thread, and of the backward passes that it starts.

    Of a thread that began earlier only what it allocates on a card is noticed.
    """

    def __init__(self, library: PyTorch) -> None:
        self._library, self._mode = library, _new_mode(library._module)
        self._counted: dict[Any, int] = {}  # each mode, with its ops of before
        self._allocations = 0
        self._at_end: tuple[int, int] | None = None

    def start(self) -> None:
        """Enters the mode; from now on PyTorch counts its peaks anew."""
        self._counted = {mode: mode.ops for mode in tuple(_OF_THREADS)}
        if self._mode is not None:
            self._counted[self._mode] = 0
            self._mode.__enter__()
        self._allocations = _allocations(self._library)
        self._reset_peaks()

    @cautious(lambda: None)
    def join(self) -> None:
        """Enters a mode on this thread, which ends with it."""
        mode: Any = _new_mode(self._library._module)
        mode.__enter__()
        self._counted[mode] = 0
        _OF_THREADS.add(mode)

    @cautious(lambda: None)
    def _reset_peaks(self) -> None:
        for number in self._library._ordinals():
            self._library._module.cuda.reset_peak_memory_stats(number)

    def stop(self) -> None:
        """Leaves the mode; threads that go on count no more for this block."""
        self._at_end = self._counts()
        if self._mode is not None:
            self._leave(self._mode)

    @cautious(lambda: None)
    def _leave(self, entered: Any) -> None:
        """Takes the mode away; those that the user has entered since, and not left, stay."""
        modes = self._library._module.utils._python_dispatch
        stack = [mode for mode in modes._get_current_dispatch_mode_stack() if getattr(mode, "_mode_key", None) is None]
        if entered not in stack:
            return  # it is on the stack of another thread
        entered_since = stack[stack.index(entered) + 1 :]
        for _ in entered_since:
            modes._pop_mode()
        entered.__exit__(None, None, None)
        for mode in entered_since:
            modes._push_mode(mode)

    def _counts(self) -> tuple[int, int]:
        """Returns how many ops ran, and how often memory of a card was asked for, by the end or by now."""
        ops = sum([mode.ops - count_before for mode, count_before in tuple(self._counted.items())])
        return self._at_end or (ops, _allocations(self._library) - self._allocations)

    def work(self) -> str | None:
        """Says how many ops ran."""
        ops, allocations = self._counts()
        if ops:
            return f"PyTorch ran {plural(ops, 'op')}, not recorded"
        is_sure = self._mode is not None and self.complete and not allocations
        return None if is_sure else "PyTorch may have run ops that were not recorded"

    def unmeasured(self) -> str | None:
        """Says which of its devices tell no memory."""
        work = self.work()
        if work is None:
            return None
        types = set[str]().union(*[mode.device_types for mode in tuple(self._counted)])
        devices = sorted(types - _HOST_TYPES - {"cuda"})
        if devices:
            return f"the memory of PyTorch's {', '.join(devices)} was not asked for"
        return None if self._library.has_cards else f"{work}, on no GPU whose memory could be asked for"


@cautious(lambda: 0)  # older releases do not count
def _allocations(library: PyTorch) -> int:
    """Returns how often any thread has asked for memory of a card."""
    statistics = library._module.cuda.memory_stats
    return sum([int(statistics(number).get("allocation.all.allocated", 0)) for number in library._ordinals()])


@cautious(lambda: None)
def _new_mode(torch: Any) -> Any:
    return _mode_class(torch.utils._python_dispatch.TorchDispatchMode)()


@cache
def _mode_class(base: type[Any]) -> type[Any]:
    """Returns a dispatch mode that counts. It is made here: whoever has no PyTorch has no such class."""

    class CountingMode(base):
        """Counts the ops below autograd, and notes the types of the devices of their results."""

        ops = 0

        @cached_property
        def device_types(self) -> set[str]:
            return set()

        @classmethod
        def _should_skip_dynamo(cls) -> bool:
            return False  # else each op costs twice as much

        def __torch_dispatch__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
            result = func(*args, **(kwargs or {}))
            self.ops += 1
            device = getattr(result, "device", None)
            if device is not None:
                self.device_types.add(device.type)
            return result

    return CountingMode
