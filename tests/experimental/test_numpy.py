"""Do the functions give NumPy's results, in TensorFlow's dtypes, and do tensors behave as arrays?"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest

import nbtf as tf
import nbtf.experimental.numpy as tnp
from nbtf._ops.variables.variable import Variable
from nbtf.experimental.numpy import promotion

X = np.array([[3.0, -1.5, 2.0], [0.5, 4.0, -2.0]])


@pytest.fixture
def arrays() -> Iterator[Any]:
    """Lets a test switch tensors over, and puts back what they were."""
    before = {kind: dict(vars(kind)) for kind in (tf.Tensor, Variable)}
    yield tnp.experimental_enable_numpy_behavior
    promotion.prefer_float32(False)
    for kind, attributes in before.items():
        for name in [one for one in vars(kind) if one not in attributes]:
            delattr(kind, name)
        for name, value in attributes.items():
            if vars(kind).get(name) is not value:
                setattr(kind, name, value)


ONE = "exp expm1 sin cos tan arctan tanh sinh cosh floor ceil absolute negative sign square isnan isfinite".split()
ALONG = "sum prod mean std var max min argmax argmin cumsum cumprod sort argsort any all count_nonzero".split()
TWO = "add subtract multiply divide maximum minimum greater less_equal equal not_equal arctan2 mod power".split()


@pytest.mark.parametrize("name", ONE)
@pytest.mark.filterwarnings("ignore:invalid value")
def test_functions_of_one_value_are_numpys(name: str) -> None:
    assert getattr(tnp, name)(X).numpy() == pytest.approx(getattr(np, name)(X))


@pytest.mark.parametrize("axis", [0, 1])
@pytest.mark.parametrize("name", ALONG)
def test_functions_along_an_axis_are_numpys(name: str, axis: int) -> None:
    assert getattr(tnp, name)(X, axis=axis).numpy() == pytest.approx(getattr(np, name)(X, axis=axis))


@pytest.mark.parametrize("name", TWO)
def test_functions_of_two_values_are_numpys(name: str) -> None:
    assert getattr(tnp, name)(np.abs(X), 2.5).numpy() == pytest.approx(getattr(np, name)(np.abs(X), 2.5))


@pytest.mark.parametrize(
    ("name", "args"),
    [
        ("expand_dims", (X, 0)),
        ("reshape", (X, (3, -1))),
        ("transpose", (X,)),
        ("swapaxes", (X, 0, 1)),
        ("moveaxis", (X, 0, -1)),
        ("squeeze", (X[None],)),
        ("concatenate", ([X, X], 1)),
        ("stack", ([X, X],)),
        ("vstack", ([[1], [2]],)),
        ("hstack", ([X, X],)),
        ("append", (X, [1.0])),
        ("tile", ([1, 2], (2, 2))),
        ("repeat", (X, 2)),
        ("roll", (X, 1)),
        ("flip", (X, 1)),
        ("take", (X, [2, 0], 1)),
        ("diag", ([1, 2],)),
        ("tril", (X,)),
        ("triu", (X, 1)),
        ("matmul", (X, X.T)),
        ("matmul", (X, [1.0, 2.0, 3.0])),
        ("dot", (X, [1.0, 2.0, 3.0])),
        ("inner", (X, X)),
        ("outer", ([1, 2], [3, 4])),
        ("vdot", (X, X)),
        ("tensordot", (X, X.T, 1)),
        ("einsum", ("ij,kj->ik", X, X)),
        ("trace", (X,)),
        ("eye", (2, 3)),
        ("linspace", (0, 1, 5)),
        ("full", ((2,), 7)),
        ("clip", (X, -1, 2)),
        ("around", (X / 3, 1)),
        ("log2", ([8.0],)),
        ("log10", ([100.0],)),
        ("where", ([True, False], [1, 2], 3.5)),
        ("select", ([[True, False], [True, True]], [np.array([1, 2]), np.array([3.5, 4.5])])),
        ("select", ([[False, True]], [np.array([1.0, 2.0], np.float32)], np.float32(7.0))),
        ("isclose", ([1.0, 2.0], [1.0, 2.1])),
        ("logical_xor", ([1, 0], [1, 1])),
    ],
)
def test_results_are_numpys(name: str, args: Any) -> None:
    result, expected = getattr(tnp, name)(*args), getattr(np, name)(*args)

    assert (result.shape, result.dtype.name) == (expected.shape, expected.dtype.name)
    assert result.numpy() == pytest.approx(expected)


@pytest.mark.parametrize(
    ("made", "dtype"),
    [
        (lambda: tnp.asarray([1]), tf.int64),
        (lambda: tnp.asarray([1.5]), tf.float64),
        (lambda: tnp.asarray(np.float32(1)), tf.float32),
        (lambda: tnp.asarray([tf.constant(1.5)]), tf.float32),
        (lambda: tnp.ones(2), tf.float64),
        (lambda: tnp.zeros(2, int), tf.int64),
        (lambda: tnp.array([1], dtype=tnp.float32), tf.float32),
        (lambda: tnp.arange(3), tf.int64),
        (lambda: tnp.arange(3.0), tf.float64),
        (lambda: tnp.exp(tf.constant([1])), tf.float64),
        (lambda: tnp.exp(tf.constant([1.0])), tf.float32),
        (lambda: tnp.add(np.int8(1), np.uint8(2)), tf.int16),
        (lambda: tnp.sum(tf.constant([True])), tf.int64),
        (lambda: tnp.random.randn(2), tf.float64),
        (lambda: tnp.random.randint(5, size=(2,)), tf.int64),
        (lambda: tnp.maximum(tf.constant([1.0]), 0), tf.float32),
    ],
)
def test_dtypes_are_tensorflows(made: Any, dtype: Any) -> None:
    assert made().dtype is dtype


def test_random_numbers_follow_the_seed() -> None:
    tnp.random.seed(3)
    one = tnp.random.rand(4)
    tnp.random.seed(3)

    assert tnp.random.rand(4).numpy().tolist() == one.numpy().tolist()


def test_gradients_flow() -> None:
    x = tf.constant([1.0, 2.0])
    with tf.GradientTape() as tape:
        tape.watch(x)
        y = tnp.sum(tnp.square(tnp.maximum(x, 1.5)))

    assert tape.gradient(y, x).numpy().tolist() == [0.0, 4.0]


def test_tensors_are_as_before_until_they_are_switched() -> None:
    with pytest.raises(AttributeError, match="numpy-related methods"):
        tf.constant([1]).T  # noqa: B018
    with pytest.raises(tf.errors.InvalidArgumentError):
        _ = tf.constant([1]) + tf.constant([1.5])


@pytest.mark.parametrize(
    ("text", "dtype", "values"),
    [
        ("tf.constant([1]) + tf.constant([1.5])", tf.float64, [2.5]),
        ("tf.constant([1]) + 1.5", tf.float64, [2.5]),
        ("1.5 * tf.constant([1])", tf.float64, [1.5]),
        ("tf.constant([1.5]) + 1", tf.float32, [2.5]),
        ("tf.constant([1.5]) + np.float64(1)", tf.float64, [2.5]),
        ("np.ones(1) + tf.constant([1])", tf.float64, [2.0]),
        ("tf.constant([1.0], tf.float16) + tf.constant([1.0])", tf.float32, [2.0]),
        ("tf.constant([1], tf.int8) + tf.constant([1], tf.uint8)", tf.int16, [2]),
        ("tf.constant([True]) + tf.constant([1])", tf.int32, [2]),
        ("tf.constant([3]) // 2", tf.int32, [1]),
        ("tf.constant([1, 2]) ** 2.0", tf.float64, [1.0, 4.0]),
        ("tf.constant([1, 2]) == tf.constant([1.0, 3.0])", tf.bool, [True, False]),
        ("tf.constant([1, 2]) > 1.5", tf.bool, [False, True]),
        ("tf.constant([1, 2]) @ tf.constant([1.0, 2.0])", tf.float64, 5.0),
        ("tf.constant(2) + tf.Variable(1.5)", tf.float64, 3.5),
        ("tf.Variable(1.5) + tf.constant(2)", tf.float64, 3.5),
        ("tf.constant([[1, 2]]).T", tf.int32, [[1], [2]]),
        ("tf.constant([1, 2]).reshape(2, 1)", tf.int32, [[1], [2]]),
        ("tf.constant([1, 2]).reshape((2, 1))", tf.int32, [[1], [2]]),
        ("tf.constant([1, 2]).astype(tf.float32)", tf.float32, [1.0, 2.0]),
        ("tf.constant([[1, 2]]).ravel()", tf.int32, [1, 2]),
        ("tf.constant([1, 2]).mean()", tf.float64, 1.5),
        ("tf.constant([1, 2]).clip(0, 1)", tf.int32, [1, 1]),
        ("tf.constant([3, 4, 5])[[-1, 0]]", tf.int32, [5, 3]),
        ("tf.constant([3, 4])[tf.constant([1, 1])]", tf.int32, [4, 4]),
        ("tf.constant([[1, 2], [3, 4]])[[0, 1], [1, 0]]", tf.int32, [2, 3]),
        ("tf.constant([[1, 2], [3, 4]])[:, [1, 0]]", tf.int32, [[2, 1], [4, 3]]),
        ("tf.constant([[1, 2], [3, 4]])[1, (0, 0)]", tf.int32, [3, 3]),
        ("tf.constant([[1, 2], [3, 4]])[:, (True, False)]", tf.int32, [[1], [3]]),
        ("tf.constant([[1, 2], [3, 4]])[0, tf.newaxis, 1:]", tf.int32, [[2]]),
        ("tf.constant([3, 4])[tf.constant([True, False])]", tf.int32, [3]),
    ],
)
def test_tensors_behave_as_arrays_once_switched(text: str, dtype: Any, values: Any, arrays: Any) -> None:
    arrays()
    result = eval(text, {"tf": tf, "np": np})  # the texts above

    assert (result.dtype, result.numpy().tolist()) == (dtype, values)


def test_functions_of_tf_do_not_convert(arrays: Any) -> None:
    arrays()

    with pytest.raises(tf.errors.InvalidArgumentError):
        tf.add(tf.constant([1]), tf.constant([1.5]))


def test_pythons_floats_are_float32_if_preferred(arrays: Any) -> None:
    arrays(prefer_float32=True)

    assert [tnp.asarray([1.5]).dtype, (tf.constant([1.5]) + np.float64(1)).dtype] == [tf.float32, tf.float32]
    assert [tnp.ones(2).dtype, tnp.sqrt([4]).dtype] == [tf.float64, tf.float64]


def test_other_modes_are_refused(arrays: Any) -> None:
    with pytest.raises(ValueError, match="must be 'legacy' or 'off'"):
        arrays(dtype_conversion_mode="all")


def test_magnitudes_of_integers_are_integers_and_the_lower_limit_wins() -> None:
    assert tnp.fabs([-1, 2]).dtype.name == "int64"
    assert int(tnp.clip(1, 5, 2)) == 5


@pytest.mark.parametrize(
    ("name", "values", "expected"),
    [
        ("max", [True, False], True),
        ("min", [True, False], False),
        ("amax", False, False),
        ("amin", True, True),
        ("argsort", 3, [0]),
        ("argsort", True, [0]),
        ("ascontiguousarray", 5, [5]),
        ("ascontiguousarray", [5], [5]),
    ],
)
def test_truths_and_single_values_are_taken(name: str, values: Any, expected: Any) -> None:
    assert expected == getattr(tnp, name)(values).numpy().tolist()


def test_truths_are_compared_and_single_values_have_a_place() -> None:
    assert [True, True] == tnp.maximum([True, False], [True, True]).numpy().tolist()
    assert [True, False] == tnp.minimum([True, False], [True, True]).numpy().tolist()
    assert [[0]] == [places.numpy().tolist() for places in tnp.nonzero(3)]


def test_more_decimals_than_a_float_has_overflow() -> None:
    with pytest.raises(OverflowError, match="math range error"):
        tnp.around([1.25], 2**70)
