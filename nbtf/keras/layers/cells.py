"""The cells of recurrent layers, which compute one step: a result and new states from an input and old states."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from nbtf import linalg
from nbtf._ops.arrays.creation import ones
from nbtf._ops.arrays.joining import concat, split
from nbtf._ops.linalg.products import matmul
from nbtf._ops.math.arithmetic import add
from nbtf._ops.nn.recurrent import gru, gru_step, lstm, lstm_step
from nbtf._runtime.arguments import check_number
from nbtf.keras import activations, random
from nbtf.keras.layers.base import Layer
from nbtf.keras.layers.described import arguments_of


class Cell(Layer):
    """Base class of the cells.

    Args:
      units: number of elements of a state.
      activation: function applied to the results.
      use_bias: whether to add a bias; true by default.
      kernel_initializer, recurrent_initializer, bias_initializer, kernel_regularizer, recurrent_regularizer,
        bias_regularizer, kernel_constraint, recurrent_constraint, bias_constraint: as in `Dense`.
      dropout: fraction of the inputs to set to 0 in training; 0 by default.
      recurrent_dropout: fraction of the states to set to 0 in training; 0 by default.
      seed: random seed of the dropout.

    Raises:
      ValueError: if `units` is not a positive integer.
    """

    _leaf = True
    gates = 1
    states = 1
    bias_initializer: Any
    bias_regularizer: Any
    bias_constraint: Any

    def __init__(
        self,
        units: int,
        activation: Any = "tanh",
        use_bias: bool = True,
        kernel_initializer: Any = "glorot_uniform",
        recurrent_initializer: Any = "orthogonal",
        bias_initializer: Any = "zeros",
        kernel_regularizer: Any = None,
        recurrent_regularizer: Any = None,
        bias_regularizer: Any = None,
        kernel_constraint: Any = None,
        recurrent_constraint: Any = None,
        bias_constraint: Any = None,
        dropout: float = 0.0,
        recurrent_dropout: float = 0.0,
        seed: int | None = None,
        **kwargs: Any,
    ) -> None:
        super().__init__(**kwargs)
        if check_number(units, "units") <= 0:
            raise ValueError(
                f"Received an invalid value for argument `units`, expected a positive integer, got {units}."
            )
        self.units: int = units
        self.use_bias: bool = use_bias
        self.seed: int | None = seed
        self.activation: Callable[..., Any] = activations.get(activation)
        self._take_rules("kernel", kernel_initializer, kernel_regularizer, kernel_constraint)
        self._take_rules("recurrent", recurrent_initializer, recurrent_regularizer, recurrent_constraint)
        self._take_rules("bias", bias_initializer, bias_regularizer, bias_constraint)
        self.dropout: float = min(1.0, max(0.0, dropout))
        self.recurrent_dropout: float = min(1.0, max(0.0, recurrent_dropout))
        self.seed_generator: random.SeedGenerator = random.SeedGenerator(seed)
        self.kernel: Any = None
        self.recurrent_kernel: Any = None
        self.bias: Any = None

    _config = arguments_of(__init__)

    def build(self, input_shape: Any) -> None:
        """Creates the kernels and the bias."""
        width = self.units * self.gates
        self.kernel = self._weight("kernel", (input_shape[-1], width))
        self.recurrent_kernel = self._weight("recurrent_kernel", (self.units, width), "recurrent")
        if self.use_bias:
            self.bias = self._make_bias(width)

    def _make_bias(self, width: int) -> Any:
        return self._weight("bias", (width,))

    def dropped(self, inputs: Any, training: Any) -> Any:
        """Returns the inputs; in training, with zeros at the same positions in every step."""
        if not training or not self.dropout:
            return inputs
        return random.dropout(inputs, self.dropout, (None, 1, None), self.seed_generator)

    def recurrent_mask(self, state: Any, training: Any) -> Any:
        """Returns the factors of the states in training, or None."""
        if not training or not self.recurrent_dropout:
            return None
        return random.dropout(ones(state.shape, state.dtype), self.recurrent_dropout, None, self.seed_generator)

    def projected(self, inputs: Any) -> Any:
        """Returns the part of the computation that needs no states, for all steps at once."""
        projection = linalg.tensordot(inputs, self.kernel.value, 1)
        bias = self._input_bias()
        return projection if bias is None else add(projection, bias)

    def _input_bias(self) -> Any:
        return None if self.bias is None else self.bias.value

    def step(self, x: Any, states: list[Any], mask: Any) -> tuple[Any, list[Any]]:
        """Returns a result and the new states for a projected input."""
        raise NotImplementedError

    def walk(self, x: Any, states: list[Any], backwards: bool, sequences: bool) -> list[Any] | None:
        """Returns output and states after all steps of projected inputs; None if it must run step by step."""
        return None


class SimpleRNNCell(Cell):
    """Computes `activation(input @ kernel + state @ recurrent_kernel + bias)`; see `LSTMCell` for the arguments."""

    def step(self, x: Any, states: list[Any], mask: Any) -> tuple[Any, list[Any]]:
        """Returns a result and the new state."""
        old_state = states[0] if mask is None else states[0] * mask
        new_state = self.activation(add(x, matmul(old_state, self.recurrent_kernel.value)))
        return new_state, [new_state]


class _GatedCell(Cell):
    """Base class of the cells with gates, which have a second activation for the gates."""

    def __init__(
        self, units: int, activation: Any = "tanh", recurrent_activation: Any = "sigmoid", **kwargs: Any
    ) -> None:
        super().__init__(units, activation, **kwargs)
        self.recurrent_activation: Callable[..., Any] = activations.get(recurrent_activation)

    def _is_plain(self, cell_class: type[Cell]) -> bool:
        """Returns whether it computes what its class defines, with the default activations."""
        chosen = self.activation, self.recurrent_activation
        return type(self).step is cell_class.step and chosen == (activations.tanh, activations.sigmoid)


class LSTMCell(_GatedCell):
    """One step of an LSTM: gates decide how much of the memory is forgotten, added and output.

    Args:
      units: number of elements of a state.
      activation: function applied to new values and to the output; tanh by default.
      recurrent_activation: function applied to the gates; sigmoid by default.
      unit_forget_bias: whether the bias of the forget gate is initialized to 1; true by default.
      **kwargs: the arguments of every cell.
    """

    _config = ("units", "activation", "recurrent_activation", "unit_forget_bias", *Cell._config[2:])
    gates = 4
    states = 2

    def __init__(self, units: int, *args: Any, unit_forget_bias: bool = True, **kwargs: Any) -> None:
        super().__init__(units, *args, **kwargs)
        self.unit_forget_bias = unit_forget_bias

    def _make_bias(self, width: int) -> Any:
        if not self.unit_forget_bias:
            return super()._make_bias(width)

        def begin(shape: Any, dtype: Any = None) -> Any:
            units, initial = self.units, self.bias_initializer
            return concat([initial((units,), dtype), ones((units,), dtype), initial((2 * units,), dtype)], 0)

        return self.add_weight(
            name="bias",
            shape=(width,),
            initializer=begin,
            regularizer=self.bias_regularizer,
            constraint=self.bias_constraint,
        )

    def step(self, x: Any, states: list[Any], mask: Any) -> tuple[Any, list[Any]]:
        """Returns a result and the new states."""
        hidden, carried = states
        masked_hidden = hidden if mask is None else hidden * mask
        hidden, carried = lstm_step(
            x, masked_hidden, carried, self.recurrent_kernel.value, self.recurrent_activation, self.activation
        )
        return hidden, [hidden, carried]

    def walk(self, x: Any, states: list[Any], backwards: bool, sequences: bool) -> list[Any] | None:
        """Returns output and states after all steps if the cell is unmodified; otherwise None."""
        if not self._is_plain(LSTMCell):
            return None
        hidden, carried = states
        return lstm(x, hidden, carried, self.recurrent_kernel.value, backwards, sequences)


class GRUCell(_GatedCell):
    """One step of a GRU: gates decide how much of the state is replaced.

    Args:
      units: number of elements of a state.
      activation: function applied to new values; tanh by default.
      recurrent_activation: function applied to the gates; sigmoid by default.
      reset_after: whether the reset gate acts after the multiplication by the recurrent kernel; true by default.
      **kwargs: the arguments of every cell.
    """

    _config = ("units", "activation", "recurrent_activation", "reset_after", *Cell._config[2:])
    gates = 3

    def __init__(self, units: int, *args: Any, reset_after: bool = True, **kwargs: Any) -> None:
        super().__init__(units, *args, **kwargs)
        self.reset_after = reset_after

    def _make_bias(self, width: int) -> Any:
        return self._weight("bias", (2, width) if self.reset_after else (width,))

    def _input_bias(self) -> Any:
        if self.bias is None:
            return None
        return self.bias.value[0] if self.reset_after else self.bias.value

    def step(self, x: Any, states: list[Any], mask: Any) -> tuple[Any, list[Any]]:
        """Returns a result and the new state."""
        old_state = states[0]
        masked_state = old_state if mask is None else old_state * mask
        kernel, gate = self.recurrent_kernel.value, self.recurrent_activation
        if self.reset_after:
            bias = () if self.bias is None else (self.bias.value,)
            new_state = gru_step(
                x, old_state, kernel, *bias, multiplied=masked_state, gate=gate, activation=self.activation
            )
            return new_state, [new_state]
        xz, xr, xh = split(x, 3, axis=1)
        units = self.units
        hz, hr = split(matmul(masked_state, kernel[:, : 2 * units]), 2, axis=1)
        z, r = gate(xz + hz), gate(xr + hr)
        new = self.activation(xh + matmul(r * masked_state, kernel[:, 2 * units :]))
        new_state = z * old_state + (1.0 - z) * new
        return new_state, [new_state]

    def walk(self, x: Any, states: list[Any], backwards: bool, sequences: bool) -> list[Any] | None:
        """Returns output and states after all steps if the cell is unmodified; otherwise None."""
        if not self._is_plain(GRUCell) or not self.reset_after:
            return None
        weights = [self.recurrent_kernel.value, *([] if self.bias is None else [self.bias.value])]
        return gru(x, *states, *weights, backwards=backwards, sequences=sequences)
