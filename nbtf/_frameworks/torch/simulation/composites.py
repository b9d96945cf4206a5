"""Which ops does PyTorch make of others for a card than for the CPU, so that the CPU lacks some of them?

Recurrent layers are one op of cuDNN there, and attention is one of several. Here they are made as for the CPU, so that
they compute what they compute there.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from nbtf._frameworks.torch.simulation.agreement import check_devices
from nbtf._frameworks.torch.simulation.machine import Machine

_RECURRENT = (
    *[f"{layer}.{form}" for layer in ("lstm", "gru", "rnn_tanh", "rnn_relu") for form in ("input", "data")],
    "lstm_cell",
    "gru_cell",
)
_FLASH = 1
"""`sdp::SDPBackend::flash_attention`."""


def composites(machine: Machine) -> dict[str, Callable[..., Any]]:
    """Returns kernels by full name, to be called above autograd."""
    kernels: dict[str, Callable[..., Any]] = {
        f"aten::{name}": _Recurrent(machine, machine.op(f"aten::{name}")) for name in _RECURRENT
    }
    kernels["aten::scaled_dot_product_attention"] = _Attention(machine)
    return kernels


class _Recurrent:
    """Runs a recurrent layer on the CPU as a whole, and its backward pass as well."""

    def __init__(self, machine: Machine, op: Any) -> None:
        self._machine, self._op = machine, op
        self._function = _whole_op(machine)
        self._names = [argument.name for argument in op._schema.arguments]

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        """Runs it; autograd sees one op."""
        machine = self._machine
        tensors: list[Any] = []

        def take(value: Any) -> Any:
            if isinstance(value, machine.torch.Tensor):
                tensors.append(value)
                return _Slot(len(tensors) - 1)
            return [take(element) for element in value] if value.__class__ in (list, tuple) else value

        arguments = [take(value) for value in args]
        keywords = {name: take(value) for name, value in kwargs.items()}
        devices = {tensor.get_device() for tensor in tensors if tensor.is_cuda}
        floating_on_cpu = [tensor for tensor in tensors if not tensor.is_cuda and tensor.is_floating_point()]
        if len(devices) > 1 or floating_on_cpu:
            check_devices(machine, self._op.name(), self._names, args, kwargs)

        def run(below: Sequence[Any]) -> Any:
            def give(value: Any) -> Any:
                if value.__class__ is _Slot:
                    return below[value.number]
                return [give(element) for element in value] if value.__class__ is list else value

            return self._op(
                *[give(value) for value in arguments], **{key: give(value) for key, value in keywords.items()}
            )

        return self._function.apply(run, max(devices), self._op.name().partition(".")[0], *tensors)


class _Slot:
    """Stands for a tensor among arguments."""

    def __init__(self, number: int) -> None:
        self.number = number


def _whole_op(machine: Machine) -> Any:
    """Returns the function of autograd that runs something on the CPU, forward and backward."""
    torch = machine.torch
    base: Any = torch.autograd.Function

    class Recurrent(base):
        @staticmethod
        def forward(ctx: Any, run: Callable[[Sequence[Any]], Any], number: int, name: str, *tensors: Any) -> Any:
            return machine.run_whole(name, lambda: compute(ctx, run, number, name, tensors), tensors)

        @staticmethod
        def backward(ctx: Any, *gradients: Any) -> Any:
            computed = machine.run_whole(f"{ctx.op}_backward", lambda: differentiate(ctx, gradients), ctx.below)
            return None, None, None, *computed

    def compute(ctx: Any, run: Callable[[Sequence[Any]], Any], number: int, name: str, tensors: tuple[Any, ...]) -> Any:
        def keep(tensor: Any) -> Any:
            return machine.put_on_card(tensor.detach(), number, name)

        def look(tensor: Any) -> Any:
            return machine.lower(tensor, [])

        below = [machine.lower(tensor.detach(), []).requires_grad_(tensor.requires_grad) for tensor in tensors]
        needed = any([tensor.requires_grad for tensor in below])
        with (
            torch.set_grad_enabled(needed),
            torch.autograd.graph.saved_tensors_hooks(keep, look),
            machine.generators[number].drawing(),
        ):
            result: Any = run(below)
        results: Sequence[Any] = result if result.__class__ is tuple else (result,)
        if machine.timing.is_wanted:
            machine.timing.add_recurrent(number, tensors, results)
        if needed:
            ctx.below, ctx.results, ctx.number, ctx.op = below, results, number, name
        outputs: list[Any] = [machine.put_on_card(each.detach().clone(), number, name) for each in results]
        return tuple(outputs) if len(outputs) > 1 else outputs[0]

    def differentiate(ctx: Any, gradients: tuple[Any, ...]) -> list[Any]:
        inputs = [tensor for tensor in ctx.below if tensor.requires_grad]
        pairs = [
            (result, machine.lower(gradient, []))
            for result, gradient in zip(ctx.results, gradients, strict=True)
            if gradient is not None and result.requires_grad
        ]
        results, lowered = zip(*pairs, strict=True)
        computed = iter(torch.autograd.grad(results, inputs, lowered, retain_graph=True, allow_unused=True))
        of_inputs = [next(computed) if tensor.requires_grad else None for tensor in ctx.below]
        if machine.timing.is_wanted:
            machine.timing.add_recurrent(ctx.number, ctx.below, of_inputs, passes=2)
        return [machine.put_on_card(gradient, ctx.number, ctx.op) for gradient in of_inputs]

    return Recurrent


class _Attention:
    """Chooses the way of the CPU: its flash attention, or the sum of products."""

    def __init__(self, machine: Machine) -> None:
        aten = machine.torch.ops.aten
        self._machine, self._torch = machine, machine.torch
        self._choice, self._flash = aten._fused_sdp_choice, aten._scaled_dot_product_flash_attention_for_cpu
        self._math = aten._scaled_dot_product_attention_math

    def __call__(
        self,
        query: Any,
        key: Any,
        value: Any,
        attn_mask: Any = None,
        dropout_p: float = 0.0,
        is_causal: bool = False,
        *,
        scale: float | None = None,
        enable_gqa: bool = False,
    ) -> Any:
        """Attends."""
        with self._machine.aside(), self._machine.plain():
            lowered = [None if each is None else self._shape_on_cpu(each) for each in (query, key, value, attn_mask)]
            choice = self._choice(*lowered, dropout_p, is_causal, scale=scale, enable_gqa=enable_gqa)
        if attn_mask is not None and attn_mask.dtype == self._torch.bool:
            zero = self._torch.zeros([], dtype=query.dtype, device=query.device)
            attn_mask = self._torch.where(attn_mask, zero, float("-inf"))
        if choice == _FLASH:
            return self._flash(query, key, value, dropout_p, is_causal, attn_mask=attn_mask, scale=scale)[0]
        return self._math(query, key, value, attn_mask, dropout_p, is_causal, None, scale=scale, enable_gqa=enable_gqa)[
            0
        ]

    def _shape_on_cpu(self, tensor: Any) -> Any:
        """Returns a tensor of the CPU with the layout and the needs of one of a device; its values stay unread."""
        torch = self._torch
        with self._machine.plain():
            storage = torch._C._construct_storage_from_data_pointer(
                tensor.data_ptr(), self._machine.cpu, tensor.untyped_storage().nbytes()
            )
            below = torch.empty(0, dtype=tensor.dtype, device=self._machine.cpu).set_(
                storage, 0, tensor.size(), tensor.stride()
            )
            return below.requires_grad_(tensor.requires_grad and below.is_floating_point())
