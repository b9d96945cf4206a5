"""Recurrent layers: the states of LSTM and GRU over the steps of a sequence.

Inputs are already projected: `[batch, steps, gates * units]`.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from nbtf._ops.arrays.joining import split, stack, unstack
from nbtf._ops.linalg.products import matmul
from nbtf._ops.math.arithmetic import add
from nbtf._ops.math.exponentials import sigmoid, tanh
from nbtf._runtime.tensor import Tensor

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


def lstm(x: Tensor, hidden: Tensor, carried: Tensor, kernel: Any, backwards: bool, sequences: bool) -> list[Tensor]:
    """Returns the outputs, of all steps or of the last, and both states after it."""
    outputs: list[Tensor] = []
    for step in _steps(x, backwards):
        hidden, carried = lstm_step(step, hidden, carried, kernel)
        outputs.append(hidden)
    return [stack(outputs, axis=1) if sequences else hidden, hidden, carried]


def gru(x: Tensor, state: Tensor, kernel: Any, *bias: Any, backwards: bool, sequences: bool) -> list[Tensor]:
    """Returns the outputs, of all steps or of the last, and the state after it."""
    outputs: list[Tensor] = []
    for step in _steps(x, backwards):
        state = gru_step(step, state, kernel, *bias)
        outputs.append(state)
    return [stack(outputs, axis=1) if sequences else state, state]


def _steps(x: Tensor, backwards: bool) -> list[Tensor]:
    steps: list[Tensor] = unstack(x, axis=1)
    return steps[::-1] if backwards else steps
