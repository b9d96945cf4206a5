"""CPU ops for the dtypes that PyTorch's CUDA ops accept and its CPU ops refuse.

The op runs with the next larger dtype, and its results are rounded to the dtype that they have on a card. A card
computes most of these ops in the larger dtype as well.

Source: the dtypes of each op in `torch/testing/_internal/common_methods_invocations.py`, PyTorch 2.10 to 2.13.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, cast

_LARGER = {
    "float16": {"float16": "float32"},
    "bfloat16": {"bfloat16": "float32"},
    "complex32": {"complex32": "complex64", "float16": "float32"},
    "bool": {"bool": "uint8"},
}
"""By the dtype that the CPU refuses: the dtypes in which the op runs."""

_ROUNDED = {
    "float16": {"float32": "float16", "complex64": "complex32"},
    "bfloat16": {"float32": "bfloat16"},
    "complex32": {"float32": "float16", "complex64": "complex32"},
    "bool": {"uint8": "bool"},
}
"""By the same dtype: what the results are converted to."""

_COMPLEX = (
    "acos acosh angle asin asinh atan atanh cos cosh div exp lerp log logaddexp pow prod rsqrt sigmoid "
    "sigmoid_backward sin sinh sqrt sum tan tanh tanh_backward trace"
)
_HALF = (
    "_upsample_bilinear2d_aa _upsample_bilinear2d_aa_backward avg_pool3d avg_pool3d_backward multi_margin_loss "
    "multi_margin_loss_backward multilabel_margin_loss_forward multilabel_margin_loss_backward"
)
_TRANSFORMS = ("_fft_r2c", "_fft_c2r", "_fft_c2c")

_DTYPES: dict[str, tuple[str, ...]] = {
    **dict.fromkeys(_COMPLEX.split(), ("complex32",)),
    **dict.fromkeys(_HALF.split(), ("float16", "bfloat16")),
    **dict.fromkeys(_TRANSFORMS, ("complex32", "float16")),
    "rrelu_with_noise": ("float16",),
    "abs": ("bool",),
    "trace": ("bool", "complex32", "float16", "bfloat16"),
}
"""By op: the dtypes that only a card accepts."""


def accepting(torch: Any, name: str, op: Callable[..., Any]) -> Callable[..., Any]:
    """Returns a CPU op that accepts the dtypes which the op accepts on a card.

    Args:
      torch: PyTorch.
      name: full name of the op.
      op: the CPU op.
    """
    base, _, overload = name.removeprefix("aten::").partition(".")
    if base == "histc":
        return _first(op, _histogram(torch))
    if base == "nansum":
        return _first(op, _sum_without_nan(torch))
    names = _DTYPES.get(base.removesuffix("_") if base.endswith("_") else base)
    if names is None:
        return op
    schema = torch._C._get_schema(f"aten::{base}", overload)
    return _first(op, _Converted(torch, op, [(name, getattr(torch, name)) for name in names], schema))


class _NotForThese(Exception):  # noqa: N818  # no error: the CPU op's own error is right
    """The arguments have no dtype that only a card accepts."""


def _first(op: Callable[..., Any], instead: Callable[..., Any]) -> Callable[..., Any]:
    """Returns a function that runs the CPU op, and something else in its place if it refuses the arguments."""

    def run(*args: Any, **kwargs: Any) -> Any:
        try:
            return op(*args, **kwargs)
        except RuntimeError as error:
            if "not resizable" in str(error):  # an output has the wrong shape, which the caller handles
                raise
            refused = error
        try:
            return instead(*args, **kwargs)
        except _NotForThese:
            raise refused from None

    return run


class _Converted:
    """Runs an op with a larger dtype."""

    def __init__(self, torch: Any, op: Callable[..., Any], dtypes: Sequence[tuple[str, Any]], schema: Any) -> None:
        """Stores the op, and reads from its schema which arguments it writes."""
        self._torch, self._op, self._dtypes = torch, op, dtypes
        self._arguments = [argument.name for argument in schema.arguments]
        self._written = [
            argument.name
            for argument in schema.arguments
            if argument.alias_info is not None and argument.alias_info.is_write
        ]
        self._is_transform = schema.name.removeprefix("aten::") in _TRANSFORMS

    def __call__(self, /, *args: Any, **kwargs: Any) -> Any:
        torch = self._torch
        by_name = dict(zip(self._arguments, args, strict=False)) | kwargs
        tensors = [value for value in by_name.values() if isinstance(value, torch.Tensor)]
        refused = next((name for name, dtype in self._dtypes if any(each.dtype is dtype for each in tensors)), None)
        if refused is None:
            raise _NotForThese
        if self._is_transform:
            _check_lengths(**by_name)
        larger, rounded = (
            {getattr(torch, refused_name): getattr(torch, name) for refused_name, name in table[refused].items()}
            for table in (_LARGER, _ROUNDED)
        )

        def convert(value: Any) -> Any:
            if isinstance(value, torch.Tensor):
                return value.to(larger.get(value.dtype, value.dtype))
            return larger.get(value, value) if isinstance(value, torch.dtype) else value

        converted = {name: convert(value) for name, value in by_name.items()}
        positional = [converted[name] for name in self._arguments[: len(args)]]
        result = self._op(*positional, **{name: converted[name] for name in kwargs})
        written = {id(converted[name]): by_name[name] for name in self._written if by_name.get(name) is not None}
        for name in self._written:
            if by_name.get(name) is not converted.get(name):
                _written(by_name[name], converted[name])

        def round_(value: Any) -> Any:
            if isinstance(value, torch.Tensor):
                output = written.get(id(value))
                return value.to(rounded.get(value.dtype, value.dtype)) if output is None else output
            return tuple(map(round_, cast("tuple[Any, ...]", value))) if isinstance(value, tuple) else value

        return round_(result)


def _check_lengths(self: Any, dim: Sequence[int], last_dim_size: int | None = None, **_options: Any) -> None:
    """Raises the CUDA library's error for a transform in half precision whose length is not a power of 2."""
    lengths = [self.size(each) for each in dim]
    if last_dim_size is not None:
        lengths[-1] = last_dim_size
    if any(length & (length - 1) for length in lengths):
        raise RuntimeError(
            "cuFFT only supports dimensions whose sizes are powers of two when computing in half precision, but got a "
            f"signal size of{lengths}"
        )


def _histogram(torch: Any) -> Callable[..., Any]:
    """Returns a function that counts whole numbers in bins of equal width, with whole arithmetic as on a card."""

    def histogram(self: Any, bins: int = 100, min: float = 0, max: float = 0, *, out: Any = None) -> Any:
        if self.dtype.is_floating_point or self.dtype.is_complex or self.dtype is torch.bool or bins < 1:
            raise _NotForThese
        if self.device.type == "meta":
            return _written(out, self.new_empty(bins))
        low, high = int(min), int(max)
        if low == high and self.numel():
            low, high = int(self.min()), int(self.max())
        if low == high:
            low, high = low - 1, high + 1
        if low > high:
            raise RuntimeError("max must be larger than min")
        inside = self[(self >= low) & (self <= high)].long()
        bin_of = ((inside - low) * bins // (high - low)).clamp(max=bins - 1)
        return _written(out, torch.bincount(bin_of, minlength=bins).to(self.dtype))

    return histogram


def _sum_without_nan(torch: Any) -> Callable[..., Any]:
    """Returns a function that sums complex numbers except those of which a part is NaN."""

    def sum_(self: Any, dim: Any = None, keepdim: bool = False, *, dtype: Any = None, out: Any = None) -> Any:
        if not self.dtype.is_complex:
            raise _NotForThese
        dtype = dtype or self.dtype
        larger = torch.complex64 if dtype is torch.complex32 else dtype
        numbers = self.to(larger)
        return _written(out, torch.where(numbers.isnan(), 0, numbers).sum(dim, keepdim, dtype=larger).to(dtype))

    return sum_


def _written(out: Any, result: Any) -> Any:
    """Returns a result, or the output into which it was written."""
    if out is None:
        return result
    if out.size() != result.size():
        out.resize_(result.size())
    return out.copy_(result)
