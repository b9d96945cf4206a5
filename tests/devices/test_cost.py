"""How long a card would take."""

import math

import pytest

from nbtf._devices.catalog import find_card
from nbtf._devices.cost import Shape, copy_seconds, op_seconds, operations


@pytest.mark.parametrize(
    ("inputs", "output", "expected"),
    [
        ([(2, 3), (3, 5)], (2, 5), 2 * 2 * 3 * 5),
        ([(3, 2), (5, 3)], (2, 5), 2 * 2 * 3 * 5),  # both transposed
        ([(4, 2, 3), (4, 3, 5)], (4, 2, 5), 4 * 2 * 2 * 3 * 5),
    ],
)
def test_a_matrix_product_is_counted(inputs: list[Shape], output: Shape, expected: float) -> None:
    assert expected == pytest.approx(operations("MatMul", inputs, [output]))


def test_a_convolution_is_counted() -> None:
    image, filters, result = (8, 10, 10, 3), (3, 3, 3, 16), (8, 8, 8, 16)

    assert 2 * math.prod(result) * 3 * 3 * 3 == operations("Conv2D", [image, filters], [result])


def test_other_ops_count_elements() -> None:
    assert 100 == operations("Sum", [(10, 10)], [()])
    assert 100 == operations("Fill", [], [(10, 10)])


@pytest.mark.parametrize("shapes", [[(0, 3), (3, 5), (0, 5)], [(2, 0), (0, 5), (2, 5)]])
def test_empty_matrices_cost_no_arithmetic_of_their_own(shapes: list[tuple[int, ...]]) -> None:
    first, second, result = shapes

    assert operations("MatMul", [first, second], [result]) <= 15


def test_small_arithmetic_is_bound_by_bandwidth() -> None:
    card = find_card("V100")

    assert 900e9 / card.memory_bandwidth == op_seconds(card, 900_000_000_000, 1.0)


def test_much_arithmetic_is_bound_by_the_peak_rate() -> None:
    card = find_card("V100")

    assert 2.0 == op_seconds(card, 1, 2 * card.peak_flops)


def test_a_copy_is_bound_by_the_bus() -> None:
    card = find_card("T4")

    assert 1.0 == copy_seconds(card, int(card.pcie_bandwidth))
