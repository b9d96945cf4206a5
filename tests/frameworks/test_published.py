"""Do published PyTorch notebooks run as they stand, and compute the same wherever they run?"""

from __future__ import annotations

import gc
import math
import re
import sys
from collections.abc import Generator, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

import nbtf as tf
from tests.frameworks import published
from tests.notebook.conftest import Shell
from tests.notebook.conftest import bare as bare
from tests.rings import with_nightly

torch: Any = pytest.importorskip("torch", reason="needs PyTorch; one step of .ci/run has it")

pytestmark = pytest.mark.filterwarnings("ignore")  # PyTorch warns of layouts that are young; a notebook goes on

GPUS = 2

ROUNDED = {"lstm_sine": 1e-6}
"""How far losses may be off: without gradients PyTorch's CPU computes an LSTM by oneDNN, and a card does not."""

COMPUTED, TOO_LARGE = published.NOTEBOOKS[1::4], published.NOTEBOOKS[::6]
"""The notebooks that the usual run computes, and those that it runs on a card that is too small."""


def first(share: list[Path]) -> list[Any]:
    """Returns the notebooks of a share for the usual run, and the others for the nightly ring."""
    return with_nightly(share, [path for path in published.NOTEBOOKS if path not in share])


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


@contextmanager
def simulated(memory: int | None = None) -> Generator[None]:
    """PyTorch has two simulated cards, of so many MiB each."""
    tf.runtime.restart()
    tf.runtime.simulate_gpus(GPUS, model="A100-40GB", memory=memory, frameworks="torch")
    try:
        yield
    finally:
        gc.collect()
        tf.runtime.restart()
        tf.runtime.simulate_gpus(0)


def test_there_are_enough() -> None:
    assert len(published.NOTEBOOKS) == 28


@each_notebook
def test_it_is_as_long_as_what_people_publish(path: Path) -> None:
    cells, lines = published.count_cells_and_lines(path)

    assert (cells >= 8, lines >= 60) == (True, True)


@pytest.mark.parametrize("path", first(COMPUTED), ids=lambda path: path.stem)
def test_it_computes_on_simulated_gpus_what_it_computes_on_the_cpu(path: Path) -> None:
    on_cpu = published.run(path)
    with simulated():
        on_gpus = published.run(path)
        peaks = [torch.cuda.max_memory_allocated(number) for number in range(GPUS)]

    assert on_gpus.losses == pytest.approx(on_cpu.losses, rel=ROUNDED.get(path.stem, 0.0), abs=0.0)
    assert all(map(math.isfinite, on_cpu.losses))
    assert max(peaks) > 0, "nothing was on a GPU"


@pytest.mark.parametrize("path", first(TOO_LARGE), ids=lambda path: path.stem)
def test_on_a_card_that_is_too_small_it_ends_in_pytorchs_error_and_the_holder_is_named(bare: Shell, path: Path) -> None:
    bare.run("%load_ext nbtf")
    with simulated(memory=2):
        error = next(filter(None, (bare.run(source).error for source in published.code_cells(path))), None)
        in_use = sum(torch.cuda.memory_allocated(number) for number in range(GPUS))
        holders = bare.run("%gpu_memory --who").result

    assert isinstance(error, torch.OutOfMemoryError)
    assert re.match(r"CUDA out of memory\. Tried to allocate .*GPU \d has a total capacity of 2\.00 MiB", str(error))
    rows = holders.rows
    assert sum(row["nbytes"] for row in rows if row.get("names")) >= 0.9 * in_use > 0
