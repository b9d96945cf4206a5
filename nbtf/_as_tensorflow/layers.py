"""The layers and phases of Keras 3 in nbtf's events, in the words of `tf.keras`, and the program's lines around it."""

from __future__ import annotations

import sys

from nbtf._devices.sites import skip_lines_of
from nbtf._frameworks.keras_frames import OF_LAYERS, scope_path, user_frame
from nbtf._runtime.phases import FORWARD, LIBRARY

_PACKAGES = ("keras", "optree", "contextlib", "functools")
"""The packages whose frames lie between a line of the program and an op of Keras."""


def describe_ops() -> None:
    """Adds the phase, the layer and the program's line to the events of ops that Keras runs, from now on."""
    skip_lines_of(*_PACKAGES)
    LIBRARY.describe = _phase_and_layer


def _phase_and_layer() -> tuple[str, str]:
    phase = user_frame(sys._getframe(1))[1]
    layer = scope_path() if phase in OF_LAYERS else ""
    return phase or (FORWARD if layer else ""), layer
