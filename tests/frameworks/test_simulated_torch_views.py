"""Tests that notebooks show what PyTorch has on simulated GPUs by the words that they have for real ones."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest

import nbtf as tf
from nbtf._devices.sites import file_and_line
from nbtf._devices.sizes import gib
from nbtf.notebook.session import SESSIONS
from nbtf.notebook.stills import memory_pictures
from nbtf.notebook.stills.device_facts import map_facts
from nbtf.notebook.stills.marks import texts_of
from nbtf.notebook.stills.memory_pictures import Still, memory_scenes
from nbtf.notebook.views.feed import Feed
from nbtf.runtime import ExpectationError
from tests.notebook.conftest import ENOUGH, Shell
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
    assert "Nothing is in use on cuda:1 (simulated)." in text
    assert "simulated card 1" not in text


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


def test_a_full_card_is_drawn_with_what_would_make_the_request_fit(
    shell: Shell, monkeypatch: pytest.MonkeyPatch
) -> None:
    shown: list[Still] = []
    monkeypatch.setattr("IPython.display.display", shown.append)
    monkeypatch.setattr(memory_pictures, "_FAILURE_SECONDS", ENOUGH)
    shell.run("tf.runtime.restart()", "tf.runtime.simulate_gpus(1, memory='256MiB', frameworks='torch')")
    shell.run("import torch", "def tensor(mib): return torch.zeros(mib, 2**18, device='cuda')")
    shell.run("held = [tensor(4) for _ in range(60)]", "held = held[::5]")
    cell = shell.run("x = tensor(40)")

    [still] = shown
    texts = texts_of(still.picture.marks)
    reserved, used = torch.cuda.memory_reserved(), torch.cuda.memory_allocated()
    assert isinstance(cell.error, torch.OutOfMemoryError)
    assert "would fit after: del held" == max(texts, key=lambda text: text.size).words
    assert f"{gib(used)} of {gib(256 << 20)}".replace(" MiB of", " of") in still.picture.title
    assert f"free {gib(reserved - used)}, largest {gib(16 << 20)}" in " ".join(text.words for text in texts)
    assert "40 MiB requested" in still.picture.title
    assert shell.run("del held", "x = tensor(40)").error is None


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


def test_a_live_view_gets_the_memory_at_a_failed_request_of_pytorch(shell: Shell) -> None:
    shell.run("import torch", "held = [torch.empty(2**26, device='cuda') for _ in range(7)]")
    error = str(shell.run("big = torch.empty(2**27, device='cuda')").error)
    feed = Feed(SESSIONS[shell.ip])
    feed.refusals.look()
    feed.name_holders(600.0)
    state = feed.with_maps(feed.state(False), fresh=True)

    scene = next(device["refusal"] for device in state["devices"] if device["name"] == "GPU:0")
    alive = [row for row in scene["pieces"] if row[5] == scene["steps"]]
    assert ["GPU:0"] == state["refused"]
    assert (2**29, True) == (scene["refusals"][0]["nbytes"], "512.00 MiB" in error)
    assert torch.cuda.memory_allocated(0) == sum(row[1] for row in alive)
    assert {"held[0]", "held[5]"} <= {scene["texts"][row[6]] for row in alive}
