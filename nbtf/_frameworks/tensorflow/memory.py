"""The memory of the GPUs that TensorFlow uses, as its allocators report it. Nothing here starts a device."""

from __future__ import annotations

import re
import sys
from collections.abc import Callable, Iterator
from typing import Any, NamedTuple

from nbtf._frameworks.base import Card, Pool, cautious

_GPU = re.compile(r"device:GPU:(\d+)", re.IGNORECASE)
_ALLOCATOR = re.compile(r"\bGPU_(\d+)_bfc\b")


class StartedGPU(NamedTuple):
    """A logical GPU of TensorFlow, and the CUDA number of its card.

    They differ if a program hides cards from TensorFlow, or makes several logical GPUs of one card.
    """

    name: str
    card: int
    physical: Any


@cautious(list[StartedGPU])
def started_gpus(tf: Any) -> list[StartedGPU]:
    """Returns TensorFlow's logical GPUs; none before its first op, because until then it has started no device."""
    contexts = sys.modules.get("tensorflow.python.eager.context")
    context = None if contexts is None else contexts.context_safe()
    if context is None or context._context_handle is None:
        return []
    gpus: list[StartedGPU] = []
    for physical in tf.config.get_visible_devices("GPU"):
        pieces = len(tf.config.get_logical_device_configuration(physical) or (None,))
        card = int(physical.name.rpartition(":")[2])
        gpus += [StartedGPU(f"GPU:{len(gpus) + index}", card, physical) for index in range(pieces)]
    return gpus


def card_finder(tf: Any) -> Callable[[str], int | None]:
    """Returns a function from a device's full name to the CUDA number of its card; None for other devices."""
    numbers = {gpu.name: gpu.card for gpu in started_gpus(tf)}

    def card_of(device: str) -> int | None:
        match = _GPU.search(device)
        return None if match is None else numbers.get(f"GPU:{match[1]}")

    return card_of


def cards(tf: Any) -> list[Card]:
    """Returns the cards that TensorFlow has started to use; it reports neither their UUIDs nor their memory."""
    return [Card(number, _model(tf, physical), None, None) for number, physical in _physical(tf).items()]


def _physical(tf: Any) -> dict[int, Any]:
    return {gpu.card: gpu.physical for gpu in started_gpus(tf)}


@cautious(lambda: "")
def _model(tf: Any, physical: Any) -> str:
    return str(tf.config.experimental.get_device_details(physical).get("device_name", ""))


def pools(tf: Any) -> list[Pool]:
    """Returns the memory of each card that TensorFlow has started to use.

    TensorFlow does not report how much memory it has reserved, so `reserved` is the part in use. The peak of several
    logical GPUs on a card is the sum of their peaks, which is an upper limit.
    """
    by_card: dict[int, Pool] = {}
    for card, current, peak in _figures(tf):
        pool = by_card.get(card, Pool(f"cuda:{card}", 0, 0, 0, None))
        by_card[card] = pool._replace(
            reserved=pool.reserved + current, in_use=pool.in_use + current, peak=(pool.peak or 0) + peak
        )
    return list(by_card.values())


def _figures(tf: Any) -> Iterator[tuple[int, int, int]]:
    """Yields card, bytes in use and peak of each logical GPU whose allocator reports them."""
    for gpu in started_gpus(tf):
        try:
            figures = tf.config.experimental.get_memory_info(gpu.name)
            yield gpu.card, int(figures["current"]), int(figures["peak"])
        except Exception:  # this allocator has no statistics
            continue


def unreported(tf: Any) -> list[str]:
    """Returns the started GPUs whose memory TensorFlow does not report."""
    reported = {card for card, _, _ in _figures(tf)}
    return [gpu.name for gpu in started_gpus(tf) if gpu.card not in reported]


def peaks(tf: Any) -> dict[str, int]:
    """Returns the highest use of each card since `reset_peaks`, in bytes."""
    return {pool.device: pool.peak or 0 for pool in pools(tf)}


def reset_peaks(tf: Any) -> None:
    """Sets the peak of each started GPU to the memory in use."""
    for gpu in started_gpus(tf):
        _reset(tf, gpu.name)


@cautious(lambda: None)
def _reset(tf: Any, name: str) -> None:
    tf.config.experimental.reset_memory_stats(name)


@cautious(lambda: None)
def full_card(tf: Any, error: BaseException) -> str | None:
    """Returns the card that a `tf.errors.ResourceExhaustedError` names, such as `cuda:0`; None for other errors."""
    if not isinstance(error, tf.errors.ResourceExhaustedError):
        return None
    gpus, text = {gpu.name: gpu.card for gpu in started_gpus(tf)}, str(error)
    match = _GPU.search(text) or _ALLOCATOR.search(text)
    if match:
        number = gpus.get(f"GPU:{match[1]}")
    else:  # XLA's errors name no device
        number = next(iter(gpus.values())) if len(gpus) == 1 and "cpu" not in text.lower() else None
    return None if number is None else f"cuda:{number}"
