"""Are second derivatives of every op what differences of the first say?"""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import nbtf as tf
from nbtf._runtime.conversion import as_tensor
from tests.ops.arguments import arrays_in, as_double, noise, plain, tensors
from tests.ops.differences import differences
from tests.ops.listening import flat
from tests.ops.samples import Sample, all_samples

# Where TensorFlow's gradient, too, is right once only.
ONCE_ONLY = {
    "lrn": "its gradient has none",
    "crossed_with_shares": "the labels are a constant for the gradient of the logits",
    "moments": "the mean is a constant for the variance",
    "max_pool_with_argmax": "its gradient has none",
    "loss_of_sparse_label": "its gradient has none",
}
ROUGH_AT_0 = frozenset({"reduce_prod", "segment_prod", "unsorted_segment_prod", "bessel_i0e"})
"""Their gradients divide by the elements, or change with their sign: at 0 there is no second one."""


def smooth_twice(sample: Sample) -> bool:
    name = getattr(sample.function, "__name__", sample.op)
    return name not in ONCE_ONLY and not (name in ROUGH_AT_0 and 0.0 in np.asarray(sample.args[0]))


SAMPLES = [one for one in all_samples() if one.differentiable and smooth_twice(one)]


@pytest.mark.parametrize("sample", SAMPLES, ids=str)
def test_second_derivatives_are_as_differences_say(sample: Sample) -> None:
    args = [as_double(arg) for arg in plain(sample.args)]
    arrays = [one for place in sample.differentiable for one in arrays_in(args[place])]
    weights: list[Any] = []

    def first(taken: list[tf.Tensor]) -> list[Any]:
        known = dict(zip(map(id, arrays), taken, strict=True))
        with tf.GradientTape() as tape:
            tape.watch(taken)
            made = flat(sample.function(*tensors(args, known), **sample.kwargs))
        random = np.random.default_rng(7)
        return tape.gradient(made, taken, [as_tensor(noise(random, np.asarray(one.numpy()))) for one in made])

    def weighted(grads: list[Any]) -> list[Any]:
        random = np.random.default_rng(11)
        return [as_tensor(noise(random, array)) for array in arrays]

    def slope() -> float:
        grads = [as_tensor(one).numpy() for one in first([as_tensor(array) for array in arrays])]
        return float(sum(np.sum((np.conj(w.numpy()) * g).real) for w, g in zip(weights, grads, strict=True)))

    taken = [as_tensor(array) for array in arrays]
    with tf.GradientTape() as outer:
        outer.watch(taken)
        grads = first(taken)
    weights = weighted(grads)
    found = outer.gradient(grads, taken, weights)

    for array, grad in zip(arrays, found, strict=True):
        known = np.zeros_like(array) if grad is None else as_tensor(grad).numpy()
        np.testing.assert_allclose(known, differences(slope, array), rtol=1e-4, atol=1e-6)
