"""The express lane: when it serves, when it hands over, and that nobody can tell from the result."""

from __future__ import annotations

import importlib
import inspect
import math
import pickle
import struct
import sys
import threading
import warnings
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import nbtf as tf
from nbtf._ops.op import OPS, Op
from nbtf._runtime.blocks import ScopeStack
from nbtf._runtime.context import Context, use_context
from nbtf._runtime.conversion import as_tensor
from nbtf._runtime.scopes import HERE, Scope
from nbtf.errors import InvalidArgumentError

ALL = frozenset({tf.float32})


class Roads:
    """Counts how often an op takes the road."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self.taken: list[str] = []
        road = Op.__call__
        monkeypatch.setattr(
            Op, "__call__", lambda op, *args, **how: (self.taken.append(op.type), road(op, *args, **how))[1]
        )


@pytest.fixture
def roads(monkeypatch: pytest.MonkeyPatch) -> Roads:
    as_tensor(0.0)  # opens the lane
    return Roads(monkeypatch)


def scalar(value: float) -> Any:
    return tf.constant(value, tf.float32)


# When it serves


def test_tensors_on_the_current_device_take_the_lane(roads: Roads) -> None:
    x = tf.constant([1.0, 2.0])
    _ = tf.add(x, x), x * 2.0, 2.0 * x, x > 0, x**2, x // 2, tf.tanh(x), x == x

    assert [] == roads.taken


def test_a_device_scope_of_the_same_device_leaves_it_open(roads: Roads) -> None:
    x = tf.constant([1.0])
    with tf.device("CPU:0"):
        tf.add(x, x)

    assert [] == roads.taken


# When it hands over


@pytest.mark.parametrize("value", [[1.0], np.array([1.0]), np.float32(1), True], ids=repr)
def test_values_that_are_no_tensors_take_the_road(roads: Roads, value: Any) -> None:
    x = tf.constant([1.0])
    tf.add(x, value)

    assert ["AddV2"] == roads.taken


def test_another_dtype_takes_the_road(roads: Roads) -> None:
    with pytest.raises(InvalidArgumentError):
        tf.add(tf.constant([1.0]), tf.constant([1]))

    assert ["AddV2"] == roads.taken


def test_a_dtype_outside_the_rule_takes_the_road(roads: Roads) -> None:
    yes = tf.constant([True])
    with pytest.raises(InvalidArgumentError):
        tf.add(yes, yes)

    assert ["AddV2"] == roads.taken


def test_a_listener_closes_it_and_its_end_opens_it(roads: Roads) -> None:
    x = tf.constant([1.0])
    stop = tf.runtime.observe(lambda event: None)
    tf.add(x, x)
    stop()
    tf.subtract(x, x)

    assert ["AddV2"] == roads.taken


def test_a_scope_of_another_device_takes_the_road(roads: Roads) -> None:
    x = tf.constant([1.0])
    with tf.device("CPU:1"):
        tf.add(x, x)

    assert ["AddV2"] == roads.taken


def test_what_an_open_scope_remembers_is_worth_nothing_after_a_change(roads: Roads) -> None:
    x = tf.constant([1.0])
    with tf.device("CPU:0"):
        stop = tf.runtime.observe(lambda event: None)
        tf.add(x, x)
        stop()

    assert ["AddV2"] == roads.taken


def test_a_tensor_of_another_context_takes_the_road() -> None:
    with use_context(Context(environ={})):
        old = tf.constant([1.0])
    tf.constant([1.0])

    with pytest.raises(tf.errors.FailedPreconditionError, match=r"before tf\.runtime\.restart"):
        tf.add(old, old)


def test_two_tapes_take_the_road(roads: Roads) -> None:
    x, blocks = tf.constant([1.0]), ScopeStack()
    blocks.enter(Scope(tapes=(QUIET, QUIET)))
    tf.add(x, x)
    blocks.leave("")

    assert ["AddV2"] == roads.taken


class Quiet:
    """A tape that keeps nothing."""

    def record(self, *call: Any) -> None:
        pass


QUIET = Quiet()


def test_a_thread_without_scope_does_not_hear_of_others(roads: Roads) -> None:
    x, blocks = tf.constant([1.0]), ScopeStack()
    blocks.enter(Scope(tapes=(QUIET, QUIET)))
    thread = threading.Thread(target=tf.add, args=(x, x))
    thread.start()
    thread.join()
    blocks.leave("")

    assert [] == roads.taken


# Scalars


@given(st.floats(width=32) | st.integers(-(2**60), 2**60))
def test_scalars_are_the_same_on_lane_and_road(value: float) -> None:
    x = tf.constant([0.0, -0.0, 1.5])

    bits = [function(x, value).numpy().tobytes() for function in (tf.multiply, tf.multiply.__wrapped__)]

    assert bits[0] == bits[1]


def test_zeros_keep_their_signs_whoever_comes_first() -> None:
    one = tf.constant([1.0])

    found = [math.copysign(1, (one * zero).numpy()[0]) for zero in (0.0, -0.0, 0, 0.0, -0.0)]

    assert [1, -1, 1, 1, -1] == found


def test_a_nan_is_not_remembered() -> None:
    x = tf.constant([1.0])
    before = len(x._device.constants)
    for _ in range(3):
        _ = x * math.nan

    assert before == len(x._device.constants)


def test_an_integer_and_a_float_of_the_same_value_are_not_confused() -> None:
    ints = tf.constant([4])

    assert [8] == (ints * 2).numpy().tolist()
    with pytest.raises(TypeError, match=r"Cannot convert 2\.0 to EagerTensor of dtype int32"):
        _ = ints * 2.0
    assert [8.0] == (tf.constant([4.0]) * 2).numpy().tolist()


def test_a_loop_over_floats_does_not_fill_the_memory() -> None:
    x = tf.constant([1.0])
    for number in range(3000):
        _ = x * float(number)

    assert 1000 >= len(x._device.constants)


def test_results_of_scalars_are_arrays() -> None:
    x = scalar(2.0)

    assert {np.ndarray} == {type(t._array) for t in (x + x, x * 2.0, -x, x > 1, x**2, x // 2, tf.tanh(x), x == x)}


# NumPy's warnings and settings


@pytest.mark.parametrize("how", ["ignore", "warn", "raise"])
def test_the_users_numpy_settings_do_not_leak_in(how: Any) -> None:
    x = tf.constant([0.0, 3e38, -1.0])
    with np.errstate(all=how), warnings.catch_warnings():
        warnings.simplefilter("error")
        results = [
            1.0 / x,
            x * x,
            tf.sqrt(x),
            tf.math.log(x),
            x // 0.0,
            x % 0.0,
            tf.sigmoid(-x),
            tf.cast(x * x, tf.int32),
        ]

    assert [math.inf, -1.0] == [results[0].numpy()[0], results[0].numpy()[2]]
    assert all(result.shape == (3,) for result in results)


def test_importing_leaves_numpys_settings_alone() -> None:
    assert {"divide": "warn", "over": "warn", "under": "ignore", "invalid": "warn"} == np.geterr()


# What can be seen of it


def test_a_lane_looks_like_the_function_as_written() -> None:
    road: Any = tf.add.__wrapped__

    assert inspect.signature(road) == inspect.signature(tf.add)
    assert (road.__doc__, road.__name__, road.__module__) == (tf.add.__doc__, tf.add.__name__, tf.add.__module__)
    assert "return (Add if" in inspect.getsource(tf.add)


def test_the_text_of_a_lane_can_be_read() -> None:
    x = tf.constant([1.0])
    tf.atan2(x, x)

    assert "array = kernel(y._array, x._array)" in inspect.getsource(tf.atan2.__code__)


def test_arguments_go_by_name_too() -> None:
    x = tf.constant([1.0])

    assert [2.0] == tf.add(y=x, x=x, name="sum").numpy().tolist()
    with pytest.raises(TypeError, match="missing"):
        tf.add(x)  # pyright: ignore[reportCallIssue]  # what it refuses


def test_functions_and_ops_are_pickled_by_name() -> None:
    assert tf.add is pickle.loads(pickle.dumps(tf.add))
    assert OPS["AddV2"] is pickle.loads(pickle.dumps(OPS["AddV2"]))


def test_an_error_of_the_road_has_no_other_behind_it() -> None:
    with pytest.raises(InvalidArgumentError) as caught:
        tf.add(tf.constant([1.0]), tf.constant([1]))

    assert caught.value.__context__ is None


# At import


def kernel(xp: Any, x: Any, alpha: float, beta: float) -> Any:
    return x


@pytest.mark.parametrize(
    "function",
    [
        lambda x, beta, alpha, name=None: x,
        lambda x, alpha, name=None: x,
        lambda x, alpha, beta: x,
    ],
)
def test_names_that_disagree_are_refused(function: Any) -> None:
    with pytest.raises(TypeError, match="does not match"):
        Op("Strange", kernel, "T -> T", ("x", "alpha", "beta"), sets={"T": ALL}).express(function)


def test_ops_of_lists_have_no_lane() -> None:
    with pytest.raises(TypeError, match="does not match"):
        OPS["AddN"].express(lambda inputs, name=None: inputs)


def test_two_ops_of_one_type_are_refused() -> None:
    from nbtf._ops.op import ufunc

    with pytest.raises(TypeError, match="The op type AddV2 is already registered"):
        ufunc("AddV2", "add", "T T -> T", T=ALL)


def test_a_module_enters_its_ops_again_when_its_first_import_was_interrupted(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    text = (
        "from nbtf._ops.op import op\nfrom sys import argv\n@op('float32 -> float32')\ndef Late(xp, x):\n    return x\n"
    )
    (tmp_path / "late_ops.py").write_text(text + "if argv[0] == 'first':\n    raise KeyboardInterrupt\n")
    monkeypatch.syspath_prepend(tmp_path)
    monkeypatch.setattr(sys, "argv", ["first"])
    with pytest.raises(KeyboardInterrupt):
        importlib.import_module("late_ops")
    monkeypatch.setattr(sys, "argv", ["second"])

    late = importlib.import_module("late_ops")

    assert OPS.pop("Late") is late.Late
    del sys.modules["late_ops"]


def test_the_lane_is_open_for_the_device_that_ops_go_to() -> None:
    x = tf.constant([1.0])

    assert HERE.device is x._device


@given(st.floats(width=32, allow_nan=False), st.floats(width=32, allow_nan=False))
def test_sums_of_scalars_are_float32(a: float, b: float) -> None:
    with np.errstate(all="ignore"):
        expected = np.float32(a) + np.float32(b)

    assert struct.pack("f", expected) == struct.pack("f", (scalar(a) + scalar(b)).numpy())
