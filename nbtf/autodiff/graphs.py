"""What of gradients belongs to graphs: names that programs mention, and functions that refuse."""

from __future__ import annotations

from typing import Any, NoReturn

_EAGER = "tf.gradients is not supported when eager execution is enabled. Use tf.GradientTape instead."


class AggregationMethod:
    """Ways to add gradients up, which functions accept; they all give the same sum."""

    ADD_N = 0
    DEFAULT = 0
    EXPERIMENTAL_TREE = 1
    EXPERIMENTAL_ACCUMULATE_N = 2


def gradients(
    ys: Any,
    xs: Any,
    grad_ys: Any = None,
    name: str | None = "gradients",
    gate_gradients: bool = False,
    aggregation_method: int | None = None,
    stop_gradients: Any = None,
    unconnected_gradients: Any = None,
) -> NoReturn:
    """Refuses, as in TensorFlow: gradients of what runs at once need a `tf.GradientTape`.

    Args:
      ys: accepted and ignored, as all that follows.
      xs: as above.
      grad_ys: as above.
      name: as above.
      gate_gradients: as above.
      aggregation_method: as above.
      stop_gradients: as above.
      unconnected_gradients: as above.

    Raises:
      RuntimeError: always.
    """
    raise RuntimeError(_EAGER)


def hessians(
    ys: Any, xs: Any, gate_gradients: bool = False, aggregation_method: int | None = None, name: str = "hessians"
) -> NoReturn:
    """Refuses, as in TensorFlow: use `GradientTape.jacobian` of a gradient.

    Args:
      ys: accepted and ignored, as all that follows.
      xs: as above.
      gate_gradients: as above.
      aggregation_method: as above.
      name: as above.

    Raises:
      RuntimeError: always.
    """
    raise RuntimeError(_EAGER)
