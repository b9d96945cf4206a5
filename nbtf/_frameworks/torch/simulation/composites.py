"""Kernels for ops that PyTorch composes of other ops on a GPU, but not on the CPU.

Recurrent layers are a single cuDNN op on a GPU, and attention is one of several ops. Here they are composed as on the
CPU, so that they compute the same values as there.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from nbtf._frameworks.torch.simulation.machine import Machine
from nbtf._frameworks.torch.simulation.recurrent import recurrent_ops

_FLASH = 1
"""`sdp::SDPBackend::flash_attention`."""

_TRACED = "torch._subclasses"
"""The package of the tensor classes that PyTorch's compiler traces with."""


def composites(machine: Machine) -> dict[str, Callable[..., Any]]:
    """Returns kernels by the op's full name, to be called above autograd."""
    return {**recurrent_ops(machine), "aten::scaled_dot_product_attention": _Attention(machine)}


class _Attention:
    """Chooses between the CPU's flash attention and the sum of products, as PyTorch does on the CPU."""

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
        """Computes the attention."""
        if query.__class__.__module__.startswith(_TRACED):  # tensors without memory, which the compiler traces
            return self._math(
                query, key, value, attn_mask, dropout_p, is_causal, None, scale=scale, enable_gqa=enable_gqa
            )[0]
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
        """Returns a CPU tensor with the layout and `requires_grad` of a device tensor; its values are never read."""
        torch = self._torch
        with self._machine.plain():
            storage = torch._C._construct_storage_from_data_pointer(
                tensor.data_ptr(), self._machine.cpu, tensor.untyped_storage().nbytes()
            )
            below = torch.empty(0, dtype=tensor.dtype, device=self._machine.cpu).set_(
                storage, 0, tensor.size(), tensor.stride()
            )
            return below.requires_grad_(tensor.requires_grad and below.is_floating_point())
