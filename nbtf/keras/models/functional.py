"""Functional models: graphs of layers from symbolic inputs to symbolic outputs."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from typing import Any

from nbtf import nest
from nbtf._ops.arrays.shapes import expand_dims, squeeze
from nbtf._ops.math.arithmetic import cast
from nbtf._runtime.tensor import Tensor
from nbtf._types import as_dtype
from nbtf.keras import naming
from nbtf.keras.generation import is_legacy
from nbtf.keras.layers.base import Layer
from nbtf.keras.layers.core import InputLayer
from nbtf.keras.layers.input_spec import InputSpec, shape_of
from nbtf.keras.models.functional_config import functional_config
from nbtf.keras.models.graph import between
from nbtf.keras.models.model import Model, Trainer
from nbtf.keras.operation import Node, node_of, replace_symbols
from nbtf.keras.symbolic import KerasTensor, outputs_of
from nbtf.keras.type_guards import is_dict, is_list


class Functional(Model):
    """A model defined by symbolic inputs and outputs; `keras.Model(inputs, outputs)` creates one.

    Args:
      inputs: symbolic tensors: one, a list, or a dictionary.
      outputs: symbolic tensors computed from the inputs: one, a list, or a dictionary.
      name: name of the model.

    Raises:
      ValueError: if a value is not a symbolic tensor, if an output does not depend on the inputs, or if two layers
        have the same name: a saved model finds its layers by their names.
    """

    _inputs: list[Any]
    _outputs: list[Any]
    _operations: list[Any]
    _nodes: list[Node]
    _slots: dict[int, int]
    _steps: list[Any]
    _added_losses: list[Any]

    def __init__(self, inputs: Any, outputs: Any, name: str | None = None, **kwargs: Any) -> None:
        trainable = kwargs.pop("trainable", True)
        if type(self).__init__ is Functional.__init__ and type(self) is Functional:
            Trainer.__init__(self)
        Layer.__init__(self, name=name if name is not None else _name_for(self), **kwargs)
        self.autocast = False
        _check(inputs, "inputs")
        _check(outputs, "outputs")
        self._inputs_structure, self._outputs_structure = _frozen(inputs), _frozen(outputs)
        self.__dict__["_inputs"] = list(nest.flatten(inputs))
        self.__dict__["_outputs"] = list(nest.flatten(outputs))
        self.__dict__["_added_losses"] = []
        self._connect()
        self.built = True
        if not trainable:
            self.trainable = False

    def _connect(self) -> None:
        """Finds the operations between inputs and outputs."""
        inputs = self._inputs
        graph = between(inputs, [*self._outputs, *self._added_losses])
        starts = {id(tensor) for tensor in inputs}
        begins = [tensor for tensor in inputs if not isinstance(node_of(tensor).operation, InputLayer)]
        own_ids = {id(node_of(tensor).operation) for tensor in begins}
        # An input from the middle of another model gets an input layer that belongs to this model.
        layers: list[Any] = [InputLayer(batch_shape=tensor.shape, dtype=str(tensor.dtype)) for tensor in begins]
        layers += [operation for operation in graph.operations if id(operation) not in own_ids]
        _check_names(layers)
        self.__dict__["_operations"] = layers
        self.__dict__["_nodes"] = [
            node for node in graph.nodes if not any(id(t) in starts for t in node.output_tensors)
        ]
        self._graph_layers = [layer for layer in layers if isinstance(layer, Layer)]
        self._number_tensors()
        self._given_names = [node_of(tensor).operation.name for tensor in inputs]
        if not is_dict(self._inputs_structure):
            self.input_spec: Any = [
                InputSpec(shape=(None, *tensor.shape[1:]), allow_last_axis_squeeze=True, name=name)
                for tensor, name in zip(inputs, self._given_names, strict=True)
            ]

    def _number_tensors(self) -> None:
        """Compiles the operations between inputs and outputs into steps from slot to slot."""
        slots = {id(tensor): slot for slot, tensor in enumerate(self._inputs)}
        steps: list[Any] = []
        for node in self._nodes:
            for tensor in node.output_tensors:
                slots[id(tensor)] = len(slots)
            alone = len(node.args) == 1 and not node.kwargs and isinstance(node.args[0], KerasTensor)
            single = isinstance(node.outputs, KerasTensor)
            steps.append(
                (node.operation, slots[id(node.args[0])], slots[id(node.outputs)], None)
                if alone and single
                else (node.operation, -1, -1, node)
            )
        self.__dict__["_slots"], self.__dict__["_steps"] = slots, steps

    def __setstate__(self, state: dict[str, Any]) -> None:
        """Restores a copy or a pickle; its symbolic tensors differ from those of the original."""
        self.__dict__.update(state)
        self._number_tensors()

    # Inputs and outputs

    @property
    def inputs(self) -> list[Any]:
        """The symbolic inputs."""
        return list(self._inputs)

    @property
    def outputs(self) -> list[Any]:
        """The symbolic outputs."""
        return list(self._outputs)

    @property
    def input(self) -> Any:
        """The symbolic inputs in the structure that was given."""
        return self._inputs_structure

    @property
    def output(self) -> Any:
        """The symbolic outputs in the structure that was given."""
        return self._outputs_structure

    @property
    def input_shape(self) -> Any:
        """The shapes of the inputs."""
        shapes = [tensor.shape for tensor in self._inputs]
        return shapes[0] if len(shapes) == 1 else shapes

    @property
    def output_shape(self) -> Any:
        """The shapes of the outputs."""
        shapes = [tensor.shape for tensor in self._outputs]
        return shapes[0] if len(shapes) == 1 else shapes

    @property
    def input_names(self) -> list[str]:
        """The names of the inputs."""
        return list(self._given_names)

    @property
    def output_names(self) -> list[str]:
        """The names of the outputs: those of the layers that compute them."""
        return [node_of(tensor).operation.name for tensor in self._outputs]

    @property
    def operations(self) -> list[Any]:
        """The layers and operators, in order."""
        return list(self._operations)

    # Calling

    def call(self, inputs: Any, training: Any = None, mask: Any = None) -> Any:
        """Runs all operations from the inputs to the outputs."""
        values: list[Any] = [None] * len(self._slots)
        values_in = self._inputs_in_order(inputs)
        for slot, (value, symbol) in enumerate(zip(values_in, self._inputs, strict=True)):
            values[slot] = fitted(value, symbol)
        slots = self._slots
        for operation, source, target, node in self._steps:
            if node is None:
                values[target] = operation(values[source])
            else:
                self._take(node, values)
        for loss in self._added_losses:
            super().add_loss(values[slots[id(loss)]])
        if len(self._outputs) == 1 and self._outputs_structure is self._outputs[0]:
            return values[slots[id(self._outputs[0])]]
        results = [values[slots[id(output)]] for output in self._outputs]
        return nest.pack_sequence_as(self._outputs_structure, results)

    def add_loss(self, loss: Any) -> None:
        """Adds a scalar to the loss, or a symbolic scalar that is computed in each call."""
        if not isinstance(loss, KerasTensor) or not is_legacy():
            super().add_loss(loss)
            return
        self._added_losses.append(loss)
        self._connect()

    def _take(self, node: Node, values: list[Any]) -> None:
        """Runs a step with several inputs or outputs."""
        slots = self._slots

        def value_of(tensor: Any) -> Any:
            return values[slots[id(tensor)]]

        results = node.operation(*replace_symbols(node.args, value_of), **replace_symbols(node.kwargs, value_of))
        for symbol, value in zip(node.output_tensors, nest.flatten(results), strict=True):
            values[slots[id(symbol)]] = value

    def _check_call(self, args: tuple[Any, ...], kwargs: dict[str, Any]) -> None:
        """Also checks that every input given by name exists."""
        super()._check_call(args, kwargs)
        if args and is_dict(args[0]):
            self._inputs_in_order(args[0])

    def _inputs_in_order(self, inputs: Any) -> list[Any]:
        """Returns the inputs as a flat list, even if they are given by name."""
        if is_dict(inputs):
            if is_dict(self._inputs_structure):
                names: list[str] = sorted(self._inputs_structure)
            else:
                names = self._given_names
            missing = [name for name in names if name not in inputs]
            if missing:
                raise ValueError(
                    f'Missing data for input "{missing[0]}". You passed a data dictionary with keys {list(inputs)}. '
                    f"Expected the following keys: {names}"
                )
            return [inputs[name] for name in names]
        flat: list[Any] = nest.flatten(inputs)
        if len(flat) != len(self._inputs):
            raise ValueError(
                f'Layer "{self._name}" expects {len(self._inputs)} input(s), but it received {len(flat)} input tensors.'
            )
        return flat

    def compute_output_spec(self, *args: Any, **kwargs: Any) -> Any:
        """Returns symbolic results for symbolic inputs."""
        values_in = self._inputs_in_order(args[0] if args else next(iter(kwargs.values())))
        if all(tensor.shape == symbol.shape for tensor, symbol in zip(values_in, self._inputs, strict=True)):
            results = [KerasTensor(output.shape, output.dtype) for output in self._outputs]
            return nest.pack_sequence_as(self._outputs_structure, results)
        return outputs_of(self._run, args, kwargs)

    def compute_output_shape(self, input_shape: Any) -> Any:
        """Returns the shape of the results for given input shapes."""
        shapes = [input_shape] if not input_shape or not is_list(input_shape[0]) else input_shape
        spec = self.compute_output_spec(
            [KerasTensor(shape, tensor.dtype) for shape, tensor in zip(shapes, self._inputs, strict=True)]
        )
        return nest.map_structure(shape_of, spec)

    def get_config(self) -> dict[str, Any]:
        return functional_config(self)

    def build(self, input_shape: Any = None) -> None:
        """Does nothing: a functional model is always built."""

    _internal = Model._internal | frozenset(
        "_inputs _outputs _inputs_structure _outputs_structure _operations _nodes _slots _steps _added_losses".split()
    )


Model._functional_class = Functional


def fitted(value: Any, symbol: Any) -> Any:
    """Returns an input with the dtype of the symbolic one, and a last axis of length 1 added or removed as needed."""
    if value is None or not isinstance(value, Tensor):
        return value
    rank, rank_wanted = value.ndim, len(symbol.shape)
    dtype = as_dtype(str(symbol.dtype))
    if value._dtype is not dtype and dtype.name != "string":
        mask = getattr(value, "_keras_mask", None)
        value = cast(value, dtype)
        if mask is not None:
            value._keras_mask = mask  # type: ignore[attr-defined]  # the mask of a tensor is kept as its attribute
    if rank == rank_wanted - 1 and symbol.shape[-1] == 1:
        return expand_dims(value, -1)
    if rank == rank_wanted + 1 and value.shape[-1] == 1:
        return squeeze(value, [-1])
    return value


def _name_for(model: Any) -> str:
    default_name = "Functional" if type(model) is Functional else type(model).__name__
    return naming.auto_name(naming.snake_case(default_name))


def _frozen(structure: Any) -> Any:
    if structure.__class__ is list:
        return list(structure)
    return dict(structure) if is_dict(structure) else structure


def _check_names(operations: Sequence[Any]) -> None:
    """Raises an error if two operations have the same name."""
    for name, count in Counter(operation.name for operation in operations).items():
        if count > 1:
            raise ValueError(
                f'The name "{name}" is used {count} times in the model. All operation names should be unique.'
            )


def _check(structure: Any, role: str) -> None:
    for tensor in nest.flatten(structure):
        if not isinstance(tensor, KerasTensor):
            raise ValueError(
                f"All `{role}` values must be KerasTensors. Received: {role}={structure} including invalid value "
                f"{tensor} of type {type(tensor)}"
            )
