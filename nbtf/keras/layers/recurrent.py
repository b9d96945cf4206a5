"""Layers that process sequences step by step."""

from __future__ import annotations

from typing import Any, ClassVar

from nbtf._ops.arrays.creation import zeros, zeros_like
from nbtf._ops.arrays.joining import stack, unstack
from nbtf._ops.arrays.shapes import expand_dims
from nbtf._ops.math.comparison import where
from nbtf.keras.layers.base import Layer
from nbtf.keras.layers.cells import Cell, GRUCell, LSTMCell, SimpleRNNCell
from nbtf.keras.layers.input_spec import InputSpec
from nbtf.keras.type_guards import is_list

_OF_LAYERS = (
    "name trainable dtype activity_regularizer autocast input_shape batch_input_shape input_dim batch_size batch_shape"
).split()
"""The arguments of every layer."""

_FASTER = ("use_cudnn", "implementation", "time_major")
"""Arguments that choose between implementations with the same results."""


class Recurrent(Layer):
    """Base class of the recurrent layers, each of which has a cell that computes one step.

    Args:
      units: number of elements of a state.
      *args: the further arguments of the cell.
      return_sequences: whether to return the results of all steps, not only of the last one; false by default.
      return_state: whether to also return the last states; false by default.
      go_backwards: whether to start at the end of the sequences; false by default.
      stateful: whether to continue from the last states of the previous batch; false by default.
      unroll: ignored.
      zero_output_for_mask: whether the results of masked steps are 0, not those of the previous step; false by default.
      **kwargs: the arguments of the cell and of every layer.
    """

    _leaf = True
    _config = ("return_sequences", "return_state", "go_backwards", "stateful", "unroll", "zero_output_for_mask")
    supports_masking = True
    _kind_of_cell: ClassVar[type[Cell]]
    _cell_name: ClassVar[str]

    def __init__(
        self,
        units: int,
        *args: Any,
        return_sequences: bool = False,
        return_state: bool = False,
        go_backwards: bool = False,
        stateful: bool = False,
        unroll: bool = False,
        zero_output_for_mask: bool = False,
        **kwargs: Any,
    ) -> None:
        super().__init__(**{name: kwargs.pop(name) for name in _OF_LAYERS if name in kwargs})
        of_cell = {name: value for name, value in kwargs.items() if name not in _FASTER}
        self.cell: Cell = self._kind_of_cell(
            units, *args, name=self._cell_name, dtype=self._policy, trainable=self._trainable, **of_cell
        )
        self.return_sequences: bool = return_sequences
        self.return_state: bool = return_state
        self.go_backwards: bool = go_backwards
        self.stateful: bool = stateful
        self.unroll: bool = unroll
        self.zero_output_for_mask: bool = zero_output_for_mask
        self.__dict__["_last_states"] = None
        self.input_spec: Any = InputSpec(ndim=3)

    _internal = Layer._internal | {"_last_states"}
    _last_states: Any

    def __getattr__(self, name: str) -> Any:
        """Returns an attribute of the cell."""
        cell = self.__dict__.get("cell")
        if cell is not None and (name in cell._config or name in ("kernel", "recurrent_kernel", "bias")):
            return getattr(cell, name)
        raise AttributeError(f"'{type(self).__name__}' object has no attribute '{name}'")

    def build(self, input_shape: Any) -> None:
        shape = input_shape[0] if input_shape.__class__ is list else input_shape
        if not self.cell.built:
            self.cell.build((shape[0], *shape[2:]))

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        """Computes the results; the first argument may be a list of the sequences and the initial states."""
        if args and args[0].__class__ is list and len(args[0]) > 1 and all(hasattr(item, "shape") for item in args[0]):
            kwargs["initial_state"] = args[0][1:]
            args = (args[0][0], *args[1:])
        return super().__call__(*args, **kwargs)

    def reset_states(self) -> None:
        """Resets the states kept from the previous batch."""
        self.__dict__["_last_states"] = None

    reset_state = reset_states

    def call(self, sequences: Any, initial_state: Any = None, mask: Any = None, training: Any = False) -> Any:
        states = initial_state if initial_state is not None else self._last_states if self.stateful else None
        if states is None:
            shape = (sequences._array.shape[0], self.cell.units)
            states = [zeros(shape, self.compute_dtype) for _ in range(self.cell.states)]
        output, states = self._walk(sequences, list(states) if is_list(states) else [states], mask, training)
        if self.stateful:
            self.__dict__["_last_states"] = states
        return [output, *states] if self.return_state else output

    def _walk(self, sequences: Any, states: list[Any], mask: Any, training: Any) -> tuple[Any, list[Any]]:
        """Returns the output and the states after the last step. All inputs are projected at once."""
        cell = self.cell
        inputs = cell.projected(cell.dropped(sequences, training))
        factors = cell.recurrent_mask(states[0], training)
        if factors is None and mask is None:
            walked = cell.walk(inputs, states, self.go_backwards, self.return_sequences)
            if walked is not None:
                return walked[0], walked[1:]
        steps: list[Any] = unstack(inputs, axis=1)
        counts = [None] * len(steps) if mask is None else [expand_dims(counted, 1) for counted in unstack(mask, axis=1)]
        if self.go_backwards:
            steps, counts = steps[::-1], counts[::-1]
        results: list[Any] = []
        for x, counted in zip(steps, counts, strict=True):
            result, new_states = cell.step(x, states, factors)
            if counted is not None:
                instead = results[-1] if results and not self.zero_output_for_mask else zeros_like(result)
                result = where(counted, result, instead)
                new_states = [where(counted, new, old) for new, old in zip(new_states, states, strict=True)]
            results.append(result)
            states = new_states
        return stack(results, axis=1) if self.return_sequences else results[-1], states

    def compute_output_shape(self, sequences_shape: Any, initial_state_shape: Any = None) -> Any:
        shape = sequences_shape[0] if sequences_shape.__class__ is list else sequences_shape
        units = self.cell.units
        output_shape = (*shape[:2], units) if self.return_sequences else (shape[0], units)
        return [output_shape, *[(shape[0], units)] * self.cell.states] if self.return_state else output_shape

    def compute_output_spec(self, *args: Any, **kwargs: Any) -> Any:
        """Returns symbolic results for symbolic inputs."""
        return super().compute_output_spec(args[0])

    def compute_mask(self, inputs: Any, previous_mask: Any = None) -> Any:
        """Returns the mask of the results if there is a result of every step."""
        mask = previous_mask[0] if previous_mask.__class__ is list else previous_mask
        return mask if self.return_sequences and not self.return_state else None

    def get_config(self) -> dict[str, Any]:
        of_cell = self.cell.get_config()
        return {**super().get_config(), **{name: of_cell[name] for name in self.cell._config}}


class SimpleRNN(Recurrent):
    """Computes `activation(input @ kernel + state @ recurrent_kernel + bias)` at each step; see `LSTM`."""

    _kind_of_cell = SimpleRNNCell
    _cell_name = "simple_rnn_cell"


class LSTM(Recurrent):
    """Processes sequences with an LSTM: gates decide how much of the memory is forgotten, added and output.

    Args:
      units: number of elements of a state.
      activation: function applied to new values and to the output; tanh by default.
      recurrent_activation: function applied to the gates; sigmoid by default.
      return_sequences: whether to return the results of all steps, not only of the last one; false by default.
      return_state: whether to also return the last states; false by default.
      go_backwards: whether to start at the end of the sequences; false by default.
      stateful: whether to continue from the last states of the previous batch; false by default.
      dropout: fraction of the inputs to set to 0 in training; 0 by default.
      recurrent_dropout: fraction of the states to set to 0 in training; 0 by default.
      **kwargs: `use_bias`, `unit_forget_bias`, initializers, regularizers and constraints of kernel, recurrent kernel
        and bias, and the arguments of every layer.

    >>> tf.keras.layers.LSTM(4)(tf.zeros((2, 5, 3))).shape
    TensorShape([2, 4])
    """

    _kind_of_cell = LSTMCell
    _cell_name = "lstm_cell"


class GRU(Recurrent):
    """Processes sequences with a GRU: gates decide how much of the state is replaced. See `LSTM`.

    `reset_after` says whether the reset gate acts after the multiplication by the recurrent kernel; true by default.
    """

    _kind_of_cell = GRUCell
    _cell_name = "gru_cell"
