"""Does `import tensorflow` mean nbtf until it is undone, and is a late call refused with a reason?"""

from __future__ import annotations

import importlib
import os
import pickle
import subprocess
import sys
from pathlib import Path
from types import ModuleType, SimpleNamespace
from typing import Any

import pytest

import nbtf
from nbtf import python
from nbtf._as_tensorflow import aliases
from nbtf._as_tensorflow.class_names import NAMED
from nbtf._as_tensorflow.presentation import present_from_environment

ROOT = Path(__file__).parents[1]


@pytest.fixture(autouse=True)
def no_tensorflow(monkeypatch: pytest.MonkeyPatch) -> None:
    """The process has imported neither TensorFlow nor Keras."""
    importlib.import_module("nbtf.python")  # installs a finder of its own, which outlives the test
    for name in [name for name in sys.modules if name.partition(".")[0] in ("tensorflow", "keras")]:
        monkeypatch.delitem(sys.modules, name)
    monkeypatch.setattr(sys, "meta_path", [*sys.meta_path])
    monkeypatch.delenv("KERAS_BACKEND", raising=False)


def imported(name: str) -> Any:
    return __import__(name, fromlist=["x"])


def test_tensorflow_is_nbtf_in_the_block() -> None:
    with nbtf.runtime.present_as_tensorflow():
        assert imported("tensorflow") is nbtf
        assert imported("tensorflow.nn") is nbtf.nn
        assert os.environ["KERAS_BACKEND"] == "tensorflow"

    assert "tensorflow" not in sys.modules
    assert "KERAS_BACKEND" not in os.environ


def test_second_call_has_nothing_to_undo() -> None:
    library: Any = nbtf
    with nbtf.runtime.present_as_tensorflow():
        library.present_as_tensorflow().undo()

        assert imported("tensorflow") is nbtf


def test_tensorflow_itself_is_a_reason_to_refuse(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "tensorflow", ModuleType("tensorflow"))

    with pytest.raises(RuntimeError, match="TensorFlow itself is already imported in this process"):
        nbtf.runtime.present_as_tensorflow()


def test_keras_with_another_backend_is_a_reason_to_refuse(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "keras", ModuleType("keras"))
    config: Any = SimpleNamespace(backend=lambda: "jax")
    monkeypatch.setitem(sys.modules, "keras.src.backend.config", config)

    with pytest.raises(RuntimeError, match="Keras is already imported with the backend 'jax'"):
        nbtf.runtime.present_as_tensorflow()


def test_unknown_value_of_the_variable_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("NBTF_AS_TENSORFLOW", "maybe")

    with pytest.raises(ValueError, match=r"NBTF_AS_TENSORFLOW is 'maybe'. Expected 1, true"):
        present_from_environment()


def test_variable_presents_and_plain_import_loads_nothing() -> None:
    code = "import nbtf, sys; print(any(name.startswith('nbtf._as_tensorflow') for name in sys.modules), end=' ')\n"
    code += "try:\n    import tensorflow; print(tensorflow is nbtf)\nexcept ImportError: print(None)"
    for setting, expected in (("1", "True True"), ("0", "True None"), ("", "False None")):
        environ = {**os.environ, "NBTF_AS_TENSORFLOW": setting, "PYTHONPATH": str(ROOT)}
        result = subprocess.run([sys.executable, "-c", code], env=environ, capture_output=True, text=True, check=True)
        printed = result.stdout.strip()
        assert printed == expected or (setting != "1" and printed.endswith("False")), (setting, printed)


def class_names() -> list[tuple[str, str]]:
    return [(value_class.__module__, value_class.__name__) for value_class, _, _ in NAMED]


def test_classes_have_tensorflows_names_only_while_presented() -> None:
    before = class_names()

    for _ in range(2):  # the second time, the private names are already imported
        with nbtf.runtime.present_as_tensorflow():
            imported("tensorflow.python.trackable.data_structures")
            assert class_names() == [(f"tensorflow.{module}", name) for _, name, module in NAMED]
            assert isinstance(pickle.loads(pickle.dumps(nbtf.Tensor)), type)
        assert class_names() == before


def test_classes_with_tensorflows_names_are_found_under_them() -> None:
    with nbtf.runtime.present_as_tensorflow():
        imported("tensorflow.python.trackable.data_structures")
        for value_class, _, _ in NAMED:
            assert value_class is pickle.loads(pickle.dumps(value_class))


def test_a_graph_that_only_describes_takes_functions_with_their_own_gradient() -> None:
    @nbtf.custom_gradient
    def twice(x: Any) -> Any:
        return x * 2, lambda grad: grad

    with nbtf.runtime.present_as_tensorflow():
        private = imported("tensorflow").__internal__
        with private.FuncGraph("scratch").as_default():
            x = imported("tensorflow.compat.v1").placeholder("float32", [None, 3])
            results = [twice(x), nbtf.function(twice)(x), nbtf.cond(x[0, 0] > 0, lambda: twice(x), lambda: x)]
            assert [[None, 3]] * 3 == [result.shape.as_list() for result in results]


def test_private_names_outside_a_presentation_rename_nothing() -> None:
    code = "import nbtf; nbtf.__internal__; print(nbtf.SparseTensor.__module__[:4], nbtf.data.Dataset.__name__)"
    environ = {**os.environ, "NBTF_AS_TENSORFLOW": "0", "PYTHONPATH": str(ROOT)}
    result = subprocess.run([sys.executable, "-c", code], env=environ, capture_output=True, text=True, check=True)

    assert result.stdout.split() == ["nbtf", "Dataset"]


def test_private_names_of_tensorflow_are_found() -> None:
    with nbtf.runtime.present_as_tensorflow():
        assert imported("tensorflow.python.eager.context").async_wait() is None
        update = imported("tensorflow.compiler.tf2xla.python.xla").dynamic_update_slice
        assert update(nbtf.zeros([4]), nbtf.ones([2]), [1]).numpy().tolist() == [0.0, 1.0, 1.0, 0.0]
        with pytest.raises(ImportError):
            imported("tensorflow.python.no_such_module")


def test_modules_for_libraries_keep_the_names_that_programs_use() -> None:
    checked = 0
    with nbtf.runtime.present_as_tensorflow():
        for alias in aliases.ALIASES:
            counterpart = python._COUNTERPARTS.get(alias.removeprefix("python."))
            if counterpart is not None:
                expected = set(dir(python.module_named(counterpart)))
                assert expected <= set(dir(importlib.import_module(f"tensorflow.{alias}"))), alias
                checked += 1

    assert checked >= 2
