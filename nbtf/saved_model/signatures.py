"""What `loaded.signatures` is: functions by name, which return dictionaries."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from typing import Any

from nbtf._ops.arrays.creation import convert_to_tensor
from nbtf._ops.structure import map_structure


class Signature:
    """A function of a loaded object; it returns a dictionary.

    Attributes:
      name: under which it was saved.
    """

    def __init__(self, name: str, function: Callable[..., Any], outputs: list[str] | None = None) -> None:
        """Takes the function, and what its results are called if that is known."""
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
        """Names the function."""
        return f"<Signature {self.name}>"


class SignatureMap(Mapping[str, Signature]):
    """The signatures of a loaded object by name."""

    def __init__(self, signatures: dict[str, Signature]) -> None:
        """Takes them."""
        self._signatures = signatures

    def __getitem__(self, key: str) -> Signature:
        """Returns a signature.

        Raises:
          KeyError: there is none of that name.
        """
        return self._signatures[key]

    def __iter__(self) -> Iterator[str]:
        """Iterates over the names."""
        return iter(self._signatures)

    def __len__(self) -> int:
        """Returns how many there are."""
        return len(self._signatures)

    def __repr__(self) -> str:
        """Shows names and functions."""
        return f"_SignatureMap({self._signatures})"
