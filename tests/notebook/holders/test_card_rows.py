"""Does `%gpu_memory --who` list what is on a real card for people whose code is not nbtf's?"""

from __future__ import annotations

import os
import sys
from contextlib import nullcontext
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from nbtf import runtime
from nbtf._frameworks import cupy as cupy_framework
from nbtf._frameworks.torch import library as torch_framework
from nbtf.notebook.holders import card_rows
from nbtf.runtime import ProcessOwner
from tests.fake_nvml import GIB, MIB, FakeCard
from tests.notebook.conftest import ENOUGH, Shell
from tests.notebook.real_cards import gpu, one_busy_card, use_cards


class Storage:
    def __init__(self, address: int, nbytes: int) -> None:
        self.data_ptr, self.nbytes = lambda: address, lambda: nbytes


class Tensor:
    """A tensor as PyTorch has them, on card 0."""

    def __init__(self, address: int, nbytes: int, shape: tuple[int, ...] = (2, 3), index: int = 0) -> None:
        self.device = SimpleNamespace(type="cuda", index=index)
        self.shape, self.dtype, self.is_leaf, self.grad = shape, "torch.float32", True, None
        self._address, self._nbytes = address, nbytes

    def untyped_storage(self) -> Storage:
        return Storage(self._address, self._nbytes)


def torch(reserved: int, allocated: int, uuid: str = "") -> SimpleNamespace:
    """The module, which has begun to use card 0."""
    cuda = SimpleNamespace(
        is_initialized=lambda: True,
        memory_reserved=lambda ordinal: 0 if ordinal else reserved,
        memory_allocated=lambda ordinal: 0 if ordinal else allocated,
        device_count=lambda: 1,
        get_device_properties=lambda number: SimpleNamespace(uuid=uuid.removeprefix("GPU-")),
    )
    return SimpleNamespace(Tensor=Tensor, _C=SimpleNamespace(), cuda=cuda)


def rows(table: Any) -> dict[str, tuple[str, int]]:
    """Device and bytes of each row, by its holder."""
    return {row["holder"]: (row["device"], row["nbytes"]) for row in table.rows}


@pytest.fixture(autouse=True)
def no_libraries(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("torch", "cupy"):
        monkeypatch.setitem(sys.modules, name, None)
    monkeypatch.setattr(
        "nbtf.notebook.holders.table.SECONDS", ENOUGH
    )  # a busy computer searches for longer than people wait
    known = {
        700_001: ProcessOwner(700_001, "bob"),
        700_002: ProcessOwner(700_002, "ada", True, "python", "a.ipynb", True, 750.0),
    }
    monkeypatch.setattr(runtime, "process_owner", known.__getitem__)


# Processes


def test_card_without_any_tensor_lists_its_processes(shell: Shell, monkeypatch: pytest.MonkeyPatch) -> None:
    one_busy_card(shell, monkeypatch)
    monkeypatch.setattr(runtime, "memory_pieces", lambda name: [])

    table = shell.run("%gpu_memory --who").result

    assert {
        "nbtf: kept in its pool for later tensors": ("card 5", 768 * MIB),
        "this process: CUDA's context, and libraries without a pool": ("card 5", 376 * MIB),
        "process 700001 of bob": ("card 5", 500 * MIB),
        "your kernel of a.ipynb (process 700002), idle for 12 min": ("card 5", 100 * MIB),
    } == rows(table)
    assert card_rows.SHUT_DOWN == table.notes[-1]
    assert "cuda:0 = GPU:0 here = card 5 (0000:85:00.0)" in table.notes
    assert any("nvidia-smi shows 2,010 of 24,576 MiB = " in note for note in table.notes)


def test_rows_have_the_facts_of_processes(shell: Shell, monkeypatch: pytest.MonkeyPatch) -> None:
    one_busy_card(shell, monkeypatch)
    monkeypatch.setattr(runtime, "memory_pieces", lambda name: [])

    [row] = [row for row in shell.run("%gpu_memory --who").result.rows if row.get("kernel")]

    assert (700_002, "ada", "a.ipynb", 750.0) == tuple(row[name] for name in ("pid", "user", "notebook", "idle"))


def test_without_cupy_the_driver_alone_tells_of_processes(shell: Shell, monkeypatch: pytest.MonkeyPatch) -> None:
    cards = FakeCard(0, used=0), FakeCard(1, used=600 * MIB, processes=[(700_001, 500 * MIB)])
    use_cards(shell, monkeypatch, [], *cards)

    table = shell.run("%gpu_memory --who").result

    assert {"process 700001 of bob": ("card 1", 500 * MIB)} == rows(table)
    assert [
        "card 0 (0000:80:00.0): nvidia-smi shows 0 of 24,576 MiB = nothing.",
        "card 1 (0000:81:00.0): nvidia-smi shows 600 of 24,576 MiB = 500 MiB 1 other process + "
        "100 MiB not assigned to any process.",
    ] == table.notes


def test_computer_without_a_card_says_what_it_said(shell: Shell, monkeypatch: pytest.MonkeyPatch) -> None:
    use_cards(shell, monkeypatch, [])

    table = shell.run("%gpu_memory --who").result

    assert ["No GPU is available. Memory is tracked only for GPUs."] == table.notes


# Other libraries


def test_tensors_of_pytorch_are_found_by_name(shell: Shell, monkeypatch: pytest.MonkeyPatch) -> None:
    card = FakeCard(0, used=2 * GIB, processes=[(os.getpid(), 2 * GIB)])
    use_cards(shell, monkeypatch, [gpu(0, card)], card)
    monkeypatch.setitem(sys.modules, "torch", torch(1000 * MIB, 700 * MIB))
    shell.ip.user_ns |= {
        "x": Tensor(1 << 40, 400 * MIB),
        "model": SimpleNamespace(_modules={"0": SimpleNamespace(_parameters={"weight": Tensor(2 << 40, 200 * MIB)})}),
        "elsewhere": Tensor(3 << 40, 7, index=1),
    }

    table = shell.run("%gpu_memory --who").result

    assert {
        "x": ("cuda:0", 400 * MIB),
        "model[0].weight": ("cuda:0", 200 * MIB),
        "PyTorch: arrays without a name": ("cuda:0", 100 * MIB),
        "PyTorch: kept for later arrays": ("cuda:0", 300 * MIB),
        "this process: CUDA's context, and libraries without a pool": ("card 0", 1048 * MIB),
    } == rows(table)
    assert {"x": "[2, 3] float32 (PyTorch)"}.items() <= {row["holder"]: row.get("tensor") for row in table.rows}.items()
    frees = {row["holder"]: row["frees"] for row in table.rows}
    assert ["torch.cuda.empty_cache()"] == frees["PyTorch: kept for later arrays"]


def test_tensors_that_there_was_no_time_to_look_for_are_not_those_without_a_name(
    shell: Shell, monkeypatch: pytest.MonkeyPatch
) -> None:
    card = FakeCard(0)
    use_cards(shell, monkeypatch, [gpu(0, card)], card)
    monkeypatch.setitem(sys.modules, "torch", torch(MIB, MIB))
    monkeypatch.setattr("nbtf.notebook.holders.table.SECONDS", 0.0)
    shell.ip.user_ns |= {"lists": [[] for _ in range(1000)], "x": [[[[Tensor(1 << 40, MIB)]]]]}

    table = shell.run("%gpu_memory --who").result

    assert ("cuda:0", MIB) == rows(table)["PyTorch: arrays not found in time"]
    assert any(note.startswith("The search stopped after 0 s") for note in table.notes)


def test_views_of_one_storage_are_one_row(shell: Shell, monkeypatch: pytest.MonkeyPatch) -> None:
    card = FakeCard(0)
    use_cards(shell, monkeypatch, [gpu(0, card)], card)
    monkeypatch.setitem(sys.modules, "torch", torch(MIB, MIB))
    shell.ip.user_ns |= {"x": Tensor(1 << 40, MIB), "row": Tensor(1 << 40, MIB, (3,))}

    assert {"x, row": ("cuda:0", MIB)}.items() <= rows(shell.run("%gpu_memory --who").result).items()


def test_many_tensors_of_one_list_are_one_row(shell: Shell, monkeypatch: pytest.MonkeyPatch) -> None:
    card = FakeCard(0)
    use_cards(shell, monkeypatch, [gpu(0, card)], card)
    monkeypatch.setitem(sys.modules, "torch", torch(0, 0))
    shell.ip.user_ns["batches"] = [Tensor((n + 1) << 30, MIB) for n in range(12)]

    [(holder, told)] = [one for one in rows(shell.run("%gpu_memory --who").result).items() if "batches" in one[0]]

    assert (("cuda:0", 12 * MIB), True) == (told, holder == "batches (12 tensors)")


def test_gradient_of_a_tensor_is_told_with_it(shell: Shell, monkeypatch: pytest.MonkeyPatch) -> None:
    card = FakeCard(0)
    use_cards(shell, monkeypatch, [gpu(0, card)], card)
    monkeypatch.setitem(sys.modules, "torch", torch(0, 0))

    class Hidden(Tensor):
        __slots__ = ()
        grad = property(lambda self: Tensor(5 << 40, MIB))  # type: ignore[assignment]  # made anew, as PyTorch does
        is_leaf = True  # type: ignore[assignment]

        def __init__(self) -> None:
            self.device, self.shape, self.dtype = SimpleNamespace(type="cuda", index=0), (2, 3), "torch.float32"
            self._address, self._nbytes = 1 << 40, MIB

    shell.ip.user_ns["w"] = Hidden()

    assert {"w": ("cuda:0", MIB), "w.grad": ("cuda:0", MIB)}.items() <= rows(
        shell.run("%gpu_memory --who").result
    ).items()


def test_library_that_is_not_imported_is_not_looked_for(shell: Shell, monkeypatch: pytest.MonkeyPatch) -> None:
    card = FakeCard(0)
    use_cards(shell, monkeypatch, [gpu(0, card)], card)
    for name in ("torch", "cupy"):
        monkeypatch.delitem(sys.modules, name)

    shell.run("%gpu_memory --who")

    assert not {"torch", "cupy"} & set(sys.modules)


def test_pytorch_alone_is_matched_to_its_card(shell: Shell, monkeypatch: pytest.MonkeyPatch) -> None:
    card = FakeCard(1, used=GIB, processes=[(os.getpid(), GIB)])
    use_cards(shell, monkeypatch, [], FakeCard(0, used=0), card)
    monkeypatch.setitem(sys.modules, "torch", torch(600 * MIB, 400 * MIB, card.uuid))
    shell.ip.user_ns["x"] = Tensor(1 << 40, 400 * MIB)

    assert {
        "x": ("cuda:0", 400 * MIB),
        "PyTorch: kept for later arrays": ("cuda:0", 200 * MIB),
        "this process: CUDA's context, and libraries without a pool": ("card 1", 424 * MIB),
    } == rows(shell.run("%gpu_memory --who").result)


def test_arrays_of_cupy_are_found_by_name_and_nbtfs_own_are_not_told_twice(
    shell: Shell, monkeypatch: pytest.MonkeyPatch
) -> None:
    class Array:
        def __init__(self, address: int) -> None:
            mem = SimpleNamespace(ptr=address, size=512)
            self.data, self.shape, self.dtype = SimpleNamespace(device_id=0, mem=mem), (64,), "float64"

    pool = SimpleNamespace(total_bytes=lambda: 1024, used_bytes=lambda: 512)
    cupy = SimpleNamespace(
        ndarray=Array,
        cuda=SimpleNamespace(Device=lambda number: nullcontext(), runtime=SimpleNamespace(getDeviceCount=lambda: 1)),
        get_default_memory_pool=lambda: pool,
    )
    card = FakeCard(0)
    use_cards(shell, monkeypatch, [gpu(0, card)], card)
    monkeypatch.setattr(runtime, "memory_pieces", lambda name: [(SimpleNamespace(offset=1 << 40, nbytes=512), None)])
    monkeypatch.setitem(sys.modules, "cupy", cupy)
    monkeypatch.setattr(cupy_framework, "context_state", lambda ordinal: True)
    shell.ip.user_ns |= {"a": Array(2 << 40), "view_of_tensor": Array((1 << 40) + 256)}

    told = rows(shell.run("%gpu_memory --who").result)

    assert {"a": ("cuda:0", 512), "CuPy: kept for later arrays": ("cuda:0", 512)}.items() <= told.items()
    assert "view_of_tensor" not in told


# The real package, where it is


def test_pytorch_itself_is_read_and_runs_no_code_of_its_users(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.undo()
    real: Any = pytest.importorskip("torch")
    monkeypatch.setattr(torch_framework, "DEVICE_TYPES", ("cpu",))

    class Loud(real.Tensor):
        @classmethod
        def __torch_function__(cls, *arguments: Any, **named: Any) -> Any:
            raise AssertionError("code of a user ran")

    told: Any = torch_framework.PyTorch(real).arrays()
    x = real.ones(2, 3)
    loud = x.as_subclass(Loud)
    held = [told.holding(one) for one in (x, x[1], loud, real.ones(2, device="meta"))]

    assert held[0] is not None
    assert (held[0], held[0], None, 24) == (held[1], held[2], held[3], held[0].nbytes)
    assert ("[2, 3] float32", None) == (told.describe(loud), told.gradient(loud))
