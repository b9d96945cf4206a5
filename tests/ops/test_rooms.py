"""Is an op in the room that one would look for it in: the section of TensorFlow's documentation?"""

from __future__ import annotations

import json
from functools import reduce
from pathlib import Path

import nbtf as tf

SECTIONS: dict[str, list[str]] = json.loads((Path(__file__).parents[1] / "recorded/sections.json").read_text("utf-8"))
"""The public functions and classes of `_ops` by the section that documents them: TensorFlow 2.21's canonical names."""

ROOMS = {
    "tf": {"arrays", "control", "variables", "ragged_and_sparse", "module", "python_functions"},
    "math": {"math", "reductions"},
    "bitwise": {"math"},
    "dtypes": {"math"},
    "ragged": {"ragged_and_sparse"},
    "sparse": {"ragged_and_sparse"},
}
"""Where one looks for a section; every other has a room, or a file, of its own name."""

ELSEWHERE = {
    *("tf.argsort", "tf.cast", "tf.clip_by_value", "tf.sort", "tf.truncatediv", "tf.truncatemod", "tf.where"),
    *("tf.clip_by_global_norm", "tf.clip_by_norm", "tf.einsum", "tf.eye", "tf.norm", "tf.tensordot"),
    *("io.decode_raw", "math.invert_permutation", "math.l2_normalize", "math.softplus", "nn.l2_loss", "nn.moments"),
}
"""Those that stand with their kin: functions of numbers and matrices that TensorFlow documents at its root."""


def room_of(name: str) -> str:
    function = reduce(getattr, name.removeprefix("tf.").split("."), tf)
    return function.__module__.removeprefix("nbtf._ops.").split(".")[0]


def test_an_op_stands_in_the_room_of_its_section() -> None:
    names = {f"{section}.{name}": section for section, members in SECTIONS.items() for name in members}

    strangers = {name for name, section in names.items() if room_of(name) not in ROOMS.get(section, {section})}

    assert ELSEWHERE == strangers
    assert len(names) > 320
    assert len(strangers) < 0.1 * len(names)
