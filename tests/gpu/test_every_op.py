"""Does every op return the same result on a GPU as on the CPU?"""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from nbtf._runtime.context import Context, use_context
from tests.gpu.conftest import REAL
from tests.ops.samples import Sample, all_samples, samples_of_each_op
from tests.ops.test_every_op import call, flat

TOLERANCES = {"float16": 4e-3, "float32": 2e-5, "complex64": 2e-5, "float64": 1e-10, "complex128": 1e-10}
"""Relative to the largest value in a result; sums are computed in another order."""


def results(sample: Sample, context: Context) -> list[Any]:
    with use_context(context):
        return [np.asarray(one.numpy()) for one in flat(call(sample))]


@pytest.mark.parametrize("sample", all_samples() if REAL else samples_of_each_op(), ids=str)
def test_it_gives_what_the_cpu_gives(sample: Sample, on_a_gpu: Context) -> None:
    there, here = results(sample, on_a_gpu), results(sample, Context(environ={"NBTF_GPU": "off"}))

    assert [(one.dtype, one.shape) for one in here] == [(one.dtype, one.shape) for one in there]
    for expected, found in zip(here, there, strict=True):
        tolerance = TOLERANCES.get(expected.dtype.name)
        if tolerance is None:
            assert expected.tolist() == found.tolist()
        else:
            finite = np.abs(expected[np.isfinite(expected)])
            scale = float(finite.max()) if finite.size else 1.0
            np.testing.assert_allclose(found, expected, rtol=tolerance, atol=tolerance * max(scale, 1e-30))
