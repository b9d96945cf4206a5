"""Do other libraries use the device of a cell while it runs, and theirs afterwards?"""

from __future__ import annotations

import sys
from types import SimpleNamespace
from typing import Any

import pytest

from tests.fake_nvml import FakeCard
from tests.notebook.conftest import Shell
from tests.notebook.real_cards import gpu, use_cards


class Library:
    """A library with a current device, as CuPy and PyTorch have one."""

    def __init__(self, available: bool = True) -> None:
        self.current, self.fails = 0, False
        self.cuda = SimpleNamespace(Device=self._device, device=self._device, is_available=lambda: available)

    def _device(self, ordinal: int) -> Any:
        library = self

        class Device:
            def __enter__(self) -> None:
                if library.fails:
                    raise RuntimeError("CUDA is tired")
                self.before, library.current = library.current, ordinal

            def __exit__(self, *_: object) -> None:
                library.current = self.before

        return Device()


@pytest.fixture
def libraries(shell: Shell, monkeypatch: pytest.MonkeyPatch) -> dict[str, Library]:
    """CuPy and PyTorch as a notebook has imported them, and two real cards; ops are not run."""
    cards = [FakeCard(0), FakeCard(1)]
    use_cards(shell, monkeypatch, [gpu(number, card) for number, card in enumerate(cards)], *cards)
    found = {"cupy": Library(), "torch": Library()}
    for name, library in found.items():
        monkeypatch.setitem(sys.modules, name, library)  # type: ignore[arg-type]  # it stands for a module
    shell.ip.user_ns["current"] = lambda: {name: library.current for name, library in found.items()}
    return found


@pytest.mark.parametrize("line", ["current()", "import asyncio; await asyncio.sleep(0); current()"])
def test_libraries_use_the_device_of_the_cell_and_theirs_afterwards(
    shell: Shell, libraries: dict[str, Library], line: str
) -> None:
    assert {"cupy": 1, "torch": 1} == shell.run("%%device GPU:1 --also cupy,torch", line).result
    assert {"cupy": 0, "torch": 0} == shell.run("current()").result


@pytest.mark.parametrize("failing", ["1/0", "raise KeyboardInterrupt", "syntax error", "await 1"])
def test_libraries_get_their_device_back_after_a_failure(
    shell: Shell, libraries: dict[str, Library], failing: str
) -> None:
    shell.run("%%device cuda:1 --also torch,cupy", failing)

    assert {"cupy": 0, "torch": 0} == shell.run("current()").result


def test_libraries_that_are_not_named_keep_their_device(shell: Shell, libraries: dict[str, Library]) -> None:
    assert {"cupy": 1, "torch": 0} == shell.run("%%device GPU:1 --also cupy", "current()").result
    assert {"cupy": 0, "torch": 0} == shell.run("%%device GPU:1", "current()").result


def test_second_gpu_of_a_card_is_that_card_to_others(
    shell: Shell, libraries: dict[str, Library], monkeypatch: pytest.MonkeyPatch
) -> None:
    card = FakeCard(0)
    use_cards(shell, monkeypatch, [gpu(number, card, cuda=7) for number in (0, 1)], card)

    assert {"cupy": 7, "torch": 0} == shell.run("%%device GPU:1 --also cupy", "current()").result


@pytest.mark.parametrize(
    ("line", "said"),
    [
        (
            "GPU:1 --also numpy",
            "cannot set the device of 'numpy'. Try --also cupy, torch, jax, tensorflow, or several: cupy,torch.",
        ),
        ("auto --also torch", "--also needs a GPU, for example %%device GPU:1 --also cupy,torch; auto is not a GPU."),
        ("CPU:0 --also torch", "--also needs a real GPU; other libraries cannot use CPU:0."),
    ],
)
def test_what_cannot_be_is_said_in_one_line(shell: Shell, libraries: dict[str, Library], line: str, said: str) -> None:
    ran = shell.run(f"%%device {line}", "ran = True")

    assert (f"%%device: {said}", False) == (str(ran.error), "ran" in shell.ip.user_ns)


def test_simulated_gpu_is_no_device_of_others(shell: Shell, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "torch", Library())  # type: ignore[arg-type]  # it stands for a module

    error = shell.run("%%device GPU:1 --also torch", "1").error

    assert "%%device: --also needs a real GPU; other libraries cannot use GPU:1 (simulated)." == str(error)


def test_library_that_is_not_imported_is_not_imported_for_it(
    shell: Shell, libraries: dict[str, Library], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delitem(sys.modules, "torch")
    monkeypatch.setattr("nbtf.notebook.magics.library_devices.find_spec", lambda name: name)

    error = shell.run("%%device GPU:1 --also torch", "1").error

    assert "%%device: --also torch: not imported. Run `import torch` in a cell above." == str(error)
    assert "torch" not in sys.modules


def test_library_that_is_not_installed_says_what_installs_it(
    shell: Shell, libraries: dict[str, Library], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(sys.modules, "torch", None)

    error = shell.run("%%device GPU:1 --also torch", "1").error

    assert "%%device: --also torch: not installed. Install with: pip install torch" == str(error)


def test_library_that_refuses_leaves_the_others_as_they_were(shell: Shell, libraries: dict[str, Library]) -> None:
    libraries["torch"].fails = True

    error = shell.run("%%device GPU:1 --also cupy,torch", "ran = True").error

    assert "%%device: --also torch: CUDA is tired" == str(error)
    assert ({"cupy": 0, "torch": 0}, False) == (shell.run("current()").result, "ran" in shell.ip.user_ns)


def test_torch_without_cuda_says_so(
    shell: Shell, libraries: dict[str, Library], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(sys.modules, "torch", Library(available=False))  # type: ignore[arg-type]  # it stands for one

    error = shell.run("%%device GPU:1 --also torch", "1").error

    assert "--also torch: this PyTorch has no GPU: it was built without CUDA, or finds no driver" in str(error)


def test_tensorflow_opens_its_own_device_scope(
    shell: Shell, libraries: dict[str, Library], monkeypatch: pytest.MonkeyPatch
) -> None:
    library, cards = Library(), [SimpleNamespace(name=f"/device:GPU:{number}") for number in (0, 1)]
    tensorflow = SimpleNamespace(
        config=SimpleNamespace(list_logical_devices=lambda kind: cards if kind == "GPU" else []),
        device=lambda name: library._device(name),
    )
    monkeypatch.setitem(sys.modules, "tensorflow", tensorflow)  # type: ignore[arg-type]  # it stands for a module
    shell.ip.user_ns["scope"] = lambda: library.current

    assert "/device:GPU:1" == shell.run("%%device GPU:1 --also tensorflow", "scope()").result
    assert 0 == shell.run("scope()").result
    cards.pop()
    error = shell.run("%%device GPU:1 --also tensorflow", "1").error
    assert "%%device: --also tensorflow: this TensorFlow has 1 GPU, but not GPU:1" == str(error)
