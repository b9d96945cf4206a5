"""Tests what `torch.cuda` answers beside tensors: streams, pinned memory, older spellings, and refusals by name."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

import nbtf as tf
from nbtf._frameworks.torch.simulation.releases import OLDER_CARDS, release_of

CONTEXT = 450 << 20
"""Bytes of the modelled context of an A100."""

torch: Any = pytest.importorskip("torch", reason="needs PyTorch; one step of .ci/run has it")


@pytest.fixture(autouse=True)
def machine(capsys: pytest.CaptureFixture[str]) -> Iterator[None]:
    tf.runtime.simulate_gpus(2, model="A100-40GB", frameworks="torch")
    yield
    tf.runtime.restart()
    tf.runtime.simulate_gpus(0)


@pytest.mark.parametrize("make", [lambda: torch.cuda.Stream(1), lambda: torch.Stream(device="cuda:1")])
def test_a_stream_is_current_inside_its_block(make: Callable[[], Any]) -> None:
    stream = make()
    with stream:
        inside = torch.ones(1, device="cuda").device, torch.cuda.current_stream() == stream

    assert (torch.device("cuda:1"), True) == inside
    assert 0 == torch.cuda.current_device()
    assert torch.cuda.current_stream(1) == torch.cuda.default_stream(1)


def test_streams_and_events_of_any_device_are_those_of_cards() -> None:
    stream, event = torch.Stream(device="cuda"), torch.Event(device="cuda", enable_timing=True)
    event.record(stream)
    torch.accelerator.set_stream(stream)

    assert (True, True) == (isinstance(torch.cuda.Stream(), torch.Stream), isinstance(event, torch.cuda.Event))
    assert (stream, True) == (torch.accelerator.current_stream(), event.query())


MAKERS: dict[str, Callable[[bool], Any]] = {
    "empty": lambda pinned: torch.empty(3, pin_memory=pinned),
    "zeros": lambda pinned: torch.zeros(2, 2, pin_memory=pinned),
    "tensor": lambda pinned: torch.tensor([1, 2], pin_memory=pinned),
    "like": lambda pinned: torch.ones_like(torch.zeros(3), pin_memory=pinned),
    "random": lambda pinned: torch.randn(3, pin_memory=pinned),
    "copied": lambda pinned: torch.ones(3).pin_memory() if pinned else torch.ones(3),
    "a view": lambda pinned: torch.arange(5, pin_memory=pinned)[1:],
}


@pytest.mark.parametrize("name", MAKERS)
def test_memory_is_pinned_where_it_was_asked_for(name: str) -> None:
    assert [True, False] * 20 == [MAKERS[name](pinned).is_pinned() for _ in range(20) for pinned in (True, False)]


def test_what_is_pinned_keeps_its_values() -> None:
    x = torch.rand(5, 3).t()

    assert torch.equal(x, x.pin_memory())
    assert x.stride() == x.pin_memory().stride()


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize(
    ("name", "dtype"), [("torch.cuda.FloatTensor", "float32"), ("torch.cuda.HalfTensor", "float16")]
)
def test_a_default_tensor_type_puts_new_tensors_on_the_card_until_it_is_set_back(name: str, dtype: str) -> None:
    torch.set_default_tensor_type(name)
    try:
        tensors = [torch.ones(2), torch.randn(2), torch.nn.Linear(2, 2).weight]
    finally:
        torch.set_default_tensor_type(torch.FloatTensor)

    assert [("cuda", f"torch.{dtype}")] * 3 == [(tensor.device.type, str(tensor.dtype)) for tensor in tensors]
    assert ("cpu", torch.float32) == (torch.ones(2).device.type, torch.ones(2).dtype)


def test_memory_without_a_tensor_is_counted() -> None:
    address = torch.cuda.caching_allocator_alloc(1000)
    in_use = torch.cuda.memory_allocated()
    torch.cuda.caching_allocator_delete(address)

    assert (1024, 0) == (in_use, torch.cuda.memory_allocated())


def test_who_has_taken_memory_is_told() -> None:
    x = torch.ones(1000, device="cuda")

    assert (2 << 20) + CONTEXT == torch.cuda.device_memory_used()
    assert re.fullmatch(
        rf"GPU:0 \(simulated\)\nprocess +\d+ uses +{2 + (CONTEXT >> 20)}\.000 MB GPU memory",
        torch.cuda.list_gpu_processes(),
    )
    assert x.is_cuda


def test_marks_for_profilers_of_cards_do_nothing() -> None:
    with torch.cuda.nvtx.range("outer"):
        depth = torch.cuda.nvtx.range_push("inner")
        torch.cuda.nvtx.range_pop()
    torch.cuda.profiler.start()
    torch.cuda.profiler.stop()

    assert (1, False) == (depth, torch.cuda.is_current_stream_capturing())


@pytest.mark.filterwarnings("ignore")
def test_a_profiler_of_a_card_alone_shows_the_work_of_this_computer() -> None:
    with torch.profiler.profile(activities=[torch.profiler.ProfilerActivity.CUDA]) as profiler:
        _ = torch.ones(3, 3, device="cuda") @ torch.ones(3, 3, device="cuda")

    assert "aten::mm" in {event.key for event in profiler.key_averages()}


@pytest.mark.filterwarnings("ignore")
def test_what_was_compiled_is_forgotten() -> None:
    torch.compiler.reset()

    assert torch.cuda.is_available()


REFUSED: dict[str, tuple[Callable[[], Any], str]] = {
    "MemPool": (lambda: torch.cuda.MemPool(), "torch.cuda.MemPool is not available on simulated GPUs"),
    "graph_pool_handle": (
        lambda: torch.cuda.graph_pool_handle(),
        "graph_pool_handle is not available on simulated GPUs",
    ),
    "current_blas_handle": (
        lambda: torch.cuda.current_blas_handle(),
        r"torch\.cuda\.current_blas_handle is not available on simulated GPUs",
    ),
    "sync debug": (lambda: torch.cuda.set_sync_debug_mode(1), "set_sync_debug_mode is not available on simulated GPUs"),
    "temperature": (lambda: torch.cuda.temperature(), "torch.cuda.temperature reads a sensor of a real card"),
    "utilization": (lambda: torch.cuda.utilization(), "torch.cuda.utilization reads a sensor of a real card"),
    "cudart": (lambda: torch.cuda.cudart().cudaHostRegister(1, 2, 3), "cudaHostRegister is not available"),
}


@pytest.mark.parametrize("name", REFUSED)
def test_what_only_a_driver_has_raises_by_name(name: str) -> None:
    call, words = REFUSED[name]

    with pytest.raises(NotImplementedError, match=words):
        call()


def test_a_storage_is_resized_in_place_with_its_memory() -> None:
    x = torch.arange(1000.0, device="cuda")
    view, storage = x[5:8], x.untyped_storage()

    storage.resize_(0)
    assert (0, 0) == (storage.nbytes(), torch.cuda.memory_allocated())
    with pytest.raises(RuntimeError, match=r"shape \[1000\] was resized to 0 bytes; the tensor needs 4,000"):
        x.sum()

    storage.resize_(4000)
    x.fill_(3)
    assert ([3.0, 3.0, 3.0], 4096) == (view.tolist(), torch.cuda.memory_allocated())

    storage.resize_(8000)
    assert (3000.0, 8192) == (x.sum().item(), torch.cuda.memory_allocated())


def test_an_attribute_of_a_card_that_is_not_known_is_not_made_up() -> None:
    with pytest.raises(AttributeError, match="no property 'clock_rate'"):
        _ = torch.cuda.get_device_properties(0).clock_rate


def test_names_that_no_driver_has_are_missing_as_ever() -> None:
    with pytest.raises(AttributeError, match=r"module 'torch\._C' has no attribute 'nothing'"):
        _ = torch._C.nothing
    assert 108 == torch.cuda.get_device_properties(0).multi_processor_count


def names_of_release() -> set[str]:
    """Returns all driver functions that PyTorch's sources name, without their prefix."""
    folder = Path(torch.__file__).parent
    stubs = set(re.findall(r"\b_cuda_(\w+)", (folder / "_C" / "__init__.pyi").read_text(encoding="utf-8")))
    sources = [path.read_text(encoding="utf-8") for path in folder.glob("cuda/*.py")]
    sources += [(folder / "_dynamo" / "trace_rules.py").read_text(encoding="utf-8")]
    sources += [path.read_text(encoding="utf-8") for path in folder.glob("_inductor/cudagraph_*.py")]
    return stubs.union(*[re.findall(r"torch\._C\._cuda_(\w+)", source) for source in sources])


def test_every_driver_function_of_the_release_has_an_answer() -> None:
    from nbtf._frameworks.torch.simulation.driver_table import ANSWERS

    names = names_of_release()

    assert names
    assert set() == names - set(ANSWERS)


def test_driver_functions_answer_as_the_table_says() -> None:
    from nbtf._frameworks.torch.simulation.driver_table import ANSWERS

    for name, answer in ANSWERS.items():
        function = getattr(torch._C, f"_cuda_{name}")
        if answer.support == "no-op":
            assert answer.reason
            assert answer.returned == function()
        elif answer.support == "refused":
            with pytest.raises(NotImplementedError, match=re.escape(answer.reason)):
                function()
        else:
            assert f"_cuda_{name}" in torch._C.__dict__, name


def in_child(call: Callable[[], object]) -> str:
    """Returns the error of a call in a forked process."""
    reading, writing = os.pipe()
    child = os.fork()
    if child == 0:
        try:
            call()
            text = "no error"
        except BaseException as error:
            text = f"{type(error).__name__}: {error}"
        os.write(writing, text.encode())
        os._exit(0)
    os.close(writing)
    os.waitpid(child, 0)
    with os.fdopen(reading) as answer:
        return answer.read()


@pytest.mark.filterwarnings("ignore")
def test_a_forked_process_cannot_use_the_gpus_of_its_parent() -> None:
    x = torch.ones(3, device="cuda")
    calls: list[Callable[[], object]] = [
        lambda: torch.ones(2, device="cuda"),
        lambda: torch.zeros(2).cuda(),
        lambda: x + 1,
        lambda: x.cpu(),
        lambda: torch.cuda.synchronize(),
    ]

    errors = [in_child(call) for call in calls]

    assert ["RuntimeError: Cannot re-initialize CUDA in forked subprocess"] * len(calls) == [
        error.partition(".")[0] for error in errors
    ]
    assert "no error" == in_child(lambda: torch.manual_seed(3) and torch.rand(2) + 1)
    assert [2.0] * 3 == (x + 1).tolist()


class OnGPU(torch.utils.data.Dataset[Any]):
    def __len__(self) -> int:
        return 4

    def __getitem__(self, index: int) -> Any:
        return torch.ones(2, device="cuda") * index


@pytest.mark.filterwarnings("ignore")
def test_a_worker_of_a_data_loader_that_makes_a_gpu_tensor_raises() -> None:
    torch.ones(1, device="cuda")
    loader = torch.utils.data.DataLoader(OnGPU(), num_workers=1, batch_size=2, multiprocessing_context="fork")

    with pytest.raises(RuntimeError, match="Cannot re-initialize CUDA in forked subprocess"):
        list(loader)


@pytest.mark.filterwarnings("ignore")
def test_workers_of_a_data_loader_use_the_cpu_as_ever() -> None:
    torch.ones(1, device="cuda")
    dataset = torch.utils.data.TensorDataset(torch.arange(4.0))
    loader = torch.utils.data.DataLoader(dataset, num_workers=1, batch_size=2, multiprocessing_context="fork")

    assert [[0.0, 1.0], [2.0, 3.0]] == [batch.cuda().tolist() for (batch,) in loader]


@pytest.mark.parametrize("model", ["A100-40GB", "V100"])
def test_pytorch_reports_the_libraries_of_a_release_for_the_cards(model: str) -> None:
    versions = OLDER_CARDS if model == "V100" else release_of(torch).versions
    tf.runtime.restart()
    tf.runtime.simulate_gpus(0)
    of_build = torch.version.cuda, torch.backends.cudnn.version()
    tf.runtime.simulate_gpus(1, model=model, frameworks="torch")
    reported = torch.version.cuda, torch.backends.cudnn.version()
    torch.ones(1, device="cuda")  # PyTorch compares the cards with its architectures, and does not warn
    tf.runtime.restart()
    tf.runtime.simulate_gpus(0)

    assert versions == reported
    assert of_build == (torch.version.cuda, torch.backends.cudnn.version())


@pytest.mark.filterwarnings("ignore:Times between events")
def test_sleeping_takes_modelled_time() -> None:
    start, middle, end = [torch.cuda.Event(enable_timing=True) for _ in range(3)]

    start.record()
    torch.cuda._sleep(1_410_000)
    middle.record()
    torch.cuda._sleep(2_820_000)
    end.record()

    assert [1, 2] == [round(start.elapsed_time(middle), 2), round(middle.elapsed_time(end), 2)]


def test_functions_of_nccl_are_refused_by_name_and_copies_between_cards_work_without_it() -> None:
    nccl, refused = torch.cuda.nccl, set[str]()
    tensors = [torch.ones(2, device=f"cuda:{number}") for number in range(2)]
    for name in (*nccl.__all__, "unique_id", "init_rank"):
        with pytest.raises(NotImplementedError, match=rf"torch\.cuda\.nccl\.{name} calls NCCL"):
            getattr(nccl, name)(tensors)
        refused.add(name)

    assert set(nccl.__all__) < refused
    with pytest.warns(UserWarning, match="NCCL"):
        assert [2, 2] == torch.nn.parallel.comm.reduce_add(tensors).tolist()


def test_modelling_times_prints_no_warning_about_triton() -> None:
    lines = (
        "import torch, nbtf as tf; tf.runtime.simulate_gpus(1, frameworks='torch')",
        "torch.cuda.Event(enable_timing=True).record()",
        "x = torch.ones(2, 2, device='cuda'); x @ x",
    )
    ran = subprocess.run([sys.executable, "-c", "\n".join(lines)], capture_output=True, text=True, check=True)

    assert "triton" not in ran.stderr
