"""What a program of PyTorch's takes on a card: without values, to the byte what it takes with them."""

from __future__ import annotations

import gc
import io
import subprocess
import sys
from collections.abc import Generator, Iterator, Sequence
from contextlib import contextmanager, redirect_stdout
from signal import SIGALRM, pthread_kill
from threading import Event, Thread, get_ident
from traceback import walk_stack
from typing import Any

import pytest

torch = pytest.importorskip("torch")

from nbtf import runtime  # noqa: E402  # after the skip
from nbtf._devices.discovery import gpus, simulated_machine  # noqa: E402
from nbtf._frameworks.torch.simulation.installation import Installation  # noqa: E402
from nbtf.notebook.prediction.batches import BatchSize, largest  # noqa: E402
from nbtf.notebook.prediction.changes import changes  # noqa: E402
from nbtf.notebook.prediction.deletions import deletions  # noqa: E402
from nbtf.notebook.prediction.program import UNLIMITED, Cell, Outcome, Program  # noqa: E402
from nbtf.notebook.prediction.time_limit import TimeLimit  # noqa: E402

MIB = 1 << 20

IMPORTS = (
    "import torch, torch.nn as nn, torch.nn.functional as F\ndevice = 'cuda' if torch.cuda.is_available() else 'cpu'"
)
STEPS = """
for step in range(4):
    x, y = make(batch_size)
    optimizer.zero_grad()
    loss = F.cross_entropy(model(x), y)
    loss.backward()
    optimizer.step()
    print(step, loss.item())
"""
CLASSES = "\nmake = lambda n: (torch.randn(n, 256, device=device), torch.randint(0, 10, (n,), device=device))"
MLP = "batch_size = 64\nmodel = nn.Sequential(nn.Linear(256, 512), nn.ReLU(), nn.Linear(512, 10)).to(device)" + CLASSES
CNN = """batch_size = 8
model = nn.Sequential(
    nn.Conv2d(3, 16, 3, padding=1), nn.BatchNorm2d(16), nn.ReLU(), nn.MaxPool2d(2), nn.Dropout2d(), nn.Flatten(),
    nn.Linear(16 * 8 * 8, 10)
).to(device)
make = lambda n: (torch.randn(n, 3, 16, 16).to(device), torch.randint(0, 10, (n,)).to(device))"""
TRANSFORMER = """batch_size = 4
class Model(nn.Module):
    def __init__(self):
        super().__init__()
        self.embedding = nn.Embedding(100, 64)
        self.encoder = nn.TransformerEncoder(nn.TransformerEncoderLayer(64, 4, 128, batch_first=True), 2)
        self.head = nn.Linear(64, 10)
    def forward(self, x):
        return self.head(self.encoder(self.embedding(x)).mean(1))
model = Model().to(device)
make = lambda n: (torch.randint(0, 100, (n, 16), device=device), torch.randint(0, 10, (n,), device=device))"""
BLOCKS = (
    """batch_size = 128
class Block(nn.Module):
    def __init__(self):
        super().__init__()
        self.a, self.b = nn.Linear(256, 1024), nn.Linear(1024, 256)
    def forward(self, x):
        return x + self.b(F.gelu(self.a(x)))
model = nn.Sequential(*[Block() for _ in range(4)], nn.Linear(256, 10)).to(device)"""
    + CLASSES
)
SEQUENCES = """batch_size = 4
class Model(nn.Module):
    def __init__(self):
        super().__init__()
        self.layer, self.head = {layer}, nn.Linear({width}, 10)
    def forward(self, x):
        return self.head(self.layer(x)[0].mean(1))
model = Model().to(device)
make = lambda n: (torch.randn(n, 9, 16, device=device), torch.randint(0, 10, (n,), device=device))"""
ADAM, SGD = (
    "\noptimizer = torch.optim.Adam(model.parameters())",
    "\noptimizer = torch.optim.SGD(model.parameters(), 0.1)",
)

PROGRAMS = {
    "perceptron": (MLP + ADAM, STEPS),
    "convolutions": (CNN + SGD, STEPS),
    "attention": (TRANSFORMER + "\noptimizer = torch.optim.AdamW(model.parameters(), foreach=False)", STEPS),
    "blocks": (BLOCKS + ADAM, STEPS),
    "checkpoints": (
        BLOCKS + ADAM,
        "from torch.utils.checkpoint import checkpoint_sequential\n"
        + STEPS.replace("model(x)", "checkpoint_sequential(model, 2, x, use_reentrant=False)"),
    ),
    "autocast": (
        MLP + ADAM + "\nscaler = torch.amp.GradScaler('cuda')",
        """
for step in range(3):
    x, y = make(batch_size)
    with torch.autocast("cuda", dtype=torch.float16):
        loss = F.cross_entropy(model(x), y)
    scaler.scale(loss).backward()
    scaler.step(optimizer)
    scaler.update()
    optimizer.zero_grad(set_to_none=False)
""",
    ),
    "accumulated gradients": (
        MLP + SGD,
        """
for step in range(6):
    x, y = make(batch_size)
    (F.mse_loss(model(x), torch.randn(batch_size, 10, device=device)) / 3).backward()
    if step % 3 == 2:
        nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        optimizer.step()
        optimizer.zero_grad()
""",
    ),
    "inference": (MLP, "with torch.no_grad():\n    best = model(make(500)[0]).softmax(-1).argmax(-1).cpu().tolist()"),
    "penalty of gradients": (
        MLP + ADAM,
        """
for step in range(3):
    x, y = make(batch_size)
    score = model(x.requires_grad_())
    slope, = torch.autograd.grad(score.sum(), x, create_graph=True)
    loss = (slope.norm(2, dim=1) - 1).square().mean() + F.cross_entropy(score, y)
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
""",
    ),
    "steps inside a step": (
        CNN + ADAM,
        """
from torch.func import functional_call
for step in range(2):
    x, y = make(batch_size)
    weights = dict(model.named_parameters())
    for _ in range(2):
        loss = F.cross_entropy(functional_call(model, weights, (x,)), y)
        slopes = torch.autograd.grad(loss, [*weights.values()], create_graph=True)
        weights = {name: weight - 0.1 * slope for (name, weight), slope in zip(weights.items(), slopes)}
    F.cross_entropy(functional_call(model, weights, (x,)), y).backward()
    optimizer.step()
""",
    ),
    "long short-term memory": (
        SEQUENCES.format(layer="nn.LSTM(16, 32, num_layers=2, bidirectional=True, batch_first=True)", width=64) + ADAM,
        STEPS,
    ),
    "projected states": (SEQUENCES.format(layer="nn.LSTM(16, 32, proj_size=8)", width=8) + ADAM, STEPS),
    "gated units": (SEQUENCES.format(layer="nn.GRU(16, 32, num_layers=2, dropout=0.5)", width=32) + SGD, STEPS),
    "plain recurrence": (SEQUENCES.format(layer="nn.RNN(16, 32, batch_first=True)", width=32) + SGD, STEPS),
    "packed sequences": (
        SEQUENCES.format(layer="nn.GRU(16, 32)", width=32) + ADAM,
        """
from torch.nn.utils.rnn import pack_padded_sequence
lengths = torch.tensor([9, 7, 4, 1])
for step in range(2):
    output, hidden = model.layer(pack_padded_sequence(torch.randn(9, 4, 16, device=device), lengths))
    optimizer.zero_grad()
    (output.data.sum() + hidden.sum()).backward()
    optimizer.step()
""",
    ),
    "cells by hand": (
        SEQUENCES.format(layer="nn.LSTMCell(16, 32)", width=32) + ADAM,
        """
second = nn.GRUCell(32, 8).to(device)
for step in range(2):
    state, last = None, None
    for column in torch.randn(7, batch_size, 16, device=device):
        state = model.layer(column, state)
        last = second(state[0], last)
    last.sum().backward()
    optimizer.step()
""",
    ),
    "saved and loaded": (
        MLP + ADAM,
        STEPS + "torch.save(model.state_dict(), 'never written.pt')\n"
        "model.load_state_dict(torch.load('never written.pt', map_location='cpu'))\nlast = model(make(32)[0])",
    ),
}


@contextmanager
def machine(values: bool = False) -> Generator[Any]:
    cards = gpus(simulated_machine(2, "A100-40GB"), {})
    installation = Installation(torch, cards, values, None if values else 0.0)
    try:
        yield installation.machine
    finally:
        gc.collect()
        installation.remove()


def run(sources: Sequence[str], values: bool = False, **options: Any) -> Outcome:
    with machine(values) as devices:
        return _program(devices, *sources).run(**options)


@pytest.fixture
def quiet() -> Iterator[None]:
    with redirect_stdout(io.StringIO()):
        yield


def _program(machine: Any, *sources: str) -> Program:
    cells = [Cell(number, source, True) for number, source in enumerate((IMPORTS, *sources), start=1)]
    return Program(torch, machine, cells, seconds=600)


def _figures(outcome: Outcome) -> tuple[Any, ...]:
    assert outcome.peak is not None
    peak = outcome.peak
    return peak.allocated, peak.reserved, peak.line, peak.ooms, outcome.steps, outcome.error


@pytest.mark.usefixtures("quiet")
@pytest.mark.filterwarnings("ignore:LSTM with projections")  # PyTorch says so of the CPU
@pytest.mark.parametrize("sources", PROGRAMS.values(), ids=PROGRAMS.keys())
def test_a_prediction_is_to_the_byte_what_a_run_takes(
    sources: tuple[str, str], tmp_path: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)

    predicted = run(sources)

    assert not predicted.error
    assert [*tmp_path.iterdir()] == []
    assert _figures(run(sources, values=True)) == _figures(predicted)


@pytest.mark.usefixtures("quiet")
@pytest.mark.parametrize("mebibytes", [6, 8, 10, 12, 16])
def test_it_runs_out_of_memory_where_a_run_does(mebibytes: int) -> None:
    predicted, computed = (run(PROGRAMS["blocks"], values, total=mebibytes * MIB) for values in (False, True))

    assert "OutOfMemoryError" in predicted.error
    assert _figures(computed) == _figures(predicted)


@pytest.mark.usefixtures("quiet")
def test_the_peak_is_split_by_what_it_is_for() -> None:
    peak = run(PROGRAMS["blocks"]).peak

    assert peak is not None
    parameters = 4 * (4 * (2 * 256 * 1024 + 1024 + 256) + 256 * 10 + 10)
    assert sum(peak.by_purpose.values()) == peak.allocated
    assert 0 <= peak.by_purpose["parameters"] - parameters < 18 * 512
    assert 0 <= peak.by_purpose["optimizer"] - 2 * parameters < 54 * 512
    assert peak.by_purpose["gradients"] == peak.by_purpose["parameters"]
    assert peak.line == "cell 3, line 7: optimizer.step()"


NESTED = """class Part(nn.Module):
    def __init__(self, width):
        super().__init__()
        self.wide, self.narrow = nn.Linear(256, width), nn.Linear(width, 256)
    def forward(self, x):
        return self.narrow(F.relu(self.wide(x)))
class Model(nn.Module):
    def __init__(self):
        super().__init__()
        self.parts, self.head = nn.ModuleList([Part(512), Part(4096)]), nn.Linear(256, 10)
    def forward(self, x):
        return self.head(self.parts[1](self.parts[0](x)))
batch_size = 64
model = Model().to(device)"""


@pytest.mark.usefixtures("quiet")
def test_the_peak_is_told_by_part_of_the_model_wherever_the_loop_is() -> None:
    loop = f"def train():{STEPS.replace(chr(10), chr(10) + '    ')}\ntrain()"

    peak = run([NESTED + CLASSES, "optimizer = torch.optim.Adam(model.parameters())", loop]).peak

    assert peak is not None
    assert sum(peak.by_module.values()) == peak.allocated
    parts = {"parts.0.wide", "parts.0.narrow", "parts.1.wide", "parts.1.narrow", "head"}
    assert parts <= peak.by_module.keys() <= parts | {"", "parts.0", "parts.1", "Model"}
    for name, elements in (("parts.1.wide", 257 * 4096), ("parts.0.narrow", 513 * 256), ("head", 257 * 10)):
        assert 16 * elements <= peak.by_module[name] < 16 * elements + (2 << 20)  # with gradients and Adam's state


@pytest.mark.usefixtures("quiet")
def test_inputs_and_activations_are_told_apart() -> None:
    sources = MLP, "x = torch.randn(1 << 18, 256).to(device)\nout = model(x)"

    peak = run(sources).peak

    assert peak is not None
    assert peak.by_purpose["inputs"] == 4 << 26
    assert peak.by_purpose["activations"] >= 2 * (4 << 27)


@pytest.mark.usefixtures("quiet")
def test_values_that_are_read_are_told() -> None:
    outcome = run(PROGRAMS["perceptron"])

    assert outcome.reads == {"cell 3, line 8: print(step, loss.item())": 4}


@pytest.mark.usefixtures("quiet")
def test_what_depends_on_values_is_refused_by_name() -> None:
    outcome = run(["places = torch.ones(5, device=device).nonzero()"])

    assert outcome.error == (
        "cell 2, line 1: places = torch.ones(5, device=device).nonzero() raises "
        "NotImplementedError: aten::nonzero cannot be predicted: what it returns depends on values, and a "
        "prediction has none."
    )


@pytest.mark.usefixtures("quiet")
def test_what_recurrent_layers_keep_is_modelled() -> None:
    layer = "layer = nn.LSTM(8, 32).to(device)\noutput, _ = layer(torch.randn(100, 4, 8, device=device))"

    peak = run([layer]).peak

    assert peak is not None
    assert peak.modelled == 5 * 100 * 4 * 32 * 4
    assert peak.by_purpose["activations"] >= peak.modelled


@pytest.mark.usefixtures("quiet")
def test_gradients_of_gradients_of_a_recurrent_layer_are_refused_as_on_a_card() -> None:
    source = """x, layer = torch.randn(5, 2, 3, device=device, requires_grad=True), nn.GRU(3, 4).to(device)
slope, = torch.autograd.grad(layer(x)[0].sum(), x, create_graph=True)
(slope.sum() + x.sum()).backward()"""

    errors = [run([source], values).error for values in (False, True)]

    assert "derivative for aten::_cudnn_rnn_backward is not implemented" in errors[0]
    assert errors[0] == errors[1]


@pytest.mark.usefixtures("quiet")
def test_errors_of_cells_before_are_told() -> None:
    cells = [Cell(1, IMPORTS, False), Cell(3, "\nmodel = load('here')", False), Cell(4, "y = model(1)", True)]

    with machine() as devices:
        outcome = Program(torch, devices, cells, 600).run()

    assert outcome.unprepared == ("cell 3, line 2: model = load('here') raises NameError: name 'load' is not defined",)
    assert outcome.error == "cell 4, line 1: y = model(1) raises NameError: name 'model' is not defined"


@pytest.mark.usefixtures("quiet")
def test_what_a_notebook_says_of_this_computer_does_not_concern_the_card() -> None:
    source = """%load_ext nbtf
import nbtf as tf
tf.runtime.simulate_gpus(4, model="T4", frameworks="torch")
tf.runtime.restart()
%placement_log watch torch
%devices --map
%check nothing
x = torch.ones(1 << 10, device=device)"""
    asked = runtime.simulate_gpus

    with machine() as devices:
        cells = [Cell(1, IMPORTS, False), Cell(2, source, False)]
        outcome = Program(
            torch, devices, [*cells, Cell(3, "%%needs torch\n%%placement --no-copies\ny = x + 1", True)], 600
        ).run()

    assert ((), "") == (outcome.unprepared, outcome.error)
    assert outcome.peak is not None
    assert 2 * 4096 == outcome.peak.allocated
    assert runtime.simulate_gpus is asked


@contextmanager
def alarm_in_line(line: int, *, of: str) -> Generator[None]:
    """Has the time be up as soon as this thread is in a line of a file, however slow the machine is."""
    program, is_left = get_ident(), Event()

    def watch() -> None:
        while not is_left.wait(0.01):
            frames = [frame for frame, _ in walk_stack(sys._current_frames()[program])]
            if (of, line) in [(frame.f_code.co_filename, frame.f_lineno) for frame in frames]:
                pthread_kill(program, SIGALRM)
                return

    watcher = Thread(target=watch)
    watcher.start()
    try:
        yield
    finally:
        is_left.set()
        watcher.join()


@pytest.mark.usefixtures("quiet")
@pytest.mark.parametrize("loop", ["pass", "x = torch.ones(1 << 20, device=device)"], ids=["waits", "allocates"])
def test_a_program_whose_time_is_up_is_stopped_where_it_is(loop: str) -> None:
    cells = [Cell(1, IMPORTS, True), Cell(2, f"x = torch.ones(1 << 10, device=device)\nwhile True: {loop}", True)]

    with machine() as devices, alarm_in_line(2, of="<predicted cell 2>"):
        outcome = Program(torch, devices, cells, 600, TimeLimit(600)).run()

    assert outcome.stopped == f"cell 2, line 2: while True: {loop}"
    assert (outcome.error, outcome.is_whole) == ("", False)
    assert outcome.peak is not None


@pytest.mark.usefixtures("quiet")
def test_two_devices_in_one_op_are_refused_as_in_a_run() -> None:
    source = "torch.ones(5, device='cuda:0') + torch.ones(5, device='cuda:1')"

    outcomes = [run([source], values) for values in (False, True)]

    assert "Expected all tensors to be on the same device" in outcomes[0].error
    assert outcomes[0].error == outcomes[1].error


@pytest.mark.usefixtures("quiet")
def test_a_loop_that_settles_is_ended() -> None:
    cells = [
        Cell(number, source, True)
        for number, source in enumerate((IMPORTS, MLP + ADAM, STEPS.replace("4", "1000000")), start=1)
    ]

    with machine() as devices:
        outcome = Program(torch, devices, cells, seconds=0).run()

    assert outcome.is_cut
    assert not outcome.error
    assert outcome.steps < 10


@pytest.mark.usefixtures("quiet")
def test_only_the_predicted_cell_counts() -> None:
    before = Cell(1, f"{IMPORTS}\nlarge = torch.empty(1 << 30, device=device)\ndel large", False)

    with machine() as devices:
        cells = [before, Cell(2, "small = torch.empty(1 << 20, device=device)", True)]
        peak = Program(torch, devices, cells, 600).run().peak

    assert peak is not None
    assert peak.allocated == 4 * MIB


@pytest.mark.usefixtures("quiet")
def test_the_largest_batch_fits_and_the_next_one_does_not() -> None:
    total = 150 * MIB
    with machine() as devices:
        program = _program(devices, *PROGRAMS["blocks"])
        batch = BatchSize(program.cells)
        result = largest(batch.value, total, lambda value, limit: program.run(batch.cells(value), total=limit or total))

    assert result.fails == result.fits + 1
    assert result.runs < 18
    with machine(values=True) as devices:
        program = _program(devices, *PROGRAMS["blocks"])
        fits = [program.run(batch.cells(value), total=total).fits for value in (result.fits, result.fits + 1)]
    assert fits == [True, False]


@pytest.mark.usefixtures("quiet")
@pytest.mark.parametrize(("count", "own"), [(48, 16), (100, 16), (20, 16), (16, 16), (9, 16)])
def test_no_batch_is_larger_than_the_data_set(count: int, own: int) -> None:
    source = f"""batch_size = {own}
data = torch.utils.data.TensorDataset(torch.zeros({count}, 256))
for (x,) in torch.utils.data.DataLoader(data, batch_size=batch_size):
    y = x.to(device) * 2"""
    with machine() as devices:
        program = Program(torch, devices, [Cell(1, IMPORTS, False), Cell(2, source, True)], 600)
        batch = BatchSize(program.cells)
        total = 150 * MIB
        result = largest(batch.value, total, lambda value, limit: program.run(batch.cells(value), total=limit or total))

    assert (count, None, count) == (result.fits, result.fails, result.examples)
    assert result.runs <= 4


@pytest.mark.nightly
@pytest.mark.usefixtures("quiet")
def test_every_change_is_computed_by_running_it() -> None:
    before = run(PROGRAMS["blocks"]).peak
    assert before is not None

    tried: dict[bool, dict[str, tuple[Any, ...]]] = {}
    for values in (False, True):
        with machine(values) as devices:
            program = _program(devices, *PROGRAMS["blocks"])
            tried[values] = {
                change.title: _figures(program.run(change.cells, total=UNLIMITED, change=change.context))
                for change in changes(torch, program.cells, BatchSize(program.cells))
            }

    assert tried[True] == tried[False]
    assert {*tried[False]} >= {"everything in bfloat16", "one parameter at a time", "half the batch (64)"}
    assert before.allocated - tried[False]["SGD instead of Adam"][0] > 4 * 4 * 2 * 256 * 1024


DELETIONS = {
    "before the line": ("big = rows()\nmean = big.mean()\nlast = rows(3)", ["big freed before cell 2, line 3"]),
    "read later": ("big = rows()\nlast = rows(3)\nsame = big", []),
    "read by a function": ("big = rows()\ndef use(): return big\nlast = rows(3)", []),
    "by another name": ("big = same = rows()\nlast = rows(3)\nsame", ["big freed before cell 2, line 2"]),
    "end of a loop": (
        "for step in range(3):\n    big = rows()\n    big *= 2\n    y = big.sum()",
        ["big freed at the end of the loop of cell 2, line 1"],
    ),
    "target of a loop": (
        "for big in (rows() for _ in range(3)):\n    y = big.sum()",
        ["big freed at the end of the loop of cell 2, line 1"],
    ),
    "carried over": ("big = rows()\nfor step in range(3):\n    big = rows() + big", []),
    "inside a loop": (
        "for step in range(3):\n    big = rows()\n    y = big.sum()\n    z = rows(2)",
        ["z freed at the end of the loop of cell 2, line 1", "big freed before cell 2, line 4"],
    ),
    "in a function": (
        "def work():\n    big = rows()\n    y = big.sum()\n    return rows(2)\nlast = work()",
        ["big freed before cell 2, line 4"],
    ),
    "in a branch": (
        "if True:\n    big = rows()\n    with torch.no_grad():\n        z = rows(4)",
        ["big freed before cell 2, line 3"],
    ),
    "in one line": ("big = rows(); last = rows(3)", []),
}


@pytest.mark.usefixtures("quiet")
@pytest.mark.parametrize(("source", "titles"), DELETIONS.values(), ids=DELETIONS.keys())
def test_a_name_is_deleted_where_nothing_reads_it_any_more(source: str, titles: list[str]) -> None:
    rows = "\nrows = lambda n=1: torch.ones(n << 18, device=device)"
    with machine() as devices:
        program = Program(torch, devices, [Cell(1, IMPORTS + rows, True), Cell(2, source, True)], 600)
        before = program.run().peak
        assert before is not None
        possible = deletions(torch, program, before)
        outcomes = [program.run(change.cells) for change in possible]

    assert [change.title for change in possible] == titles
    assert [outcome.error for outcome in outcomes] == [""] * len(titles)


@pytest.mark.parametrize(
    ("source", "name", "value"),
    [
        ("batch_size = 32", "batch_size", 32),
        ("loader = DataLoader(data, batch_size=16, shuffle=True)", "batch_size", 16),
        ("BATCH = 8", "BATCH", 8),
        ("self.batch_size = 3; bs = 4", "bs", 4),
        ("batch_size = 2.5", "", 0),
        ("if batch_size == 3: pass", "", 0),
    ],
)
def test_the_batch_size_is_where_programs_say_it(source: str, name: str, value: int) -> None:
    batch = BatchSize([Cell(1, source, True)])

    assert (batch.name, batch.value) == (name, value)


def test_all_places_of_the_batch_size_change() -> None:
    batch = BatchSize([Cell(1, "batch_size = 4", True), Cell(2, "DataLoader(d, batch_size=4)", True)])

    assert [cell.source for cell in batch.cells(9)] == ["batch_size = 9", "DataLoader(d, batch_size=9)"]


SEVEN_BILLION = """
import resource
resource.setrlimit(resource.RLIMIT_AS, (4 << 30, 4 << 30))
import torch
from nbtf._devices.discovery import gpus, simulated_machine
from nbtf._frameworks.torch.simulation.installation import Installation
from nbtf.notebook.prediction.program import Cell, Program
source = '''
import torch, torch.nn as nn, torch.nn.functional as F
class Block(nn.Module):
    def __init__(self, d, hidden):
        super().__init__()
        self.norm = nn.LayerNorm(d)
        self.q, self.k, self.v, self.o = (nn.Linear(d, d, bias=False) for _ in range(4))
        self.up, self.gate, self.down = nn.Linear(d, hidden), nn.Linear(d, hidden), nn.Linear(hidden, d)
    def forward(self, x):
        y = self.norm(x)
        x = x + self.o(F.softmax(self.q(y) @ self.k(y).transpose(-1, -2), -1) @ self.v(y))
        return x + self.down(F.silu(self.gate(x)) * self.up(x))
blocks = [Block(4096, 11008) for _ in range(32)]
model = nn.Sequential(nn.Embedding(32000, 4096), *blocks, nn.Linear(4096, 32000)).cuda()
optimizer = torch.optim.AdamW(model.parameters())
tokens = torch.randint(0, 32000, (1, 512)).cuda()
F.cross_entropy(model(tokens).view(-1, 32000), tokens.view(-1)).backward()
optimizer.step()
'''
installation = Installation(torch, gpus(simulated_machine(1, "H200"), {}), False, 0.0)
outcome = Program(torch, installation.machine, [Cell(1, source, True)], 600).run()
print(outcome.error, outcome.peak.by_purpose["parameters"], outcome.peak.line)
"""


@pytest.mark.nightly
@pytest.mark.skipif(sys.platform != "linux", reason="limits of a process are set as on Linux")
def test_seven_billion_parameters_are_predicted_in_four_gibibytes() -> None:
    process = subprocess.run([sys.executable, "-c", SEVEN_BILLION], capture_output=True, text=True, check=False)

    assert process.returncode == 0, process.stderr[-2000:]
    parameters = 4 * (2 * 32000 * 4096 + 32000 + 32 * (4 * 4096**2 + 3 * 4096 * 11008 + 2 * 11008 + 3 * 4096))
    printed = process.stdout.strip()
    assert 0 <= int(printed.split()[0]) - parameters < 512 * 400
    assert printed.endswith("optimizer.step()")
