"""What do tests and examples in docstrings find without asking? Devices of their own, and the names of the examples.

A plugin, which `pyproject.toml` loads: pytest does not read `tests/conftest.py` for the examples of a file in `nbtf/`.
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
from nbtf._runtime.context import Context, use_context

Names = dict[str, Any]
"""Those of an example."""


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
    """Every test and every docstring has devices of its own, and none of the caller's environment or cards.

    It leaves the environment as it was. Nor is `nbtf.compat.v1` imported, which switches it to graphs, unless the
    file of the test does so.
    """
    monkeypatch.setattr(discovery, "real_cards", no_cards)
    if imports_tensorflow_1(request):
        importlib.import_module("nbtf.compat.v1")
    else:
        forget_tensorflow_1(monkeypatch)
    with patch.dict(os.environ), use_context(Context(environ={})) as context:
        yield context


def no_cards(environ: object) -> tuple[PhysicalGPU, ...]:
    """What tests find instead of the cards of the machine they run on."""
    return ()


def imports_tensorflow_1(request: pytest.FixtureRequest) -> bool:
    """Whether a name of the test's file stands for `nbtf.compat.v1`, or for something from it; examples start anew."""
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
