"""Tests a share of PyTorch's samples on simulated GPUs against the CPU; `.ci/nightly operators` runs all of them."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Iterator
from typing import Any

import pytest

from nbtf._devices.discovery import gpus, simulated_machine

torch: Any = pytest.importorskip("torch", reason="needs PyTorch; one step of .ci/run has it")

SHARE = 60
"""One op of so many is tried."""


@pytest.fixture(autouse=True)
def devices() -> Iterator[None]:
    from nbtf._frameworks.torch.simulation.switch import SWITCH
    from tests.frameworks.operators import database

    database()  # PyTorch's descriptions of ops are made without GPUs
    SWITCH.on(gpus(simulated_machine(2, "A100 80"), {}))
    yield
    SWITCH.off()


@pytest.mark.filterwarnings("ignore")
def test_ops_differ_nowhere_silently_from_the_cpu() -> None:
    from tests.frameworks.operators import database, search

    report = search(database()[::SHARE], (torch.float32, torch.int64), samples=1)

    assert {} == report.differences
    assert report.counts.total() > 100


@pytest.mark.filterwarnings("ignore")
def test_ops_accept_the_dtypes_that_they_accept_on_a_card() -> None:
    from tests.frameworks.operators import OF_CARDS, Report, database, search_cards_only

    report = Report()
    for op in database():
        dtypes = op.supported_dtypes("cuda") - op.supported_dtypes("cpu")
        if op.name not in OF_CARDS:
            for dtype in sorted(dtypes, key=str):
                search_cards_only(op, dtype, 1, report)

    assert ({}, {}) == (report.differences, report.refusals)
    assert report.counts.total() > 200


@pytest.mark.filterwarnings("ignore")
def test_ops_refuse_the_dtypes_that_they_refuse_on_a_card() -> None:
    from tests.frameworks.operators import NOT_REFUSED, Report, database, search_refused

    report = Report()
    for op in database():
        if op.name not in NOT_REFUSED:
            search_refused(op, 2, report)

    assert ({}, {}) == (report.differences, report.other_errors)
    assert report.counts.total() > 200


@pytest.mark.parametrize(("dtype", "name"), [("int64", "Long"), ("uint8", "Byte"), ("bool", "Bool")])
def test_a_card_multiplies_no_matrices_of_whole_numbers(dtype: str, name: str) -> None:
    matrix = torch.ones(2, 2, dtype=getattr(torch, dtype), device="cuda:0")
    result = torch.full((2, 2), 7, dtype=matrix.dtype, device="cuda:0")

    with pytest.raises(RuntimeError, match=f"\"addmm_cuda\" not implemented for '{name}'"):
        torch.mm(matrix, matrix, out=result)
    before, taken = result.tolist(), torch.cuda.memory_allocated(0)
    with pytest.raises(RuntimeError, match=f"\"addmm_cuda\" not implemented for '{name}'"):
        print(matrix @ matrix)
    assert (before, taken) == (result.tolist(), torch.cuda.memory_allocated(0))
    assert [] == (matrix[:0] @ matrix).tolist()


@pytest.mark.parametrize("equation", ["ij,jk->ik", "bij,bjk->bik", "i,i->"])
def test_a_sum_of_products_of_whole_numbers_is_refused(equation: str) -> None:
    operands = [torch.ones(*[2] * len(axes), dtype=torch.int64) for axes in equation.split("->")[0].split(",")]

    with pytest.raises(RuntimeError, match="not implemented for 'Long'"):
        torch.einsum(equation, *(operand.cuda() for operand in operands))


def test_a_card_has_no_histogram_of_several_dimensions() -> None:
    with pytest.raises(NotImplementedError, match=r"aten::histogram.bin_ct.*only for the CPU"):
        torch.histogram(torch.ones(3, device="cuda:0"), 2)


ENDING = """
import os, signal, types
import torch
from nbtf._devices.discovery import gpus, simulated_machine
from nbtf._frameworks.torch.simulation.switch import SWITCH
from tests.frameworks.operators import Report

class Ending:
    variant_test_name, inplace_variant, error_inputs_func = "", None, None
    supports_autograd = supports_out = False

    def __init__(self, name, *devices):
        self.name, self.devices = name, devices

    def supported_dtypes(self, device):
        return {torch.float32}

    def sample_inputs(self, device, dtype, **_):
        return [types.SimpleNamespace(input=torch.ones(2, dtype=dtype, device=device), args=(), kwargs={})]

    def __call__(self, values):
        if values.device.type in self.devices:
            os.kill(os.getpid(), signal.SIGKILL)
        return values + 1.0

SWITCH.on(gpus(simulated_machine(2, "A100 80"), {}))
report = Report()
for op in (Ending("neither"), Ending("cards", "cuda"), Ending("both", "cpu", "cuda")):
    report.add(op, 1)
print(report.crashes, report.crashes_of_cpu, report.counts["ops"])
"""


def test_an_op_that_ends_its_process_is_a_fault_unless_it_does_so_on_the_cpu() -> None:
    # In a process of its own: one that has used the cards cannot be forked.
    process = subprocess.run([sys.executable, "-c", ENDING], capture_output=True, text=True, check=False)

    assert "['cards'] ['both'] 1\n" == process.stdout, process.stderr[-2000:]


@pytest.mark.filterwarnings("ignore:An output with one or more elements was resized")
@pytest.mark.parametrize("dtype", [torch.float32, torch.int64, torch.bfloat16, torch.complex64])
def test_an_output_of_the_right_shape_and_too_little_memory_gets_memory(dtype: Any) -> None:
    values, weight = torch.arange(5).to(dtype), torch.arange(20).view(4, 5).to(dtype)

    def run(device: str) -> Any:
        output = torch.zeros((), dtype=dtype, device=device).expand(4)
        torch._C._nn.linear(values.to(device), weight.to(device), out=output)
        return output.tolist(), output.stride(), output.untyped_storage().nbytes()

    assert run("cpu") == run("cuda:0")


@pytest.mark.parametrize("run", [torch.linalg.solve, torch.add, torch.matmul, torch.linalg.inv_ex, torch.sort])
def test_an_expanded_output_is_refused_as_on_the_cpu(run: Any) -> None:
    matrix = torch.eye(3) + 0.1

    def result(device: str) -> str:
        output = torch.zeros(3, 1, device=device).expand(3, 3)
        count = torch.zeros(3, 3, dtype=torch.int64, device=device)
        others = {torch.linalg.inv_ex: count[0, 0].to(torch.int32), torch.sort: count}
        out = (output, others[run]) if run in others else output
        operands = [matrix.to(device)] * (1 if run in others else 2)
        try:
            run(*operands, out=out)
        except RuntimeError as error:
            return str(error)
        return str((output.tolist(), output.stride()))

    assert result("cpu") == result("cuda:0")


def test_histc_counts_whole_numbers_with_whole_arithmetic() -> None:
    values = torch.arange(26, dtype=torch.int32, device="cuda:0")

    counts = torch.histc(values, bins=25, min=0, max=25)

    assert [1] * 24 + [2] == counts.tolist()
    assert torch.int32 is counts.dtype


@pytest.mark.filterwarnings("ignore:ComplexHalf")
@pytest.mark.parametrize("dtype", [torch.complex32, torch.complex64, torch.complex128])
def test_nansum_leaves_out_complex_numbers_with_nan(dtype: Any) -> None:
    values = torch.tensor([1 + 2j, complex("nan+1j"), 4 - 1j], dtype=dtype, device="cuda:0")

    assert torch.tensor(5 + 1j, dtype=dtype).item() == torch.nansum(values).item()
    assert 2.5 + 0.5j == torch.nanmean(values).item()


def test_a_half_transform_of_odd_length_raises_the_error_of_a_card() -> None:
    values = torch.ones(6, dtype=torch.float16, device="cuda:0")

    with pytest.raises(RuntimeError, match="cuFFT only supports dimensions whose sizes are powers of two"):
        torch.fft.rfft(values)


def test_a_dtype_that_a_card_refuses_too_is_refused() -> None:
    values = torch.eye(2, dtype=torch.float16, device="cuda:0")

    with pytest.raises(RuntimeError, match="not implemented for 'Half'"):
        torch.geqrf(values)


@pytest.mark.parametrize("name", ["_native_batch_norm_legit", "_batch_norm_with_update"])
def test_what_an_op_reads_and_writes_keeps_its_values_while_outputs_get_another_shape(name: str) -> None:
    def normalized(device: str) -> list[Any]:
        generator = torch.Generator().manual_seed(3)
        values = torch.randn(4, 3, 5, generator=generator).to(device)
        weight, bias, mean, variance = (torch.rand(3, generator=generator).to(device) for _ in range(4))
        outputs = {each: torch.zeros(1, device=device) for each in ("out", "save_mean", "save_invstd")}
        training = [True] if name == "_native_batch_norm_legit" else []
        if not training:
            outputs["reserve"] = torch.zeros(0, dtype=torch.uint8, device=device)
        op = getattr(torch.ops.aten, name).out
        op(values, weight, bias, mean, variance, *training, 0.1, 1e-5, **outputs)
        return [mean.tolist(), variance.tolist(), outputs["out"].tolist()]

    assert normalized("cpu") == normalized("cuda:0")
