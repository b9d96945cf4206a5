"""The `signatures` of a loaded object: functions by name that return dictionaries."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from typing import Any

from nbtf._ops.arrays.creation import convert_to_tensor
from nbtf._ops.structure import map_structure


class Signature:
    """A function of a loaded object that returns a dictionary.

    Attributes:
      name: name under which it was saved.
    """

    def __init__(self, name: str, function: Callable[..., Any], outputs: list[str] | None = None) -> None:
        """Stores the function and, if known, the names of its results."""
        self.name: str = name
        self._function, self._outputs = function, outputs

    def __call__(self, *args: Any, **kwargs: Any) -> dict[str, Any]:
        """Returns the results by name: `output_0` and so on, or the keys of a dictionary."""
        arguments = map_structure(convert_to_tensor, (args, kwargs))
        results = self._function(*arguments[0], **arguments[1])
        if isinstance(results, Mapping):
            named: Mapping[str, Any] = results  # pyright: ignore[reportUnknownVariableType]
            return dict(named)
        several: list[Any] = list(results) if isinstance(results, list | tuple) else [results]  # pyright: ignore[reportUnknownArgumentType]
        names = self._outputs or [f"output_{number}" for number in range(len(several))]
        return dict(zip(names, several, strict=False))

    def __repr__(self) -> str:
        """Returns a representation with the function's name."""
        return f"<Signature {self.name}>"


class SignatureMap(Mapping[str, Signature]):
    """The signatures of a loaded object by name."""

    def __init__(self, signatures: dict[str, Signature]) -> None:
        """Stores the signatures."""
        self._signatures = signatures

    def __getitem__(self, key: str) -> Signature:
        """Returns a signature.

        Raises:
          KeyError: if no signature has this name.
        """
        return self._signatures[key]

    def __iter__(self) -> Iterator[str]:
        """Iterates over the names."""
        return iter(self._signatures)

    def __len__(self) -> int:
        """Returns the number of signatures."""
        return len(self._signatures)

    def __repr__(self) -> str:
        """Returns a representation with names and functions."""
        return f"_SignatureMap({self._signatures})"
