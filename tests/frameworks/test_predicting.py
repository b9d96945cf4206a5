"""`%%gpu_memory --predict` and `nbtf predict`: what they print, and that nothing runs here."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import nbformat
import pytest

import nbtf as tf
from nbtf.cli import main
from tests.notebook.test_pages import MAGICS, blocks
from tests.shells import interactive_shell

pytest.importorskip("torch")

SETUP = """import torch
device = "cuda" if torch.cuda.is_available() else "cpu"
batch_size = 16
model = torch.nn.Sequential(torch.nn.Linear(256, 1024), torch.nn.ReLU(), torch.nn.Linear(1024, 256)).to(device)
optimizer = torch.optim.Adam(model.parameters())"""
STEP = """for step in range(3):
    loss = model(torch.randn(batch_size, 256, device=device)).pow(2).mean()
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()"""


@pytest.fixture
def shell(tmp_path: Path) -> Iterator[Any]:
    with interactive_shell(tmp_path / "ipython") as shell:
        tf.load_ipython_extension(shell)
        yield shell
        tf.unload_ipython_extension(shell)


@pytest.fixture
def notebook(tmp_path: Path) -> Path:
    v4: Any = nbformat.v4
    path = tmp_path / "training.ipynb"
    nbformat.write(v4.new_notebook(cells=[v4.new_code_cell(source) for source in (SETUP, STEP)]), path)
    return path


def test_a_cell_is_predicted_and_not_run(shell: Any, capsys: pytest.CaptureFixture[str]) -> None:
    shell.run_cell(SETUP, store_history=True)

    result = shell.run_cell(f"%%gpu_memory --predict A100-40GB --batch 8\n{STEP}", store_history=True)

    assert result.error_in_exec is None
    assert "Running this cell, after the 1 cell before it," in capsys.readouterr().out
    assert "loss" not in shell.user_ns
    answer = result.result.to_dict()
    # Parameters, gradients, two states and the temporaries of a step, 4 * (2 * 256 * 1024 + 1280) bytes each.
    assert answer["peak"]["by_purpose"]["parameters"] == 2_102_272
    assert answer["peak"]["line"] == "cell 2, line 6: optimizer.step()"
    assert answer["batch"]["value"] == 16
    assert [row["batch"] for row in answer["batch"]["rows"]] == [8]
    text = repr(result.result)
    assert "cell 2 fits on an NVIDIA A100-SXM4-40GB (simulated, 39.4 GiB (42,294,312,960 B))" in text
    assert "Modelled: CUDA's context" in text
    assert "<table>" in result.result._repr_html_()


def test_an_unknown_card_is_refused_with_those_there_are(shell: Any, capsys: pytest.CaptureFixture[str]) -> None:
    shell.run_cell(f"%%gpu_memory --predict B999\n{STEP}")

    assert "Unknown card 'B999'. Known cards: Tesla K20m" in capsys.readouterr().err


def test_a_notebook_is_predicted(notebook: Path, capsys: pytest.CaptureFixture[str]) -> None:
    status = main(["predict", str(notebook), "--gpus", "1xT4"])

    printed = capsys.readouterr().out
    assert status == 0
    assert printed.startswith(
        "training.ipynb fits on a Tesla T4 (simulated, 14.6 GiB (15,655,239,680 B)): it allocates"
    )
    assert "The peak is reached in cell 2, line 5: optimizer.step()" in printed


@pytest.mark.nightly
def test_the_figures_are_told_as_json(notebook: Path, capsys: pytest.CaptureFixture[str]) -> None:
    main(["predict", str(notebook), "--gpus", "2xL4", "--batch", "batch_size=32", "--json"])

    answer = json.loads(capsys.readouterr().out)
    assert answer["card"] == "NVIDIA L4"
    assert [row["batch"] for row in answer["batch"]["rows"]] == [32]
    assert sum(answer["peak"]["by_purpose"].values()) == answer["peak"]["allocated"]
    assert len(answer["changes"]) <= 3


@pytest.mark.nightly
def test_a_name_that_no_cell_gives_a_number_is_refused(notebook: Path, capsys: pytest.CaptureFixture[str]) -> None:
    status = main(["predict", str(notebook), "--gpus", "T4", "--batch", "rows=8"])

    assert status == 2
    assert "cannot predict training.ipynb: No cell sets rows to a whole number" in capsys.readouterr().err


@pytest.mark.nightly  # each prediction starts a program that imports PyTorch
def test_page_says_what_is_predicted(shell: Any, capsys: pytest.CaptureFixture[str]) -> None:
    (setup, _), (cell, said) = blocks(MAGICS, of_torch=True)
    shell.run_cell(setup, store_history=True)
    capsys.readouterr()
    answer = shell.run_cell(cell, store_history=True).result

    assert said.splitlines() == [capsys.readouterr().out.splitlines()[0], *str(answer).splitlines()]


@pytest.mark.nightly  # each prediction starts a program that imports PyTorch
def test_batches_are_refused_where_no_cell_says_its_batch(shell: Any, capsys: pytest.CaptureFixture[str]) -> None:
    shell.run_cell(SETUP.replace("batch_size = 16", "sizes = [16]"), store_history=True)
    step = STEP.replace("batch_size", "sizes[0]")
    shell.run_cell("%%gpu_memory --predict T4 --batch 8\n" + step, store_history=True)

    assert "Name the variable: NAME=8,16" in capsys.readouterr().err


@pytest.mark.nightly
def test_a_batch_that_ends_with_an_error_is_not_said_to_fit(shell: Any, capsys: pytest.CaptureFixture[str]) -> None:
    shell.run_cell(SETUP, store_history=True)
    step = f"{STEP}\n    torch.ones(16, device=device) + torch.ones(batch_size, device=device)"

    prediction = shell.run_cell(f"%%gpu_memory --predict T4 --batch 8\n{step}", store_history=True).result

    assert [] == prediction.to_dict()["batch"]["rows"]
    assert (
        "The largest batch is unknown: with batch_size = 8 the program ends with cell 2, line 7: torch.ones("
        in repr(prediction)
    )


@pytest.mark.nightly
def test_ops_of_nbtf_are_not_left_out_without_a_word(shell: Any) -> None:
    shell.run_cell(f"import nbtf as tf\n{SETUP}", store_history=True)

    cell = "%%gpu_memory --predict T4\ny = tf.ones([9, 9]) @ tf.ones([9, 9])"
    prediction = shell.run_cell(cell, store_history=True).result

    assert "Not predicted: nbtf's own ops (2 Fill, 1 MatMul)" in repr(prediction)
    assert prediction.to_dict()["verdict"] == "fits as far as it is predicted"


@pytest.mark.nightly  # each prediction starts a program that imports PyTorch
def test_ops_of_pytorch_that_a_program_has_watched_are_predicted(shell: Any) -> None:
    shell.run_cell(f"import nbtf as tf\n{SETUP}", store_history=True)

    cell = "%%gpu_memory --predict T4\nwith tf.runtime.watch('torch'):\n    y = torch.ones(9, device=device) + 1"
    prediction = shell.run_cell(cell, store_history=True).result

    assert "Not predicted" not in repr(prediction)


@pytest.mark.nightly
def test_cells_before_that_failed_are_told(shell: Any) -> None:
    shell.run_cell(SETUP, store_history=True)
    shell.run_cell("steps = 1 / 0", store_history=True)

    prediction = shell.run_cell(f"%%gpu_memory --predict T4\n{STEP}", store_history=True).result

    assert (
        "An earlier cell ended with an error here, so its results are missing: cell 2, line 1: steps = 1 / 0"
        in repr(prediction)
    )
    assert prediction.to_dict()["verdict"] == "fits"


def test_a_notebook_that_takes_too_long_is_predicted_in_part(
    notebook: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    v4: Any = nbformat.v4
    contents = nbformat.read(notebook, 4)
    contents.cells.append(v4.new_code_cell("while True:\n    pass"))
    nbformat.write(contents, notebook)

    status = main(["predict", str(notebook), "--gpus", "T4", "--timeout", "5"])

    printed = capsys.readouterr().out
    assert status == 2
    assert "Stopped after 5 s at cell" in printed
