"""Does every PyTorch op return on a simulated GPU what it returns on the CPU, and raise the same errors?

PyTorch's own samples are run: as they are, in place, with outputs of the right and of a wrong shape, with outputs that
overlap an input or themselves, and the samples that must raise an error. Values, gradients, dtypes, shapes, strides,
error classes and error texts are compared. An op that ends its process is a fault, unless the CPU op does so, too:
some write outside their memory. Dtypes that an op accepts on a card and refuses on the CPU are compared with the op on
a larger dtype, up to rounding.

python -m tests.frameworks.operators                  # all ops, four dtypes
python -m tests.frameworks.operators --share 0 20     # the first of twenty shares
python -m tests.frameworks.operators --only scatter --samples 20
"""

from __future__ import annotations

import argparse
import os
import pickle
import sys
import types
import unittest
import warnings
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import suppress
from dataclasses import dataclass, field
from functools import partial
from itertools import islice
from typing import Any

import torch

TRIED = types.SimpleNamespace(device="cuda:1")
"""The device that is compared with the CPU."""
DTYPES = (torch.float32, torch.int64, torch.bfloat16, torch.complex64)
SAMPLES = 3
BY_OTHER_OPS = ("nn.functional.linear_cross_entropy",)
"""Ops that PyTorch composes of other ops for cards: in 16 bits, they round elsewhere."""
WIDER_ON_CPU = ("renorm",)
"""Ops whose gradients PyTorch adds up in 64 bits for the CPU, and in 32 bits for cards."""
GARBAGE = ("empty", "resize")
"""Words in names of ops whose results are uninitialized memory."""


@dataclass
class Report:
    """What a search has compared and found."""

    counts: Counter[str] = field(default_factory=Counter[str])
    crashes: list[str] = field(default_factory=list[str])
    crashes_of_cpu: list[str] = field(default_factory=list[str])
    differences: dict[str, str] = field(default_factory=dict[str, str])
    refusals: dict[str, str] = field(default_factory=dict[str, str])
    other_errors: dict[str, str] = field(default_factory=dict[str, str])

    def add(self, op: Any, samples: int) -> None:
        """Compares an op in a process of its own."""
        found = in_a_process(op, samples, TRIED.device)
        if found is None:
            ends_on_cpu = in_a_process(op, samples, "cpu") is None
            (self.crashes_of_cpu if ends_on_cpu else self.crashes).append(op.name)
            return
        self.counts.update(found.counts)
        for mine, other in zip(self._findings(), found._findings(), strict=True):
            mine.update(other)

    def _findings(self) -> tuple[dict[str, str], ...]:
        return self.differences, self.refusals, self.other_errors


def in_a_process(op: Any, samples: int, device: str) -> Report | None:
    """Returns what the comparison of the CPU with a device finds for an op; None if the op ends its process."""
    reader, writer = os.pipe()
    process = os.fork()
    if not process:
        TRIED.device = device
        found = search([op], DTYPES, samples)
        with os.fdopen(writer, "wb") as answer:
            pickle.dump(found, answer)
        os._exit(0)
    os.close(writer)
    with os.fdopen(reader, "rb") as answer:
        content = answer.read()
    has_ended = os.waitpid(process, 0)[1] or not content
    return None if has_ended else pickle.loads(content)


def database() -> list[Any]:
    """Returns PyTorch's descriptions of its ops."""
    stand_in: Any = types.ModuleType("expecttest")  # needed by the module, but not by the samples
    stand_in.TestCase, stand_in.assert_expected_inline = unittest.TestCase, None
    sys.modules.setdefault("expecttest", stand_in)
    return __import__("torch.testing._internal.common_methods_invocations", fromlist=["op_db"]).op_db


def on(device: str, value: Any) -> Any:
    """Returns arguments with their tensors copied to a device: strides and shared memory are kept."""
    storages: dict[int, Any] = {}

    def move(tensor: Any) -> Any:
        if not isinstance(tensor, torch.Tensor):
            return torch.device(device) if isinstance(tensor, torch.device) or tensor == "cpu" else tensor
        needs_gradient, tensor = tensor.requires_grad, tensor.detach()
        if tensor.layout is not torch.strided or tensor.is_nested or tensor.is_quantized or tensor.is_cuda:
            return tensor.to(device, copy=True).requires_grad_(needs_gradient)
        plain = torch._neg_view(tensor) if tensor.is_neg() else tensor
        plain = plain.conj() if plain.is_conj() else plain
        storage = plain.untyped_storage()
        if storage._cdata not in storages:
            whole = torch.empty(0, dtype=torch.uint8).set_(storage, 0, (storage.nbytes(),))
            storages[storage._cdata] = storage, whole.clone().to(device)
        below = storages[storage._cdata][1].untyped_storage()
        moved = torch.empty(0, dtype=plain.dtype, device=device)
        moved.set_(below, plain.storage_offset(), plain.size(), plain.stride())
        moved = moved.conj() if tensor.is_conj() else moved
        moved = torch._neg_view(moved) if tensor.is_neg() else moved
        return moved.requires_grad_(needs_gradient)

    return torch.utils._pytree.tree_map(move, value)


def bits(value: Any) -> Any:
    """Returns what must be equal: all bits, except those of NaN."""
    if not isinstance(value, torch.Tensor):
        return repr(value).replace(TRIED.device, "cpu")
    layout = str(value.dtype), tuple(value.shape), str(value.layout)
    if value.layout is not torch.strided or value.is_nested or value.is_quantized:
        return *layout, repr(value.detach().cpu().to_dense() if not value.is_nested else value.detach().cpu())
    tensor = value.detach().cpu().contiguous().resolve_conj().resolve_neg()
    tensor = torch.view_as_real(tensor) if tensor.is_complex() else tensor
    missing = tensor.isnan() if tensor.is_floating_point() else torch.zeros((), dtype=torch.bool)
    # CUDA's formulas for gradients multiply with a mask where the CPU's fill: 0 and -0 are equal.
    numbers = tensor.nan_to_num(1.5) + 0.0 if tensor.is_floating_point() else tensor
    return *layout, value.stride(), numbers.view(-1).view(torch.uint8).numpy().tobytes(), missing.tolist()


def outcome(run: Callable[..., list[Any]], device: str, arguments: Any) -> tuple[str, Any]:
    """Returns the results of a call on a device, or the class and the text of its error."""
    torch.manual_seed(3)
    try:
        return "results", [bits(value) for value in run(*on(device, arguments))]
    except Exception as error:
        text = str(error).replace(TRIED.device, "cpu").replace("torch.cuda.", "torch.").replace(", device='cpu'", "")
        return "error", (type(error).__name__, text)


def compare(name: str, kind: str, run: Callable[..., list[Any]], arguments: Any, report: Report) -> None:
    """Compares a call on the CPU with the same call on a simulated GPU."""
    expected, found = outcome(run, "cpu", arguments), outcome(run, TRIED.device, arguments)
    report.counts[kind] += 1
    if expected == found:
        return
    if found[0] == "results":
        report.differences.setdefault(f"{name} {kind}", _difference(expected, found))
    elif expected[0] == "results":
        report.refusals.setdefault(name, f"{kind}: {found[1][0]}: {found[1][1][:150]}")
    else:
        report.other_errors.setdefault(f"{name} {kind}", f"{expected[1]} | {found[1]}"[:400])


def _difference(expected: tuple[str, Any], found: tuple[str, Any]) -> str:
    if expected[0] == "error":
        return f"no {expected[1][0]}: {expected[1][1][:100]}"
    for one, other in zip(expected[1], found[1], strict=False):
        if one != other:
            return f"{str(one)[:100]} | {str(other)[:100]}"
    return "number of results"


def calls(op: Any, sample: Any) -> Iterator[tuple[str, Callable[..., list[Any]]]]:
    """Yields the ways to call an op with a sample."""
    leaves = torch.utils._pytree.tree_leaves

    def plain(first: Any, args: Any, kwargs: Any) -> list[Any]:
        found = leaves(op(first, *args, **kwargs))
        inputs = [
            leaf for leaf in leaves((first, args, kwargs)) if isinstance(leaf, torch.Tensor) and leaf.requires_grad
        ]
        targets = [leaf.abs().sum() for leaf in found if isinstance(leaf, torch.Tensor) and leaf.requires_grad]
        gradients = torch.autograd.grad(targets, inputs, allow_unused=True) if targets and inputs else ()
        return [*found, *gradients]

    def in_place(first: Any, args: Any, kwargs: Any) -> list[Any]:
        with torch.no_grad():
            return leaves((op.inplace_variant(first, *args, **kwargs), first))

    def in_place_expanded(first: Any, args: Any, kwargs: Any) -> list[Any]:
        with torch.no_grad():
            first = first.new_zeros(()).expand(first.shape)
            return leaves((op.inplace_variant(first, *args, **kwargs), first))

    def in_place_shifted(first: Any, args: Any, kwargs: Any) -> list[Any]:
        with torch.no_grad():
            first, args, kwargs = _shifted(first, args, kwargs)
            return leaves((op.inplace_variant(first, *args, **kwargs), first))

    def with_output(change: Callable[[Any, Any], Any]) -> Callable[..., list[Any]]:
        def run(first: Any, args: Any, kwargs: Any) -> list[Any]:
            with torch.no_grad():
                made = op(first, *args, **kwargs)
                outputs = torch.utils._pytree.tree_map(lambda tensor: change(tensor, first), made)
                return leaves((op(first, *args, **kwargs, out=outputs), outputs))

        return run

    yield "plain", plain
    if op.inplace_variant is not None and isinstance(sample.input, torch.Tensor):
        yield "in place", in_place
        yield "in place, expanded", in_place_expanded
        if any(isinstance(leaf, torch.Tensor) for leaf in leaves(sample.args)):
            yield "in place, shifted", in_place_shifted
    if op.supports_out:
        yield "output", with_output(lambda made, _first: torch.zeros_like(made))
        yield "output of another shape", with_output(lambda made, _first: made.new_zeros(made.numel() + 1))
        yield "empty output", with_output(lambda made, _first: made.new_empty(0))
        yield "output is the input", with_output(_input_as_output)
        yield "output shifted", with_output(_shifted_output)
        yield "smaller output in the input", with_output(_smaller_output)
        yield "expanded output", with_output(lambda made, _first: made.new_zeros(()).expand(made.shape))


LARGER = {
    torch.float16: torch.float32,
    torch.bfloat16: torch.float32,
    torch.complex32: torch.complex64,
    torch.bool: torch.int64,
    **dict.fromkeys((torch.uint8, torch.int8, torch.int16, torch.int32, torch.int64), torch.float64),
}
"""For dtypes that only a card accepts: the dtype in which the CPU computes what is expected."""
OF_CARDS = (
    "nansum",
    "nanmean",
    "torch.ops.aten._flash_attention_forward",
    "torch.ops.aten._efficient_attention_forward",
)
"""Ops that the CPU refuses in larger dtypes too."""


def search_cards_only(op: Any, dtype: Any, samples: int, report: Report) -> None:
    """Compares the samples of an op for a dtype that only a card accepts, with gradients where a card has them."""
    has_gradient = dtype in op.supported_backward_dtypes("cuda") and op.supports_autograd
    for sample in islice(op.sample_inputs("cpu", dtype, requires_grad=has_gradient), samples):
        arguments = sample.input, sample.args, dict(sample.kwargs)
        for kind, run in calls(op, sample):
            if kind in ("plain", "in place", "output", "output of another shape", "empty output"):
                compare_rounded(f"{op.name} {op.variant_test_name}", kind, run, arguments, dtype, report)


NOT_REFUSED = (
    "native_dropout_backward",  # of a mask that no program has
    "norm",  # of half complex numbers, which PyTorch calls experimental
    "scatter_reduce",  # of booleans, for some reductions
    "torch._scaled_mm",
    "torch._scaled_mm_v2",  # for float8 formats of other makers' cards
)
"""Ops of which simulated GPUs accept dtypes that a card refuses."""


WITH_PRODUCTS = ("einsum", "inner", "tensordot")
"""Ops of which only the samples that multiply matrices are refused."""


def refused_on_cards(op: Any) -> list[Any]:
    """Returns the dtypes that the CPU accepts and a card refuses, whose descriptions do not depend on the card here."""
    on_cards = op.supported_dtypes("cuda")
    refused = op.supported_dtypes("cpu") - on_cards
    if torch.float16 in on_cards:
        refused -= {torch.bfloat16}  # it is described as refused where there is no card
    return sorted(refused, key=str)


def _plain(op: Any, first: Any, args: Any, kwargs: Any) -> list[Any]:
    return torch.utils._pytree.tree_leaves(op(first, *args, **kwargs))


def search_refused(op: Any, samples: int, report: Report) -> None:
    """Calls an op with the dtypes that a card refuses."""
    for dtype in refused_on_cards(op):
        for sample in islice(op.sample_inputs("cpu", dtype, requires_grad=False), samples):
            arguments = sample.input, sample.args, dict(sample.kwargs)
            tensors = [leaf for leaf in torch.utils._pytree.tree_leaves(arguments) if isinstance(leaf, torch.Tensor)]
            if not all(tensor.numel() for tensor in tensors):
                continue  # a card has nothing to compute
            report.counts["refused on cards"] += 1
            kind, found = outcome(partial(_plain, op), TRIED.device, arguments)
            if kind == "results":
                if op.name not in WITH_PRODUCTS:
                    report.differences.setdefault(f"{op.full_name} {dtype}", "a card refuses this dtype")
            elif (
                "not implemented for" not in found[1] and "not supported for" not in found[1] and "CUDA" not in found[1]
            ):
                report.other_errors.setdefault(f"{op.full_name} {dtype}", str(found))


def compare_rounded(
    name: str, kind: str, run: Callable[..., list[Any]], arguments: Any, dtype: Any, report: Report
) -> None:
    """Compares a call on a simulated GPU with the CPU's in a larger dtype, or in the same one if it is large enough."""
    larger = LARGER.get(dtype, dtype)

    def enlarge(value: Any) -> Any:
        if isinstance(value, torch.Tensor) and value.dtype is dtype:
            return value.detach().to(larger).requires_grad_(value.requires_grad)
        return larger if value is dtype else value

    report.counts[f"{kind}, only on cards"] += 1
    torch.manual_seed(3)
    try:
        expected = run(*torch.utils._pytree.tree_map(enlarge, arguments))
    except Exception:
        expected = None  # such as an output of a larger dtype that cannot be cast
    torch.manual_seed(3)
    try:
        found = run(*on(TRIED.device, arguments))
    except Exception as error:
        if expected is not None:
            report.refusals.setdefault(f"{name} {dtype}", f"{kind}: {type(error).__name__}: {str(error)[:150]}")
        return
    if expected is None:
        report.differences.setdefault(f"{name} {dtype} {kind}", "the larger dtype raises an error")
        return
    for one, other in zip(expected, found, strict=True):
        if isinstance(one, torch.Tensor) and not _is_near(one, other):
            report.differences.setdefault(f"{name} {dtype} {kind}", f"{one} | {other}"[:300])


def _is_near(expected: Any, found: Any) -> bool:
    """Returns whether numbers are equal up to the rounding of their dtype, which is that of a card."""
    found = found.cpu()
    if found.dtype not in (expected.dtype, *[small for small, large in LARGER.items() if large is expected.dtype]):
        return found.dtype in (torch.float16, torch.complex32) and expected.shape == found.shape
    kind = torch.complex128 if found.dtype.is_complex else torch.float64
    precision = {torch.bfloat16: 3e-2, torch.float16: 5e-3, torch.complex32: 5e-3}.get(found.dtype, 1e-5)
    if not (found.dtype.is_floating_point or found.dtype.is_complex):
        precision = 0.0
    rounded, found = expected.to(found.dtype).to(kind), found.to(kind)  # also what is too large for the dtype
    if precision > 1e-5:  # steps between may be too large for a dtype of 16 bits, on a card as well
        is_finite = rounded.isfinite() & found.isfinite()
        rounded, found = rounded[is_finite], found[is_finite]
    largest = float(rounded.abs().max()) if rounded.numel() and precision else 0.0
    return torch.allclose(rounded, found, precision, precision * min(1.0 + largest, 1e4), equal_nan=True)


def _shifted(first: Any, args: Any, kwargs: Any) -> tuple[Any, Any, Any]:
    """Returns arguments whose first two tensors are one element apart in the same memory."""
    memory = first.new_ones(first.numel() + 1)
    moved = memory[1:].view(first.shape)
    shifted = tuple(
        memory[:-1].view(each.shape)
        if isinstance(each, torch.Tensor) and each.shape == first.shape and each.dtype == first.dtype
        else each
        for each in args
    )
    return moved, shifted, kwargs


def _input_as_output(made: Any, first: Any) -> Any:
    """Returns the input if it fits as the output: resizing an input crashes some ops on the CPU."""
    if isinstance(first, torch.Tensor) and isinstance(made, torch.Tensor):
        return first if (first.shape, first.dtype) == (made.shape, made.dtype) else made.new_zeros(made.shape)
    return made


def _shifted_output(made: Any, first: Any) -> Any:
    """Returns an output that shares all but one element with the input, if their dtypes are equal."""
    if not isinstance(first, torch.Tensor) or not isinstance(made, torch.Tensor):
        return made
    if first.dtype != made.dtype or not first.is_contiguous() or first.numel() <= made.numel():
        return made.new_zeros(made.shape)
    return first.as_strided((made.numel(),), (1,), first.storage_offset() + 1).view(made.shape)


def _smaller_output(made: Any, first: Any) -> Any:
    """Returns an output of one element in the memory of the input, which is large enough for the result."""
    if isinstance(first, torch.Tensor) and isinstance(made, torch.Tensor):
        is_large = first.is_contiguous() and 1 < made.numel() <= first.numel()
        if is_large and first.dtype == made.dtype:
            return first.detach().as_strided((1,), (1,), first.storage_offset())
    return torch.zeros_like(made) if isinstance(made, torch.Tensor) else made


def search_op(op: Any, dtype: Any, samples: int, report: Report) -> None:
    """Compares the samples of an op for a dtype."""
    has_gradient = op.supports_autograd and (dtype.is_floating_point or dtype.is_complex)
    for sample in islice(op.sample_inputs("cpu", dtype, requires_grad=has_gradient), samples):
        arguments = sample.input, sample.args, dict(sample.kwargs)
        for kind, run in calls(op, sample):
            if op.name in WIDER_ON_CPU and has_gradient and kind == "plain":
                compare_rounded(op.name, kind, run, arguments, dtype, report)
            else:
                compare(op.name, kind, run, arguments, report)


def search_errors(op: Any, report: Report) -> None:
    """Compares the samples that must raise an error."""
    if op.error_inputs_func is None:
        return
    samples: list[Any] = []
    with suppress(Exception):  # some describe errors of real cards
        samples = [each.sample_input for each in op.error_inputs("cpu")]
    for sample in samples:
        arguments = sample.input, sample.args, dict(sample.kwargs)
        tensors = [leaf for leaf in torch.utils._pytree.tree_leaves(arguments) if isinstance(leaf, torch.Tensor)]
        if any(tensor.is_cuda or tensor.is_meta for tensor in tensors):
            continue  # tensors of several devices: their error is another one
        compare(op.name, "error", partial(_plain, op), arguments, report)


def search(ops: list[Any], dtypes: tuple[Any, ...], samples: int) -> Report:
    """Compares ops on the simulated GPUs that are installed with the CPU."""
    report = Report()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        for op in ops:
            if any(word in op.name for word in GARBAGE):
                continue
            report.counts["ops"] += 1
            for dtype in dtypes:
                is_rounded = op.name in BY_OTHER_OPS and dtype.itemsize == 2
                if dtype in op.supported_dtypes("cpu").difference(refused_on_cards(op)) and not is_rounded:
                    search_op(op, dtype, samples, report)
            if op.name not in OF_CARDS:
                for dtype in op.supported_dtypes("cuda") - op.supported_dtypes("cpu"):
                    search_cards_only(op, dtype, samples, report)
            if op.name not in NOT_REFUSED:
                search_refused(op, samples, report)
            search_errors(op, report)
    return report


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m tests.frameworks.operators", description="Compare PyTorch's ops.")
    parser.add_argument("--share", type=int, nargs=2, default=(0, 1), metavar=("NUMBER", "SHARES"))
    parser.add_argument("--samples", type=int, default=SAMPLES, help="samples per op, dtype and form of the call")
    parser.add_argument("--only", default="", help="only ops whose names contain this")
    chosen = parser.parse_args()
    from nbtf._devices.discovery import gpus, simulated_machine
    from nbtf._frameworks.torch.simulation.switch import SWITCH

    ops = [op for op in database() if chosen.only in op.name][chosen.share[0] :: chosen.share[1]]
    SWITCH.on(gpus(simulated_machine(2, "A100 80"), {}))
    report = Report()
    for op in ops:
        report.add(op, chosen.samples)
    for name, text in report.differences.items():
        print("difference:", name, text)
    for name, text in report.refusals.items():
        print("refused:", name, text)
    for name, text in report.other_errors.items():
        print("another error:", name, text)
    print(
        f"{dict(report.counts)}: {len(report.differences)} silent differences, {len(report.refusals)} ops refused, "
        f"{len(report.other_errors)} with another error, {len(report.crashes)} ended the process: {report.crashes}, "
        f"{len(report.crashes_of_cpu)} end it on the CPU as well: {report.crashes_of_cpu}"
    )
    return min(1, len(report.differences) + len(report.crashes))


if __name__ == "__main__":
    sys.exit(main())
