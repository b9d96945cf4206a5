"""Values that a strategy holds once per replica, and functions that split and combine structures of them."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, NoReturn

from nbtf._runtime.scopes import SCOPE
from nbtf._runtime.tensor import Tensor
from nbtf._types import DType


class DistributedValues:
    """A group of values, one per replica.

    Inside `strategy.run`, each replica gets its own value; outside, `values` has all of them.
    """

    __slots__ = ()

    _values: tuple[Any, ...]

    @property
    def values(self) -> tuple[Any, ...]:
        """The values, in the order of the replicas."""
        return self._values

    def __repr__(self) -> str:
        """Returns `PerReplica:{` and one line per replica."""
        return self._lines(repr)

    def __str__(self) -> str:
        """Returns the same as `repr`, with the string form of each value."""
        return self._lines(str)

    def _lines(self, render: Callable[[Any], str]) -> str:
        lines = ",\n".join(f"  {number}: {render(value)}" for number, value in enumerate(self._values))
        return f"{type(self).__name__}:{{\n{lines}\n}}"


class PerReplica(DistributedValues):
    """Values that may differ between replicas, such as results of `strategy.run` or the parts of a batch."""

    __slots__ = ("_values",)

    def __init__(self, values: Sequence[Any]) -> None:
        """Stores one value per replica."""
        self._values = tuple(values)

    def __tf_tensor__(self, dtype: DType | None = None) -> NoReturn:
        """Raises an error, because an op needs a single value."""
        raise ValueError(
            "It looks like you are using a PerReplica object while not inside a replica context, which is not "
            "supported. Try running your op or function inside a replica context by using `strategy.run`"
        )


class Mirrored(DistributedValues):
    """Equal tensors, one on each replica's device. An op uses the replica's own, or the first outside replicas."""

    __slots__ = ("_values",)

    def __init__(self, values: Sequence[Any]) -> None:
        """Stores one tensor per replica."""
        self._values = tuple(values)

    def __tf_tensor__(self, dtype: DType | None = None) -> Tensor:
        """Returns the tensor for an op that receives this object."""
        return self._values[replica_number() or 0]

    def numpy(self) -> Any:
        """Returns the value as a NumPy array."""
        return self._values[replica_number() or 0].numpy()


def replica_number() -> int | None:
    """Returns the number of the running replica; None outside replicas."""
    scope = SCOPE()
    return None if scope is None else scope.replica


# Structures


def mapped(fn: Callable[..., Any], *structures: Any) -> Any:
    """Returns a structure like the first; `fn` combines the values at the same position in all structures."""
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
    """Returns the structure as a replica sees it, with its own value from each distributed one."""

    def pick_value(value: Any) -> Any:
        # A variable stays whole, because it selects the right copy itself.
        return value.values[number] if isinstance(value, PerReplica | Mirrored) else value

    return mapped(pick_value, structure)


def has_replica_values(structure: Any) -> bool:
    """Returns whether a structure contains values that each replica has separately."""
    if isinstance(structure, list | tuple):
        items: Any = structure  # pyright: ignore[reportUnknownVariableType]
        return any([has_replica_values(item) for item in items])
    if isinstance(structure, dict):
        entries: dict[Any, Any] = structure  # pyright: ignore[reportUnknownVariableType]
        return any([has_replica_values(item) for item in entries.values()])
    return isinstance(structure, PerReplica | Mirrored)


def regrouped(structures: Sequence[Any]) -> Any:
    """Combines the structures of all replicas into one: equal Python values stay, others become `PerReplica`."""
    return structures[0] if len(structures) == 1 else mapped(_together, *structures)


_PLAIN = (int, float, complex, str, bytes, bool, type(None))


def _together(*values: Any) -> Any:
    first = values[0]
    if all(value is first for value in values[1:]):
        return first
    if isinstance(first, _PLAIN) and all(type(value) is type(first) and value == first for value in values[1:]):
        return first
    return PerReplica(values)
