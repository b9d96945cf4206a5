"""Keras 3 computes LSTM and GRU layers with cuDNN where TensorFlow lists a GPU. nbtf has GPUs without cuDNN."""

from __future__ import annotations

import sys
from typing import Any

from nbtf._frameworks.importing import on_import

_MODULE = "keras.src.backend.tensorflow.rnn"


def leave_out_cudnn() -> None:
    """Makes Keras compute recurrent layers step by step on every device, as it does on CPUs.

    Keras asks its own function `_is_gpu_available`, whose answer is this one from the moment that it is defined.
    """
    begin, _ = on_import(_MODULE, _answer)
    begin()


def _answer() -> None:
    module: Any = sys.modules[_MODULE]
    module._is_gpu_available = lambda: False
