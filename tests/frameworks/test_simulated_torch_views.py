"""Tests that notebooks show what PyTorch has on simulated GPUs by the words that they have for real ones."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest

import nbtf as tf
from nbtf._devices.sites import file_and_line
from nbtf.notebook.session import SESSIONS
from nbtf.notebook.stills.device_facts import map_facts
from nbtf.notebook.stills.memory_pictures import memory_scenes
from nbtf.notebook.views.feed import Feed
from nbtf.runtime import ExpectationError
from tests.notebook.conftest import Shell
from tests.notebook.conftest import bare as bare
from tests.notebook.conftest import shell as shell

torch: Any = pytest.importorskip("torch")


@pytest.fixture(autouse=True)
def shared(shell: Shell) -> Iterator[None]:
    tf.runtime.simulate_gpus(2, memory="2GiB", frameworks="torch")
    yield
    tf.runtime.restart()
    tf.runtime.simulate_gpus(0)


def test_a_gpu_has_the_number_by_which_pytorch_has_it(shell: Shell) -> None:
    assert [0, 1] == [device.cuda for device in tf.runtime.devices()[1:]]
    assert "cuda:1 = GPU:1 here = simulated card 1 (0000:00:05.0)" in str(shell.run("%devices").result)


def test_holders_stand_with_their_module_path_and_the_line_that_frees_them(shell: Shell) -> None:
    shell.run("import torch", "x = torch.ones(9000).cuda()")
    shell.run("model = torch.nn.Sequential(torch.nn.Linear(1000, 1000)).cuda()")

    text = str(shell.run("%gpu_memory --who").result)

    assert "model[0].weight" in text
    assert "%xdel x" in text
    assert "simulated card 0 (0000:00:04.0): 22 of 2,048 MiB in use = 22 MiB pool of PyTorch." in text


TRAINING = """\
import torch
model = torch.nn.Sequential(torch.nn.Linear(512, 512), torch.nn.ReLU(), torch.nn.Linear(512, 512)).cuda()
optimizer = torch.optim.Adam(model.parameters())
x = torch.ones(64, 512, device="cuda")
def step():
    optimizer.zero_grad()
    model(x).sum().backward()
    optimizer.step()"""


def test_pictures_of_a_step_say_weights_slots_and_modules(shell: Shell) -> None:
    shell.run("%placement_log watch torch", "import torch")
    shell.run(TRAINING)
    shell.run("with tf.runtime.recording() as record: step()")
    record = shell.ip.user_ns["record"]

    [scene] = memory_scenes(record, file_and_line)
    pieces = {(scene["texts"][group], scene["texts"][title]) for _, _, _, group, _, _, title, *_ in scene["pieces"]}

    assert {("weights", "model[0].weight"), ("optimizer slots", "optimizer: exp_avg_sq")} <= pieces
    assert {("activations", "[0] · aten::addmm"), ("gradients", "[2] · aten::mm")} <= pieces
    assert 2 << 30 == map_facts(record.snapshot(), tf.runtime.devices()).cards[0].limit


def test_live_views_show_what_is_where_while_pytorch_is_watched(shell: Shell) -> None:
    shell.run("%placement_log watch torch", TRAINING, "step()")
    feed = Feed(SESSIONS[shell.ip])

    state = feed.with_maps(feed.state(busy=True), fresh=True)

    words = state["devices"][1]["map"]["words"]
    assert any("optimizer.step()" in (word or "") for word in words)
    assert "aten::t" != state["devices"][1]["last"]


def test_a_budget_counts_pytorchs_memory(shell: Shell) -> None:
    cell = shell.run("%%gpu_memory --at-most 1KiB", "import torch", "y = torch.zeros(1000000, device='cuda:1')")

    assert isinstance(cell.error, ExpectationError)
    assert "+ cuda:1 (PyTorch): peak 3.8 MiB (4,000,256 B)" in str(cell.error)


def test_a_full_card_names_where_to_look(shell: Shell) -> None:
    cell = shell.run("import torch", "x = torch.empty(3 << 30, dtype=torch.uint8, device='cuda:1')")

    assert isinstance(cell.error, torch.OutOfMemoryError)
    assert "%gpu_memory --who lists what holds the memory of cuda:1." in cell.out + str(cell.error)


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize(
    ("made", "words"),
    [
        ("torch.sparse_coo_tensor(torch.zeros(2, 9000, dtype=torch.int64), torch.ones(9000), (5, 5))", "sparse_coo"),
        ("torch.eye(300).to_sparse_csr()", "[300, 300] sparse_csr float32"),
        ("torch.nested.nested_tensor([torch.ones(200, 3), torch.ones(400, 3)])", "2 nested float32"),
    ],
)
def test_a_tensor_that_is_made_of_several_is_a_holder_by_its_name(shell: Shell, made: str, words: str) -> None:
    shell.run("import torch", f"held = {made}.cuda()")

    rows = [row for row in shell.run("%gpu_memory --who").result.rows if row.get("names") == ["held"]]

    assert len(rows) == 1
    assert words in rows[0]["tensor"]
