"""What does a strategy do that has lost a device? It goes on with those left, or with another in its place."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from nbtf._counts import counted
from nbtf._devices.names import Fields, parse
from nbtf._ops.variables.creation import VariableAggregation
from nbtf._runtime.cluster import forget_losses, renew
from nbtf._runtime.context import CURRENT
from nbtf._runtime.device import device
from nbtf._runtime.scopes import merged
from nbtf.distribute.variables import SyncOnReadVariable
from nbtf.errors import NotFoundError, UnavailableError

if TYPE_CHECKING:
    from nbtf.distribute.mirrored import MirroredStrategy


def replace_devices(strategy: MirroredStrategy, lost: str, target: str | None) -> None:
    """Does what `MirroredStrategy.replace` says."""
    names = strategy.extended.worker_devices
    gone = [name for name in names if _is_part_of(name, lost)]
    if not gone:
        raise ValueError(f"No device of the strategy is of {lost!r}. It has {', '.join(names)}.")
    forget_losses(CURRENT.context)
    substitutes = dict.fromkeys(gone) if target is None else dict(zip(gone, _targets(gone, target), strict=True))
    survivors = [number for number, name in enumerate(names) if name not in substitutes]
    if not survivors:
        raise UnavailableError(
            f"The strategy has no device but {', '.join(gone)}: nobody has the values of its variables any more. "
            "Make the model anew, and restore a checkpoint."
        )
    variables = strategy.variables()
    copies = [_copies_of(variable, substitutes, survivors[0], names) for variable in variables]
    for variable, values in zip(variables, copies, strict=True):  # all are there: from here on nothing can fail
        variable.use(values)
    strategy.extended.use(tuple([each for name in names if (each := substitutes.get(name, name)) is not None]))


def _copies_of(variable: Any, substitutes: dict[str, Any], survivor: int, names: Sequence[str]) -> list[Any]:
    """Returns the copies of a variable on the devices of today, those on new devices made of one that is left."""
    values: list[Any] = []
    for copy, name in zip(variable.values, names, strict=True):
        substitute = substitutes.get(name, name)
        if substitute == name and name not in substitutes:
            values.append(copy)
        elif substitute is not None:
            with device(substitute):
                fresh = variable.values[survivor].__deepcopy__({})
                if isinstance(variable, SyncOnReadVariable) and variable.aggregation is VariableAggregation.SUM:
                    fresh.assign(fresh * 0)  # what it had added is gone
            fresh._name = copy._name
            values.append(fresh)
    return values


def _targets(gone: Sequence[str], target: str) -> list[str]:
    """Returns the devices that take the place of others: one device, or those of a task in their order."""
    renew(CURRENT.context)
    by_name = CURRENT.context.devices.by_name
    fields = parse(target)
    candidates = [
        name for name in by_name if _is_part_of(name, target) and parse(name).device_type == parse(gone[0]).device_type
    ]
    full = merged(target, None).name
    if fields.device_type is not None and full in by_name:
        candidates = [full]
    if len(candidates) < len(gone):
        raise NotFoundError(
            f"{target} has {counted(len(candidates), 'device')} to take the place of {len(gone)}. "
            f"There are {', '.join(by_name)}."
        )
    return candidates[: len(gone)]


def _is_part_of(name: str, text: str) -> bool:
    """Tells whether a device is one, or of a task, that a text names."""
    device_fields, requested = parse(name), parse(text)
    return requested != Fields() and all(
        field is None or field == device_field for field, device_field in zip(requested, device_fields, strict=True)
    )
