"""Recurrent layers on simulated devices: one op, as in cuDNN, which the CPU computes as a whole.

For the backward pass, a card keeps intermediate values in one contiguous block, besides inputs and outputs.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from nbtf._frameworks.torch.simulation.agreement import check_devices
from nbtf._frameworks.torch.simulation.machine import Machine

RESERVE = "reserve of "
"""Prefix of the labels of memory whose size is modelled: cuDNN reports the true size only on a card."""

_NO_SECOND = b"derivative for aten::_cudnn_rnn_backward is not implemented"

_LAYERS = ("lstm", "gru", "rnn_tanh", "rnn_relu")
_CELLS = ("lstm_cell", "gru_cell")

_KEPT = {"lstm": 5, "gru": 5, "rnn_tanh": 1, "rnn_relu": 1, "lstm_cell": 4, "gru_cell": 5}
"""Numbers in the reserve for each hidden unit and step: the workspaces of the PyTorch GPU cells, and the cell state or
hidden state of a layer. Source: aten/src/ATen/native/cuda/RNN.cu."""


def recurrent_ops(machine: Machine) -> dict[str, Callable[..., Any]]:
    """Returns kernels by the op's full name, to be called above autograd."""
    names = [*[f"{layer}.{form}" for layer in _LAYERS for form in ("input", "data")], *_CELLS]
    return {f"aten::{name}": _Recurrent(machine, name) for name in names}


class _Slot:
    """A placeholder for a tensor among arguments."""

    def __init__(self, number: int) -> None:
        self.number = number


def _take(value: Any, tensor_class: Any, tensors: list[Any]) -> Any:
    """Returns an argument with slots in place of its tensors, which are appended to a list."""
    if isinstance(value, tensor_class):
        tensors.append(value)
        return _Slot(len(tensors) - 1)
    return [_take(each, tensor_class, tensors) for each in value] if value.__class__ in (list, tuple) else value


def _give(value: Any, tensors: Sequence[Any]) -> Any:
    """Returns an argument with tensors in place of its slots."""
    if value.__class__ is _Slot:
        return tensors[value.number]
    return [_give(each, tensors) for each in value] if value.__class__ is list else value


class _Recurrent:
    """Runs a recurrent layer on the CPU as a whole, as well as its backward pass."""

    def __init__(self, machine: Machine, name: str) -> None:
        self._machine, self._op = machine, machine.op(f"aten::{name}")
        self._layer, _, self._form = name.partition(".")
        self._function = _whole_op(machine)
        self._names = [argument.name for argument in self._op._schema.arguments]

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        """Runs the layer; autograd sees one op."""
        machine = self._machine
        tensors: list[Any] = []
        by_name = {
            name: _take(value, machine.torch.Tensor, tensors)
            for name, value in (dict(zip(self._names, args, strict=False)) | kwargs).items()
        }
        devices = {tensor.get_device() for tensor in tensors if tensor.is_cuda}
        floating_on_cpu = [tensor for tensor in tensors if not tensor.is_cuda and tensor.is_floating_point()]
        if len(devices) > 1 or floating_on_cpu:
            check_devices(machine, self._op.name(), self._names, args, kwargs)

        def run(below: Sequence[Any]) -> Any:
            arguments = {name: _give(value, below) for name, value in by_name.items()}
            return self._op(**arguments) if machine.tensors.has_values else self._outlines(arguments)

        def reserve_size(below: Sequence[Any]) -> int:
            hidden = by_name["hx"][-1] if by_name["hx"].__class__ is list else by_name["hx"]
            return self._reserve_size(
                below[by_name["input" if "input" in by_name else "data"].number], below[hidden.number]
            )

        return self._function.apply(run, reserve_size, max(devices), f"aten::{self._layer}", *tensors)

    def _outlines(self, arguments: Mapping[str, Any]) -> Any:
        """Returns outlines of the results, derived from the inputs, for padded and for packed sequences."""
        states = arguments["hx"] if arguments["hx"].__class__ is list else [arguments["hx"]]
        last = [self._machine.torch.empty_like(state) for state in states]
        if self._layer in _CELLS:
            return tuple(last) if len(last) > 1 else last[0]
        width = states[0].size(-1) * (2 if arguments["bidirectional"] else 1)
        if self._form == "data":
            return (arguments["data"].new_empty(arguments["data"].size(0), width), *last)
        first, second, _ = arguments["input"].size()
        steps, rows = (second, first) if arguments["batch_first"] else (first, second)
        output = arguments["input"].new_empty(steps, rows, width)
        return (output.transpose(0, 1) if arguments["batch_first"] else output, *last)

    def _reserve_size(self, inputs: Any, hidden: Any) -> int:
        """Returns the modelled number of bytes that are kept for the backward pass.

        Args:
          inputs: inputs of all steps.
          hidden: initial states of each layer and direction.
        """
        steps = inputs.numel() // inputs.size(-1)
        layers = hidden.size(0) if self._layer in _LAYERS else 1
        if self._layer in _CELLS:
            steps = hidden.size(0) if hidden.dim() == 2 else 1
        return _KEPT[self._layer] * steps * layers * hidden.size(-1) * inputs.element_size()


def _whole_op(machine: Machine) -> Any:
    """Returns the autograd function that runs forward and backward on the CPU."""
    torch = machine.torch
    base: Any = torch.autograd.Function
    keeps_graph_now = torch._C._autograd._get_current_graph_task_keep_graph  # called before this op's backward pass

    class Recurrent(base):
        @staticmethod
        def forward(
            ctx: Any,
            run: Callable[[Sequence[Any]], Any],
            reserve_size: Callable[[Sequence[Any]], int],
            number: int,
            name: str,
            *tensors: Any,
        ) -> Any:
            return machine.run_whole(name, lambda: _compute(ctx, run, reserve_size, number, name, tensors), tensors)

        @staticmethod
        def backward(ctx: Any, *gradients: Any) -> Any:
            _ = ctx.saved_tensors  # raises PyTorch's error in a second backward pass
            below, op = ctx.below, f"{ctx.op}_backward"
            computed = machine.run_whole(op, lambda: _differentiate(ctx, gradients, below), below)
            if torch.is_grad_enabled():
                computed = _undifferentiable(torch, computed)
            remaining = iter(computed)
            return None, None, None, None, *[next(remaining) if each.requires_grad else None for each in below]

    def _compute(
        ctx: Any,
        run: Callable[[Sequence[Any]], Any],
        reserve_size: Callable[[Sequence[Any]], int],
        number: int,
        name: str,
        tensors: tuple[Any, ...],
    ) -> Any:
        below = [machine.lower(tensor.detach(), []).requires_grad_(tensor.requires_grad) for tensor in tensors]
        needed = any([tensor.requires_grad for tensor in below])
        with torch.set_grad_enabled(needed):
            with machine.generators[number].drawing():
                result: Any = run(below)
            results: Sequence[Any] = result if result.__class__ is tuple else (result,)
            if machine.timing.is_wanted:
                machine.timing.add_recurrent(number, tensors, results)
            outputs: list[Any] = [machine.put_on_card(each.detach().clone(), number, name) for each in results]
            if needed:
                memory = torch.empty(reserve_size(below), dtype=torch.uint8, device=machine.tensors.device)
                reserve = machine.put_on_card(memory, number, f"{RESERVE}{name}")
                ctx.save_for_backward(*tensors, *outputs, reserve)
                ctx.below, ctx.results, ctx.number, ctx.op = below, results, number, name
        return tuple(outputs) if len(outputs) > 1 else outputs[0]

    def _differentiate(ctx: Any, gradients: tuple[Any, ...], below: Sequence[Any]) -> list[Any]:
        keeps_graph = keeps_graph_now()
        inputs = [tensor for tensor in below if tensor.requires_grad]
        with torch.no_grad():
            computed = (
                _gradients(machine, ctx.results, gradients, inputs, keeps_graph)
                if machine.tensors.has_values
                else [torch.empty_like(tensor) for tensor in inputs]
            )
        if machine.timing.is_wanted:
            machine.timing.add_recurrent(ctx.number, below, computed, passes=2)
        if not keeps_graph:
            del ctx.below, ctx.results  # otherwise they would keep the inputs alive
        return [machine.put_on_card(gradient, ctx.number, ctx.op) for gradient in computed]

    return Recurrent


def _gradients(
    machine: Machine, results: Sequence[Any], gradients: Sequence[Any], inputs: Sequence[Any], keeps_graph: bool
) -> Any:
    """Returns the gradients of CPU inputs, given the gradients of device results."""
    pairs = [
        (result, machine.lower(gradient, []))
        for result, gradient in zip(results, gradients, strict=True)
        if gradient is not None and result.requires_grad
    ]
    ends, lowered = zip(*pairs, strict=True)
    return machine.torch.autograd.grad(ends, inputs, lowered, retain_graph=keeps_graph, allow_unused=True)


def _undifferentiable(torch: Any, gradients: Sequence[Any]) -> list[Any]:
    """Returns gradients that cannot be differentiated again, like those of cuDNN."""
    refuse = torch._C._functions.DelayedError(_NO_SECOND, len(gradients))
    refused: Any = refuse(*[gradient.detach().requires_grad_() for gradient in gradients])
    return [*refused] if len(gradients) > 1 else [refused]
