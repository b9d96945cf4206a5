"""Objects that can be created again from their constructor arguments."""

from __future__ import annotations

from dataclasses import dataclass, fields
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
