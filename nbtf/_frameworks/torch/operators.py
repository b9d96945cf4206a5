"""What must be known about a PyTorch operator before its calls can be recorded?"""

from __future__ import annotations

from typing import Any, Final, NamedTuple

from nbtf._frameworks.devices import LibraryOp

STEP_BEGINS, STEP_ENDS, PASSED, COMPOSITE, PLAIN, COPY, READ, LIFT = range(8)

_ASKED: Final = frozenset(
    {"size", "stride", "numel", "dim", "storage_offset", "layout", "device", "is_contiguous"}
    | {"sym_size", "sym_stride", "sym_numel", "sym_storage_offset", "sym_is_contiguous"}
    | {"is_non_overlapping_and_dense", "is_strides_like_format"}
)
"""Queries of tensor subclasses, which run no op. Source: `_python_dispatch.py` of PyTorch 2.13."""
_STEP: Final = {"_record_function_enter_new": STEP_BEGINS, "_record_function_exit": STEP_ENDS}
_COPIES: Final = frozenset({"aten::_to_copy", "aten::copy_", "aten::_copy_from", "aten::_copy_from_and_resize"})


class Operator(NamedTuple):
    """An operator; `action` is the kind of its calls, and `is_view` is true if results share memory with the input."""

    op: LibraryOp
    action: int
    is_view: bool = False


def operator_of(torch: Any, func: Any) -> Operator:
    """Returns the properties of an operator, or of a higher-order function, which has no schema."""
    schema = getattr(func, "_schema", None)
    if schema is None:
        return Operator(LibraryOp(f"higher_order::{func}"), PLAIN)
    name = schema.name
    namespace, _, bare = name.partition("::")
    op = LibraryOp(name)
    if namespace == "profiler":
        return Operator(op, _STEP.get(bare, PASSED))
    if namespace == "prim" or bare in _ASKED:
        return Operator(op, PASSED)
    if torch._C._dispatch_has_kernel_for_dispatch_key(func.name(), "CompositeImplicitAutograd"):
        return Operator(op, COMPOSITE)
    if name in _COPIES:
        return Operator(op, COPY)
    if name == "aten::lift_fresh":
        return Operator(op, LIFT)
    returns = schema.returns
    if returns and not any("Tensor" in str(each.type) for each in returns):
        return Operator(op, READ)
    return Operator(op, PLAIN, bool(returns) and all(_is_alias(each) for each in returns))


def _is_alias(returned: Any) -> bool:
    alias = returned.alias_info
    return alias is not None and not alias.is_write
