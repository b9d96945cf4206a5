"""Who holds the memory of simulated cards, and does each offered line free what its row promises? The lines are run."""

from __future__ import annotations

import gc
from collections.abc import Iterator
from typing import Any

import pytest

import nbtf as tf
from tests.frameworks.torch_leaks import LEAKS
from tests.notebook.conftest import Shell
from tests.notebook.conftest import bare as bare
from tests.notebook.conftest import shell as shell

torch: Any = pytest.importorskip("torch", reason="needs PyTorch; one step of .ci/run has it")

CARDS = ("cuda:0", "cuda:1")


class Notebook:
    """A shell that runs the same cells from the start, as often as needed."""

    def __init__(self, shell: Shell, cells: tuple[str, ...]) -> None:
        self.shell, self.cells = shell, cells

    def begin(self) -> None:
        if "end" in self.shell.ip.user_ns:  # of a thread
            self.shell.ip.user_ns["end"].set()
            self.shell.ip.user_ns["t"].join()
        self.shell.run("%gpu_memory --forget-last-error")
        self.shell.ip.reset()
        gc.collect()
        if self.allocated():
            tf.runtime.restart()
            tf.runtime.simulate_gpus(2, memory="1GiB", frameworks="torch")
        torch.cuda.empty_cache()
        gc.disable()  # garbage stays until the offered line collects it
        for cell in self.cells:
            error = self.shell.run(cell).error
            assert error is None or isinstance(error, ZeroDivisionError), error

    def rows(self) -> list[dict[str, Any]]:
        table = self.shell.run("table = %gpu_memory --who", "table").result
        rows = [{**row} for row in table.rows]
        del table
        self.shell.run("%xdel table")
        return rows

    def run(self, lines: list[str]) -> None:
        for line in lines:
            assert self.shell.run(line if line.startswith("%") else f"{line};").error is None

    def allocated(self) -> int:
        return sum(torch.cuda.memory_allocated(card) for card in CARDS)

    def reserved(self) -> int:
        return sum(torch.cuda.memory_reserved(card) for card in CARDS)


@pytest.fixture(autouse=True)
def cards(bare: Shell) -> Iterator[None]:
    tf.runtime.restart()
    tf.runtime.simulate_gpus(2, memory="1GiB", frameworks="torch")
    yield
    gc.enable()
    tf.runtime.restart()
    tf.runtime.simulate_gpus(0)


@pytest.mark.filterwarnings("ignore:Using backward")
@pytest.mark.parametrize("leak", LEAKS)
def test_the_holder_is_named_and_each_offered_line_frees_what_it_promises(shell: Shell, leak: str) -> None:
    cells, expected = LEAKS[leak]
    notebook = Notebook(shell, cells)
    notebook.begin()
    rows = notebook.rows()

    frees = {row["holder"]: row["frees"] for row in rows}
    assert expected == {
        holder: frees.get(holder, "no such row") if lines is not ... else ... for holder, lines in expected.items()
    }, frees
    assert expected.keys() <= frees.keys(), frees
    assert "PyTorch: arrays without a name" not in frees
    assert notebook.reserved() == sum(row["nbytes"] for row in rows)
    for row in rows:
        if row["frees"]:
            notebook.begin()
            before = notebook.allocated(), notebook.reserved()
            notebook.run(row["frees"])
            freed = [
                earlier - later
                for earlier, later in zip(before, (notebook.allocated(), notebook.reserved()), strict=True)
            ]
            promise = [row["nbytes"], 0] if "later arrays" not in row["holder"] else [0, row["nbytes"]]
            assert all(real >= said for real, said in zip(freed, promise, strict=True)), (
                row["holder"],
                row["frees"],
                freed,
            )
    notebook.begin()
