"""What a strategy holds once for each replica: values, and how structures of them are taken apart and put together."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, NoReturn

from nbtf._runtime.scopes import SCOPE
from nbtf._runtime.tensor import Tensor
from nbtf._types import DType


class DistributedValues:
    """Values that belong together, one for each replica.

    Inside `strategy.run` each replica is given its own; outside, `values` has all of them.
    """

    __slots__ = ()

    _values: tuple[Any, ...]

    @property
    def values(self) -> tuple[Any, ...]:
        """The values, in the order of the replicas."""
        return self._values

    def __repr__(self) -> str:
        """Returns `PerReplica:{` and a line for each replica."""
        return self._lines(repr)

    def __str__(self) -> str:
        """Returns the same with the text of each value."""
        return self._lines(str)

    def _lines(self, render: Callable[[Any], str]) -> str:
        lines = ",\n".join(f"  {number}: {render(value)}" for number, value in enumerate(self._values))
        return f"{type(self).__name__}:{{\n{lines}\n}}"


class PerReplica(DistributedValues):
    """Values that may differ from replica to replica: what `strategy.run` returns, or a batch that was split."""

    __slots__ = ("_values",)

    def __init__(self, values: Sequence[Any]) -> None:
        """Takes a value for each replica."""
        self._values = tuple(values)

    def __tf_tensor__(self, dtype: DType | None = None) -> NoReturn:
        """Refuses: an op takes one value."""
        raise ValueError(
            "It looks like you are using a PerReplica object while not inside a replica context, which is not "
            "supported. Try running your op or function inside a replica context by using `strategy.run`"
        )


class Mirrored(DistributedValues):
    """Equal tensors, one on the device of each replica. An op takes the replica's own, or the first."""

    __slots__ = ("_values",)

    def __init__(self, values: Sequence[Any]) -> None:
        """Takes a tensor for each replica."""
        self._values = tuple(values)

    def __tf_tensor__(self, dtype: DType | None = None) -> Tensor:
        """Is its own tensor where an op takes one."""
        return self._values[replica_number() or 0]

    def numpy(self) -> Any:
        """Returns the value as NumPy has it."""
        return self._values[replica_number() or 0].numpy()


def replica_number() -> int | None:
    """Returns the number of the replica that runs; None outside of replicas."""
    scope = SCOPE()
    return None if scope is None else scope.replica


# Structures


def mapped(fn: Callable[..., Any], *structures: Any) -> Any:
    """Returns a structure like the first, of what `fn` makes of the values at the same place in all of them."""
    first: Any = structures[0]
    structure_class: Any = first.__class__
    if isinstance(first, list | tuple):
        items = [mapped(fn, *values) for values in zip(*structures, strict=True)]
        return structure_class(*items) if hasattr(structure_class, "_fields") else structure_class(items)
    if isinstance(first, dict):
        keys: list[Any] = list(structures[0])
        return structure_class((key, mapped(fn, *(structure[key] for structure in structures))) for key in keys)
    return fn(*structures)


def of_replica(number: int, structure: Any) -> Any:
    """Returns the structure that a replica sees: of each distributed value its own."""

    def pick_value(value: Any) -> Any:
        # A variable stays whole: it finds out by itself which copy is meant.
        return value.values[number] if isinstance(value, PerReplica | Mirrored) else value

    return mapped(pick_value, structure)


def has_replica_values(structure: Any) -> bool:
    """Tells whether a structure has values of which each replica has its own."""
    if isinstance(structure, list | tuple):
        items: Any = structure  # pyright: ignore[reportUnknownVariableType]
        return any([has_replica_values(item) for item in items])
    if isinstance(structure, dict):
        entries: dict[Any, Any] = structure  # pyright: ignore[reportUnknownVariableType]
        return any([has_replica_values(item) for item in entries.values()])
    return isinstance(structure, PerReplica | Mirrored)


def regrouped(structures: Sequence[Any]) -> Any:
    """Returns one structure for those of all replicas: equal Python values as they are, others as `PerReplica`."""
    return structures[0] if len(structures) == 1 else mapped(_together, *structures)


_PLAIN = (int, float, complex, str, bytes, bool, type(None))


def _together(*values: Any) -> Any:
    first = values[0]
    if all(value is first for value in values[1:]):
        return first
    if isinstance(first, _PLAIN) and all(type(value) is type(first) and value == first for value in values[1:]):
        return first
    return PerReplica(values)
