"""Stage 15: does a recording have the ops that PyTorch's profiler sees, on all threads, and is freed memory right?"""

from __future__ import annotations

import importlib
import re
import threading
import time
from collections import Counter
from collections.abc import Iterator
from typing import Any

import nbtf as tf
from tests.gpu.stages.record import Record
from tests.gpu.stages.torch_library import find_torch

FULL = "import torch\nheld = []\nwhile True: held.append(torch.empty(1 << 28, dtype=torch.uint8, device='cuda'))"
FREED = re.compile(r"\(([\d,]+) B\) of cuda:\d+ \(PyTorch\)")


def run(record: Record) -> None:
    """Runs the stage."""
    torch = find_torch(record)
    if torch is None:
        return
    has_card = torch.cuda.is_available()
    device = torch.device("cuda" if has_card else "cpu")
    _beside_the_profiler(record, torch, device)
    _cost(record, torch, device)
    if has_card:
        _freed(record, torch)
    else:
        record.note("PyTorch has no GPU here: threads of its backward passes and a full card were not tested.")


def _step(torch: Any, device: Any) -> list[float]:
    """Trains a small network for three steps; returns the losses."""
    torch.manual_seed(0)
    net = torch.nn.Sequential(torch.nn.Linear(64, 128), torch.nn.GELU(), torch.nn.Linear(128, 8)).to(device)
    optimizer = torch.optim.Adam(net.parameters())
    losses: list[float] = []
    for _ in range(3):
        x, y = torch.randn(32, 64).to(device), torch.randint(0, 8, (32,)).to(device)
        loss = torch.nn.functional.cross_entropy(net(x), y)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        losses.append(loss.item())
    return losses


def _beside_the_profiler(record: Record, torch: Any, device: Any) -> None:
    plain = _step(torch, device)
    leaves = Counter(_profiled(torch, device))
    constants = leaves["aten::detach"]  # `torch.tensor` makes one by an `empty` and a `detach_` that no mode receives
    leaves.subtract({"aten::empty": constants, "aten::detach": constants})
    with tf.runtime.recording() as recording, tf.runtime.watch("torch"):
        watched = _step(torch, device)
    ops = Counter(_without_place(op) for op, _ in recording.ops if not _is_view(torch, op))
    record.check("recording does not change the losses", plain == watched, (plain, watched))
    missing = leaves - ops
    share = 1 - missing.total() / max(1, leaves.total())
    record.figure("the profiler's ops that were recorded", 100 * share, "%")
    record.check("at least 99 % of the profiler's ops are recorded", share >= 0.99, dict(missing.most_common(8)))
    with tf.runtime.recording() as recording, tf.runtime.watch("torch"):
        thread = threading.Thread(target=_step, args=(torch, device))
        thread.start()
        thread.join()
    in_thread = Counter(_without_place(op) for op, _ in recording.ops if not _is_view(torch, op))
    record.check("threads are recorded alike", in_thread == ops, dict((ops - in_thread).most_common(8)))


def _profiled(torch: Any, device: Any) -> Iterator[str]:
    """Yields the topmost ops with a kernel that the profiler sees, except views."""
    options = torch._C._profiler._ExperimentalConfig(profile_all_threads=True, capture_overload_names=True)
    activities = [torch.profiler.ProfilerActivity.CPU]
    with torch.profiler.profile(activities=activities, experimental_config=options) as profile:
        _step(torch, device)
    pending = [event for event in profile.events() if event.cpu_parent is None]
    while pending:
        event = pending.pop()
        name = f"{event.name}.{event.overload_name}" if event.overload_name else event.name
        has_kernel = torch._C._dispatch_has_kernel_for_dispatch_key
        if not event.name.startswith("aten::") or has_kernel(name, "CompositeImplicitAutograd"):
            pending += event.cpu_children
        elif not _is_view(torch, event.name):
            yield _without_place(event.name)


def _is_view(torch: Any, op: str) -> bool:
    overloads = getattr(torch.ops.aten, op.removeprefix("aten::"))
    returns = getattr(overloads, overloads.overloads()[0])._schema.returns
    return bool(returns) and all(each.alias_info is not None and not each.alias_info.is_write for each in returns)


def _without_place(op: str) -> str:
    """Returns an op's name without its in-place suffix, which some ops lack while a mode is active."""
    return op.removesuffix("_")


def _cost(record: Record, torch: Any, device: Any) -> None:
    x, count = torch.ones(8, device=device), record.size(20_000, 5_000, 500)

    def seconds() -> float:
        started = time.process_time()
        for _ in range(count):
            torch.add(x, x)
        return time.process_time() - started

    plain = min(seconds() for _ in range(3))
    with tf.runtime.recording(), tf.runtime.watch("torch"):
        watched = min(seconds() for _ in range(3))
    record.figure("an op", 1e6 * plain / count, "µs")
    record.figure("overhead of a recorded op", 1e6 * watched / count, "µs")


def _freed(record: Record, torch: Any) -> None:
    """Fills the card from a cell, as a user does; compares the reported freed bytes with PyTorch's counts."""
    shells: Any = importlib.import_module("IPython.core.interactiveshell")
    capture: Any = importlib.import_module("IPython.utils.capture")
    shell = shells.InteractiveShell.instance()
    shell.run_cell("%load_ext nbtf")
    with capture.capture_output():
        error = shell.run_cell(f"def fill():\n    {FULL.replace(chr(10), chr(10) + '    ')}\nfill()").error_in_exec
    record.check("a full card raises PyTorch's error", isinstance(error, torch.OutOfMemoryError), error)
    del error
    before = torch.cuda.memory_allocated()
    with capture.capture_output() as said:
        shell.run_cell("%gpu_memory --forget-last-error")
    freed = before - torch.cuda.memory_allocated()
    match = FREED.search(said.stdout)
    told = int(match[1].replace(",", "")) if match else -1
    record.check("the tensors of the failed cell are freed", freed > 0.9 * before, (before, freed))
    record.check("the message reports the same number of bytes", told == freed, (told, freed, said.stdout[:200]))
