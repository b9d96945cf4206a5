"""Tests that an op for which a simulated card has no room changes nothing: no values, no random numbers, no bytes."""

from __future__ import annotations

import sys
import types
import unittest
from collections.abc import Callable, Iterator
from itertools import islice
from typing import Any

import pytest

import nbtf as tf

torch: Any = pytest.importorskip("torch")

SHARE, SAMPLES, REFUSALS = 30, 2, 3
"""One op of PyTorch's own samples of so many is tried; of each so many samples, and a refusal at so many requests."""


@pytest.fixture(autouse=True)
def machine(capsys: pytest.CaptureFixture[str]) -> Iterator[Any]:
    tf.runtime.simulate_gpus(1, memory="1GiB", frameworks="torch")
    from nbtf._frameworks.torch.simulation.switch import SWITCH

    yield SWITCH.installation.machine
    tf.runtime.restart()
    tf.runtime.simulate_gpus(0)


class Refusal:
    """Has a card refuse a request: the first when it is 0."""

    def __init__(self, machine: Any, number: int) -> None:
        self._machine, self._left, self.refused = machine, number, False
        self._charge = machine.charge

    def __enter__(self) -> Refusal:
        self._machine.charge = self._count
        return self

    def __exit__(self, *_: object) -> None:
        del self._machine.charge

    def _count(self, nbytes: int, number: int, label: Any) -> Any:
        self._left -= nbytes > 0
        if self._left < 0:
            self.refused = True
            return self._charge(1 << 40, number, label)
        return self._charge(nbytes, number, label)


def leaves(value: Any) -> list[Any]:
    return [leaf for leaf in torch.utils._pytree.tree_leaves(value) if isinstance(leaf, torch.Tensor)]


def state(machine: Any, values: Any) -> list[Any]:
    """Returns all that a refused op must leave as it is."""
    tensors = [
        (leaf.shape, leaf.stride(), leaf.data_ptr(), leaf.detach().cpu().contiguous().view(-1).numpy().tobytes())
        for leaf in leaves(values)
    ]
    return [tensors, torch.get_rng_state().numpy().tobytes(), machine.allocators[0].allocated]


def refuse(machine: Any, run: Callable[[], object], values: Any, request: int) -> bool:
    """Runs something whose request is refused; says whether it got that far, and changed nothing."""
    before = state(machine, values)
    with Refusal(machine, request) as refusal:
        try:
            run()
        except torch.OutOfMemoryError:
            pass
    if refusal.refused:
        assert before == state(machine, values)
    return refusal.refused


def samples() -> Iterator[tuple[str, Callable[..., Any], Any]]:
    """Yields ops in place, with outputs and without, with samples of what they take."""
    stand_in: Any = types.ModuleType("expecttest")
    stand_in.TestCase, stand_in.assert_expected_inline = unittest.TestCase, None
    sys.modules.setdefault("expecttest", stand_in)
    database = __import__("torch.testing._internal.common_methods_invocations", fromlist=["op_db"]).op_db
    for op in database[7::SHARE]:
        if torch.float32 not in op.supported_dtypes("cpu") or "sparse" in op.name:
            continue
        for sample in islice(op.sample_inputs("cpu", torch.float32), SAMPLES):
            yield op.name, op.op, sample
            if op.inplace_variant is not None:
                yield f"{op.name}_", op.inplace_variant, sample
            if op.supports_out:
                yield f"{op.name}.out", op.op, sample


def arguments(name: str, run: Callable[..., Any], sample: Any) -> tuple[list[Any], dict[str, Any]]:
    positional, keywords = torch.utils._pytree.tree_map(
        lambda value: value.cuda() if isinstance(value, torch.Tensor) else value,
        ([sample.input, *sample.args], dict(sample.kwargs)),
    )
    if name.endswith(".out"):
        like = run(*positional, **keywords)
        if isinstance(like, torch.Tensor):
            keywords["out"] = torch.empty(0, dtype=like.dtype, device="cuda")
    return positional, keywords


@pytest.mark.filterwarnings("ignore:.*:UserWarning")  # of ops that PyTorch would rather not have
def test_a_refused_op_changes_nothing(machine: Any) -> None:
    refusals = 0

    for name, run, sample in samples():
        for request in range(REFUSALS):
            try:
                positional, keywords = arguments(name, run, sample)
                refusals += refuse(machine, lambda: run(*positional, **keywords), (positional, keywords), request)  # noqa: B023
            except (RuntimeError, NotImplementedError, TypeError):  # what simulated cards or this variant do not do
                break

    assert refusals > 50


def test_an_error_that_is_kept_keeps_nothing_of_the_op(machine: Any) -> None:
    x = torch.ones(30, 30, device="cuda")
    before = machine.allocators[0].allocated

    with Refusal(machine, 1), pytest.raises(torch.OutOfMemoryError) as caught:
        torch.linalg.multi_dot([x, x, x])  # the product of two of them first

    assert before == machine.allocators[0].allocated
    assert "nbtf" not in {
        frame.frame.f_globals.get("__name__", "").partition(".")[0] for frame in caught.traceback[:-1]
    }


def test_refused_dropout_draws_nothing(machine: Any) -> None:
    x = torch.ones(1000, device="cuda")

    assert refuse(machine, lambda: torch.nn.functional.dropout(x, 0.5), x, 0)


def test_refused_normalization_keeps_its_running_means(machine: Any) -> None:
    layer, x = torch.nn.BatchNorm1d(4).cuda(), torch.rand(8, 4, device="cuda")

    assert refuse(machine, lambda: layer(x), [x, layer.running_mean, layer.running_var], 0)


def test_refused_outputs_stay_as_they_are_all_of_them(machine: Any) -> None:
    x, outputs = (
        torch.rand(8, 4, device="cuda"),
        [torch.empty(0, dtype=kind, device="cuda") for kind in (None, torch.long)],
    )

    assert refuse(machine, lambda: torch.max(x, 1, out=tuple(outputs)), [x, outputs], 1)


def test_a_card_is_asked_before_this_computer_is(machine: Any) -> None:
    x = torch.ones(1 << 20, device="cuda")
    called: list[str] = []
    machine.check_computer = lambda *_: called.append("computer")

    with pytest.raises(torch.OutOfMemoryError, match=r"Tried to allocate 4096\.00 GiB"):
        torch.outer(x, x)

    assert [] == called
