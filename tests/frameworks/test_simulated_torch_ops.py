"""Tests that ops on simulated GPUs compute what they compute on the CPU, bit for bit, with PyTorch's own samples."""

from __future__ import annotations

import sys
import types
import unittest
from collections.abc import Iterator
from typing import Any

import pytest

from nbtf._devices.discovery import gpus, simulated_machine

torch: Any = pytest.importorskip("torch")

SHARE = 12
"""One op of so many is tried by each test; all would take two minutes."""

SAMPLES = 3
SKIPPED = {
    "to_sparse": "sparse tensors are refused",
    "sparse.mm": "likewise",
    "sparse.sampled_addmm": "likewise",
    "to": "its samples name the CPU",
    "tensor_split": "it takes indices of the CPU alone",
    "renorm": "its gradient computes in float32 for cards and in float64 for the CPU",
    "linalg.lstsq": "a card has another default driver",
    "chalf": "the CPU cannot compare complex halves",
}
GARBAGE = ("empty", "resize")
"""Words in names of ops whose results are whatever was in memory."""


@pytest.fixture(scope="module")
def database() -> list[Any]:
    stand_in: Any = types.ModuleType("expecttest")  # the samples do without it, the module that has them imports it
    stand_in.TestCase, stand_in.assert_expected_inline = unittest.TestCase, None
    sys.modules.setdefault("expecttest", stand_in)
    return __import__("torch.testing._internal.common_methods_invocations", fromlist=["op_db"]).op_db


@pytest.fixture(autouse=True)
def devices(database: list[Any]) -> Iterator[None]:
    from nbtf._frameworks.torch.simulation.switch import SWITCH

    SWITCH.on(gpus(simulated_machine(2, "A100 80"), {}))
    yield
    SWITCH.off()


def on(device: str, value: Any) -> Any:
    """Returns arguments with tensors of their own on a device."""

    def move(tensor: Any) -> Any:
        if not isinstance(tensor, torch.Tensor):
            return tensor
        return tensor.detach().to(device, copy=True).requires_grad_(tensor.requires_grad)

    return torch.utils._pytree.tree_map(move, value)


def results(op: Any, sample: Any, device: str) -> list[Any]:
    """Returns an op's results and the gradients of its inputs."""
    first, args, kwargs = on(device, (sample.input, sample.args, dict(sample.kwargs)))
    if "device" in kwargs:
        kwargs["device"] = device
    torch.manual_seed(3)
    leaves = torch.utils._pytree.tree_leaves(op(first, *args, **kwargs))
    inputs = [
        leaf
        for leaf in torch.utils._pytree.tree_leaves((first, args, kwargs))
        if isinstance(leaf, torch.Tensor) and leaf.requires_grad
    ]
    targets = [leaf.abs().sum() for leaf in leaves if isinstance(leaf, torch.Tensor) and leaf.requires_grad]
    gradients = torch.autograd.grad(targets, inputs, allow_unused=True) if targets and inputs else ()
    return [*leaves, *gradients]


def bits(value: Any) -> Any:
    """Returns what can be compared: equal for equal bits, but for those of NaN."""
    if not isinstance(value, torch.Tensor):
        return repr(value)
    tensor = value.detach().cpu().contiguous()
    tensor = torch.view_as_real(tensor) if tensor.is_complex() else tensor
    return str(value.dtype), tuple(value.shape), tensor.nan_to_num(1.5).tolist(), tensor.isnan().tolist()


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("share", range(2))
def test_ops_compute_what_they_compute_on_the_cpu(database: list[Any], share: int) -> None:
    differing: dict[str, str] = {}
    calls = 0
    for op in database[share * (SHARE // 2) :: SHARE]:
        if op.name in SKIPPED or not op.dtypes or any(word in op.name for word in GARBAGE):
            continue
        dtype = torch.float32 if torch.float32 in op.dtypes else sorted(op.dtypes, key=str)[0]
        has_gradient = op.supports_autograd and dtype.is_floating_point
        for _, sample in zip(range(SAMPLES), op.sample_inputs("cpu", dtype, requires_grad=has_gradient), strict=False):
            try:
                expected = [bits(value) for value in results(op, sample, "cpu")]
            except Exception:  # what the CPU refuses is no matter of cards
                continue
            calls += 1
            try:
                if expected != [bits(value) for value in results(op, sample, "cuda:1")]:
                    differing[op.name] = "another value"
            except Exception as error:
                differing[op.name] = f"{type(error).__name__}: {error}"[:200]

    assert {} == differing
    assert calls > 50
