"""The formats in which several TensorFlow releases printed where a session placed its nodes."""

from __future__ import annotations

from typing import NamedTuple


class LogStyle(NamedTuple):
    """How a release printed the placement of a graph.

    Attributes:
      op_types: whether a line includes the op's type, `MatMul: (MatMul): ...`.
      short_devices: whether devices are written as `/gpu:0`.
      capability: whether the device mapping ends with the compute capability.
      creation_order: whether nodes are listed in creation order; otherwise as the graph was rebuilt, last one first.
      generators_last: whether nodes with no inputs and one output are listed after all others.
      simulated: whether the device mapping labels simulated GPUs; no TensorFlow release did.
    """

    op_types: bool
    short_devices: bool
    capability: bool
    creation_order: bool
    generators_last: bool
    simulated: bool = False


# Source: output of these TensorFlow releases. 0.12 is also the format of 0.5 to 0.11, 1.0 that of 1.0 to 1.3, and 1.4
# that of 1.4 to 1.15.
STYLES = {
    "0.12": LogStyle(False, True, False, False, False),
    "1.0": LogStyle(True, True, False, False, True),
    "1.4": LogStyle(True, False, True, False, True),
    "2.21": LogStyle(True, False, True, True, True, simulated=True),
}
CURRENT_STYLE = "2.21"
