"""Who holds PyTorch's memory, and does each printed line free it? On tensors of the CPU that pass for a card's."""

from __future__ import annotations

import gc
import weakref
from typing import Any

import pytest

from nbtf._frameworks.base import Card
from nbtf._frameworks.torch import library as torch_framework
from tests.notebook.conftest import Shell
from tests.notebook.conftest import bare as bare
from tests.notebook.conftest import shell as shell

torch: Any = pytest.importorskip("torch", reason="needs PyTorch; one step of .ci/run has it")

NET = (
    "import torch, torch.nn as nn",
    "net = nn.Sequential(nn.Linear(30, 40), nn.GELU(), nn.Linear(40, 10)); data = torch.randn(8, 30)",
)
STEP = (*NET, "opt = torch.optim.Adam(net.parameters()); net(data).sum().backward(); opt.step()")

PROGRAMS: dict[str, tuple[tuple[str, ...], dict[str, list[str] | None]]] = {
    "a variable": (("import torch", "x = torch.ones(100)"), {"x": ["%xdel x"]}),
    "a view, and no name for what it shows": (("import torch", "x = torch.ones(100)[9:]"), {"x": ["%xdel x"]}),
    "a view beside what it shows, which PyTorch keeps, too": (
        ("import torch", "x = torch.ones(100); y = x[9:]"),
        {"x, y": None},
    ),
    "memory that something hidden shows, too": (
        ("import torch, numpy as np", "x = torch.ones(100); a = np.asarray(x)"),
        {"x": None},
    ),
    "a list": (("import torch", "a = [torch.ones(50) for _ in range(12)]"), {"a (12 tensors)": ["%xdel a"]}),
    "a gradient": (
        ("import torch", "w = torch.ones(30, requires_grad=True)", "(w * 2).sum().backward()"),
        {"w": ["%xdel w"], "w.grad": ["w.grad = None"]},
    ),
    "a gradient with a name": (
        ("import torch", "w = torch.ones(30, requires_grad=True)", "(w * 2).sum().backward(); g = w.grad"),
        {"w": ["%xdel w"], "g": None},
    ),
    "a training step": (
        STEP,
        {
            "net: gradients (4 tensors)": ["net.zero_grad()"],
            "opt: optimizer state (12 tensors)": ["opt.state.clear()"],
            "data": ["%xdel data"],
        },
    ),
    "a loss that keeps its graph": (
        (*NET, "loss = (net(data) ** 2).sum()"),
        {"loss: kept for its backward pass (11 nodes, 3 tensors)": ["loss = loss.item()"], "data": None},
    ),
    "losses in a list": (
        (*NET, "losses = [(net(data) ** 2).sum() for _ in range(4)]"),
        {"losses: kept for backward passes (4 tensors)": ["%xdel losses"], "data": None},
    ),
    "a loss and what it was made of": (
        (*NET, "out = net(data); loss = (out ** 2).sum()"),
        {"loss: kept for its backward pass (11 nodes, 2 tensors)": None, "loss": ["%xdel loss"]},
    ),
}


@pytest.fixture(autouse=True)
def card(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(torch_framework, "DEVICE_TYPES", ("cpu",))
    monkeypatch.setattr(torch_framework.PyTorch, "cards", lambda self: [Card(0, "stand-in", None, 1 << 30)])
    monkeypatch.setattr("nbtf.notebook.holders.table.SECONDS", 60.0)


@pytest.mark.parametrize("program", PROGRAMS)
def test_rows_name_the_holder_and_the_lines_that_free_it(shell: Shell, program: str) -> None:
    cells, expected = PROGRAMS[program]
    for cell in cells:
        assert shell.run(cell).error is None

    rows = {row["holder"]: row["frees"] for row in shell.run("%gpu_memory --who").result.rows}

    assert expected == {holder: rows.get(holder, "no such row") for holder in expected}


@pytest.mark.parametrize("program", PROGRAMS)
def test_lines_free_what_they_stand_beside(shell: Shell, program: str) -> None:
    for cell in PROGRAMS[program][0]:
        shell.run(cell)
    rows = shell.run("%gpu_memory --who").result.rows
    lines = {row["holder"]: row["frees"] for row in rows if row["frees"]}

    assert bool(lines) == any(PROGRAMS[program][1].values())
    for holder, frees in lines.items():
        shell.ip.reset()
        for cell in PROGRAMS[program][0]:
            shell.run(cell)
        for line in frees:
            assert shell.run(f"{line};" if line[0] != "%" else line).error is None
        gc.collect()
        shell.ip.user_ns.pop("_", None)
        left = {row["holder"] for row in shell.run("%gpu_memory --who").result.rows}
        assert holder not in left


def test_weights_are_called_by_their_path_in_the_module(shell: Shell) -> None:
    for cell in STEP:
        shell.run(cell)

    holders = {row["holder"] for row in shell.run("%gpu_memory --who --all").result.rows}

    assert {"net[0].weight", "net[0].bias", "net[2].weight", "net[2].bias"} <= holders


def test_kept_for_the_backward_pass_is_what_pytorch_says_it_keeps() -> None:
    x, w = torch.randn(7, 5), torch.randn(5, 3, requires_grad=True)
    packed: list[Any] = []
    with torch.autograd.graph.saved_tensors_hooks(
        lambda tensor: packed.append(tensor) or tensor, lambda tensor: tensor
    ):
        (torch.tanh(x @ w).relu() ** 2).sum()
    loss = (torch.tanh(x @ w).relu() ** 2).sum()

    arrays: Any = torch_framework.PyTorch(torch).arrays()
    saved = arrays.saved(loss)

    assert sorted(tensor.untyped_storage().nbytes() for tensor in packed) == sorted(
        tensor.untyped_storage().nbytes() for tensor in saved.tensors
    )
    loss.backward()
    assert [] == arrays.saved(loss).tensors


def test_walking_a_graph_runs_no_hook() -> None:
    def unpack(packed: Any) -> Any:
        raise AssertionError("a hook ran")

    x = torch.randn(4, requires_grad=True)
    with torch.autograd.graph.saved_tensors_hooks(lambda tensor: (tensor,), unpack):
        loss = (x * x).sum()

    arrays: Any = torch_framework.PyTorch(torch).arrays()

    assert [] == arrays.saved(loss).tensors


def test_looking_keeps_nothing_alive(shell: Shell) -> None:
    for cell in (*NET, "loss = (net(data) ** 2).sum()"):
        shell.run(cell)
    data = weakref.ref(shell.ip.user_ns["data"])

    shell.run("%gpu_memory --who;")
    shell.run("del loss, data")
    gc.collect()

    assert data() is None
