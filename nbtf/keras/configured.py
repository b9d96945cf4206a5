"""What it takes to make an object again: the arguments that it was made with."""

from __future__ import annotations

from dataclasses import dataclass, fields
from typing import Any, Self


@dataclass(eq=False, repr=False)
class Configured:
    """Is made again from its fields."""

    def get_config(self) -> dict[str, Any]:
        """Returns what it takes to make another."""
        return {field.name: getattr(self, field.name) for field in fields(self)}

    @classmethod
    def from_config(cls, config: dict[str, Any]) -> Self:
        """Makes one from what `get_config` gave."""
        return cls(**config)
