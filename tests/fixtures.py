"""Fixtures that all tests and docstring examples use automatically: their own devices, and the examples' names.

`pyproject.toml` loads this module as a plugin, because pytest does not apply `tests/conftest.py` to the examples of
files in `nbtf/`.
"""

from __future__ import annotations

import importlib
import os
import sys
from collections.abc import Iterator
from contextlib import ExitStack
from functools import cache
from typing import Any
from unittest.mock import patch

import numpy as np
import pytest

from nbtf._devices import discovery
from nbtf._devices.cards import PhysicalGPU
from nbtf._devices.machines import SIMULATED_GPUS
from nbtf._runtime.context import Context, use_context

MACHINE_AT_START = os.environ.get(SIMULATED_GPUS)

Names = dict[str, Any]
"""The names that an example may use."""


@pytest.fixture
def doctest_namespace(fresh_context: Context, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Names]:
    """The names that the example in a docstring may use: `tf`, `np`, and `get_ipython`, as in a notebook."""
    tf = importlib.import_module("nbtf")
    with ExitStack() as stack:

        @cache
        def get_ipython() -> Any:
            from tests.shells import interactive_shell

            shell = stack.enter_context(interactive_shell(tmp_path_factory.mktemp("ipython")))
            stack.callback(tf.unload_ipython_extension, shell)
            return shell

        yield {"tf": tf, "np": np, "get_ipython": get_ipython}


@pytest.fixture(autouse=True)
def fresh_context(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> Iterator[Context]:
    """Gives every test and every docstring its own devices, without the caller's environment and cards.

    The environment is restored afterwards, and a session without the extension ends. `nbtf.compat.v1` switches to
    graphs when it is imported, so it counts as not imported unless the test's file imports it.

    A fixture of a whole file may have simulated GPUs before this one begins, so the simulated machine of new processes
    is restored to that of the session.
    """
    monkeypatch.setattr(discovery, "real_cards", no_cards)
    if imports_tensorflow_1(request):
        importlib.import_module("nbtf.compat.v1")
    else:
        forget_tensorflow_1(monkeypatch)
    with patch.dict(os.environ), use_context(Context(environ={})) as context:
        yield context
        session = sys.modules.get("nbtf.notebook.session")
        if session is not None:
            session.end_program_session()  # it would record the ops of the next test
    class_names = sys.modules.get("nbtf._as_tensorflow.class_names")
    if class_names is not None:
        class_names.restore_names()
    if MACHINE_AT_START is None:
        os.environ.pop(SIMULATED_GPUS, None)
    else:
        os.environ[SIMULATED_GPUS] = MACHINE_AT_START


def no_cards(environ: object) -> tuple[PhysicalGPU, ...]:
    """Replaces the search for the machine's cards: finds none."""
    return ()


def imports_tensorflow_1(request: pytest.FixtureRequest) -> bool:
    """Returns whether the test's file imports `nbtf.compat.v1` or a name from it; examples always start without it."""
    names = vars(request.module) if isinstance(request.node, pytest.Function) else {}
    origins = (getattr(value, "__module__", None) or getattr(value, "__name__", None) for value in names.values())
    return any(str(origin).startswith(("nbtf.compat._v1", "nbtf.compat.v1")) for origin in origins)


def forget_tensorflow_1(monkeypatch: pytest.MonkeyPatch) -> None:
    """Makes the next import of `nbtf.compat.v1` the first of its program, and its next graph the first."""
    everywhere = sys.modules.get("nbtf.compat._v1._surface.everywhere")
    if everywhere is not None:
        everywhere.build_everywhere(everywhere.PROGRAM, asks=False)
    for name in [name for name in sys.modules if f"{name}.".startswith("nbtf.compat.v1.")]:
        monkeypatch.delitem(sys.modules, name)
    if "nbtf.compat" in sys.modules:
        monkeypatch.delitem(vars(sys.modules["nbtf.compat"]), "v1", raising=False)
