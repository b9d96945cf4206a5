"""What results will look like, before they are there."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from nbtf._devices.base import Spec
from nbtf._devices.cpu import CPU
from nbtf.errors import InvalidArgumentError

if TYPE_CHECKING:
    from nbtf._ops.op import Op


def spec_of(value: Any) -> Any:
    """Returns the spec of a tensor, a spec as it is, lists element by element."""
    if value.__class__ is list:
        return [spec_of(item) for item in value]
    return value if value.__class__ is Spec else Spec(tuple(value._array.shape), value._dtype)


def stand_in(op: Op, specs: Sequence[Any], attrs: Mapping[str, Any]) -> list[Spec]:
    """Runs a kernel on arrays that only look like the inputs; unknown lengths are tried as 2 and as 3."""
    tries = [_shapes_with(op, specs, attrs, length) for length in (2, 3)]
    dtypes = op.output_dtypes([s.dtype for s in specs if isinstance(s, Spec)], attrs, len(tries[0]))
    return [
        Spec(tuple(a if a == b else None for a, b in zip(one, other, strict=True)), dtype)
        for one, other, dtype in zip(*tries, dtypes, strict=True)
    ]


def _shapes_with(op: Op, specs: Sequence[Any], attrs: Mapping[str, Any], length: int) -> list[tuple[int, ...]]:
    xp = CPU.xp

    def fake(spec: Any) -> Any:
        if isinstance(spec, list):
            return [fake(item) for item in spec]  # pyright: ignore[reportUnknownVariableType]
        shape = tuple(length if n is None else n for n in spec.shape)
        return xp.broadcast_to(xp.ones((), spec.dtype.np_dtype), shape)

    made: Any = op.kernel(xp, *map(fake, specs), **attrs)
    arrays: list[Any] = list(made) if isinstance(made, list | tuple) else [made]  # pyright: ignore[reportUnknownArgumentType]
    return [tuple(array.shape) for array in arrays]


def broadcast(record: Op) -> Callable[..., Spec]:
    """Returns the rule of elementwise ops: inputs broadcast against each other."""

    def infer(*specs: Spec, **attrs: Any) -> Spec:
        shape = specs[0].shape
        for other in specs[1:]:
            if other.shape != shape:
                shape = broadcast_shapes(shape, other.shape)
        return Spec(shape, record.output_dtypes([spec.dtype for spec in specs], attrs, 1)[0])

    return infer


def broadcast_shapes(a: tuple[int | None, ...], b: tuple[int | None, ...]) -> tuple[int | None, ...]:
    """Returns the shape two shapes broadcast to, None for unknown lengths.

    Raises:
      InvalidArgumentError: they do not fit, in TensorFlow's words.
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
            raise InvalidArgumentError(None, None, f"Incompatible shapes: {bracketed(a)} vs. {bracketed(b)}")
    return tuple(result)


def bracketed(shape: Sequence[int | None]) -> str:
    """Returns a shape as TensorFlow's kernels print it: `[2,3]`."""
    return f"[{','.join('?' if n is None else str(n) for n in shape)}]"
