"""Does a prediction give the figures that others have measured on a card?

Hugging Face's guide to the memory of a training run measured BERT-large on a Tesla V100 with 16 GB in January
2022, with nvidia-smi, sequences of 512 tokens and float32. CUDA's context took 1,343 MiB, all together 14,949 MiB with
batches of 4, and 8,681 MiB with batches of 1 and four accumulated gradients. PyTorch kept gradients as zeros then, and
its softmax kept its input beside its result (github.com/pytorch/pytorch/issues/49600).
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest

torch: Any = pytest.importorskip("torch", reason="needs PyTorch; one step of .ci/run has it")

from nbtf._devices.discovery import gpus, simulated_machine  # noqa: E402  # after the skip
from nbtf._frameworks.torch.simulation.installation import Installation  # noqa: E402
from nbtf.notebook.prediction.program import Cell, Program  # noqa: E402

MIB = 1 << 20
CONTEXT = 1343 * MIB

BERT = """
import torch
import torch.nn.functional as F
from torch import nn

batch_size, accumulated = {batch_size}, {accumulated}
width, heads, length = 1024, 16, 512


class Softmax(torch.autograd.Function):
    # As in PyTorch 1.10, whose softmax kept its input.
    @staticmethod
    def forward(ctx, scores):
        shares = torch.softmax(scores, -1)
        ctx.save_for_backward(scores, shares)
        return shares

    @staticmethod
    def backward(ctx, gradient):
        return torch._softmax_backward_data(gradient, ctx.saved_tensors[1], -1, gradient.dtype)


class Layer(nn.Module):
    def __init__(self):
        super().__init__()
        self.query, self.key, self.value, self.out = (nn.Linear(width, width) for _ in range(4))
        self.wide, self.narrow = nn.Linear(width, 4 * width), nn.Linear(4 * width, width)
        self.first, self.second, self.dropout = nn.LayerNorm(width), nn.LayerNorm(width), nn.Dropout(0.1)

    def forward(self, x, mask):
        split = lambda y: y.view(*y.shape[:2], heads, -1).transpose(1, 2)
        query, key, value = split(self.query(x)), split(self.key(x)), split(self.value(x))
        scores = query @ key.transpose(2, 3) / 8.0 + mask
        mixed = self.dropout(Softmax.apply(scores)) @ value
        mixed = mixed.transpose(1, 2).reshape(x.shape)
        x = self.first(x + self.dropout(self.out(mixed)))
        return self.second(x + self.dropout(self.narrow(F.gelu(self.wide(x)))))


class Bert(nn.Module):
    def __init__(self):
        super().__init__()
        self.words, self.places, self.types = (nn.Embedding(rows, width) for rows in (30522, length, 2))
        self.norm, self.dropout = nn.LayerNorm(width), nn.Dropout(0.1)
        self.layers = nn.ModuleList([Layer() for _ in range(24)])
        self.pool, self.head = nn.Linear(width, width), nn.Linear(width, 2)

    def forward(self, ids):
        places = torch.arange(length, device=ids.device)
        x = self.dropout(self.norm(self.words(ids) + self.places(places) + self.types(torch.zeros_like(ids))))
        mask = torch.zeros(len(ids), 1, 1, length, device=ids.device)
        for layer in self.layers:
            x = layer(x, mask)
        return self.head(self.dropout(torch.tanh(self.pool(x[:, 0]))))


model = Bert().to("cuda")
optimizer = torch.optim.AdamW(model.parameters(), foreach=False)
for step in range(2 * accumulated):
    ids = torch.randint(100, 30000, (batch_size, length), device="cuda")
    labels = torch.randint(0, 2, (batch_size,), device="cuda")
    loss = F.cross_entropy(model(ids), labels) / accumulated
    loss.backward()
    if step % accumulated == accumulated - 1:
        nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        optimizer.step()
        optimizer.zero_grad(set_to_none=False)
"""


@pytest.fixture
def machine() -> Iterator[Any]:
    installation = Installation(torch, gpus(simulated_machine(1, "Tesla V100-SXM2-16GB"), {}), False, 0.0)
    yield installation.machine
    installation.remove()


@pytest.mark.nightly
@pytest.mark.parametrize(("batch_size", "accumulated", "published"), [(4, 1, 14949), (1, 4, 8681)])
def test_bert_large_takes_what_was_measured(machine: Any, batch_size: int, accumulated: int, published: int) -> None:
    source = BERT.format(batch_size=batch_size, accumulated=accumulated)

    outcome = Program(torch, machine, [Cell(1, source, True)], 600).run()

    assert outcome.peak is not None
    assert ("", "") == (outcome.error, outcome.stopped)
    assert published * MIB == pytest.approx(outcome.peak.reserved + CONTEXT, rel=0.02)
    of_layers = [nbytes for path, nbytes in outcome.peak.by_module.items() if path.startswith("layers.0…23")]
    assert sum(of_layers) > 0.8 * outcome.peak.allocated
