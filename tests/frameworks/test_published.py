"""Do published PyTorch notebooks run as they stand, and compute the same wherever they run?"""

from __future__ import annotations

import gc
import math
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.frameworks import published

torch: Any = pytest.importorskip("torch", reason="needs PyTorch; one step of .ci/run has it")

each_notebook = pytest.mark.parametrize("path", published.NOTEBOOKS, ids=lambda path: path.stem)


@pytest.fixture(autouse=True)
def one_thread() -> Iterator[None]:
    """Sums come out the same however busy the machine is, and nothing of one notebook is left for the next."""
    threads = torch.get_num_threads()
    torch.set_num_threads(1)
    yield
    torch.set_num_threads(threads)
    if "torch._dynamo" in sys.modules:
        torch._dynamo.reset()
    gc.collect()


def test_there_are_enough() -> None:
    assert len(published.NOTEBOOKS) == 25


@each_notebook
def test_it_is_as_long_as_what_people_publish(path: Path) -> None:
    cells, lines = published.count_cells_and_lines(path)

    assert (cells >= 8, lines >= 60) == (True, True)


@each_notebook
def test_it_runs_on_the_cpu_twice_with_equal_losses(path: Path) -> None:
    first, second = published.run(path), published.run(path)

    assert first.losses == second.losses
    assert all(map(math.isfinite, first.losses))
