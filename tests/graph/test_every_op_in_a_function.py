"""Every op does in a function that was traced with other values what it does at once."""

from __future__ import annotations

import logging
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import nbtf as tf
from nbtf._runtime.context import Context, use_context
from tests.ops.arguments import tensors
from tests.ops.listening import flat
from tests.ops.samples import Made, Sample, all_samples
from tests.sweeps import check_each

UNTRACED = frozenset(
    """
    Pack Unpack StatefulRandomBinomial UnsortedSegmentSum DenseBincount RaggedTensorToTensor StringSplitV2 StringSplit
    UnicodeEncode SparseToDense SparseTensorDenseMatMul SparseFillEmptyRows SparseAdd
    """.split()
)
"""Ops of which some public function needs values, so that the Python code around it is run as it is."""


def is_run_alone(sample: Sample) -> bool:
    """Whether a function may consist of the op: it takes tensors, returns one, and draws no numbers of its own."""
    classes = {type(part) for arg in sample.args for part in (arg if isinstance(arg, list | tuple) else [arg])}
    is_random = sample.op.startswith("Random") or sample.op in ("TruncatedNormal", "Multinomial")
    return not is_random and classes.isdisjoint({Made, slice}) and sample.op not in ("NoOp", "VarHandleOp", "WriteFile")


SAMPLES = [sample for sample in all_samples() if is_run_alone(sample)]


def spec_of(value: Any, is_open: bool) -> Any:
    """What stands for an argument: specs for arrays, with all lengths or none."""
    if isinstance(value, np.ndarray):
        dtype = tf.string if value.dtype == object else tf.as_dtype(value.dtype)
        return tf.TensorSpec([None] * value.ndim if is_open else value.shape, dtype)
    return type(value)([spec_of(item, is_open) for item in value]) if type(value) in (list, tuple) else value


def bits_of(function: Callable[..., Any], sample: Sample) -> list[Any]:
    """Dtype, shape and bytes of all results."""
    results = [np.asarray(x.numpy()) for x in flat(function(*tensors(list(sample.args))))]
    return [(array.dtype.name, array.shape, values_of(array)) for array in results]


def values_of(array: Any) -> Any:
    """Its bytes; texts as they are."""
    return array.tolist() if array.dtype == object else array.tobytes()


def test_it_gives_the_same_bits(caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.WARNING)
    check_each(SAMPLES, lambda sample: a_function_gives_the_same_bits(sample, caplog))


def a_function_gives_the_same_bits(sample: Sample, caplog: pytest.LogCaptureFixture) -> None:
    caplog.clear()

    def at_once(*args: Any) -> Any:
        return sample.function(*args, **sample.kwargs)

    with use_context(Context(environ={})):
        expected = bits_of(at_once, sample)
        for is_open in (False, True):
            function = tf.function(lambda args: at_once(*args), autograph=False)
            function.get_concrete_function([spec_of(arg, is_open) for arg in sample.args])
            assert expected == bits_of(lambda *args, function=function: function(list(args)), sample)
            if not is_open and sample.op not in UNTRACED:
                assert "not traced" not in caplog.text
