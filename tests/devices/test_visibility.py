"""Which GPUs a process sees."""

import pytest

from nbtf._devices.visibility import enumeration, visible

UUIDS = ["GPU-8932f937-aaaa", "GPU-8a00c0de-bbbb", "GPU-11111111-cccc", "GPU-22222222-dddd"]


@pytest.mark.parametrize(
    ("value", "expected"),
    [
        (None, [0, 1, 2, 3]),
        ("", []),
        ("1", [1]),
        ("0,1", [0, 1]),
        ("0,2,3", [0, 2, 3]),
        ("2,1", [2, 1]),
        ("0,2,-1,1", [0, 2]),
        ("-1", []),
        ("0,7,1", [0]),
        ("7", []),
        ("1,1", []),
        ("0,1,0", []),
        ("0,7,0", []),
        ("0,-1,0", [0]),
        (" 1 , 2 ", [1, 2]),
        ("1gpu2,2x", [1, 2]),
        ("+1", [1]),
        ("01", [1]),
        ("abc", []),
        (",0", []),
        ("no", []),
        ("NoDevFiles", []),
        ("0,,1", [0]),
        ("0,abc,1", [0]),
        ("-", []),
        ("3,2,1,0", [3, 2, 1, 0]),
        ("²", []),
    ],
)
def test_numbers(value: str | None, expected: list[int]) -> None:
    environ = {} if value is None else {"CUDA_VISIBLE_DEVICES": value}

    assert expected == visible(UUIDS, environ)


@pytest.mark.parametrize(
    ("value", "expected"),
    [
        ("GPU-8932f937-aaaa", [0]),
        ("GPU-8932f937", [0]),
        ("GPU-8", []),  # two begin so
        ("GPU-89", [0]),
        ("GPU-ffff", []),
        ("GPU-2222,GPU-8932", [3, 0]),
        ("GPU-2222,GPU-ffff,GPU-8932", [3]),
        ("GPU-2222,GPU-8,GPU-8932", [3]),
        ("GPU-2222,GPU-2222", []),
        ("GPU-2222,GPU-22222222", []),  # two names of one card
        ("GPU-2222,1", [3]),
        ("GPU-2222, GPU-8932", [3]),  # a blank is not a part of a name
        ("1,GPU-2222", [1]),
        ("gpu-2222", []),
        ("MIG-2222", []),
        ("MIG-GPU-22222222-dddd/0/0", []),
    ],
)
def test_identifiers(value: str, expected: list[int]) -> None:
    assert expected == visible(UUIDS, {"CUDA_VISIBLE_DEVICES": value})


def test_one_card_is_every_beginning_of_its_name() -> None:
    assert [0] == visible(UUIDS[:1], {"CUDA_VISIBLE_DEVICES": "GPU-"})


BUSES = ["0000:84:00.0", "0000:02:00.0", "0000:83:00.0"]


@pytest.mark.parametrize("order", [{}, {"CUDA_DEVICE_ORDER": "FASTEST_FIRST"}, {"CUDA_DEVICE_ORDER": "?"}])
def test_the_fastest_is_first(order: dict[str, str]) -> None:
    assert [2, 1, 0] == enumeration([1.0, 2.0, 3.0], BUSES, order)


def test_equal_cards_stand_by_address() -> None:
    assert [1, 2, 0] == enumeration([1.0, 1.0, 1.0], BUSES, {})


def test_pci_bus_id_is_by_address() -> None:
    assert [1, 2, 0] == enumeration([1.0, 2.0, 3.0], BUSES, {"CUDA_DEVICE_ORDER": "PCI_BUS_ID"})


def test_no_card_is_no_order() -> None:
    assert [] == enumeration([], [], {})
