"""Are random numbers those that were recorded from TensorFlow?"""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import nbtf as tf

CASES = json.loads((Path(__file__).parent / "random.json").read_text())["cases"]


def after(generator: Any, step: Callable[[Any], Any]) -> Any:
    step(generator)
    return generator


def seeded(seed: int, draw: Callable[[], Any]) -> Any:
    tf.random.set_seed(seed)
    return draw()


NAMES = {"tf": tf, "np": np, "G": tf.random.Generator, "after": after, "seeded": seeded}


@pytest.mark.parametrize("case", CASES, ids=[case["code"] for case in CASES])
def test_numbers_are_those_recorded_from_tensorflow(case: dict[str, Any]) -> None:
    found = tf.convert_to_tensor(eval(case["code"], NAMES))
    assert case["dtype"] == found.dtype.name
    if found.dtype.is_floating:
        np.testing.assert_allclose(found.numpy(), case["values"], rtol=2e-3 if found.dtype.size == 2 else 1e-6)
    else:
        assert case["values"] == found.numpy().tolist()
