"""Tests that programs with `torch.compile` compute on simulated GPUs what they compute without it."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import pytest

import nbtf as tf

torch: Any = pytest.importorskip("torch", reason="needs PyTorch; one step of .ci/run has it")
nn: Any = torch.nn
WIDTH = 16


@pytest.fixture(scope="module", autouse=True)
def machine() -> Iterator[None]:
    tf.runtime.restart()
    tf.runtime.simulate_gpus(2, model="A100-40GB", frameworks="torch")
    yield
    tf.runtime.restart()
    tf.runtime.simulate_gpus(0)


class CausalBlock(nn.Module):
    """A transformer block as in small GPT programs."""

    def __init__(self) -> None:
        super().__init__()
        self.norm, self.joint, self.out = nn.LayerNorm(WIDTH), nn.Linear(WIDTH, 3 * WIDTH), nn.Linear(WIDTH, WIDTH)

    def forward(self, x: Any) -> Any:
        rows, steps, _ = x.shape
        heads = [
            part.view(rows, steps, 2, WIDTH // 2).transpose(1, 2) for part in self.joint(self.norm(x)).split(WIDTH, 2)
        ]
        attended = nn.functional.scaled_dot_product_attention(*heads, is_causal=True)
        return x + self.out(attended.transpose(1, 2).reshape(rows, steps, WIDTH))


class SelfAttention(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.attention = nn.MultiheadAttention(WIDTH, 2, batch_first=True)

    def forward(self, x: Any) -> Any:
        return self.attention(x, x, x)[0]


class Recurrent(nn.Module):
    def __init__(self, layer: Callable[..., Any]) -> None:
        super().__init__()
        self.layer = layer(WIDTH, WIDTH, batch_first=True)

    def forward(self, x: Any) -> Any:
        return self.layer(x)[0]


MODELS: dict[str, Callable[[], Any]] = {
    "block": CausalBlock,
    "multi-head attention": SelfAttention,
    "encoder layer": lambda: nn.TransformerEncoderLayer(WIDTH, 2, 32, 0.0, batch_first=True),
    "LSTM": lambda: Recurrent(nn.LSTM),
    "GRU": lambda: Recurrent(nn.GRU),
    "perceptron": lambda: nn.Sequential(nn.Linear(WIDTH, 8), nn.ReLU(), nn.Linear(8, WIDTH)),
}
OPTIONS: list[dict[str, Any]] = [{}, {"fullgraph": True}, {"mode": "max-autotune"}, {"dynamic": True}]


def results(model: Any, call: Any, x: Any) -> list[Any]:
    """Returns the output and the gradients of a model."""
    model.zero_grad()
    output = call(x)
    output.sum().backward()
    return [output.tolist(), *[parameter.grad.tolist() for parameter in model.parameters()]]


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("options", OPTIONS, ids=str)
@pytest.mark.parametrize("name", MODELS)
def test_compiled_models_compute_what_they_compute_uncompiled(name: str, options: dict[str, Any]) -> None:
    model, x = MODELS[name]().cuda(), torch.randn(2, 5, WIDTH, device="cuda")
    expected = results(model, model, x)

    compiled = torch.compile(model, **options)

    assert expected == results(model, compiled, x)
    assert [f"_orig_mod.{key}" for key in model.state_dict()] == [*compiled.state_dict()]
    model.eval()
    with torch.inference_mode():
        assert model(x).tolist() == compiled(x).tolist()


@pytest.mark.filterwarnings("ignore")
def test_functions_are_compiled_by_decorator_and_by_method() -> None:
    @torch.compile(fullgraph=True)
    def attend(x: Any) -> Any:
        return nn.functional.scaled_dot_product_attention(x, x, x) * 2

    x = torch.randn(2, 2, 5, 8, device="cuda")
    model = CausalBlock().cuda()
    inputs = torch.randn(2, 5, WIDTH, device="cuda")
    expected = model(inputs).tolist()
    model.compile()

    assert (nn.functional.scaled_dot_product_attention(x, x, x) * 2).tolist() == attend(x).tolist()
    assert expected == model(inputs).tolist()


@pytest.mark.filterwarnings("ignore")
def test_attention_can_be_traced_by_a_backend_of_the_user() -> None:
    traced: list[Any] = []

    def backend(graph: Any, _inputs: Any) -> Any:
        traced.append(graph)
        return graph.forward

    model, x = CausalBlock().cuda(), torch.randn(2, 5, WIDTH, device="cuda")

    assert model(x).tolist() == torch.compile(model, backend=backend)(x).tolist()
    assert 1 == len(traced)
