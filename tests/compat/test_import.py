from __future__ import annotations

import importlib
import subprocess
import sys

import pytest

import nbtf as tf
from nbtf._runtime.context import Context, use_context

IMPORTS = {
    "as": "import nbtf.compat.v1 as tf1",
    "from": "from nbtf.compat import v1 as tf1",
    "a name": "from nbtf.compat.v1 import Session; tf1 = tf.compat.v1",
    "plain": "import nbtf.compat.v1; tf1 = nbtf.compat.v1",
    "by a function": "import importlib; tf1 = importlib.import_module('nbtf.compat.v1')",
    "a module in it": "import nbtf.compat.v1.train; tf1 = nbtf.compat.v1",
}


@pytest.mark.parametrize("reached_before", ["", "tf.compat.v1.Session"])
@pytest.mark.parametrize("statement", IMPORTS)
def test_a_program_that_imports_tensorflow_1_builds_graphs(statement: str, reached_before: str) -> None:
    names: dict[str, object] = {"tf": tf, "nbtf": tf}
    exec(reached_before, names)
    exec(f"{IMPORTS[statement]}\neager = tf1.executing_eagerly()\nc = tf1.constant(1.0)", names)

    assert names["eager"] is False
    assert "Const:0" == getattr(names["c"], "name", None)
    assert tf.executing_eagerly()


def test_an_attribute_switches_nothing() -> None:
    assert tf.compat.v1.executing_eagerly()
    assert 1.0 == tf.compat.v1.constant(1.0).numpy()
    assert isinstance(tf.compat.v1.Variable(1.0), tf.Variable)
    assert hasattr(tf.compat, "v1")
    assert "nbtf.compat.v1" not in sys.modules


def test_names_are_those_of_the_import_once_it_comes() -> None:
    before = tf.compat.v1.Variable
    tf1 = importlib.import_module("nbtf.compat.v1")

    assert before is tf.Variable
    assert tf1.Variable is not before


def test_one_module_has_several_names() -> None:
    train, nn = map(importlib.import_module, ("nbtf.compat.v1.train", "nbtf.compat.v1.nn"))

    assert train is tf.compat.v1.train
    assert nn.relu is tf.compat.v1.nn.relu


def test_a_module_that_is_not_there_is_not_found() -> None:
    with pytest.raises(ModuleNotFoundError, match=r"^No module named 'nbtf\.compat\.v1\.queues'$"):
        importlib.import_module("nbtf.compat.v1.queues")


def test_nothing_of_nbtf_imports_tensorflow_1_for_itself() -> None:
    code = "import sys, nbtf as tf; tf.keras, tf.train, tf.saved_model; tf.compat.v1.train.Saver; tf.compat.v1.layers"
    code += (
        "; tf.compat.v1.Session, tf.compat.v1.nn.conv2d, tf.compat.v1.losses; print('nbtf.compat.v1' in sys.modules)"
    )

    assert "False\n" == subprocess.run([sys.executable, "-c", code], capture_output=True, text=True).stdout


def test_a_restart_forgets_no_import() -> None:
    tf1 = importlib.import_module("nbtf.compat.v1")
    tf1.enable_eager_execution()
    with use_context(Context(environ={})):
        assert not tf1.executing_eagerly()
