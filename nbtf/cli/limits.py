"""How far may outputs differ from the recorded ones, and how much of the devices may a cell use?

The names are the same everywhere: in the metadata of a cell or notebook (`{"nbtf": {"limits": {"tolerance": 1e-6}}}`),
in a cell's tags and comments (`nbtf-tolerance=1e-6`, `# NBTF_TOLERANCE=1e-6`), and in the settings file.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Any, cast

from nbtf import runtime
from nbtf.cli.checking.sanitizing import OPTIONAL
from nbtf.cli.command_error import CommandError


@dataclass(frozen=True, slots=True)
class Limits:
    """The limits of a cell.

    For outputs: `tolerance` is the relative difference allowed between numbers with a decimal point, as a share of the
    larger one. `pictures` is the share of a picture's pixels that may differ (1: only its size is compared). `vary`
    lists kinds of values that may differ: `times`, `addresses`, `ids`, `counters`.
    For devices: `at_most` bounds the peak memory of every GPU, `kept_memory` the growth of memory still in use after
    the cell. `placement` lists rules such as `MatMul=GPU:1`; `no_copies` forbids copies between devices.
    """

    tolerance: float = 0.0
    pictures: float = 0.0
    vary: tuple[str, ...] = field(default=())
    at_most: str | None = None
    kept_memory: str | None = None
    placement: tuple[str, ...] = field(default=())
    no_copies: bool = False

    @property
    def of_devices(self) -> bool:
        """Whether a limit requires a check in the kernel."""
        return self.at_most is not None or self.kept_memory is not None or bool(self.placement) or self.no_copies

    def for_outputs_of(self, nearer: Mapping[str, Any]) -> Limits:
        """Returns these limits, overridden by the more specific ones in `nearer`."""
        names = ("tolerance", "pictures", "vary")
        return replace(self, **{name: nearer[name] for name in names if name in nearer})


STRICT = Limits()
"""Outputs must be the same, and devices are not checked."""


def read_limits(table: object, source: str) -> dict[str, Any]:
    """Returns the limits in a table, each converted to its type.

    Args:
      table: as a file has it.
      source: the table's location, for messages.

    Raises:
      CommandError: if a limit does not exist, or its value is invalid.

    >>> read_limits({"tolerance": "1e-6", "placement": "MatMul=GPU:1"}, "cell 3")
    {'tolerance': 1e-06, 'placement': ('MatMul=GPU:1',)}
    """
    if not isinstance(table, Mapping):
        raise CommandError(f"{source}: limits must be a table, got {table!r:.80}")
    named = cast("Mapping[str, object]", table)
    limits: dict[str, Any] = {}
    for name, value in named.items():
        try:
            limits[_FIELDS.get(name, name)] = _READERS[name](value)
        except KeyError:
            raise CommandError(f"{source}: unknown limit {name!r}. Limits: {', '.join(NAMES)}") from None
        except (TypeError, ValueError) as error:
            raise CommandError(f"{source}: {name}: {error}") from error
    return limits


def _share(value: object) -> float:
    """A number, 0 or more; `True` is not accepted."""
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
            raise ValueError(f"Invalid rule {rule!r}. Expected OP=DEVICE, such as MatMul=GPU:1.")
    return tuple(map(str, rules))


def kinds_that_vary(value: object) -> tuple[str, ...]:
    """Returns the kinds of values in a list or in a text with commas.

    Raises:
      ValueError: if there is no such kind.

    >>> kinds_that_vary("times, ids")
    ('times', 'ids')
    """
    named = value.split(",") if isinstance(value, str) else list(cast("list[object]", value))
    groups = tuple(group for each in named if (group := str(each).strip()))
    unknown = [group for group in groups if group not in OPTIONAL]
    if unknown:
        raise ValueError(f"unknown kind {unknown[0]!r}. Kinds: {', '.join(OPTIONAL)}")
    return groups


def _truth(value: object) -> bool:
    if value not in (True, False, "", "true", "false"):
        raise ValueError(f"expected true or false, got {value!r}")
    return value in (True, "", "true")


_READERS = {
    "tolerance": _share,
    "pictures": _share,
    "vary": kinds_that_vary,
    "at_most": _size,
    "kept": _size,
    "placement": _rules,
    "no_copies": _truth,
}

_FIELDS = {"kept": "kept_memory"}

NAMES = tuple(_READERS)
"""The names of the limits, as they are written."""
