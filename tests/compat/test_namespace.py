from __future__ import annotations

import builtins
import importlib
import subprocess
import sys
from operator import attrgetter
from typing import Any

import pytest

import nbtf
import nbtf.compat.v1 as tf1
from nbtf import _missing


def test_functions_build_the_default_graph_from_import_on() -> None:
    c = tf1.square(tf1.constant(2.0))

    assert ["Const", "Square"] == [node.name for node in tf1.get_default_graph().get_operations()]
    assert 4.0 == tf1.Session().run(c)


def test_the_root_namespace_stays_eager_beside_it() -> None:
    tf1.constant(1.0)

    assert 3.0 == nbtf.add(1.0, 2.0).numpy()


@pytest.mark.parametrize("name", ["tanh", "zeros", "identity"])
def test_a_function_is_wrapped_once(name: str) -> None:
    assert getattr(tf1, name) is getattr(tf1, name)
    assert name == getattr(tf1, name).__name__


@pytest.mark.parametrize("name", ["float32", "DType", "GradientTape", "newaxis", "errors", "config"])
def test_what_is_no_function_of_tensors_is_the_same(name: str) -> None:
    assert getattr(tf1, name) is getattr(nbtf, name)


def test_a_namespace_builds_graphs_too() -> None:
    y = tf1.math.log(tf1.constant(1.0))

    assert "Log:0" == y.name
    assert 0.0 == tf1.Session().run(y)


def test_two_names_of_a_function_are_one_function_here_too() -> None:
    assert tf1.reduce_sum is tf1.math.reduce_sum
    assert tf1.log is tf1.math.log
    assert tf1.random_normal is tf1.random.normal or "random_normal" == tf1.random.normal.__name__


def test_a_namespace_can_be_imported_from_it() -> None:
    from nbtf.compat.v1 import linalg

    assert linalg is tf1.linalg
    assert "norm" in dir(linalg)


@pytest.mark.parametrize("name", ["to_float", "Session", "div", "log", "flags", "train"])
def test_a_name_of_the_root_namespace_that_only_version_1_has_says_so(name: str) -> None:
    assert "import nbtf.compat.v1 as tf" in _missing.hint(name) or hasattr(nbtf, name)
    assert hasattr(tf1, name)


def test_every_name_that_is_said_to_be_here_is_here() -> None:
    assert [] == [name for name in sorted(_missing._TF1) if not hasattr(tf1, name)]


@pytest.mark.parametrize(
    ("name", "told"),
    [
        ("contrib", "tf.contrib ended with TensorFlow 1"),
        ("mul", "Since TensorFlow 1.0, use tf.multiply"),
        ("FIFOQueue", "Feed placeholders"),
        ("import_graph_def", "Build them again"),
        ("data.make_initializable_iterator", "`for element in dataset:"),
        ("metrics", "Compute the metric with variables"),
        ("nn.dynamic_rnn", "Write the loop"),
        ("saved_model.simple_save", "tf.train.Saver"),
        ("summary.Summary", "tf.summary.FileWriter"),
        ("test.mock", "unittest or pytest"),
        ("estimator", "tf.train.MonitoredTrainingSession"),
    ],
)
def test_a_note_says_what_to_do_without_a_name_that_is_not_here(name: str, told: str) -> None:
    with pytest.raises(AttributeError) as caught:
        attrgetter(name)(tf1)

    assert str(caught.value).endswith(f" has no attribute '{name.rpartition('.')[2]}'")
    assert told in caught.value.__notes__[0]


def test_a_name_that_never_was_is_just_not_there() -> None:
    with pytest.raises(AttributeError, match=r"^module 'nbtf.compat.v1' has no attribute 'nonsense'$") as caught:
        tf1.nonsense  # noqa: B018  # pyright: ignore[reportAttributeAccessIssue]  # as a checker says, too

    assert not hasattr(caught.value, "__notes__")


def test_no_name_that_is_here_is_said_to_be_missing() -> None:
    missing = " ".join(_missing._INSTEAD.values()).split()

    assert [] == [name for name in missing if _has(tf1, name)]
    assert sorted(set(missing)) == sorted(missing)


@pytest.mark.parametrize("root", ["nbtf.compat.v1", "nbtf.compat._v1"])
def test_every_name_that_is_not_here_says_what_to_write(root: str) -> None:
    for advice, names in _missing._INSTEAD.items():
        for name in names.split():
            with pytest.raises(AttributeError) as caught:
                attrgetter(name)(importlib.import_module(root))

            assert str(caught.value).endswith(f" has no attribute '{name.rpartition('.')[2]}'")
            assert [advice] == caught.value.__notes__


def _has(module: Any, name: str) -> bool:
    try:
        attrgetter(name)(module)
    except AttributeError:
        return False
    return True


def test_functions_of_datasets_run_at_once_though_a_graph_is_built() -> None:
    with tf1.Graph().as_default() as graph:
        doubled = tf1.data.Dataset.from_tensor_slices([1.0, 2.0]).map(lambda x: tf1.add(x, tf1.constant(1.0)))

    found = [float(x.numpy()) for x in doubled]

    assert [2.0, 3.0] == found
    assert 0 == graph.version


def test_functions_of_datasets_may_open_blocks() -> None:
    def scoped(x: Any) -> Any:
        with tf1.name_scope("s"), tf1.device("/cpu:0"):
            return tf1.square(x)

    before = tf1.get_default_graph().version

    assert [0, 1, 4] == [int(x.numpy()) for x in tf1.data.Dataset.range(3).map(scoped)]
    assert before == tf1.get_default_graph().version


def test_datasets_of_placeholders_say_what_to_do() -> None:
    with tf1.Graph().as_default(), pytest.raises(TypeError, match=r"'x:0'.*Create the dataset from arrays, and feed"):
        tf1.data.Dataset.from_tensor_slices(tf1.placeholder(tf1.float32, [2], name="x"))


@pytest.mark.parametrize("name", ["make_one_shot_iterator", "make_initializable_iterator"])
def test_iterators_of_tensorflow_1_say_what_to_write(name: str) -> None:
    with pytest.raises(AttributeError, match="for element in dataset:.* feed `element.numpy()`".replace("()", r"\(\)")):
        getattr(tf1.data.Dataset.range(3), name)


def test_python_nodes_run_functions_of_this_namespace_at_once() -> None:
    with tf1.Graph().as_default(), tf1.Session() as session:
        squared = tf1.py_function(lambda x: tf1.square(x), [tf1.constant(3.0)], tf1.float32)

        assert 9.0 == session.run(squared)


def test_names_that_hide_builtins_do_no_harm() -> None:
    for name in ("range", "print", "tuple", "abs", "round"):
        assert getattr(tf1, name) is not getattr(builtins, name)

    assert set(dir(nbtf)) - set(dir(tf1)) == {"metrics"}


def test_importing_it_loads_neither_sessions_nor_training() -> None:
    code = "import sys, nbtf.compat.v1; print([m for m in sys.modules if 'v1._' in m or 'v1.train' in m])"

    assert (
        "[]" == subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout.strip()
    )
