"""How are numbers of bytes written, in TensorFlow's log format and in our sentences?"""

from __future__ import annotations

from collections.abc import Callable

_GIB = 1 << 30
_MIB = 1 << 20


def human(nbytes: int) -> str:
    """Returns a size as TensorFlow's log writes it.

    >>> human(1023), human(1000243), human(419430400)
    ('1023B', '976.8KiB', '400.00MiB')

    Source: HumanReadableNumBytes, tsl/platform/numbers.cc of TensorFlow 2.21, which truncates before it rounds.
    """
    if nbytes < 1024:
        return f"{nbytes}B"
    unit = 0
    while nbytes >= 1 << 20:
        nbytes >>= 10
        unit += 1
    return f"{nbytes / 1024:.{2 if unit else 1}f}{'KMGTPE'[unit]}iB"


def gib(nbytes: int, from_gib: float = 1.0) -> str:
    """Returns a size for a sentence, with at most one decimal: GiB from `from_gib` on, otherwise MiB, KiB or bytes.

    >>> gib(5 << 30), gib(15246946304), gib(1071120384), gib(700)
    ('5 GiB', '14.2 GiB', '1021.5 MiB', '700 bytes')
    """
    if nbytes >= from_gib * _GIB:
        return f"{_decimal(nbytes / _GIB)} GiB"
    if nbytes >= _MIB:
        return mib(nbytes)
    return f"{_decimal(nbytes / 1024)} KiB" if nbytes >= 1024 else f"{nbytes} bytes"


def mib(nbytes: int) -> str:
    """Returns a size in MiB, precise enough to compare sizes that differ little.

    >>> mib(15334 << 20), mib(1 << 19)
    ('15334 MiB', '0.5 MiB')
    """
    return f"{_decimal(nbytes / _MIB)} MiB"


def told_apart(*sizes: int, write: Callable[[int], str] = gib) -> list[str]:
    """Returns sizes for a sentence that compares them: in bytes if different sizes would look the same.

    >>> told_apart(8 << 20, 4 << 20), told_apart((8 << 20) + 256, 8 << 20)
    (['8 MiB', '4 MiB'], ['8,388,864 bytes', '8,388,608 bytes'])
    """
    words = [write(nbytes) for nbytes in sizes]
    return words if len({*words}) == len({*sizes}) else [f"{nbytes:,} bytes" for nbytes in sizes]


def part_of(nbytes: int, total: int) -> str:
    """Returns a size as part of a total, both in one unit where that is precise enough.

    >>> part_of(1071120384, 1 << 30), part_of(15 << 30, 16 << 30), part_of(1280, 1 << 30)
    ('1021.5 of 1024 MiB', '15 of 16 GiB', '1.2 KiB of 1 GiB')
    """
    unit, name = (_GIB, "GiB") if total >= 4 * _GIB else (_MIB, "MiB")
    if nbytes < unit // 10:
        return f"{gib(nbytes)} of {gib(total)}"
    return f"{_decimal(nbytes / unit)} of {_decimal(total / unit)} {name}"


def _decimal(number: float) -> str:
    return f"{number:.1f}".removesuffix(".0")
