"""In which forms sessions print where their nodes are placed: those of several releases of TensorFlow."""

from __future__ import annotations

from typing import NamedTuple


class LogStyle(NamedTuple):
    """How a release printed the placement of a graph.

    Attributes:
      op_types: whether a line names the type of the op, `MatMul: (MatMul): ...`.
      short_devices: whether devices are spelled `/gpu:0`.
      capability: whether the device mapping ends with the compute capability.
      creation_order: whether nodes stand as they were created; else as the graph was rebuilt, the last one first.
      generators_last: whether what has no inputs and one output stands behind all other nodes.
      simulated: whether the device mapping says so of a simulated card; no release did.
    """

    op_types: bool
    short_devices: bool
    capability: bool
    creation_order: bool
    generators_last: bool
    simulated: bool = False


# Source: what TensorFlow of these releases printed; 0.12 is also the form of 0.5 to 0.11, 1.0 that of 1.0 to 1.3, and
# 1.4 that of 1.4 to 1.15.
STYLES = {
    "0.12": LogStyle(False, True, False, False, False),
    "1.0": LogStyle(True, True, False, False, True),
    "1.4": LogStyle(True, False, True, False, True),
    "2.21": LogStyle(True, False, True, True, True, simulated=True),
}
CURRENT_STYLE = "2.21"
