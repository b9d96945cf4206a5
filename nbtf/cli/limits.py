"""How far may outputs be from the recorded ones, and what may a cell take of the devices?

The same names everywhere: in the metadata of a cell or a notebook (`{"nbtf": {"limits": {"tolerance": 1e-6}}}`), as
tags and comments of a cell (`nbtf-tolerance=1e-6`, `# NBTF_TOLERANCE=1e-6`), and in the file of settings.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Any, cast

from nbtf import runtime
from nbtf.cli.command_error import CommandError


@dataclass(frozen=True, slots=True)
class Limits:
    """What is allowed.

    Of outputs: `tolerance`, by which numbers with a point may differ, as a share of the larger one; `pictures`, the
    share of a picture's pixels that may look different (1: only its size counts).
    Of devices: `at_most`, the highest peak of any GPU, `kept_memory`, how much more than before may stay in use,
    `placement`, rules such as `MatMul=GPU:1`, and `no_copies` between devices.
    """

    tolerance: float = 0.0
    pictures: float = 0.0
    at_most: str | None = None
    kept_memory: str | None = None
    placement: tuple[str, ...] = field(default=())
    no_copies: bool = False

    @property
    def of_devices(self) -> bool:
        """Whether something must be looked at in the kernel."""
        return self.at_most is not None or self.kept_memory is not None or bool(self.placement) or self.no_copies

    def for_outputs_of(self, nearer: Mapping[str, Any]) -> Limits:
        """Returns what holds where something nearer to the output says something, too."""
        names = ("tolerance", "pictures")
        return replace(self, **{name: nearer[name] for name in names if name in nearer})


STRICT = Limits()
"""Outputs are the same, and devices are not looked at."""


def read_limits(table: object, source: str) -> dict[str, Any]:
    """Returns the limits that a table names, each in its type.

    Args:
      table: as it stands in a file.
      source: where that is, for errors.

    Raises:
      CommandError: there is no such limit, or it has another value.

    >>> read_limits({"tolerance": "1e-6", "placement": "MatMul=GPU:1"}, "cell 3")
    {'tolerance': 1e-06, 'placement': ('MatMul=GPU:1',)}
    """
    if not isinstance(table, Mapping):
        raise CommandError(f"{source}: limits are a table, got {table!r:.80}")
    named = cast("Mapping[str, object]", table)
    limits: dict[str, Any] = {}
    for name, value in named.items():
        try:
            limits[_FIELDS.get(name, name)] = _READERS[name](value)
        except KeyError:
            raise CommandError(f"{source}: there is no limit {name!r}; there are {', '.join(NAMES)}") from None
        except (TypeError, ValueError) as error:
            raise CommandError(f"{source}: {name}: {error}") from error
    return limits


def _share(value: object) -> float:
    """A number from 0 on; `True` is none."""
    number = math.nan if isinstance(value, bool) or not isinstance(value, int | float | str) else float(value)
    if not 0 <= number < math.inf:
        raise ValueError(f"expected a number, 0 or more, got {value!r}")
    return number


def _size(value: object) -> str:
    runtime.size_in_bytes(cast("Any", value))
    return str(value)


def _rules(value: object) -> tuple[str, ...]:
    rules = [value] if isinstance(value, str) else list(cast("list[object]", value))
    for rule in rules:
        pattern, _, device = str(rule).partition("=")
        if not pattern or not device:
            raise ValueError(f"A rule reads OP=DEVICE, such as MatMul=GPU:1; got {rule!r}.")
    return tuple(map(str, rules))


def _truth(value: object) -> bool:
    if value not in (True, False, "", "true", "false"):
        raise ValueError(f"expected true or false, got {value!r}")
    return value in (True, "", "true")


_READERS = {
    "tolerance": _share,
    "pictures": _share,
    "at_most": _size,
    "kept": _size,
    "placement": _rules,
    "no_copies": _truth,
}

_FIELDS = {"kept": "kept_memory"}

NAMES = tuple(_READERS)
"""The limits, as they are written."""
