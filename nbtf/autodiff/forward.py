"""`tf.autodiff.ForwardAccumulator`: products of Jacobians and tangents."""

from __future__ import annotations

from typing import Any

from nbtf._ops.arrays.creation import zeros_like
from nbtf._ops.arrays.identity import identity
from nbtf._ops.structure import assert_same_structure, flatten, map_structure
from nbtf._runtime.conversion import as_tensor
from nbtf._runtime.logger import get_logger
from nbtf._runtime.tape import CONTINUOUS
from nbtf.autodiff.ends import UnconnectedGradients
from nbtf.autodiff.tape import GradientTape

_NONE = UnconnectedGradients.NONE


class ForwardAccumulator:
    """A block whose ops are recorded, so that `jvp` returns Jacobian-vector products of their results.

    TensorFlow computes the products beside each op. nbtf computes them when `jvp` is called, as the gradient of a
    gradient: `jvp` needs gradients of all recorded ops, and of the gradients' ops.

    >>> x = tf.constant([1.0, 2.0])
    >>> with tf.autodiff.ForwardAccumulator(x, tf.constant([1.0, 0.0])) as accumulator:
    ...     y = x * x
    >>> accumulator.jvp(y).numpy()
    array([2., 0.], dtype=float32)
    """

    def __init__(self, primals: Any, tangents: Any) -> None:
        """Watches tensors or variables.

        Args:
          primals: a tensor, a variable, or a structure of them.
          tangents: the direction for each of them, in the same structure.

        Raises:
          ValueError: if the structures or shapes differ, or a primal is given twice.
        """
        assert_same_structure(primals, tangents)
        self._primals = flatten(primals)
        if len({id(primal) for primal in self._primals}) < len(self._primals):
            ids = [id(primal) for primal in self._primals]
            twice = next(primal for primal in self._primals if ids.count(id(primal)) > 1)
            raise ValueError(
                f"Tensor {twice} was specified as a primal multiple times. This may indicate an error. If it was "
                "intended, please sum the corresponding tangents."
            )
        pairs = zip(self._primals, flatten(tangents), strict=True)
        self._tangents = [_as_tangent(tangent, primal) for primal, tangent in pairs]
        self._tape = GradientTape(persistent=True, watch_accessed_variables=False)
        self._recording = False

    def __enter__(self) -> ForwardAccumulator:
        """Starts recording."""
        if self._recording:
            raise ValueError("Accumulator is already recording.")
        self._tape.__enter__()
        self._recording = True
        self._tape.watch([primal for primal in self._primals if primal.dtype in CONTINUOUS])
        return self

    def __exit__(self, *details: object) -> None:
        """Stops recording."""
        self._recording = False
        self._tape.__exit__(*details)

    def jvp(self, primals: Any, unconnected_gradients: UnconnectedGradients | str = _NONE) -> Any:
        """Returns the product of the Jacobian of each result with the tangents.

        Args:
          primals: a tensor, or a structure of tensors, computed in the block.
          unconnected_gradients: result for a tensor that does not depend on the watched ones: None by default.

        Raises:
          LookupError: if an op, or an op of its gradient, has no gradient.
          ValueError: if `unconnected_gradients` is unknown.
        """
        unconnected = UnconnectedGradients(unconnected_gradients)

        def product(result: Any) -> Any:
            tangent = self._product(result)
            return zeros_like(result) if tangent is None and unconnected is UnconnectedGradients.ZERO else tangent

        return map_structure(product, primals)

    def _product(self, result: Any) -> Any:
        """Returns the product for one tensor; None if it does not depend on the watched ones."""
        if self._recording:
            with self._tape.stop_recording():
                return self._turned(result)
        return self._turned(result)

    def _turned(self, result: Any) -> Any:
        """Returns the product: the gradients are linear in their seed, and the product is that function transposed."""
        if result.dtype not in CONTINUOUS:
            return None
        with GradientTape(watch_accessed_variables=False) as over_seed:
            seed = zeros_like(result)
            over_seed.watch(seed)
            gradients = self._tape.gradient(result, self._primals, seed)
            pairs = zip(gradients, self._tangents, strict=True)
            connected = [(identity(as_tensor(grad)), tangent) for grad, tangent in pairs if grad is not None]
        if not connected:
            return None
        targets, directions = [grad for grad, _ in connected], [tangent for _, tangent in connected]
        return as_tensor(over_seed.gradient(targets, seed, directions, UnconnectedGradients.ZERO))


def _as_tangent(tangent: Any, primal: Any) -> Any:
    """Returns a tangent as a tensor of its primal's dtype."""
    if primal.dtype not in CONTINUOUS:
        text = "The dtype of the watched primal must be floating (e.g. tf.float32), got %r"
        get_logger().warning(text, primal.dtype)
    direction = as_tensor(tangent, primal.dtype)
    if not direction.shape.is_compatible_with(primal.shape):
        raise ValueError(
            f"A tangent of shape {direction.shape} was given for a primal of shape {primal.shape}. Both must be equal."
        )
    return direction
