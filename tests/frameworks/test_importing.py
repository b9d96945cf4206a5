"""Is a function called right after a library's own code has run, whoever has looked for the library before?"""

from __future__ import annotations

import importlib
import importlib.util
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from nbtf._frameworks.importing import on_import

NAME = "a_library_of_the_test"


@pytest.fixture
def library(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    path = tmp_path / f"{NAME}.py"
    path.write_text("value = 1\n", encoding="utf-8")
    monkeypatch.syspath_prepend(tmp_path)
    monkeypatch.setattr(sys, "meta_path", [*sys.meta_path])
    yield path
    sys.modules.pop(NAME, None)


def _listen(calls: list[int]) -> None:
    begin, _ = on_import(NAME, lambda: calls.append(sys.modules[NAME].value))
    begin()


def test_it_is_called_once_after_the_import(library: Path) -> None:
    calls: list[int] = []
    _listen(calls)

    for _ in range(2):
        importlib.import_module(NAME)

    assert [1] == calls


def test_who_only_looks_for_the_library_changes_nothing(library: Path) -> None:
    calls: list[int] = []
    _listen(calls)

    spec = importlib.util.find_spec(NAME)

    assert spec is not None
    assert str(library) == spec.origin
    assert [] == calls
    importlib.import_module(NAME)
    assert [1] == calls


def test_all_that_wait_are_called(library: Path) -> None:
    calls: list[int] = []
    for _ in range(3):
        _listen(calls)

    importlib.import_module(NAME)

    assert [1, 1, 1] == calls


def test_it_waits_while_an_import_fails(library: Path) -> None:
    calls: list[int] = []
    _listen(calls)
    library.write_text("raise RuntimeError('half')\n", encoding="utf-8")
    with pytest.raises(RuntimeError, match="half"):
        importlib.import_module(NAME)
    library.write_text("value = 20 + 22  # of another length: Python compares it with what it has compiled\n")

    importlib.import_module(NAME)

    assert [42] == calls


def test_what_is_called_off_is_not_called(library: Path) -> None:
    calls: list[int] = []
    begin, call_off = on_import(NAME, lambda: calls.append(1))
    begin()
    importlib.util.find_spec(NAME)

    call_off()
    importlib.import_module(NAME)

    assert [] == calls


def test_the_module_has_its_own_loader(library: Path) -> None:
    _listen([])

    module = importlib.import_module(NAME)

    assert not type(module.__loader__).__module__.startswith("nbtf")
    assert module.__spec__ is not None
    assert module.__spec__.loader is module.__loader__
