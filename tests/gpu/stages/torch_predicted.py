"""Stage 17: does a PyTorch program use the predicted memory on a card, and how much do its libraries add?

Predictions need the CPU build of PyTorch, and measurements a CUDA build. On a machine without a card, run
`python -m tests.gpu.stages.torch_predicted` to write the predictions to `tests/gpu/predicted.json`. This stage compares
them on the card.
"""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

from nbtf._devices.caching.fixed_parts import fixed_parts
from nbtf._devices.catalog import find_card
from tests.gpu.stages import torch_memory
from tests.gpu.stages.record import Record
from tests.gpu.stages.torch_library import torch_with_gpu

PREDICTED = Path(__file__).parents[1] / "predicted.json"
_RECURRENT = """layer = nn.{layer}.cuda()
for step in range(2):
    layer(torch.randn(50, 32, 128, device='cuda'))[0].sum().backward()"""
WORKSPACES = {
    "LSTM": _RECURRENT.format(layer="LSTM(128, 256, num_layers=2)"),
    "GRU": _RECURRENT.format(layer="GRU(128, 256, bidirectional=True)"),
    "RNN": _RECURRENT.format(layer="RNN(128, 256)"),
    "wide convolution": "layer = nn.Conv2d(64, 256, 7, padding=3).cuda()\n"
    "layer(torch.randn(16, 64, 56, 56, device='cuda')).sum().backward()",
    "long attention": "q = torch.randn(2, 8, 2048, 64, device='cuda', requires_grad=True)\n"
    "nn.functional.scaled_dot_product_attention(q, q, q).sum().backward()",
}
"""Programs whose libraries use workspaces, whose size is unknown without a card."""
PROGRAMS = torch_memory.PROGRAMS | WORKSPACES

_MEASURED = """
import json, torch, torch.nn as nn
{program}
torch.cuda.synchronize()
figures = torch.cuda.memory_stats()
print(json.dumps([figures["allocated_bytes.all.peak"], figures["reserved_bytes.all.peak"]]))
"""


def run(record: Record) -> None:
    """Runs the stage."""
    predicted: dict[str, list[int]] = json.loads(PREDICTED.read_text(encoding="utf-8"))
    record.check("all programs were predicted", {*predicted} == {*PROGRAMS}, sorted({*predicted} ^ {*PROGRAMS}))
    torch = torch_with_gpu(record, "predictions were not compared with measurements")
    if torch is None:
        return
    try:
        workspace = fixed_parts(find_card(torch.cuda.get_device_properties(0).name)).workspace
    except ValueError as error:
        workspace = 0
        record.note(f"The size of cuBLAS's workspace on this card is unknown: {error}")
    for name in predicted:
        process = subprocess.run(
            [sys.executable, "-c", _MEASURED.format(program=PROGRAMS[name])],
            capture_output=True,
            text=True,
            check=False,
        )
        if record.check(f"{name}: runs", process.returncode == 0, process.stderr[-500:]):
            compare(record, name, predicted[name], json.loads(process.stdout), workspace)


def compare(record: Record, name: str, predicted: list[int], measured: list[int], workspace: int) -> None:
    """Compares a program's predicted and measured peaks, both allocated and reserved.

    Args:
      record: receives the results.
      name: name of the program.
      predicted: peaks predicted without a card, in bytes.
      measured: peaks measured on a card, in bytes.
      workspace: bytes that cuBLAS allocates from PyTorch's allocator at the first matrix product.
    """
    for what, without, on_card in zip(("allocated", "reserved"), predicted, measured, strict=True):
        record.model(f"{name}: {what} at most", without / (1 << 20), on_card / (1 << 20), "MiB")
    beside = measured[0] - predicted[0]
    if name in WORKSPACES:
        record.figure(f"{name}: workspaces and modelled memory", beside / (1 << 20), "MiB")
    else:
        record.check(f"{name}: allocates as predicted, plus cuBLAS's workspace", beside in (0, workspace), beside)


def predict(name: str) -> list[int]:
    """Returns the predicted peaks of a program; needs only the CPU build of PyTorch."""
    from nbtf._frameworks.torch.prediction.asking import ask

    source = f"import torch, torch.nn as nn\n{PROGRAMS[name]}"
    peak = ask(name, [(1, source, True)], "H200")["peak"]
    return [peak["allocated"], peak["reserved"]]


if __name__ == "__main__":
    PREDICTED.write_text(json.dumps({name: predict(name) for name in PROGRAMS}, indent=1) + "\n", encoding="utf-8")
