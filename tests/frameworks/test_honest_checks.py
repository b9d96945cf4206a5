"""Does no check of a cell pass that has not seen what PyTorch, CuPy or JAX did in it?"""

from __future__ import annotations

import importlib.util
import sys
import threading
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from types import ModuleType, SimpleNamespace
from typing import Any

import pytest

from nbtf import runtime
from nbtf._frameworks.cupy import CuPy
from nbtf._frameworks.unwatched import LIBRARIES, Library
from nbtf._frameworks.watching import FrameworkWatch
from tests import fake_cupy
from tests.frameworks.stub_jax import stub_jax
from tests.frameworks.stub_torch import modes, stub_torch
from tests.notebook.conftest import Shell
from tests.notebook.conftest import bare as bare
from tests.notebook.conftest import shell as shell

MIB = 1 << 20

WORK = {
    "torch": f"import torch; x = torch.ones({8 * MIB})",
    "cupy": f"import cupy; x = cupy.empty({8 * MIB}, 'u1')",
    "jax": f"import jax; x = jax.ones({8 * MIB})",
}
MIXED = "; ".join([*WORK.values(), "y = tf.add(1.0, 2.0)"])
CHECKS = {
    "at most": "%%gpu_memory --at-most 1KiB",
    "kept": "%%gpu_memory --kept 0",
    "no copies": "%%placement --no-copies",
    "expect": "%%placement --expect AddV2=GPU:0",
}


@pytest.fixture(autouse=True)
def libraries(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """All three libraries, each with a card: PyTorch's and JAX's are stubs."""
    monkeypatch.setitem(sys.modules, "torch", stub_torch(1))
    for name, module in stub_jax(on_gpu=True, started=False).items():
        monkeypatch.setitem(sys.modules, name, module)
    with fake_cupy.installed():
        yield
    fake_cupy.get_default_memory_pool().__init__()  # what a cell has left in it


def add(cell: str) -> str:
    """A cell that also runs an op of nbtf, so that a rule about it holds."""
    return f"{cell}; y = tf.add(1.0, 2.0)"


@pytest.mark.parametrize("check", CHECKS)
@pytest.mark.parametrize("library", [*WORK, "mixed"])
def test_cell_that_nobody_looked_at_fails(shell: Shell, library: str, check: str) -> None:
    shell.run("tf.add(1.0, 2.0)")  # what nbtf itself takes from a GPU at first is there

    ran = shell.run(CHECKS[check], MIXED if library == "mixed" else add(WORK[library]))

    assert isinstance(ran.error, runtime.ExpectationError)


@pytest.mark.parametrize("library", WORK)
@pytest.mark.parametrize(
    ("budget", "enough"),
    [("--at-most 9MiB", True), ("--kept 9MiB", True), ("--at-most 7MiB", False), ("--kept 7MiB", False)],
)
def test_budget_of_memory_that_can_be_asked_for_is_held_or_broken(
    shell: Shell, library: str, budget: str, enough: bool
) -> None:
    ran = shell.run(f"%%gpu_memory {budget}", WORK[library])

    assert enough == (ran.error is None)


@pytest.mark.parametrize("check", CHECKS)
@pytest.mark.parametrize("library", WORK)
def test_library_that_was_left_out_is_not_looked_at(shell: Shell, library: str, check: str) -> None:
    shell.run("tf.add(1.0, 2.0)")
    line = f"{CHECKS[check].replace('1KiB', '1MiB')} --without {library}"

    assert shell.run(line, f"{add(WORK[library])}; del y").error is None


@pytest.mark.parametrize("check", ["at most", "kept", "no copies"])
@pytest.mark.parametrize("library", WORK)
def test_cell_that_only_imports_passes(shell: Shell, library: str, check: str) -> None:
    assert shell.run(CHECKS[check], f"import {library}").error is None


def test_memory_of_one_card_counts_together(monkeypatch: pytest.MonkeyPatch) -> None:
    with runtime.recording() as record:
        exec(f"{WORK['torch']}; {WORK['jax']}")

    record.expect_memory(at_most="17MiB")
    with pytest.raises(runtime.ExpectationError) as caught:
        record.expect_memory(at_most="15MiB")

    assert "+ cuda:0 (PyTorch and JAX): peak 16 MiB (16,777,216 B)" in caught.value.lines


def test_peak_of_pytorch_is_that_of_the_block() -> None:
    torch: Any = sys.modules["torch"]
    torch.ones(64 * MIB)
    torch.free(64 * MIB)

    with runtime.recording() as record:
        torch.ones(8 * MIB)
        torch.free(8 * MIB)

    assert [("cuda:0", 0, 8 * MIB, 0)] == [tuple(use[i] for i in (0, 2, 3, 4)) for use in record.memory if use.library]
    record.expect_memory(at_most="8MiB", kept=0)


def test_peak_that_is_not_of_the_block_says_so() -> None:
    jax: Any = sys.modules["jax"]
    jax.ones(64 * MIB)
    jax.in_use = 0

    with runtime.recording() as record:
        jax.ones(8 * MIB)
    with pytest.raises(runtime.ExpectationError) as caught:
        record.expect_memory(at_most="16MiB")

    assert caught.value.lines[-1].endswith("(of the whole process: JAX reports no peak for a block)")


def test_cpu_builds_have_no_memory_to_ask_for(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "torch", stub_torch(0))
    for name, module in stub_jax(on_gpu=False, started=False).items():
        monkeypatch.setitem(sys.modules, name, module)

    with runtime.recording() as record:
        exec(f"{WORK['torch']}; {WORK['jax']}")
    with pytest.raises(runtime.ExpectationError) as caught:
        record.expect_memory(at_most="1GiB")

    assert (
        "- memory of everything that ran",
        "+ not checked: PyTorch ran 1 op, not recorded, on no GPU that reports its memory. "
        "Move that work out of the block, or check without torch.",
        "+ not checked: JAX may have run functions that were not recorded, on devices that report no memory. "
        "Move that work out of the block, or check without jax.",
    ) == caught.value.lines


def test_cell_without_bounds_says_what_it_has_not_seen(shell: Shell, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "torch", stub_torch(0))

    assert "PyTorch ran 1 op, not recorded" in shell.run("%%gpu_memory", WORK["torch"]).out
    assert "PyTorch ran 1 op, not recorded" in shell.run("%%placement --table", WORK["torch"]).out


def test_name_that_is_no_library_is_refused() -> None:
    with runtime.recording() as record:
        pass

    with pytest.raises(
        ValueError, match=r"^Unknown library 'numpy'\. Libraries to leave out: torch, tensorflow, cupy, jax\.$"
    ):
        record.expect("MatMul=CPU:0", without=["numpy"])


# Libraries that nbtf knows by name only


@pytest.mark.parametrize("library", LIBRARIES, ids=lambda library: library.module)
@pytest.mark.parametrize("check", CHECKS)
def test_library_that_cannot_be_watched_fails_every_check(
    shell: Shell, monkeypatch: pytest.MonkeyPatch, library: Library, check: str
) -> None:
    for name in [name for name in sys.modules if name.startswith(f"{library.module}.")]:
        monkeypatch.delitem(sys.modules, name)  # parts of the real library, which would report that it has not started
    monkeypatch.setitem(sys.modules, library.module, ModuleType(library.module))

    error = shell.run(CHECKS[check].replace("GPU:0", "CPU:0").replace("1KiB", "1GiB"), "y = tf.add(1.0, 2.0)").error

    assert isinstance(error, runtime.ExpectationError)
    assert f"{library.name} may have run ops that were not recorded" in str(error)


@pytest.mark.parametrize("library", LIBRARIES, ids=lambda library: library.module)
def test_library_that_cannot_be_watched_can_be_left_out(monkeypatch: pytest.MonkeyPatch, library: Library) -> None:
    monkeypatch.setitem(sys.modules, library.module, ModuleType(library.module))
    with runtime.recording() as record:
        pass

    record.expect(no_copies=True, without=[library.module])
    record.expect_memory(at_most="1GiB", without=[library.module])


@pytest.mark.parametrize("has_started", [False, True])
@pytest.mark.parametrize(
    ("imported", "reporting", "attribute"),
    [
        ("numba.cuda", "numba.cuda.cudadrv.driver", "is_initialized"),
        ("triton", "triton.runtime.driver", "_active"),  # comes with a PyTorch that was built with CUDA
    ],
    ids=["Numba", "Triton"],
)
def test_library_that_reports_its_start_is_believed(
    monkeypatch: pytest.MonkeyPatch, imported: str, reporting: str, attribute: str, has_started: bool
) -> None:
    module: Any = ModuleType(reporting)
    module.driver = SimpleNamespace(**{attribute: has_started or None})
    monkeypatch.setitem(sys.modules, imported, ModuleType(imported))
    monkeypatch.setitem(sys.modules, reporting, module)
    with runtime.recording() as record:
        pass

    assert has_started == bool(record.watch.unrecorded([]))


def test_library_imported_after_the_block_does_not_count(monkeypatch: pytest.MonkeyPatch) -> None:
    with runtime.recording() as record:
        pass
    monkeypatch.setitem(sys.modules, "mxnet", ModuleType("mxnet"))

    record.expect(no_copies=True)


# Threads


def test_what_threads_of_the_block_ran_is_counted_also_when_they_outlive_it(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "torch", stub_torch(0))
    torch: Any = sys.modules["torch"]
    for _ in range(2):
        with ThreadPoolExecutor(1) as pool:
            records: list[runtime.Recording] = []
            for _ in range(2):
                with runtime.recording() as record:
                    pool.submit(torch.ones, 8).result()
                records.append(record)

        for record in records:
            assert ["PyTorch ran 1 op, not recorded. Move that work out of the block, or check without torch."] == (
                record.watch.unrecorded(["cupy", "jax"])
            )
    assert threading.getprofile() is None


def test_memory_that_a_thread_of_the_block_frees_again_counts_for_its_peak() -> None:
    cupy: Any = importlib.import_module("cupy")

    def work() -> None:
        cupy.empty(8 * MIB, "u1")

    cupy.empty(1, "u1")
    with runtime.recording() as record:
        thread = threading.Thread(target=work)
        thread.start()
        thread.join()

    with pytest.raises(runtime.ExpectationError, match="peak 8 MiB"):
        record.expect_memory(at_most="7MiB")


def test_profiler_of_new_threads_goes_on(monkeypatch: pytest.MonkeyPatch) -> None:
    heard: list[str] = []
    threading.setprofile(lambda frame, event, argument: heard.append(event))
    try:
        with runtime.recording():
            thread = threading.Thread(target=sum, args=([],))
            thread.start()
            thread.join()
        assert "call" in heard
    finally:
        threading.setprofile(None)


def test_mode_that_the_user_left_open_stays_and_nothing_else(monkeypatch: pytest.MonkeyPatch) -> None:
    torch: Any = sys.modules["torch"]
    mode = torch.utils._python_dispatch.TorchDispatchMode()

    with runtime.recording():
        mode.__enter__()

    assert [mode] == modes()
    mode.__exit__(None, None, None)


@pytest.mark.parametrize("method", ["start", "memory"])
def test_watch_that_is_interrupted_leaves_nothing_behind(monkeypatch: pytest.MonkeyPatch, method: str) -> None:
    def interrupt(*_: object) -> None:
        raise KeyboardInterrupt

    monkeypatch.delitem(sys.modules, "jax")
    finders = list(sys.meta_path)
    monkeypatch.setattr(*((CuPy, "activity") if method == "start" else (FrameworkWatch, "memory")), interrupt)
    with pytest.raises(KeyboardInterrupt), runtime.recording():
        pass

    assert (finders, None, []) == (sys.meta_path, threading.getprofile(), modes())


# Libraries that are imported while a check waits


def test_library_imported_in_the_block_is_watched_from_then_on(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delitem(sys.modules, "torch")
    monkeypatch.syspath_prepend(tmp_path)
    (tmp_path / "torch.py").write_text(
        "from tests.frameworks.stub_torch import stub_torch\n"
        "globals().update({name: value for name, value in vars(stub_torch(1)).items() if name[:2] != '__'})\n"
    )
    finders = list(sys.meta_path)

    with runtime.recording() as record:
        torch: Any = importlib.import_module("torch")
        torch.ones(8 * MIB)

    assert finders == sys.meta_path
    assert str(tmp_path / "torch.py") == torch.__spec__.origin
    with pytest.raises(runtime.ExpectationError, match="PyTorch ran 1 op, not recorded"):
        record.expect(no_copies=True)


def test_library_imported_by_another_thread_has_not_been_heard_as_a_whole(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delitem(sys.modules, "torch")
    monkeypatch.syspath_prepend(tmp_path)
    (tmp_path / "torch.py").write_text(
        "from tests.frameworks.stub_torch import stub_torch\n"
        "globals().update({name: value for name, value in vars(stub_torch(1)).items() if name[:2] != '__'})\n"
    )

    with runtime.recording() as record:
        thread = threading.Thread(target=importlib.import_module, args=["torch"])
        thread.start()
        thread.join()

    with pytest.raises(runtime.ExpectationError, match="PyTorch may have run ops"):
        record.expect(no_copies=True)


def test_import_that_fails_fails_as_it_does_without(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delitem(sys.modules, "torch")
    monkeypatch.syspath_prepend(tmp_path)
    (tmp_path / "torch.py").write_text("1 / 0\n")

    with runtime.recording() as record, pytest.raises(ZeroDivisionError):
        importlib.import_module("torch")

    record.expect(no_copies=True, without=["cupy", "jax"])


# The libraries themselves, where they are installed


TORCH = "import torch; x = torch.ones(1000, 1000)"
IN_A_THREAD = "import asyncio, torch; x = await asyncio.to_thread(torch.ones, 1000, 1000)"
JAX = "import jax.numpy as jnp; x = jnp.ones((1000, 1000))"


@pytest.fixture
def real(shell: Shell, monkeypatch: pytest.MonkeyPatch) -> Shell:
    """A shell without stubs."""
    monkeypatch.undo()
    shell.run("tf.add(1.0, 2.0)")
    return shell


def need(library: str) -> None:
    if importlib.util.find_spec(library) is None:
        pytest.skip(f"needs {library}; one step of .ci/run has it")


@pytest.mark.parametrize("work", [TORCH, IN_A_THREAD], ids=["here", "in a thread"])
def test_placement_of_what_pytorch_runs_is_checked(real: Shell, work: str) -> None:
    need("torch")

    assert real.run("%%placement --expect aten::ones=CPU:0 --no-copies", work).error is None
    wrong = real.run("%%placement --expect aten::ones=cuda:0", work).error
    assert isinstance(wrong, runtime.ExpectationError)
    assert wrong.lines[1].startswith("+ aten::ones on CPU:0: ")


def test_thread_of_before_fails_the_check_where_nobody_hears_it(real: Shell) -> None:
    need("torch")
    work = "work = asyncio.to_thread(torch.ones, 8)"

    with runtime.recording() as record:
        real.run("import asyncio, torch", work, "x = await work")

    with pytest.raises(runtime.ExpectationError, match="PyTorch ran 1 op, not recorded"):
        record.expect(no_copies=True)


@pytest.mark.parametrize(
    ("library", "work", "check"),
    [
        *[("torch", work, check) for work in (TORCH, IN_A_THREAD) for check in ("at most", "kept")],
        *[("jax", JAX, check) for check in CHECKS],
    ],
)
def test_real_library_is_not_passed_over(real: Shell, library: str, work: str, check: str) -> None:
    need(library)
    line = f"{CHECKS[check].replace('1KiB', '1MiB')} --without {library}"

    assert isinstance(real.run(CHECKS[check], add(work)).error, runtime.ExpectationError)
    assert real.run(line, "y = None", f"{add(work)}; del y").error is None


UNHEARD = {
    "torch": "PyTorch ran 1 op, not recorded",
    "cupy": "CuPy may have run kernels that were not recorded.",
    "jax": "JAX may have run functions that were not recorded.",
}


@pytest.mark.parametrize("library", UNHEARD)
def test_recording_that_heard_nothing_says_who_worked(library: str, tmp_path: Path) -> None:
    with runtime.recording() as record:
        exec(WORK[library], {})

    assert repr(record).startswith(f"Recording: 0 ops, 0 copies. {UNHEARD[library]}")
    with pytest.raises(ValueError, match=UNHEARD[library]):
        record.to_html(tmp_path / "page.html")


def test_recording_that_heard_nothing_says_how_ops_are_recorded(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("nbtf._frameworks.torch.activity.can_note", lambda _: True)
    with runtime.recording() as record:
        exec(WORK["torch"], {})

    assert repr(record).endswith('In a program tf.runtime.watch("torch") records its ops.')


def test_recording_while_nobody_worked_says_no_more() -> None:
    with runtime.recording() as record:
        pass

    assert "Recording: 0 ops, 0 copies" == repr(record)
