"""Shapes and dtypes of results before they are computed."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

from nbtf._devices.base import Spec
from nbtf.errors import InvalidArgumentError

if TYPE_CHECKING:
    from nbtf._ops.op import Op


Dims = tuple[int | None, ...] | None
"""What is known about a shape; None for an unknown length or an unknown rank."""


class _Unknown:
    """Stands for an attribute that is known only at run time."""

    def __repr__(self) -> str:
        return "UNKNOWN"


UNKNOWN: Any = _Unknown()


def spec_of(value: Any) -> Any:
    """Returns the spec of a tensor; specs are returned unchanged, and lists element by element."""
    if value.__class__ is list:
        return [spec_of(item) for item in value]
    return value if value.__class__ is Spec else Spec(tuple(value._array.shape), value._dtype)


def broadcast(record: Op) -> Callable[..., Spec]:
    """Returns the spec rule of elementwise ops, whose inputs are broadcast against each other."""

    def infer(*specs: Spec, **attrs: Any) -> Spec:
        shape = specs[0].shape
        for other in specs[1:]:
            if other.shape != shape:
                shape = broadcast_shapes(shape, other.shape)
        return Spec(shape, record.output_dtypes([spec.dtype for spec in specs], attrs, 1)[0])

    return infer


def spec_of_first(first: Spec, *operands: Any, **attrs: Any) -> Spec:
    """Returns the first input's spec, for ops whose result has its shape and dtype."""
    return first


def broadcast_shapes(a: tuple[int | None, ...], b: tuple[int | None, ...]) -> tuple[int | None, ...]:
    """Returns the shape that two shapes broadcast to, with None for unknown lengths.

    Raises:
      InvalidArgumentError: if they are incompatible, with TensorFlow's text.
    """
    longer, shorter = (a, b) if len(a) >= len(b) else (b, a)
    padded = (1,) * (len(longer) - len(shorter)) + tuple(shorter)
    result: list[int | None] = []
    for m, n in zip(longer, padded, strict=True):
        if m == n or n == 1:
            result.append(m)
        elif m == 1 or m is None:
            result.append(n)
        elif n is None:
            result.append(m)
        else:
            raise InvalidArgumentError(f"Incompatible shapes: {bracketed(a)} vs. {bracketed(b)}")
    return tuple(result)


def may_be_equal(a: Sequence[int | None], b: Sequence[int | None]) -> bool:
    """Returns whether two shapes may be equal, depending on their unknown lengths."""
    return a == b or (len(a) == len(b) and all([m == n or m is None or n is None for m, n in zip(a, b, strict=True)]))


def merged_shape(shapes: Sequence[tuple[int | None, ...]]) -> tuple[int | None, ...]:
    """Returns the shape that results from combining several partly known descriptions of it."""
    return tuple([next((n for n in lengths if n is not None), None) for lengths in zip(*shapes, strict=True)])


def bracketed(shape: Sequence[int | None]) -> str:
    """Returns a shape as TensorFlow's kernels print it: `[2,3]`."""
    return f"[{','.join('?' if n is None else str(n) for n in shape)}]"


# Rules for partly known shapes


def known_lengths(lengths: Any) -> Dims:
    """Returns the shape that a list of lengths gives; None for unknown lengths or an unknown rank."""
    return None if lengths is UNKNOWN else tuple([None if n is None or n < 0 else n for n in lengths])


def as_asked(attr: str) -> Callable[..., Dims]:
    """Returns the rule of ops whose result's shape is an attribute."""
    return lambda *specs, **attrs: known_lengths(attrs[attr])


def of_rank(rank: int) -> Callable[..., Dims]:
    """Returns the rule of ops whose results always have this rank."""
    return lambda *specs, **attrs: (None,) * rank


def like_first(first: Any, *operands: Any, **attrs: Any) -> Dims:
    """Returns the first input's shape, for ops that keep it."""
    return first.shape


def same_rank(first: Any, *operands: Any, **attrs: Any) -> Dims:
    """Returns unknown lengths of the first input's rank, for ops that keep the rank."""
    return None if first.shape is None else (None,) * len(first.shape)


def longer(first: Any, *operands: Any, **attrs: Any) -> Dims:
    """Returns unknown lengths with one axis more than the first input, for ops that add an axis."""
    return None if first.shape is None else (None,) * (len(first.shape) + 1)


def last_open(first: Any, *operands: Any, **attrs: Any) -> Dims:
    """Returns the first input's shape with an unknown last length, for ops that change only this length."""
    return (*first.shape[:-1], None) if first.shape else None


def reduced(first: Any, axis: Any, keepdims: bool, **attrs: Any) -> Dims:
    """Returns what is known about a reduction's shape."""
    if keepdims:
        return same_rank(first)
    return () if axis is None else None


# Texts for incompatible shapes, from TensorFlow's shape functions: common_shape_fns.cc and *_ops.cc

Lengths = Sequence[int | None]


def unequal_lengths(a: int | None, b: int | None) -> str:
    """Returns the text for two lengths that differ."""
    return f"Dimensions must be equal, but are {a} and {b}"


def unequal_operands(left: Lengths, right: Lengths, **attrs: Any) -> str | None:
    """Returns the text for lengths that cannot be broadcast against each other, or None."""
    rank = max(len(left), len(right))
    padded = [(1,) * (rank - len(lengths)) + tuple(lengths) for lengths in (left, right)]
    for a, b in zip(*padded, strict=True):
        if a != b and None not in (a, b) and 1 not in (a, b):
            return unequal_lengths(a, b)
    return None


def unequal_shapes(first: Lengths, second: Lengths, free: int | None = None) -> str | None:
    """Returns the text for shapes that differ, ignoring the axis `free`, or None."""
    if len(first) != len(second):
        return f"Shapes must be equal rank, but are {len(first)} and {len(second)}"
    for axis, (a, b) in enumerate(zip(first, second, strict=True)):
        if axis != free and a != b and None not in (a, b):
            texts = [bracketed([n for at, n in enumerate(lengths) if at != free]) for lengths in (first, second)]
            return (
                f"Dimension {axis} in both shapes must be equal, but are {a} and {b}. "
                f"Shapes are {texts[0]} and {texts[1]}."
            )
    return None


def unequal_list(shapes: Sequence[Lengths], **attrs: Any) -> str | None:
    """Returns the text for tensors of a list whose shapes differ, or None."""
    for lengths in reversed(shapes):
        difference = unequal_shapes(shapes[0], lengths)
        if difference:
            return f"{difference}\n\tFrom merging shape 0 with other shapes."
    return None
