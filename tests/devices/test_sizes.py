"""How sizes are written."""

import pytest

from nbtf._devices.sizes import gib, human, part_of


@pytest.mark.parametrize(
    ("nbytes", "text"),
    [
        (0, "0B"),
        (1023, "1023B"),
        (1024, "1.0KiB"),
        (1000192, "976.8KiB"),
        (1048575, "1024.0KiB"),
        (1048576, "1.00MiB"),
        (1100288, "1.05MiB"),
        (419430400, "400.00MiB"),
        (16 << 30, "16.00GiB"),
    ],
)
def test_tensorflow_writes_a_size_so(nbytes: int, text: str) -> None:
    assert text == human(nbytes)


@pytest.mark.parametrize(
    ("nbytes", "text"),
    [(5 << 30, "5 GiB"), (15246946304, "14.2 GiB"), (1071120384, "1021.5 MiB"), (1280, "1.2 KiB"), (700, "700 bytes")],
)
def test_sentences_say_a_size_so(nbytes: int, text: str) -> None:
    assert text == gib(nbytes)


def test_a_part_of_a_gib_can_be_said_in_gib() -> None:
    assert "0.9 GiB" == gib(966367641, from_gib=0.1)


@pytest.mark.parametrize(
    ("nbytes", "whole", "text"),
    [
        (1071120384, 1 << 30, "1021.5 of 1024 MiB"),
        (14 << 30, 15 << 30, "14 of 15 GiB"),
        (1280, 1 << 30, "1.2 KiB of 1 GiB"),
        (0, 16 << 30, "0 bytes of 16 GiB"),
    ],
)
def test_a_part_and_its_whole_share_a_unit(nbytes: int, whole: int, text: str) -> None:
    assert text == part_of(nbytes, whole)
