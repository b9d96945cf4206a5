"""Which line of the user's program runs an op, and which part of TensorFlow or Keras lies in between?

For TensorFlow itself, which is watched, and for the real Keras on nbtf.
"""

from __future__ import annotations

import sys
from types import FrameType

from nbtf._runtime.phases import ALL_REDUCE, BACKWARD, FORWARD, INPUT, METRICS, UPDATE

_PARTS = (
    ("tensorflow.python.distribute.cross_device", ALL_REDUCE),
    ("keras.src.metrics.", METRICS),
    ("tf_keras.src.metrics.", METRICS),
    ("keras.src.optimizers.", UPDATE),
    ("tf_keras.src.optimizers.", UPDATE),
    ("tensorflow.python.eager.backprop", BACKWARD),
    ("tensorflow.python.eager.imperative_grad", BACKWARD),
    ("keras.src.trainers.data_adapters.", INPUT),
    ("keras.src.trainers.epoch_iterator", INPUT),
    ("tf_keras.src.engine.data_adapter", INPUT),
    ("tensorflow.python.data.", INPUT),
    ("keras.src.layers.layer", FORWARD),
    ("keras.src.losses.", FORWARD),
    ("tf_keras.src.engine.base_layer", FORWARD),
    ("tf_keras.src.losses", FORWARD),
)
"""The modules that reveal a phase, the phase that counts most first."""
_PHASES = (ALL_REDUCE, METRICS, UPDATE, BACKWARD, INPUT, FORWARD, "")
_NONE = len(_PHASES) - 1
_USERS = -1
_OURS = frozenset(
    {"tensorflow", "keras", "tf_keras", "nbtf", "contextlib", "functools", "threading", "concurrent", "wrapt"}
)
_GENERATED = "__autograph_generated_file"


class _Ranks(dict[str, int]):
    """For each module, the rank of the phase that it reveals; -1 for the user's modules."""

    def __missing__(self, module: str) -> int:
        rank = _USERS
        if module.partition(".")[0] in _OURS or module.startswith(_GENERATED):
            phase = next((phase for prefix, phase in _PARTS if module.startswith(prefix)), "")
            rank = _PHASES.index(phase)
        self[module] = rank
        return rank


_RANKS = _Ranks()


_SCOPES = "keras.src.backend.common.name_scope"
OF_LAYERS = frozenset({FORWARD, BACKWARD, ""})
"""The phases in which Keras' scopes are layers; an optimizer opens scopes as well."""


def scope_path() -> str:
    """Returns the path of the Keras scope that is open, such as `sequential/dense`."""
    scopes = sys.modules.get(_SCOPES)
    return "" if scopes is None else scopes.current_path()


def user_frame(frame: FrameType | None) -> tuple[FrameType | None, str]:
    """Returns the user's nearest frame, starting at a frame, and the phase that the frames before it reveal."""
    lowest = _NONE
    while frame is not None:
        rank = _RANKS[frame.f_globals.get("__name__", "")]
        if rank < 0:
            if _GENERATED not in frame.f_code.co_filename:  # AutoGraph runs the user's code under another name
                return frame, _PHASES[lowest]
        elif rank < lowest:
            lowest = rank
        frame = frame.f_back
    return None, _PHASES[lowest]
