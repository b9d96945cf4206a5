"""Formats sizes and durations with three digits."""

from __future__ import annotations


def bytes_in_words(nbytes: int) -> str:
    """Returns a size with three digits.

    >>> bytes_in_words(940_584), bytes_in_words(5_643_504), bytes_in_words(12)
    ('919 KiB', '5.38 MiB', '12 B')
    """
    for unit, size in (("GiB", 2**30), ("MiB", 2**20), ("KiB", 2**10)):
        if nbytes >= size:
            return f"{_three_digits(nbytes / size)} {unit}"
    return f"{nbytes} B"


def seconds_in_words(seconds: float) -> str:
    """Returns a duration with three digits.

    >>> seconds_in_words(1.0411e-3), seconds_in_words(2.9e-5), seconds_in_words(3e-9), seconds_in_words(0)
    ('1.04 ms', '29 µs', '3 ns', '0 ns')
    """
    for unit, size in (("s", 1.0), ("ms", 1e-3), ("µs", 1e-6)):
        if seconds >= size * 0.9995:
            return f"{_three_digits(seconds / size)} {unit}"
    return f"{_three_digits(seconds * 1e9)} ns"


def _three_digits(number: float) -> str:
    return f"{number:,.0f}" if number >= 99.95 else f"{number:.3g}"
