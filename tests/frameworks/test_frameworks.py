"""What do imported libraries tell of their memory, and are those left alone that have not begun?"""

from __future__ import annotations

import sys
from contextlib import nullcontext
from types import SimpleNamespace
from typing import Any

import pytest

import nbtf as tf
from nbtf._frameworks import cupy as cupy_framework


class Torch:
    """PyTorch's figures of one card, number 1."""

    def __init__(self, begun: bool = True) -> None:
        self.cuda = SimpleNamespace(
            device_count=lambda: 2,
            is_initialized=lambda: begun,
            memory_reserved=lambda ordinal: 700 if ordinal == 1 else 0,
            memory_allocated=lambda ordinal: 500 if ordinal == 1 else 0,
        )


class Cupy:
    """CuPy's figures; it notes which cards were entered."""

    def __init__(self) -> None:
        self.entered: list[int] = []
        self.cuda = SimpleNamespace(
            Device=self.enter, runtime=SimpleNamespace(getDeviceCount=lambda: 1, getDevice=lambda: 0)
        )

    def enter(self, ordinal: int) -> nullcontext[None]:
        self.entered.append(ordinal)
        return nullcontext()

    def get_default_memory_pool(self) -> SimpleNamespace:
        return SimpleNamespace(total_bytes=lambda: 1024, used_bytes=lambda: 512)


@pytest.fixture(autouse=True)
def no_libraries(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("torch", "cupy", "jax"):
        monkeypatch.setitem(sys.modules, name, None)


def pools() -> list[tuple[str, str, int, int]]:
    """Library, device, bytes taken and in use of each pool that has taken some."""
    every = [(library.name, pool) for library in tf.runtime.frameworks() for pool in library.pools()]
    return [(name, pool.device, pool.reserved, pool.in_use) for name, pool in every if pool.reserved]


def test_pools_of_imported_libraries_are_found(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "torch", Torch())
    monkeypatch.setitem(sys.modules, "cupy", Cupy())
    monkeypatch.setattr(cupy_framework, "context_state", lambda ordinal: True)

    assert [("PyTorch", "cuda:1", 700, 500), ("CuPy", "cuda:0", 1024, 512)] == pools()


def test_library_that_has_not_begun_is_not_asked(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "torch", Torch(begun=False))

    assert [] == pools()


def test_card_that_cupy_has_not_begun_to_use_is_not_entered(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "cupy", cupy := Cupy())
    monkeypatch.setattr(cupy_framework, "context_state", lambda ordinal: False)

    assert ([], []) == (pools(), cupy.entered)


@pytest.mark.parametrize("name", ["torch", "cupy", "jax"])
def test_half_imported_library_tells_nothing_and_breaks_nothing(monkeypatch: pytest.MonkeyPatch, name: str) -> None:
    monkeypatch.setitem(sys.modules, name, SimpleNamespace())
    [library] = tf.runtime.frameworks()

    assert ([], [], None) == (library.pools(), library.cards(), library.full_card(ValueError("no")))


def test_where_the_driver_does_not_tell_a_card_with_a_current_context_is_asked(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "cupy", cupy := Cupy())
    monkeypatch.setattr(cupy_framework, "context_state", lambda ordinal: None)
    cupy.cuda.driver = SimpleNamespace(ctxGetCurrent=lambda: 0)

    assert [] == pools()

    cupy.cuda.driver.ctxGetCurrent = lambda: 1

    assert [("CuPy", "cuda:0", 1024, 512)] == pools()


class OutOfMemoryError(RuntimeError):
    """As PyTorch has it."""


def test_error_of_pytorch_names_the_card_that_is_full(monkeypatch: pytest.MonkeyPatch) -> None:
    module: Any = SimpleNamespace(cuda=SimpleNamespace(OutOfMemoryError=OutOfMemoryError, current_device=lambda: 1))
    monkeypatch.setitem(sys.modules, "torch", module)
    [library] = tf.runtime.frameworks()
    texts = ("CUDA out of memory. GPU 3 has a total capacity of 79 GiB", "CUDA out of memory.")

    assert ["cuda:3", "cuda:1"] == [library.full_card(OutOfMemoryError(text)) for text in texts]
    assert library.full_card(RuntimeError(texts[0])) is None


def test_who_asks_for_simulated_gpus_for_jax_is_told_what_jax_has_itself() -> None:
    with pytest.raises(ValueError, match=r"for 'jax'\. Expected 'torch'\. JAX can split"):
        tf.runtime.simulate_gpus(4, frameworks="jax")
