"""Which line of the user's program runs a TensorFlow op, and which part of TensorFlow or Keras lies in between?"""

from __future__ import annotations

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
