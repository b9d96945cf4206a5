"""Models how long a simulated card would take for its PyTorch ops, and until when it is busy. Nothing ever sleeps.

The model is the same as for nbtf's own ops; see `nbtf/_devices/cost.py`. Each card works in order, regardless of
streams. A copy between two cards keeps both busy. The time between two launches is not counted.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from importlib import import_module
from logging import getLogger
from math import prod
from typing import Any

from nbtf._devices import cost
from nbtf._devices.cards import PhysicalGPU
from nbtf._devices.chips import clock_rate
from nbtf._frameworks.torch.dispatch import RECORDING
from nbtf._frameworks.torch.thread_observer import hearing_of_thread
from nbtf._locks import new_lock

# PyTorch's table lists the arithmetic of these ops under another name.
_LIKE = {
    "aten::addbmm": "aten::baddbmm",
    "aten::_addmm_activation": "aten::addmm",
    "aten::_scaled_dot_product_flash_attention_for_cpu": "aten::_scaled_dot_product_flash_attention",
    "aten::_scaled_dot_product_flash_attention_for_cpu_backward": "aten::_scaled_dot_product_flash_attention_backward",
}
_UNTOUCHED = frozenset(
    [f"aten::{name}" for name in ("empty", "empty_like", "empty_permuted", "empty_strided", "new_empty")]
    + ["aten::new_empty_strided"]
)
"""Ops that allocate memory but write nothing to it."""
_PRODUCTS_OF_STEP = 2.0
"""Operations of a recurrent layer for each weight and each step of each sequence: a product and a sum."""


class Timing:
    """The modelled time of each card, counted while ops are recorded and from the first timed event on."""

    def __init__(self, torch: Any, cards: Sequence[PhysicalGPU]) -> None:
        """Starts with all cards idle."""
        self._torch, self._cards = torch, [card.card for card in cards]
        self._busy_until = [0.0] * len(cards)
        self._has_events = False
        self._formulas: dict[str, Any] | None = None
        self._lock = new_lock()

    @property
    def is_wanted(self) -> bool:
        """Whether times are needed at the moment."""
        return self._has_events or RECORDING.wanted > 0

    def mark(self, number: int, is_timed: bool) -> float:
        """Returns the modelled second until which a card is busy; the first timed mark starts the counting."""
        self._has_events |= is_timed
        return self._busy_until[number]

    def wait(self, number: int, seconds: float) -> None:
        """Makes a card start nothing before a moment on another card."""
        with self._lock:
            self._busy_until[number] = max(self._busy_until[number], seconds)

    def add_op(self, number: int, name: str, args: Sequence[Any], kwargs: Mapping[str, Any], results: Any) -> None:
        """Adds an op to a card's time.

        Args:
          number: number of the card.
          name: full name of the op, without its overload.
          args: positional arguments, which it read.
          kwargs: keyword arguments, which it read.
          results: the returned values, which it wrote.
        """
        if name in _UNTOUCHED:
            return
        tensors = [*self._tensors((*args, *kwargs.values(), results))]
        nbytes = sum([tensor.numel() * tensor.element_size() for tensor in tensors])
        work = self._operations(name, args, kwargs, results, tensors)
        self._add(number, cost.op_seconds(self._cards[number], nbytes, work))

    def add_recurrent(self, number: int, inputs: Sequence[Any], results: Sequence[Any], passes: int = 1) -> None:
        """Adds `passes` passes of a whole recurrent layer to a card's time; the first input is the layer's sequence."""
        tensors = [*self._tensors((*inputs, *results))]
        nbytes = passes * sum([tensor.numel() * tensor.element_size() for tensor in tensors])
        rows = prod(inputs[0].shape[:-1])
        weights = sum([tensor.numel() for tensor in inputs[1:] if tensor.dim() == 2])
        self._add(number, cost.op_seconds(self._cards[number], nbytes, _PRODUCTS_OF_STEP * passes * rows * weights))

    def add_copy(self, source: int, target: int, nbytes: int) -> None:
        """Adds a copy between cards, or between a card and the host, whose number is -1."""
        ends = [end for end in (source, target) if end >= 0]
        seconds = cost.copy_seconds(self._cards[ends[-1]], nbytes)
        with self._lock:
            end = max([self._busy_until[number] for number in ends]) + seconds
            for number in ends:
                self._busy_until[number] = end

    def add_cycles(self, number: int, cycles: int) -> None:
        """Adds a number of clock cycles to a card's time."""
        self._add(number, cycles / clock_rate(self._cards[number]))

    def _add(self, number: int, seconds: float) -> None:
        with self._lock:
            self._busy_until[number] += seconds
        hearing = hearing_of_thread(self._torch)
        if hearing is not None:
            hearing.modelled += seconds

    def _operations(self, name: str, args: Any, kwargs: Any, result: Any, tensors: Sequence[Any]) -> float:
        """Returns the arithmetic of an op from PyTorch's table; otherwise counts one operation per element."""
        if self._formulas is None:
            registry = _flop_registry()
            self._formulas = {f"aten::{getattr(packet, '__name__', packet)}": registry[packet] for packet in registry}
        formula = self._formulas.get(_LIKE.get(name, name)) or self._formulas.get(name.removesuffix("_"))
        if formula is not None:
            return float(formula(*args, **kwargs, out_val=result))
        return float(max([tensor.numel() for tensor in tensors], default=0))

    def _tensors(self, values: Sequence[Any]) -> Iterator[Any]:
        for value in values:
            if isinstance(value, self._torch.Tensor):
                yield value
            elif value.__class__ in (list, tuple):
                yield from self._tensors(value)


def _flop_registry() -> Mapping[Any, Any]:
    """Returns PyTorch's table of formulas; its import would warn that a PyTorch with CUDA comes with Triton."""
    name = "torch.utils.flop_counter"
    logger = getLogger(name)
    logger.disabled = True
    try:
        return import_module(name).flop_registry
    finally:
        logger.disabled = False
