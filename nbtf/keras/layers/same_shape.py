"""The base class of layers whose results have the shape of the input."""

from __future__ import annotations

from typing import Any

from nbtf.keras.layers.base import Layer


class SameShape(Layer):
    """A layer whose results have the shape and the mask of the input, and whose `call` calls no other layer."""

    _leaf = True
    supports_masking = True

    def compute_output_shape(self, input_shape: Any) -> Any:
        return input_shape
