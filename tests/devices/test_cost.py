"""How long a card would take."""

import numpy as np
import pytest

from nbtf._devices.catalog import find_card
from nbtf._devices.cost import copy_seconds, op_seconds, operations


def _ones(*shape: int) -> np.ndarray:
    return np.ones(shape, np.float32)


@pytest.mark.parametrize(
    ("inputs", "output", "expected"),
    [
        ([_ones(2, 3), _ones(3, 5)], _ones(2, 5), 2 * 2 * 3 * 5),
        ([_ones(3, 2), _ones(5, 3)], _ones(2, 5), 2 * 2 * 3 * 5),  # both transposed
        ([_ones(4, 2, 3), _ones(4, 3, 5)], _ones(4, 2, 5), 4 * 2 * 2 * 3 * 5),
    ],
)
def test_a_matrix_product_is_counted(inputs: list[np.ndarray], output: np.ndarray, expected: float) -> None:
    assert expected == pytest.approx(operations("MatMul", inputs, [output]))


def test_a_convolution_is_counted() -> None:
    image, filters, result = _ones(8, 10, 10, 3), _ones(3, 3, 3, 16), _ones(8, 8, 8, 16)

    assert 2 * result.size * 3 * 3 * 3 == operations("Conv2D", [image, filters], [result])


def test_other_ops_count_elements() -> None:
    assert 100 == operations("Sum", [_ones(10, 10)], [_ones()])
    assert 100 == operations("Fill", [], [_ones(10, 10)])


@pytest.mark.parametrize("shapes", [[(0, 3), (3, 5), (0, 5)], [(2, 0), (0, 5), (2, 5)]])
def test_empty_matrices_cost_no_arithmetic_of_their_own(shapes: list[tuple[int, ...]]) -> None:
    first, second, result = (_ones(*shape) for shape in shapes)

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
