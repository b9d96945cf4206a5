"""Objects that can be created again from their constructor arguments."""

from __future__ import annotations

from dataclasses import dataclass, fields
from inspect import get_annotations
from typing import Any, Self


@dataclass(eq=False, repr=False)
class Configured:
    """An object that can be created again from its fields."""

    def get_config(self) -> dict[str, Any]:
        """Returns the constructor arguments as a dictionary."""
        return {field.name: getattr(self, field.name) for field in fields(self)}

    @classmethod
    def from_config(cls, config: dict[str, Any]) -> Self:
        """Creates an object from the result of `get_config`."""
        return cls(**config)


def as_options(options_class: Any, function: Any) -> None:
    """Makes a class a dataclass whose fields are options of a function and whose objects are named like it.

    Args:
      options_class: the class; the default of its field `name` may be another name.
      function: the function; None for a base class.
    """
    if function is not None and not vars(options_class).get("name"):  # pyright: ignore[reportUnknownMemberType]
        options_class.__annotations__ = {**get_annotations(options_class), "name": "str"}
        options_class.name = function.__name__
    dataclass(eq=False, repr=False)(options_class)
