"""Recurrent layers: the states of LSTM and GRU over the steps of a sequence.

Inputs are already projected: `[batch, steps, gates * units]`. All steps run as one kernel while no observer is
registered.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from nbtf._ops.arrays.joining import split, stack, unstack
from nbtf._ops.fused import fused
from nbtf._ops.linalg.products import matmul
from nbtf._ops.math.arithmetic import add
from nbtf._ops.math.exponentials import sigmoid, tanh
from nbtf._runtime.tensor import Tensor
from nbtf._types import float32

Function = Callable[..., Any]


def lstm_step(
    x: Tensor, hidden: Tensor, carried: Tensor, kernel: Any, gate: Function = sigmoid, activation: Function = tanh
) -> tuple[Tensor, Tensor]:
    """Returns the output and the cell state after a step."""
    i, f, c, o = split(add(x, matmul(hidden, kernel)), 4, axis=1)
    carried = gate(f) * carried + gate(i) * activation(c)
    return gate(o) * activation(carried), carried


def gru_step(
    x: Tensor,
    state: Tensor,
    kernel: Any,
    *bias: Any,
    multiplied: Tensor | None = None,
    gate: Function = sigmoid,
    activation: Function = tanh,
) -> Tensor:
    """Returns the state after a step. If biases are given, the reset gate acts after the multiplication.

    `multiplied` replaces the state as the factor of the kernel, if given.
    """
    xz, xr, xh = split(x, 3, axis=1)
    inner = matmul(state if multiplied is None else multiplied, kernel)
    if bias:
        inner = add(inner, unstack(bias[0])[1])
    hz, hr, hh = split(inner, 3, axis=1)
    z, r = gate(xz + hz), gate(xr + hr)
    new = activation(xh + r * hh)
    return z * state + (1.0 - z) * new


def _order(count: int, backwards: bool) -> list[int]:
    return [*range(count)][::-1] if backwards else [*range(count)]


def _joined(states: list[Tensor], sequences: bool) -> Tensor:
    return stack(states, axis=1) if sequences else states[-1]


def _states(xp: Any, x: Any, state: Any, kernel: Any, gates: int) -> Any:
    """Returns an array for the states before each step and after the last."""
    units = len(kernel)
    if not x.shape[1] or state.shape != (len(x), units) or kernel.shape[1] != gates * units:
        raise ValueError("no steps, or wrong shape of the states")
    states = xp.empty((x.shape[1] + 1, *state.shape), x.dtype)
    states[0] = state
    return states


def _shown(xp: Any, states: Any, sequences: bool) -> Any:
    return xp.ascontiguousarray(states[1:].transpose(1, 0, 2)) if sequences else states[-1].copy()


def _arriving(grad: Any, step: int, count: int, sequences: bool) -> Any:
    """Returns the gradient of a step's output; 0 if it has none."""
    return 0 if grad is None or not (sequences or step == count - 1) else grad[:, step] if sequences else grad


# The same computations as the ops, in the same order


def _sigmoid(xp: Any, x: Any) -> Any:
    xp.exp(xp.negative(x, out=x), out=x)
    x += 1
    return xp.reciprocal(x, out=x)


def _sigmoid_slope(xp: Any, y: Any, grad: Any, out: Any) -> Any:
    slope = xp.subtract(y, xp.square(y), out=out)
    slope *= grad
    return slope


def _tanh_slope(xp: Any, y: Any, grad: Any, out: Any = None) -> Any:
    lost = xp.square(y)
    lost *= grad
    return xp.subtract(grad, lost, out=out)


@fused(float32)
def lstm(
    xp: Any, x: Any, hidden: Any, carried: Any, kernel: Any, backwards: bool, sequences: bool
) -> tuple[list[Any], Any]:
    units = len(kernel)
    outputs, memories = (_states(xp, x, state, kernel, 4) for state in (hidden, carried))
    gates, shown = xp.empty((x.shape[1], len(x), 4 * units), x.dtype), xp.empty_like(outputs[1:])
    for step, position in enumerate(_order(x.shape[1], backwards)):
        summed = outputs[step].dot(kernel, out=gates[step])
        summed += x[:, position]
        new = xp.tanh(summed[:, 2 * units : 3 * units])
        _sigmoid(xp, summed)[:, 2 * units : 3 * units] = new
        memory = xp.multiply(summed[:, units : 2 * units], memories[step], out=memories[step + 1])
        new *= summed[:, :units]
        memory += new
        xp.multiply(summed[:, 3 * units :], xp.tanh(memory, out=shown[step]), out=outputs[step + 1])
    results = [_shown(xp, outputs, sequences), outputs[-1].copy(), memories[-1].copy()]
    return results, (outputs, memories, gates, shown)


@lstm.composed
def _(
    x: Tensor, hidden: Tensor, carried: Tensor, kernel: Any, backwards: bool, sequences: bool, name: str | None = None
) -> list[Tensor]:
    results: list[Tensor] = []
    steps = unstack(x, axis=1)
    for position in _order(len(steps), backwards):
        hidden, carried = lstm_step(steps[position], hidden, carried, kernel)
        results.append(hidden)
    return [_joined(results, sequences), hidden, carried]


@lstm.backward
def _(xp: Any, inputs: Sequence[Any], kept: Any, grads: Sequence[Any], backwards: bool, sequences: bool) -> list[Any]:
    x, hidden, _, kernel = inputs
    outputs, memories, gates, shown = kept
    units = len(kernel)
    of_output, of_hidden, of_carried = (xp.zeros_like(hidden) if n and g is None else g for n, g in enumerate(grads))
    of_x, of_kernel = xp.empty_like(x), 0
    back, slopes = (xp.empty((len(x), 4 * units), x.dtype) for _ in range(2))
    for step, position in reversed([*enumerate(_order(x.shape[1], backwards))]):
        i, f, new, o = (gates[step][:, n * units : (n + 1) * units] for n in range(4))
        of_hidden = of_hidden + _arriving(of_output, step, len(gates), sequences)
        of_carried = of_carried + _tanh_slope(xp, shown[step], of_hidden * o)
        for n, (factor, grad) in enumerate(
            ((new, of_carried), (memories[step], of_carried), (i, of_carried), (shown[step], of_hidden))
        ):
            xp.multiply(grad, factor, out=back[:, n * units : (n + 1) * units])
        _sigmoid_slope(xp, gates[step], back, slopes)
        of_new = slice(2 * units, 3 * units)
        _tanh_slope(xp, new, back[:, of_new], slopes[:, of_new])
        of_x[:, position] = slopes
        of_kernel = outputs[step].T.dot(slopes) + of_kernel
        of_hidden, of_carried = slopes.dot(kernel.T), of_carried * f
    return [of_x, of_hidden, of_carried, of_kernel]


@fused(float32)
def gru(
    xp: Any, x: Any, state: Any, kernel: Any, *bias: Any, backwards: bool, sequences: bool
) -> tuple[list[Any], Any]:
    units = len(kernel)
    states = _states(xp, x, state, kernel, 3)
    gates, inner = (xp.empty((x.shape[1], len(x), 3 * units), x.dtype) for _ in range(2))
    for step, position in enumerate(_order(x.shape[1], backwards)):
        products = states[step].dot(kernel, out=inner[step])
        if bias:
            products += bias[0][1]
        both, new = gates[step][:, : 2 * units], gates[step][:, 2 * units :]
        _sigmoid(xp, xp.add(x[:, position, : 2 * units], products[:, : 2 * units], out=both))
        xp.multiply(both[:, units:], products[:, 2 * units :], out=new)
        new += x[:, position, 2 * units :]
        xp.tanh(new, out=new)
        z = both[:, :units]
        kept_part = xp.multiply(z, states[step], out=states[step + 1])
        kept_part += (1 - z) * new
    return [_shown(xp, states, sequences), states[-1].copy()], (states, gates, inner)


@gru.composed
def _(
    x: Tensor, state: Tensor, kernel: Any, *bias: Any, backwards: bool, sequences: bool, name: str | None = None
) -> list[Tensor]:
    results: list[Tensor] = []
    steps = unstack(x, axis=1)
    for position in _order(len(steps), backwards):
        state = gru_step(steps[position], state, kernel, *bias)
        results.append(state)
    return [_joined(results, sequences), state]


@gru.backward
def _(xp: Any, inputs: Sequence[Any], kept: Any, grads: Sequence[Any], backwards: bool, sequences: bool) -> list[Any]:
    x, state, kernel, *bias = inputs
    states, gates, inner = kept
    units = len(kernel)
    of_output, of_state = grads[0], xp.zeros_like(state) if grads[1] is None else grads[1]
    of_x, of_kernel, of_bias, through_kernel = xp.empty_like(x), 0, 0, 0
    back, slopes = (xp.empty((len(x), length * units), x.dtype) for length in (2, 3))
    for step, position in reversed([*enumerate(_order(x.shape[1], backwards))]):
        z, r, new = (gates[step][:, n * units : (n + 1) * units] for n in range(3))
        of_state = _arriving(of_output, step, len(gates), sequences) + of_state + through_kernel
        of_new = _tanh_slope(xp, new, of_state * (1 - z))
        xp.subtract(of_state * states[step], of_state * new, out=back[:, :units])
        xp.multiply(of_new, inner[step][:, 2 * units :], out=back[:, units:])
        _sigmoid_slope(xp, gates[step][:, : 2 * units], back, slopes[:, : 2 * units])
        slopes[:, 2 * units :] = of_new
        of_x[:, position] = slopes
        slopes[:, 2 * units :] *= r
        of_bias = xp.add.reduce(slopes, 0) + of_bias
        of_kernel = states[step].T.dot(slopes) + of_kernel
        of_state, through_kernel = of_state * z, slopes.dot(kernel.T)
    of_biases = [xp.stack([xp.zeros_like(of_bias), of_bias]) for _ in bias]
    return [of_x, of_state + through_kernel, of_kernel, *of_biases]
