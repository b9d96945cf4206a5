"""Expressions whose answers were recorded from TensorFlow 2.21: kinks, complex gradients, string ops, NumPy functions.

python tests/recorded/expressions.py tensorflow > expressions.json    # where TensorFlow is installed
python tests/recorded/expressions.py nbtf expressions.json            # which answers of nbtf differ

It imports nothing of the tests, so that it runs in an environment with TensorFlow alone.
"""

from __future__ import annotations

import importlib
import itertools
import json
import sys
import warnings
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np

KINKS = "0. -0. 1. -1. .5 -.5 2. -2. 2.5 -2.5 3. -3. 6. -6. 20. -20. inf -inf nan"

_ACTIVATIONS = (
    "elu exponential gelu hard_sigmoid leaky_relu linear relu selu sigmoid silu softplus softsign tanh"
).split()
_OF_ACTIVATIONS = {
    "elu": ["alpha=.5", "alpha=2."],
    "gelu": ["approximate=True"],
    "leaky_relu": ["negative_slope=.5"],
    "relu": ["negative_slope=.5", "max_value=6.", "threshold=1.", "negative_slope=.5, max_value=2., threshold=.5"],
}
_NN = "crelu elu gelu l2_loss leaky_relu relu relu6 selu silu softplus softsign".split()
_MATH = (
    "abs acos acosh asin asinh atan atanh ceil cos cosh erf erfc exp expm1 floor log log1p reciprocal "
    "reciprocal_no_nan rint round rsqrt sigmoid sign sin sinh sqrt square tan tanh"
).split()
_LOSSES = ("binary_crossentropy hinge huber KLD MAE MAPE MSE logcosh poisson cosine_similarity").split()
_PAIRS = (
    "atan2 divide divide_no_nan floordiv floormod maximum minimum multiply multiply_no_nan pow squared_difference "
    "subtract xdivy xlog1py xlogy"
).split()
_REDUCTIONS = (
    "reduce_max reduce_min reduce_mean reduce_prod reduce_std reduce_variance reduce_euclidean_norm reduce_logsumexp "
    "cumprod cumsum l2_normalize"
).split()


def kinks() -> Iterator[str]:
    """Yields values and slopes where functions have edges, ties and poles."""
    floats = "float16", "float32", "float64"
    functions = [f"tf.keras.activations.{name}" for name in _ACTIVATIONS]
    functions += [f"lambda x: tf.keras.activations.{n}(x, {a})" for n, many in _OF_ACTIVATIONS.items() for a in many]
    functions += [f"tf.nn.{name}" for name in _NN] + [f"tf.math.{name}" for name in _MATH]
    functions += [
        "lambda x: tf.clip_by_value(x, -1., 2.)",
        "lambda x: tf.nn.silu(x, 2.)",
        "lambda x: tf.nn.leaky_relu(x, .5)",
    ]
    for function, dtype in itertools.product(functions, floats):
        yield f"g({function}, '{KINKS}', '{dtype}')"
    values, others = "1. -1. 0. 2. 0. -0. 3. inf nan", "1. 1. 0. 2. -0. 1. 1.5 1. 1."
    for name, dtype in itertools.product(_PAIRS, floats):
        yield f"g2(tf.math.{name}, '{values}', '{others}', '{dtype}')"
    for name, dtype in itertools.product(_LOSSES, floats):
        for labels, predictions in (("1. 1. 0. 1. 0. -1.", "1. 0. 1. -1. 0. -1."), ("0. 1. 0. 1.", "0. 1. 1. 0.")):
            yield f"g2(tf.keras.losses.{name}, '{labels}', '{predictions}', '{dtype}')"
    for name, dtype in itertools.product(_REDUCTIONS, floats):
        for numbers in ("1. 3. 3. -2.", "0. 0. 0.", "0. 2. 3.", "-0. 0.", "inf 1.", "nan 1."):
            yield f"g(tf.math.{name}, '{numbers}', '{dtype}')"


_COMPLEX = (
    "abs acos acosh angle asin asinh atan atanh conj cos cosh exp expm1 imag log log1p negative real reciprocal "
    "reciprocal_no_nan rsqrt sigmoid sign sin sinh sqrt square tan tanh"
).split()
_COMPLEX_PAIRS = (
    "add divide divide_no_nan multiply multiply_no_nan pow squared_difference subtract xdivy xlogy xlog1py".split()
)
_COMPLEX_REDUCTIONS = (
    "cumprod cumsum reduce_euclidean_norm reduce_mean reduce_prod reduce_std reduce_sum reduce_variance l2_normalize"
).split()
_OF_MATRICES = (
    "tf.linalg.adjoint(x)",
    "tf.linalg.band_part(x, 1, 0)",
    "tf.linalg.cholesky(tf.matmul(x, x, adjoint_b=True) + tf.eye(2, dtype=x.dtype))",
    "tf.linalg.det(x)",
    "tf.linalg.diag(x)",
    "tf.linalg.diag_part(x)",
    "tf.linalg.inv(x)",
    "tf.linalg.matmul(x, x, adjoint_a=True)",
    "tf.linalg.matmul(x, x, transpose_b=True)",
    "tf.linalg.matmul(x, x)",
    "tf.linalg.matrix_transpose(x, conjugate=True)",
    "tf.linalg.matvec(x, x[0])",
    "tf.linalg.norm(x)",
    "tf.linalg.norm(x, 1, axis=0)",
    "tf.linalg.set_diag(x, x[0])",
    "tf.linalg.solve(x, x + 1.)",
    "tf.linalg.solve(x, x + 1., adjoint=True)",
    "tf.linalg.trace(x)",
    "tf.linalg.triangular_solve(x, x + 1.)",
    "tf.linalg.triangular_solve(x, x + 1., lower=False, adjoint=True)",
    "tf.linalg.tensor_diag_part(x)",
    "tf.einsum('ij,kj->ik', x, tf.math.conj(x))",
    "tf.tensordot(x, x, 1)",
    "tf.concat([x, 2. * x], 0)",
    "tf.transpose(x, conjugate=True)",
    "tf.reshape(x, [4])",
    "tf.gather(x, [1, 1])",
    "tf.pad(x, [[1, 0], [0, 1]])",
    "tf.where([[True, False], [False, True]], x, x * x)",
    "tf.reduce_prod(x, 0)",
    "tf.reduce_prod(x, [0, 1])",
    "tf.reduce_sum(x, 1)",
    "tf.cumsum(x, 1, reverse=True)",
    "tf.math.cumprod(x, 1, exclusive=True)",
    "tf.math.segment_sum(x, [0, 0])",
    "tf.math.segment_mean(x, [0, 0])",
    "tf.math.segment_prod(x, [0, 0])",
    "tf.math.unsorted_segment_prod(x, [0, 0], 1)",
    "tf.math.unsorted_segment_sum(x, [1, 0], 2)",
    "tf.add_n([x, x * x])",
    "tf.cast(tf.math.real(x), x.dtype)",
    "tf.complex(tf.math.imag(x), tf.math.real(x))",
    "tf.broadcast_to(x, [3, 2, 2])",
    "tf.tile(x, [2, 1])",
    "tf.reverse(x, [0])",
    "tf.roll(x, 1, 0)",
    "tf.stack([x, tf.math.conj(x)])",
    "tf.clip_by_norm(x, 1.)",
    "tf.nn.l2_normalize(x, 0)",
)


def complexes() -> Iterator[str]:
    """Yields values and gradients of all functions that accept complex numbers."""
    numbers = "1+2j 0j -.5+.25j 3-1j -2+0j 1j"
    for dtype in ("complex64", "complex128"):
        for name in _COMPLEX:
            yield f"g(tf.math.{name}, '{numbers}', '{dtype}')"
        for beta in ("1.", "2."):
            yield f"g(lambda x: tf.nn.silu(x, {beta}), '{numbers}', '{dtype}')"
        for name in _COMPLEX_PAIRS:
            yield f"g2(tf.math.{name}, '1+2j -.5+.25j 3-1j 2+0j', '2-1j 1+1j -.5j 3+0j', '{dtype}')"
        for name in _COMPLEX_REDUCTIONS:
            for some in ("1+2j -.5+.25j 3-1j", "1+2j 0j 3-1j", "0j 0j 1j"):
                yield f"g(tf.math.{name}, '{some}', '{dtype}')"
        for expression in _OF_MATRICES:
            yield f"g(lambda x: {expression}, '1+2j .5-1j -1j 2+.5j', '{dtype}', [2, 2])"


def strings() -> Iterator[str]:
    """Yields the arguments of string ops."""
    texts = "['', 'a', 'a b', ' a  b c ', 'a,b,,c', 'ab,abab', 'Bär wolf', '\\t x\\ny ']"
    for sep, maxsplit in itertools.product(("None", "''", "' '", "','", "'ab'"), (-2, -1, 0, 1, 2, 3, 9)):
        yield f"tf.strings.split({texts}, {sep}, maxsplit={maxsplit})"
    yield from (f"tf.strings.split('a b c', maxsplit={n})" for n in (-1, 0, 1, 2))
    for unit in ("BYTE", "UTF8_CHAR"):
        for pos, length in itertools.product((-9, -6, -5, -3, -1, 0, 1, 4, 5, 6, 9), (-9, -2, -1, 0, 1, 3, 9)):
            yield f"tf.strings.substr('Bär w', {pos}, {length}, unit='{unit}')"
            yield f"tf.strings.substr(['hello', 'wörld'], {pos}, {length}, unit='{unit}')"
        yield f"tf.strings.substr(['hello', 'ab', ''], [1, -1, 0], [-1, 2, -3], unit='{unit}')"
        yield f"tf.strings.substr([['hello'], ['abc']], [0, 1, -2], [2, -1, 1], unit='{unit}')"
        yield f"tf.strings.length({texts}, unit='{unit}')"
    yield from _numbers_as_texts()
    for numbers in (
        "['1', ' 2 ', '-3', '+4']",
        "['1.5', '1e3', 'inf', '-nan', '.5', '5.']",
        "['0x1f']",
        "['1_000']",
        "['']",
        "['1 2']",
    ):
        for dtype in ("float32", "float64", "int32", "int64"):
            yield f"tf.strings.to_number({numbers}, tf.{dtype})"
    yield from _joined_and_rewritten(texts)
    for errors in ("strict", "replace", "ignore"):
        for name in ("unicode_decode", "unicode_split"):
            yield f"tf.strings.{name}(['Bär', b'a\\xffb', ''], 'UTF-8', errors='{errors}')"
            yield f"tf.strings.{name}(['Bär', b'a\\xffb', ''], 'UTF-8', errors='{errors}', replacement_char=63)"
        yield f"tf.strings.unicode_transcode(['Bär', b'a\\xffb'], 'UTF-8', 'UTF-16-BE', errors='{errors}')"
        yield f"tf.strings.unicode_encode([[66, 228], [1114112, 55296]], 'UTF-8', errors='{errors}')"
    yield from (f"tf.strings.format('a {{}} b {{}}', [[1, 2], 'x'], summarize={n})" for n in (-1, 1, 3))


def _joined_and_rewritten(texts: str) -> Iterator[str]:
    for axis, keepdims in itertools.product(("None", "0", "1", "-1", "[0, 1]", "[1, 0]", "[]", "2"), ("True", "False")):
        yield f"tf.strings.reduce_join([['a', 'b'], ['c', 'd']], {axis}, {keepdims}, '-')"
    yield "tf.strings.join([['a', 'b'], 'x', ['c', 'd']], '+')"
    for rewrite, everywhere in itertools.product(("'x'", "''", r"'<\\0>'", r"'\\1\\1'"), ("True", "False")):
        yield f"tf.strings.regex_replace({texts}, '(a|b)+', {rewrite}, {everywhere})"
    yield from (
        f"tf.strings.regex_full_match({texts}, {pattern!r})" for pattern in ("a.*", ".*b.*", "", "[a-z ]+", "(?i)A")
    )
    for name, encoding in itertools.product(("lower", "upper"), ("", "utf-8")):
        yield f"tf.strings.{name}(['ÄÖü aB', ''], encoding='{encoding}')"
    yield f"tf.strings.strip({texts})"
    yield f"tf.strings.bytes_split({texts})"


def _numbers_as_texts() -> Iterator[str]:
    values = (
        "tf.constant([3, -14, 0])",
        "tf.constant([3, 255], tf.uint8)",
        "tf.constant([-7], tf.int8)",
        "tf.constant([2**40, -1], tf.int64)",
        "tf.constant([3.25, -14., 0., 1e10, float('inf'), float('nan')])",
        "tf.constant([1/3, -2e-7], tf.float64)",
        "tf.constant([1.5, -2.25], tf.float16)",
        "tf.constant([True, False])",
        "tf.constant([1+2j, -.5j], tf.complex64)",
        "tf.constant(['a', ''])",
    )
    for value, fill, width in itertools.product(values, ("", " ", "0", "-", "+", "x", "00"), (-1, 0, 1, 9)):
        yield f"tf.strings.as_string({value}, width={width}, fill='{fill}')"
    for value, precision, mode in itertools.product(
        values, (-1, 0, 3, 12), ("", "scientific=True", "shortest=True", "scientific=True, shortest=True")
    ):
        yield f"tf.strings.as_string({value}, precision={precision}, {mode})"
    for precision, width, fill in itertools.product((0, 2, 9), (-1, 0, 1, 6), ("", "-", "0")):
        yield f"tf.strings.as_string(['abcd', ''], precision={precision}, width={width}, fill='{fill}')"
    for fill in ("", "0", " ", "+", "-"):
        yield f"tf.strings.as_string(tf.constant([np.inf + 0j, np.nan + 1j]), width=9, fill='{fill}')"
        yield f"tf.strings.as_string([-np.inf, np.inf, np.nan, 1.], width=9, fill='{fill}')"
    for value in values[4:6]:
        for fill, mode in itertools.product((" ", "0", "+", "-"), ("scientific=True", "shortest=True")):
            yield f"tf.strings.as_string({value}, precision=2, width=12, fill='{fill}', {mode})"


_NP_ELEMENTWISE = (
    "abs absolute arccos arccosh arcsin arcsinh arctan arctanh ceil cos cosh exp expm1 fabs floor isfinite isnan log "
    "log10 log1p log2 logical_not negative positive reciprocal sign sin sinh sqrt square tan tanh array copy ones_like "
    "zeros_like asarray asanyarray ascontiguousarray ndim"
).split()
_NP_UNARY = (
    "all amax amin any argmax argmin argsort count_nonzero cumprod cumsum diag flatten flip max mean min nonzero prod "
    "ravel sort squeeze std sum trace transpose tril triu var"
).split()
_NP_BINARY = (
    "add append arctan2 array_equal allclose divide dot equal floor_divide greater inner isclose less logical_and "
    "logical_xor matmul maximum minimum mod multiply not_equal outer power subtract tensordot vdot"
).split()
_NP_SHAPED = {
    "trace": ("1", "-1", "9", "-9", "0, 1, 0", "0, 0, 2", "0, -2, -1", "1, -1, -2", "1, 1, 2, 'float32'", "0, 1, 1"),
    "sum": ("0", "-1", "1, keepdims=True", "axis=(0, 1)"),
    "mean": ("0", "-1", "1, keepdims=True", "axis=(0, 1)"),
    "prod": ("0", "-1"),
    "max": ("0", "-1", "1, keepdims=True"),
    "min": ("0", "axis=(0, 1)"),
    "all": ("0", "-1"),
    "any": ("0", "-1"),
    "std": ("0", "-1"),
    "var": ("0", "-1", "axis=0, ddof=1"),
    "argmax": ("0", "-1"),
    "argmin": ("1",),
    "argsort": ("0", "None"),
    "sort": ("0", "None"),
    "cumsum": ("0", "-1"),
    "cumprod": ("1",),
    "count_nonzero": ("0",),
    "diag": ("1", "-1"),
    "expand_dims": ("0", "-1", "2"),
    "flip": ("0", "-1", "(0, 1)"),
    "moveaxis": ("0, -1", "1, 0", "-1, 1"),
    "swapaxes": ("0, 1", "-1, 0"),
    "roll": ("1", "1, 0", "-2, -1", "(1, 2), (0, 1)"),
    "repeat": ("2", "2, 0", "3, -1"),
    "tile": ("2", "(2, 1)", "(1, 2, 1)"),
    "transpose": ("(1, 0)", "(2, 0, 1)", "(-1, 0, 1)"),
    "tril": ("1", "-1"),
    "triu": ("1", "-1"),
    "take": ("[0, 1]", "[1, 0], 0", "[[0]], -1", "[9, -9]", "[-1, 7], 0"),
    "reshape": ("-1", "(-1, 1)"),
    "squeeze": ("0", "-1"),
    "clip": ("0., 2.", "1, 3"),
    "broadcast_to": ("(2, 3, 4)", "(5, 1, 2, 3, 4)"),
    "split": ("2", "[1]", "2, -1"),
    "round": ("1", "-1"),
}
_LENGTHS = ((), (4,), (3, 4), (2, 3, 4), (2, 1, 3, 4))


def numpy_functions() -> Iterator[str]:
    """Yields the functions of `tf.experimental.numpy` at ranks 0 to 4."""
    for dtype in ("float32", "int32", "bool"):
        for lengths in _LENGTHS:
            yield from (f"tf.experimental.numpy.{name}(a({lengths}, '{dtype}'))" for name in _NP_UNARY)
        for lengths in _LENGTHS[:3:2]:
            yield from (f"tf.experimental.numpy.{name}(a({lengths}, '{dtype}'))" for name in _NP_ELEMENTWISE)
    for lengths, (name, many) in itertools.product(_LENGTHS, _NP_SHAPED.items()):
        for dtype in ("float64", "int32") if name in ("trace", "sum", "prod", "cumsum", "sort") else ("float64",):
            array = f"a({lengths}, '{dtype}')"
            yield from (f"tf.experimental.numpy.{name}({array}, {arguments})" for arguments in many)
    for one, other in itertools.product(_LENGTHS, repeat=2):
        for name in _NP_BINARY:
            yield f"tf.experimental.numpy.{name}(a({one}, 'float32'), a({other}, 'int32'))"
    for lengths in _LENGTHS:
        for name in ("hstack", "vstack", "stack", "concatenate"):
            yield f"tf.experimental.numpy.{name}([a({lengths}, 'float32'), a({lengths}, 'float32')])"


def batches() -> Iterator[str]:
    """Yields calls of TensorFlow 1's batched gather, with lists, arrays and tensors."""
    for rank in (1, 2, 3, 4):
        lengths, count = (2, 3, 4, 2)[:rank], int(np.prod((2, 3, 4, 2)[:rank]))
        params = f"np.arange({count}).reshape{lengths}"
        for indices in (
            "[0, 1]",
            "[[0, 2], [1, 1]]",
            "[[[0], [2], [1]], [[1], [1], [0]]]",
            "0",
            "[[5, 0], [0, 0]]",
            "[[-1, 0], [0, 0]]",
        ):
            for form in ("{}", "tf.constant({})", "np.array({}, np.int64)"):
                yield f"tf.compat.v1.batch_gather({params}, {form.format(indices)})"


_DTYPES = "int8 uint8 int16 uint16 int32 uint32 int64 uint64 float16 float32 float64 complex64 complex128".split()


def quotients() -> Iterator[str]:
    """Yields `divide_no_nan` of every dtype: with Python numbers on either side, eagerly and in a graph."""
    for dtype in _DTYPES:
        numbers = f"tf.constant([0, 1, 2, 3, 100], tf.{dtype})"
        yield f"tf.math.divide_no_nan({numbers}, {numbers}[::-1])"
        for number in ("0", "3", "0.", "2.5"):
            yield f"tf.math.divide_no_nan({number}, {numbers})"
            yield f"tf.math.divide_no_nan({numbers}, {number})"
            yield f"tf.function(lambda x: tf.math.divide_no_nan({number}, x))({numbers})"
            yield f"tf.function(lambda x: tf.math.divide_no_nan(x, {number}))({numbers})"
            yield f"tf.math.divide_no_nan({number}, tf.Variable({numbers}))"
        yield from (f"tf.math.divide_no_nan({numbers}, tf.constant(2, tf.{other}))" for other in _DTYPES[8:])
    special = "0. -0. 1. 6e-8 65504. inf -inf nan"
    for dtype in _DTYPES[8:11]:
        yield f"g2(tf.math.divide_no_nan, '{special}', '{' '.join(special.split()[::-1])}', '{dtype}')"
        yield f"g2(tf.math.divide_no_nan, '{special}', '0. 0. 0. -0. 0. 0. 0. 0.', '{dtype}')"


SECTIONS: dict[str, Callable[[], Iterator[str]]] = {
    "kinks": kinks,
    "complexes": complexes,
    "strings": strings,
    "numpy": numpy_functions,
    "batches": batches,
    "quotients": quotients,
}


# Answers


def names(tf: Any) -> dict[str, Any]:
    """Returns the names that expressions may use: `a` makes an array, `g` and `g2` return values and gradients."""

    def numbers(text: str, dtype: str, shape: Any) -> Any:
        convert = complex if dtype.startswith("complex") else float
        return tf.constant(np.array([convert(word) for word in text.split()]).astype(dtype).reshape(shape or [-1]))

    def derived(function: Any, inputs: list[Any]) -> list[Any]:
        with tf.GradientTape() as tape:
            tape.watch(inputs)
            result = function(*inputs)
        return [result, *tape.gradient(result, inputs)]

    def g(function: Any, text: str, dtype: str, shape: Any = None) -> Any:
        return derived(function, [numbers(text, dtype, shape)])

    def g2(function: Any, first: str, second: str, dtype: str) -> Any:
        return derived(function, [numbers(first, dtype, None), numbers(second, dtype, None)])

    def a(shape: tuple[int, ...], dtype: str) -> Any:
        count = int(np.prod(shape))
        return ((np.arange(count) * 7) % 5 - 1).reshape(shape).astype(dtype)

    return {"tf": tf, "np": np, "a": a, "g": g, "g2": g2}


def answer(code: str, space: dict[str, Any]) -> Any:
    """Returns the answer of an expression as JSON data."""
    try:
        return plain(eval(code, dict(space)))
    except Exception as error:  # the error's class is the answer
        return {"error": type(error).__name__}


def recorded_answers(codes: Iterator[str], space: dict[str, Any]) -> dict[str, Any]:
    """Returns the answers to keep, without functions that do not run with the installed NumPy."""
    answers = {code: answer(code, space) for code in dict.fromkeys(codes)}
    return {code: value for code, value in answers.items() if value != {"error": "AttributeError"}}


def plain(value: Any) -> Any:
    """Returns dtype, shape and elements; strings as Latin-1, complex numbers as pairs, lists part by part."""
    if value is None or isinstance(value, bool | int):
        return value
    if isinstance(value, list | tuple):
        return [plain(part) for part in value]
    if hasattr(value, "to_list"):
        return {"ragged": json.loads(json.dumps(value.to_list(), default=_text))}
    if hasattr(value, "dense_shape"):
        return [plain(value.values), plain(value.indices)]
    array = np.asarray(value.numpy() if hasattr(value, "numpy") else value)
    if array.dtype.kind == "S":
        array = array.astype(object)
    name = "string" if array.dtype == object else array.dtype.name
    flat = array.reshape(-1)
    if name == "string":
        elements: Any = [text.decode("latin-1") for text in flat.tolist()]
    elif array.dtype.kind == "c":
        elements = [[_short(z.real), _short(z.imag)] for z in flat.tolist()]
    else:
        elements = [_short(x) if array.dtype.kind == "f" else x for x in flat.tolist()]
    return [name, list(array.shape), elements]


def _text(item: Any) -> Any:
    return item.decode("latin-1") if isinstance(item, bytes) else item.item()


def _short(number: float) -> float:
    return float(f"{number:.7g}")


def main(module: str, recorded: str | None = None) -> None:
    """Records answers, or compares them with the recorded ones."""
    warnings.simplefilter("ignore")
    space = names(importlib.import_module(module))
    if recorded is None:
        sections = {name: recorded_answers(make(), space) for name, make in SECTIONS.items()}
        parts = [
            f"{json.dumps(name)}: {{\n"
            + ",\n".join(f"{json.dumps(k)}:{json.dumps(v, separators=(',', ':'))}" for k, v in rows.items())
            + "\n}"
            for name, rows in sections.items()
        ]
        print("{" + ",\n".join(parts) + "}")
        return
    with open(recorded) as file:
        sections = json.load(file)
    for name, rows in sections.items():
        wrong = [
            (code, expected, actual)
            for code, expected in rows.items()
            if differs(expected, actual := answer(code, space))
        ]
        for code, expected, actual in wrong:
            print(f"{code}\n    {expected}\n    {actual}")
        print(f"== {name}: {len(rows)} expressions, {len(wrong)} differ")


def differs(expected: Any, actual: Any) -> bool:
    """Returns whether an answer differs from the recorded one; for floats, by more than their dtype explains."""
    if isinstance(expected, dict) and "error" in expected:
        return not (isinstance(actual, dict) and "error" in actual)  # of the class, other tables tell
    if isinstance(expected, dict) or not isinstance(expected, list) or not isinstance(actual, list):
        return expected != actual
    if not (len(expected) == 3 and isinstance(expected[0], str)):
        return len(expected) != len(actual) or any(map(differs, expected, actual))
    if expected[:2] != actual[:2]:
        return True
    tolerance = {"float16": 4e-3, "float32": 2e-5, "complex64": 2e-5, "float64": 1e-6, "complex128": 1e-6}.get(
        expected[0]
    )
    if tolerance is None:
        return expected[2] != actual[2]
    wanted, got = np.array(expected[2], float), np.array(actual[2], float)
    with np.errstate(all="ignore"):
        return not np.allclose(got, wanted, rtol=tolerance, atol=tolerance, equal_nan=True)


if __name__ == "__main__":
    main(*sys.argv[1:])
