"""Layers that process sequences step by step."""

from __future__ import annotations

from functools import partial
from typing import Any

from nbtf import nest
from nbtf._ops.arrays.creation import zeros_like
from nbtf._ops.arrays.joining import stack, unstack
from nbtf._ops.arrays.shapes import expand_dims
from nbtf._ops.arrays.slicing import reverse
from nbtf._ops.math.comparison import where
from nbtf.keras.layers.base import Layer
from nbtf.keras.layers.cells import Cell, GRUCell, LSTMCell, SimpleRNNCell, StackedRNNCells
from nbtf.keras.layers.input_spec import InputSpec
from nbtf.keras.registry import deserialized, serialized
from nbtf.keras.type_guards import is_list


class RNN(Layer):
    """Processes sequences step by step with a cell that computes one step.

    Args:
      cell: a cell, or a list of cells, each of which receives the results of the previous one. A cell has `state_size`
        and `call(inputs, states)`, which returns a result and the new states.
      return_sequences: whether to return the results of all steps, not only of the last one; false by default.
      return_state: whether to also return the last states; false by default.
      go_backwards: whether to start at the end of the sequences; false by default.
      stateful: whether to continue from the last states of the previous batch; false by default.
      unroll: ignored.
      zero_output_for_mask: whether the results of masked steps are 0, not those of the previous step; false by default.

    >>> layer = tf.keras.layers.RNN(tf.keras.layers.LSTMCell(4), return_sequences=True)
    >>> layer(tf.zeros((2, 5, 3))).shape
    TensorShape([2, 5, 4])
    """

    _config = ("return_sequences", "return_state", "go_backwards", "stateful", "unroll", "zero_output_for_mask")
    supports_masking = True

    def __init__(
        self,
        cell: Any,
        return_sequences: bool = False,
        return_state: bool = False,
        go_backwards: bool = False,
        stateful: bool = False,
        unroll: bool = False,
        zero_output_for_mask: bool = False,
        **kwargs: Any,
    ) -> None:
        super().__init__(**kwargs)
        self.cell: Any = StackedRNNCells(cell) if is_list(cell) else cell
        self.return_sequences: bool = return_sequences
        self.return_state: bool = return_state
        self.go_backwards: bool = go_backwards
        self.stateful: bool = stateful
        self.unroll: bool = unroll
        self.zero_output_for_mask: bool = zero_output_for_mask
        self.__dict__["_last_states"] = None
        self.input_spec: Any = InputSpec(ndim=3) if isinstance(self.cell, Cell) else None

    _internal = Layer._internal | {"_last_states"}
    _last_states: Any

    def build(self, input_shape: Any) -> None:
        shape = input_shape[0] if input_shape.__class__ is list else input_shape
        if isinstance(self.cell, Layer) and not self.cell.built:
            self.cell.build((shape[0], *shape[2:]))

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        """Computes the results; the first argument may be a list of the sequences and the initial states."""
        if args and args[0].__class__ is list and len(args[0]) > 1 and all(map(_has_shape, args[0])):
            kwargs["initial_state"] = args[0][1:]
            args = (args[0][0], *args[1:])
        return super().__call__(*args, **kwargs)

    def get_initial_state(self, batch_size: Any) -> Any:
        """Returns the initial states: zeros."""
        if hasattr(self.cell, "get_initial_state"):
            return self.cell.get_initial_state(batch_size=batch_size)
        from nbtf._ops.arrays.creation import zeros

        sizes: Any = self.cell.state_size
        return [
            zeros((batch_size, *(size if is_list(size) else (size,))), self.compute_dtype)
            for size in (sizes if is_list(sizes) else [sizes])
        ]

    def reset_states(self) -> None:
        """Resets the states kept from the previous batch."""
        self.__dict__["_last_states"] = None

    reset_state = reset_states

    def call(self, sequences: Any, initial_state: Any = None, mask: Any = None, training: Any = False) -> Any:
        states = initial_state if initial_state is not None else self._last_states if self.stateful else None
        if states is None:
            states = self.get_initial_state(sequences._array.shape[0])
        states = list(states) if is_list(states) else [states]
        output, states = self._walk(sequences, states, mask, training)
        if self.stateful:
            self.__dict__["_last_states"] = states
        return [output, *nest.flatten(states)] if self.return_state else output

    def _walk(self, sequences: Any, states: list[Any], mask: Any, training: Any) -> tuple[Any, list[Any]]:
        """Returns the output and the states after the last step."""
        step, inputs, walk = self._stepping(sequences, states, training)
        walked = (
            None if walk is None or mask is not None else walk(inputs, states, self.go_backwards, self.return_sequences)
        )
        if walked is not None:
            return walked[0], walked[1:]
        steps: list[Any] = unstack(inputs, axis=1)
        counts: list[Any] = (
            [None] * len(steps) if mask is None else [expand_dims(step_mask, 1) for step_mask in unstack(mask, axis=1)]
        )
        if self.go_backwards:
            steps, counts = steps[::-1], counts[::-1]
        results: list[Any] = []
        for x, counted in zip(steps, counts, strict=True):
            result, new_states = step(x, states)
            if counted is not None:
                instead = results[-1] if results and not self.zero_output_for_mask else zeros_like(result)
                result = where(counted, result, instead)
                new_states = _choose_states(counted, new_states, states)
            results.append(result)
            states = list(new_states)
        return stack(results, axis=1) if self.return_sequences else results[-1], states

    def _stepping(self, sequences: Any, states: list[Any], training: Any) -> tuple[Any, Any, Any]:
        """Returns the function of a step, the inputs for it, and a function for all steps if one exists.

        nbtf's own cells project all inputs at once.
        """
        cell = self.cell
        if isinstance(cell, Cell) and type(cell).call is Cell.call:
            inputs = cell.projected(cell.dropped(sequences, training))
            mask = cell.recurrent_mask(states[0], training)
            return partial(_own_step, cell, mask), inputs, cell.walk if mask is None else None
        options = {"training": training} if isinstance(cell, Layer) and cell._facts.has_training else {}
        return partial(_step, cell, options), sequences, None

    def compute_output_shape(self, sequences_shape: Any, initial_state_shape: Any = None) -> Any:
        shape = sequences_shape[0] if sequences_shape.__class__ is list else sequences_shape
        sizes: Any = self.cell.state_size
        size = getattr(self.cell, "output_size", None) or (sizes[0] if is_list(sizes) else sizes)
        output_shape = (*shape[:2], size) if self.return_sequences else (shape[0], size)
        return (
            [output_shape, *((shape[0], state_size) for state_size in nest.flatten(sizes))]
            if self.return_state
            else output_shape
        )

    def compute_output_spec(self, *args: Any, **kwargs: Any) -> Any:
        """Returns symbolic results for symbolic inputs."""
        return super().compute_output_spec(args[0])

    def compute_mask(self, inputs: Any, previous_mask: Any = None) -> Any:
        """Returns the mask of the results if there is a result of every step."""
        mask = previous_mask[0] if previous_mask.__class__ is list else previous_mask
        return mask if self.return_sequences and not self.return_state else None

    def get_config(self) -> dict[str, Any]:
        return {**super().get_config(), "cell": serialized(self.cell)}

    @classmethod
    def from_config(cls, config: dict[str, Any], custom_objects: Any = None) -> Any:
        return cls(deserialized(config.pop("cell"), custom_objects), **config)


def _own_step(cell: Cell, mask: Any, x: Any, states: list[Any]) -> tuple[Any, list[Any]]:
    return cell.step(x, states, mask)


def _step(cell: Any, options: dict[str, Any], x: Any, states: list[Any]) -> Any:
    return _list_states(cell(x, states, **options))


def _choose_states(counted: Any, new_states: list[Any], old_states: list[Any]) -> list[Any]:
    """Returns new states where a step is unmasked and the previous states elsewhere."""

    def choose(new: Any, old: Any) -> Any:
        return where(counted, new, old)

    return nest.map_structure(choose, new_states, old_states)


def _has_shape(value: Any) -> bool:
    return hasattr(value, "shape")


def _list_states(result_and_states: Any) -> Any:
    result, states = result_and_states
    return result, list(states) if is_list(states) else [states]


class _OfCell(RNN):
    """Base class of the recurrent layers that have a cell of their own."""

    _leaf = True
    _kind_of_cell: type[Cell] = Cell
    _cell_name = "cell"

    def __init__(self, units: int, *args: Any, **kwargs: Any) -> None:
        option_names = (
            "return_sequences",
            "return_state",
            "go_backwards",
            "stateful",
            "unroll",
            "zero_output_for_mask",
        )
        options = {name: kwargs.pop(name) for name in option_names if name in kwargs}
        for name in ("name", "trainable", "dtype", "activity_regularizer", "autocast"):
            if name in kwargs:
                options[name] = kwargs.pop(name)
        for name in ("input_shape", "batch_input_shape", "input_dim", "batch_size", "batch_shape"):
            if name in kwargs:
                options[name] = kwargs.pop(name)
        for name in ("use_cudnn", "implementation", "time_major"):
            kwargs.pop(name, None)
        shared_options = {name: options[name] for name in ("dtype", "trainable") if name in options}
        cell = self._kind_of_cell(units, *args, name=self._cell_name, **shared_options, **kwargs)
        super().__init__(cell, **options)

    def __getattr__(self, name: str) -> Any:
        """Returns an attribute of the cell."""
        cell = self.__dict__.get("cell")
        if cell is not None and (name in cell._config or name in ("kernel", "recurrent_kernel", "bias")):
            return getattr(cell, name)
        raise AttributeError(f"'{type(self).__name__}' object has no attribute '{name}'")

    def get_config(self) -> dict[str, Any]:
        config = super().get_config()
        del config["cell"]
        of_cell = self.cell.get_config()
        return {**config, **{name: of_cell[name] for name in self.cell._config}}

    @classmethod
    def from_config(cls, config: dict[str, Any], custom_objects: Any = None) -> Any:
        return cls(**config)


class SimpleRNN(_OfCell):
    """Computes `activation(input @ kernel + state @ recurrent_kernel + bias)` at each step; see `LSTM`."""

    _kind_of_cell = SimpleRNNCell
    _cell_name = "simple_rnn_cell"


class LSTM(_OfCell):
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


class GRU(_OfCell):
    """Processes sequences with a GRU: gates decide how much of the state is replaced. See `LSTM` and `GRUCell`."""

    _kind_of_cell = GRUCell
    _cell_name = "gru_cell"


def reversed_steps(sequences: Any) -> Any:
    """Returns sequences in reverse order."""
    return reverse(sequences, [1])
