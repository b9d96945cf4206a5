"""Tests programs of several processes, each on a simulated GPU: they compute what one process computes."""

from __future__ import annotations

import re
from collections.abc import Iterator
from importlib import import_module
from pathlib import Path
from typing import Any

import pytest

import nbtf as tf
from tests.hooked_environment import REPOSITORY, create_environment, run
from tests.rings import with_nightly

torch: Any = pytest.importorskip("torch", reason="needs PyTorch; one step of .ci/run has it")
dist: Any = torch.distributed

PROGRAMS = Path(__file__).parent / "distributed"
PAGE = REPOSITORY / ".github" / "docs" / "start" / "pytorch.md"
SHORT = ["tutorial", "unused_parameters", "synchronized_norms", "gpt_with_accumulated_gradients", "shards_of_the_model"]


@pytest.fixture(scope="module")
def environment(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return create_environment(tmp_path_factory.mktemp("environment"))


def torchrun(environment: Path, *arguments: str | Path, processes: int = 2) -> str:
    """Starts a program as `torchrun` does, and returns what it prints."""
    options = ["--standalone", "--nproc-per-node", str(processes)]
    machine = {"NBTF_SIMULATE": "torch", "NBTF_SIMULATED_GPUS": f"{processes}xA100-40GB", "OMP_NUM_THREADS": "1"}
    process = run(environment, "-m", "torch.distributed.run", *options, *arguments, **machine)
    assert 0 == process.returncode, process.stdout + process.stderr
    return without_gloo(process.stdout)


def without_gloo(printed: str) -> str:
    """Returns what a program has printed without the lines of gloo, which some releases print."""
    return "".join([line for line in printed.splitlines(keepends=True) if not line.startswith("[Gloo]")])


@pytest.mark.filterwarnings("ignore:`torch.jit:DeprecationWarning")  # FSDP's import uses it
@pytest.mark.parametrize("cases", [SHORT, pytest.param([], marks=pytest.mark.nightly)], ids=["short", "all"])
def test_parallel_training_has_the_losses_of_one_process(environment: Path, cases: list[str]) -> None:
    printed = torchrun(environment, PROGRAMS / "training.py", *cases)

    differences = re.findall(r"^(\w+): \d+ losses, difference (\S+)$", printed, re.MULTILINE)
    assert [*(cases or import_module("tests.frameworks.distributed.training").CASES)] == [
        name for name, _ in differences
    ]
    assert all(float(difference) <= 1e-6 for _, difference in differences), printed


@pytest.mark.parametrize("launcher", with_nightly(["torchrun"], ["Trainer"]))
def test_lightning_on_two_processes_has_the_losses_of_one(environment: Path, launcher: str) -> None:
    pytest.importorskip("lightning", reason="needs Lightning")
    program = PROGRAMS / "lightning_training.py"

    if launcher == "torchrun":
        printed = torchrun(environment, program)
    else:
        process = run(environment, program, OMP_NUM_THREADS="1")
        printed = process.stdout + process.stderr

    found = re.search(r"^lightning: 8 losses, difference (\S+)$", printed, re.MULTILINE)
    assert found is not None, printed
    assert float(found[1]) <= 1e-6


@pytest.mark.parametrize(
    ("backend", "seeds", "processes"),
    [
        ("cpu:gloo,cuda:nccl", 3, 2),
        pytest.param("gloo", 30, 2, marks=pytest.mark.nightly),
        pytest.param("nccl", 30, 4, marks=pytest.mark.nightly),
    ],
)
def test_each_operation_has_the_results_of_the_cpu(environment: Path, backend: str, seeds: int, processes: int) -> None:
    printed = torchrun(environment, PROGRAMS / "collectives.py", backend, str(seeds), processes=processes)

    assert re.search(rf"^{backend}: \d+ calls agree$", printed, re.MULTILINE)


def test_the_program_of_the_documentation_prints_what_the_page_shows(environment: Path, tmp_path: Path) -> None:
    text = PAGE.read_text(encoding="utf-8")
    found = re.search(r"```\{code-block\} python\n# train\.py\n(.*?)```.*?```text\n(.*?)```", text, re.DOTALL)
    assert found is not None
    (tmp_path / "train.py").write_text(found[1], encoding="utf-8")

    assert sorted(found[2].splitlines()) == sorted(torchrun(environment, tmp_path / "train.py").splitlines())


LOST = """
import os
import re
import signal
import sys
import time

import torch
import torch.distributed as dist
import torch.multiprocessing as mp
from torch.nn.parallel import DistributedDataParallel


def work(rank, folder):
    torch.cuda.set_device(rank)
    dist.init_process_group("nccl", init_method=f"file://{folder}/group", rank=rank, world_size=2)
    model = DistributedDataParallel(torch.nn.Linear(4, 4).cuda(), device_ids=[rank])
    x = torch.ones(2, 4, device="cuda")
    model(x).sum().backward()
    loss = model(x).sum()
    if rank == 1:
        os.kill(os.getpid(), signal.SIGKILL)
    start = time.monotonic()
    for call in (loss.backward, lambda: dist.all_reduce(x), lambda: dist.recv(x, 1)):
        try:
            call()
        except RuntimeError as error:
            print(re.search(r"\\w+ failed: the process of rank \\d has ended", str(error))[0], flush=True)
    print(time.monotonic() - start < 10, flush=True)


if __name__ == "__main__":
    context = mp.get_context("spawn")
    processes = [context.Process(target=work, args=(rank, sys.argv[1])) for rank in range(2)]
    for process in processes:
        process.start()
    for process in processes:
        process.join()
    print([process.exitcode for process in processes])
"""


def test_the_error_of_the_other_processes_names_the_lost_one(environment: Path, tmp_path: Path) -> None:
    program = tmp_path / "lost.py"
    program.write_text(LOST)

    process = run(environment, "-m", "nbtf", "run", "--gpus", "2", program, tmp_path, OMP_NUM_THREADS="1")

    texts = [f"{name} failed: the process of rank 1 has ended" for name in ("allreduce", "allreduce", "recv")]
    expected = [*texts, "True", "[0, -9]"]
    assert expected == without_gloo(process.stdout).splitlines(), process.stderr


@pytest.fixture
def group(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> Iterator[None]:
    """A group of this process alone, on the second of two cards."""
    tf.runtime.simulate_gpus(2, model="A100-40GB", frameworks="torch")
    dist.init_process_group("gloo", init_method=f"file://{tmp_path}/group", rank=0, world_size=1)
    yield
    dist.destroy_process_group()
    tf.runtime.restart()
    tf.runtime.simulate_gpus(0)


@pytest.mark.filterwarnings("ignore:Times between events")
@pytest.mark.usefixtures("group")
def test_both_copies_through_the_host_are_recorded_and_have_modelled_times() -> None:
    x = torch.ones(1000, device="cuda:1")
    begin, end = (torch.cuda.Event(enable_timing=True) for _ in range(2))

    with torch.cuda.device(1), tf.runtime.recording() as record, tf.runtime.watch("torch"):
        begin.record()
        dist.all_reduce(x)
        end.record()

    copies = [
        (event.source, event.target, event.nbytes) for event in record.events if isinstance(event, tf.runtime.Copied)
    ]
    assert [("GPU:1", "CPU:0", 4000), ("CPU:0", "GPU:1", 4000)] == [
        (source[-5:], target[-5:], nbytes) for source, target, nbytes in copies
    ]
    assert begin.elapsed_time(end) > 0


@pytest.mark.usefixtures("group")
def test_the_name_nccl_is_answered_with_one_warning() -> None:
    assert dist.is_nccl_available()
    with pytest.warns(RuntimeWarning, match="gloo sends the tensors of simulated GPUs, copied through"):
        first = dist.new_group([0], backend="nccl")

    dist.new_group([0], backend="nccl")

    assert "nccl" == dist.get_backend(first)
    with pytest.raises(RuntimeError, match="No backend type associated with device type cpu"):
        dist.all_reduce(torch.ones(2), group=first)


@pytest.mark.usefixtures("group")
def test_what_gloo_cannot_send_is_refused_by_name() -> None:
    x = torch.eye(3, device="cuda")

    with pytest.raises(NotImplementedError, match=r"only dense tensors.*Send tensor\.to_dense"):
        dist.all_reduce(x.to_sparse())
    with pytest.raises(RuntimeError, match="got tensors on cuda:0 and the CPU"):
        dist.all_gather([torch.empty(3, 3)], x)
    with pytest.raises(RuntimeError, match=r"Cannot use ReduceOp\.PREMUL_SUM with Gloo"):
        dist.all_reduce(x, op=torch._C._distributed_c10d._make_nccl_premul_sum(2.0))


def test_cards_without_values_refuse_groups(tmp_path: Path) -> None:
    from nbtf._devices.discovery import gpus, simulated_machine
    from nbtf._frameworks.torch.simulation.switch import SWITCH

    SWITCH.on(gpus(simulated_machine(1, "T4"), {}), values=False)
    dist.init_process_group("gloo", init_method=f"file://{tmp_path}/group", rank=0, world_size=1)
    try:
        with pytest.raises(NotImplementedError, match="Process groups need values"):
            dist.all_reduce(torch.ones(2, device="cuda"))
    finally:
        dist.destroy_process_group()
        SWITCH.off()
